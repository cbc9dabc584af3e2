"""Columns of the trace beside the objective: errors on the training and the test part."""

import numpy as np

from rrmbench.operators import CSR


def metrics_of(prepared):
    """Return f(w) -> dict for prepared data.

    Labels -1 and +1: train_error, and test_error and test_accuracy where there is a test part, as fractions; a zero
    output counts as +1. Other labels: test_rmse.
    """
    binary = bool(np.all(np.abs(prepared.y) == 1.0))
    parts = {}
    if binary:
        parts["train"] = CSR(*prepared.X_parts, prepared.shape), prepared.y
    if prepared.test_y is not None:
        parts["test"] = CSR(*prepared.test_X_parts, prepared.test_shape), prepared.test_y

    def metrics(w):
        columns = {}
        for part, (X, y) in parts.items():
            z = X.forward(w)
            if binary:
                columns[f"{part}_error"] = float(np.mean(np.where(z >= 0.0, 1.0, -1.0) != y))
            else:
                columns[f"{part}_rmse"] = float(np.sqrt(np.mean((z - y) ** 2)))
        if "test_error" in columns:
            columns["test_accuracy"] = 1.0 - columns["test_error"]
        return columns

    return metrics
