"""Whether the methods of a component are functions of what they are given, in double precision, and leave it as it is.

One that scales an array in place, say, changes the v or the w that a bound is computed with, and with it the bound.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from rrmbench.problem.samples import outputs_of

AGAIN = 1e-8  # relative: what a second call may give otherwise, as of a method that stops by a tolerance


class Call(NamedTuple):
    """A method of arrays, and two lists of such."""

    name: str
    function: Callable[..., Any]
    given: tuple[np.ndarray, ...]
    other: tuple[np.ndarray, ...]

    def fault(self) -> str | None:
        """What is wrong with the method, in words, or None."""
        given = [array.copy() for array in self.given]
        first = self.function(*given)
        if (found := np.asarray(first).dtype).kind == "f" and found.itemsize < np.dtype(np.float64).itemsize:
            return f"{self.name} gives numbers of {found}: P and D would be rounded to them"
        if not all(map(_same, given, self.given)):
            return f"{self.name} changes an array that it is given: work on a copy"
        kept = np.array(first, dtype=np.float64)
        self.function(*(array.copy() for array in self.other))
        if not _same(kept, first):
            return f"{self.name} returns an array that its next call changes: return a new one"
        again = np.asarray(self.function(*given), dtype=np.float64)
        size = float(np.max(np.abs(kept), initial=0.0, where=np.isfinite(kept)))
        if again.shape != kept.shape or not np.allclose(again, kept, rtol=AGAIN, atol=AGAIN * size, equal_nan=True):
            return f"{self.name} gives other numbers when it is called again: it may keep nothing, and draw nothing"
        return None


def _same(one: Any, other: Any) -> bool:
    return np.array_equal(one, other, equal_nan=True)


def first_fault(calls: Iterable[Call]) -> str | None:
    """What is wrong with the first of these methods that has a fault, in words, or None."""
    return next(filter(None, (call.fault() for call in calls)), None)


def of_regularizer(psi: Any, w: np.ndarray, v: np.ndarray) -> Iterator[Call]:
    """The calls of a regularizer at a model w and a slope v; of one of single coordinates, at their first entries."""
    yield Call("dual_scaling", psi.dual_scaling, (v,), (-v,))
    if getattr(psi, "coordinate_separable", True):
        yield _of_numbers("value", psi.value, w.flat[0])
        yield _of_numbers("conjugate", psi.conjugate, v.flat[0])
        yield _of_numbers("prox", psi.prox, w.flat[0], 0.5)
        return
    yield Call("value", psi.value, (w,), (-w,))
    yield Call("conjugate", psi.conjugate, (v,), (-v,))
    yield Call("prox", lambda w: psi.prox(w, 0.5), (w,), (-w,))
    if hasattr(psi, "conjugate_point"):
        yield Call("conjugate_point", psi.conjugate_point, (v,), (-v,))


def of_loss(loss: Any, y: np.ndarray, z: np.ndarray, b: np.ndarray, most: int) -> Iterator[Call]:
    """The calls of a loss at outputs z and dual variables b, shaped like them; of `most` samples, of a loss over each.

    Three times b may be outside of the domain of phi*, which is no reason to change it.
    """
    of_sample = {"scalar": _of_output, "vector": _of_row}.get(outputs_of(loss))
    if of_sample is None:
        yield from _of_all(loss, y, z, b)
        return
    for i in range(min(most, len(y))):
        yield from of_sample(loss, y[i], z[i], b[i])
    y, z = y[:most], z[:most]
    if hasattr(loss, "value_rows"):
        values = partial(_written, count(), (len(z),), lambda z, out: loss.value_rows(z, y, out))
        yield Call("value_rows", values, (z,), (-z,))
    if hasattr(loss, "dual_point_rows"):
        points = partial(_written, count(), z.shape, lambda z, out: loss.dual_point_rows(z, y, out))
        yield Call("dual_point_rows", points, (z,), (-z,))


def _of_output(loss: Any, y: float, z: float, b: float) -> Iterator[Call]:
    yield _of_numbers("value", loss.value, z, y)
    yield _of_numbers("conjugate", loss.conjugate, b, y)
    yield _of_numbers("dual_point", loss.dual_point, z, y, 1.0)


def _of_numbers(name: str, method: Callable[..., Any], *numbers: float) -> Call:
    """The call of a method on single numbers, whose errors of arithmetic are numbers where it is compiled."""

    def called() -> Any:
        try:
            return method(*map(float, numbers))
        except ArithmeticError:
            return np.nan

    return Call(name, called, (), ())


def _of_row(loss: Any, y: Any, z: np.ndarray, b: np.ndarray) -> Iterator[Call]:
    yield Call("value_row", lambda z: loss.value_row(z, y), (z,), (-z,))
    for one, other in ((b, 3.0 * b), (3.0 * b, b)):
        yield Call("conjugate_row", lambda b: loss.conjugate_row(b, y), (one,), (other,))
    yield Call("penalty_row", lambda b: loss.penalty_row(b, y), (b,), (-b,))
    point = partial(_written, count(), z.shape, lambda z, out: loss.dual_point_row(z, y, 1.0, 0.5, out))
    yield Call("dual_point_row", point, (z,), (-z,))
    if hasattr(loss, "slopes_row"):
        slopes = partial(_written, count(), b.shape, lambda b, out: loss.slopes_row(b, y, 0.0, out))
        yield Call("slopes_row", slopes, (b,), (b,))


def _written(numbers: Iterator[int], shape: tuple[int, ...], write: Callable[..., Any], at: np.ndarray) -> np.ndarray:
    """What is written to an array of this shape, in which other numbers stand each time."""
    out = np.full(shape, float(next(numbers)))
    write(at, out)
    return out


def _of_all(loss: Any, y: np.ndarray, z: np.ndarray, b: np.ndarray) -> Iterator[Call]:
    yield Call("value", lambda z: loss.value(z, y), (z,), (-z,))
    for one, other in ((b, 3.0 * b), (3.0 * b, b)):
        yield Call("conjugate", lambda b: loss.conjugate(b, y), (one,), (other,))
    yield Call("d2", lambda b: loss.d2(b, y), (b,), (0.5 * b,))
    yield Call("dual_point", lambda z: loss.dual_point(z, y, 1.0), (z,), (-z,))
    if hasattr(loss, "smooth_value"):
        yield Call("smooth_value", lambda z: loss.smooth_value(z, y, 1.0), (z,), (-z,))
