"""Columns of the trace beside the objective: errors on the training and the test part, the F1 measure."""

import numpy as np


def metrics_of(prepared, predict=None, beta=None):
    """Return f(w, z=None) -> dict for prepared data, where z is X w of the training part, if it is known.

    Two or more classes: train_error, and test_error and test_accuracy where there is a test part, as fractions; a zero
    output counts as +1, of equal outputs the first class wins. Two: test_f1 likewise, see `f1`. Other
    labels: test_rmse, over all outputs. Label sequences: train_letter_error and train_word_error, the fractions of
    positions and of sequences that the labelling of greatest score gets wrong, and the same of the test part;
    letter_error and word_error are those of the test part where there is one, else of the training part.

    predict : function from outputs to labels, where the loss has one
    beta : function from the outputs of the training part to the bias of both parts, where one is minimized
    """
    if "sequences" in prepared.info:
        return _of_sequences(prepared)
    if prepared.info["classes"] is not None:
        wrong = _wrong_class
    elif np.all(np.abs(prepared.y) == 1.0):
        wrong = _wrong_sign
    else:
        wrong = None
    parts, training = {}, prepared.operator()
    if wrong is not None:
        parts["train"] = training, prepared.y
    if prepared.test_y is not None:
        parts["test"] = prepared.test_operator(), prepared.test_y

    def metrics(w, z=None):
        columns = {}
        if z is None and (beta is not None or "train" in parts):
            z = training.forward(w)
        shift = 0.0 if beta is None else beta(z)
        for part, (X, y) in parts.items():
            z = (z if part == "train" else X.forward(w)) + shift
            if wrong is None:
                guess = z if predict is None else predict(z)
                columns[f"{part}_rmse"] = float(np.sqrt(np.mean((guess - y) ** 2)))
            else:
                columns[f"{part}_error"] = float(np.mean(wrong(z, y)))
                if part == "test" and wrong is _wrong_sign:
                    columns["test_f1"] = f1(z >= 0.0, y > 0.0)
        if "test_error" in columns:
            columns["test_accuracy"] = 1.0 - columns["test_error"]
        return columns

    return metrics


def model_of(loss, w, b):
    """The model that predicts labels: w itself, or what a loss with a `predictor` makes of the certificate's b."""
    return loss.predictor(b) if hasattr(loss, "predictor") else w


def f1(guess, true):
    """2 |guess and true| / (|guess| + |true|) for boolean arrays (n,), 0 for an empty guess; 1 where both are empty."""
    size = np.count_nonzero(guess) + np.count_nonzero(true)
    return 2.0 * np.count_nonzero(guess & true) / size if size > 0 else 1.0


def _of_sequences(prepared):
    from rrmbench.losses.chains import Chains, labelling

    parts = {"train": (prepared.operator(), prepared.y), "test": (prepared.test_operator(), prepared.test_y)}
    parts = {part: (Chains.of(X, y, prepared.info["classes"]), y) for part, (X, y) in parts.items() if y is not None}

    def metrics(w, z=None):  # which is of the outputs, and more, so that it is not used
        columns = {}
        for part, (X, y) in parts.items():
            wrong = labelling(X.forward(w), y) != y[:, 0]
            columns[f"{part}_letter_error"] = float(np.mean(wrong))
            columns[f"{part}_word_error"] = float(np.mean(np.logical_or.reduceat(wrong, X.starts[:-1])))
        # the last part is the one that counts: the test part where there is one
        return {name: columns[f"{part}_{name}"] for name in ("letter_error", "word_error")} | columns

    return metrics


def _wrong_sign(z, y):
    return np.where(z >= 0.0, 1.0, -1.0) != y


def _wrong_class(z, y):
    return z.argmax(axis=1) != (y if y.ndim == 1 else y.argmax(axis=1))
