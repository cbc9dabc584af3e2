from dataclasses import replace

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from rrmbench import registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.losses.squared import Squared
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import constants
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem
from rrmbench.regularizers.norms import Norm

LOSSES = oracles.scalar_losses()
REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}
seeds = st.integers(0, 10**6)
each_pair = pytest.mark.parametrize(("loss", "regularizer"), [(l, r) for l in LOSSES for r in REGULARIZERS])


def points(p, seed):
    """A random model in the domain of psi, and a random dual variable in the domain of the conjugates."""
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.uniform(-2, 2)
    w = p.prox(scale * rng.standard_normal(p.shape), 0.0)
    return w, p.loss_dual(scale * rng.standard_normal(p.n))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l2": -1.0}, "l2: found -1.0, needed is a finite number that is not negative"),
        ({"l2": np.nan}, "l2: found nan"),
        ({"mu": "a"}, "mu: found 'a'"),
        ({"kappa": np.inf}, "kappa: found inf"),
        ({"offset": "a"}, "offset: found 'a'"),
        ({"kappa": 1.0, "center": np.zeros(3)}, r"center: found the shape \(3,\), needed is that of w, \(4,\)"),
        ({"kappa": 1.0, "center": [0.0, np.nan, 0.0, 0.0]}, "center: found entries that are not finite"),
        ({"center": "origin"}, "center: found 'origin', needed is an array of numbers"),
        ({"free_bias": "no"}, "free_bias: found 'no', allowed is True or False"),
        ({"minimized_bias": 1}, "minimized_bias: found 1, allowed"),
        ({"weights": np.ones(3)}, r"weights: found the shape \(3,\), needed is \(5,\)"),
        ({"weights": ["a"] * 5}, r"weights: found .*, needed is an array of numbers"),
        ({"weights": np.zeros(5)}, "a least one of 0 and the mean 0, needed are positive ones"),
        ({"weights": np.full(5, 2.0)}, "the mean 2, needed"),
        ({"weights": np.array([np.nan, 1, 1, 1, 1])}, "needed are positive ones"),
    ],
)
def test_numbers_that_are_none_of_a_problem(given, message):
    with pytest.raises(RrmbenchError, match=message):
        Problem(np.ones((5, 4)), np.ones(5), "absolute", {"name": "l2", "strength": 0.1}, **given)


def test_a_centre_is_a_copy_and_may_be_a_list():
    center = np.ones(4)
    p = Problem(np.ones((5, 4)), np.ones(5), "absolute", "none", kappa=1.0, center=center)
    before = p.primal(np.zeros(4))
    center[:] = 100.0
    assert p.primal(np.zeros(4)) == before
    assert Problem(np.ones((5, 4)), np.ones(5), "absolute", "none", kappa=1.0, center=[1] * 4).primal([0] * 4) == before


def test_a_read_only_view_of_a_centre_is_copied_and_checked():
    center = np.ones(4)
    view = center.view()
    view.flags.writeable = False
    p = Problem(np.ones((5, 4)), np.ones(5), "absolute", "none", kappa=1.0, center=view)
    center[0] = np.nan
    assert p.primal(np.zeros(4)) == 3.0
    with pytest.raises(RrmbenchError, match="center: found entries that are not finite numbers"):
        Problem(np.ones((5, 4)), np.ones(5), "absolute", "none", kappa=1.0, center=view)


def test_weights_are_a_copy_and_may_be_a_list():
    weights = np.array([0.5, 1.5, 1.0, 1.0, 1.0])
    given = [np.ones((5, 4)), np.ones(5), "absolute", {"name": "l2", "strength": 0.1}]
    p = Problem(*given, mu=0.5, weights=weights)
    before = p.primal(np.full(4, 0.2)), p.L
    weights[:] = 1e-9
    assert (p.primal(np.full(4, 0.2)), p.L) == before
    assert Problem(*given, mu=0.5, weights=[0.5, 1.5, 1, 1, 1]).primal([0.2] * 4) == before[0]


def test_transformations_take_lists():
    p = Problem(np.ones((5, 4)), np.ones(5), "absolute", {"name": "l2", "strength": 0.1})
    again = p.regularized(0.1, [1.0] * 4).regularized(0.2, [0.5] * 4).smoothed(0.1, [0.5, 1.5, 1.0, 1.0, 1.0])
    array = p.regularized(0.1, np.ones(4)).regularized(0.2, np.full(4, 0.5))
    array = array.smoothed(0.1, np.array([0.5, 1.5, 1.0, 1.0, 1.0]))
    assert again.primal(np.full(4, 0.3)) == array.primal(np.full(4, 0.3))


class Delegating:
    """An operator that passes on what it has not."""

    def __init__(self, X):
        self._X = X

    def __getattr__(self, name):
        return getattr(self._X, name)


def test_an_operator_may_pass_on_what_it_has_not():
    p = Problem(np.eye(5, 4), [0, 1, 0, 1, 1], "logistic", {"name": "l2", "strength": 0.1})
    q = replace(p, X=Delegating(p.X))
    assert solve(q, "gd", passes=5).gap == solve(p, "gd", passes=5).gap
    assert p.apart().classes is p.classes


def test_masked_and_complex_points_are_refused():
    p = Problem(np.ones((5, 4)), np.ones(5), "absolute", {"name": "l2", "strength": 0.1})
    for ask, name, size in ((p.primal, "w", 4), (p.dual_value, "b", 5)):
        with pytest.raises(RrmbenchError, match=f"{name}: found masked entries"):
            ask(np.ma.masked_array(np.zeros(size), np.arange(size) == 1))
        with pytest.raises(RrmbenchError, match=f"{name}: found .*, needed is an array of numbers"):
            ask(np.zeros(size) + 1j)


def test_a_problem_apart_does_not_show_what_is_done_to_it():
    p = Problem(np.eye(5, 4), np.ones(5), "absolute", {"name": "l2", "strength": 0.1})
    w, other = np.full(4, 0.5), p.apart()
    before = p.primal(w), p.dual_value(np.ones(5))
    assert (other.primal(w), other.dual_value(np.ones(5))) == before
    other.losses.y = np.zeros(5)
    other.X.rows = None
    other.X.forward = lambda w: np.zeros(5)
    assert other.primal(w) != before[0]
    assert (p.primal(w), p.dual_value(np.ones(5))) == before


class Weighted(Norm):
    """sum_j weights_j |w_j|, whose weights a method may change as it goes on."""

    def __init__(self, weights):
        self.strength, self.weights = 1.0, np.array(weights)

    def norm(self, w):
        return float(self.weights @ np.abs(w))

    def dual_norm(self, v):
        return float(np.max(np.abs(v) / self.weights))

    def shrunk(self, w, tau):
        return np.sign(w) * np.maximum(np.abs(w) - tau * self.weights, 0.0)


def test_a_problem_apart_has_components_of_its_own():
    """A method that follows the path of a strength changes the problem that it works on, and not the one asked for."""
    p = Problem(np.eye(5, 4), np.ones(5), "squared", Weighted([1.0, 2.0, 3.0, 4.0]))
    w, other = np.full(4, 0.5), p.apart()
    before = p.primal(w)
    assert other.primal(w) == before
    other.regularizer.weights *= 0.5
    other.regularizer.strength = 0.1
    assert other.primal(w) != before == p.primal(w)


def test_outputs_and_dual_variables_of_other_shapes_are_refused():
    p = Problem(np.ones((5, 4)), np.ones(5), "absolute", {"name": "l2", "strength": 0.1})
    for ask in (p.dual_value, p.certificate, lambda b: p.gap(np.zeros(4), b)):
        with pytest.raises(RrmbenchError, match=r"b: found the shape \(5, 1\), needed is \(5,\)"):
            ask(np.zeros((5, 1)))
    with pytest.raises(RrmbenchError, match=r"z: found the shape \(4,\), needed is \(5,\)"):
        p.primal(np.zeros(4), np.zeros(4))
    assert p.dual_value([0.5] * 5) == p.dual_value(np.full(5, 0.5))


@pytest.mark.parametrize("wrong", [np.zeros(3), np.zeros((4, 1)), 0.0, ["a"] * 4, None])
def test_points_of_another_shape_are_refused(wrong):
    p = Problem(np.ones((5, 4)), np.ones(5), "squared", {"name": "l2", "strength": 0.1})
    for evaluate in (lambda: p.primal(wrong), lambda: p.gap(wrong, np.zeros(5)), lambda: p.gap(np.zeros(4), wrong)):
        with pytest.raises(RrmbenchError, match=r"^[wb]: found .*needed is"):
            evaluate()


def test_a_class_is_no_component_and_zeros_are_no_column_of_a_bias():
    X = np.ones((5, 4))
    with pytest.raises(RrmbenchError, match=r"loss: found <class .*Squared"):
        Problem(X, np.ones(5), Squared, "none")
    X[:, -1] = 0.0
    with pytest.raises(RrmbenchError, match="X: found a last column of zeros, with a free bias"):
        Problem(X, np.ones(5), "squared", {"name": "l2", "strength": 0.1}, free_bias=True)


def test_columns_of_more_entries_than_32_bits_count():
    """The numbers of rows are then of 64 bits, of which kernels read 32."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 4)), rng.normal(size=9)
    rows = CSR.of(X).rows
    wide = CSR(rows.data, rows.indices, rows.indptr.astype(np.int64), X.shape)
    found = [solve(Problem(data, y, "squared", "none"), "coordinate_descent", passes=9).w for data in (X, wide)]
    np.testing.assert_array_equal(*found)


def test_a_constant_added_to_P_changes_no_radius():
    p = Problem(np.eye(4), np.arange(4.0), "squared", {"name": "l1", "strength": 0.5}).regularized(0.1, np.ones(4))
    w = np.array([1.0, 0.0, -2.0, 0.0])
    assert replace(p, offset=7.0).radius(w, w) == pytest.approx(p.radius(w, w), rel=1e-14)
    assert p.radius(w, w) == pytest.approx(p.primal(w) / 0.5)  # no loss is less than 0


@pytest.mark.parametrize(("regularizer", "start"), [("nonneg", 0.0), ({"name": "box", "lower": 1, "upper": 2}, 0.5)])
def test_a_start_that_is_not_zero_costs_a_product(regularizer, start):
    assert constants(Problem(np.eye(4), np.ones(4), "squared", regularizer, kappa=1.0)).start == start


def test_the_square_of_a_free_bias_is_no_part_of_s():
    X = np.column_stack([np.ones(5) * np.arange(5), np.ones(5)])
    free = Problem(X, np.arange(5.0), "squared", {"name": "l2", "strength": 0.1}, free_bias=True, kappa=0.2)
    assert (constants(free).l2, constants(free).s) == (0.0, 0.2)
    assert constants(replace(free, free_bias=False)).l2 == pytest.approx(0.1)


@pytest.mark.core(33)
@each_pair
def test_weak_duality(loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    center = np.linspace(-1.0, 1.0, p.shape[0])
    finite = 0
    for q in (
        p,
        p.smoothed(0.3),
        p.regularized(0.2, center),
        p.smoothed(0.1).regularized(0.5).regularized(0.2, center),
    ):
        for seed in range(20):
            w, b = points(q, seed)
            assert q.gap(w, b) >= -1e-12 * (1.0 + abs(q.primal(w)))
            # the bound holds at the best known model as well
            finite += np.isfinite(q.dual_value(b))
    assert finite > 0


@pytest.mark.core(33)
@each_pair
def test_dual_never_exceeds_the_optimum(loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    optimum, w = oracles.cvxpy_optimum(loss, regularizer)
    assert p.primal(p.prox(w, 0.0)) == pytest.approx(optimum, abs=1e-6)
    for seed in range(50):
        assert p.dual_value(points(p, seed)[1]) <= optimum + 1e-8


@pytest.mark.core(11)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_strong_duality(loss, regularizer):
    # the derivatives at the optimum close the gap
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    if p.loss.conjugate_convexity == 0.0:
        p = p.smoothed(0.2)
        w = run("fista", p, passes=3000).w
        accuracy = 1e-3
    else:
        _, w = oracles.cvxpy_optimum(loss, regularizer)
        accuracy = 3e-5
    b = p.loss_dual(p.X.forward(w))
    assert -1e-12 <= p.gap(w, b) < accuracy


def run(solver, p, passes, start=None, seed=0):
    for it in registry.build_solver(solver)(p, start, Rng(seed)):
        if it.passes >= passes:
            return it
    raise AssertionError("the solver ended")


@each_pair
def test_primal_is_the_formula(loss, regularizer):
    p = oracles.problem(loss, REGULARIZERS[regularizer])
    X = p.X.forward(np.eye(p.shape[0]))
    if p.mu > 0.0:  # a smoothed loss by its own formula
        p = Problem(X, p.y, p.loss, p.regularizer, p.l2)
    rng = np.random.default_rng(0)
    c1, c2 = rng.standard_normal((2, *p.shape))
    w, _ = points(p, 1)
    assert p.primal(w) == pytest.approx(oracles.primal(p, w, X), rel=1e-13)
    twice = p.regularized(0.3, c1).regularized(0.5, c2).regularized(0.0)
    added = 0.15 * np.sum((w - c1) ** 2) + 0.25 * np.sum((w - c2) ** 2)
    assert twice.primal(w) == pytest.approx(p.primal(w) + added, rel=1e-12)
    assert twice.kappa == pytest.approx(0.8)


def test_the_objective_at_0_takes_no_product_with_X():
    p = oracles.problem("squared", REGULARIZERS["l1"]).counted()
    assert p.primal(np.zeros(p.shape)) == p.primal(np.zeros(p.shape), np.zeros(p.n))
    assert p.X.passes == 0.0
    p.primal(np.ones(p.shape))
    assert p.X.passes == 0.5


@pytest.mark.parametrize("mu", ["a", None, -1.0, np.nan])
def test_strengths_of_more_smoothing_are_numbers(mu):
    with pytest.raises(RrmbenchError, match=r"^mu: found .*, needed is a finite number that is not negative"):
        Problem(np.eye(2), np.ones(2), "squared").smoothed(mu)


@pytest.mark.parametrize("loss", LOSSES)
@given(seed=seeds)
def test_smoothing(loss, seed):
    p = oracles.problem(loss, {"name": "l2", "strength": 0.1})
    w, _ = points(p, seed)
    once, twice = p.smoothed(0.4), p.smoothed(0.1).smoothed(0.3)
    assert once.primal(w) == pytest.approx(twice.primal(w), rel=1e-12)
    assert once.primal(w) <= p.primal(w) + 1e-12
    if np.isfinite(p.lipschitz):
        assert p.primal(w) - once.primal(w) <= 0.4 * p.lipschitz**2 / 2 + 1e-12
    # phi^mu(z) = min_u phi(u) + (z - u)^2/(2 mu), the Moreau envelope
    z, y = p.X.forward(w)[0], p.y[0]
    plain = Problem(np.ones((1, 1)), [y], p.loss)

    def envelope(u):
        return plain.loss.value(u, y) + (z - u) ** 2 / 0.8

    found = minimize_scalar(envelope, bounds=(-1e3 + z, 1e3 + z), method="bounded", options={"xatol": 1e-9})
    value = plain.smoothed(0.4).mean_loss(np.array([z]))
    assert value <= min(found.fun, envelope(z)) + 1e-12 * (1.0 + abs(value))
    assert value == pytest.approx(min(found.fun, envelope(z)), abs=1e-4 * (1.0 + abs(value)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net", "l1", "box"])
@pytest.mark.parametrize("centred", [False, True])
def test_certificate_is_the_formula(loss, regularizer, centred):
    p = oracles.problem(loss, REGULARIZERS[regularizer], d=5)
    center = np.linspace(-1.0, 1.0, 5) if centred else np.zeros(5)
    if centred:
        p = p.regularized(0.4, center)
    X = p.X.forward(np.eye(5))
    for seed in range(5):
        _, b = points(p, seed)
        value, b = p.certificate(b)
        v = -X.T @ b / p.n
        conjugates = np.mean([p.loss.conjugate(x, y) + p.mu / 2 * x * x for x, y in zip(b, p.y, strict=True)])
        if p.strong_convexity > 0.0:
            Psi_conjugate = sum(map(conjugate_by_search, [p] * 5, v, center))
        elif regularizer == "box":
            Psi_conjugate = np.maximum(v * REGULARIZERS["box"]["lower"], v * REGULARIZERS["box"]["upper"]).sum()
        else:
            assert np.abs(v).max() <= REGULARIZERS["l1"]["strength"]
            Psi_conjugate = 0.0
        assert value == pytest.approx(-conjugates - Psi_conjugate, rel=1e-9, abs=1e-9)


def conjugate_by_search(p, v, center):
    """max_u u v - psi(u) - (l2/2) u^2 - (kappa/2) (u - center)^2 over one coordinate."""

    def lost(u):
        return p.regularizer.value(u) + p.l2 / 2 * u**2 + p.kappa / 2 * (u - center) ** 2 - u * v

    u = (v + p.kappa * center) / p.strong_convexity
    domain = p.regularizer.prox(-1e9, 0.0), p.regularizer.prox(1e9, 0.0)
    found = minimize_scalar(lost, bounds=np.clip([u - 3, u + 3], *domain), options={"xatol": 1e-12})
    return -min(found.fun, lost(np.clip(u, *domain)))


@pytest.mark.core(5)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("solver", ["prox_sdca", "apcg"])
def test_consistent_gap_equals_gap(loss, solver):
    p = oracles.problem(loss, REGULARIZERS["elastic_net"])
    if solver == "apcg":
        p = p.smoothed(0.5)
    p = p.regularized(0.1, np.linspace(-0.3, 0.3, p.shape[0]))
    for passes in 0, 1, 3:
        it = run(solver, p, passes)
        assert p.consistent_gap(p.X.forward(it.w), it.b) == pytest.approx(p.gap(it.w, it.b), abs=1e-12)
        np.testing.assert_allclose(it.w, p.primal_point(p.v(it.b)), atol=1e-13)


@pytest.mark.parametrize("loss", LOSSES)
def test_l1_certificate_scales_b(loss):
    p = oracles.problem(loss, {"name": "l1", "strength": 1e-3})
    _, b = points(p, 3)
    value, scaled = p.certificate(b)
    assert np.abs(p.v(b)).max() > 1e-3 >= np.abs(p.v(scaled)).max()
    ratio = np.abs(p.v(scaled)).max() / 1e-3
    assert ratio == pytest.approx(1.0, abs=1e-12)
    assert value == pytest.approx(-p.mean_conjugate(scaled))
    np.testing.assert_allclose(scaled * np.vdot(b, b), b * np.vdot(b, scaled))


@pytest.mark.parametrize("loss", LOSSES)
def test_smoothness_and_norm_bounds(loss):
    p = oracles.problem(loss, REGULARIZERS["l2"]).smoothed(0.2)
    X = p.X.forward(np.eye(p.shape[0]))
    longest, spectral = np.linalg.norm(X, axis=1).max(), np.linalg.norm(X, 2)
    assert p.R == pytest.approx(longest)
    assert p.L_max == pytest.approx(longest**2 * p.smoothness)
    assert p.L > spectral**2 * p.smoothness / p.n
    assert Problem(np.zeros((3, 2)), np.ones(3), "squared").L > 0.0


@pytest.mark.parametrize("loss", ["logistic", "squared", "smoothed_max_of_hinge"])
def test_the_prox_gradient_map_is_the_gradient_where_psi_is_0(loss):
    """Squares and all, which is what the epochs of AdaptSmooth around SVRG look at in the paper."""
    p = oracles.problem(loss, {"name": "l2", "strength": 0.3})
    p = p.regularized(0.5, np.full(p.shape, 0.2))
    rng = np.random.default_rng(0)
    w, way = rng.standard_normal(p.shape), rng.standard_normal(p.shape)
    slope = (p.primal(w + 1e-6 * way) - p.primal(w - 1e-6 * way)) / 2e-6
    assert np.vdot(p.prox_gradient(w, p.X.forward(w)), way) == pytest.approx(slope, rel=1e-6)


def test_center_is_copied():
    p, center = oracles.problem("squared", REGULARIZERS["l2"]), np.ones(12)
    q = p.regularized(1.0, center)
    center[:] = 0.0
    assert q.center.sum() == 12.0


def test_wrong_number_of_labels():
    with pytest.raises(RrmbenchError, match="2 entries"):
        Problem(np.ones((3, 2)), np.ones(2), "squared")


def test_constants_of_a_problem_whose_dual_is_not_0_at_0():
    """D(0) is the least Psi there, as a bound keeps w from 0; P(w0) - D(0) is a gap."""
    psi = oracles.example("regularizer", "elastic_net") | {"domain": {"box": [0.1, 0.6]}}
    p = oracles.problem("quantile", psi)
    known, b = constants(p), np.zeros(p.output_shape)
    assert p.dual_value(b) > 1e-3
    assert known.initial_gap == pytest.approx(p.gap(p.start(), b), rel=1e-14)
    assert (known.start, known.G) == (0.5, 0.5)


def test_one_term_and_polyhedral_are_said_of_a_psi_without_any_square():
    X, y = oracles.data(10, 3)
    l1, l2 = {"name": "l1", "strength": 0.1}, {"name": "l2", "strength": 0.5}
    net = {"name": "elastic_net", "l1": 0.1, "l2": 0.5}
    found = {}
    for name, p in (
        ("l1", Problem(X, y, "squared", l1)),
        ("l2", Problem(X, y, "squared", l2)),
        ("net", Problem(X, y, "squared", net)),
    ):
        found[name] = {"one_term", "polyhedral"} & p.traits
        found[f"{name}, regularized"] = {"one_term", "polyhedral"} & p.regularized(0.5).traits
    both = {"one_term", "polyhedral"}
    assert found["l1"] == both and "one_term" in found["l2"] and found["net"] == set()
    assert found["l1, regularized"] == found["net, regularized"] == set()
    assert "one_term" in found["l2, regularized"]
