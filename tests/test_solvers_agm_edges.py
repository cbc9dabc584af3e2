"""Accelerated gradients, the dual and losses on labellings at the ends: one class, an optimal start, no data.

Whether a method goes with a problem is known before the run.
"""

from itertools import islice

import numpy as np
import pytest

from rrmbench import Problem, registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.losses.chains import m3n
from rrmbench.numerics.random import Rng
from rrmbench.numerics.whole_arrays import toward
from rrmbench.problem.domain import within
from rrmbench.problem.traits import build_regularizer, traits
from rrmbench.solvers.pdprox.step_sizes import squared_norm

pytestmark = pytest.mark.usefixtures("own_bounds")

L2, SIMPLEX = {"name": "l2", "strength": 0.1}, {"name": "entropy_simplex", "strength": 0.2, "cap": 0.5}
BALL = {"name": "elastic_net_ball", "gamma": 0.3, "radius": 1.0}
ENTROPY, EUCLIDEAN = ({"name": "agm_ef", "prox": prox} for prox in ("entropy", "euclidean"))
SEQUENCES = np.array([[0, 1], [1, 1], [0, 1], [1, 2], [1, 2], [0, 3]], dtype=float)


def rows(n=8, d=3, seed=0, offset=0.0):
    return np.random.default_rng(seed).normal(size=(n, d)) + offset


def assert_ends_well(problem, solver, reduction, passes=10, gap=np.inf):
    found = solve(problem, solver, reduction=reduction, passes=passes)
    assert found.status == "done", found.reason
    assert -1e-9 <= found.gap <= gap


@pytest.mark.parametrize("reduction", ["auto", "adapt_smooth", "joint_adapt"])
@pytest.mark.parametrize("solver", ["agm_ef", "gd"])
def test_one_class_with_a_minimized_bias_is_solved_at_once(solver, reduction):
    problem = Problem(rows(), np.ones(8), "hinge", {"name": "l1", "strength": 0.1}, minimized_bias=True)
    assert problem.diameter == 0.0
    assert_ends_well(problem, solver, reduction, gap=1e-9)


@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1", "fista"])
@pytest.mark.parametrize("loss", ["max_row", "absolute"])
def test_a_start_that_is_optimal_leaves_a_strength_to_smooth_by(loss, solver):
    y = np.where(np.arange(8) % 2 == 0, -1.0, 1.0) if loss == "max_row" else np.zeros(8)
    assert_ends_well(Problem(rows(), y, loss, L2), solver, "adapt_smooth", gap=1e-9)


@pytest.mark.parametrize("inside", ["adapt_smooth", "adapt_reg", "joint_adapt"])
@pytest.mark.parametrize("solver", ["agm_ef_1", "fista"])
def test_adaptive_strengths_of_a_dual_whose_models_leave_out_zero(inside, solver):
    y = np.where(rows(seed=2)[:, 0] > 0.0, 1.0, -1.0)
    problem = Problem(rows(), y, "logistic", SIMPLEX)
    assert_ends_well(problem, solver, {"name": "solve_dual", "inside": inside}, passes=60, gap=0.05)


@pytest.mark.parametrize("step", ["bound", "adaptive"])
@pytest.mark.parametrize("memory", ["agm_ef", "agm_ef_1"])
def test_a_square_beside_which_the_losses_are_rounding(memory, step):
    """L of the losses is 1e-20 of l2, so that their sum is l2, and L - lambda_1 would be 0."""
    problem = Problem(1e-10 * np.eye(4), np.ones(4), "squared", {"name": "l2", "strength": 1.0})
    assert_ends_well(problem, {"name": memory, "convexity": "loss", "step": step}, "none", gap=1e-12)


def test_an_entropy_of_all_weights_is_no_step_beside_a_free_bias():
    X, y = np.column_stack([rows(), np.ones(8)]), np.where(np.arange(8) % 3 == 0, -1.0, 1.0)
    problem = Problem(X, y, "logistic", SIMPLEX, free_bias=True)
    assert "entropy" not in problem.traits
    assert "entropy" not in traits("logistic", SIMPLEX, frozenset({"free_bias"}))
    assert_ends_well(problem, "agm_ef", "auto", passes=200, gap=1e-3)


@pytest.mark.parametrize("loss", ["crf", "m3n", "max_row"])
def test_a_free_bias_is_no_row_of_the_transitions_or_of_the_weights(loss):
    y = np.array([1.0, -1.0] * 3) if loss == "max_row" else SEQUENCES
    with pytest.raises(RrmbenchError, match="free bias, which has no place"):
        Problem(rows(6), y, loss, L2, free_bias=True)
    assert "takes_bias" not in traits(loss, L2)
    assert "takes_bias" in traits("f1", L2) & traits("hinge", L2)


def test_what_a_prox_needs_is_known_before_the_run():
    def needs(solver, reduction):
        return registry.build_solver(solver, reduction).needs

    assert needs("agm_ef", "none") == needs(EUCLIDEAN, "none") == {"smooth"}
    assert needs(ENTROPY, "none") == {"smooth", "entropy"}
    assert needs("agm_ef", "solve_dual") == {"strongly_convex"}
    assert needs(EUCLIDEAN, "solve_dual") == {"strongly_convex", "euclidean"}
    assert needs(ENTROPY, "solve_dual") == {"strongly_convex", "entropic"}
    for inside in ({"name": "regularize", "sigma": 0.1}, {"name": "adapt_reg"}, {"name": "joint_adapt"}):
        assert "euclidean" in needs("agm_ef", {"name": "solve_dual", "inside": inside})
        with pytest.raises(RrmbenchError, match="adds a square"):
            registry.build_solver(ENTROPY, inside)
        with pytest.raises(RrmbenchError, match="adds a square, which highs cannot have"):
            registry.build_solver("highs", inside)
    assert "entropic" in traits("f1", L2) & traits("crf", L2) & traits("max_row", L2)
    assert "entropic" not in traits("hinge", L2)


@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1"])
@pytest.mark.parametrize("scale", [0.0, 1e-151, 1e145])
def test_data_at_the_ends_of_the_numbers(solver, scale):
    y = np.where(np.arange(8) % 3 == 0, -1.0, 1.0)
    problem = Problem(scale * rows(), y, "hinge", L2, minimized_bias=True)
    assert_ends_well(problem, solver, {"name": "adapt_smooth", "inside": "solve_dual"})


def test_the_excessive_gap_of_the_greatest_row_has_a_bounded_dual_variable():
    problem = Problem(rows(), np.where(np.arange(8) % 3 == 0, -1.0, 1.0), "max_row", BALL)
    assert problem.dual_squares == np.sum((6.0 * np.eye(6)[0] - 1.0) ** 2)
    assert_ends_well(problem, "excessive_gap", "none", passes=300, gap=0.1)


@pytest.mark.parametrize("loss", ["hinge", "max_row"])
def test_pdprox_has_the_constant_of_the_moves_of_b(loss):
    y = np.where(np.arange(8) % 3 == 0, -1.0, 1.0)
    problem = Problem(rows(offset=5.0), y, loss, L2, minimized_bias=loss == "hinge")
    X = np.stack([problem.X.forward(e) for e in np.eye(problem.shape[0])], axis=1)
    norm = np.linalg.norm(X - X.mean(axis=0), 2)
    assert norm**2 / problem.n <= squared_norm(problem) <= problem.R**2
    if loss == "hinge":
        assert squared_norm(problem) < 0.1 * problem.R**2
        assert_ends_well(problem, "pdprox_dual", "none", passes=300, gap=1e-3)


def test_transitions_that_the_positions_do_not_allow_are_found():
    loss, y = m3n(), np.array([[0, 1], [0, 1], [1, 1], [1, 1]], dtype=float)
    b = np.zeros((8, 2))
    assert loss.necessary(b, y) is None
    b[4:6] = [[-1.0, 1.0], [1.0, -1.0]]  # the right sums, of certain labels with other transitions
    assert "transitions in b are none" in loss.necessary(b, y)


@pytest.mark.parametrize("seed", range(5))
def test_mixtures_of_labellings_have_transitions_that_the_positions_allow(seed):
    rng, loss = np.random.default_rng(seed), m3n()
    y = np.column_stack([rng.integers(0, 3, 9), [0, 0, 0, 0, 1, 1, 2, 2, 2]]).astype(float)
    z = np.zeros((14, 3))
    z[:12] = rng.normal(size=(12, 3)) * 3.0
    points = [loss.dual_point(z * t, y, mu) for t, mu in ((1.0, 0.0), (-1.0, 0.3), (2.0, 1.0))]
    assert loss.necessary(np.average(points, axis=0, weights=[0.5, 0.3, 0.2]), y) is None


def test_a_simplex_without_weights_is_one_message():
    regularizer, _ = build_regularizer(SIMPLEX)
    with pytest.raises(RrmbenchError, match="a model without weights"):
        regularizer.check((0,))
    with pytest.raises(RrmbenchError, match="domain"):
        within(regularizer, {"ball": 1.0})


def test_a_method_that_moves_nothing_from_an_optimal_start_has_ended():
    y = np.where(np.arange(8) % 2 == 0, -1.0, 1.0)
    found = solve(Problem(rows(d=4), y, "max_row", L2), "excessive_gap", reduction="none", passes=10)
    assert (found.status, found.reason, found.gap) == ("done", "ended", 0.0)


@pytest.mark.parametrize("method", ["agm_ef", "agm_ef_1", "excessive_gap"])
def test_averages_of_points_of_a_box_are_in_the_box(method):
    rng = np.random.default_rng(5)
    for scale in 1.0, 1e3, 1e6:  # optimal at corners
        X = rng.normal(size=(12, 5))
        y = scale * X @ rng.normal(size=5)
        p = Problem(X, y, "absolute", {"name": "box", "lower": -0.3, "upper": 0.8})
        reduction = "none" if method == "excessive_gap" else "adapt_smooth"
        solve = registry.build_solver(method, reduction)
        for x in islice(solve(p, None, Rng(0)), 60):
            assert ((x.w >= -0.3) & (x.w <= 0.8)).all()


def test_averages_stay_between_and_keep_nan():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 100_000))
    y[::2] = x[::2] * (1.0 + rng.integers(-3, 4, 50_000) * 2.0**-52)
    for theta in 0.0, 0.3, 0.9, 0.999, 1.0 - 2.0**-53, 1.0:
        u = toward(x, y, theta)
        assert ((u >= np.minimum(x, y)) & (u <= np.maximum(x, y))).all()
        np.testing.assert_allclose(u, x + theta * (y - x), rtol=1e-14, atol=1e-14)
    assert np.isnan(toward(np.array([np.nan, 1.0]), np.array([1.0, np.nan]), 0.5)).all()
