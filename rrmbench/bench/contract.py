"""What is asked of every iterate that a solver yields."""

import math
from numbers import Real
from typing import Any

import numpy as np

from rrmbench.errors import shown
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem


class Failure(Exception):
    """The solver broke its contract; the message says how."""


class Contract:
    """The contract of the solvers of a problem.

    counted : whether the solver counts passes
    restarts : whether its iterates may be `restarted`
    """

    def __init__(self, problem: Problem, counted: bool, restarts: bool) -> None:
        self._problem, self._counted, self._restarts = problem, counted, restarts

    def check(self, x: Iterate, last: float | None, passes: float, products: float) -> None:
        """Raise Failure for what is no Iterate of this problem, or whose counts cannot be.

        last, passes : of the iterate before, passes with checks, or None, and passes alone
        products : the passes of the products with X and X^T so far, which are the least that it can count
        """
        if not isinstance(x, Iterate):
            raise Failure(f"the solver yielded {type(x).__name__}, not an Iterate")
        _check_array("w", x.w, self._problem.shape)
        if x.b is not None:
            _check_array("b", x.b, self._problem.output_shape)
        if not all(isinstance(count, Real | np.ndarray) and np.ndim(count) == 0 for count in (x.passes, x.checks)):
            raise Failure(f"the solver counted {shown(x.passes)} passes and {shown(x.checks)} checks, not numbers")
        counted, total = not math.isnan(x.passes), x.passes + x.checks
        if self._counted and not counted:
            raise Failure("the solver counted nan passes; one that counts none says so: @solver(counts_passes=False)")
        if x.restarted and not self._restarts:
            declared = "one that is called from scratch for each says so: @solver(gives={'restarts'})"
            raise Failure(f"the solver yielded an iterate that is `restarted`, whose clock begins anew; {declared}")
        if (counted and not math.isfinite(total)) or x.passes < 0.0 or not 0.0 <= x.checks < math.inf:
            raise Failure(f"the solver counted {x.passes} passes and {x.checks} checks")
        if last is not None and (counted == math.isnan(last) or total < last - 1e-6):
            raise Failure(f"the solver counted {x.passes} passes and {x.checks} checks after {last} in all")
        if x.passes < passes - 1e-6:
            raise Failure(f"the solver counted {x.passes} passes after {passes}: no pass becomes a check afterwards")
        if total < products - 1e-6:
            found = f"the solver counted {total:g} passes, its products with X and X^T alone are {products:g}"
            raise Failure(f"{found}: each product is half a pass, but for one with 0")


def _check_array(name: str, array: Any, shape: tuple[int, ...]) -> None:
    found = f"{type(array).__name__} {name}"
    if type(array) is not np.ndarray or array.dtype != np.float64:
        kind = f" of {array.dtype}" if hasattr(array, "dtype") else ""
        raise Failure(f"the solver yielded {found}{kind}, not {name} as a numpy array of float64")
    if array.shape != shape:
        raise Failure(f"the solver yielded {name} of shape {array.shape}, not {shape}")
