"""The warm-up of `rrmbench.solve`, which is made once for all solves of one kind."""

import warnings
from collections.abc import Hashable, Iterator
from typing import Any

from rrmbench import registry
from rrmbench.bench.warming import warm_up
from rrmbench.components import Solver, is_shipped
from rrmbench.keys import nested
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

_warm: set[Hashable] = set()


def kind_of(problem: Problem, solver: Any, reduction: Any) -> Hashable | None:
    """What solves have in common that call the same kernels, as far as it can be told; None where it cannot.

    It cannot of code that is not of this package: nobody sees what that compiles. Numbers may lead a solver on other
    ways, so `Trace.compiled` has the last word.
    """
    named = [
        registry.from_mapping(kind, one if isinstance(one, dict) else {"name": one})[0]
        for kind, mapping in (("solver", solver), ("reduction", reduction))
        for one in (list(nested(mapping)) or [mapping])
    ]
    parts = [component.build for component in named]
    classes = [type(part) for whole in (problem.loss, problem.regularizer) for part in _parts(whole)]
    if any(component.library for component in named) or not all(map(is_shipped, [*parts, *classes, type(problem.X)])):
        return None
    sizes = len(problem.shape), len(problem.output_shape), problem.y.dtype.str
    held = problem.weights is None, problem.center is None, problem.mu > 0.0
    return repr((solver, reduction)), tuple(classes), type(problem.X), problem.traits, sizes, held


def _parts(component: Any) -> Iterator[Any]:
    """A loss or a regularizer, and those that it is made of."""
    yield component
    for part in component if isinstance(component, tuple) else ():
        if hasattr(part, "_fields"):
            yield from _parts(part)


def is_warm(kind: Hashable | None) -> bool:
    """Whether a solve of this kind was warmed up before in this process."""
    return kind is not None and kind in _warm


def warmed(problem: Problem, run: Solver, kind: Hashable | None) -> Iterator[Iterate] | None:
    """Call what a solve will call, see `warm_up`; return the solver that did, still open."""
    held, fault = warm_up(problem, run)
    if fault:
        warnings.warn(f"the warm-up failed, seconds may hold what is compiled: {fault}", stacklevel=3)
    elif kind is not None:
        _warm.add(kind)
    return held
