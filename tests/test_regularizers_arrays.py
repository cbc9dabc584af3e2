"""Regularizers that are no sum over coordinates: groups, rows, singular values, powers of norms, balls."""

import math

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_arrays import normal, seeds

from rrmbench import Problem, RrmbenchError
from rrmbench.numerics.thresholds import row_thresholds
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.traits import build_regularizer
from rrmbench.regularizers.norms import L1Norm
from rrmbench.regularizers.powers import NORMS, OfNorm, Power

VECTOR, MATRIX = (7,), (4, 3)


def cases():
    """(mapping, shape) of all regularizers over arrays, by name and with other parameters."""
    examples = [oracles.example("regularizer", name) for name in oracles.names("regularizer")]
    mappings = [m for m in examples if not getattr(build_regularizer(m)[0], "coordinate_separable", True)]
    squared = {"name": "squared_group", "strength": 0.2}
    mappings += [squared | {"groups": size} for size in (1, 3)] + [
        {"name": "group_lasso", "strength": 0.3, "groups": 9}
    ]
    mappings += [
        {"name": "norm_power", "strength": 0.4, "norm": norm, "power": p} for norm in NORMS for p in (1.5, 2, 3)
    ]
    mappings += [
        m | {"strength": 0.3, "svd": svd} for m in mappings for svd in ("exact", "truncated") if "trace" in m["name"]
    ]
    homogeneous = [m for m in mappings if getattr(build_regularizer(m)[0], "homogeneous", False)]
    homogeneous += [{"name": "none"}, {"name": "nonneg"}, {"name": "l1", "strength": 0.1}]
    mappings += [m | {"domain": {"ball": 0.8}} for m in homogeneous]
    return [(m, shape) for m in mappings for shape in (VECTOR, MATRIX) if fits(m, shape)]


def fits(mapping, shape):
    try:
        over_coordinates(build_regularizer(mapping)[0]).check(shape)
    except RrmbenchError as error:
        assert "matrix" in str(error)
        return False
    return True


CASES = cases()
each_case = pytest.mark.parametrize(
    ("mapping", "shape"), CASES, ids=[" ".join(map(str, [*m.values(), *s])) for m, s in CASES]
)
few = settings(max_examples=12)  # of each case
steps = st.floats(-3.0, 2.0).map(lambda e: 10.0**e)


def test_all_kinds_are_here():
    names = {m["name"] for m, _ in CASES}
    wanted = "l2_norm linf_norm group_lasso l21 l1inf exclusive_lasso trace_norm squared_group norm_power "
    wanted += "entropy_simplex elastic_net_ball"
    assert names >= set(wanted.split(" "))
    assert {(m["name"], len(shape)) for m, shape in CASES} >= {
        ("group_lasso", 2),
        ("squared_group", 1),
        ("norm_power", 1),
    }
    assert ("l1inf", VECTOR) not in [(m["name"], shape) for m, shape in CASES]


@pytest.mark.core(12)
@each_case
def test_prox_is_that_of_cvxpy(mapping, shape):
    psi = build_regularizer(mapping)[0]
    for seed, t in enumerate((0.1, 1.0, 5.0)):
        w = np.random.default_rng(seed).standard_normal(shape) * 2.0
        u = cp.Variable(shape)
        expression, constraints = oracles.cvxpy_regularizer(mapping, u)
        task = cp.Problem(cp.Minimize(t * expression + cp.sum_squares(u - w) / 2), constraints)
        task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
        ours = psi.prox(w, t)
        assert ours.shape == shape
        assert t * psi.value(ours) + np.sum((ours - w) ** 2) / 2 == pytest.approx(task.value, abs=1e-7)
        np.testing.assert_allclose(ours, u.value, atol=2e-4)


@pytest.mark.core(12)
@each_case
@few
@given(seed=seeds, t=steps)
def test_fenchel_young_is_an_equality_at_the_prox(mapping, shape, seed, t):
    psi, w = build_regularizer(mapping)[0], normal(seed, shape)
    p = psi.prox(w, t)
    assert p is not w
    v = (w - p) / t
    rounding = 1e-14 * (1.0 + np.linalg.norm(w) / t)  # of v
    scale = psi.dual_scaling(v)
    largest = max(np.linalg.norm(v), 1e-300)
    assert scale >= 1.0 - 1e-13 - 1e3 * rounding / min(largest, 1.0)
    conjugate = psi.conjugate(v) if scale == 1.0 else 0.0
    size = 1.0 + np.linalg.norm(p) * largest
    assert abs(psi.value(p) + conjugate - np.vdot(p, v)) <= 1e-12 * size + 1e2 * rounding * (
        1.0 + np.linalg.norm(p) + largest
    )


@pytest.mark.core(23)
@each_case
@few
@given(one=seeds, two=seeds, c=st.floats(-3.0, 1.0).map(lambda e: 10.0**e))
def test_fenchel_young_inequality(mapping, shape, one, two, c):
    psi = build_regularizer(mapping)[0]
    u, v = psi.prox(c * normal(one, shape), 0.0), normal(two, shape)
    t = psi.dual_scaling(v)
    assert 0.0 <= t <= 1.0
    conjugate = psi.conjugate(v) if t == 1.0 else 0.0
    bound = psi.value(u) + conjugate
    assert np.vdot(u, t * v) <= bound + 1e-13 * (1.0 + abs(bound))


@pytest.mark.core(23)
@each_case
@few
@given(seed=seeds, c=st.floats(1.0, 100.0))
def test_feasible_does_not_underestimate_the_dual_norm(mapping, shape, seed, c):
    psi = build_regularizer(mapping)[0]
    w = normal(seed, shape)
    p = psi.prox(w, 1.0)
    if "domain" in mapping or not getattr(psi, "homogeneous", False):
        assert psi.dual_scaling(w) == 1.0
        assert math.isfinite(psi.conjugate(w))
    elif np.linalg.norm(p) > 1e-6 * np.linalg.norm(w):  # then w - p is of dual norm strength
        factor = psi.dual_scaling(c * (w - p))
        assert factor * c <= 1.0 + 1e-9
        assert factor * c >= 1.0 - 1e-9
        assert math.isinf(psi.conjugate((c + 1e-6) * (w - p)))


@pytest.mark.core(23)
@each_case
@few
@given(seed=seeds)
def test_step_zero_projects_on_the_domain(mapping, shape, seed):
    psi, w = build_regularizer(mapping)[0], normal(seed, shape)
    p = psi.prox(w, 0.0)
    assert math.isfinite(psi.value(p))
    if math.isfinite(psi.value(w)):
        np.testing.assert_allclose(p, w, rtol=1e-14)
    elif "domain" in mapping:
        closest = np.maximum(w, 0.0) if mapping["name"] == "nonneg" else w
        np.testing.assert_allclose(p, closest * min(1.0, 0.8 / max(np.linalg.norm(closest), 0.8)), rtol=1e-13)
    for other in range(seed + 1, seed + 9):
        u = psi.prox(normal(other, shape), 0.0)
        assert np.vdot(w - p, u - p) <= 1e-12 * (1.0 + np.linalg.norm(w))


@pytest.mark.core(23)
@each_case
@few
@given(seed=seeds)
def test_radius_is_the_greatest_norm(mapping, shape, seed):
    psi, w = build_regularizer(mapping)[0], normal(seed, shape)
    w = psi.prox(w, 0.0)
    value = psi.value(w)
    assert np.linalg.norm(w) <= psi.radius(value, shape) * (1.0 + 1e-12)


@each_case
def test_radius_is_attained(mapping, shape):
    psi = build_regularizer(mapping)[0]
    one, row, last = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    one.flat[0], row[0], last.flat[-1] = 1.0, 1.0, 1.0
    candidates = [c * w for w in (one, row, last, np.ones(shape)) for c in 10.0 ** np.linspace(-3, 1, 9)]
    found = [
        np.linalg.norm(w) / psi.radius(psi.value(w), shape)
        for w in candidates
        if 0.0 < psi.value(w) < math.inf and math.isfinite(psi.radius(psi.value(w), shape))
    ]
    if found:
        assert max(found) == pytest.approx(1.0, abs=1e-12)
    else:  # the domain alone bounds w
        assert mapping["name"] in ("none", "nonneg", "elastic_net_ball", "entropy_simplex")
        far = psi.prox(1000.0 ** np.arange(one.size).reshape(shape), 0.0)
        assert np.linalg.norm(far) == pytest.approx(psi.radius(psi.value(far), shape), rel=1e-12)


@pytest.mark.core(23)
@each_case
@few
@given(seed=seeds, c=st.floats(0.0, 100.0))
def test_isotropic_and_homogeneous_are_true(mapping, shape, seed, c):
    psi, w = build_regularizer(mapping)[0], normal(seed, shape)
    if getattr(psi, "homogeneous", False):
        assert psi.value(c * w) == pytest.approx(c * psi.value(w), rel=1e-12)
    if psi.value(w) < math.inf and getattr(psi, "isotropic", False):
        other = np.random.default_rng(seed + 1).standard_normal(shape)
        other *= np.linalg.norm(w) / np.linalg.norm(other)
        assert psi.value(other) == pytest.approx(psi.value(w), rel=1e-12)


@each_case
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_divergence_is_not_hidden(mapping, shape, bad):
    psi, w = build_regularizer(mapping)[0], np.ones(shape)
    w.flat[1] = bad
    with np.errstate(all="ignore"):
        assert not np.isfinite(psi.prox(w, 0.5)).all() or not np.isfinite(psi.value(w))


def test_isotropic_is_known_where_it_matters():
    isotropic = {(m["name"], m.get("norm")) for m, _ in CASES if getattr(build_regularizer(m)[0], "isotropic", False)}
    assert isotropic == {("l2_norm", None), ("norm_power", "l2"), ("none", None)}


# regularizers that must coincide


def same(one, two, here, there, seed):
    """Two mappings on one w, in shapes that `here` and `there` make of it."""
    a, b = build_regularizer(one)[0], build_regularizer(two)[0]
    w = normal(seed, MATRIX)
    x, y = here(w), there(w)
    assert a.value(x) == pytest.approx(b.value(y), rel=1e-13)
    assert a.conjugate(x) == pytest.approx(b.conjugate(y), rel=1e-13)
    assert a.dual_scaling(x) == pytest.approx(b.dual_scaling(y), rel=1e-13)
    for t in (0.0, 1e-3, 0.3, 20.0):
        p, q = a.prox(x, t), b.prox(y, t)
        assert p.shape == x.shape
        assert q.shape == y.shape
        np.testing.assert_allclose(np.sort(p, axis=None), np.sort(q, axis=None), rtol=1e-10, atol=1e-13)


def flat(w):
    return w.reshape(-1)


def plain(w):
    return w


def transposed(w):
    return np.ascontiguousarray(w.T)


def one_row(w):
    return w.reshape(1, -1)


def power(norm):
    return {"name": "norm_power", "strength": 0.3, "norm": norm}


def name(name, **parameters):
    return {"name": name, "strength": 0.3, **parameters}


EQUAL = {
    "lemma 16 and sorting": (name("squared_group"), power("l21"), plain, transposed),
    "squared groups and rows": (name("squared_group", groups=3), power("l21"), flat, plain),
    "squared groups of one entry": (name("squared_group", groups=1), power("l1"), flat, flat),
    "exclusive lasso of one row": (name("exclusive_lasso"), power("l1"), one_row, flat),
    "one row": (name("l1inf"), name("linf_norm"), one_row, flat),
    "one group": (name("l21"), name("l2_norm"), one_row, flat),
    "trace of one row": (name("trace_norm"), name("l2_norm"), one_row, flat),
    "trace of one column": (name("trace_norm"), name("l2_norm"), lambda w: w.reshape(-1, 1), flat),
    "transposed": (name("trace_norm"), name("trace_norm", svd="exact"), transposed, plain),
}


@pytest.mark.core(3)
@pytest.mark.parametrize("case", EQUAL)
@given(seed=seeds)
def test_the_same_regularizer_by_another_name(case, seed):
    same(*EQUAL[case], seed)


@given(seed=seeds)
def test_groups_of_one_entry_are_coordinates(seed):
    group, l1 = build_regularizer(name("group_lasso", groups=1))[0], build_regularizer(name("l1"))[0]
    w = normal(seed, VECTOR)
    assert group.value(w) == pytest.approx(sum(map(l1.value, w)), rel=1e-13)
    np.testing.assert_allclose(group.prox(w, 0.7), [l1.prox(x, 0.7) for x in w], atol=1e-14)


@given(seed=seeds, size=st.floats(0.0, 20.0), slack=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))
def test_row_thresholds_solve_their_equation(seed, size, slack):
    w = normal(seed, (5, 11))
    for row, theta in zip(np.abs(w), row_thresholds(w, size, slack), strict=True):
        excess = np.sum(np.maximum(row - theta, 0.0)) - size - slack * theta
        if theta == 0.0:
            assert excess <= 0.0
        else:
            assert abs(excess) <= 1e-13 * (size + slack * theta + row.sum())


# files of group sizes


def test_groups_of_a_file(tmp_path):
    file = tmp_path / "groups.txt"
    file.write_text("1 3\n\n2\n")
    psi, _ = build_regularizer({"name": "group_lasso", "strength": 0.5, "groups": str(file)})
    w = np.array([3.0, 0.0, 3.0, 4.0, -2.0, 0.0])
    assert psi.value(w) == pytest.approx(0.5 * (3.0 + math.sqrt(3.0) * 5.0 + math.sqrt(2.0) * 2.0))
    assert psi.dual_scaling(w) == pytest.approx(0.5 / 3.0)
    psi.check((6,))
    psi.check((2, 3))
    with pytest.raises(RrmbenchError, match=r"groups\.txt sum to 6, found a model with 7 entries"):
        psi.check((7,))
    X, y = oracles.data(8, 7)
    with pytest.raises(RrmbenchError, match="sum to 6"):
        Problem(X, y, "squared", {"name": "squared_group", "strength": 0.5, "groups": str(file)})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("4\n2 x\n", r"groups\.txt:2: found 'x', allowed are group sizes"),
        ("4 -1\n", r"groups\.txt:1: found '-1'"),
        ("3.0\n", r"groups\.txt:1: found '3\.0'"),
        ("0\n", r"groups\.txt:1: found '0'"),
        ("\n", r"groups\.txt: found no group sizes"),
        (None, r"groups\.txt: cannot be read"),
        (b"\xff\xfe", r"groups\.txt: cannot be read"),
    ],
)
def test_bad_group_files(content, message, tmp_path):
    file = tmp_path / "groups.txt"
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    for regularizer in "group_lasso", "squared_group":
        with pytest.raises(RrmbenchError, match=message):
            build_regularizer({"name": regularizer, "strength": 0.1, "groups": str(file)})


@pytest.mark.parametrize("groups", [0, -1, 2.5, True])
def test_bad_group_sizes(groups):
    with pytest.raises(RrmbenchError, match=r"regularizer\.groups"):
        build_regularizer({"name": "group_lasso", "strength": 0.1, "groups": groups})


@pytest.mark.parametrize("name", ["l1", "none", "box"])
def test_a_sum_over_coordinates_is_one_on_whole_models(name):
    """`over_coordinates` has the sums and the entries of the scalar methods, on vectors and on matrices."""
    psi, _ = build_regularizer(oracles.example("regularizer", name))
    whole = over_coordinates(psi)
    assert whole.coordinate_separable and whole.psi is psi
    for w in np.linspace(-0.4, 0.7, 12), np.linspace(-0.3, 0.6, 12).reshape(4, 3), np.linspace(0.0, 0.5, 24)[::2]:
        assert whole.value(w) == pytest.approx(sum(map(psi.value, w.ravel().tolist())), rel=1e-14)
        v = 0.05 * w
        assert whole.conjugate(v) == pytest.approx(sum(map(psi.conjugate, v.ravel().tolist())), rel=1e-14)
        entries = [psi.prox(u, 0.3) for u in w.ravel().tolist()]
        np.testing.assert_array_equal(whole.prox(w, 0.3), np.reshape(entries, w.shape))


def test_what_a_regularizer_does_not_say_is_decided_once():
    class Silent:
        coordinate_separable = False

        def prox(self, w, t):
            return w

    whole, w = over_coordinates(Silent()), np.arange(6.0).reshape(3, 2).T
    assert not (whole.coordinate_separable or whole.isotropic or whole.homogeneous or whole.soft_threshold)
    whole.check((3,))
    u = whole.prox(w, 1.0)
    assert not np.shares_memory(u, w) and u.flags.c_contiguous
    l1 = over_coordinates(build_regularizer({"name": "l1", "strength": 0.2})[0])
    assert l1.coordinate_separable and l1.soft_threshold and l1.homogeneous and not l1.isotropic


@pytest.mark.parametrize("power", [1.01, 1.1, 2.0])
def test_the_prox_of_a_power_finds_a_tiny_norm_in_few_evaluations(power):
    """The norm of the result is 1e-300 as easily as 1, where the slope of z^power hardly changes with z."""
    counted = []

    class Counted(L1Norm):
        def shrunk(self, w, tau):
            counted.append(tau)
            return super().shrunk(w, tau)

    psi = OfNorm(0.5, Counted(1.0), Power(power))
    for scale in (1e-3, 1.0, 1e3):
        w = scale * np.linspace(-1.0, 2.0, 9)
        for t in (1e-3, 1.0, 1e3):
            counted.clear()
            p = psi.prox(w, t)
            assert len(counted) <= 120
            if (norm := np.abs(p).sum()) > 1e-6 * scale:  # sign(w) (|w| - eta)+ at the eta of its own norm
                eta = t * 0.5 * power * norm ** (power - 1.0)
                np.testing.assert_allclose(p, np.sign(w) * np.maximum(np.abs(w) - eta, 0.0), atol=1e-9 * scale)
