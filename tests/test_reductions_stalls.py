"""Reductions go on to the optimum where gaps are infinite, no bounds or astronomically bad, and sigma_0 too great."""

from itertools import islice, pairwise

import cvxpy as cp
import numpy as np
import oracles
import pytest
from runs import after

from rrmbench import registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.solvers.batch.line_search import steepest
from rrmbench.stages.progress import StandStill

pytestmark = pytest.mark.usefixtures("own_bounds")

N, D = 40, 8


def data(seed=3, offset=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=D) + 0.3 * rng.normal(size=N) + offset


def optimum(X, y, loss, psi):
    w, beta = cp.Variable(X.shape[1]), cp.Variable()
    z = X @ w + (beta if psi == "free" else 0.0)
    value = cp.sum(cp.pos(1 - cp.multiply(y, z))) if loss == "hinge" else cp.norm1(z - y)
    penalty = {"none": 0.0, "nonneg": 0.0, "l1": 0.01 * cp.norm1(w), "free": 0.1 * cp.norm1(w)}.get(psi)
    if penalty is None:
        penalty = 0.1 * cp.power(cp.norm2(w), 1.1)
    problem = cp.Problem(cp.Minimize(value / len(y) + penalty), [w >= 0] if psi == "nonneg" else [])
    return problem.solve(solver=cp.CLARABEL)


REGULARIZERS = {
    "none": "none",
    "nonneg": "nonneg",
    "l1": {"name": "l1", "strength": 0.01},
    "free": {"name": "l1", "strength": 0.1},
    "power": {"name": "norm_power", "norm": "l2", "power": 1.1, "strength": 0.1},
}


def reached(psi, solver, passes, loss="absolute", reduction="auto"):
    """(P(w), P(w*), P(0)) after so many passes."""
    X, y = data(offset=5.0 if psi == "free" else 0.0)
    X = X * np.geomspace(1.0, 300.0, D) if psi == "power" else X
    y = np.sign(y) if loss == "hinge" else y
    best = optimum(X, y, loss, psi)
    rows = np.hstack([X, np.ones((N, 1))]) if psi == "free" else X
    p = Problem(rows, y, loss, REGULARIZERS[psi], free_bias=psi == "free")
    return p.primal(after(solver, p, passes, reduction=reduction).w), best, p.primal(np.zeros(p.shape))


@pytest.mark.core(3)
@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1"])
@pytest.mark.parametrize(("psi", "share"), [("none", 2e-4), ("nonneg", 4e-3), ("free", 1e-3), ("power", 1e-2)])
def test_adapt_smooth_around_a_solver_whose_gap_is_no_measure(solver, psi, share):
    """D is -inf without a regularizer, no bound where b does not sum to 0, and -1e20 where psi* grows steeply."""
    P, best, P0 = reached(psi, solver, 2000)
    assert best - 1e-9 <= P <= best + share * (P0 - best)


@pytest.mark.parametrize("psi", ["none", "nonneg"])
def test_the_diameter_needs_a_gap(psi):
    with pytest.raises(RrmbenchError, match="inner: diameter needs a gap, found an infinite one"):
        reached(psi, "agm_ef", 50, reduction={"name": "adapt_smooth", "inner": "diameter"})


def test_the_diameter_with_a_free_bias():
    P, best, P0 = reached("free", "agm_ef", 2000, reduction={"name": "adapt_smooth", "inner": "diameter"})
    assert P <= best + 1e-4 * (P0 - best)


@pytest.mark.core(2)
@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize(("solver", "psi"), [("accelerated_prox_sdca", "nonneg"), ("apcg", "l1"), ("agd", "l1")])
def test_the_joint_form_does_not_outrun_its_solver(solver, psi, loss):
    """With mu halved in each epoch these stood still at 1e-3 to 1e-1 of P(0) - P(w*)."""
    P, best, P0 = reached(psi, solver, 1000, loss, "joint_proximal_point")
    assert best - 1e-9 <= P <= best + 6e-3 * (P0 - best)


@pytest.mark.parametrize(
    ("solver", "seed", "passes"), [("cutting_planes", 3, 300), ("cutting_planes", 6, 300), ("agm_ef", 3, 700)]
)
def test_an_epoch_after_one_that_was_solved_exactly(solver, seed, passes):
    """Far from the labels all b are at a vertex: sigma_0 is solved to rounding, of which no epoch has a quarter."""
    X, y = data(seed, offset=50.0)
    best = optimum(X, y, "absolute", "none")
    p = Problem(X, y, "absolute")
    inside = {} if solver == "cutting_planes" else {"inside": {"name": "solve_dual"}}
    w = after(solver, p, passes, reduction={"name": "adapt_reg", **inside}).w
    assert p.primal(w) <= best + 1e-3 * (p.primal(np.zeros(D)) - best)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_an_epoch_whose_solver_compares_objectives_and_moves_no_more(loss):
    """P is the same to rounding where the norm is still far above what closed the epoch before."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 5))
    y = X @ rng.normal(size=5) + 0.3 * rng.normal(size=N)
    p = Problem(X, np.sign(y) if loss == "hinge" else y, loss, "nonneg")
    run = registry.build_solver("working_sets", "joint_adapt")(p, None, Rng(0))
    w = next(x.w.copy() for x in run if x.passes + x.checks >= 250.0)
    assert any(not np.array_equal(x.w, w) for x in islice(run, 300))


def test_an_epoch_goes_on_while_the_solver_works_on_its_b():
    """For 50 passes no w is better than 0, and no b of the planes than b = 0."""
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.integers(0, 3, 39), np.repeat(np.arange(13), 3)]).astype(float)
    p = Problem(100.0 * rng.normal(size=(39, 8)), y, "m3n", {"name": "l2", "strength": 1e-3})
    run = registry.build_solver("cutting_planes", "adapt_smooth")(p, None, Rng(0))
    w = next(x.w for x in run if x.passes >= 200.0)
    assert p.primal(w) < 0.8 * p.primal(np.zeros(p.shape))


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("loss", "psi"), [("epsilon_insensitive", "elastic_net"), ("generalized_hinge", "elastic_net"), ("absolute", "l2")]
)
def test_cutting_planes_reach_rounding_of_a_gap(loss, psi):
    """The value of the best weights rises by the square of what slopes of planes differ by, less than its rounding.

    On most data: about one in ten, the same but for rounding, still ends at 1e-10 to 1e-7.
    """
    X, y = data()
    y = np.sign(y) if loss == "generalized_hinge" else y
    strengths = {"strength": 0.01} if psi == "l2" else {"l1": 0.01, "l2": 0.001}
    rng = np.random.default_rng(0)
    for mu in 0.0, 1e-4:
        gaps = []
        for _ in range(5):
            p = Problem(X[:, :2] * (1.0 + 1e-12 * rng.normal(size=(len(X), 2))), y, loss, {"name": psi, **strengths})
            stage = p.smoothed(mu)
            its = islice(registry.build_solver("cutting_planes")(stage, None, Rng(0)), 100)  # it takes 10 to 30
            gaps.append(min(stage.gap(it.w, it.b) for it in its if it.b is not None) / p.primal(np.zeros(2)))
        assert np.median(gaps) <= 3e-13


# step lengths of subgradient methods


def whole(loss):
    rng = np.random.default_rng(0)
    if loss == "m3n":
        y = np.column_stack([rng.integers(1, 4, 15), np.repeat(np.arange(5), 3)]).astype(float)
        return Problem(rng.normal(size=(15, 3)), y, loss, {"name": "l1", "strength": 0.01})
    return oracles.problem("max_row", oracles.example("regularizer", "l1"))


@pytest.mark.parametrize("loss", ["m3n", "max_row"])
def test_subgradients_of_losses_on_all_samples_are_bounded(loss):
    p, rng = whole(loss), np.random.default_rng(1)
    for scale in 10.0 ** np.arange(-2, 4):
        w = scale * rng.normal(size=p.shape)
        assert np.linalg.norm(p.v(p.loss_dual(p.outputs(w)))) <= steepest(p) < np.inf


@pytest.mark.parametrize("solver", ["fobos", "rda", {"name": "agd_adaptive", "cap": "rate"}])
def test_subgradient_methods_move_where_no_single_b_is_bounded(solver):
    p = whole("m3n")
    least = min(p.primal(x.w) for x, _ in zip(registry.build_solver(solver)(p, None, Rng(0)), range(300), strict=False))
    assert least < 0.9 * p.primal(np.zeros(p.shape))


def test_the_subgradient_method_moves_on_at_the_edge_of_a_domain():
    """Of a dual it left the domain, where a subgradient is as great as t is small, and made the next t smaller."""
    rng = np.random.default_rng(0)
    p = Problem(
        rng.normal(size=(40, 2)), np.arange(40) % 3.0, "smoothed_max_of_hinge", {"name": "l2", "strength": 1e-3}
    )
    run = registry.build_solver("subgradient", "solve_dual")(p, None, Rng(0))
    seen = [x.b.copy() for x, _ in zip(run, range(200), strict=False) if x.b is not None]
    moves = [np.linalg.norm(b - a) for a, b in pairwise(seen[-20:])]
    assert min(moves) > 1e-4


# what a solver inside says of another problem


@pytest.mark.parametrize("outer", [None, "adapt_smooth", "adapt_reg"])
@pytest.mark.parametrize("inner", ["proximal_point", "adapt_reg", "accelerate"])
def test_the_norm_of_a_gradient_stays_in_the_reduction_that_made_the_problem(inner, outer):
    """Else an epoch outside waits for a norm that never comes, or ends by that of another problem."""
    run = registry.build_solver("svrg", {"name": outer, "inside": inner} if outer else inner)
    assert "gradient_norm" not in run.gives
    X, y = data()
    p = Problem(X, y, "huber", {"name": "l2", "strength": 0.01})
    assert all(x.gradient_norm is None for x, _ in zip(run(p, None, Rng(0)), range(20), strict=False))


# an accuracy far above what is left


@pytest.mark.parametrize("solver", ["gd", "fista", "agd", "newton_cg"])
def test_no_outer_iteration_of_accelerate_ends_where_it_began(solver):
    """Many passes went by with one w: eps_t, which falls by 1 - eta/2 alone, was far above the distance."""
    X = np.random.default_rng(0).normal(size=(25, 5))
    y = np.sign(data()[1][:25])
    p = Problem(X, y, {"name": "smoothed_hinge", "gamma": 0.1}, {"name": "l2", "strength": 1e-4})
    run = registry.build_solver(solver, "accelerate")(p, None, Rng(0))
    seen = [(x.passes + x.checks, x.w.copy()) for x, _ in zip(run, range(600), strict=False)]
    moves = [work for (work, w), (_, before) in zip(seen[1:], seen, strict=False) if not np.array_equal(w, before)]
    assert np.diff([0.0, *moves, seen[-1][0]]).max() <= 25.0


# rounding


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared"])
def test_no_contradiction_where_P_is_0(loss):
    """psi* of the entropy at the uniform point was rounding, and P = 0 left nothing to measure it by."""
    X = np.random.default_rng(0).normal(size=(1, D))
    regularizer = {"name": "entropy_simplex", "strength": 1e-4}
    p = Problem(X, np.ones(1), loss, regularizer, minimized_bias=True)
    assert 0.0 <= solve(p, "fobos", passes=10).gap <= 1e-12


@pytest.mark.parametrize("solver", ["apcg_bias", "clarabel"])
def test_no_contradiction_where_a_bias_takes_equal_labels(solver):
    """P = 0 at the start, and D is a sum of y b that vanishes up to rounding; of 3.7 the deviation is rounding, too."""
    for y, n in (3.5, 7), (3.7, 7), (3.5, 40):
        X = np.random.default_rng(n).normal(size=(n, 3))
        p = Problem(X, np.full(n, y), "absolute", {"name": "l2", "strength": 0.05}, minimized_bias=True)
        assert -1e-13 <= solve(p, solver, passes=10, seconds=2).gap <= 0.1


@pytest.mark.core(3)
@pytest.mark.parametrize("solver", ["prox_sdca", "prox_sdca_shrinking", "apcg_shrinking"])
@pytest.mark.parametrize("strength", [5.0, 0.5, 0.1])
def test_epochs_of_inner_diameter_are_not_over_before_their_first_step(solver, strength):
    """Where the b of the epoch before was near enough, all epochs to come were over at once, and no pass was made."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 4))
    p = Problem(X, np.sign(X[:, 0]), "hinge", {"name": "l2", "strength": strength})
    solution = solve(p, solver, reduction={"name": "adapt_smooth", "inner": "diameter"}, passes=600)
    assert solution.trace["passes"].iloc[-1] >= 600.0 and solution.gap <= 1e-9


def test_acceleration_where_the_start_is_optimal_and_products_are_free():
    """No pass is counted, and iterates were left out until one was: nothing came, and no rule could end the run."""
    X = np.random.default_rng(1).normal(size=(8, 3))
    p = Problem(X, np.zeros(8), "squared", {"name": "l2", "strength": 0.1})
    solution = solve(p, "excessive_gap", reduction={"name": "accelerate", "kappa": 0.1}, passes=10)
    assert solution.status == "done" and solution.gap == 0.0


@pytest.mark.core(2)
@pytest.mark.parametrize("solver", ["apcg", "prox_sdca", "accelerated_prox_sdca", "cutting_planes", "svrg", "fista"])
def test_acceleration_where_all_features_are_zero(solver):
    """kappa = R^2/(gamma n) - s would be 0, and the solver inside would get a problem that it cannot take."""
    p = Problem(np.zeros((6, 4)), np.array([1.0, -1.0, 1.0, 1.0, -1.0, 1.0]), "logistic", "nonneg")
    found = list(islice(registry.build_solver(solver, "accelerate")(p, None, Rng(0)), 20))
    assert all(p.primal(x.w) == pytest.approx(np.log(2.0)) for x in found)


@pytest.mark.core(2)
@pytest.mark.parametrize("reduction", ["auto", "adapt_reg", "proximal_point", "joint_proximal_point"])
def test_a_solver_whose_first_step_takes_long_is_waited_for(reduction):
    """Newton's H takes 45 passes here, and was begun again in every stage, w standing still for thirty."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 180)) / 12.0
    y = np.sign(X @ rng.normal(size=180) + 2.0 * rng.normal(size=900))
    p = Problem(X, y, "logistic", "none")
    best = solve(p, "newton_cg", reduction="none", passes=400).trace["primal"].min()
    assert solve(p, "newton", reduction=reduction, passes=1000).trace["primal"].iloc[-1] - best < 1e-6


def test_a_stage_ends_where_its_solver_stands_longer_than_it_ever_did_before_it_went_on():
    still, w = StandStill(), np.zeros(1)
    ended = []
    for moves_at in (np.inf, 40.0, np.inf):  # the first stage waits 30 passes, the second 60, the third, too
        still.begin()
        for passes in np.arange(0.0, 200.0):
            far = passes >= moves_at
            if still(Iterate(w + far, w, passes), 1.0 - 0.5 * far, 0.0):
                break
        ended.append(passes)
    assert ended == [30.0, 120.0, 80.0]


def test_a_distance_falls_no_more_after_ten_passes_near_rounding_or_thirty_of_standing_still():
    """Ten passes without a new least distance, below 1e-12 of the first; thirty with the same w, b, distance."""

    def over_at(distances, moves, floor=0.0):
        still = StandStill()
        for passes, distance in enumerate(distances):
            w = np.full(2, passes if moves else 1.0)
            if still(Iterate(w, np.zeros(1), float(passes)), distance, floor):
                return passes
        return None

    rising = [3e-13 + 1e-15 * k for k in range(40)]
    assert over_at([1.0, 1e-6, *rising], moves=True) == 2 + 10
    assert over_at([1.0, 1e-6, *(4.0 * d for d in rising)], moves=True) is None  # not resolved
    assert over_at([1.0, 1e-6, *(4.0 * d for d in rising)], moves=True, floor=1e-12) == 2 + 10  # 4 times its rounding
    assert over_at([1.0, *[0.5] * 50], moves=False) == 1 + 30
    assert over_at([1.0, *[0.5] * 50], moves=True) is None
