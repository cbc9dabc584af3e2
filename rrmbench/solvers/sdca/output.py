"""Prox-SDCA's state, and the pair that a run reports: the last iterate, the average, or a random one.

The paper averages, or draws, over the steps after T0 = t - n - ceil(R^2/(s gamma)) [Acc-SDCA, Theorem 1]; any T0 < t
is allowed. Here the steps fall into blocks of at least w = n + ceil(R^2/(s gamma)) steps, and the report is over the
present block and the block before it, that is over the last w to 2w + n steps. It is over all steps while there are
fewer, or where the loss is not smooth (gamma = 0). Two sums, or two copies, are enough for a window of any length.
With a given T0 the report is over all steps after T0.
"""

from math import ceil, inf

import numpy as np

from rrmbench.numerics.tolerances import DOMAIN_ROUNDING
from rrmbench.numerics.whole_arrays import psi_prox
from rrmbench.solvers.sdca.steps import psi_of, sdca_steps, summed_steps

INSIDE = 1.0 - DOMAIN_ROUNDING  # keeps a mean in the domain of phi*, from which rounding may carry it


class DualState:
    """b, and u = (v(b) + kappa center)/s, whose prox is w = grad Psi*(v(b))."""

    def __init__(self, problem, option, start):
        self.problem = problem = problem.counted()
        self.b = problem.start_dual(start)
        warm = self.b.any()
        self.u = self.shifted(problem.v(self.b)) if warm else problem.shift()
        self.fixed = (problem.X.rows, problem.y, option, psi_of(problem), problem.strong_convexity)
        self._w = np.empty(problem.shape)

    @property
    def checks(self):
        """The products X^T b so far: one where the start is not zero, and one per report of an average."""
        return self.problem.X.passes

    def run(self, order):
        sdca_steps(*self.fixed, order, self.b, self.u)

    def present(self):
        """`point` of b and u as they are."""
        return self.point(self.b, self.u)

    def point(self, b, u):
        """(w, b), w being overwritten by the next call."""
        problem, t = self.problem, 1.0 / self.problem.strong_convexity
        if problem.regularization.coordinate_separable:
            psi_prox(problem.regularizer, u.reshape(-1), t, self._w.reshape(-1))
        else:
            self._w[:] = problem.regularization.prox(u, t)
        return self._w, b

    def shifted(self, v):
        return v / self.problem.strong_convexity + self.problem.shift()

    def window(self):
        """n + ceil(R^2/(s gamma)) steps, inf for gamma = 0."""
        p = self.problem
        ratio = p.L_max / p.strong_convexity if p.smoothness < inf else inf
        return inf if ratio == inf else p.n + ceil(ratio)


class Tail:
    """The steps that a report is over: blocks of `window` of them, after the `left` ones up to T0 (passes)."""

    def __init__(self, state, T0):
        given, n = T0 != "auto", state.problem.n
        self.window, self.left = (inf, round(T0 * n)) if given else (state.window(), 0)
        self.state = state

    def after_T0(self, order):
        """Take those of the steps that are not after T0; return the others."""
        before = min(self.left, order.size)
        if before > 0:
            self.state.run(order[:before])
            self.left -= before
        return order[before:]


class Last:
    """The iterate after the last step."""

    per_pass = 3

    def __init__(self, state, rng, T0):
        self.state = state

    def run(self, order):
        self.state.run(order)

    def point(self):
        return self.state.present()


class Average:
    """The mean of b over the window, exactly and over every step, and the w that belongs to it.

    w = grad Psi*(v(mean b)) costs a product X^T b per report, counted as half a check.
    """

    per_pass = 1

    def __init__(self, state, rng, T0):
        self.state, self.tail = state, Tail(state, T0)
        rows = state.b.reshape(state.problem.n, -1)
        self.before, self.now = (np.zeros_like(rows), 0), (np.zeros_like(rows), 0)

    def run(self, order):
        order = self.tail.after_T0(order)
        total, length = self.now
        summed_steps(*self.state.fixed, order, self.state.b, self.state.u, total)
        self.now = total, length + order.size
        if self.now[1] >= self.tail.window:
            self.before, self.now = self.now, (np.zeros_like(total), 0)

    def point(self):
        state, length = self.state, self.before[1] + self.now[1]
        if length == 0:
            return state.present()
        mean = (self.before[0] + self.now[0]) * (INSIDE / length)
        mean = mean.reshape(state.b.shape)
        return state.point(mean, state.shifted(state.problem.v(mean)))


class Random:
    """The iterate after a step drawn uniformly from the window, drawn anew for each report.

    One candidate per block is kept by reservoir sampling, so a copy is made about log(window) times.
    """

    per_pass = 3

    def __init__(self, state, rng, T0):
        self.state, self.rng, self.tail = state, rng, Tail(state, T0)
        first = (state.b.copy(), state.u.copy())
        self.before, self.now = (first, 0), (first, 0)

    def run(self, order):
        order = self.tail.after_T0(order)
        kept, length = self.now
        length += order.size
        if order.size > 0 and self._happens(order.size, length):
            cut = int(self.rng.integers(order.size, 1)[0]) + 1
            self.state.run(order[:cut])
            kept = (self.state.b.copy(), self.state.u.copy())
            order = order[cut:]
        self.state.run(order)
        self.now = kept, length
        if length >= self.tail.window:
            self.before, self.now = self.now, (kept, 0)

    def point(self):
        (before, earlier), (now, later) = self.before, self.now
        if earlier + later == 0:
            return self.state.present()
        chosen = now if self._happens(later, earlier + later) else before
        return self.state.point(*chosen)

    def _happens(self, parts, whole):
        """True with probability parts/whole."""
        return int(self.rng.integers(2**31, 1)[0]) * whole < parts * 2**31


OUTPUTS = {"last": Last, "average": Average, "random": Random}
