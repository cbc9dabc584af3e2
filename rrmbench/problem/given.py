"""What may be given for the fields of a Problem and for the arrays that its functions take: checks, and copies."""

import sys
from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np

from rrmbench.errors import RrmbenchError, listed, shown
from rrmbench.problem import labels
from rrmbench.problem.operators import CSR, check_mask
from rrmbench.problem.samples import takes_bias

NUMBER = int | float | np.integer | np.floating
GREATEST = sys.float_info.max  # integers may be beyond it
MEAN_ROUNDING = 1e-9  # of weights, whose mean is 1
LEAST_SQUARE = 1e-305  # of a row, as the greatest: the inverses of smaller ones are infinite
FAR = 1e6  # the mean of labels over their deviation, up to which a bias may take it


def check_component(kind: str, given: Any) -> None:
    """Raise RrmbenchError unless a loss or a regularizer (the kind) is given, or a name or mapping of one."""
    is_component = hasattr(given, "value") or hasattr(given, "value_row")
    if isinstance(given, type) or not (isinstance(given, str | dict) or is_component):
        raise RrmbenchError(f"{kind}: found {shown(given)}, allowed is a name, a mapping with a name, or a {kind}")


def check_numbers(problem: Any) -> None:
    """Raise RrmbenchError where a field of a Problem that is a number, or True or False, has another value."""
    for name in "l2", "mu", "kappa":
        check_strength(name, getattr(problem, name))
    for name in "free_bias", "minimized_bias":
        if not isinstance(value := getattr(problem, name), bool | np.bool_):
            raise RrmbenchError(f"{name}: found {shown(value)}, allowed is True or False")
    if not (isinstance(problem.offset, NUMBER) and -GREATEST <= problem.offset <= GREATEST):
        raise RrmbenchError(f"offset: found {shown(problem.offset)}, needed is a finite number")


def check_squares(sqnorms: np.ndarray) -> None:
    """Raise RrmbenchError where the squared norms of the samples (n,) overflow, or all underflow."""
    if not np.isfinite(sqnorms.sum()):
        raise RrmbenchError(
            f"the squared norms of the rows of X overflow, their greatest is {sqnorms.max():g}: scale the data, so "
            "that entries are below 1e150"
        )
    if 0.0 < (greatest := sqnorms.max(initial=0.0)) < LEAST_SQUARE:
        raise RrmbenchError(
            f"the squared norms of the rows of X underflow, their greatest is {greatest:g}: scale the data, so "
            "that entries are above 1e-152"
        )


def check_biases(problem: Any, outputs: int | None, made: CSR | None) -> None:
    """Raise RrmbenchError where a bias has no place in a Problem of so many outputs per sample, None for single ones.

    made : its operator, if the last column of that is not known
    """
    if problem.free_bias and not takes_bias(problem.loss):
        raise RrmbenchError(f"{type(problem.loss).__name__}: found a free bias, which has no place in its model")
    if problem.free_bias and outputs is None and len(problem.shape) > 1:
        raise RrmbenchError("found a free bias of a model of tasks, allowed are models w of which X w is a product")
    if problem.free_bias and problem.minimized_bias:
        raise RrmbenchError("found free_bias and minimized_bias, allowed is one of them")
    if problem.minimized_bias and problem.weights is not None:
        raise RrmbenchError("found weights and minimized_bias, allowed is one of them")
    if problem.minimized_bias:
        _check_offset(problem.y)
    if problem.free_bias and made is not None:
        last = made.columns()[:, [-1]].toarray()
        if np.ptp(last) > 0.0:
            found = f"a last column from {last.min():g} to {last.max():g}"
            raise RrmbenchError(f"X: found {found}, with a free bias it must be constant")
        if not last.any():
            raise RrmbenchError("X: found a last column of zeros, with a free bias it must be another constant")


def check_weights(weights: np.ndarray, n: int) -> None:
    """Raise RrmbenchError unless the weights are n positive numbers of mean 1; kernels read them by the row."""
    if weights.shape != (n,):
        raise RrmbenchError(f"weights: found the shape {weights.shape}, needed is ({n},)")
    if not (weights.min() > 0.0 and abs(weights.mean() - 1.0) <= MEAN_ROUNDING):
        found = f"a least one of {weights.min():.3g} and the mean {weights.mean():.6g}"
        raise RrmbenchError(f"weights: found {found}, needed are positive ones with the mean 1")


def _check_offset(y: np.ndarray) -> None:
    """Raise RrmbenchError where the bias is so great beside the rest that P and D have hardly a digit left."""
    mean, spread = abs(float(np.mean(y))), float(np.std(y))
    if mean > FAR * spread and np.ptp(y) > 0.0:  # of equal labels nothing is left that could lose its digits
        found = f"labels of mean {mean:.3g} and standard deviation {spread:.3g}"
        raise RrmbenchError(f"y: found {found}; subtract their mean, which the bias takes anyway and rounding does not")


def check_strength(name: str, value: Any) -> None:
    """Raise RrmbenchError unless the value is a finite number that is not negative."""
    if not (isinstance(value, NUMBER) and 0.0 <= value <= GREATEST):
        raise RrmbenchError(f"{name}: found {shown(value)}, needed is a finite number that is not negative")


def numbers(name: str, array: object) -> np.ndarray:
    """An array of float64 of what was given for it; RrmbenchError where that is none, or has masked entries."""
    check_mask(array, name)
    try:
        found = np.asarray(array)
        made = found.astype(np.float64, copy=False) if found.dtype.kind in "biufO" else None
    except (TypeError, ValueError, OverflowError):
        made = None
    if made is None:
        raise RrmbenchError(f"{name}: found {shown(array)}, needed is an array of numbers")
    return made


def checked(name: str, array: object, shape: tuple[int, ...]) -> np.ndarray:
    """The array of float64 of this shape that was given, as it is; RrmbenchError where there is none."""
    found = array if type(array) is np.ndarray and array.dtype == np.float64 else numbers(name, array)
    if found.shape != shape:
        raise RrmbenchError(f"{name}: found the shape {found.shape}, needed is {shape}")
    return found


def copied(name: str, array: object) -> np.ndarray:
    """A read-only copy of the numbers that were given."""
    return frozen(numbers(name, array).copy())


def frozen(array: np.ndarray) -> np.ndarray:
    """The array itself, read-only from now on."""
    array.flags.writeable = False
    return array


def is_frozen(y: object) -> bool:
    """Whether this is what a Problem keeps of an array, so that it need not be checked and copied again."""
    return isinstance(y, np.ndarray) and type(y) is np.ndarray and y.dtype == np.float64 and not y.flags.writeable


def given_labels(y: Any, needs: Iterable[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """(the labels y of a person's own array as a loss wants them, by the rule of data files; the classes they were).

    needs : of the loss, see `rrmbench.components.Component`

    The labels are read-only float64. The classes are the distinct labels as given, those of -1 and 1 or of 0 .. k-1;
    None for numbers. Classes may be texts. Label sequences are (n, 2), the class and the number of the sequence of
    every row. Raises RrmbenchError for labels that are no finite numbers, in another shape, or too few or too many.
    """
    mode = labels.mode_of(needs)
    check_mask(y, "y", "labels")
    y, classes = _as_numbers(np.asarray(y)), None
    if mode in ("binary", "classes") or (mode == "targets" and y.ndim == 1):
        classes, places = _classes(y)
        if mode == "binary" and places is not None and len(classes) != 2:
            raise RrmbenchError(f"y: a binary loss needs two label values, found {listed(classes.tolist())}")
        y = y if places is None else places
    if y.dtype.kind not in "biuf":
        raise RrmbenchError(f"y: found an array of {y.dtype}, needed are numbers")
    y = y.astype(np.float64)
    n = y.shape[0] if y.ndim else "n"
    right = {"targets": y.ndim in (1, 2), "sequences": y.ndim == 2 and y.shape[1] == 2}.get(mode, y.ndim == 1)
    if not right or (mode == "sequences" and n == 0):
        needed = {"targets": "(n,) or (n, k)", "sequences": f"({n}, 2), classes and numbers of sequences"}
        raise RrmbenchError(f"y: found the shape {y.shape}, needed is {needed.get(mode, f'(n,) such as ({n},)')}")
    if not np.isfinite(y).all():
        raise RrmbenchError(f"y: found {y[~np.isfinite(y)][0]}, needed are finite numbers")
    if mode == "sequences":
        convert, _ = labels.rule(y[:, 0], None, None, mode, "y")
        y = np.column_stack([convert(y[:, 0], "y"), labels.numbered_sequences(y[:, 1], "y", "sequence number")])
    elif not (y.ndim == 2 or (mode == "binary" and np.all(np.abs(y) == 1.0))):
        convert, _ = labels.rule(y, None, None, mode, "y")
        y = convert(y, "y")
    labels.check_size_and_signs(y, needs, "the loss")
    return frozen(y), classes


def _classes(y: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """(the distinct labels, their places for every row where they are texts)."""
    if y.ndim == 1 and y.dtype.kind in "OU" and all(isinstance(label, str) for label in y.tolist()):
        return np.unique(y.astype(str), return_inverse=True)
    return (np.unique(y) if y.dtype.kind in "biuf" else None), None


def _as_numbers(y: np.ndarray) -> np.ndarray:
    """An array of objects, as a column of a frame may be, as one of numbers where it has only these."""
    is_numbers = y.dtype == object and y.size > 0 and all(isinstance(value, Real) for value in y.flat)
    try:
        return y.astype(np.float64) if is_numbers else y
    except OverflowError:  # of an int of 400 digits
        return y
