"""Accelerated Prox-SDCA [Acc-SDCA]."""

from typing import Literal

import numpy as np

from rrmbench.parameters import Auto, Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.registry import build_solver, solver
from rrmbench.solvers.sdca.prox_sdca import prox_sdca_bound
from rrmbench.stages.acceleration import ENOUGH, Inner, StronglyConvex, around

ACCURACY = 1e-3  # of [Acc-SDCA, Figure 3], whose losses are about 1 at w = 0


def accelerated_prox_sdca_bound(constants, passes, *, inner, sampling):
    """Theorem 3: P(w_t) - P(w*) <= xi_t, where an outer iteration takes 2 (log(2 n) + 7 + 2.5 log(R^2/(s gamma n)))
    passes.

    That is Theorem 1 on the inner problem, R^2/((s + kappa) gamma) = n, with Lemma 5's ratio of its initial dual
    suboptimality to its accuracy: in expectation, for uniform draws and `inner: theory`. Prox-SDCA's own bound where
    R^2/(s gamma) <= 10 n.
    """
    c = constants
    if c.gamma == 0.0:
        raise NoTheorem("accelerated_prox_sdca", "Theorem 3 needs a smooth loss")
    if _is_easy(c):
        return prox_sdca_bound(c, passes, sampling=sampling, output="last")
    if inner != "theory":
        raise NoTheorem("accelerated_prox_sdca", "Theorem 3 is about inner: theory", inner=inner)
    if sampling != "uniform":
        raise NoTheorem("accelerated_prox_sdca", "Theorem 3 is about sampling: uniform", sampling=sampling)
    plan = StronglyConvex(c.s, c.R**2 / (c.gamma * c.n) - c.s, c.initial_gap)
    return plan.xi(1.0 + np.floor(np.asarray(passes, dtype=float) / _per_iteration(c) + 1e-9))


def outer_iterations(constants, last):
    """The passes at which those of `accelerated_prox_sdca_bound` are over; None where it is Prox-SDCA's, or none."""
    if constants.gamma == 0.0 or _is_easy(constants):
        return None
    return np.arange(0.0, last + 1e-9, _per_iteration(constants))


def _is_easy(c):
    return c.R**2 <= ENOUGH * c.n * c.s * c.gamma


def _per_iteration(c):
    return 2.0 * (np.log(2.0 * c.n) + 7.0 + 2.5 * np.log(c.R**2 / (c.s * c.gamma * c.n)))


@solver(
    needs={"strongly_convex", "separable", "coordinate or row_norms", "rows"},
    bound=accelerated_prox_sdca_bound,
    bound_at=outer_iterations,
)
def accelerated_prox_sdca(
    problem,
    start,
    rng,
    *,
    inner: Inner = "theory",
    eps: Positive | Auto = "auto",
    sampling: Literal["permutation", "uniform"] = "permutation",
):
    """Prox-SDCA on P(w) + (kappa/2) ||w - y||^2 with momentum, kappa = R^2/(gamma n) - s. [Acc-SDCA, Figure 2]

    This kappa makes R^2/((s + kappa) gamma) = n, so that an inner run takes O(n) steps per factor e [Acc-SDCA,
    Corollary 1]; with mu = s/2, rho = mu + kappa and eta = sqrt(mu/rho), [Acc-SDCA, Theorem 3] proves
    1 + (2/eta) log(xi_1/eps) outer iterations. This solver is the reduction `accelerate` around prox_sdca, which says
    what the schedule is; prox_sdca itself runs where R^2/(gamma s) <= 10 n.

    inner : when an outer iteration ends: "theory" tests the inner duality gap after each pass (half a check), a number
        is that many passes without a test; 5 is the paper's Remark 1
    eps : the accuracy for which a loss that is not smooth is smoothed, by mu = eps/G^2, which changes P by at most
        eps/2 [Acc-SDCA, section 3.3]; not used for a smooth loss, since a run is stopped from outside. "auto" is 1e-3
        of the mean loss at w = 0, which is 1 for the paper's hinge losses, and 1e-3 where that is 0
    sampling : that of prox_sdca

    w is that of the inner iterates; D(b) of P is finite for the b of the inner iterates.
    """
    if "smooth" not in problem.traits:
        if eps == "auto":
            eps = ACCURACY * (abs(problem.mean_loss(np.zeros(problem.output_shape))) or 1.0)
        problem = problem.smoothed(eps / problem.lipschitz**2)
    solve = build_solver({"name": "prox_sdca", "sampling": sampling})
    return around(solve, "auto", inner)(problem, start, rng)
