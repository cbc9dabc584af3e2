"""L-BFGS: what its memory knows of a quadratic function, and its line search."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench.numerics.lbfgs import DECREASE, PAIRS, SLOPE, TRIALS, Memory, searched


@given(seed=st.integers(0, 10**6), d=st.integers(1, 8))
@settings(max_examples=30)
def test_the_memory_of_a_quadratic_finds_its_minimum_by_exact_line_searches(seed, d):
    rng = np.random.default_rng(seed)
    A = np.linalg.qr(rng.standard_normal((d, d)))[0]
    A = (A * rng.uniform(0.1, 10.0, d)) @ A.T
    x, memory = rng.standard_normal(d), Memory()
    first = np.linalg.norm(A @ x)
    for _ in range(d):
        direction = memory.direction(A @ x)
        t = -float(direction @ A @ x) / float(direction @ A @ direction)
        memory.take(t * direction, t * (A @ direction))
        x = x + t * direction
    assert np.linalg.norm(A @ x) <= 1e-6 * first
    assert len(memory) <= d <= PAIRS


def test_the_memory_keeps_no_pair_without_curvature():
    memory = Memory()
    memory.take(np.ones(3), np.zeros(3))
    memory.take(np.ones(3), -np.ones(3))
    memory.take(np.ones(3), np.full(3, np.nan))
    assert len(memory) == 0
    np.testing.assert_array_equal(memory.direction(np.arange(3.0)), -np.arange(3.0))


CURVES = {
    "a square": (lambda t: 0.5 * (t - 1.0) ** 2, lambda t: t - 1.0),
    "an exponential": (lambda t: math.exp(min(t, 700.0)) - 3.0 * t, lambda t: math.exp(min(t, 700.0)) - 3.0),
    "a smoothed kink": (lambda t: math.hypot(t - 2.0, 1e-3), lambda t: (t - 2.0) / math.hypot(t - 2.0, 1e-3)),
}


@pytest.mark.parametrize("curve", CURVES)
@given(scale=st.floats(-6.0, 6.0), first=st.floats(-4.0, 4.0))
def test_the_step_of_a_line_search_meets_wolfes_conditions(curve, scale, first):
    """Whatever the unit of length, and the first step."""
    f, slope = CURVES[curve]
    unit, down = 10.0**scale, slope(0.0)
    t = searched(lambda t: (f(t / unit), slope(t / unit) / unit, t), f(0.0), down / unit, 10.0**first * unit) / unit
    assert f(t) <= f(0.0) + DECREASE * t * down and slope(t) >= SLOPE * down


def test_a_line_search_on_a_plateau_goes_by_the_derivative():
    """Where differences of F are rounding, and there F may even rise by that."""
    point = searched(lambda t: (1.0 + 1e-15, -1e-9 * (1.0 - t), t), 1.0, -1e-9, 0.9)
    assert point == 0.9


def test_a_line_search_ends():
    tried = []

    def rises(t):
        tried.append(t)
        return 1.0 + t, 1.0, t

    assert searched(rises, 0.0, -1.0, 1.0) is None and len(tried) == TRIALS
    assert searched(rises, 0.0, 0.0, 1.0) is None and searched(rises, 0.0, math.nan, 1.0) is None
    assert len(tried) == TRIALS
