"""The trace points of a run as the process that waits for it keeps them."""

import math
import pickle
import tracemalloc

import numpy as np

from rrmbench.bench.rows import Rows

COLUMNS = "passes", "checks", "seconds", "cpu_seconds", "primal", "dual", "gap", "nonzeros", "train_error"


def test_rows_are_kept_in_order_and_a_column_that_begins_or_is_missing_is_nan():
    rows = Rows([{"passes": 0.0, "gap": 2.0}, {"gap": 1.0, "passes": 1.0, "test_error": 0.5}, {"passes": 2.0}])
    assert list(rows.columns) == ["passes", "gap", "test_error"] and len(rows) == 3
    np.testing.assert_array_equal(rows.columns["gap"], [2.0, 1.0, math.nan])
    np.testing.assert_array_equal(rows.columns["test_error"], [math.nan, 0.5, math.nan])
    assert rows[-1]["passes"] == 2.0 and [row["passes"] for row in rows] == [0.0, 1.0, 2.0]
    assert [row["passes"] for row in rows[:-1]] == [0.0, 1.0]
    assert not Rows() and list(Rows()) == [] and len(pickle.loads(pickle.dumps(rows))) == 3


def test_a_row_takes_the_bytes_of_its_numbers():
    """In one process for all runs: a dict of unpickled names and floats takes more than a kilobyte."""
    sent = [pickle.dumps(dict.fromkeys(COLUMNS, k + 0.5)) for k in range(20_000)]
    tracemalloc.start()
    try:
        rows = Rows()
        for text in sent:
            rows.append(pickle.loads(text))
        taken, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(rows) == 20_000 and taken < 1.5 * 8 * len(COLUMNS) * len(rows)
