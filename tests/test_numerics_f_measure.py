import labellings
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench.numerics import f_measure


def descending(rng, n, scale):
    return -np.sort(-scale * rng.standard_normal(n))


@given(st.integers(1, 40), st.integers(0, 40), st.sampled_from([1e-3, 0.03, 0.3, 3.0]), st.integers(0, 10**6))
def test_best_flips_against_all_counts(positives, negatives, scale, seed):
    rng = np.random.default_rng(seed)
    u, v = descending(rng, positives, scale), descending(rng, negatives, scale)
    if seed % 2:
        u, v = np.round(u / scale) * scale, np.round(v / scale) * scale
    b, c = np.arange(positives + 1.0)[:, None], np.arange(negatives + 1.0)
    sums = f_measure.delta(b, c, positives) + np.append(0.0, u.cumsum())[:, None] + np.append(0.0, v.cumsum())
    best_b, best_c, value = f_measure.best_flips(u, v)
    assert value == pytest.approx(sums.max(), rel=1e-14)
    assert sums[best_b, best_c] == pytest.approx(sums.max(), rel=1e-14)


# more rows than a block has, at its ends, and one kind alone
@pytest.mark.core(24)
@pytest.mark.parametrize("sizes", [(64, 65), (63, 128), (1, 300), (300, 1), (200, 0), (129, 190)])
@pytest.mark.parametrize("tau", [1e-5, 1e-3, 0.05, 3.0])
@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0])
def test_soft_flips_in_logarithms(sizes, tau, scale):
    rng = np.random.default_rng(sum(sizes))
    u, v = (descending(rng, n, scale / sum(sizes)) for n in sizes)
    b, c, _ = f_measure.best_flips(u, v)
    s, p, q, gain = f_measure.soft_flips(u, v, tau, b, c)
    assert s == f_measure.soft_sum(u, v, tau, b, c)
    best = f_measure.delta(b, c, u.size)
    log_sum, true_p, true_q, delta = labellings.in_logarithms(u / tau, v / tau, tau)
    size = 1.0 / tau + np.abs(u).sum() / tau + np.abs(v).sum() / tau  # of the logarithms, which the oracle rounds
    assert s + (best + u[:b].sum() + v[:c].sum()) / tau == pytest.approx(log_sum, abs=1e-13 * size + 1e-12)
    np.testing.assert_allclose(p, true_p, atol=1e-14 * size + 1e-11)
    np.testing.assert_allclose(q, true_q, atol=1e-14 * size + 1e-11)
    assert best + gain == pytest.approx(delta, abs=1e-14 * size + 1e-11)


@pytest.mark.parametrize("tau", [1e-7, 1e-4, 1e-2, 3.0])
def test_long_sums_are_consistent(tau):
    """The expected numbers of flips are the derivatives of the sum in a shift of all scores."""
    rng = np.random.default_rng(0)
    n = 3000
    u, v = descending(rng, 400, 1.0 / n), descending(rng, n - 400, 1.0 / n)
    u[3:9], v[500:700] = u[3], v[500]
    b, c, _ = f_measure.best_flips(u, v)
    s, p, q, _ = f_measure.soft_flips(u, v, tau, b, c)
    assert 0.0 <= s <= n * np.log(2.0)
    assert np.all((p >= 0.0) & (p <= 1.0) & np.isfinite(p))
    assert np.all((q >= 0.0) & (q <= 1.0) & np.isfinite(q))
    assert np.all(np.diff(p) <= 1e-9)
    assert np.all(np.diff(q) <= 1e-9)
    for at, kind, expected in ((0, p, p.sum() - b), (1, q, q.sum() - c)):
        h = 1e-4 * tau
        ends = []
        for step in (-h, h):
            shifted = [u, v]
            shifted[at] = shifted[at] + step
            ends.append(f_measure.soft_sum(*shifted, tau, b, c))
        assert kind.size == shifted[at].size
        assert (ends[1] - ends[0]) / (2e-4) == pytest.approx(expected, abs=1e-4 * (1.0 + abs(expected)))


@pytest.mark.parametrize("n", [1, 5, 64, 200, 1500])
def test_equal_weights_are_binomial(n):
    from scipy.special import gammaln

    excess, _ = f_measure.symmetric_polynomials(np.full(n, 123.25))
    v = np.arange(n + 1.0)
    np.testing.assert_allclose(excess, gammaln(n + 1) - gammaln(v + 1) - gammaln(n - v + 1), rtol=1e-11, atol=1e-10)


@settings(max_examples=20)
@given(st.integers(1, 150), st.integers(-3, 6), st.integers(0, 10**6))
def test_checkpoints_have_the_size_that_is_said(n, exponent, seed):
    r = descending(np.random.default_rng(seed), n, 10.0**exponent)
    excess, checkpoints = f_measure.symmetric_polynomials(r)
    assert np.all(np.isfinite(excess))
    assert np.all(excess >= 0.0)
    assert 8 * checkpoints.size <= f_measure.checkpoint_bytes(n, 0)
