"""What may be given for the fields of a Problem and for the arrays that its functions take: checks, and copies."""

import math

import numpy as np

from rrmbench.errors import RrmbenchError, shown
from rrmbench.problem.operators import check_mask

NUMBER = int | float | np.integer | np.floating
MEAN_ROUNDING = 1e-9  # of weights, whose mean is 1
FAR = 1e6  # the mean of labels over their deviation, up to which a bias may take it


def check_weights(weights: np.ndarray, n: int) -> None:
    """Raise RrmbenchError unless the weights are n positive numbers of mean 1; kernels read them by the row."""
    if weights.shape != (n,):
        raise RrmbenchError(f"weights: found the shape {weights.shape}, needed is ({n},)")
    if not (weights.min() > 0.0 and abs(weights.mean() - 1.0) <= MEAN_ROUNDING):
        found = f"a least one of {weights.min():.3g} and the mean {weights.mean():.6g}"
        raise RrmbenchError(f"weights: found {found}, needed are positive ones with the mean 1")


def check_offset(y: np.ndarray) -> None:
    """Raise RrmbenchError where the bias is so great beside the rest that P and D have hardly a digit left."""
    mean, spread = abs(float(np.mean(y))), float(np.std(y))
    if mean > FAR * spread and np.ptp(y) > 0.0:  # of equal labels nothing is left that could lose its digits
        found = f"labels of mean {mean:.3g} and standard deviation {spread:.3g}"
        raise RrmbenchError(f"y: found {found}; subtract their mean, which the bias takes anyway and rounding does not")


def check_strength(name: str, value: object) -> None:
    """Raise RrmbenchError unless the value is a finite number that is not negative."""
    if not (isinstance(value, NUMBER) and 0.0 <= value < math.inf):
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
