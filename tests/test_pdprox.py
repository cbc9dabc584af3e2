"""Pdprox against the paper's algorithms as printed, its theorem, and optima known from elsewhere."""

from itertools import islice
from math import sqrt

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem import constants
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR, Flattened
from rrmbench.problem.problem import Problem
from rrmbench.report.theory import proven
from rrmbench.solvers.pdprox.pdprox_preconditioned import powers
from rrmbench.solvers.pdprox.pdprox_restarted import LONGEST_SHARE, NECESSARY, SUFFICIENT
from rrmbench.solvers.pdprox.step_sizes import LANCZOS_STEPS, StepSizes, norm_bounds, normal

STEPS = 60
LAYOUTS = ("double_dual", "double_primal")
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def copied(it):
    return it._replace(w=it.w.copy(), b=it.b.copy())


def iterates(spec, p, count=STEPS, start=None, seed=0):
    """Copies of the iterates 1 .. count of a solver, after the one that it starts from."""
    return [copied(it) for it in islice(registry.build_solver(spec)(p, start, Rng(seed)), 1, count + 1)]


def after(spec, p, passes, start=None):
    return next(copied(it) for it in registry.build_solver(spec)(p, start, Rng(0)) if it.passes >= passes)


def solved(p, gap=1e-11):
    """The first pair of pdprox_restarted with such a gap."""
    running = registry.build_solver("pdprox_restarted")(p, None, Rng(0))
    it = next(it for it in running if p.gap(it.w, it.b) <= gap or it.passes > 50_000)
    assert it.passes <= 50_000
    return copied(it)


def dense(p):
    return p.X.forward(np.eye(p.shape[0]))


def hinge(regularizer="elastic_net", **changes):
    """A hinge problem with everything that a Problem can add: mu, l2, kappa and a center."""
    p = oracles.problem("hinge", oracles.example("regularizer", regularizer)).smoothed(0.05)
    return p.regularized(0.02, np.linspace(-1.0, 1.0, p.shape[0]))


# the paper's variables: alpha in [0, 1]^n with alpha_i = -y_i b_i, L(w, alpha) = (1/n) sum alpha_i (1 - y_i x_i.w)


class Folded:
    """The two gradients and the two mappings of the paper for the smoothed hinge, dense and in its own variables."""

    def __init__(self, p):
        self.p, self.n = p, p.n
        self.H = -(dense(p) * p.y[:, None]).T / p.n
        self.a = np.full(p.n, 1.0 / p.n)

    def G_w(self, alpha):
        return self.H @ alpha

    def G_alpha(self, w):
        return self.H.T @ w + self.a

    def project(self, point, step):
        """argmin over [0, 1]^n of ||alpha - point||^2/2 + step mu/(2n) ||alpha||^2: a projection for mu = 0."""
        return np.clip(point / (1.0 + step * self.p.mu / self.n), 0.0, 1.0)

    def map(self, point, step):
        """argmin ||w - point||^2/2 + step Psi(w)."""
        return oracles.prox_Psi(self.p, point, step)


def algorithm_1(f, gamma):
    w, beta = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        alpha = f.project(beta + gamma * f.G_alpha(w), gamma)
        w = f.map(w - gamma * f.G_w(alpha), gamma)
        beta = f.project(beta + gamma * f.G_alpha(w), gamma)
        yield w, alpha


def algorithm_2(f, gamma):
    u, alpha = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        w = f.map(u - gamma * f.G_w(alpha), gamma)
        old, alpha = alpha, f.project(alpha + gamma * f.G_alpha(w), gamma)
        u = w + gamma * (f.G_w(old) - f.G_w(alpha))
        yield w, alpha


def algorithm_3(f, gamma):
    w, beta = np.zeros(f.H.shape[0]), np.zeros(f.n)
    while True:
        alpha = f.project(beta + gamma * f.G_alpha(w), gamma)
        old, w = w, f.map(w - gamma * f.G_w(alpha), gamma)
        beta = alpha + gamma * (f.G_alpha(w) - f.G_alpha(old))
        yield w, alpha


def chambolle_pock(f, tau, sigma, s=0.0):
    """Their Algorithm 1, or for s > 0 their Algorithm 2, by the correspondences of Appendix C."""
    w = bar = np.zeros(f.H.shape[0])
    alpha = np.zeros(f.n)
    while True:
        alpha = f.project(alpha + sigma * f.G_alpha(bar), sigma)
        old, w = w, f.map(w - tau * f.G_w(alpha), tau)
        theta = 1.0 / sqrt(1.0 + 2.0 * s * tau)
        tau, sigma = theta * tau, sigma / theta
        bar = w + theta * (w - old)
        yield w, alpha


def same(ours, printed, p):
    for it, (w, alpha) in zip(ours, printed, strict=False):
        np.testing.assert_allclose(it.w, w, **EXACT)
        np.testing.assert_allclose(-p.y * it.b, alpha, **EXACT)


PRINTED = [({"name": "pdprox_dual", "layout": layout}, algorithm_3) for layout in LAYOUTS]
PRINTED += [({"name": "pdprox_primal", "layout": layout}, algorithm_2) for layout in LAYOUTS]
PRINTED += [({"name": "pdprox_dual", "beta": "prox"}, algorithm_1)]


@pytest.mark.parametrize("regularizer", ["l1", "l2", "elastic_net", "box"])
@pytest.mark.parametrize(("spec", "algorithm"), PRINTED, ids=lambda x: str(x) if isinstance(x, dict) else x.__name__)
def test_algorithms_as_printed(spec, algorithm, regularizer):
    for p in oracles.problem("hinge", oracles.example("regularizer", regularizer)), hinge(regularizer):
        gamma = sqrt(p.n / (2.0 * p.R**2))
        same(iterates(spec, p), algorithm(Folded(p), gamma), p)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("ratio", [0.1, 30.0])
def test_two_steps_are_chambolle_and_pock(layout, ratio):
    p, scale = hinge(), 0.7
    tau, sigma = (scale * sqrt(r * p.n / p.R**2) for r in (ratio, 1.0 / ratio))
    spec = {"layout": layout, "step_scale": scale, "ratio": ratio}
    same(iterates({"name": "pdprox_dual", **spec}, p), chambolle_pock(Folded(p), tau, sigma), p)
    accelerated = chambolle_pock(Folded(p), tau, sigma, p.strong_convexity)
    same(iterates({"name": "pdprox_accelerated", **spec}, p), accelerated, p)


def test_averages_are_the_means_of_the_iterates():
    p = hinge()
    for name in "pdprox_dual", "pdprox_primal":
        last = iterates(name, p)
        for t, it in enumerate(iterates({"name": name, "output": "average"}, p), 1):
            np.testing.assert_allclose(it.w, np.mean([x.w for x in last[:t]], axis=0), **EXACT)
            np.testing.assert_allclose(it.b, np.mean([x.b for x in last[:t]], axis=0), **EXACT)
            assert it.passes == last[t - 1].passes


def test_algorithm_1_has_two_dual_variables():
    p = hinge()
    with pytest.raises(RrmbenchError, match=r"layout: double_primal .*allowed is layout: double_dual"):
        iterates({"name": "pdprox_dual", "beta": "prox", "layout": "double_primal"}, p)


def absolute(p, exponent, scale, ratio):
    """Pock and Chambolle's preconditioned method on a dense absolute loss with the Psi of p."""
    K = np.abs(dense(p)) / p.n
    powered = [np.where(K > 0.0, K ** np.float64(a), 0.0) for a in (2.0 - exponent, exponent)]
    tau = scale * sqrt(ratio) / powered[0].sum(axis=0)
    sigma = scale / sqrt(ratio) / powered[1].sum(axis=1)
    w = bar = np.zeros(p.shape)
    b = np.zeros(p.n)
    while True:
        t = sigma / p.n
        b = np.clip((b + t * (dense(p) @ bar - p.y)) / (1.0 + t * p.mu), -1.0, 1.0)
        point = w - tau * (dense(p).T @ b) / p.n
        old, w = w, np.array([oracles.prox_Psi(p, point, t)[j] for j, t in enumerate(tau)])
        bar = 2.0 * w - old
        yield w, b


@pytest.mark.parametrize("exponent", [0.0, 0.7, 1.0, 2.0])
def test_preconditioned_as_printed(exponent):
    p = oracles.problem("absolute", oracles.example("regularizer", "elastic_net")).smoothed(0.1)
    p = p.regularized(0.05, np.linspace(-1.0, 1.0, p.shape[0]))
    spec = {"name": "pdprox_preconditioned", "exponent": exponent, "step_scale": 0.9, "ratio": 4.0}
    for it, (w, b) in zip(iterates(spec, p), absolute(p, exponent, 0.9, 4.0), strict=False):
        np.testing.assert_allclose(it.w, w, **EXACT)
        np.testing.assert_allclose(it.b, b, **EXACT)


@given(st.integers(0, 1000), st.floats(0.0, 2.0))
def test_preconditioning_makes_the_norm_at_most_one(seed, exponent):
    """Their Lemma 2, with zero columns and rows."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((9, 6)) * (rng.random((9, 6)) < 0.3)
    columns, rows = powers(CSR.of(X), exponent)
    scaled = X / 9 / np.sqrt(rows)[:, None] / np.sqrt(columns)
    assert np.linalg.norm(scaled, 2) <= 1.0 + 1e-12


# passes


def counted(spec, p, start):
    """(passes, products with the data so far) of the first iterates."""
    X = oracles.Counting(p.X)
    running = registry.build_solver(spec)(Problem(X, p.y, p.loss, p.regularizer, l2=p.l2), start, Rng(0))
    return [(it.passes + it.checks, X.products) for it in islice(running, 40)]


EVERY = [spec for spec, _ in PRINTED] + [
    "pdprox_accelerated",
    "pdprox_preconditioned",
    "pdprox_restarted",
    {"name": "pdprox_primal", "constant": "spectral", "output": "average"},
    {"name": "pdprox_restarted", "constant": "data"},
]


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_every_product_is_counted(spec):
    p = oracles.problem("hinge", oracles.example("regularizer", "elastic_net"))
    warm = after("pdprox_dual", p, 5)
    for start in None, warm, warm._replace(b=None), warm._replace(w=0.0 * warm.w):
        counts = counted(spec, p, start)
        assert counts[0] == (0.0, 0)
        assert all(2.0 * passes == products for passes, products in counts)
        assert np.all(np.diff([passes for passes, _ in counts]) <= 1.0)


@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_a_solution_stays_where_it_is(spec):
    p = oracles.problem("hinge", oracles.example("regularizer", "elastic_net"))
    best = solved(p, 1e-13)
    for it in iterates(spec, p, 30, best):
        np.testing.assert_allclose(it.w, best.w, atol=1e-5)
        assert p.gap(it.w, it.b) <= 1e-6


# optima


CONVERGENT = [
    ("pdprox_dual", {"constant": "spectral", "ratio": 0.1}),
    ("pdprox_primal", {"constant": "spectral", "ratio": 0.1}),
    ("pdprox_dual", {"constant": "spectral", "ratio": 0.1, "beta": "prox"}),
    ("pdprox_preconditioned", {}),
    ("pdprox_accelerated", {"ratio": 10.0}),
]


@pytest.mark.parametrize("regularizer", ["l1", "elastic_net", "l2", "box"])
@pytest.mark.parametrize("loss", ["hinge", "absolute", "epsilon_insensitive", "generalized_hinge", "logistic"])
def test_optimum_agrees_with_cvxpy(loss, regularizer):
    optimum, _ = oracles.cvxpy_optimum(loss, regularizer)
    p = oracles.problem(loss, oracles.example("regularizer", regularizer))
    assert p.primal(solved(p, 1e-9).w) == pytest.approx(optimum, abs=1e-6)
    if loss == "generalized_hinge":
        return  # 10,000 passes do not bring these to 1e-6
    for name, options in CONVERGENT:
        if not registry.lacking(registry.lookup("solver", name).needs, p.traits):
            it = after({"name": name, **options}, p, 10_000)
            assert -1e-7 <= p.primal(it.w) - optimum <= 1e-6


def multiclass():
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((30, 7)), np.arange(30) % 3.0
    return Problem(X, y, "max_of_hinge", {"name": "l21", "strength": 0.05})


def tasks():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((24, 5, 3)) * (np.arange(24) % 3 == np.arange(3)[:, None]).T[:, None]
    rows = CSR.of(X.reshape(24, 15)).rows
    operator = Flattened(rows.data, rows.indices, rows.indptr, (24, 15), (5, 3))
    return Problem(operator, rng.standard_normal(24), "absolute", {"name": "trace_norm", "strength": 0.1})


def whole():
    X, y = oracles.data(40, 12, 0.5, loss="hinge")
    return Problem(X, y, {"name": "hinge", "budget": 7.5}, {"name": "l1", "strength": 0.02})


def biased():
    X, y = oracles.data(40, 12, 0.5, loss="hinge")
    X = np.hstack([X, np.ones((40, 1))])
    return Problem(X, y, "hinge", {"name": "l2", "strength": 0.1}, free_bias=True)


OTHERS = {"multiclass": multiclass, "tasks": tasks, "whole": whole, "biased": biased, "changed": hinge}


@pytest.mark.parametrize("make", OTHERS.values(), ids=OTHERS)
@pytest.mark.parametrize("spec", EVERY, ids=str)
def test_other_models_losses_and_changed_problems(spec, make):
    """The certified gap falls to 1e-8 or, for the slow ones, to a tenth; it proves that the pair is optimal."""
    p, name = make(), spec if isinstance(spec, str) else spec["name"]
    if registry.lacking(registry.lookup("solver", name).needs, p.traits):
        pytest.skip("the solver does not take this problem")
    first = p.gap(np.zeros(p.shape), np.zeros(p.output_shape))
    goal = 1e-8 if name == "pdprox_restarted" else 0.1 * first
    least = min(p.gap(it.w, it.b) for it in iterates(spec, p, 3000)[::10])
    assert -1e-12 <= least <= goal


# theory


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
    sizes, given = (StepSizes(p, 1e-4, ratio=4.0, guarded=guarded) for guarded in (True, False))
    for x in np.zeros(12), X[0], X[3]:
        sizes.shorten_if_unsafe(x, X @ x, 1.0 / p.n)
        given.shorten_if_unsafe(x, X @ x, 1.0 / p.n)
    assert sizes.c >= max(np.sum((X @ u) ** 2) / p.n**2 / (u @ u) for u in (X[0], X[3] - X[0]))
    assert sizes.tau * sizes.sigma == pytest.approx(1.0 / sizes.c)
    assert sizes.tau / sizes.sigma == pytest.approx(4.0)
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


def restarted(p, c):
    """The method of pdprox_restarted on stacked dense vectors, all norms by the matrix M."""
    d, n = p.shape[0], p.n
    K, x, ratio, total = dense(p) / n, np.zeros(d + n), 1.0, 0
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
        ratio = sqrt(ratio * ways[1] / ways[0]) if min(ways) > 0.0 else ratio
        x = new


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


@pytest.mark.parametrize("loss", ["hinge", "absolute", "quantile"])
def test_restarts_bring_high_accuracy(loss):
    """To 1e-8 in a fifth of the passes with which pdprox_dual, the best of three ratios, is not yet there."""
    p = oracles.problem(loss, oracles.example("regularizer", "l1"), n=60, d=20)
    ours = passes_to("pdprox_restarted", p, 1e-8, 10_000)
    assert ours < 10_000
    for ratio in 0.1, 1.0, 10.0:
        spec = {"name": "pdprox_dual", "constant": "spectral", "ratio": ratio}
        assert passes_to(spec, p, 1e-8, 5 * ours) >= 5 * ours


def test_a_start_without_b_begins_at_zero():
    p = hinge()
    first = next(registry.build_solver("pdprox_dual")(p, Iterate(np.ones(p.shape)), Rng(0)))
    assert np.array_equal(first.w, np.ones(p.shape)) and not first.b.any()
