"""Pdprox with restarts, for optima to high accuracy where neither the loss nor the regularizer is smooth.

Pdprox-dual is the iteration x = T(x) of a map that is firmly nonexpansive in the norm

    ||(w, b)||_M^2 = ||w||^2/tau + ||b||^2/sigma - 2 b.K w,    K = X/n

for tau sigma ||K||^2 <= 1. [He and Yuan 2012] Anchoring improves the worst case, not the average: with the point a
where the epoch began, step k of an epoch is

    x_(k+1) = (k+1)/(k+2) (2 T(x_k) - x_k) + 1/(k+2) a

the reflected iteration of Halpern, whose residual r_k = ||x_k - T(x_k)||_M decreases like 1/k. On sharp problems, such
as linear programs (hinge loss with l1), a restart whenever it has fallen by a constant factor makes that linear.
[Applegate, Hinder, Lu and Lubin 2023; Lu and Yang 2024]

An epoch is over when r_k <= 0.2 r_0, or r_k <= 0.8 r_0 and r grows, or it has lasted for 0.36 of all iterations; the
next one starts from T(x_k), with the ratio of the steps nearer to that of the ways that w and b went:

    omega = sqrt(sigma/tau),    log omega = (log omega + log(||b - a_b|| / ||w - a_w||)) / 2

but not to more than 10 times, or less than a tenth, of max ||b - b_0|| / max ||w - w_0||, the ratio of the longest ways
from the start that were seen at restarts. In a short epoch the ratio of the ways is itself proportional to omega^2,
since each way is as long as its steps: without the bound, omega runs away while one of w and b hardly moves, and then
the residual stays where it is for a third of all iterations. Where w or b did not move at all, as a w that the proximal
step keeps at 0 while b is far too short, omega moves by a factor of 10 towards longer steps of the other one: data of
other units make an omega of 1 wrong by any factor. The other constants are those of PDLP.

All X w and X^T b are combinations of known products, so that an iteration is a pass as everywhere in Pdprox. r_k takes
no product, so that no checks are needed.
"""

from math import sqrt

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.pdprox.begin import begun, product_at, v_at, z_at
from rrmbench.solvers.pdprox.step_sizes import Constant, draws_nothing

SUFFICIENT, NECESSARY, LONGEST_SHARE = 0.2, 0.8, 0.36


@solver(needs={"conjugate_prox"}, deterministic=draws_nothing)
def pdprox_restarted(problem, start, rng, *, constant: Constant = "spectral"):
    """Pdprox-dual as a restarted, reflected Halpern iteration that adapts the ratio of its steps.

    It yields T(x_k), whose w and b come from the proximal steps: sparse, and in the domain of the conjugate.
    """
    problem, at, sizes, z = yield from begun(problem, start, rng, z_at, constant, ratio=1.0)
    v = yield from product_at(v_at, problem, at)
    origin = anchor = (at.w, z, at.b, v)
    x, epoch, total, longest = copies(anchor), Epoch(), 0, (0.0, 0.0)
    while True:
        new = mapped(problem, sizes, x)
        total += 1
        yield Iterate(new[0], new[2], problem.X.passes)
        sizes.shorten_if_unsafe(new[2], new[3])
        if epoch.is_over(residual(problem, sizes, x, new), total):
            longest = tuple(map(max, longest, ways(new, origin)))
            sizes.rebalance(ways(new, anchor), longest)
            anchor, x, epoch = new, copies(new), Epoch()
        else:
            reflect(x, new, anchor, epoch.steps)


class Epoch:
    """The residuals since a restart."""

    def __init__(self):
        self.steps, self.first, self.last = 0, np.inf, np.inf

    def is_over(self, r, total):
        """Whether to restart after a step with the residual `r`, `total` being all iterations so far."""
        if self.steps == 0:
            self.first = r
        over = self.steps > 0 and (
            r <= SUFFICIENT * self.first
            or (r <= NECESSARY * self.first and r > self.last)
            or self.steps >= LONGEST_SHARE * total
        )
        self.steps, self.last = self.steps + 1, r
        return over


def mapped(problem, sizes, x):
    """T(x) with its products; points are (w, z = X w, b, v = -X^T b/n)."""
    w, z, b, v = x
    new = sizes.primal(w, v)
    z_new = problem.X.forward(new)
    ahead = 2.0 * z_new
    ahead -= z
    b_new = sizes.dual(b, ahead)
    return new, z_new, b_new, problem.v(b_new)


def residual(problem, sizes, x, new):
    """||x - T(x)||_M."""
    w, z, b = (x[i] - new[i] for i in range(3))
    square = float(np.vdot(w, w)) / sizes.tau + float(np.vdot(b, b)) / sizes.sigma
    return sqrt(max(square - 2.0 * float(np.vdot(b, z)) / problem.n, 0.0))


def reflect(x, new, anchor, k):
    """x = k/(k+1) (2 new - x) + 1/(k+1) anchor in place, part by part."""
    share = k / (k + 1.0)
    for part, mapped_part, anchor_part in zip(x, new, anchor, strict=True):
        part *= -share
        part += (2.0 * share) * mapped_part
        part += (1.0 - share) * anchor_part


def copies(x):
    return tuple(part.copy() for part in x)


def ways(x, y):
    """How far w and b are from one point to another."""
    return float(np.linalg.norm(x[0] - y[0])), float(np.linalg.norm(x[2] - y[2]))
