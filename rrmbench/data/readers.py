"""From a file in one of `formats` to its rows."""

from rrmbench.data import arrays, delimited, libsvm, lookalikes, numpy_files, parquet, ratings
from rrmbench.data.parsed import Parsed
from rrmbench.errors import RrmbenchError


def read(format, path, zero_based=None, options=None):
    """[Parsed of the rows of a file, maybe of a test part in it], or the Ratings of one.

    options : of `formats.KEYS`, but for zero_based

    Raises RrmbenchError for a file that is not in the format, and says what it looks like.
    """
    if format == "arrays":
        return arrays.read(path)
    lookalikes.refuse_binary(path, format)
    try:
        found = _read(format, path, zero_based, options or {})
    except RrmbenchError as error:
        if hint := lookalikes.hint(path, format):
            raise RrmbenchError(f"{error}\n  {hint}") from error
        raise
    return [found] if isinstance(found, Parsed) else found


def _read(format, path, zero_based, options):
    if format == "ratings":
        return ratings.read(path)
    if format == "libsvm":
        return libsvm.read(path, zero_based)
    readers = {
        "csv": delimited.read,
        "npz": numpy_files.read_npz,
        "npy": numpy_files.read_npy,
        "parquet": parquet.read,
    }
    return readers[format](path, **options)
