import cvxpy as cp
import labellings
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.losses.f1 import F1, greatest_entropy
from rrmbench.numerics.couplings import greatest_expectation
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem

L2 = {"name": "l2", "strength": 0.05}
STRENGTHS = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 3.0]
loss = F1()


@st.composite
def samples(draw, most=9):
    """Outputs (n,), from equal ones to ones far apart, and labels with a positive one."""
    n = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    z = rng.standard_normal(n) * 10.0 ** draw(st.integers(-2, 2))
    if draw(st.booleans()):
        z = np.round(z)
    y = np.where(rng.random(n) < draw(st.sampled_from([0.0, 0.3, 0.6, 1.0])), 1.0, -1.0)
    y[rng.integers(n)] = 1.0
    return z, y


def lifted(z):
    return np.append(z, [0.0, 0.0])


def parts(b, y):
    """(q, delta, H) of a dual variable."""
    return -0.5 * y * b[:-2], b[-2] / y.size, -b[-1] / y.size


def test_no_entry_of_b_is_longer_than_the_lipschitz_constant_which_is_reached():
    y = np.array([1.0, -1.0, 1.0, -1.0])
    b = loss.dual_point(lifted(-100.0 * y), y, 0.0)[:-2]
    assert np.abs(b).max() == loss.lipschitz


@given(samples())
def test_the_value_is_the_greatest_over_all_labellings(sample):
    z, y = sample
    flips, delta, _ = labellings.labellings(y)
    value = labellings.enumerated(z, y, 0.0)[0]
    assert loss.value(lifted(z), y) == pytest.approx(value, rel=1e-14, abs=1e-15)
    # mu = 0: a subgradient, of the labellings that attain the value
    b = loss.dual_point(lifted(z), y, 0.0)
    assert loss.conjugate(b, y) + value == pytest.approx(b[:-2] @ z / y.size, abs=1e-14 * (1.0 + np.abs(z).max()))
    q, expected, entropy = parts(b, y)
    assert (entropy, loss.d2(b, y)) == (0.0, y.size * np.log(2.0))
    attained = np.isclose(delta - flips @ (2.0 * y * z) / y.size, value, rtol=1e-12, atol=1e-13)
    weights = cp.Variable(np.count_nonzero(attained), nonneg=True)
    same = [weights @ flips[attained] == q, weights @ delta[attained] == expected, cp.sum(weights) == 1]
    task = cp.Problem(cp.Minimize(0), same)
    task.solve(solver=cp.CLARABEL)
    assert task.status == "optimal"


@given(samples(), st.sampled_from(STRENGTHS))
def test_smoothing_is_the_sum_over_all_labellings(sample, mu):
    z, y = sample
    n = y.size
    value, q, delta, entropy = labellings.enumerated(z, y, mu)
    b = loss.dual_point(lifted(z), y, mu)
    found = parts(b, y)
    np.testing.assert_allclose(found[0], q, atol=1e-11)
    assert found[1] == pytest.approx(delta, abs=1e-11)
    assert found[2] == pytest.approx(entropy, abs=1e-9)
    assert loss.smooth_value(lifted(z), y, mu) == pytest.approx(value, rel=1e-13, abs=1e-13)
    # Fenchel and Young: equality at the maximizer
    dual = loss.conjugate(b, y) + mu * loss.d2(b, y)
    assert value + dual == pytest.approx(b[:-2] @ z / n, abs=1e-13 * (1.0 + np.abs(z).max() + mu * n))
    smooth, top = loss.smooth_value(lifted(z), y, mu), loss.value(lifted(z), y)
    assert top - mu * loss.diameter(None, y) - 1e-13 <= smooth <= top + 1e-13


@pytest.mark.parametrize("mu", STRENGTHS)
def test_the_dual_point_is_the_derivative(mu):
    z, y = np.array([0.3, -0.2, 0.1, 0.9, -0.4]), np.array([1.0, -1.0, -1.0, 1.0, -1.0])
    scale, b = min(1.0, mu), loss.dual_point(lifted(z * min(1.0, mu)), y, mu)
    h = 1e-5 * scale
    for i, unit in enumerate(np.eye(5)):
        ends = [loss.smooth_value(lifted(z * scale + step * unit), y, mu) for step in (-h, h)]
        assert (ends[1] - ends[0]) / (2.0 * h) == pytest.approx(b[i] / 5.0, abs=1e-6)


@pytest.mark.parametrize("mu", [3e-3, 0.1, 1.0])
def test_curvature_is_at_most_S_and_attains_it(mu):
    def curvature(X, y, around):
        p, h = Problem(X, y, "f1", L2), 1e-3 * mu
        smooth, greatest = p.smoothed(mu), 0.0
        for w in np.linspace(around - mu, around + mu, 101):
            values = [smooth.mean_loss(p.X.forward(np.array([w + step]))) for step in (-h, 0.0, h)]
            greatest = max(greatest, mu * (values[0] - 2.0 * values[1] + values[2]) / h**2)
        return greatest, p.losses.S

    found, S = curvature(np.array([[1.0], [2.0], [0.5], [1.5]]), np.array([1.0, -1.0, 1.0, -1.0]), 0.0)
    assert S == pytest.approx(1.25**2)
    assert 0.0 < found <= S * (1.0 + 1e-4)
    # all labels positive: the truth and all labels wrong are equally good at w = 1/2, and better than what is between
    found, S = curvature(np.ones((4, 1)), np.ones(4), 0.5)
    assert S == 1.0
    assert found <= 1.0 + 1e-4
    assert found > 0.99 or mu > 0.01


@pytest.mark.exhaustive
@given(samples(), samples(), st.floats(0.0, 1.0), st.sampled_from(STRENGTHS))
@settings(max_examples=30)
def test_what_b_says_stays_true_of_mixtures(one, other, t, mu):
    """Phi* over the enumerated labellings, by linear programming, is at most what b says; d2 likewise."""
    z, y = one
    there = np.resize(other[0], z.size)
    points = [loss.dual_point(lifted(x), y, m) for x, m in ((z, mu), (there, 0.1 * mu), (there, 0.0))]
    for b in (points[0], t * points[0], t * points[0] + (1.0 - t) * points[1], 0.5 * points[1] + 0.5 * points[2]):
        q, delta, entropy = parts(b, y)
        assert loss.necessary(b, y) is None
        assert by_linear_programming(q, y) >= delta - 1e-7
        assert entropy <= greatest_entropy(q) + 1e-9 * y.size


def by_linear_programming(q, y):
    """-Phi* at the marginals q: the greatest E Delta."""
    flips, delta, _ = labellings.labellings(y)
    weights = cp.Variable(delta.size, nonneg=True)
    task = cp.Problem(cp.Maximize(weights @ delta), [weights @ flips == np.clip(q, 0.0, 1.0), cp.sum(weights) == 1])
    task.solve(solver=cp.CLARABEL)
    return task.value


@given(samples(8), st.sampled_from([0.3, 1.0, 3.0]), st.sampled_from([0, 2, 3]), st.integers(0, 10**6))
@settings(max_examples=50)
def test_the_greatest_expectation_is_that_of_linear_programming(sample, power, denominator, seed):
    _, y = sample
    q = np.random.default_rng(seed).random(y.size) ** power
    if denominator:
        q = np.round(denominator * q) / denominator
    found = greatest_expectation(q[y > 0.0], q[y < 0.0])
    assert found == pytest.approx(by_linear_programming(q, y), abs=1e-7)


@given(samples(), st.sampled_from([*STRENGTHS, 0.0]))
@settings(max_examples=30)
def test_balanced_flips_sum_to_zero_and_are_some_labellings(sample, mu):
    z, y = sample
    b = loss.balanced(loss.dual_point(lifted(z), y, mu), y)
    q, delta, entropy = parts(b, y)
    assert np.sum(b[:-2]) == pytest.approx(0.0, abs=1e-13)
    assert loss.necessary(b, y) is None
    assert by_linear_programming(q, y) >= delta - 1e-7
    assert 0.0 <= entropy <= greatest_entropy(q) + 1e-9


def test_what_is_not_true_of_any_labellings():
    y = np.array([1.0, 1.0, -1.0, -1.0])
    b = loss.dual_point(np.array([0.1, -0.3, 0.2, -0.1, 0.0, 0.0]), y, 0.05)
    for entry, change, words in (
        (0, 3.0, r"sample 0 is wrong with the probability -\S+, allowed is 0 to 1"),
        (3, 3.0, r"sample 3 .* allowed is 0 to 1"),
        (4, 4.0, r"the expected 1 - F1 is \S+, allowed is \S+ at most"),
        (5, -40.0, r"the entropy is \S+, allowed is 0 to \S+"),
        (5, 40.0, r"the entropy is -\S+, allowed is 0 to \S+"),
        (1, np.nan, "sample 1 is wrong with the probability nan"),
        (4, np.nan, "1 - F1 is nan"),
        (5, np.nan, "entropy is nan"),
    ):
        changed = b.copy()
        changed[entry] += change
        with pytest.raises(AssertionError, match=words):
            assert loss.necessary(changed, y) is None, loss.necessary(changed, y)
        assert loss.conjugate(changed, y) == np.inf
    # what only the exact bound finds: the best labellings have the greatest loss that is possible
    b = loss.dual_point(np.array([0.1, -0.3, 0.2, -0.1, 0.0, 0.0]), y, 0.0)
    b[0] *= 0.6
    assert loss.necessary(b, y).startswith("the expected 1 - F1 is")


@pytest.mark.exhaustive
@given(samples())
@settings(max_examples=30)
def test_the_bound_of_delta_is_one(sample):
    """Every labelling with certainty, and mixtures of all of them, keep to what `necessary` asks for."""
    _, y = sample
    flips, delta, _ = labellings.labellings(y)
    rng = np.random.default_rng(0)
    mixtures = [*np.eye(delta.size)[:: max(delta.size // 50, 1)], *rng.dirichlet(np.full(delta.size, 0.1), 20)]
    for weights in mixtures:
        q = weights @ flips
        b = np.concatenate([-2.0 * y * q, [y.size * (weights @ delta), 0.0]])
        assert loss.necessary(b, y) is None


@pytest.mark.core(1)
@pytest.mark.parametrize("regularizer", [L2, {"name": "l1", "strength": 0.05}])
@pytest.mark.parametrize("seed", range(3))
def test_certificates_are_below_the_optimum_and_reach_it(regularizer, seed):
    X, y = oracles.data(8, 3, seed=seed, loss="f1")
    y[:2] = 1.0, -1.0
    p, w, value = Problem(X, y, "f1", regularizer), cp.Variable(3), cp.Variable()
    flips, delta, _ = labellings.labellings(y)
    psi, _ = oracles.cvxpy_regularizer(regularizer, w)
    task = cp.Problem(cp.Minimize(value + psi), [value >= delta - (flips * (2.0 * y / 8)) @ (X @ w)])
    task.solve(solver=cp.CLARABEL)
    assert p.primal(w.value) == pytest.approx(task.value, abs=1e-7)
    by_counts = oracles.cvxpy_loss("f1", X @ w.value, y).value / 8
    assert p.mean_loss(p.outputs(w.value)) == pytest.approx(by_counts, rel=1e-12)
    rng = np.random.default_rng(seed)
    for mu in [1e-4, 1e-3, 0.01, 0.1, 1.0]:
        for at in [w.value, *rng.standard_normal((5, 3))]:
            assert p.dual_value(p.loss_dual(p.outputs(at), mu)) <= task.value + 1e-7
    smooth = p.smoothed(1e-3)
    it = next(it for it in registry.build_solver("fista")(smooth, None, Rng(0)) if it.passes >= 4000)
    b = smooth.loss_dual(p.outputs(it.w))
    assert smooth.gap(it.w, b) < 3e-3
    assert p.primal(it.w) == pytest.approx(task.value, abs=1e-3)
    assert task.value - 1e-3 - 1e-3 * 8 * np.log(2.0) < p.dual_value(b) <= task.value + 1e-7


@pytest.mark.exhaustive
@pytest.mark.parametrize("reduction", ["solve_dual", {"name": "adapt_smooth", "mu": 0.01}])
@pytest.mark.parametrize("solver", ["agm_ef", "agm_ef_1"])
def test_accelerated_gradients_in_the_primal_and_in_the_dual(solver, reduction):
    X, y = oracles.data(30, 4, loss="f1")
    p, w = Problem(X, y, "f1", L2), cp.Variable(4)
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss("f1", X @ w, y) / 30 + 0.025 * cp.sum_squares(w)))
    task.solve(solver=cp.CLARABEL)
    for it in registry.build_solver(solver, reduction)(p, None, Rng(0)):
        if it.b is not None:
            assert p.dual_value(it.b) <= task.value + 1e-7
            assert loss.necessary(it.b, y) is None
        if it.passes >= 500:
            break
    assert p.primal(it.w) == pytest.approx(task.value, abs=1e-4)
    assert p.dual_value(it.b) == pytest.approx(task.value, abs=1e-3)


@pytest.mark.exhaustive
def test_a_free_bias():
    X, y = oracles.data(12, 3, seed=1, loss="f1")
    X[:, -1] = 1.0
    p = Problem(X, y, "f1", L2, free_bias=True)
    it = next(it for it in registry.build_solver("fista")(p.smoothed(1e-3), None, Rng(0)) if it.passes >= 4000)
    b = p.loss_dual(p.outputs(it.w), 1e-3)
    assert 0.0 <= p.gap(it.w, b) < 0.02


def test_no_positive_label_and_too_many_samples():
    X = np.ones((3, 2))
    with pytest.raises(RrmbenchError, match="f1: found no positive label among 3, needed is one at least"):
        Problem(X, np.full(3, -1.0), "f1", L2)
    y = np.ones(1_000_000)
    with pytest.raises(RrmbenchError, match=r"f1: found 1000000 samples, .* takes 6.3e\+10 bytes .* allowed are 4e"):
        loss.operator(None, y)


@pytest.mark.parametrize("mu", [1e-320, 1e-307, 1e-200])
def test_no_overflow_of_hardly_any_smoothing(mu):
    z, y = lifted(np.array([3.0, -1.0, -0.2, 1e3])), np.array([1.0, -1.0, 1.0, -1.0])
    assert loss.smooth_value(z, y, mu) == pytest.approx(loss.value(z, y), rel=1e-15)
    np.testing.assert_allclose(loss.dual_point(z, y, mu)[:-1], loss.dual_point(z, y, 0.0)[:-1], atol=1e-12)


def test_greatest_entropy():
    assert greatest_entropy(np.array([0.0, 1.0, 0.5])) == pytest.approx(np.log(2.0))
