"""What a file looks like that is not in the format it was read in, and what to do about it."""

import re

from rrmbench.data.streams import open_lines
from rrmbench.errors import RrmbenchError

HEAD = 4096  # bytes that are looked at
READ_AS = "'format: {}' or the suffix .{} reads it"
# the first bytes of the content -> (what it is, what to do)
BINARY = {
    b"PAR1": ("Parquet", "parquet"),
    b"\x93NUMPY": ("an array of numpy (.npy)", "npy"),
    b"PK\x03\x04": ("a zip archive, as .npz and .xlsx are", "npz"),
    b"\x89HDF": ("HDF5 or MATLAB 7.3", "save X and y as .npz"),
    b"MATLAB 5.0": ("MATLAB (.mat)", "scipy.io.loadmat reads it; save X and y as .npz"),
    b"SQLite format 3": ("an SQLite database", "export a table as CSV"),
    b"%PDF": ("PDF", "it has no rows that can be read"),
    b"\x28\xb5\x2f\xfd": ("compressed with zstd", "decompress it, or use .gz, .bz2 or .xz"),
    b"7z\xbc\xaf": ("a 7z archive", "extract it"),
    b"\xd0\xcf\x11\xe0": ("an old Excel workbook", "save it as CSV"),
    b"RIFF": ("RIFF, as sound and images are", "it has no rows that can be read"),
    b"ARROW1": ("Arrow (Feather)", "save it as Parquet"),
    b"\xff\xfe": ("UTF-16 text", "save it as UTF-8"),
    b"\xfe\xff": ("UTF-16 text", "save it as UTF-8"),
}
PICKLE = re.compile(rb"\x80[\x02-\x05][\x95\x8a\x63\x28\x5d\x7d]")
TEXT = (
    (re.compile(rb"\Aversion https://git-lfs"), "a pointer of Git LFS", "'git lfs pull' fetches the file itself"),
    (re.compile(rb"(?i)\A\s*<(!doctype|html|\?xml)"), "a web page or XML", "something else was downloaded"),
    (
        re.compile(rb"(?im)^\s*@(relation|attribute)\s"),
        "ARFF (Weka)",
        "save it as CSV, or name the set of OpenML: 'dataset: {openml: NAME}'",
    ),
    (re.compile(rb"\A\s*[{\[]\s*[\"{\[\]}\d]"), "JSON", "save it as CSV"),
)
RATINGS = re.compile(
    rb"(?i)\A\s*([\"']?user_?id[\"']?,[\"']?(movie|item)_?id[\"']?,[\"']?rating"
    rb"|\d+::\d+::\d|\d+\t\d+\t\d(\.\d)?\t\d{6,}\s)"
)
LIBSVM = re.compile(rb"\S+( qid:\d+)?( \d+:\S+)+\s*$")


def refuse_binary(path, format):
    """Raise RrmbenchError for a file whose first bytes are those of another format, which it names."""
    head = _head(path)
    for magic, (what, advice) in BINARY.items():
        if head.startswith(magic) and not (format in ("npz", "npy", "parquet") and advice in ("npz", "npy", "parquet")):
            raise RrmbenchError(f"{path}: the file looks like {what}, and not like {format}; {_advice(advice)}")
    if PICKLE.match(head):
        raise RrmbenchError(f"{path}: the file looks like a pickle, which is never loaded; save X and y as .npz")
    if head[257:262] == b"ustar":
        raise RrmbenchError(f"{path}: the file looks like a tar archive, and not like {format}; extract it")


def hint(path, format):
    """A sentence on what a text that could not be read looks like and what to do, or ""."""
    head = _head(path)
    if b"\0" in head:
        return (
            f"the file looks like binary data, and {format} is text" if format in ("libsvm", "csv", "ratings") else ""
        )
    for pattern, what, advice in TEXT:
        if pattern.search(head):
            return f"the file looks like {what}; {advice}"
    if format != "ratings" and RATINGS.match(head):
        return "the file looks like ratings of MovieLens; 'format: ratings' reads it"
    line = next((line for line in head.splitlines() if line.strip()), b"")
    if format == "csv" and LIBSVM.match(line):
        return "the file looks like LibSVM; 'format: libsvm' reads it"
    if format == "libsvm" and b":" not in line and any(sign in line for sign in (b",", b";", b"\t")):
        return "the file looks like CSV; 'format: csv' or the suffix .csv reads it, 'label:' is the column of labels"
    return ""


def served_instead(path):
    """What a server has sent in place of a file of data, as it does for want of it, or ""."""
    head = _head(path)
    for pattern, what, _ in TEXT[:2]:
        if pattern.search(head):
            return f"it looks like {what}"
    return "" if head else "it is empty"


def _advice(advice):
    return READ_AS.format(advice, advice) if advice in ("npz", "npy", "parquet") else advice


def _head(path):
    with open_lines(path) as stream:
        return stream.read(HEAD)
