from dataclasses import replace
from itertools import islice
from math import sqrt

import numpy as np
import oracles
import pytest

import rrmbench
from rrmbench import registry
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem import constants
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem
from rrmbench.stages import acceleration
from rrmbench.stages.acceleration import Convex, StronglyConvex, accelerated, theoretical_kappa

pytestmark = pytest.mark.usefixtures("own_bounds")

NET = {"name": "elastic_net", "l1": 0.003, "l2": 1e-4}
SMOOTH = ["squared", "logistic", "squared_hinge", "smoothed_hinge"]


def steep(loss="smoothed_hinge", l2=1e-4, n=40):
    """A problem with R^2/(gamma s) > 10 n."""
    p = oracles.problem(loss, NET | {"l2": l2}, n=n)
    assert p.R**2 * p.smoothness / l2 > 10 * n
    return p


def optimum(p):
    """P(w*) to rounding."""
    found = rrmbench.solve(p, "accelerated_prox_sdca", reduction="none", gap=1e-12, passes=20_000, growth=1.1)
    assert found.gap < 1e-10
    return p.primal(found.w)


def recording(solve, stages):
    """`solve`, which adds to `stages` a list [problem, start, last iterate] for each call."""

    def recorded(problem, start, rng):
        stages.append([problem, start, None])
        for x in solve(problem, start, rng):
            stages[-1][2] = x.copied()
            yield x

    return replace(solve, run=recorded)


def stages_of(p, passes, inner="theory", solver="prox_sdca", kappa=None):
    """[(inner problem, start, last iterate)] of the outer iterations 2, 3, ... that end within so many passes."""
    stages = []
    solve = recording(registry.build_solver(solver), stages)
    chosen = theoretical_kappa(p) if kappa is None else kappa
    for x in accelerated(solve, p, None, Rng(0), chosen, inner):
        if x.passes >= passes:
            return stages[:-1]
    raise AssertionError("the solver ended")


# the constants of Figure 2


def test_constants_by_hand():
    # s = 2, kappa = 8: mu = 1, rho = 9, eta = 1/3
    plan = StronglyConvex(2.0, 8.0, gap=3.0)
    assert plan.eta == pytest.approx(1 / 3)
    assert plan.momentum(5) == pytest.approx(0.5)
    assert plan.xi(1) == pytest.approx(10.0 * 3.0)
    assert plan.xi(3) == pytest.approx(30.0 * (5 / 6) ** 2)
    assert plan.accuracy(2) == pytest.approx((1 / 3) / (2 * 10.0) * 30.0)
    assert plan.accuracy(4) == pytest.approx((1 / 3) / (2 * 10.0) * 30.0 * (5 / 6) ** 2)


def test_kappa_makes_the_inner_problems_well_conditioned():
    p = steep()
    kappa = theoretical_kappa(p)
    assert p.R**2 * p.smoothness / (kappa + p.strong_convexity) == pytest.approx(p.n)


def test_catalysts_momentum_solves_its_equation():
    plan, a = Convex(1.0), (sqrt(5) - 1) / 2
    for t in range(2, 30):
        old, a = a, max(np.roots([1.0, a * a, -a * a]))
        assert plan.momentum(t) == pytest.approx(old * (1 - old) / (old * old + a), rel=1e-12)
    assert plan.momentum(1000) > 0.99


def test_catalysts_accuracies_add_up_as_its_proof_needs():
    """eps_k / A_k <= gap / (9 (k+2)^2.1), A_k = prod of 1 - a >= 2/(k+2)^2: their roots sum to 2/eta sqrt(gap)/3."""
    plan, a, A, total = Convex(4.0), (sqrt(5) - 1) / 2, 1.0, 0.0
    assert plan.accuracy(1) == pytest.approx(8.0 / 9.0 / 2.0**4.1)
    for k in range(1, 2000):
        A *= 1.0 - a
        a = 0.5 * (sqrt(a**4 + 4.0 * a**2) - a**2)
        assert 2.0 <= A * (k + 2) ** 2 <= 4.0
        error = plan.accuracy(k + 1) / A
        assert error <= 4.0 / (9.0 * (k + 2) ** 2.1)
        total += sqrt(error)
    assert 1.0 < total < 2.0 / 0.1 * 2.0 / 3.0


# the outer loop


@pytest.mark.parametrize("l2", [1e-4, 0.0])
def test_outer_loop_is_figure_2(l2):
    p = steep() if l2 else oracles.problem("logistic", {"name": "l1", "strength": 0.01})
    kappa, solve, rng = 0.3, registry.build_solver("prox_sdca"), Rng(4)
    mu = l2 / 2
    eta = sqrt(mu / (mu + kappa))
    state = Iterate(np.zeros(12))
    w = y = state.w
    ours = accelerated(solve, p, None, Rng(4), kappa, 3)
    assert not next(ours).w.any()
    for t in range(2, 12):
        stage = Problem(p.X, p.y, p.loss, p.regularizer, l2=p.l2, mu=p.mu, kappa=kappa, center=y.copy())
        beta = (1 - eta) / (1 + eta) if l2 else Convex(1.0).momentum(t)
        for x in solve(stage, state, rng):
            if x.passes > 0.0:
                found = next(ours)
                np.testing.assert_allclose(found.w, x.w, atol=1e-12)
                np.testing.assert_allclose(found.b, x.b, atol=1e-12)
                assert found.passes == pytest.approx(3 * (t - 2) + x.passes)
                assert found.checks == pytest.approx(0.5 * (t - 2))  # X^T b of the warm starts
            if x.passes >= 3.0:
                break
        state = x.copied()
        w, old = state.w, w
        y = w + beta * (w - old)


def certified(plan, accuracy, move):
    """The second stopping condition of Figure 2: P(w_t) - P(w*) <= (1 + rho/mu) eps_t + rho kappa/(2 mu) move.

    accuracy : eps_t; move : ||w_t - y_(t-1)||^2
    """
    return (1.0 + plan.eta**-2) * accuracy + 0.5 * plan.eta**-2 * plan.kappa * move


@pytest.mark.parametrize("loss", SMOOTH)
def test_suboptimality_stays_below_xi(loss):
    p = steep(loss, 1e-3 if loss == "logistic" else 1e-4)
    best, first = optimum(p), p.gap(np.zeros(12), np.zeros(40))
    plan = StronglyConvex(p.l2, theoretical_kappa(p), first)
    stages = stages_of(p, 150)
    assert len(stages) > 20
    for t, (stage, start, end) in enumerate(stages, start=2):
        accuracy = stage.gap(end.w, end.b)
        assert accuracy <= max(plan.accuracy(t), 1e-14)
        assert p.primal(end.w) - best <= plan.xi(t)
        # the second stopping condition is a bound as well
        move = float(np.sum((end.w - (0.0 if stage.center is None else stage.center)) ** 2))
        assert p.primal(end.w) - best <= certified(plan, accuracy, move) + 1e-12
        if start is not None and start.b is not None and t > 2:
            assert np.array_equal(start.b, stages[t - 3][2].b)


def test_first_stopping_condition_holds():
    p = steep()
    best, epsilon = optimum(p), 1e-2
    plan = StronglyConvex(p.l2, theoretical_kappa(p), p.gap(np.zeros(12), np.zeros(40)))
    needed = int(np.ceil(1.0 + 2.0 / plan.eta * np.log(plan.xi(1) / epsilon)))  # its stopping condition
    stages = stages_of(p, 2.0 * needed, inner=1)
    w = stages[needed - 2][2].w  # outer iteration 2 is the first of the list
    assert p.primal(w) - best <= epsilon


def test_checks_are_counted():
    p = steep()
    solve = registry.build_solver({"name": "accelerated_prox_sdca", "inner": "theory"})
    its = [x.copied() for x in islice(solve(p, None, Rng(0)), 100)]
    outer = stages_of(p, its[-1].passes)
    inner_passes = sum(round(end.passes) for _, _, end in outer)
    last = next(x for x in its if x.passes >= inner_passes - 1e-9)
    assert last.passes == pytest.approx(inner_passes)
    # a test after each pass, and X^T b for each start but the first
    assert last.checks == pytest.approx(0.5 * inner_passes + 0.5 * (len(outer) - 1))


# against other solvers


@pytest.mark.core(4)
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize("inner", ["theory", 5])
def test_reaches_the_optimum_of_prox_sdca(loss, inner):
    p = oracles.problem(loss, NET | {"l2": 1e-3}, n=20)
    plain = rrmbench.solve(p, "prox_sdca", gap=1e-8, passes=30_000, growth=1.1)
    fast = rrmbench.solve(p, {"name": "accelerated_prox_sdca", "inner": inner}, gap=1e-8, passes=30_000, growth=1.1)
    assert plain.reason == fast.reason == "gap"
    assert p.primal(fast.w) == pytest.approx(p.primal(plain.w), abs=2e-8)


def test_is_faster_on_steep_problems():
    p = steep(l2=1e-5)
    best = optimum(p)

    def passes_to(solver, epsilon):
        its = registry.build_solver(solver)(p, None, Rng(0))
        return next(x.passes for x in its if p.primal(x.w) - best <= epsilon or x.passes >= 400)

    fast = passes_to("accelerated_prox_sdca", 1e-3)
    assert fast < 80
    assert passes_to({"name": "accelerated_prox_sdca", "inner": 5}, 1e-2) < 60
    assert passes_to("prox_sdca", 1e-3) > 5 * fast


def test_falls_back_to_prox_sdca():
    p = oracles.problem("smoothed_hinge", NET | {"l2": 0.5})
    assert theoretical_kappa(p) is None
    one, two = (registry.build_solver(s)(p, None, Rng(0)) for s in ("prox_sdca", "accelerated_prox_sdca"))
    for _ in range(10):
        a, b = next(one), next(two)
        assert np.array_equal(a.w, b.w)
        assert a.passes == b.passes


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile"])
def test_losses_that_are_not_smooth(loss):
    p = oracles.problem(loss, NET | {"l2": 0.02}, n=20)
    best = rrmbench.solve(p, "prox_sdca", gap=1e-7, passes=50_000, growth=1.1)
    for eps in 0.2, 0.02:
        it = next(
            x
            for x in registry.build_solver({"name": "accelerated_prox_sdca", "eps": eps})(p, None, Rng(0))
            if x.passes >= 400
        )
        smoothed = p.smoothed(eps / p.lipschitz**2)
        assert smoothed.gap(it.w, it.b) <= eps / 2
        assert -1e-7 <= p.primal(it.w) - p.primal(best.w) <= eps


@pytest.mark.parametrize("loss", ["hinge", "quantile"])
def test_a_loss_that_is_not_smooth_is_smoothed_by_eps_over_its_squared_constant(loss):
    """So that P changes by at most eps/2. [Acc-SDCA, section 3.3]"""
    p, spec = oracles.problem(loss, NET, n=20), {"name": "accelerated_prox_sdca", "eps": 0.3}
    smoothed = p.smoothed(0.3 / (0.25 if loss == "quantile" else 1.0))
    for ours, given in zip(
        *(islice(registry.build_solver(spec)(q, None, Rng(0)), 30) for q in (p, smoothed)), strict=True
    ):
        np.testing.assert_array_equal(ours.w, given.w)


@pytest.mark.parametrize("unit", [2.0**17, 2.0**-17])
def test_another_unit_of_the_labels_is_another_unit_of_the_model(unit):
    """Of a loss that is not smooth, so that eps has this unit, too."""
    X, y = oracles.data(20, 6, density=0.7)
    p, q = (Problem(X, u * y, "absolute", {"name": "l2", "strength": 0.02 / u}) for u in (1.0, unit))
    one, other = (rrmbench.solve(each, "accelerated_prox_sdca", passes=60) for each in (p, q))
    np.testing.assert_allclose(other.w, unit * one.w, rtol=1e-6)
    assert p.primal(one.w) < 0.99 * p.primal(np.zeros(6))


@pytest.mark.exhaustive
def test_multiclass():
    X, z = oracles.data(30, 6, density=0.7)
    y = np.floor(4.0 * np.argsort(np.argsort(z)) / 30)
    p = Problem(X, y, "smoothed_max_of_hinge", NET | {"l2": 1e-3})
    assert theoretical_kappa(p) > 0.0
    one, two = (
        rrmbench.solve(p, s, gap=1e-6, passes=20_000, growth=1.1) for s in ("accelerated_prox_sdca", "prox_sdca")
    )
    assert one.reason == two.reason == "gap"
    assert p.primal(one.w) == pytest.approx(p.primal(two.w), abs=2e-6)


# theory

THEORY = {"inner": "theory", "sampling": "uniform"}


@pytest.mark.core(2)
@pytest.mark.parametrize("loss", SMOOTH)
def test_bound_holds(loss):
    p = steep(loss, 1e-4)
    best = optimum(p)
    bound = registry.lookup("solver", "accelerated_prox_sdca").bound
    runs, spec = [], {"name": "accelerated_prox_sdca", **THEORY}
    for seed in range(4):
        its = islice(registry.build_solver(spec)(p, None, Rng(seed)), 500)
        runs.append([(x.passes, p.primal(x.w) - best) for x in its])
    for passes, suboptimality in np.concatenate(runs):
        assert suboptimality <= bound(constants.constants(p), passes, **THEORY)


def test_bound_by_hand():
    bound = registry.lookup("solver", "accelerated_prox_sdca").bound
    c = constants.Constants(n=100, R=1.0, L=1.0, mean_sqnorm=1.0, s=1e-5, gamma=1.0, G=1.0, initial_gap=2.0)
    # R^2/(s gamma n) = 1000; kappa = 0.01 - 1e-5, mu = 5e-6, rho = kappa + mu
    eta = sqrt(5e-6 / (0.01 - 5e-6))
    each = 2 * (np.log(200.0) + 7 + 2.5 * np.log(1000.0))
    first = (1 + eta**-2) * 2.0
    found = bound(c, np.array([0.0, 0.9 * each, 2.1 * each]), **THEORY)
    np.testing.assert_allclose(found, [first, first, first * (1 - eta / 2) ** 2], rtol=1e-12)
    plain = registry.lookup("solver", "prox_sdca").bound
    easy = c._replace(s=1e-2)
    assert bound(easy, 5.0, **THEORY) == plain(easy, 5.0, sampling="uniform", output="last")
    for other, setting in (
        (c._replace(gamma=0.0), THEORY),
        (c, THEORY | {"inner": 5}),
        (c, THEORY | {"sampling": "permutation"}),
    ):
        with pytest.raises(constants.NoTheorem, match=r"accelerated_prox_sdca.*: Theorem 3"):
            bound(other, 5.0, **setting)


# the reduction around other solvers


@pytest.mark.core(4)
@pytest.mark.parametrize("solver", ["svrg", "gd", "apcg", "saga"])
@pytest.mark.parametrize("inner", ["theory", 4])
def test_accelerates_other_solvers(solver, inner):
    p = steep("logistic", 1e-4)
    best = optimum(p)
    solve = registry.build_solver(solver, {"name": "accelerate", "inner": inner})
    first = p.primal(np.zeros(12)) - best
    for x in solve(p, None, Rng(0)):
        if x.passes >= 500:
            break
    assert p.primal(x.w) - best <= 3e-2 * first


@pytest.mark.parametrize("solver", ["prox_sdca", "svrg"])
def test_without_strong_convexity(solver):
    p = oracles.problem("squared", {"name": "l1", "strength": 0.05})
    best, _ = oracles.cvxpy_optimum("squared", "l1")
    solve = registry.build_solver(solver, "accelerate")
    assert not lacking(solve.needs, p.traits)
    for x in solve(p, None, Rng(0)):
        if x.passes >= 600:
            break
    assert -1e-8 <= p.primal(x.w) - best <= 1e-4


def test_gradient_norm_bounds_the_suboptimality():
    p = oracles.problem("logistic", {"name": "l2", "strength": 0.01})
    bound = acceleration.accuracy_of(registry.build_solver("gd"))
    best = optimum(p)
    for w in np.random.default_rng(0).standard_normal((20, 12)) * np.logspace(-3, 0, 20)[:, None]:
        accuracy, _, cost = bound(p, Iterate(w))
        assert accuracy >= p.primal(w) - best
        assert cost == 1.0
        gradient = p.X.adjoint(p.loss_dual(p.X.forward(w))) / p.n + 0.01 * w
        assert accuracy == pytest.approx(gradient @ gradient / (2 * 0.01), rel=1e-9)  # psi = 0


def test_kappa_auto_needs_a_smooth_loss():
    p = oracles.problem("hinge", NET)
    with pytest.raises(RrmbenchError, match="accelerate: kappa: auto needs a smooth loss, found Hinge"):
        next(registry.build_solver("prox_sdca", "accelerate")(p, None, Rng(0)))
    solve = registry.build_solver("prox_sdca", {"name": "accelerate", "kappa": 0.1})
    for x in solve(p, None, Rng(0)):
        if x.passes >= 100:
            break
    assert p.primal(x.w) < 0.8 * p.primal(np.zeros(12))


def test_nested_reductions_end_their_epochs():
    p = oracles.problem("logistic", {"name": "l1", "strength": 0.05})
    best, _ = oracles.cvxpy_optimum("logistic", "l1")
    solve = registry.build_solver("prox_sdca", {"name": "adapt_reg", "sigma": 0.1, "inside": {"name": "accelerate"}})
    for x in solve(p, None, Rng(0)):
        if x.passes >= 400:
            break
    assert -1e-8 <= p.primal(x.w) - best <= 1e-3


def test_the_first_gap_is_that_of_the_better_dual_variable_of_0_and_the_start():
    p = steep()
    near = next(x for x in registry.build_solver("prox_sdca")(p, None, Rng(0)) if x.passes >= 50).copied()
    far = Iterate(near.w, -p.y)  # in the domain, and of a long v
    of_zero = p.gap(near.w, np.zeros(40))
    assert p.gap(*near[:2]) < of_zero < p.gap(*far[:2])
    for start, gap, passes in (near, p.gap(*near[:2]), 1.0), (far, of_zero, 1.0), (Iterate(near.w), of_zero, 0.5):
        found, _, spent = acceleration.first_gap(p, start)
        assert (found, spent) == (pytest.approx(gap), passes)


def test_a_warm_start_keeps_its_accuracy():
    p = steep()
    start = next(x for x in registry.build_solver("accelerated_prox_sdca")(p, None, Rng(0)) if x.passes >= 200).copied()
    solve = registry.build_solver("accelerated_prox_sdca")
    its = [x.copied() for x in islice(solve(p, start, Rng(1)), 60)]
    assert np.array_equal(its[0].w, start.w)
    assert p.primal(its[-1].w) <= p.primal(start.w) + 1e-9
