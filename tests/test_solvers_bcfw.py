"""Block-coordinate Frank-Wolfe on max-margin Markov networks, against cvxpy and the enumeration of all labellings."""

from itertools import islice

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import registry, solve
from rrmbench.bench import ascents
from rrmbench.errors import RrmbenchError
from rrmbench.losses.chains import Sequences
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.sdca import bcfw, labellings


def network(l2=0.05, loss="m3n", **data):
    return oracles.words(loss, {"name": "l2", "strength": l2}, **data)


def iterates(p, count, seed=0):
    """(w, b, passes) of the first iterates with a new b, copied; b = 0 at the start."""
    found, known = [(p.start(), np.zeros(p.output_shape), 0.0)], None
    for x in registry.build_solver("bcfw")(p, None, Rng(seed)):
        if len(found) == count:
            break
        if x.b is not known and known is not None:
            found.append((x.w.copy(), x.b.copy(), x.passes))
        known = x.b
    return found


@pytest.mark.parametrize(
    ("l2", "kappa"), [(0.3, 0.0), (1e-3, 0.0), pytest.param(0.02, 0.1, marks=pytest.mark.exhaustive)]
)
def test_it_certifies_the_optimum_of_cvxpy(l2, kappa):
    p = network(l2)
    p = p.regularized(kappa, np.linspace(-1.0, 1.0, p.shape[0] * 3).reshape(p.shape)) if kappa else p
    w, b, _ = iterates(p, 600)[-1]
    assert p.gap(w, b) <= 1e-12 * p.primal(np.zeros(p.shape))
    model, features = cp.Variable(p.shape), p.X.positions.forward(np.eye(4))
    z = cp.vstack([features @ model[:4], model[4:], np.zeros((2, 3))])
    center = np.zeros(p.shape) if p.center is None else p.center
    squares = 0.5 * l2 * cp.sum_squares(model) + 0.5 * kappa * cp.sum_squares(model - center)
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss("m3n", z, p.y) / p.n + squares))
    assert p.primal(w) == pytest.approx(task.solve(solver=cp.CLARABEL), abs=1e-7)


@given(seed=st.integers(0, 10**6), l2=st.sampled_from([1e-3, 0.1, 10.0]))
def test_every_iterate_is_a_pair_with_a_greater_bound(seed, l2):
    """w is grad Psi*(v(b)), b is of distributions over labellings, D(b) never falls; also before b is made anew."""
    rng = np.random.default_rng(seed)
    p = network(l2, lengths=tuple(rng.integers(1, 6, 5)), seed=seed)
    before = -np.inf
    for x in islice(registry.build_solver("bcfw")(p, None, Rng(seed)), 1, 60):
        np.testing.assert_allclose(x.w, p.primal_point(p.v(x.b)), atol=1e-12 * max(1.0, 1.0 / l2))
        assert p.loss.necessary(x.b, p.y) is None
        assert p.dual_value(x.b) >= before - 1e-13 * max(1.0, abs(before))
        before = p.dual_value(x.b)


def test_labellings_with_a_share_get_room_as_they_need_it(monkeypatch):
    p = network(1e-3)
    plenty = iterates(p, 60)
    monkeypatch.setattr(bcfw, "FIRST_ROOM", 1)
    for (w, b, passes), (w_small, b_small, passes_small) in zip(plenty, iterates(p, 60), strict=True):
        assert np.array_equal(w, w_small)
        np.testing.assert_allclose(b, b_small, atol=1e-14)
        assert passes <= passes_small <= passes + 3 * 0.5  # of the sequences that were read again


def test_passes_count_the_entries_that_are_read(monkeypatch):
    """For outputs, the change of w, and once for products of positions that are kept."""
    monkeypatch.setattr(bcfw, "REVISITS", 0)
    p = network(100.0, lengths=(1,) * 7)  # w stays so small that all labels are wrong to the end
    [(*_, start), (*_, first)] = iterates(p, 2)
    assert start == 0.0 and first == pytest.approx(2 / 2)  # of single positions no product is needed
    p = network(0.3, lengths=(2,), k=2)
    [_, (*_, first)] = iterates(p, 2)
    assert first == pytest.approx(3 / 2)
    monkeypatch.setattr(bcfw, "REVISITS", 2)
    [_, (*_, again)] = iterates(p, 2)
    assert again == pytest.approx(first + 2 * 1 / 2)  # where nothing is to move, w is not changed
    monkeypatch.setattr(labellings, "KEPT", 3)
    [_, (*_, again)] = iterates(p, 2)
    assert again == pytest.approx(first + 2 * 2 / 2)


def test_products_of_labellings_are_those_of_their_features():
    """Up to a term of each of the two, so in all differences."""
    p = network(lengths=(5,), seed=3)
    rows, rng = p.X.positions.rows, np.random.default_rng(0)
    paths = rng.integers(0, 3, (6, 5))
    paths[:, 1] = 2
    positions, edges = np.empty(5, np.int64), np.empty(5, np.int64)
    c, e = labellings.differing(paths, np.arange(6), 0, 5, positions, edges)
    assert positions[:c].tolist() == [0, 2, 3, 4] and edges[:e].tolist() == [1, 2, 3, 4]
    products = np.empty((5, 5))
    some, whole = np.full(25, np.nan), rows.indptr[5] - rows.indptr[0]
    assert labellings.write_products(rows, 0, 5, positions[:2], some, np.zeros(4), products) < whole
    labellings.write_products(rows, 0, 5, positions[:c], some, np.zeros(4), products)
    assert labellings.write_products(rows, 0, 5, positions[:c], some, np.zeros(4), products) == 0
    G = np.array([[labellings.product(a, b, 0, positions[:c], edges[:e], products) for b in paths] for a in paths])
    X, psi = p.X.positions.forward(np.eye(4)), []
    for path in paths:
        features = np.zeros((7, 3))
        for t, j in enumerate(path):
            features[:4, j] += X[t]
            if t > 0:
                features[4 + path[t - 1], j] += 1.0
        psi.append(features.ravel())
    true = np.array(psi) @ np.array(psi).T
    centred = np.eye(6) - 1.0 / 6.0
    np.testing.assert_allclose(centred @ G @ centred, centred @ true @ centred, atol=1e-12)


def test_it_bounds_runs_of_other_methods():
    """Where passes are few, or s n is small, cutting planes do, which go on from what the run has or cones."""
    p = network(0.1, lengths=(1, 2) * 40)
    assert ascents.methods_for(network(1e-3), 100.0) == [ascents.ascend_by_cones, ascents.ascend_by_planes]
    assert ascents.methods_for(p, 20.0) == [ascents.ascend_by_labellings]
    assert ascents.methods_for(p, 10.0) == [ascents.ascend_by_planes]
    best, run = solve(p, "bcfw", relative_gap=1e-12), solve(p, "subgradient", passes=60)
    distance = p.primal(run.w) - p.dual_value(best.b)
    assert distance > 1e-4 and run.gap <= 1.001 * distance
    view, spent = p.counted(), 0.0
    for _, _, more in ascents.ascend_by_labellings(view, np.zeros(p.shape), np.zeros(p.output_shape), 30.0):
        spent += more
    assert 12.0 <= spent <= spent + view.X.passes <= 30.0


def test_the_products_of_the_shortest_sequences_are_kept(monkeypatch):
    monkeypatch.setattr(labellings, "KEPT", 15)
    sequences = Sequences.of(network(lengths=(3, 1, 2, 4, 1, 3)).y)
    assert np.diff(labellings.Products.of(sequences).first).tolist() == [9, 1, 4, 0, 1, 0]


def test_edges_of_data(monkeypatch):
    """No entries, where visits count; a sequence so long that its products would not fit."""
    y = np.column_stack([[0, 1, 2, 0, 1, 2, 1], [0, 0, 0, 1, 1, 2, 2]]).astype(float)
    found = solve(Problem(np.zeros((7, 3)), y, "m3n", {"name": "l2", "strength": 0.1}), "bcfw", relative_gap=1e-12)
    assert found.reason == "relative_gap" and found.trace["passes"].iloc[-1] > 0.0
    monkeypatch.setattr(bcfw, "LONGEST", 3)
    with pytest.raises(RrmbenchError, match="found a sequence of 4 positions, allowed are at most 3"):
        solve(network(), "bcfw", passes=2)


def test_it_is_for_maxima_over_labellings_and_squares():
    for p in (network(loss="crf"), network().smoothed(0.1), oracles.problem("hinge", {"name": "l2", "strength": 0.1})):
        with pytest.raises(RrmbenchError, match="labellings"):
            solve(p, "bcfw", passes=2)
    with pytest.raises(RrmbenchError, match="regularizer l2 or none"):
        solve(oracles.words("m3n", {"name": "elastic_net", "l1": 0.1, "l2": 0.1}), "bcfw", passes=2)
