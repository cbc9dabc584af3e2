"""Columns of the trace beside the objective: errors on the training and the test part."""

import numpy as np


def metrics_of(prepared, predict=None):
    """Return f(w) -> dict for prepared data.

    Two or more classes: train_error, and test_error and test_accuracy where there is a test part, as fractions; a zero
    output counts as +1, of equal outputs the first class wins. Other labels: test_rmse, over all outputs.

    predict : function from outputs to labels, where the loss has one
    """
    if prepared.info["classes"] is not None:
        wrong = _wrong_class
    elif np.all(np.abs(prepared.y) == 1.0):
        wrong = _wrong_sign
    else:
        wrong = None
    parts = {}
    if wrong is not None:
        parts["train"] = prepared.operator(), prepared.y
    if prepared.test_y is not None:
        parts["test"] = prepared.test_operator(), prepared.test_y

    def metrics(w):
        columns = {}
        for part, (X, y) in parts.items():
            z = X.forward(w)
            if wrong is None:
                guess = z if predict is None else predict(z)
                columns[f"{part}_rmse"] = float(np.sqrt(np.mean((guess - y) ** 2)))
            else:
                columns[f"{part}_error"] = float(np.mean(wrong(z, y)))
        if "test_error" in columns:
            columns["test_accuracy"] = 1.0 - columns["test_error"]
        return columns

    return metrics


def model_of(loss, w, b):
    """The model that predicts labels: w itself, or what a loss with a `predictor` makes of the certificate's b."""
    return loss.predictor(b) if hasattr(loss, "predictor") else w


def _wrong_sign(z, y):
    return np.where(z >= 0.0, 1.0, -1.0) != y


def _wrong_class(z, y):
    return z.argmax(axis=1) != (y if y.ndim == 1 else y.argmax(axis=1))
