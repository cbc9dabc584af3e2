"""From a `dataset:` block to the files to read, found, downloaded or made."""

from dataclasses import dataclass, field
from pathlib import Path

from rrmbench.data import catalogue, checksums, fetch, formats, spec
from rrmbench.data.generated import Generated
from rrmbench.errors import RrmbenchError


@dataclass(frozen=True)
class Source:
    """A file to read, as it was when it was found, with what the registry knows of it (None for a bare path).

    options : how to read it, as in `formats.KEYS`
    generated : the `Generated` that made the file, or None
    """

    name: str
    path: Path
    entry: object
    zero_based: bool | None
    format: str
    state: list
    options: dict = field(default_factory=dict)
    generated: Generated | None = None

    @property
    def where(self):
        return f"data set '{self.name}'" if self.entry or self.generated else str(self.path)

    def checksum(self, anew=False):
        """The sha256 of the content, `anew` without the memory of `checksums.checksum_of`."""
        if self.entry:
            return fetch.content_checksum(self.name, self.entry, self.path, anew)
        found = checksums.checksum_of(self.path, anew)
        if anew and self.generated and self.generated.checksum_anew() != found:
            raise RrmbenchError(f"{self.where}: its function makes other arrays now than those of {self.path}")
        return found


def file_of(block):
    """(path, sha256 of the content) of the file of a checked `dataset:` block, found or made."""
    source = source_of(block)
    return source.path, source.checksum()


def is_here(block):
    """Whether the data of a checked `dataset:` block, its test part included, need no network."""
    generated = spec.generated(block)
    if generated:
        return Generated(*generated).is_here()
    named = [block[key] for key in ("name", "test") if key in block and not Path(block[key]).is_absolute()]
    entries = [catalogue.get(name) for name in named]
    return all(entry.file is None or fetch.locate(entry) for entry in entries)


def source_of(block):
    """The Source of the training part of a checked block."""
    generated = spec.generated(block)
    if generated:
        made = Generated(*generated)
        path = made.obtain()
        return Source(made.component.name, path, None, None, "arrays", checksums.state(path), generated=made)
    if "path" in block:
        path = Path(block["path"])
        about = path.name, path, None, block.get("zero_based"), spec.format_of(block)
    else:
        entry = catalogue.get(block["name"])
        path = fetch.obtain(block["name"], entry)
        about = block["name"], path, entry, entry.zero_based, entry.format
    return Source(*about, checksums.state(path), spec.options_of(block))


def test_of(block, train):
    """The Source of the test file of a checked block, or None; it is read as the training file is."""
    if "test" not in block:
        return None
    if not Path(block["test"]).is_absolute():
        return source_of({"name": block["test"]})
    format = formats.of_path(block["test"])
    format = train.format if format == "libsvm" else format
    options = {key: train.options[key] for key in formats.KEYS[format] if key in train.options and key != "y"}
    return source_of({"path": block["test"], "format": format, **options})


def labels_of(train):
    """The Source of the file that has the labels of a training part, or None."""
    path = train.options.get("y")
    return path and Source(Path(path).name, Path(path), None, None, "labels", checksums.state(path))


def folds_of(block, train):
    if "test_fold" not in block and "train_fold" not in block:
        return None
    path = Path(block["folds"]) if "folds" in block else fetch.obtain_folds(train.name, train.entry)
    return Source(path.name, path, None, None, "folds", checksums.state(path))
