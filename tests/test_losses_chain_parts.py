"""Max-margin Markov networks as linear programs and programs with cones, against all labellings and cvxpy."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import oracles
import pytest
from chain_labellings import labellings, statistics
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from scipy.optimize import linprog
from test_solvers_highs import solvers_of_references

from rrmbench import registry, solve
from rrmbench.bench import ascents, reference
from rrmbench.errors import RrmbenchError
from rrmbench.losses.chains import Sequences
from rrmbench.numerics.random import Rng
from rrmbench.problem.traits import traits

L1, L21, NORM, L2 = ({"name": name, "strength": 0.02} for name in ("l1", "l21", "l2_norm", "l2"))
LENGTHS = (3, 1, 2, 4, 1)
K = 3


def network(psi=L1, **data):
    return oracles.words("m3n", psi, **{"lengths": LENGTHS, "k": K, **data})


def parts_of(p):
    return p.loss.parts(p.y, p.output_shape[1])


def of_paths(p, rng):
    """(the labels of all positions, of a labelling at random), as y."""
    return np.column_stack([rng.integers(0, K, len(p.y)), p.y[:, 1]])


def misses(parts, u):
    """By how much u misses what it has to meet."""
    sums = np.bincount(parts.groups, u) - parts.limit
    return max(-u.min(), u.max() - 1.0, sums.max(), np.abs(parts.balance @ u).max())


@given(seed=st.integers(0, 10**6))
def test_the_best_parts_are_the_best_labelling(seed):
    p, rng = network(seed=seed), np.random.default_rng(seed)
    parts, z = parts_of(p), p.X.forward(rng.standard_normal(p.shape))
    size, count = parts.costs.size, parts.groups.max() + 1
    within = np.zeros((count, size))
    within[parts.groups, np.arange(size)] = 1.0
    slopes = parts.columns.T @ z.reshape(-1) - parts.costs
    found = linprog(
        -slopes, within, np.full(count, parts.limit), parts.balance, np.zeros(parts.balance.shape[0]), (0.0, 1.0)
    )
    N, (starts, labels, _) = len(p.y), Sequences.of(p.y)
    total = 0.0
    for a, b in pairwise(starts):
        scores = {}
        for path in labellings(b - a, K):
            nodes, edges = statistics(path, K)
            score = np.vdot(nodes, z[a:b]) + np.vdot(edges, z[N:-2])
            scores[tuple(path)] = score + np.sum(path != labels[a:b])
        total += max(scores.values()) - scores[tuple(labels[a:b])]
    assert -found.fun == pytest.approx(total, abs=1e-9)
    assert p.n * p.mean_loss(z) == pytest.approx(total, abs=1e-9)


@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 1e-9, 1e-2]))
def test_what_misses_the_polytope_a_little_is_brought_into_it(seed, noise):
    """A mixture of labellings is left as it is, and its costs are those of the conjugate."""
    p, rng = network(seed=seed), np.random.default_rng(seed)
    parts, N, k = parts_of(p), len(p.y), K
    labels, later = Sequences.of(p.y).labels, Sequences.of(p.y).later
    shares, true, u = rng.dirichlet(np.ones(4)), np.zeros(p.output_shape), 0.0
    for share in shares:
        path = of_paths(p, rng)[:, 0].astype(int)
        b = np.zeros(p.output_shape)
        b[np.arange(N), path] = 1.0
        b[N:-2] = Sequences.of(p.y)._replace(labels=path).transitions(k)
        p.loss.complete(b, 0.0, Sequences.of(p.y))
        true += share * b
        nodes = np.delete(np.eye(k)[path].reshape(-1), np.arange(N) * k + labels)
        pairs = np.eye(k * k)[path[later - 1] * k + path[later]].reshape(-1)
        given_pairs = np.arange(later.size) * k * k + labels[later - 1] * k + labels[later]
        u = u + share * np.concatenate([nodes, np.delete(pairs, given_pairs)])
    assert misses(parts, u) <= 1e-12
    found = parts.within(u + noise * rng.standard_normal(u.size))
    assert misses(parts, found) <= 1e-12
    assert np.abs(found - u).max() <= 1e-12 + 100.0 * noise
    b = (parts.columns @ found).reshape(p.output_shape)
    np.testing.assert_allclose(b[:N], true[:N], atol=1e-12 + 100.0 * noise)
    assert p.loss.necessary(b, p.y) is None
    assert p.n * p.mean_conjugate(b) == pytest.approx(parts.costs @ found, abs=1e-12)
    if noise == 0.0:
        np.testing.assert_allclose((parts.columns @ u).reshape(b.shape)[:N], true[:N], atol=1e-13)
        np.testing.assert_allclose((parts.columns @ u).reshape(b.shape)[-2], true[-2], atol=1e-12)


@pytest.mark.parametrize("psi", [L1, L21, NORM, L2, L1 | {"domain": {"box": [-0.1, 0.2]}}], ids=str)
@pytest.mark.parametrize("solver", ["highs", "clarabel"])
def test_the_optimum_is_that_of_cvxpy(solver, psi):
    p = network(psi)
    if solver == "highs" and "polyhedral" not in p.traits:
        with pytest.raises(RrmbenchError, match="not polyhedral"):
            list(registry.build_solver(solver)(p, None, Rng(0)))
        return
    found = [x for x in registry.build_solver(solver)(p, None, Rng(0)) if x.b is not None]
    first = p.primal(p.start())
    assert -1e-13 <= min(p.gap(x.w, x.b) for x in found) <= 1e-10 * first
    assert all(p.loss.necessary(x.b, p.y) is None for x in found)
    model, features = cp.Variable(p.shape), p.X.positions.forward(np.eye(4))
    z = cp.vstack([features @ model[:4], model[4:], np.zeros((2, K))])
    psi, constraints = oracles.cvxpy_regularizer(psi, model)
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss("m3n", z, p.y) / p.n + psi), constraints)
    assert min(p.primal(x.w) for x in found) == pytest.approx(task.solve(solver=cp.CLARABEL), abs=1e-7 * first)


def test_single_positions_are_max_of_hinge():
    p = network(lengths=(1,) * 12)
    assert parts_of(p).balance.shape[0] == 0
    X = p.X.positions.forward(np.eye(4))
    classes = oracles.Problem(X, p.y[:, 0], "max_of_hinge", L1)
    best = [solve(q, "highs", seconds=10) for q in (p, classes)]
    assert p.primal(best[0].w) == pytest.approx(classes.primal(best[1].w), abs=1e-12)


def test_networks_with_an_entropy_or_smoothed_are_none():
    assert "piecewise_linear" in traits("m3n", L1)
    assert "piecewise_linear" not in traits("crf", L1)
    with pytest.raises(RrmbenchError, match="not piecewise_linear"):
        list(registry.build_solver("highs")(network().smoothed(0.1), None, Rng(0)))


def test_they_bound_runs_of_other_methods():
    for psi, method in (L1, ascents.ascend_by_program), (L21, ascents.ascend_by_cones):
        p = network(psi, lengths=LENGTHS * 4)
        assert ascents.methods_for(p, 15.0)[0] is method
        assert ascents.methods_for(p, 14.0) == [ascents.ascend_by_planes]
        run = solve(p, "subgradient", passes=60)
        best = solve(p, "clarabel", seconds=10)
        distance = p.primal(run.w) - p.dual_value(best.b)
        assert distance > 1e-4
        assert run.gap == pytest.approx(distance, abs=1e-9)


def test_references_of_networks(lab):
    """HiGHS pins the optimum, and Clarabel where psi is no norm of coordinates; neither where labels are many."""
    keys = {"loss": "m3n", "dataset": {"name": "words_small", "subset": 8}, "solver": "subgradient"}
    for psi, solver in (L1, "highs"), (L21, "clarabel"):
        lab.out = lab.folder / solver
        assert lab.run(lab.config(**keys, regularizer=psi, reference={"seconds": 20})).code == 0
        assert sorted(solvers_of_references(lab)) == [(solver, "done"), ("subgradient", "done")]
    for psi, size, names in (
        (L1, ((1000, 200), 10**6), ["highs", "clarabel", "agm_ef"]),
        (L21, ((1000, 200), 10**6), ["clarabel", "agm_ef"]),
        (L21, ((10**6, 4004), 10**9), ["agm_ef"]),
        (L2, ((1000, 200), 10**6), ["bcfw", "clarabel"]),
    ):
        spec = {"dataset": {"name": "words_small"}, "loss": {"name": "m3n"}, "regularizer": psi}
        assert [found["solver"]["name"] for found in reference.specs(spec, 1.0, *size)] == names
