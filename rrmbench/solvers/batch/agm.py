"""AGM-EF: accelerated gradients from estimate functions, with the whole past in memory or one step of it.

For J = f + Psi, f the mean loss, L-smooth in the norm of a prox-function d [AGM, Algorithms 1 to 4]. In ratios
theta_k = a_k / A_k and rho_k = 1 / A_k the four algorithms are one loop in which nothing overflows:

    c = rho + lambda,  theta = 2 c / (rho + sqrt(rho^2 + 4 (L + lambda_2) c)),  rho' = (1 - theta) rho
    u = x + theta c/(c + theta lambda) (z - x),  g = f'(u)
    z' = the minimizer of the estimate function,  x' = x + theta (z' - x)

f is lambda_1-strongly convex with respect to d, Psi lambda_2-strongly convex, lambda is their sum. `convexity: psi`
leaves (l2/2) ||w||^2 in Psi, lambda_2 = l2 + kappa; `convexity: loss` moves it to f, so L grows by l2 and lambda_1 =
l2. For d = ||.||^2/2 the estimate function is the same in both, the linear models of the mean loss plus Psi with its
square, and so are theta, rho and u: the two differ in the trials of an adaptive L alone.

    step   bound      L = S/(gamma + mu), as of the problem: no search
           adaptive   the trial of a step begins at L/down of the step before, the first at bound/1000, and grows by
                      the factor `up` until J(x') <= M' or L is the bound; M' is the minimum of the estimate function
    prox   auto       the entropy where the regularizer, or the loss whose dual this is, has one; else Euclidean

M_k >= J(x_k), and J(x_k) - D(b) <= rho_k Delta(x^, x0) for the weighted average b of all loss derivatives, x^ being
the minimizer in D(b); `Iterate.objectives` has both. A step is one pass: X x and X u are combinations of known
products. A rejected trial changes u and costs a pass as well, half a one in the first step.
"""

from functools import partial
from math import hypot, inf, log, sqrt
from typing import Literal

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.whole_arrays import toward
from rrmbench.parameters import AboveOne, FromOne
from rrmbench.problem.constants import NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.batch.geometry import Euclidean, OfDuals, Simplex

NEGLIGIBLE = 1e-250  # rho, below which its term is lost in rounding, and 1/rho would overflow
FIRST = 1e-3  # L_0 over the bound
TINY = 1e-200  # the least bound of L, so that L and rho stay above NEGLIGIBLE; any greater bound is one too
ABOVE = 1e-9  # the least bound of the losses' own L over lambda_1, so that rounding leaves the sum above lambda_1
LEAST = 1e-9  # every trial over the bound: once x is optimal, every L is accepted
ROUNDING = 1e-12  # of M', up to which J(x') may exceed it; without it L explodes near the optimum

Step = Literal["bound", "adaptive"]
Convexity = Literal["psi", "loss"]
Prox = Literal["auto", "euclidean", "entropy"]


def rho_bound(k, L, lambda_1, lambda_2):
    """min(4 L/(k + 1)^2, (L - lambda_1) (1 + sqrt(lambda/(4 L)))^(2 - 2k)) >= rho_k, k >= 1 steps with L or less.

    [AGM, Lemma 5]
    """
    linear = (L - lambda_1) * (1.0 + sqrt((lambda_1 + lambda_2) / (4.0 * L))) ** (2.0 - 2.0 * k)
    return np.minimum(4.0 * L / (k + 1.0) ** 2, linear)


def searches(step, up, down):
    """(trials per step, further trials), a bound: L falls by at most the factor 1/down a step, and rises by `up`."""
    if step == "bound":
        return 1.0, 0.0
    return 1.0 + log(down) / log(up), 1.0 + log(1.0 / FIRST) / log(up)


def lambda_1_of(problem, convexity):
    """The strong convexity that counts as the losses': of the problem's own square, which a free bias is not in."""
    return problem.l2 if convexity == "loss" and not problem.free_bias else 0.0


def agm_bound(constants, passes, *, step, up, down, convexity, prox):
    """rho_k ||w0 - w*||^2 / 2 after k steps, rho_k as in `rho_bound`. [AGM, Theorems 6 and 14]

    The distance is the Euclidean one. With an adaptive L, k is the least number of accepted steps in so many passes.
    """
    if prox == "entropy" or constants.entropic:
        raise NoTheorem("agm_ef", "the distance Delta(w*, w0) in the entropy is not known", prox=prox)
    lambda_1 = constants.l2 if convexity == "loss" else 0.0
    per_step, extra = searches(step, up, down)
    k = np.floor((np.asarray(passes, dtype=float) - constants.start - extra) / per_step + 1e-9)
    rho = rho_bound(np.maximum(k, 1.0), constants.L + lambda_1, lambda_1, constants.s - lambda_1)
    return np.where(k >= 1.0, 0.5 * rho * constants.distance, inf)


def agm_quartering(problem, *, step, up, down, convexity):
    """The passes of the k steps after which rho_k <= s/4, by `rho_bound`: P(w) - P(w*) <= rho_k (P(w0) - P(w*)) / s."""
    s, lambda_1 = problem.strong_convexity, lambda_1_of(problem, convexity)
    L = problem.L + lambda_1
    per_step, extra = searches(step, up, down)
    k = 1
    while rho_bound(k, L, lambda_1, s - lambda_1) > 0.25 * s:
        k += max(1, k // 50)
    return per_step * k + extra + 0.5


def chosen(*, prox="auto", **others):
    """(what else is needed, what is not given) with a `prox`: an entropy asked for, or one that is not taken."""
    return frozenset({"entropy"} if prox == "entropy" else ()), frozenset({"ground"} if prox == "euclidean" else ())


OF_BOTH = {
    "needs": {"smooth"},
    "gives": {"gap", "ground"},
    "bound": agm_bound,
    "passes_to_quarter": agm_quartering,
    "choose": chosen,
    "deterministic": True,
}


@solver(**OF_BOTH)
def agm_ef(
    problem,
    start,
    rng,
    *,
    step: Step = "adaptive",
    up: AboveOne = 2.0,
    down: FromOne = 1.1,
    convexity: Convexity = "psi",
    prox: Prox = "auto",
):
    """AGM-EF with infinity memory: z' minimizes the average of all linear models of f plus Psi + rho' Delta(., x0).

    [AGM, Algorithms 1 and 2]
    """
    return steps(problem, start, WholePast, step, up, down, convexity, prox)


@solver(**OF_BOTH)
def agm_ef_1(
    problem,
    start,
    rng,
    *,
    step: Step = "adaptive",
    up: AboveOne = 2.0,
    down: FromOne = 1.1,
    convexity: Convexity = "psi",
    prox: Prox = "auto",
):
    """AGM-EF with 1-memory: z' minimizes the newest model of J plus the distance to z [AGM, Algorithms 3 and 4].

    Its rho_k are those of `agm_ef`, and its iterates too where Psi is lambda_2 d up to an affine function; so on the
    dual of losses that have an entropy the two are one method.
    """
    return steps(problem, start, LastStep, step, up, down, convexity, prox)


class Ratios:
    """The scalars of a step with smoothness L: theta, rho' and the weight of z in u = x + weight (z - x).

    rho is inf before the first step, whose u is x0 and whose theta is 1.
    """

    def __init__(self, rho, L, lambda_1, lambda_2):
        if rho == inf:
            self.theta, self.rho, self.t_1, self.weight = 1.0, L - lambda_1, 0.0, 0.0
            return
        c = rho + lambda_1 + lambda_2
        self.theta = theta = 2.0 * c / (rho + hypot(rho, 2.0 * sqrt(L + lambda_2) * sqrt(c)))  # squares overflow
        self.rho = (1.0 - theta) * rho if rho > NEGLIGIBLE else 0.0
        self.t_1, self.weight = (1.0 - theta) * c, theta * c / (c + (lambda_1 + lambda_2) * theta)


class WholePast:
    """The estimate function rho Delta(., x0) + Psi + the weighted average of all linear models of the mean loss.

    dx0 is d'(x0); V and F are the averages of v = -f'(u) and of f(u) + v.u.
    """

    def __init__(self, problem, geometry, x0, dx0):
        self.problem, self.geometry, self.x0, self.dx0 = problem, geometry, x0, dx0
        self.F = 0.0

    def minimize(self, step, V, v):
        """The minimizer z', with d'(z')."""
        return self.geometry.ground(step.rho * self.dx0 + V, 1.0, step.rho)

    def minimum(self, step, z, dz, V, f, v, u):
        """Return (M', F'), M' = Psi(z') + rho' Delta(z', x0) + F' - V'.z'."""
        F = self.F + step.theta * (f + float(np.vdot(v, u)) - self.F)
        far = step.rho * self.geometry.divergence(z, dz, self.x0, self.dx0)
        return self.problem.Psi(z) + far + F - float(np.vdot(V, z)), F

    def accept(self, z, dz, model):
        self.F = model


class LastStep:
    """The estimate function (c Delta(., z) + M) (1 - theta) + theta (the newest linear model + Psi)."""

    def __init__(self, problem, geometry, x0, dx0):
        self.problem, self.geometry, self.z, self.dz = problem, geometry, x0, dx0
        self.M = 0.0

    def minimize(self, step, V, v):
        if step.theta == 1.0:
            return self.geometry.ground(step.rho * self.dz + v, 1.0, step.rho)
        return self.geometry.ground(step.t_1 * self.dz + step.theta * v, step.theta, step.t_1)

    def minimum(self, step, z, dz, V, f, v, u):
        """Return (M', M')."""
        theta = step.theta
        far = (step.rho if theta == 1.0 else step.t_1) * self.geometry.divergence(z, dz, self.z, self.dz)
        newest = f + float(np.vdot(v, u)) - float(np.vdot(v, z)) + self.problem.Psi(z)
        M = far + (1.0 - theta) * self.M + theta * newest
        return M, M

    def accept(self, z, dz, model):
        self.z, self.dz, self.M = z, dz, model


def geometry_of(problem, prox):
    """The geometry of a problem for the parameter `prox`; RrmbenchError where it has no entropy that is asked for."""
    if "entropy" in problem.traits and prox != "euclidean":
        return OfDuals(problem) if problem.regularization.has_entropy_of_duals else Simplex(problem)
    if prox == "entropy":
        raise RrmbenchError(
            "agm_ef: prox: entropy needs a regularizer with an entropic step, without any square added; found "
            f"{type(problem.regularizer).__name__} with l2 + kappa = {problem.l2 + problem.kappa:g}"
        )
    return Euclidean(problem)


def steps(problem, start, memory, step, up, down, convexity, prox):
    """Yield the Iterates of the loop above; `memory` is WholePast or LastStep."""
    problem = problem.counted()
    geometry = geometry_of(problem, prox)
    lambda_1 = lambda_1_of(problem, convexity)
    lambda_2 = problem.strong_convexity - lambda_1
    bound, adaptive = max(geometry.L, TINY, ABOVE * lambda_1) + lambda_1, step == "adaptive"
    x, dx = geometry.start(start)
    Xx = problem.outputs(x)
    z, Xz, rho = x, Xx, inf
    estimate = (WholePast if isinstance(geometry, OfDuals) else memory)(problem, geometry, x, dx)
    L = FIRST * bound * down if adaptive else bound
    B, V, u = np.zeros(problem.output_shape), np.zeros(problem.shape), None
    yield Iterate(x, passes=problem.X.passes)
    while True:
        L = max(L / down, LEAST * bound) / up if adaptive else bound
        while True:
            L = min(up * L, bound) if adaptive else bound
            if L <= lambda_1:
                continue
            now = Ratios(rho, L, lambda_1, lambda_2)
            if rho < inf or u is None:  # all trials of the first step are at x0
                u, Xu = toward(x, z, now.weight), toward(Xx, Xz, now.weight)
                b = problem.loss_dual(Xu)
                v = problem.v(b)
            new_V = toward(V, v, now.theta)
            new_z, new_dz = estimate.minimize(now, new_V, v)
            new_Xz = problem.X.forward(new_z)
            new_x, new_Xx = toward(x, new_z, now.theta), toward(Xx, new_Xz, now.theta)
            if adaptive:
                M, model = estimate.minimum(now, new_z, new_dz, new_V, problem.mean_loss(Xu), v, u)
                if L < bound and problem.primal(new_x, new_Xx) > M + ROUNDING * abs(M):
                    yield Iterate(x, passes=problem.X.passes)
                    continue
                estimate.accept(new_z, new_dz, model)
            else:
                estimate.accept(new_z, new_dz, None)
            break
        x, Xx, z, Xz, V, rho = new_x, new_Xx, new_z, new_Xz, new_V, now.rho
        B = toward(B, b, now.theta)
        yield Iterate(x, B, problem.X.passes, objectives=partial(_objectives, problem, x, Xx, V, B))


def _objectives(problem, x, Xx, V, B):
    """(J(x), D(B)) without a product; D = -inf with a free bias, as the columns of B do not sum to 0."""
    is_bound = not (problem.free_bias and problem.kappa == 0.0)
    return problem.primal(x, Xx), problem.dual_at(V, B)[0] if is_bound else -inf
