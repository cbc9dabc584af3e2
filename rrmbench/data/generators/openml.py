"""Data sets of OpenML, which are downloaded once; see docs/data.md."""

import warnings

from rrmbench import registry
from rrmbench.errors import RrmbenchError, listed, quoted
from rrmbench.folders import cache_root
from rrmbench.parameters import PositiveInt


@registry.dataset(network=True)
def openml(openml: PositiveInt | str, version: PositiveInt | None = None):
    """a set of OpenML by its number, or by its name, of which the oldest active version; a 0/1 column per category"""
    X, y = _fetched(openml, version)
    what = f"OpenML '{quoted(openml)}'" if isinstance(openml, str) else f"OpenML {openml}"
    if y is None or getattr(y, "ndim", 1) != 1:
        raise RrmbenchError(f"{what}: found {'no target' if y is None else 'several targets'}, needed is one")
    return (_encoded(X, what) if hasattr(X, "columns") else X), _target(y, what)


def _fetched(openml, version):
    from http.client import HTTPException
    from urllib.error import HTTPError

    from sklearn.datasets import fetch_openml

    if isinstance(openml, int) and version is not None:
        raise RrmbenchError(f"version: a number such as {openml} is that of one version already; leave 'version' out")
    asked = {"data_id": openml} if isinstance(openml, int) else {"name": openml, "version": version or "active"}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of several versions, and of problems which its page tells
            return fetch_openml(**asked, data_home=str(cache_root()), return_X_y=True, n_retries=1, delay=0.5)
    except HTTPError as error:
        raise RrmbenchError(f"OpenML answered HTTP {error.code} for {openml!r}") from error
    except (OSError, HTTPException) as error:
        raise RrmbenchError(
            f"{openml!r} is not in the cache, and OpenML cannot be reached ({type(error).__name__}): "
            "the first use needs a network"
        ) from error
    except ValueError as error:  # its OpenMLError for what it does not have; a wrong checksum
        raise RrmbenchError(f"OpenML: {str(error).splitlines()[0]}") from error


def _encoded(X, what):
    """A table as a sparse matrix: numbers as they are, a 0/1 column for each value of a category."""
    import numpy as np
    import pandas as pd
    from scipy.sparse import csr_array

    if missing := [name for name in X.columns if X[name].isna().any()]:
        columns = listed(map(quoted, missing))
        raise RrmbenchError(f"{what}: values are missing in the columns {columns}; fill them in and use a file")
    parts = []
    for name, column in X.items():
        if isinstance(column.dtype, pd.CategoricalDtype):
            values = column.cat.codes.to_numpy()[:, None] == np.arange(len(column.cat.categories))
        elif pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy()[:, None]
        else:
            raise RrmbenchError(f"{what}: the column {quoted(name)} has texts, allowed are numbers and categories")
        parts.append(values.astype(float))
    return csr_array(np.hstack(parts))


def _target(y, what):
    import numpy as np
    import pandas as pd

    if pd.isna(y).any():
        raise RrmbenchError(f"{what}: targets are missing")
    values = np.asarray(y)
    return values if values.dtype.kind in "biuf" else values.astype(str)
