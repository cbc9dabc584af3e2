"""The types of component parameters, with their bounds."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from annotated_types import Ge, Gt, Le, Lt

from rrmbench.errors import RrmbenchError

LARGEST = 2**26  # bytes of a file of sizes


@dataclass(frozen=True)
class File:
    """Of a text: the path of a file, whose content is part of what a run is; the component gets read(path), if any."""

    read: object = None


class Sizes(NamedTuple):
    """What a file of sizes holds."""

    path: str
    numbers: list


def sizes_in(path):
    """The Sizes in a file of whole numbers >= 1 separated by white space."""
    try:
        if not Path(path).is_file():  # a pipe would have everybody wait for its other end
            raise OSError("no plain file")
        with open(path, "rb") as file:
            content = file.read(LARGEST + 1)
        if len(content) > LARGEST:
            raise OSError(f"more than {LARGEST} bytes")
        lines = content.decode().splitlines()
    except (OSError, ValueError) as error:
        raise RrmbenchError(f"{path}: cannot be read as a file of group sizes: {error}") from None
    sizes = []
    for number, line in enumerate(lines, start=1):
        for token in line.split():
            if not (token.isascii() and token.isdigit() and int(token) > 0):
                raise RrmbenchError(f"{path}:{number}: found '{token}', allowed are group sizes, whole numbers >= 1")
            sizes.append(int(token))
    if not sizes:
        raise RrmbenchError(f"{path}: found no group sizes, needed is at least one whole number >= 1")
    return Sizes(path, sizes)


Positive = Annotated[float, Gt(0), Lt(float("inf"))]
NonNegative = Annotated[float, Ge(0), Lt(float("inf"))]
Fraction = Annotated[float, Ge(0), Le(1)]
PositiveInt = Annotated[int, Ge(1)]
Seed = Annotated[int, Ge(0), Lt(2**63)]
Auto = Literal["auto"]
InputFile = Annotated[str, File()]
SizesFile = Annotated[str, File(sizes_in)]
FromOne = Annotated[float, Ge(1), Lt(float("inf"))]
AboveOne = Annotated[float, Gt(1), Lt(float("inf"))]
