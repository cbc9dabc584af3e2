"""The files of an experiment: archives of arrays and JSON, whatever is wrong with them told by one error."""

import json
import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import BinaryIO

from rrmbench.bench import records
from rrmbench.errors import RrmbenchError, printable
from rrmbench.files import reading, replacing

SMALL = 2**20  # bytes


class UnreadableFile(RrmbenchError):
    """A damaged or foreign file under the results directory."""


@contextmanager
def opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with reading(path) as file, zipfile.ZipFile(_in_memory(file)) as archive:
            yield archive
    except FileNotFoundError:
        raise UnreadableFile(f"{path}: no such result") from None
    except RrmbenchError:
        raise
    except Exception as error:  # damaged bytes make zipfile and numpy raise nearly anything
        raise UnreadableFile(f"{path}: not a readable result ({_cause(error)})") from error


def _in_memory(file: BinaryIO) -> BinaryIO:
    """The content of a small file, whose many parts are then read without the system; a large file itself."""
    return BytesIO(file.read(SMALL)) if os.fstat(file.fileno()).st_size < SMALL else file


def read_json(path: Path, check: Callable[[dict], dict]) -> dict:
    try:
        with reading(path) as file:
            return check(records.parsed(file.read(records.TEXT_LIMIT + 1), path))
    except RrmbenchError:
        raise
    except Exception as error:  # json and the checks raise what they find first, RecursionError included
        raise UnreadableFile(f"{path}: not a readable file ({_cause(error)})") from error


def write_json(path: Path, content: dict) -> None:
    with replacing(path) as file:
        file.write(_readable(content).encode())


def _readable(content: dict) -> str:
    """JSON with a line for each key, and for each item of lists: `indent` is slow, and takes a line for each number."""
    lines = (
        f" {json.dumps(key)}: {_items(value) if isinstance(value, list) else json.dumps(value)}"
        for key, value in content.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _items(values: list) -> str:
    return "[\n" + ",\n".join(f"  {json.dumps(value)}" for value in values) + "\n ]" if values else "[]"


def _cause(error: BaseException) -> str:
    if isinstance(error, KeyError):
        text = f"{error.args[0]} is missing"
    else:
        text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shorten(printable(text), 200)
