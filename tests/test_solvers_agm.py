"""AGM-EF against the printed algorithms, against its theorems, and over many steps."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import constants
from rrmbench.problem.problem import Problem
from rrmbench.solvers.batch.agm import Ratios, rho_bound
from rrmbench.solvers.batch.geometry import Simplex

pytestmark = pytest.mark.usefixtures("own_bounds")

METHODS = ["agm_ef", "agm_ef_1"]
PSI = {
    "l2": {"name": "l2", "strength": 0.05},
    "l1": {"name": "l1", "strength": 0.02},
    "net": {"name": "elastic_net", "l1": 0.02, "l2": 0.05},
    "box": {"name": "box", "lower": -0.1, "upper": 0.2},
}


def problem(loss="logistic", psi="net", n=40, d=7, seed=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.sign(X @ rng.normal(size=d) + rng.normal(size=n))
    return Problem(X, y, loss, PSI[psi])


def iterates(p, steps, name="agm_ef", start=None, reduction="none", **parameters):
    """The iterates of so many accepted steps, copied."""
    solve = registry.build_solver({"name": name, **parameters}, reduction)
    accepted = (x._replace(w=x.w.copy(), b=x.b.copy()) for x in solve(p, start, Rng(0)) if x.b is not None)
    return list(islice(accepted, steps))


def optimum(p):
    """w* to rounding, by another method."""
    solve = registry.build_solver({"name": "fista", "restart": "gradient"})
    return next(islice(solve(p, None, Rng(0)), 4000, None)).w.copy()


def derivative(p, u):
    return p.X.adjoint(p.loss_dual(p.X.forward(u))) / p.n


def prox_of_psi(p, x, t):
    return replace(p, l2=0.0).prox(x, t)


def algorithm_1(p, lambda_1, lambda_2, steps):
    """[AGM, Algorithm 1] as printed, d = ||.||^2/2; the models of f keep their gradients, one by one."""
    L = p.L + lambda_1
    x = z = x0 = np.zeros(p.shape)
    A, lam, models = 0.0, lambda_1 + lambda_2, []
    for _ in range(steps):
        # (a + A)(lambda_1 a + lam A + 1) + a lambda_2 A = L a^2
        roots = np.roots([lambda_1 - L, lambda_1 * A + lam * A + 1.0 + lambda_2 * A, A * (lam * A + 1.0)])
        a = max(roots.real)
        t1, t2, t3 = 1.0 + lam * A, lambda_1 * a, lambda_2 * a * A / (A + a)
        t = t1 + t2 + t3
        u = (a * t1 * z + (t * A + t3 * a) * x) / (t * (A + a) - t2 * a)
        models.append((a, derivative(p, u) + lambda_1 * u, u))
        A_new = A + a
        # z minimizes ||x - x0||^2/2 + sum a [Psi + g.x + (lambda_1/2) ||x - u||^2]
        square = 1.0 + A_new * (lambda_2 + lambda_1)
        linear = x0 - sum(a_i * (g - lambda_1 * u_i) for a_i, g, u_i in models)
        z = prox_of_psi(p, linear / square, A_new / square)
        x, A = (A * x + a * z) / A_new, A_new
        yield x


def algorithm_3(p, lambda_1, lambda_2, steps):
    """[AGM, Algorithm 3] as printed; its x_0 is x_1 of Algorithm 1 where lambda_1 = 0."""
    L, lam = p.L + lambda_1, lambda_1 + lambda_2
    u = np.zeros(p.shape)
    c = L + lambda_2
    x = z = prox_of_psi(p, (L * u - derivative(p, u)) / c, 1.0 / c)
    yield x
    for _ in range(steps - 1):
        # (1 - a)(c + lambda_2 a) + lambda_1 a = L a^2
        a = max(np.roots([-lambda_2 - L, lambda_2 - c + lambda_1, c]).real)
        c_new = (1.0 - a) * c + lam * a
        t1, t2, t3 = (1.0 - a) * c, lambda_1 * a, lambda_2 * a * (1.0 - a)
        t = t1 + t2 + t3
        u = ((t - (t1 + t2) * a) * x + t1 * a * z) / (t - t2 * a)
        g = derivative(p, u) + lambda_1 * u
        square = t1 + t2 + a * lambda_2
        z = prox_of_psi(p, (t1 * z + t2 * u - a * g) / square, a / square)
        x, c = (1.0 - a) * x + a * z, c_new
        yield x


@pytest.mark.parametrize("psi", ["l2", "l1", "net"])
@pytest.mark.parametrize("convexity", ["psi", "loss"])
def test_infinity_memory_is_algorithm_1(psi, convexity):
    p = problem(psi=psi)
    lambda_1, lambda_2 = (p.l2, 0.0) if convexity == "loss" else (0.0, p.l2)
    expected = list(algorithm_1(p, lambda_1, lambda_2, 25))
    found = iterates(p, 25, step="bound", convexity=convexity)
    for x, w in zip(found, expected, strict=True):
        np.testing.assert_allclose(x.w, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("psi", ["l2", "l1", "net"])
def test_memory_one_is_algorithm_3(psi):
    p = problem(psi=psi)
    for x, w in zip(iterates(p, 25, "agm_ef_1", step="bound"), algorithm_3(p, 0.0, p.l2, 25), strict=True):
        np.testing.assert_allclose(x.w, w, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", METHODS)
def test_where_the_convexity_stands_changes_nothing_for_a_fixed_L(name):
    p = problem()
    two = (iterates(p, 30, name, step="bound", convexity=convexity) for convexity in ("psi", "loss"))
    for x, other in zip(*two, strict=True):
        np.testing.assert_allclose(x.w, other.w, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(x.b, other.b, rtol=1e-10, atol=1e-13)


def test_the_memories_differ_only_where_psi_is_more_than_a_square():
    for psi, same in (("l2", True), ("box", False)):
        p = problem("smoothed_hinge", psi)
        whole, one = (iterates(p, 30, name, step="bound")[-1].w for name in METHODS)
        assert (np.abs(whole - one).max() < 1e-13) == same


@pytest.mark.core(6)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("psi", list(PSI))
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
def test_a_fixed_L_keeps_to_rho(name, psi, loss):
    """J(x_k) - J* <= rho_k Delta(x*, x0); J(x_k) - D(b) <= rho_k Delta(x^, x0); rho_k under its bound."""
    p = problem(loss, psi)
    best = optimum(p)
    least, rho = p.primal(best), np.inf
    for k, x in enumerate(iterates(p, 60, name, step="bound"), start=1):
        rho = Ratios(rho, p.L, 0.0, p.strong_convexity).rho
        assert rho <= rho_bound(k, p.L, 0.0, p.strong_convexity) * (1.0 + 1e-12)
        assert p.primal(x.w) - least <= 0.5 * rho * np.sum(best**2) + 1e-12
        primal, dual = x.objectives() if k == 60 else (p.primal(x.w), p.dual_value(x.b))
        assert dual <= least + 1e-12 <= primal + 2e-12
        if p.strong_convexity > 0.0:
            attained = p.primal_point(p.v(x.b))
            assert primal - dual <= 0.5 * rho * np.sum(attained**2) + 1e-12


@pytest.mark.core(3)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("psi", list(PSI))
def test_an_adaptive_L_keeps_to_its_bound(name, psi):
    """The theorem with the steps that so many passes have at least."""
    p = problem("smoothed_hinge", psi)
    best = optimum(p)
    solver, _ = registry.from_mapping("solver", name)
    found = iterates(p, 120, name)
    passes = np.array([x.passes for x in found])
    bound = solver.solver({}).bound(constants(p, best), passes)
    assert np.all([p.primal(x.w) - p.primal(best) for x in found] <= bound + 1e-12)
    fixed = iterates(p, 120, name, step="bound")
    assert p.primal(found[-1].w) <= p.primal(fixed[-1].w) + 1e-9
    assert len(found) / passes[-1] > 0.5  # at most one rejected trial a step, about


@pytest.mark.parametrize("name", METHODS)
def test_the_objectives_of_an_iterate_need_no_product(name):
    p = problem()
    X = Counting(p.X)
    solve, asked = registry.build_solver(name), 0
    for x in islice(solve(replace(p, X=X), None, Rng(0)), 40):
        if x.objectives is not None:
            asked += 1
            before = X.products
            primal, dual = x.objectives()
            assert X.products == before
            assert primal == pytest.approx(p.primal(x.w), rel=1e-10)
            assert dual == pytest.approx(p.dual_value(x.b), rel=1e-10)
    assert asked >= 20


class Counting:
    def __init__(self, X):
        self.X, self.shape, self.products = X, X.shape, 0

    def __getattr__(self, name):
        return getattr(self.X, name)

    def forward(self, w):
        self.products += 1
        return self.X.forward(w)

    def adjoint(self, b):
        self.products += 1
        return self.X.adjoint(b)


@pytest.mark.core(3)
@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("step", ["bound", "adaptive"])
@pytest.mark.parametrize("psi", ["l2", "l1"])
def test_nothing_overflows_in_5000_steps(name, step, psi):
    p = problem("smoothed_hinge", psi, n=20, d=4)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        x = iterates(p, 5000, name, step=step)[-1]
    assert np.isfinite(x.w).all()
    assert p.gap(x.w, x.b) < (1e-12 if psi == "l2" else 1e-3)


@pytest.mark.parametrize("name", METHODS)
def test_a_start_is_where_the_steps_begin(name):
    p = problem()
    near = iterates(p, 300, name)[-1]
    assert p.gap(near.w, near.b) < 1e-9
    again = iterates(p, 1, name, start=near, step="bound")[0]
    np.testing.assert_allclose(again.w, near.w, atol=1e-4)


def test_epochs_end_by_the_gap_of_the_method():
    """The reduction asks for no product of its own, and the certificate is of the problem without smoothing."""
    p = problem("hinge", "l2")
    for inner in "practice", "diameter":
        reduction = {"name": "adapt_smooth", "inner": inner, "mu": 1.0}
        solve = registry.build_solver("agm_ef", reduction)
        for x in islice(solve(p, None, Rng(0)), 1500):
            assert x.checks == 0.0
        assert p.gap(x.w, x.b) < 1e-4


def test_an_entropy_that_is_not_there_is_refused():
    from rrmbench.errors import RrmbenchError

    with pytest.raises(RrmbenchError, match="prox: entropy needs"):
        iterates(problem(), 1, prox="entropy")


@pytest.mark.parametrize("loss", ["logistic", "max_row"])
def test_the_smoothness_beside_an_entropy_is_that_in_the_norm_of_sums(loss):
    """f(x) - f(u) - f'(u).(x - u) <= L ||x - u||_1^2 / 2 on the simplex; of data c X it is c^2 times as much."""
    rng, found = np.random.default_rng(0), []
    X, y = rng.normal(size=(20, 6)), np.array([1.0, -1.0] * 10)
    for scale in 0.1, 10.0:
        p = Problem(scale * X, y, loss, {"name": "entropy_simplex", "strength": 0.1}).smoothed(0.01)
        found.append(Simplex(p).L)
        for _ in range(50):
            x, u = rng.dirichlet(np.full(p.shape[0], 0.3), 2)
            z, at = p.outputs(x), p.outputs(u)
            rise = p.mean_loss(z) - p.mean_loss(at) - float(np.vdot(p.loss_dual(at), z - at)) / p.n
            assert rise <= 0.5 * found[-1] * np.abs(x - u).sum() ** 2 * (1.0 + 1e-12) + 1e-14
    assert found[1] == pytest.approx(1e4 * found[0])


@pytest.mark.parametrize("prox", ["entropy", "euclidean"])
def test_data_of_zeros_have_no_curvature_and_an_end(prox):
    simplex = {"name": "entropy_simplex", "strength": 0.1}
    p = Problem(np.zeros((6, 3)), np.array([1.0, -1.0] * 3), "max_row", simplex).smoothed(0.01)
    for x in iterates(p, 3, prox=prox):
        assert np.allclose(x.w, 1.0 / 6.0, rtol=1e-12)
        assert p.primal(x.w, p.outputs(x.w)) - p.dual_at(p.v(x.b), x.b)[0] < 1e-12
