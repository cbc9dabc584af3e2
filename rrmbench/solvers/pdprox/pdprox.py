"""Pdprox: the primal dual prox method [Pdprox], where nothing needs to be smooth.

P(w) = max_b F(w, b), F(w, b) = (1/n) (b.X w - sum (phi^mu)*(b_i)) + Psi(w). The paper's alpha is b up to signs that it
folds into X, its gradients are G_w = (1/n) X^T b = -v(b) and G_alpha = (1/n) X w, to which it adds the linear part of
the conjugate; here phi* is in the proximal step as a whole, so that smooth losses are served too. With the proximal
steps of `pdprox_lengths`,

    pdprox_dual     b_t = dual(b_(t-1), 2 z_(t-1) - z_(t-2)),   w_t = primal(w_(t-1), v_t)
    pdprox_primal   w_t = primal(w_(t-1), 2 v_(t-1) - v_(t-2)),   b_t = dual(b_(t-1), z_t)

where z_t = X w_t and v_t = -(1/n) X^T b_t, and z_(-1) = z_0, v_(-1) = v_0: equations (22) and (21). The first is
[Chambolle and Pock 2011, Algorithm 1]; the second is right where the end of section 4.4 is misprinted. An iteration
is one product with X and one with X^T, a pass; to start from w != 0 (dual) or b != 0 (primal) takes half a pass more.

    layout      double_dual: two copies of what has the length n (z or b) are kept and combined; double_primal: two
                of what has the length d (w or v). The iterates are the same up to rounding, their cost is not.
    constant    what bounds ||X/n||^2, see `pdprox_lengths`
    step_scale, ratio    see `pdprox_lengths.Lengths`; the theory is for step_scale <= 1
    output      the last (w_t, b_t), or the averages of w and b over all iterations, which the theorem is about
"""

from math import sqrt
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.parameters import Positive
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.pdprox.step_sizes import Constant, lengths_of

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
    T = np.maximum(np.floor(np.asarray(passes, dtype=float) - constants.start), 0.0)
    with np.errstate(divide="ignore"):
        return (constants.distance + constants.D2) * constants.R / (step_scale * sqrt(2.0 * constants.n)) / T


@solver(bound=pdprox_bound)
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
    at = origin(problem, start)
    yield at
    lengths, passes = yield from lengths_of(problem, at, rng, constant, step_scale=step_scale, ratio=ratio)
    z, passes = yield from product(problem.X.forward, at.w, problem.output_shape, at, passes)
    yield from reported(output, dual_steps(problem, at, z, lengths, passes, layout, beta))


@solver(bound=pdprox_bound)
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
    at = origin(problem, start)
    yield at
    lengths, passes = yield from lengths_of(problem, at, rng, constant, step_scale=step_scale, ratio=ratio)
    v, passes = yield from product(problem.v, at.b, problem.shape, at, passes)
    yield from reported(output, primal_steps(problem, at, v, lengths, passes, layout))


@solver(needs={"strongly_convex"})
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
    at, s = origin(problem, start), problem.strong_convexity
    yield at
    lengths, passes = yield from lengths_of(problem, at, rng, constant, step_scale=step_scale, ratio=ratio, convexity=s)
    z, passes = yield from product(problem.X.forward, at.w, problem.output_shape, at, passes)
    yield from dual_steps(problem, at, z, lengths, passes, layout)


def origin(problem, start):
    """The Iterate that a method starts from: `Problem.start`, and b = 0."""
    b = np.zeros(problem.output_shape) if start is None or start.b is None else start.b.copy()
    return Iterate(problem.start(start), b)


def product(multiply, x, shape, at, passes):
    """Return (multiply(x), passes after it): half a pass, after which `at` is yielded, or nothing for x = 0."""
    if not x.any():
        return np.zeros(shape), passes
    found = multiply(x)
    yield at._replace(passes=passes + 0.5)
    return found, passes + 0.5


def beyond(x, old, theta=1.0):
    """x + theta (x - old), a new array."""
    ahead = x - old
    if theta != 1.0:
        ahead *= theta
    ahead += x
    return ahead


def dual_steps(problem, at, z, lengths, passes, layout="double_dual", beta="step"):
    """The iterates of `pdprox_dual` after `at`, z = X w there; `passes` are spent already."""
    w, base = at.w, at.b
    ahead = z
    while True:
        b = lengths.dual(base, ahead)
        v = problem.v(b)
        lengths.watch(b, v)
        old, w = w, lengths.primal(w, v)
        theta, base = lengths.advance(), b if beta == "step" else base
        if layout == "double_primal":
            ahead = problem.X.forward(beyond(w, old, theta))
        else:
            before, z = z, problem.X.forward(w)
            if beta == "step":
                ahead = beyond(z, before, theta)
            else:
                base, ahead = lengths.dual(base, z), z
        passes += 1.0
        yield Iterate(w, b, passes)


def primal_steps(problem, at, v, lengths, passes, layout):
    """The iterates of `pdprox_primal` after `at`, v = -X^T b/n there; `passes` are spent already."""
    w, b = at.w, at.b
    ahead = v
    while True:
        w = lengths.primal(w, ahead)
        z = problem.X.forward(w)
        lengths.watch(w, z, 1.0 / problem.n)
        old, b = b, lengths.dual(b, z)
        if layout == "double_dual":
            ahead = problem.v(beyond(b, old))
        else:
            before, v = v, problem.v(b)
            ahead = beyond(v, before)
        passes += 1.0
        yield Iterate(w, b, passes)


def reported(output, iterates):
    """The iterates, or the averages of w and b up to each of them."""
    if output == "last":
        yield from iterates
    for t, x in enumerate(iterates, 1):
        if t == 1:
            w, b = np.zeros(x.w.shape), np.zeros(x.b.shape)
        w += (x.w - w) / t
        b += (x.b - b) / t
        yield Iterate(w, b, x.passes)
