"""NAME: say in one line what the method does."""

from itertools import count
from math import sqrt

from rrmbench.toolbox import (
    Iterate,
    Positive,
    bring_up,
    kernel,
    prefetch_row,
    row_move,
    row_output,
    row_steps,
    solver,
)


# "rows": kernels read single rows of X; "scalar", "coordinate": one output per sample, psi a sum over coordinates
@solver(needs={"smooth", "scalar", "coordinate", "rows"})
def NAME(problem, start, rng, *, step_scale: Positive = 1.0):
    """w = prox_{eta Psi}(w - eta phi'(x_i.w) x_i), i uniform; in pass k eta = step_scale / (s k n + L_max sqrt(k))"""
    n, w = problem.n, problem.start(start)
    L_max = problem.L_max or 1.0  # without data every step is right
    yield Iterate(w)  # once before any work
    for k in count(1):
        eta = step_scale / (problem.strong_convexity * k * n + L_max * sqrt(k))
        steps(row_steps(problem, eta), rng.integers(n, n), w)  # rng.epoch(n) would be a random permutation
        yield Iterate(w, passes=k)  # n steps on single rows are one pass


@kernel
def steps(way, order, w):
    """One step for each sample of `order` (m,), changing w (d,); coordinates that a sparse row does not touch wait."""
    for t in range(order.shape[0]):
        prefetch_row(way, order, t)  # the rows to come; changes no result
        i = order[t]
        z = row_output(way, i, t, w)  # x_i.w
        b = way.loss.dual_point(z, way.y[i], way.mu)  # phi'(z), of the smoothed loss if a reduction smooths
        row_move(way, i, t, b, w)
    bring_up(way, order.shape[0], w)
