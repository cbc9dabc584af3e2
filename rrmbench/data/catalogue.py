"""The registry of data sets: one YAML file each, shipped in `datasets/` or the user's own.

The file's stem is the name. Adding a data set is adding one such file.
"""

from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from rrmbench import registry
from rrmbench.data import formats, places
from rrmbench.errors import RrmbenchError, nearest
from rrmbench.yaml_reader import parse

Count = Annotated[int, Field(ge=1, le=2**31)]
Label = Annotated[int, Field(ge=-(2**53), le=2**53)]
Fraction = Annotated[float, Field(ge=0, le=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceFile(_Strict):
    """A data file: its usual name, maybe a url or a path, and the sha256 of the uncompressed content."""

    name: str
    url: Annotated[str, StringConstraints(pattern=r"^https?://")] | None = None
    path: Path | None = None
    sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")] | None = None


class Bundled(_Strict):
    """A small real data set inside scikit-learn, by the name of its loader."""

    loader: Literal["load_breast_cancer", "load_diabetes"]


class Synthetic(_Strict):
    """A generated sparse text-like set; `rrmbench.data.sources.write_synthetic` says how."""

    n: Count
    d: Count
    words_per_row: Count
    relevant: Count
    noise: Fraction
    seed: Annotated[int, Field(ge=0)]


class SyntheticRatings(_Strict):
    """Generated ratings of a low-rank truth; `rrmbench.data.sources.write_synthetic_ratings` says how."""

    rows: Count
    columns: Count
    observed: Annotated[int, Field(ge=100)]
    rank: Count
    noise: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    seed: Annotated[int, Field(ge=0)]

    @model_validator(mode="after")
    def _room(self):
        least, most = self.rows + self.columns, self.rows * self.columns
        if not least <= self.observed <= most:
            raise ValueError(f"'observed' must be between rows + columns = {least} and rows * columns = {most}")
        return self


class SyntheticSequences(_Strict):
    """Generated words of a Markov chain with noisy letters; see `rrmbench.data.sources.write_synthetic_sequences`."""

    sequences: Count
    longest: Count
    letters: Count
    d: Count
    noise: Fraction
    seed: Annotated[int, Field(ge=0)]


class Entry(_Strict):
    """One data set of n rows and d columns, or of n ratings that are entries of a matrix of the shape `matrix`.

    `label` and `header` are as in a `dataset:` block; `nonzeros` is how many values the rows store, for estimates of
    cost; `labels` maps two labels to -1 and 1; `positive` takes one label against the rest; `folds` is a file that says
    in which fold each qid is.
    """

    title: str
    task: Literal["binary", "regression", "multiclass", "multilabel", "completion"]
    n: Count
    d: Count | None = None
    nonzeros: Annotated[int, Field(ge=1, le=2**40)] | None = None
    matrix: tuple[Count, Count] | None = None
    format: Literal[tuple(formats.KEYS)] = "libsvm"
    label: int | str | None = None
    header: bool | None = None
    file: SourceFile | None = None
    bundled: Bundled | None = None
    synthetic: Synthetic | SyntheticRatings | SyntheticSequences | None = None
    folds: SourceFile | None = None
    zero_based: bool = False
    labels: dict[Label, Literal[-1, 1]] | None = None
    positive: Label | str | None = None
    licence: str | None = None
    citation: str | None = None
    note: str | None = None

    @model_validator(mode="after")
    def _consistent(self):
        if sum(s is not None for s in (self.file, self.bundled, self.synthetic)) != 1:
            raise ValueError("exactly one of 'file', 'bundled' and 'synthetic' is needed")
        if (self.format == "ratings") == (self.d is not None) or (self.format == "ratings") != (
            self.matrix is not None
        ):
            raise ValueError("an entry has 'd', its number of columns; one of the format ratings has 'matrix' instead")
        if self.labels is not None and sorted(self.labels.values()) != [-1, 1]:
            raise ValueError("'labels' maps one label to -1 and one to 1")
        return self


def _folders():
    """The folders of the registry; a user's own file comes before a shipped one of the same name."""
    return [places.own_registry(), places.shipped("datasets")]


def names():
    """The sorted names of all data sets."""
    return sorted({file.stem for folder in _folders() for file in folder.glob("*.yaml")})


def file_of(name):
    """The registry file of the data set `name`, or None if there is none of this name."""
    if not name or "/" in name:
        return None
    return next(filter(places.is_file, (folder / f"{name}.yaml" for folder in _folders())), None)


def hint(name, made):
    """The hint to the data set whose name, or whose file's name, or to the function of `made`, is nearest to `name`."""
    files = {}
    for known in names():
        with suppress(RrmbenchError):  # an entry that cannot be read is told where it is used
            if file := get(known).file:
                files[file.name] = known
    return nearest(name, [*names(), *made], files)


def get(name, where="dataset"):
    """Return the Entry called `name`; raise RrmbenchError with the nearest match if there is none."""
    file = file_of(name)
    if file is None:
        close = hint(name, registry.names("dataset"))
        raise RrmbenchError(f"{where}: unknown data set '{name}'{close} ('rrmbench list datasets' shows the names)")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RrmbenchError(f"{file}: cannot be read: {error}") from None
    return read(file, text)


@cache
def read(file, text):
    """The Entry in the text of a registry file; RrmbenchError, with the file, for what is none."""
    try:
        return Entry.model_validate(parse(text, str(file), has_lines=True).value)
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, e['loc'])) or 'entry'}: found {e['input']!r}, {e['msg']}"[:300] for e in error.errors()
        )
        raise RrmbenchError(f"{file}: {problems}") from None
