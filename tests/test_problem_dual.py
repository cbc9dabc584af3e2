"""The dual as a problem of its own: its objectives, its gradient, its transformations, and methods that solve it."""

from itertools import islice

import numpy as np
import oracles
import pytest

from rrmbench import registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

RNG = np.random.default_rng(5)
X = RNG.normal(size=(30, 6))
Y = np.sign(X @ RNG.normal(size=6) + 0.5 * RNG.normal(size=30))
NET = {"name": "elastic_net", "l1": 0.02, "l2": 0.1}


def problem(loss="smoothed_hinge", regularizer=NET):
    return Problem(X, Y, loss, regularizer)


def feasible(p):
    """A b in the domain of the conjugates."""
    return p.loss_dual(RNG.normal(size=p.output_shape), 1.0)


@pytest.mark.parametrize("loss", ["smoothed_hinge", "logistic", "squared", "hinge"])
def test_its_objectives_are_those_of_the_problem_negated(loss):
    p = problem(loss)
    q = p.dualized()
    for _ in range(5):
        b, w = feasible(p), RNG.normal(size=p.shape)
        assert q.primal(b) == pytest.approx(-p.dual_value(b), rel=1e-12)
        assert q.dual_value(w) == pytest.approx(-p.primal(w), rel=1e-12)
        assert q.gap(b, w) == pytest.approx(p.gap(w, b), rel=1e-12)


def test_its_gradient_is_that_of_the_conjugate_of_psi():
    p = problem()
    q, b = p.dualized(), feasible(p)
    found = -q.v(q.loss_dual(q.X.forward(b)))
    for i in range(5):
        step = np.zeros(b.shape)
        step[i] = 1e-6
        ahead, back = (q.mean_loss(q.X.forward(b + sign * step)) for sign in (1.0, -1.0))
        assert found[i] == pytest.approx((ahead - back) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("loss", [*oracles.scalar_losses(), "max_of_hinge", "smoothed_max_of_hinge"])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_its_prox_of_0_is_the_projection_on_the_domain(loss, scale):
    """p is it where (x - p).(b - p) <= 0 for every b of the domain, as derivatives of the loss are."""
    p = oracles.problem(loss, NET)
    if p.has_entropic_losses:
        pytest.skip("without a Euclidean step")
    q, rng = p.dualized(), np.random.default_rng(7)
    nothing = q.prox(np.zeros(q.shape), 0.0)
    assert not nothing.any()
    x = scale * rng.normal(size=q.shape)
    found = q.prox(x, 0.0)
    assert np.isfinite(p.mean_conjugate((1.0 - 1e-12) * found))
    for size in (0.1, 1.0, 1e2):
        inside = p.loss_dual(size * rng.normal(size=p.output_shape))
        assert np.vdot(x - found, inside - found) <= 1e-9 * max(1.0, np.vdot(x, x))


def test_its_constants():
    """L = S/(n s), and the conjugates are (gamma + mu)/n-strongly convex."""
    p = problem()
    q = p.dualized()
    assert q.L == pytest.approx((X**2).sum() / 30 / (30 * 0.1))
    exact = np.linalg.norm(X, 2) ** 2 / (30**2 * 0.1)
    assert exact <= q.L
    assert q.R**2 == pytest.approx((X**2).sum() / 30**2) and np.linalg.norm(X, 2) / 30 <= q.R  # of b -> v(b)
    assert q.rank == 6 and Problem(X[:4], Y[:4], "squared", NET).dualized().rank == 4
    assert q.strong_convexity == pytest.approx(1.0 / 30)
    assert {"smooth", "strongly_convex"} <= q.traits
    assert "strongly_convex" not in problem("hinge").dualized().traits
    assert "smooth" not in problem(regularizer={"name": "l1", "strength": 0.1}).dualized().traits


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_weights_of_the_smoothing_change_no_norm_of_b(loss):
    """One direction of growing rows, where (1/n) sum ||x_i||^2 is what X^T X comes to."""
    grown = np.outer(np.linspace(1.0, 10.0, 30), [1.0, 0.5])
    p = Problem(grown, Y, loss, {"name": "l2", "strength": 1e-2})
    norms = np.linalg.norm(grown, axis=1)
    q = p.smoothed(0.1, norms / norms.mean()).dualized()
    exact = np.linalg.norm(grown, 2) ** 2 / (30**2 * 1e-2)
    assert exact <= q.L * (1.0 + 1e-12)
    solver = registry.build_solver({"name": "gd", "step": "bound"})
    *_, last = islice(solver(q, None, Rng(0)), 300)
    assert q.primal(last.w) <= q.primal(np.zeros(30))  # with steps that are too long it diverges


def test_weights_of_the_smoothing_leave_the_least_of_them_as_convexity():
    """(1/n) sum (mu omega_i/2) b_i^2 is (mu min omega/n)-strongly convex."""
    omega = np.linspace(0.5, 1.5, 30)
    assert problem("hinge").smoothed(0.4, omega).dualized().strong_convexity == pytest.approx(0.4 * 0.5 / 30)


def test_more_smoothing_and_more_convexity_change_places():
    p, b, w = problem(), None, RNG.normal(size=6)
    b = feasible(p)
    more = p.dualized().smoothed(0.3)
    assert more.primal(b) == pytest.approx(-p.regularized(0.3).dual_value(b), rel=1e-12)
    assert more.dual_value(w) == pytest.approx(-p.regularized(0.3).primal(w), rel=1e-12)
    more = p.dualized().regularized(0.01)
    assert more.primal(b) == pytest.approx(-p.smoothed(0.3).dual_value(b), rel=1e-12)
    assert more.dual_value(w) == pytest.approx(-p.smoothed(0.3).primal(w), rel=1e-12)


def test_dualized_twice_it_is_the_problem_again():
    p = problem()
    again = p.dualized().dualized()
    assert again is p or (again.loss is p.loss and again.mu == p.mu and again.l2 == p.l2)
    more = p.dualized().smoothed(0.3).regularized(0.01).dualized()
    w = RNG.normal(size=6)
    assert more.primal(w) == pytest.approx(p.regularized(0.3).smoothed(0.3).primal(w), rel=1e-12)


@pytest.mark.core(5)
@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1", "fista", "gd", "agd", "pdprox_dual", "pdprox_restarted"])
@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared"])
def test_methods_for_full_gradients_solve_it(solver, loss):
    p = problem(loss)
    best = next(islice(registry.build_solver("prox_sdca")(p, None, Rng(0)), 300, None))
    least = p.dual_value(best.b)
    assert p.gap(best.w, best.b) < 1e-10
    for x in islice(registry.build_solver(solver, "solve_dual")(p, None, Rng(0)), 3000):
        assert x.b.shape == p.output_shape
    assert p.primal(x.w) - least < 1e-5
    assert least - p.dual_value(x.b) < 1e-5


@pytest.mark.parametrize("name", ["agm_ef", "agm_ef_1"])
def test_the_gap_of_the_unsmoothed_dual_keeps_to_rho(name):
    """The hinge without smoothing: P(w_k) - D(b_k) <= rho_k ||b||^2/2 <= rho_k n/2 (AGM, section 5.3)."""
    from rrmbench.solvers.batch.agm import rho_bound

    p = problem("hinge")
    q = p.dualized()
    solve = registry.build_solver({"name": name, "step": "bound"}, "solve_dual")
    for k, x in enumerate(islice(solve(p, None, Rng(0)), 1, 300), start=1):
        primal, dual = x.objectives()
        assert primal == pytest.approx(p.primal(x.w), rel=1e-9)
        assert dual == pytest.approx(p.dual_value(x.b), rel=1e-9, abs=1e-12)
        assert primal - dual <= rho_bound(k, q.L, 0.0, 0.0) * 30 / 2 + 1e-12


def test_methods_for_single_samples_are_refused():
    with pytest.raises(RrmbenchError, match="prox_sdca needs a problem with the traits"):
        registry.build_solver("prox_sdca", "solve_dual")


def test_the_needs_change_places():
    assert registry.build_solver("agm_ef", "solve_dual").needs == {"strongly_convex"}
    assert registry.build_solver("fista", "solve_dual").needs == {"strongly_convex", "euclidean"}
    assert registry.build_solver("agd", "solve_dual").needs == {"strongly_convex", "smooth", "euclidean"}
    inside = {"name": "adapt_reg", "inside": "solve_dual"}
    assert registry.build_solver("agm_ef", inside).needs == set()


def test_a_start_with_a_dual_variable_is_used():
    p = problem("hinge")
    reduction = {"name": "adapt_smooth", "inside": "solve_dual", "mu": 1.0}
    x = next(islice(registry.build_solver("agm_ef", reduction)(p, None, Rng(0)), 2000, None))
    assert p.gap(x.w, x.b) < 1e-4


@pytest.mark.exhaustive
def test_rounding_beyond_the_edge_of_a_cone_is_no_missing_bound():
    """At an optimum with w >= 0 many entries of v are 0: as many of them are positive by rounding as negative."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        X = rng.normal(size=(80, 5))
        y = np.where(X @ rng.normal(size=5) + 0.5 * rng.normal(size=80) > 0.0, 1.0, -1.0)
        p = Problem(X, y, "logistic", "nonneg")
        found = solve(p, "gd", passes=600)
        assert found.gap <= 1e-9
        edge = np.flatnonzero(found.w > 0.0)[0]
        b = p.loss_dual(p.X.forward(found.w)) - 1e-9 * X[:, edge]
        assert p.v(b)[edge] > 1e-10 and p.certificate(b)[0] == -np.inf  # beyond it, and not by rounding


@pytest.mark.parametrize("minimized", [False, True])
def test_no_bound_is_below_that_of_zero(minimized):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 20)) * np.logspace(-2, 2, 20), 1e-3 * rng.normal(size=80)
    loss, box = {"name": "huber", "mu": 1e-4}, {"name": "box", "lower": -1, "upper": 1}
    p = Problem(X, y, loss, box, minimized_bias=minimized)
    found = solve(p, "fista", passes=5)
    assert found.trace.dual.min() >= p.dual_value(np.zeros(80)) >= 0.0
