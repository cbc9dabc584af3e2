"""Conditional random fields and max-margin Markov networks on chains, against the enumeration of all labellings."""

import math
from itertools import pairwise

import cvxpy as cp
import numpy as np
import oracles
import pytest
from chain_labellings import labellings, over_sequences, statistics
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import Problem, registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.losses.chains import Chains, Sequences, labelling
from rrmbench.problem.traits import build_loss

K, D = 3, 4
LENGTHS = [3, 1, 2, 4, 1]
L2 = {"name": "l2", "strength": 0.05}
each_loss = pytest.mark.parametrize("name", ["crf", "m3n"])
seeds = st.integers(0, 10**6)


def problem(name, seed=0, lengths=LENGTHS, regularizer=L2, **numbers):
    X, y = oracles.label_sequences(lengths, K, D, seed=seed)
    return Problem(X, y, name, regularizer, **numbers)


def outputs(p, rng, size=1.0):
    return p.X.forward(size * rng.standard_normal(p.shape))


def enumerated(p, z, tau):
    """The Sums of all labellings at tau, and the score of the labels of y."""
    N, sequences = p.X.labels, Sequences.of(p.y)
    cost = p.loss.cost
    true = over_sequences(z[:N], z[N:-2], sequences.starts, sequences.labels, cost, tau)
    own = sum(z[t, j] for t, j in enumerate(sequences.labels))
    return true, own + np.sum(z[N:-2] * sequences.transitions(K))


@pytest.mark.core(2)
@each_loss
@pytest.mark.parametrize("mu", [0.0, 1e-5, 0.03, 1.0, 10.0])
@given(seed=seeds)
def test_values_and_dual_points_are_those_of_all_labellings(name, mu, seed):
    p = problem(name, seed)
    loss, n, N = p.loss, p.n, p.X.labels
    z, tau = outputs(p, np.random.default_rng(seed)), loss.conjugate_convexity + mu
    true, own = enumerated(p, z, max(tau, 1e-3))
    diameter = N * math.log(K) / n
    if tau == 0.0:
        assert loss.value(z, p.y) == pytest.approx((true.best - own) / n, abs=1e-13)
        return
    true, own = enumerated(p, z, tau)
    value = (true.value - own) / n - mu * diameter
    assert loss.smooth_value(z, p.y, mu) == pytest.approx(value, abs=1e-12)
    b = loss.dual_point(z, p.y, mu)
    sequences = Sequences.of(p.y)
    digits = 1e-13 / tau + 1e-13
    np.testing.assert_allclose(b[:N], true.nodes - np.eye(K)[sequences.labels], atol=digits)
    np.testing.assert_allclose(b[N:-2], true.edges - sequences.transitions(K), atol=10 * digits)
    missed = np.sum(1.0 - true.nodes[np.arange(N), sequences.labels])
    assert b[-2, 0] == pytest.approx(loss.cost * missed + loss.conjugate_convexity * true.entropy, abs=N * digits)
    assert loss.d2(b, p.y) == pytest.approx(diameter - true.entropy / n, abs=N * digits)
    # b maximizes: Fenchel and Young with equality, in the outputs whose lift is 0
    assert np.vdot(b, z) / n - loss.conjugate(b, p.y) - mu * loss.d2(b, p.y) == pytest.approx(value, abs=1e-11)


@each_loss
@given(seed=seeds, mu=st.sampled_from([0.0, 0.1, 1.0]))
def test_the_dual_point_is_the_gradient(name, seed, mu):
    p = problem(name, seed).smoothed(mu)
    rng = np.random.default_rng(seed)
    z, direction, h = outputs(p, rng), outputs(p, rng), 1e-5
    left = (p.mean_loss(z) - p.mean_loss(z - h * direction)) / h
    right = (p.mean_loss(z + h * direction) - p.mean_loss(z)) / h
    slope = np.vdot(p.loss_dual(z), direction) / p.n
    slack = 1e-8 + (right - left if mu + p.loss.conjugate_convexity > 0.0 else 0.0)
    assert min(left, right) - slack <= slope <= max(left, right) + slack


@pytest.mark.exhaustive
@each_loss
@given(seed=seeds)
def test_a_mean_of_dual_points_and_the_labels_bounds_every_linear_program(name, seed):
    # Phi*(b) and d2(b) of a mixture, by its best representation as a distribution of each sequence, or any
    lengths = [2, 1, 3]
    p = problem(name, seed, lengths)
    rng = np.random.default_rng(seed)
    points = [p.loss.dual_point(outputs(p, rng, 2.0), p.y, mu) for mu in (0.3, 1.0)]
    share = rng.random()
    b = 0.8 * (share * points[0] + (1.0 - share) * points[1])  # mixed with the labels, where b = 0
    conjugate, N, columns, costs = p.loss.conjugate(b, p.y), p.X.labels, [], []
    starts, labels = Sequences.of(p.y)[:2]
    chances = []
    for first, last in pairwise(starts):
        for path in labellings(last - first, K):
            nodes, edges = np.zeros((N, K)), np.zeros((K, K))
            nodes[first:last], edges = statistics(path, K)
            columns.append(np.concatenate([nodes.ravel(), edges.ravel()]))
            costs.append(p.loss.cost * np.sum(path != labels[first:last]))
        chances.append(np.repeat(len(chances), K ** (last - first)))
    owner, A = np.concatenate(chances), np.array(columns).T
    truth = np.concatenate([np.eye(K)[labels].ravel(), Sequences.of(p.y).transitions(K).ravel()])
    q = cp.Variable(len(costs), nonneg=True)
    constraints = [
        A @ q == b[:-2].ravel() + truth,
        np.eye(p.n)[owner].T @ q == 1.0,
    ]
    entropy = p.loss.conjugate_convexity * cp.sum(cp.entr(q))
    task = cp.Problem(cp.Maximize(np.array(costs) @ q + entropy), constraints)
    task.solve(solver=cp.CLARABEL)
    assert -task.value / p.n <= conjugate + 1e-6
    uncertain = cp.Problem(cp.Maximize(cp.sum(cp.entr(q))), constraints).solve(solver=cp.CLARABEL)
    assert N * math.log(K) / p.n - uncertain / p.n <= p.loss.d2(b, p.y) + 1e-6


@each_loss
@given(seed=seeds, mu=st.sampled_from([0.05, 1.0]))
def test_curvature_is_at_most_S(name, seed, mu):
    p = problem(name, seed).smoothed(mu)
    rng = np.random.default_rng(seed)
    w, direction = rng.standard_normal(p.shape), rng.standard_normal(p.shape)
    direction /= np.linalg.norm(direction)

    def slope(t):
        return np.vdot(p.X.adjoint(p.loss_dual(p.X.forward(w + t * direction))) / p.n, direction)

    assert abs(slope(0.1) - slope(0.0)) <= 0.1 * p.L * (1.0 + 1e-9)


def test_the_curvature_S_is_nearly_attained():
    # two labellings that differ everywhere, half each, along the direction in which they differ
    X, y = np.ones((12, 1)), np.column_stack([np.arange(12) % 2, np.zeros(12)]).astype(float)
    p = Problem(X, y, "crf", "none")
    # the transition at either label to itself makes the two constant labellings all but certain
    z = p.X.forward(np.array([[0.0, 0.0], [30.0, 0.0], [0.0, 30.0]]))
    direction = np.array([[1.0, -1.0], [0.0, 0.0], [0.0, 0.0]]) / math.sqrt(2.0)
    h = 1e-4
    b = (p.loss_dual(z + h * p.X.forward(direction)) - p.loss_dual(z)) / h
    curvature = np.vdot(p.X.adjoint(b), direction) / p.n
    bound = 0.5 * 12.0**2  # of S, the share of the unary scores
    assert curvature == pytest.approx(bound, rel=0.01)
    assert pytest.approx(0.5 * (12.0**2 + 11.0**2)) == p.losses.S


@given(seed=seeds)
def test_the_operator_is_linear_and_knows_its_adjoint_and_norms(seed):
    p = problem("crf", seed)
    rng = np.random.default_rng(seed)
    w, b = rng.standard_normal(p.shape), rng.standard_normal(p.output_shape)
    z = p.X.forward(w)
    assert not z[-2:].any()
    assert np.vdot(z, b) == pytest.approx(np.vdot(w, p.X.adjoint(b)), abs=1e-11)
    assert np.vdot(z, z) <= p.X.sqnorms.sum() * np.vdot(w, w)
    head = p.X.head(2)
    assert (head.shape, head.labels) == ((2, *p.shape), sum(LENGTHS[:2]))
    np.testing.assert_array_equal(head.forward(w)[: head.labels], z[: head.labels])


@each_loss
def test_what_is_no_mean_of_labellings_has_no_finite_conjugate(name):
    p = problem(name)
    N = p.X.labels
    b = p.loss.dual_point(outputs(p, np.random.default_rng(0)), p.y, 0.5)
    assert math.isfinite(p.loss.conjugate(b, p.y))
    for change in ("node", "edge", "scale"):
        wrong = b.copy()
        if change == "node":
            wrong[0, 0] += 1e-6
        elif change == "edge":
            wrong[N, 0] += 1e-6
        else:
            wrong *= 5.0
        assert p.loss.conjugate(wrong, p.y) == math.inf
    assert p.loss.conjugate(np.full(b.shape, np.nan), p.y) == math.inf


@each_loss
@given(seed=seeds)
def test_no_certificate_is_above_the_optimum(name, seed):
    p = problem(name, seed % 5)
    optimum = cvxpy_optimum(name, seed % 5)
    rng = np.random.default_rng(seed)
    mean = np.zeros(p.output_shape)
    for i, mu in enumerate(rng.choice([0.0, 1e-4, 0.1, 1.0, 10.0], 4)):
        b = p.loss_dual(outputs(p, rng, 3.0 * rng.random()), mu)
        mean += (b - mean) / (i + 1)
        for candidate in (b, mean, rng.random() * mean):
            value, _ = p.certificate(candidate)
            assert value <= optimum + 1e-6


OPTIMA = {}


def cvxpy_optimum(name, seed):
    if (name, seed) not in OPTIMA:
        p = problem(name, seed)
        w = cp.Variable(p.shape)
        X = p.X.positions.forward(np.eye(D))
        z = cp.vstack([X @ w[:D], w[D:], np.zeros((2, K))])
        task = cp.Problem(cp.Minimize(oracles.cvxpy_loss(name, z, p.y) / p.n + 0.025 * cp.sum_squares(w)))
        OPTIMA[name, seed] = task.solve(solver=cp.CLARABEL)
    return OPTIMA[name, seed]


@pytest.mark.core(3)
@pytest.mark.parametrize(
    ("name", "solver", "reduction", "gap", "suboptimality"),
    [
        ("crf", "fista", "none", 1e-6, 1e-6),
        ("crf", "agd", "none", 1e-6, 1e-6),
        ("crf", "gd", "none", 1e-2, 1e-3),
        ("crf", "agm_ef", "none", 1e-8, 1e-6),
        ("crf", "agm_ef_1", "none", 1e-8, 1e-6),
        ("crf", "agm_ef", "solve_dual", 1e-8, 1e-6),
        ("crf", "lbfgs", "none", 1e-12, 1e-6),
        ("crf", "subgradient", "none", 0.3, 0.1),
        ("m3n", "subgradient", "none", 3.0, 0.2),  # whose certificates lag behind
        ("m3n", "agm_ef", {"name": "smooth", "mu": 1e-4}, 1e-3, 1e-3),
        ("m3n", "fista", {"name": "adapt_smooth", "mu": 1.0}, 1e-2, 1e-2),
        ("m3n", "agm_ef", "solve_dual", 1e-3, 1e-3),
        ("m3n", "bcfw", "none", 1e-12, 1e-6),
    ],
)
def test_solvers_reach_the_optimum_with_a_certificate(name, solver, reduction, gap, suboptimality):
    p = problem(name)
    found = solve(p, solver, reduction=reduction, passes=1500, every=50)
    optimum = cvxpy_optimum(name, 0)
    assert found.gap <= gap
    assert -1e-6 <= p.primal(found.w) - optimum <= suboptimality
    assert p.gap(found.w, found.b) == pytest.approx(found.gap, abs=1e-12)


def test_methods_that_need_a_euclidean_step_on_the_conjugate_are_refused():
    p = problem("m3n")
    for solver in ("pdprox_dual", "excessive_gap"):
        with pytest.raises(RrmbenchError, match="a loss whose conjugate has a Euclidean"):
            solve(p, solver, passes=2)
    with pytest.raises(RrmbenchError, match="needs data in rows"):
        solve(p, "prox_sdca", passes=2)


def test_predicted_labels_are_the_best_labelling_without_the_cost():
    p = problem("m3n")
    z = outputs(p, np.random.default_rng(1))
    starts = Sequences.of(p.y).starts
    for (a, b), length in zip(pairwise(starts), LENGTHS, strict=True):
        paths = labellings(length, K)
        N = p.X.labels
        both = [statistics(path, K) for path in paths]
        scores = [np.vdot(u, z[a:b]) + np.vdot(e, z[N:-2]) for u, e in both]
        assert labelling(z, p.y)[a:b].tolist() == paths[int(np.argmax(scores))].tolist()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(4.0), r"needed is \(4, 2\), classes and numbers of sequences"),
        (np.array([[0, 0], [1, 1], [0, 0], [1, 1]]), "row 3 has the sequence number 0 of earlier rows"),
        (np.array([[2, 0], [2, 1], [2, 2], [2, 3]]), "needs two classes at least"),
        (np.array([[0, 0], [1, 0], [0, 1], [1, np.nan]]), "needed are finite numbers"),
    ],
)
def test_labels_that_are_no_sequences_are_one_clear_error(y, message):
    with pytest.raises(RrmbenchError, match=message):
        Problem(np.ones((4, 2)), y, "crf", L2)


def test_labels_and_sequences_may_have_any_numbers():
    X, y = oracles.label_sequences(LENGTHS, K, D)
    plain = Problem(X, y, "crf", L2)
    named = Problem(X, np.column_stack([7.0 - 2.0 * y[:, 0], 50.0 - 3.0 * y[:, 1]]), "crf", L2)
    assert isinstance(named.X, Chains)
    w = np.random.default_rng(0).standard_normal(plain.shape)
    turned = w[:, ::-1].copy()
    turned[D:] = turned[D:][::-1]
    assert named.primal(turned) == pytest.approx(plain.primal(w), rel=1e-13)


def test_both_losses_want_sequences():
    for name in ("crf", "m3n"):
        assert registry.lookup("loss", name).needs == {"sequences"}
        assert build_loss(name)[0].outputs == "whole"
