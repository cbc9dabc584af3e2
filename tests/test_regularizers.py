import math

import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench.errors import RrmbenchError
from rrmbench.extending import whole_regularizers as statements
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.traits import build_regularizer

numbers = st.floats(-5.0, 5.0)
steps = st.floats(1e-3, 1e3)
ends = [(-0.4, 0.7), (0.2, 0.7), (0.0, math.inf), (-math.inf, 0.0), (-1.0, math.inf), (-math.inf, 0.3)]
boxed = [{"name": "l1", "strength": 0.05, "domain": {"box": list(box)}} for box in ends]
each_regularizer = pytest.mark.parametrize(
    "psi",
    [build_regularizer(m)[0] for m in oracles.coordinate_regularizers() + boxed],
    ids=[m["name"] for m in oracles.coordinate_regularizers()] + [f"l1 in {box}" for box in ends],
)


@each_regularizer
@given(w=numbers, t=steps, other=numbers)
def test_prox_minimizes(psi, w, t, other):
    whole = over_coordinates(psi)
    u = whole.prox(np.array([other]), 0.0)
    statements.prox_minimizes(whole, np.array([w]), t, [u], tolerance=1e-14)


@each_regularizer
@given(w=numbers, t=steps)
def test_moreau(psi, w, t):
    statements.fenchel_equality(over_coordinates(psi), np.array([w]), t, tolerance=1e-11)


@each_regularizer
@given(w=numbers)
def test_prox_with_step_zero_projects_on_the_domain(psi, w):
    statements.projects(over_coordinates(psi), np.array([w]))


@each_regularizer
@given(v=st.integers(-200, 200).map(lambda k: k / 100))
def test_conjugate_is_the_supremum(psi, v):
    def supremum(radius):
        grid = np.linspace(-radius, radius, 401)
        return max(u * v - psi.value(u) for u in [*grid, psi.prox(-radius, 0.0), psi.prox(radius, 0.0)])

    value = psi.conjugate(v)
    if math.isinf(value):
        assert supremum(1e9) > 1e6
    else:
        assert value == pytest.approx(supremum(10.0), abs=1e-12)


@each_regularizer
@given(v=st.lists(st.integers(-300, 300), min_size=1, max_size=5).map(lambda v: np.array(v) / 100))
def test_feasible_scales_into_the_domain(psi, v):
    def conjugate(v):
        return sum(psi.conjugate(x) for x in v)

    t = psi.dual_scaling(v)
    assert 0.0 <= t <= 1.0
    if math.isfinite(conjugate(1e-9 * v)):
        assert math.isfinite(conjugate(t * v))
        assert t == 1.0 or math.isinf(conjugate(t * v * (1.0 + 1e-12)))


@pytest.mark.parametrize(("lower", "upper"), [(1.0, 0.0), (float("inf"), float("inf")), (float("nan"), 1.0)])
def test_empty_box_is_refused(lower, upper):
    with pytest.raises(RrmbenchError, match=r"lower <= upper|lower: found nan"):
        build_regularizer({"name": "box", "lower": lower, "upper": upper})


@each_regularizer
@given(w=st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=4))
def test_radius_bounds_all_of_no_greater_value(psi, w):
    w = np.array([psi.prox(x, 0.0) for x in w])
    value = sum(map(psi.value, w))
    assert np.linalg.norm(w) <= psi.radius(value, w.shape) * (1.0 + 1e-12)
    assert psi.radius(0.0, (1,)) == pytest.approx(
        max(abs(psi.prox(s, 0.0)) for s in (-math.inf, math.inf)) if psi.strength == 0.0 else 0.0
    )


@each_regularizer
@given(w=numbers, other=numbers)
def test_attributes_say_what_is_so(psi, w, other):
    statements.flags_are_true(over_coordinates(psi), np.array([w, other]), np.array([other, w]))
