"""Parquet: columns of numbers, and one of labels, which may be texts; needs the extra `parquet`."""

from rrmbench.data import columns
from rrmbench.data.parsed import Parsed
from rrmbench.errors import RrmbenchError, quoted

INDEX = "__index_level_"  # what pandas calls a column that is the index of a table


def read(path, label=None):
    """Read a Parquet file; `label` is the column of labels, see `columns.label_column`.

    Raises RrmbenchError 'FILE: column NAME, row ROW: ...' for missing values, and for columns that are no numbers.
    """
    import numpy as np
    from scipy.sparse import csr_array

    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise RrmbenchError(
            f"{path}: reading .parquet needs the extra 'parquet': pip install 'rrmbench[parquet]'"
        ) from None
    try:
        table = parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise RrmbenchError(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0][:200]}") from None
    index = {name for name in (table.schema.pandas_metadata or {}).get("index_columns", ()) if isinstance(name, str)}
    table = table.select(
        [k for k, name in enumerate(table.column_names) if name not in index and not name.startswith(INDEX)]
    )
    names = table.column_names
    columns.check_names(names, f"{path}")
    place = columns.label_column(names, label, f"{path}")
    if table.num_rows == 0 or len(names) < 2:
        raise RrmbenchError(
            f"{path}: found {table.num_rows} rows and {len(names)} columns; needed are a row and two columns"
        )
    found = [_column(path, name, table.column(number), number == place) for number, name in enumerate(names)]
    labels = found.pop(place)
    X = csr_array(np.column_stack(found))
    rest = tuple(name for number, name in enumerate(names) if number != place)
    return Parsed(X, labels, columns=rest)


def _column(path, name, column, is_label):
    import numpy as np
    import pyarrow.types as types

    if column.null_count:
        row = column.is_null().to_pylist().index(True)
        raise RrmbenchError(
            f"{path}: column {quoted(name)}, row {row}: the value is missing; fill it in or leave the row out"
        )
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if types.is_string(kind) or types.is_large_string(kind):
        if not is_label:
            raise RrmbenchError(f"{path}: column {quoted(name)}: found texts, allowed are numbers in columns of X")
        return columns.labels_of([str(cell) for cell in column.to_pylist()], lambda row: f"{path}: row {row}")
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise RrmbenchError(f"{path}: column {quoted(name)}: found {kind}, allowed are numbers")
    values = np.array(column.to_pylist() if types.is_dictionary(column.type) else column.to_numpy(), dtype=np.float64)
    if not np.isfinite(values).all():
        row = int(np.flatnonzero(~np.isfinite(values))[0])
        raise RrmbenchError(f"{path}: column {quoted(name)}, row {row}: found {values[row]}, which is not finite")
    return values
