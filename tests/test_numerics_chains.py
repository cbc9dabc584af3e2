"""Sums over labellings of sequences, against the enumeration of all of them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from chain_labellings import over_sequences, score
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.numerics import chains

TEMPERATURES = [1e-5, 1e-3, 0.02, 0.1, 1.0, 10.0]
SIZES = [(1, [3, 1]), (2, [1]), (2, [5, 1, 2]), (3, [4, 1, 1, 3]), (9, [3, 2, 1])]  # labels, lengths


def sequences(k, lengths, seed, size=1.0):
    """(nodes, transitions, starts, labels) at random."""
    rng = np.random.default_rng(seed)
    N = sum(lengths)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    return size * rng.standard_normal((N, k)), size * rng.standard_normal((k, k)), starts, rng.integers(0, k, N)


def expectations(given, cost, tau):
    nodes, edges = np.full(given[0].shape, np.nan), np.full(given[1].shape, np.nan)
    value, entropy = chains.expectations(*given, cost, tau, nodes, edges)
    return value, entropy, nodes, edges


@pytest.mark.core(5)
@pytest.mark.parametrize("tau", TEMPERATURES)
@pytest.mark.parametrize(("k", "lengths"), SIZES)
@given(seed=st.integers(0, 10**6), cost=st.sampled_from([0.0, 1.0]), size=st.sampled_from([0.0, 0.3, 1.0, 30.0]))
def test_values_marginals_and_entropies_are_those_of_all_labellings(k, lengths, tau, seed, cost, size):
    given = sequences(k, lengths, seed, size)
    true = over_sequences(*given, cost, tau)
    value, entropy, nodes, edges = expectations(given, cost, tau)
    scale = sum(lengths) * (size + cost + tau)
    assert value == pytest.approx(true.value, abs=1e-14 * scale)
    assert chains.partition(*given, cost, tau) == value
    rounding = 1e-14 * (1.0 + scale / tau)  # of the exponents
    assert entropy == pytest.approx(true.entropy, abs=rounding * (1.0 + scale))
    np.testing.assert_allclose(nodes, true.nodes, atol=rounding)
    np.testing.assert_allclose(edges, true.edges, atol=rounding)
    assert 0.0 <= entropy


@given(
    seed=st.integers(0, 10**6),
    k=st.integers(1, 4),
    lengths=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    cost=st.sampled_from([0.0, 1.0]),
    whole=st.booleans(),
)
def test_the_best_labelling_is_the_greatest_of_all(seed, k, lengths, cost, whole):
    nodes, transitions, starts, labels = sequences(k, lengths, seed)
    if whole:  # many ties
        nodes, transitions = np.round(nodes), np.round(transitions)
    given = nodes, transitions, starts, labels
    path = np.full(labels.shape, -1)
    value = chains.best(*given, cost, path)
    assert value == pytest.approx(over_sequences(*given, cost, 1.0).best, abs=1e-13)
    assert path.min() >= 0 and path.max() < k
    own = sum(score(nodes[a:b], transitions, path[a:b]) for a, b in pairwise(starts))
    assert own + cost * np.sum(path != labels) == pytest.approx(value, abs=1e-13)


def test_of_equal_scores_the_lower_label_wins():
    path = np.full(5, -1)
    chains.best(np.zeros((5, 3)), np.zeros((3, 3)), np.array([0, 2, 5]), np.zeros(5, dtype=int), 0.0, path)
    assert path.tolist() == [0] * 5


def reference(nodes, transitions, starts, tau):
    """(tau log Z, marginals, edges) in logarithms, one position after the other."""
    value, marginals, edges = 0.0, np.empty(nodes.shape), np.zeros(transitions.shape)
    x, T = nodes / tau, transitions / tau
    for a, b in pairwise(starts):
        alpha, beta = np.zeros((b - a, x.shape[1])), np.zeros((b - a, x.shape[1]))
        alpha[0] = x[a]
        for t in range(1, b - a):
            alpha[t] = x[a + t] + np.logaddexp.reduce(alpha[t - 1][:, None] + T, axis=0)
        for t in range(b - a - 2, -1, -1):
            beta[t] = np.logaddexp.reduce(T + x[a + t + 1] + beta[t + 1], axis=1)
        log_Z = np.logaddexp.reduce(alpha[-1])
        value += tau * log_Z
        marginals[a:b] = np.exp(alpha + beta - log_Z)
        for t in range(1, b - a):
            edges += np.exp(alpha[t - 1][:, None] + T + x[a + t] + beta[t] - log_Z)
    return value, marginals, edges


@pytest.mark.parametrize("span", [1.0, 0.999 * chains.SAFE, 1.001 * chains.SAFE, 20.0 * chains.SAFE])
@pytest.mark.parametrize("size", [0.1, 30.0, 1e4])
@pytest.mark.parametrize("k", [5, 26, 33])
def test_products_and_logarithms_agree_with_a_reference_for_any_range(span, size, k):
    # transitions at both ends of the range, and nodes that contradict them
    nodes, transitions, starts, _ = sequences(k, [1, 40, 3, 14], 7)
    transitions = np.where(np.random.default_rng(1).random((k, k)) < 0.5, transitions, np.sign(transitions))
    transitions = span * (transitions - transitions.min()) / np.ptp(transitions)
    given = size * nodes, transitions, starts, np.zeros(len(nodes), dtype=int)
    value, entropy, chances, edges = expectations(given, 0.0, 1.0)
    true, marginals, sums = reference(size * nodes, transitions, starts, 1.0)
    assert value == pytest.approx(true, rel=1e-14)
    rounding = 1e-15 * (size + span) * 58
    np.testing.assert_allclose(chances, marginals, atol=rounding)
    np.testing.assert_allclose(edges, sums, atol=rounding)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(edges.sum(), np.diff(starts).sum() - len(starts) + 1, rtol=1e-12)
    assert 0.0 <= entropy <= 58 * math.log(k)


@pytest.mark.parametrize("tau", [1e-5, 1.0])
@pytest.mark.parametrize("size", [1e-300, 1e150, 1e290])
def test_nothing_overflows(tau, size):
    given = sequences(4, [3, 1, 5], 0, size)
    value, entropy, nodes, edges = expectations(given, 1.0, tau)
    path = np.empty(9, dtype=int)
    best = chains.best(*given, 1.0, path)
    assert best - 1e-12 * abs(best) <= value <= best + tau * 9 * math.log(4) + 1e-12 * abs(best)
    for array in nodes, edges:
        assert np.isfinite(array).all() and array.min() >= 0.0
    np.testing.assert_allclose(nodes.sum(axis=1), 1.0, atol=1e-12)
    assert 0.0 <= entropy <= 9 * math.log(4) + 1e-12


def test_a_long_sequence_keeps_its_digits():
    nodes, transitions, starts, labels = sequences(3, [20_000], 3)
    value, entropy, chances, edges = expectations((nodes, transitions, starts, labels), 0.0, 1.0)
    true, marginals, _ = reference(nodes, transitions, starts, 1.0)
    assert value == pytest.approx(true, rel=1e-13)
    np.testing.assert_allclose(chances, marginals, atol=1e-10)  # the reference's digits: its logarithms grow
    inner = -np.sum(chances[1:-1] * np.log(chances[1:-1]))
    assert entropy < inner
    assert entropy == pytest.approx(value - np.sum(chances * nodes) - np.sum(edges * transitions), rel=1e-11)
