"""Concave quadratics on the simplex: the conditions of an optimum hold, for singular matrices too."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import seeds

from rrmbench.numerics import simplex_quadratic
from rrmbench.numerics.simplex_quadratic import maximizer


@settings(max_examples=60)
@given(seed=seeds, k=st.integers(1, 12), rank=st.integers(0, 12), scale=st.sampled_from([1e-6, 1.0, 1e6]))
def test_no_entry_has_a_greater_slope_than_those_in_use(seed, k, rank, scale):
    rng = np.random.default_rng(seed)
    V = scale * rng.normal(size=(k, rank))
    V[rng.integers(k)] = V[rng.integers(k)]  # the same plane twice
    H, g = V @ V.T, scale * rng.normal(size=k)
    start = np.zeros(k)
    start[rng.integers(k)] = 1.0
    kept = start.copy()
    a = maximizer(H, g - H @ start, start)
    assert np.array_equal(start, kept)
    assert a.min() >= 0.0
    assert abs(a.sum() - 1.0) <= 1e-12
    slopes = g - H @ a
    assert slopes.max() - slopes @ a <= 1e-9 * max(np.abs(H).max(), np.abs(g).max())


@given(seed=seeds, k=st.integers(2, 12), error=st.sampled_from([1e-9, 1e-4, 1.0]))
def test_errors_of_H_end_nothing_and_small_ones_do_not_lower_the_value(seed, k, error):
    """Difference quotients make it indefinite."""
    rng = np.random.default_rng(seed)
    V, noise = rng.normal(size=(k, 2)), rng.normal(size=(k, k))
    H, g, start = V @ V.T + error * (noise + noise.T), rng.normal(size=k), np.full(k, 1.0 / k)
    a = maximizer(H, g - H @ start, start)
    assert a.min() >= 0.0 and abs(a.sum() - 1.0) <= 1e-12

    def value(x):
        return g @ x - 0.5 * x @ H @ x

    if error < 1.0:
        assert value(a) >= value(start) - 1e-12


def test_faces_that_come_again_because_of_errors_end(monkeypatch):
    """Errors of 1e-9 are above the slopes here, and steps are cut short by the ridge that outweighs these errors."""
    rng, systems, of_one = np.random.default_rng(1), [], simplex_quadratic._on_plane
    V, noise = rng.normal(size=(10, 4)), rng.normal(size=(10, 10))
    H = V @ V.T / np.abs(V @ V.T).max() + 1e-9 / np.sqrt(10.0) * (noise + noise.T)
    slopes, start = 1e-11 * rng.normal(size=10), np.maximum(rng.normal(size=10), 0.0)
    monkeypatch.setattr(simplex_quadratic, "_on_plane", lambda *given: systems.append(1) or of_one(*given))
    a = maximizer(H, slopes, start / start.sum())
    assert a.min() >= 0.0 and abs(a.sum() - 1.0) <= 1e-12
    assert len(systems) <= 100


@given(
    seed=seeds, k=st.integers(2, 200), scale=st.sampled_from([1e-300, 1e-14, 1.0]), level=st.sampled_from([0.0, 1.0])
)
def test_where_H_is_nothing_but_errors_any_point_will_do(seed, k, scale, level):
    """At the sphere of a ball difference quotients have negative diagonals, and all slopes are the same."""
    noise, signs = np.random.default_rng(seed).normal(size=(2, k))
    start = np.full(k, 1.0 / k)
    for H in -scale * np.diag(noise**2), -scale * np.outer(np.sign(signs), np.sign(signs)), np.zeros((k, k)):
        a = maximizer(H, np.full(k, level), start)
        assert a.min() >= 0.0 and abs(a.sum() - 1.0) <= 1e-12


@given(seed=seeds, k=st.integers(2, 6), small=st.sampled_from([1e-3, 1e-9, 1e-12]))
def test_small_differences_of_slopes_are_not_lost_in_the_value(seed, k, small):
    """Where one entry has a slope that is greater by `small`, the value rises by about its square."""
    V = np.random.default_rng(seed).normal(size=(k, k))
    H, start = V @ V.T, np.zeros(k)
    start[0] = 1.0
    slopes = np.full(k, 1.0 - small)
    slopes[:2] = 1.0, 1.0 + small
    h = maximizer(H, slopes, start) - start
    left = slopes - H @ h
    assert h[1] > 0.0
    assert left.max() - left @ (start + h) <= 0.1 * small
