"""Pdprox: its theorem, the spectral norm, restarts."""

from math import log, sqrt

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pdprox_runs import (
    PRINTED,
    STEPS,
    Folded,
    after,
    algorithm_3,
    hinge,
    iterates,
    multiclass,
    same,
    solved,
    tasks,
    whole,
)
from runs import dense

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem import constants
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem
from rrmbench.report.theory import proven
from rrmbench.solvers.pdprox.pdprox_restarted import LONGEST_SHARE, NECESSARY, SUFFICIENT, residual
from rrmbench.solvers.pdprox.step_sizes import FARTHEST, LANCZOS_STEPS, StepSizes, norm_bounds, normal

# theory


@pytest.mark.core(2)
@pytest.mark.parametrize("spec", [spec for spec, _ in PRINTED], ids=str)
@pytest.mark.parametrize("make", [hinge, multiclass, whole, tasks, lambda: oracles.problem("hinge", {"name": "none"})])
def test_theorem_6(make, spec):
    """F(wbar, alpha) - F(w*, alphabar) <= (||w*||^2 + ||alpha||^2) / (sqrt(2/c) T), alpha the maximizer at wbar."""
    p = make()
    best = next(it for it in registry.build_solver("pdprox_restarted")(p, None, Rng(0)) if it.passes >= 3000)
    for T, it in enumerate(iterates(spec | {"output": "average"}, p, 200), 1):
        alpha, z = p.loss_dual(p.X.forward(it.w)), p.X.forward(best.w)
        lower = float(np.vdot(it.b, z)) / p.n - p.mean_conjugate(it.b) + p.Psi(best.w)
        bound = (np.sum(best.w**2) + np.sum(alpha**2)) * sqrt(p.R**2 / p.n / 2.0) / T
        assert -1e-6 <= p.primal(it.w) - lower <= bound


def test_bound_by_hand_and_where_there_is_none():
    p = oracles.problem("hinge", {"name": "l2", "strength": 0.1})
    c = constants.constants(p)._replace(R=3.0, n=50, distance=7.0)
    component = registry.lookup("solver", "pdprox_primal")
    average, passes = {"output": "average"}, np.array([2.5, 10.0])
    expected = (7.0 + 40.0) / (sqrt(2.0 * 50 / 9.0) * np.array([2.0, 10.0]))
    np.testing.assert_allclose(proven(component, c, passes, average), expected)
    np.testing.assert_allclose(proven(component, c, passes, average | {"step_scale": 0.5}), 2.0 * expected)
    for other in {"output": "last"}, {"constant": "spectral"}, {"step_scale": 2.0}, {"ratio": 1.0}:
        with pytest.raises(constants.NoTheorem, match=rf"pdprox\({next(iter(other))}=.*Corollary 8"):
            proven(component, c, passes, average | other)


def test_dual_variables_stay_in_the_ball_of_the_bound():
    for p in multiclass(), whole(), tasks(), oracles.problem("quantile", {"name": "none"}):
        D2 = constants.constants(p).D2
        assert np.isfinite(D2)
        assert all(np.sum(it.b**2) <= D2 for it in iterates("pdprox_primal", p))


def test_accelerated_distance_falls_like_the_square_of_time():
    """N^2 ||w_N - w*||^2 stays bounded [Chambolle and Pock 2011, Theorem 2], which plain Pdprox need not do."""
    p = oracles.problem("hinge", {"name": "l2", "strength": 0.02}, n=200, d=40)
    best = solved(p, 1e-13).w
    its = iterates("pdprox_accelerated", p, 4000)
    scaled = [N**2 * np.sum((its[N - 1].w - best) ** 2) for N in (500, 1000, 2000, 4000)]
    assert max(scaled[1:]) <= 2.0 * scaled[0]


# the spectral norm


@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 30), st.sampled_from([0.1, 0.5, 1.0]))
def test_norm_bound_is_one(seed, n, d, density):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density)
    *_, bound = norm_bounds(CSR.of(X), Rng(seed))
    norm = np.linalg.norm(X, 2)
    assert norm * (1.0 - 1e-12) <= bound <= 1.05 * norm


def test_norm_bounds_are_those_of_kuczynski_and_wozniakowski():
    """1.648 sqrt(d) exp(-sqrt(e) (2k - 1)) = 1/1000 after k steps; one great value, found to the last digit."""
    d = 1000
    X = CSR.of(np.diag(np.append(100.0, np.random.default_rng(0).random(d - 1))))
    bounds = list(norm_bounds(X, Rng(3)))
    e = [(log(1.648 * sqrt(d) / 1e-3) / (2 * k - 1)) ** 2 for k in range(1, 21)]
    assert [np.isinf(bound) for bound in bounds] == [share >= 1.0 for share in e] == [True] * 5 + [False] * 15
    np.testing.assert_allclose(bounds[7:], 100.0 / np.sqrt(1.0 - np.array(e[7:])), rtol=1e-9)


def adversarial(n=80, d=60):
    """Absolute loss and l1, the top singular vector of X orthogonal to where the Lanczos process of seed 0 starts."""
    rng, start = np.random.default_rng(0), normal(Rng(0), (d,))
    top = rng.standard_normal(d)
    top -= top @ start / (start @ start) * start
    top /= np.linalg.norm(top)
    rest = rng.standard_normal((n, d))
    rest -= np.outer(rest @ top, top)
    U, singular, _ = np.linalg.svd(rest)
    X = rest + 1.35 * singular[0] * np.outer(U[:, -1], top)
    return Problem(X, rng.standard_normal(n), "absolute", {"name": "l1", "strength": 0.01})


def test_an_estimate_that_is_too_small_does_no_harm():
    """The Lanczos process misses the norm if its start is made to; the steps are shortened, not left to diverge."""
    p = adversarial()
    norm, (*_, bound) = np.linalg.norm(dense(p), 2), norm_bounds(p.X, Rng(0))
    assert bound < 0.8 * norm
    assert p.gap(*after("pdprox_restarted", p, 5000)[:2]) <= 1e-8
    for name in "pdprox_dual", "pdprox_primal":
        it = after({"name": name, "constant": "spectral", "ratio": 1.0}, p, 5000)
        assert p.gap(it.w, it.b) <= 1e-2


def test_watched_moves_shorten_the_steps():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.1})
    X = dense(p)
    lengths, given = (StepSizes(p, 1e-4, ratio=4.0, guarded=guarded) for guarded in (True, False))
    for x in np.zeros(12), X[0], X[3]:
        lengths.shorten_if_unsafe(x, X @ x, 1.0 / p.n)
        given.shorten_if_unsafe(x, X @ x, 1.0 / p.n)
    assert lengths.c >= max(np.sum((X @ u) ** 2) / p.n**2 / (u @ u) for u in (X[0], X[3] - X[0]))
    assert lengths.tau * lengths.sigma == pytest.approx(1.0 / lengths.c)
    assert lengths.tau / lengths.sigma == pytest.approx(4.0)
    assert (given.c, given.tau * given.sigma) == (1e-4, pytest.approx(1e4))


def test_spectral_steps_are_longer_and_charged():
    p = oracles.problem("hinge", {"name": "l1", "strength": 0.05})
    *_, bound = norm_bounds(p.X, Rng(0))
    count = len(list(norm_bounds(p.X, Rng(0))))
    assert 2 <= count <= LANCZOS_STEPS
    gamma = p.n / (sqrt(2.0) * bound)
    its = iterates({"name": "pdprox_dual", "constant": "spectral"}, p)
    assert [it.passes for it in its] == list(range(1, STEPS + 1)) and not its[count - 1].w.any()
    same(its[count:], algorithm_3(Folded(p), gamma), p)


# restarts


def test_the_ratio_of_the_steps_is_bounded():
    """Half way, on the logarithmic scale, to the ratio of the ways; but near to that of the ways from the start."""
    for ways, ratio in [
        ((1.0, 100.0), 10.0),
        ((1.0, 1e8), FARTHEST * 2.0),
        ((1e8, 1.0), 2.0 / FARTHEST),
        ((0.0, 1.0), FARTHEST),
        ((1.0, 0.0), 1.0 / FARTHEST),
        ((0.0, 0.0), 1.0),
    ]:
        sizes = StepSizes(hinge(), 4.0, ratio=1.0)
        sizes.rebalance(ways, (3.0, 6.0))
        assert sqrt(sizes.sigma / sizes.tau) == pytest.approx(ratio)
        assert sizes.tau * sizes.sigma == pytest.approx(0.25)


def restarted(p, c):
    """The method of pdprox_restarted on stacked dense vectors, all norms by the matrix M."""
    d, n = p.shape[0], p.n
    K, x, ratio, total, longest = dense(p) / n, np.zeros(d + n), 1.0, 0, np.zeros(2)
    while True:
        tau, sigma = 1.0 / (ratio * sqrt(c)), ratio / sqrt(c)
        M = np.block([[np.eye(d) / tau, -K.T], [-K, np.eye(n) / sigma]])
        anchor, residuals = x.copy(), []
        while True:
            w = oracles.prox_Psi(p, x[:d] - tau * K.T @ x[d:], tau)
            b = p.loss_prox(x[d:] + sigma * K @ (2.0 * w - x[:d]), sigma / n)
            new, total = np.concatenate([w, b]), total + 1
            yield w, b
            residuals.append(sqrt((x - new) @ M @ (x - new)))
            k, r, first = len(residuals) - 1, residuals[-1], residuals[0]
            grows = k > 0 and r > residuals[-2]
            if k > 0 and (r <= SUFFICIENT * first or (r <= NECESSARY * first and grows) or k >= LONGEST_SHARE * total):
                break
            x = (k + 1) / (k + 2) * (2.0 * new - x) + anchor / (k + 2)
        ways = np.linalg.norm(w - anchor[:d]), np.linalg.norm(b - anchor[d:])
        longest = np.maximum(longest, [np.linalg.norm(w), np.linalg.norm(b)])  # from the start at 0
        if min(ways) > 0.0:
            central = longest[1] / longest[0]
            low, high = min(ratio, central / FARTHEST), max(ratio, central * FARTHEST)
            ratio = np.clip(sqrt(ratio * ways[1] / ways[0]), low, high)
        elif max(ways) > 0.0:
            ratio *= FARTHEST if ways[0] == 0.0 else 1.0 / FARTHEST
        x = new


def test_the_residual_is_in_the_norm_of_the_iteration_and_the_constants_are_those_of_pdlp():
    p, rng = hinge(), np.random.default_rng(0)
    sizes, (w, u), (b, a) = StepSizes(p, 4.0, ratio=3.0), rng.normal(size=(2, *p.shape)), rng.normal(size=(2, p.n))
    K, move = dense(p) / p.n, np.concatenate([w - u, b - a])
    M = np.block([[np.eye(w.size) / sizes.tau, -K.T], [-K, np.eye(p.n) / sizes.sigma]])
    found = residual(p, sizes, (w, p.X.forward(w), b), (u, p.X.forward(u), a))
    assert found == pytest.approx(sqrt(move @ M @ move), rel=1e-12)
    assert (SUFFICIENT, NECESSARY, LONGEST_SHARE) == (0.2, 0.8, 0.36)


@pytest.mark.parametrize("loss", ["hinge", "absolute"])
def test_restarted_as_a_fixed_point_iteration(loss):
    p = oracles.problem(loss, oracles.example("regularizer", "l1"))
    its = iterates({"name": "pdprox_restarted", "constant": "data"}, p, 200)
    for it, (w, b) in zip(its, restarted(p, p.R**2 / p.n), strict=False):
        np.testing.assert_allclose(it.w, w, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(it.b, b, rtol=1e-7, atol=1e-7)


def passes_to(spec, p, gap, limit):
    for it in registry.build_solver(spec)(p, None, Rng(0)):
        if p.gap(it.w, it.b) <= gap or it.passes >= limit:
            return it.passes
    raise AssertionError("the solver ended")


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile"])
def test_restarts_bring_high_accuracy(loss):
    """To 1e-8 in a fifth of the passes with which pdprox_dual, the best of three ratios, is not yet there."""
    p = oracles.problem(loss, oracles.example("regularizer", "l1"), n=60, d=20)
    ours = passes_to("pdprox_restarted", p, 1e-8, 10_000)
    assert ours < 10_000
    for ratio in 0.1, 1.0, 10.0:
        spec = {"name": "pdprox_dual", "constant": "spectral", "ratio": ratio}
        assert passes_to(spec, p, 1e-8, 5 * ours) >= 5 * ours


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["logistic", "squared", "max_of_hinge"])
def test_restarts_go_on_at_the_optimum(loss):
    """There w stands still to the bit and b moves by rounding, which says nothing of the ratio of the steps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = np.argmax(X[:, :3], axis=1) if loss == "max_of_hinge" else np.sign(X[:, 0] + rng.normal(size=60))
    p = Problem(X, y, loss, {"name": "l1", "strength": 0.01})
    gaps = [p.gap(it.w, it.b) for it in iterates("pdprox_restarted", p, 3000)]
    assert min(gaps) < 1e-9 and gaps[-1] < 1e-8
    still = iterates(
        "pdprox_restarted", Problem(np.zeros((5, 2)), np.arange(5.0) % 2, "soft_max_of_hinge", "none"), 500
    )
    assert np.isfinite(still[-1].b).all()


@pytest.mark.parametrize("loss", ["max_of_hinge", "absolute"])
def test_the_unit_of_the_data_costs_few_passes(loss):
    """Where X is c times as great, and the strength too, the problem is the same, with w/c."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 12))
    y = np.argmax(X[:, :4], axis=1) if loss == "max_of_hinge" else X @ rng.normal(size=12)
    psi = {"max_of_hinge": "l21", "absolute": "l2_norm"}[loss]
    passes = []
    for c in 1e-3, 1.0, 1e2, 1e4:
        p = Problem(c * X, y, loss, {"name": psi, "strength": 0.02 * c})
        passes.append(passes_to("pdprox_restarted", p, 1e-5 * p.primal(p.start()), 20_000))
    assert max(passes) < 3.0 * passes[1]


def test_a_start_without_b_begins_at_zero():
    p = hinge()
    first = next(registry.build_solver("pdprox_dual")(p, Iterate(np.ones(p.shape)), Rng(0)))
    assert np.array_equal(first.w, np.ones(p.shape)) and not first.b.any()
