"""The constants of a problem in which convergence theorems are stated.

A solver's theorem is a function bound(constants, passes) -> array, given to its decorator as
`@solver(bound=...)` and kept as `Component.bound`: an upper bound of P(w) - P(w*) after so many passes, in expectation
for randomized methods, as each function says; infinite where it does not begin yet. It raises NoTheorem for parameters
and problems that the theorem is not about. Of the run's parameters it gets those that it takes as keyword-only
arguments (`rrmbench.components.Component.solver`).

Where the theorem is about some of the iterates, as snapshots, `@solver(bound_at=...)` says which: f(constants, last,
**parameters) -> the passes after which there has been one more of them at the latest, an array that goes up to `last`,
or None where it is about all. The curve of the theorem has these points alone.

`@solver(passes_to_quarter=...)` gives the time of the oracle of a reduction, f(problem, **parameters) -> passes: in so
many passes the theorem quarters P(w) - P(w*) of a smooth and strongly convex problem, and D(b*) - D(b) where the solver
gives a dual variable. It is a schedule also for settings that the theorem leaves out; what is proven is for `bound` to
say.

The theorem of a reduction is bound(constants, T, **parameters), after T epochs. `@reduction(epochs_over=...)` says how
many are over when: f(solve, problem, trace, **parameters) -> (passes, T), arrays, for the Solver inside, the Problem
and the columns "passes" and "primal" of a run. It raises NoTheorem for solvers and parameters that the theorem is not
about.
"""

from typing import NamedTuple

import numpy as np

from rrmbench.errors import RrmbenchError


class NoTheorem(RrmbenchError):
    """A theorem is not about this method: "gd(step_scale=2): Theorem 3.1 needs step_scale <= 1"."""

    def __init__(self, method, reason, **given):
        values = ", ".join(
            f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in given.items()
        )
        super().__init__(f"{method}({values}): {reason}" if values else f"{method}: {reason}")


def check_given(method, **parameters):
    """Raise NoTheorem where a value that the bound of a method is computed with is "auto"."""
    if "auto" in parameters.values():
        raise NoTheorem(method, "the bound needs given values, not auto", **parameters)


class Constants(NamedTuple):
    """Of a Problem and its starting point w0 = grad Psi*(0), b = 0.

    n : number of samples
    R : max ||x_i||
    L : smoothness of (1/n) sum phi^mu(x_i.w), its bound in `Problem.L`; inf if not smooth
    mean_sqnorm : (1/n) sum ||x_i||^2
    s : strong convexity of Psi
    gamma : every loss is (1/gamma)-smooth; 0 if not smooth
    G : Lipschitz constant of a loss; inf if there is none
    initial_gap : P(w0) - D(0), which bounds both suboptimalities
    initial_suboptimality : P(w0) - P(w*), NaN where the optimum is not known
    distance : ||w0 - w*||^2, NaN where the optimum is not known
    l2 : the part of s that is the problem's own square
    D : smoothing by mu lowers P by at most mu D, G^2/2 for one output per sample
    D2 : a bound of ||b||^2 over the domain of D, n G^2 for one output per sample; inf if there is none
    S : L of losses that are 1-smooth: (1/n) ||X||^2, or a bound of it as `Problem.L` has
    reach : a bound of ||w0 - w*|| that psi and P(w0) give; inf if there is none
    entropic : whether the methods that can take the steps of an entropy in place of Euclidean ones do so
    start : the passes that X w0 costs a solver, 0 for w0 = 0
    """

    n: int
    R: float
    L: float
    mean_sqnorm: float
    s: float
    gamma: float
    G: float
    initial_gap: float
    initial_suboptimality: float = np.nan
    distance: float = np.nan
    D2: float = np.inf
    start: float = 0.0
    l2: float = 0.0
    D: float = np.inf
    entropic: bool = False
    S: float = np.nan
    reach: float = np.inf

    @property
    def suboptimality_bound(self):
        """The least bound of P(w0) - P(w*) that is known."""
        return np.fmin(self.initial_gap, self.initial_suboptimality)

    def steps(self, passes, extra=0.0):
        """The steps of a pass each that so many passes hold, an array, beside X w0 and `extra` passes."""
        return np.maximum(np.floor(np.asarray(passes, dtype=float) - self.start - extra), 0.0)


def constants(problem, minimizer=None):
    """The Constants of a Problem; `minimizer` is w* where it is known."""
    w0 = problem.start()
    first = problem.primal(w0)
    known = Constants(
        n=problem.n,
        R=problem.R,
        L=problem.L,
        mean_sqnorm=float(problem.X.sqnorms.mean()),
        s=problem.strong_convexity,
        gamma=1.0 / problem.smoothness,
        G=problem.lipschitz,
        initial_gap=first - problem.dual_value(np.zeros(problem.output_shape)),
        D2=problem.dual_squares,
        start=0.5 if w0.any() else 0.0,
        l2=0.0 if problem.free_bias else problem.l2,
        D=problem.diameter,
        entropic="entropy" in problem.traits,
        S=problem.S,
        reach=problem.reach(w0),
    )
    if minimizer is None:
        return known
    return known._replace(
        initial_suboptimality=first - problem.primal(minimizer), distance=float(np.sum((w0 - minimizer) ** 2))
    )
