import hashlib
import subprocess
import sys
from dataclasses import replace
from itertools import islice, pairwise
from math import sqrt

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.numerics import lazy
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.problem import Problem

REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}
LOSSES = oracles.scalar_losses()
SOLVERS = oracles.OWN_SOLVERS
ONE_PASS = ["subgradient", "svrg", "saga", "sag", "adagrad", "sgd"]


def dense(p):
    return p.X.forward(np.eye(p.shape[0]))


def iterates(solver, p, count, start=None, seed=0):
    """Copies of the first iterates of a solver (a mapping or a name)."""
    solve = registry.build_solver(solver)
    return [copied(it) for it in islice(solve(p, start, Rng(seed)), count)]


def copied(it):
    return it._replace(w=it.w.copy(), b=None if it.b is None else it.b.copy())


def after(solver, p, passes, start=None, seed=0):
    """The first iterate at or after `passes`."""
    for it in registry.build_solver(solver)(p, start, Rng(seed)):
        if it.passes >= passes:
            return it
    raise AssertionError("the solver ended")


def valid_pairs():
    """(solver, loss, regularizer name) for every combination that the traits allow."""
    for solver in SOLVERS:
        for loss in LOSSES:
            for name, mapping in REGULARIZERS.items():
                if takes(solver, oracles.problem(loss, mapping)):
                    yield solver, loss, name


def takes(solver, p):
    return registry.lookup("solver", solver).needs <= p.traits


def easy(solver):
    """A problem that the solver takes: as rich a one as most do, or the plain support vector machine."""
    p = oracles.problem("smoothed_hinge", REGULARIZERS["elastic_net"])
    return p if takes(solver, p) else oracles.problem("hinge", REGULARIZERS["l2"])


each_solver = pytest.mark.parametrize("solver", SOLVERS)
each_stochastic = pytest.mark.parametrize("solver", ["prox_sdca", "apcg", "svrg", "saga", "sag", "adagrad", "sgd"])


@pytest.mark.parametrize(
    ("solver", "loss", "regularizer"),
    oracles.core(valid_pairs(), lambda *case: not {"pegasos", "elastic_net", "logistic"}.isdisjoint(case)),
)
def test_reaches_the_optimum(solver, loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    optimum, _ = oracles.cvxpy_optimum(loss, regularizer)
    accuracy, passes, *_ = oracles.SOLVERS[solver].oracle
    it = after(solver, p, passes)
    first = p.primal(np.zeros(p.shape)) - optimum
    assert -1e-7 <= p.primal(it.w) - optimum <= accuracy * first + 1e-7
    if "dual" in registry.lookup("solver", solver).gives:
        assert -1e-10 <= p.gap(it.w, it.b) <= 10 * accuracy * first


@each_solver
def test_start_is_not_modified_and_continued(solver):
    p = easy(solver)
    start = copied(after(solver, p, 20))
    kept = copied(start)
    first, *_, last = iterates(solver, p, 10, start)
    assert np.array_equal(start.w, kept.w)
    assert start.b is None or np.array_equal(start.b, kept.b)
    np.testing.assert_allclose(first.w, kept.w, atol=1e-12)
    assert p.primal(last.w) <= p.primal(np.zeros(p.shape))
    if "dual" in registry.lookup("solver", solver).gives:
        assert np.array_equal(first.b, kept.b)


@each_solver
def test_first_iterate_costs_nothing_and_passes_grow(solver):
    its = iterates(solver, easy(solver), 20)
    passes = [it.passes for it in its]
    assert passes[0] == 0.0
    assert min(np.diff(passes)) >= 0.0
    assert max(np.diff(passes)) <= 1.0 + 1e-12
    thirds = (13 / 40, 13 / 40, 14 / 40)
    exact = {"prox_sdca": thirds, "apcg": thirds} | dict.fromkeys(ONE_PASS, (1.0,))
    if solver in exact:
        np.testing.assert_allclose(np.diff(passes), np.resize(exact[solver], 19), atol=1e-12)
        assert {it.checks for it in its} == {0.0}


def fingerprint():
    """A digest of the first iterates of all solvers."""
    sha = hashlib.sha256()
    for solver in SOLVERS:
        for it in iterates(solver, easy(solver), 8, seed=5):
            sha.update(it.w.tobytes() + (b"" if it.b is None else it.b.tobytes()))
    return sha.hexdigest()


def test_same_seed_same_bits_in_every_process():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import test_solvers; print(test_solvers.fingerprint())"
    folder = str(__import__("pathlib").Path(__file__).parent)
    other = subprocess.run([sys.executable, "-c", code, folder], capture_output=True, text=True, check=True)
    assert fingerprint() == fingerprint() == other.stdout.strip()


@each_stochastic
def test_another_seed_is_another_run(solver):
    one, two = (iterates(solver, easy(solver), 5, seed=s)[-1] for s in (0, 1))
    assert not np.array_equal(one.w, two.w)


# apcg


@pytest.mark.parametrize("loss", ["squared", "smoothed_hinge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
@pytest.mark.parametrize("center", [None, np.linspace(-1.0, 1.0, 7)], ids=["plain", "centred"])
def test_apcg_is_algorithm_2(loss, regularizer, center):
    p = oracles.problem(loss, REGULARIZERS[regularizer], n=15, d=7)
    if center is not None:
        p = p.regularized(0.05, center)
    compare_apcg(p, None, passes=12, tolerance=1e-10)


def test_apcg_continues_from_b():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"], n=15, d=7).regularized(0.1, np.linspace(-1.0, 1.0, 7))
    compare_apcg(p, Iterate(np.zeros(7), p.loss_dual(np.linspace(-2.0, 2.0, 15))), passes=5, tolerance=1e-10)


def test_apcg_rescales():
    # on 4 samples r falls by 40 % per step: below 1e-100 after 120 passes, below 1e-308 after 360
    p = oracles.problem("logistic", {"name": "l2", "strength": 2.0}, n=4, d=3, density=1.0)
    compare_apcg(p, None, passes=600, tolerance=1e-12)


def compare_apcg(p, start, passes, tolerance):
    X = dense(p)
    rng, orders = Rng(3), []
    for _ in range(passes):
        orders.extend(np.split(rng.integers(p.n, p.n), [p.n // 3, 2 * p.n // 3]))
    b = np.zeros(p.n) if start is None else start.b
    ours = registry.build_solver("apcg")(p, start, Rng(3))
    next(ours)
    for it, x in zip(ours, oracles.apcg(p, X, b, orders), strict=False):
        np.testing.assert_allclose(it.b, x, atol=tolerance)
        np.testing.assert_allclose(it.w, oracles.dual_point(p, x, X), atol=tolerance)


@pytest.mark.parametrize("loss", ["smoothed_hinge", "squared_hinge", "logistic", "huber"])
def test_apcg_stays_in_the_domain(loss):
    p = oracles.problem(loss, {"name": "l2", "strength": 1e-3})
    for it in iterates("apcg", p, 300):
        assert np.isfinite(p.mean_conjugate(it.b))


# svrg and sgd


def sparse_problem(loss, regularizer, centred):
    p = oracles.problem(loss, REGULARIZERS[regularizer], n=30, d=25, density=0.1)
    return p.regularized(0.02, np.linspace(-1.0, 1.0, 25)) if centred else p


def on_stochastic_cases(test):
    """Parameters for tests of stochastic solvers against dense steps; "dense" hides the closed form of box."""
    regularizers = ["none", "l2", "l1", "elastic_net", "box", "dense"]
    for names, values in (("loss", ["squared", "logistic"]), ("psi", regularizers), ("centred", [False, True])):
        test = pytest.mark.parametrize(names, values)(test)
    return test


def stochastic_problem(loss, psi, centred, monkeypatch):
    p = sparse_problem(loss, "box" if psi == "dense" else psi, centred)
    if psi == "dense":
        monkeypatch.setattr(type(p.regularizer), "soft_threshold", False)
    assert lazy.StochasticSteps(p, 0.1).lazy == (psi != "dense")
    return p


@on_stochastic_cases
def test_svrg_equals_dense_steps(loss, psi, centred, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    ours = registry.build_solver({"name": "svrg", "step_scale": 0.4})(p, None, Rng(7))
    next(ours)
    eta = 0.4 / (p.smoothness * p.R**2)
    for _ in range(8):
        theta = oracles.derivatives(p, X @ w)
        g = X.T @ theta / p.n
        snapshot = next(ours)
        np.testing.assert_allclose(snapshot.b, theta, atol=1e-10)
        mapped = w - oracles.prox_Psi(p, w - g / p.L, 1 / p.L)
        assert snapshot.gradient_norm == pytest.approx(p.L * np.linalg.norm(mapped), abs=1e-9)
        for _ in range(2):
            w = oracles.stochastic_steps(p, X, w, rng.integers(p.n, p.n), eta, g, theta)
            np.testing.assert_allclose(next(ours).w, w, atol=1e-10)


@pytest.mark.parametrize("loss", ["squared", "absolute", "hinge"])
@pytest.mark.parametrize("regularizer", ["none", "l2", "l1", "elastic_net", "box"])
@pytest.mark.parametrize("sampling", ["uniform", "permutation"])
def test_sgd_equals_dense_steps(loss, regularizer, sampling):
    p = sparse_problem(loss, regularizer, centred=False)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    n, s, smoothness = 30, p.strong_convexity, p.smoothness
    zeros = np.zeros(25), np.zeros(n)
    for k, it in enumerate(
        iterates({"name": "sgd", "step_scale": 0.5, "sampling": sampling}, p, 6, seed=7)[1:], start=1
    ):
        steepest = smoothness * p.R**2 if np.isfinite(smoothness) else 0.0
        if s > 0.0:
            eta = 0.5 / (s * k * n + steepest)
        elif steepest > 0.0:
            eta = 0.5 / (steepest * sqrt(k))
        else:
            eta = 0.5 / (p.lipschitz * p.R * sqrt(k * n))
        order = rng.integers(n, n) if sampling == "uniform" else rng.permutation(n)
        w = oracles.stochastic_steps(p, X, w, order, eta, *zeros)
        np.testing.assert_allclose(it.w, w, atol=1e-10)


@pytest.mark.parametrize("solver", ["svrg", "saga", "sag", "sgd", "adagrad"])
def test_a_start_outside_of_the_box_is_projected(solver):
    X, y = oracles.data(30, 25, density=0.1)
    p = Problem(X, y, "squared", {"name": "box", "lower": 0.2, "upper": 0.7}).regularized(0.1, np.ones(25))
    inside = Iterate(np.full(25, 0.2))
    one, two = (iterates(solver, p, 8, start) for start in (None, inside))
    assert all(np.isfinite(p.primal(it.w)) for it in one[2:])
    if solver in ("sgd", "adagrad"):  # the others take their first gradient at the start as it is
        assert all(np.array_equal(a.w, b.w) for a, b in zip(one[1:], two[1:], strict=True))
    else:
        assert p.primal(after(solver, p, 300).w) == pytest.approx(p.primal(after(solver, p, 300, inside).w), rel=1e-3)


def test_svrg_stops_at_a_random_step():
    p = sparse_problem("logistic", "elastic_net", True)
    X, rng, w = dense(p), Rng(7), np.zeros(25)
    ours = registry.build_solver({"name": "svrg", "snapshot": "random"})(p, None, Rng(7))
    next(ours)
    eta, passes, lengths = 0.1 / (p.smoothness * p.R**2), 0.0, []
    for _ in range(12):
        theta = oracles.derivatives(p, X @ w)
        g = X.T @ theta / p.n
        passes += 1.0
        assert next(ours).passes == pytest.approx(passes)
        lengths.append(1 + int(rng.integers(2 * p.n, 1)[0]))
        for steps in (min(lengths[-1], p.n), lengths[-1] - p.n):
            if steps > 0:
                w = oracles.stochastic_steps(p, X, w, rng.integers(p.n, steps), eta, g, theta)
                passes += steps / p.n
                it = next(ours)
                np.testing.assert_allclose(it.w, w, atol=1e-10)
                assert it.passes == pytest.approx(passes)
    assert min(lengths) < p.n < max(lengths) <= 2 * p.n


@on_stochastic_cases
@pytest.mark.parametrize("solver", ["saga", "sag"])
def test_table_methods_equal_dense_steps(solver, loss, psi, centred, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w = dense(p), Rng(7), np.linspace(-0.3, 0.5, 25)
    ours = registry.build_solver({"name": solver, "step_scale": 0.4})(p, Iterate(w), Rng(7))
    next(ours)
    theta = oracles.derivatives(p, X @ w)
    np.testing.assert_allclose(next(ours).b, theta, atol=1e-12)
    for passes in range(2, 9):
        order = rng.integers(p.n, p.n)
        w = oracles.table_steps(p, X, w, order, 0.4 / (p.smoothness * p.R**2), theta, biased=solver == "sag")
        it = next(ours)
        np.testing.assert_allclose(it.w, w, atol=1e-10)
        assert it.passes == passes


@on_stochastic_cases
@pytest.mark.parametrize("sampling", ["uniform", "permutation"])
def test_adagrad_equals_dense_steps(loss, psi, centred, sampling, monkeypatch):
    p = stochastic_problem(loss, psi, centred, monkeypatch)
    X, rng, w, squares = dense(p), Rng(7), np.zeros(25), np.zeros(25)
    solver = {"name": "adagrad", "step_scale": 0.3, "delta": 0.01, "sampling": sampling}
    for it in iterates(solver, p, 7, seed=7)[1:]:
        order = rng.integers(30, 30) if sampling == "uniform" else rng.permutation(30)
        w = oracles.adagrad_steps(p, X, w, order, 0.3, 0.01, squares)
        np.testing.assert_allclose(it.w, w, atol=1e-10)


@given(
    w=st.floats(-10.0, 10.0),
    B=st.floats(-1.0, 1.0),
    threshold=st.sampled_from([0.0, 1e-3, 0.1, 0.6]),
    growth=st.sampled_from([0.0, 1e-13, 1e-6, 0.01, 1.0]),
    k=st.integers(0, 400),
)
def test_closed_form_of_repeated_steps(w, B, threshold, growth, k):
    expected = w
    for _ in range(k):
        x = expected / (1.0 + growth) - B
        expected = x - min(max(x, -threshold), threshold)
    for powers in lazy.powers(growth, 400), growth:
        found = lazy.repeated(w, B, threshold, k, powers)
        assert found == pytest.approx(expected, abs=1e-12 * (1.0 + abs(w) + k * abs(B)))


def test_powers_are_accurate():
    from fractions import Fraction

    for growth in 1e-14, 1e-3, 2.0:
        a, power, total = 1 / (1 + Fraction(growth)), Fraction(1), Fraction(0)
        for k, row in enumerate(lazy.powers(growth, 40)):
            assert row == pytest.approx([float(power), float(total)], rel=1e-15 * (k + 4))
            total += power
            power *= a


# full gradients


def test_gd_on_the_lasso_is_ista():
    p = oracles.problem("squared", {"name": "l1", "strength": 0.05})
    X, w = dense(p), np.zeros(12)
    eta = 0.9 * p.n / np.sum(X**2)
    for it in iterates({"name": "gd", "step": "bound", "step_scale": 0.9}, p, 50)[2:]:
        u = w - eta * X.T @ (X @ w - p.y) / p.n
        w = np.sign(u) * np.maximum(np.abs(u) - eta * 0.05, 0.0)
        np.testing.assert_allclose(it.w, w, atol=1e-13)


def test_agd_is_nesterovs_scheme_with_the_quadratic_in_the_gradient():
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"]).regularized(0.05, np.linspace(-1.0, 1.0, 12))
    X, s = dense(p), p.strong_convexity
    w = y = np.zeros(12)
    step, q = 1 / (p.L + s), sqrt(s / (p.L + s))
    for it in iterates("agd", p, 60)[2:]:
        gradient = X.T @ oracles.derivatives(p, X @ y) / p.n + p.l2 * y + p.kappa * (y - p.center)
        u = y - step * gradient
        w, old = np.sign(u) * np.maximum(np.abs(u) - step * REGULARIZERS["elastic_net"]["l1"], 0.0), w
        y = w + (1 - q) / (1 + q) * (w - old)
        np.testing.assert_allclose(it.w, w, atol=1e-12)


@pytest.mark.parametrize("restart", ["none", "gradient"])
@pytest.mark.parametrize("step", ["bound", "backtracking"])
@pytest.mark.parametrize("start", [None, Iterate(np.linspace(-1.0, 1.0, 12))], ids=["zero", "started"])
def test_fista_is_beck_and_teboulles(step, restart, start):
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"])
    X, w = dense(p), np.zeros(12) if start is None else start.w
    ours = iterates({"name": "fista", "step": step, "restart": restart}, p, 70, start)[2:]
    passes = 0.5 if start is None else 1.0
    accepted, restarts, L = 0, 0, p.L
    if step == "backtracking":
        g = X.T @ oracles.derivatives(p, X @ w) / p.n
        L = max(p.smoothness * np.sum((X @ g) ** 2) / (p.n * g @ g), p.L / p.n)
        passes += 0.5
    y, t, it = w, 1.0, iter(ours)
    while accepted < 40:
        g = X.T @ oracles.derivatives(p, X @ y) / p.n
        new = oracles.prox_Psi(p, y - g / L, 1 / L)
        passes += 0.5
        ours = next(it)
        assert ours.passes == passes
        move, f = new - y, lambda u: p.mean_loss(X @ u)
        if L < p.L and f(new) > f(y) * (1 + 1e-14) + g @ move + L / 2 * move @ move:
            L = min(1.5 * L, p.L)
            np.testing.assert_allclose(ours.w, w, atol=1e-12)
            continue
        np.testing.assert_allclose(ours.w, new, atol=1e-11)
        np.testing.assert_allclose(ours.b, oracles.derivatives(p, X @ y), atol=1e-11)
        if restart == "gradient" and (y - new) @ (new - w) > 0:
            t, restarts = 1.0, restarts + 1
        t, t_old = (1 + sqrt(1 + 4 * t * t)) / 2, t
        w, y = new, new + (t_old - 1) / t * (new - w)
        passes, accepted = passes + 0.5, accepted + 1
    assert (restarts > 0) == (restart == "gradient")
    assert L == p.L if step == "bound" else L < 0.8 * p.L


@pytest.mark.parametrize("solver", ["gd", "agd", "fista"])
def test_backtracking_stays_below_the_bound_at_the_optimum(solver):
    p = oracles.problem("squared_hinge", REGULARIZERS["elastic_net"])
    solve = {"name": solver, "step": "backtracking"}
    rejected = [b.passes - a.passes == 0.5 for a, b in pairwise(iterates(solve, p, 3000)[2:])]
    assert sum(rejected) < 8
    assert not any(rejected[100:])
    still = Problem(np.eye(2), np.zeros(2), "squared")  # no gradient to see a curvature along
    assert not iterates(solve if solver != "agd" else "gd", still, 5)[-1].w.any()


def test_subgradient_takes_normalized_steps():
    p = oracles.problem("absolute", {"name": "l1", "strength": 0.05})
    X, w = dense(p), np.ones(12)
    start = Iterate(w)
    for k, it in enumerate(iterates({"name": "subgradient", "step_scale": 0.3}, p, 30, start)[1:], start=1):
        g = X.T @ oracles.derivatives(p, X @ w) / p.n + 0.05 * np.sign(w)
        w = w - 0.3 / sqrt(k) * g / np.linalg.norm(g)
        np.testing.assert_allclose(it.w, w, atol=1e-5)
        w = it.w


def test_subgradient_stays_in_the_box_and_at_the_optimum():
    p = oracles.problem("absolute", REGULARIZERS["box"])
    for it in iterates("subgradient", p, 100):
        assert np.isfinite(p.primal(it.w))
    solved = Problem(np.eye(2), np.zeros(2), "absolute")
    assert not iterates("subgradient", solved, 5)[-1].w.any()


# algorithms that must coincide


@pytest.mark.parametrize(("solver", "count"), [("prox_sdca", 10), ("apcg", 10), ("fista", 10)])
def test_a_smoothed_loss_is_the_loss_and_the_reduction(solver, count):
    X, y = oracles.data(30, 8, loss="hinge")
    psi = {"name": "l2", "strength": 0.1}
    named = iterates(solver, Problem(X, y, {"name": "smoothed_hinge", "gamma": 0.3}, psi), count)
    solve = registry.build_solver(solver, {"name": "smooth", "mu": 0.3})
    reduced = [it.w.copy() for it in islice(solve(Problem(X, y, "hinge", psi), None, Rng(0)), count)]
    assert all(np.array_equal(a.w, b) for a, b in zip(named, reduced, strict=True))


@each_solver
def test_l2_is_the_same_as_regularizing_around_the_origin(solver):
    p = easy(solver)
    around = replace(p, l2=0.0).regularized(p.l2, np.zeros(p.shape))
    for a, b in zip(iterates(solver, p, 8), iterates(solver, around, 8), strict=True):
        np.testing.assert_allclose(a.w, b.w, atol=1e-12)


def test_svrg_starts_with_a_gradient_step():
    # with one sample the stochastic gradient is the gradient
    p = oracles.problem("logistic", REGULARIZERS["elastic_net"], n=1)
    eta = 1.0 / (p.smoothness * p.R**2)
    assert eta == pytest.approx(1.0 / p.L)
    svrg = iterates({"name": "svrg", "step_scale": 1.0}, p, 7)
    gd = iterates({"name": "gd", "step": "bound"}, p, 6)
    for a, b in zip([svrg[2], svrg[3], svrg[5], svrg[6]], gd[2:], strict=True):
        np.testing.assert_allclose(a.w, b.w, atol=1e-13)


def test_rows_without_entries_and_single_samples():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]])
    for rows in X, X[:1], X[1:2]:
        p = Problem(rows, np.ones(len(rows)), "logistic", {"name": "elastic_net", "l1": 0.01, "l2": 0.1})
        for solver in [name for name in SOLVERS if takes(name, p)]:
            for it in iterates(solver, p, 30):
                assert np.isfinite(p.primal(it.w))
                assert it.b is None or np.isfinite(p.dual(it.b))
