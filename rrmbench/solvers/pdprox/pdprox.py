"""Pdprox: the primal dual prox method [Pdprox], where nothing needs to be smooth.

P(w) = max_b F(w, b), F(w, b) = (1/n) (b.X w - sum (phi^mu)*(b_i)) + Psi(w). The paper's alpha is b up to signs that it
folds into X, its gradients are G_w = (1/n) X^T b = -v(b) and G_alpha = (1/n) X w, to which it adds the linear part of
the conjugate; here phi* is in the proximal step as a whole, so that smooth losses are served too. With the proximal
steps of `step_sizes`,

    pdprox_dual     b_t = dual(b_(t-1), 2 z_(t-1) - z_(t-2)),   w_t = primal(w_(t-1), v_t)
    pdprox_primal   w_t = primal(w_(t-1), 2 v_(t-1) - v_(t-2)),   b_t = dual(b_(t-1), z_t)

where z_t = X w_t and v_t = -(1/n) X^T b_t, and z_(-1) = z_0, v_(-1) = v_0: equations (22) and (21). pdprox_dual is
[Chambolle and Pock 2011, Algorithm 1]; pdprox_primal corrects the misprint at the end of section 4.4. An iteration is
one product with X and one with X^T, a pass; a start with w != 0 (dual) or b != 0 (primal) takes half a pass more.

    layout      double_dual: two copies of what has the length n (z or b) are kept and combined; double_primal: two
                of what has the length d (w or v). The iterates are the same up to rounding, their cost is not.
    constant    what bounds ||X/n||^2, see `step_sizes`
    step_scale, ratio    see `step_sizes.StepSizes`; the theory is for step_scale <= 1
    output      the last (w_t, b_t), or the averages of w and b over all iterations, which [Pdprox, Theorem 6] bounds
"""

from math import sqrt
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.pdprox.begin import begun, v_at, z_at
from rrmbench.solvers.pdprox.step_sizes import Constant, draws_nothing

Layout = Literal["double_dual", "double_primal"]
Output = Literal["last", "average"]


def pdprox_bound(constants, passes, *, output, constant, step_scale, ratio):
    """(||w0 - w*||^2 + D_2) sqrt(c/2) / T after T iterations, c = (R/step_scale)^2/n, D_2 >= ||b||^2

    [Pdprox, Corollary 8] is for the average with one step, step_scale <= 1, and losses whose conjugate has a bounded
    domain.
    """

    def unless(holds, reason, **given):
        if not holds:
            raise NoTheorem("pdprox", f"Corollary 8 {reason}", **given)

    unless(output == "average", "is about output: average", output=output)
    unless(constant == "data", "needs a sure bound of ||X||, constant: data", constant=constant)
    unless(ratio is None, "is about one step length for both", ratio=ratio)
    unless(step_scale <= 1.0, "needs step_scale <= 1", step_scale=step_scale)
    unless(constants.D2 < np.inf, "needs a Lipschitz loss")
    T = constants.steps(passes)
    with np.errstate(divide="ignore", invalid="ignore"):  # without an iteration, or of X = 0
        return (constants.distance + constants.D2) * constants.R / (step_scale * sqrt(2.0 * constants.n)) / T


@solver(needs={"conjugate_prox"}, bound=pdprox_bound, deterministic=draws_nothing)
def pdprox_dual(
    problem,
    start,
    rng,
    *,
    layout: Layout = "double_dual",
    constant: Constant = "data",
    step_scale: Positive = 1.0,
    ratio: Positive | None = None,
    output: Output = "last",
    beta: Literal["step", "prox"] = "step",
):
    """Pdprox-dual: an extra-gradient in b, then a step in w. [Pdprox, Algorithms 3 and 1]

    beta : with b_t = dual(beta_(t-1), z_(t-1)), what beta_t is. step: b_t + (sigma/n) (z_t - z_(t-1)), Algorithm 3;
        prox: dual(beta_(t-1), z_t), Algorithm 1, which takes a second proximal step, and the layout double_dual.
    """
    if beta == "prox" and layout != "double_dual":
        raise RrmbenchError(
            f"solver pdprox_dual: beta: prox (Algorithm 1) keeps two dual variables, found layout: {layout} "
            "(allowed is layout: double_dual, or beta: step)"
        )
    given = {"step_scale": step_scale, "ratio": ratio}
    problem, at, sizes, z = yield from begun(problem, start, rng, z_at, constant, **given)
    advance = DUAL_STEPS[layout] if beta == "step" else dual_steps_prox
    yield from reported(output, advance(problem, at, z, sizes))


@solver(needs={"conjugate_prox"}, bound=pdprox_bound, deterministic=draws_nothing)
def pdprox_primal(
    problem,
    start,
    rng,
    *,
    layout: Layout = "double_primal",
    constant: Constant = "data",
    step_scale: Positive = 1.0,
    ratio: Positive | None = None,
    output: Output = "last",
):
    """Pdprox-primal: an extra-gradient in w, then a step in b. [Pdprox, Algorithm 2]

    Its u_t is w_t + tau (v_t - v_(t-1)).
    """
    given = {"step_scale": step_scale, "ratio": ratio}
    problem, at, sizes, v = yield from begun(problem, start, rng, v_at, constant, **given)
    yield from reported(output, PRIMAL_STEPS[layout](problem, at, v, sizes))


@solver(needs={"strongly_convex", "conjugate_prox"}, deterministic=draws_nothing)
def pdprox_accelerated(
    problem,
    start,
    rng,
    *,
    layout: Layout = "double_dual",
    constant: Constant = "data",
    step_scale: Positive = 1.0,
    ratio: Positive | None = None,
):
    """pdprox_dual for strongly convex Psi, at the rate 1/T^2: the paper's Pdprox-ac.

    b_t = dual(b_(t-1), z_(t-1) + theta (z_(t-1) - z_(t-2))); after each iteration theta = 1/sqrt(1 + 2 s tau), tau is
    multiplied and sigma divided by it. `step_scale` and `ratio` are those of the first iteration.
    [Pdprox, section 5.7; Chambolle and Pock 2011, Algorithm 2]
    """
    given = {"step_scale": step_scale, "ratio": ratio, "strong_convexity": problem.strong_convexity}
    problem, at, sizes, z = yield from begun(problem, start, rng, z_at, constant, **given)
    yield from DUAL_STEPS[layout](problem, at, z, sizes)


def extrapolation(x, old, theta=1.0):
    """x + theta (x - old), a new array."""
    ahead = x - old
    if theta != 1.0:
        ahead *= theta
    ahead += x
    return ahead


def dual_steps(problem, at, z, sizes):
    """The iterates of `pdprox_dual` after `at`, z = X w there; two products z, combined, are kept.

    The problem is a counted one, here as in the generators below.
    """
    w, b, ahead = at.w, at.b, z
    while True:
        w, b, theta = dual_step(problem, sizes, w, b, ahead)
        before, z = z, problem.X.forward(w)
        ahead = extrapolation(z, before, theta)
        yield Iterate(w, b, problem.X.passes)


def dual_steps_double_primal(problem, at, z, sizes):
    """As `dual_steps`, keeping two w instead of two z."""
    w, b, ahead = at.w, at.b, z
    while True:
        old = w
        w, b, theta = dual_step(problem, sizes, w, b, ahead)
        ahead = problem.X.forward(extrapolation(w, old, theta))
        yield Iterate(w, b, problem.X.passes)


def dual_steps_prox(problem, at, z, sizes):
    """Algorithm 1, `beta: prox`: beta_t = dual(beta_(t-1), z_t) beside b_t = dual(beta_(t-1), z_(t-1))."""
    w, base = at.w, at.b
    while True:
        w, b, _ = dual_step(problem, sizes, w, base, z)
        z = problem.X.forward(w)
        base = sizes.dual(base, z)
        yield Iterate(w, b, problem.X.passes)


def dual_step(problem, sizes, w, base, ahead):
    """Return (new w, new b, theta) from b = dual(base, ahead)."""
    b = sizes.dual(base, ahead)
    v = problem.v(b)
    sizes.shorten_if_unsafe(b, v)
    return sizes.primal(w, v), b, sizes.advance()


def primal_steps(problem, at, v, sizes):
    """The iterates of `pdprox_primal` after `at`, v = -X^T b/n there; two products v, combined, are kept."""
    w, b, ahead = at.w, at.b, v
    while True:
        w, b = primal_step(problem, sizes, w, b, ahead)
        before, v = v, problem.v(b)
        ahead = extrapolation(v, before)
        yield Iterate(w, b, problem.X.passes)


def primal_steps_double_dual(problem, at, v, sizes):
    """As `primal_steps`, keeping two b instead of two v."""
    w, b, ahead = at.w, at.b, v
    while True:
        old = b
        w, b = primal_step(problem, sizes, w, b, ahead)
        ahead = problem.v(extrapolation(b, old))
        yield Iterate(w, b, problem.X.passes)


def primal_step(problem, sizes, w, b, ahead):
    """Return (new w, new b) from w = primal(w, ahead)."""
    w = sizes.primal(w, ahead)
    z = problem.X.forward(w)
    sizes.shorten_if_unsafe(w, z, 1.0 / problem.n)
    return w, sizes.dual(b, z)


DUAL_STEPS = {"double_dual": dual_steps, "double_primal": dual_steps_double_primal}
PRIMAL_STEPS = {"double_dual": primal_steps_double_dual, "double_primal": primal_steps}


def reported(output, iterates):
    """The iterates, or the averages of w and b up to each of them."""
    if output == "last":
        yield from iterates
        return
    for t, x in enumerate(iterates, 1):
        if t == 1:
            w, b = np.zeros(x.w.shape), np.zeros(x.b.shape)
        w += (x.w - w) / t
        b += (x.b - b) / t
        yield Iterate(w, b, x.passes)
