"""The formats of files: by which suffix they are known, and which keys of a `dataset:` block are for them."""

from pathlib import Path

from rrmbench.data.streams import COMPRESSED

KEYS = {
    "libsvm": ("zero_based",),
    "ratings": (),
    "csv": ("label", "header"),
    "npz": ("y",),
    "npy": ("y", "label"),
    "parquet": ("label",),
}
SUFFIXES = {".csv": "csv", ".tsv": "csv", ".npz": "npz", ".npy": "npy", ".parquet": "parquet"}


def of_path(path):
    """The format that a suffix tells, also before one of compression; LibSVM for any other."""
    path = Path(path)
    path = path.with_suffix("") if path.suffix in COMPRESSED else path
    return SUFFIXES.get(path.suffix.lower(), "libsvm")
