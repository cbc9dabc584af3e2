"""Methods of somebody's own components that change what they are given, or do not give the same again."""

from dataclasses import replace

import numpy as np
import pytest
from over_all_samples import OfAll

from rrmbench import solve
from rrmbench.errors import RrmbenchError
from rrmbench.losses.squared_multi import SquaredMulti
from rrmbench.problem.pairs import held_to_pairs
from rrmbench.problem.problem import Problem
from rrmbench.regularizers.norms import L1Norm, scale_into

RNG = np.random.default_rng(4)
X, Y = RNG.normal(size=(30, 6)), RNG.normal(size=30)
RIDGE = {"name": "l2", "strength": 0.1}


class Tidy(L1Norm):
    """A norm on arrays that is right, and keeps nothing."""


def scaled_in_place(psi, v):
    v *= scale_into(psi.dual_norm(v), psi.strength)
    return 1.0


def value_in_place(psi, w):
    return psi.strength * float(np.sum(np.abs(w, out=w)))


KEPT = np.zeros(6)


def in_one_array(psi, w, t):
    KEPT[:] = psi.shrunk(w, psi.strength * t)
    return KEPT


def with_less_each_time(psi, w, t, calls=[]):  # noqa: B006 - a list that is kept is the mistake
    calls.append(t)
    return psi.shrunk(w, psi.strength * t * 0.999 ** len(calls))


UNFIT_NORMS = {
    "scales v in place": ("dual_scaling", scaled_in_place, "dual_scaling changes an array that it is given"),
    "takes |w| in place": ("value", value_in_place, "value changes an array that it is given"),
    "returns one array": ("prox", in_one_array, "prox returns an array that its next call changes"),
    "anneals": ("prox", with_less_each_time, "prox gives other numbers when it is called again"),
    "single": ("value", lambda psi, w: np.float32(L1Norm.value(psi, w)), "value gives numbers of float32"),
}


@pytest.mark.parametrize("case", UNFIT_NORMS)
def test_a_regularizer_with_a_method_that_is_no_function_of_arrays_is_named(case):
    method, wrong, fault = UNFIT_NORMS[case]
    assert held_to_pairs(Problem(X, Y, "squared", Tidy(0.1)), "squared", "mine") == (None, None)
    cls = type("Untidy", (Tidy,), {method: wrong})
    found = held_to_pairs(Problem(X, Y, "squared", cls(0.1)), "squared", "mine").broken
    assert found.startswith(f"the regularizer 'mine' has a method that no gap can be computed with: {fault}")


def residuals_in_place(loss, z, y, mu):
    z -= y
    return z / (1.0 + mu)


def cut_in_place(loss, b, y):
    return OfAll.conjugate(loss, np.clip(b, -1.0, 1.0, out=b), y)


def of_some(loss, z, y):
    some = np.random.default_rng().integers(len(y), size=20)
    return OfAll.value(loss, z[some], y[some])


def smoothed_in_place(loss, z, y, mu):
    z -= y
    return 0.5 * float(np.vdot(z, z)) / (1.0 + mu) / len(y)


UNFIT_LOSSES = {
    "smoothed in place": ("smooth_value", smoothed_in_place, "smooth_value changes an array that it is given"),
    "residuals in place": ("dual_point", residuals_in_place, "dual_point changes an array that it is given"),
    "b cut in place": ("conjugate", cut_in_place, "conjugate changes an array that it is given"),
    "of some samples": ("value", of_some, "value gives other numbers when it is called again"),
    "single": ("value", lambda loss, z, y: np.float32(OfAll.value(loss, z, y)), "value gives numbers of float32"),
}


@pytest.mark.parametrize("case", UNFIT_LOSSES)
def test_a_loss_with_a_method_that_is_no_function_of_arrays_is_named(case):
    method, wrong, fault = UNFIT_LOSSES[case]
    assert held_to_pairs(Problem(X, Y, OfAll(), RIDGE), "mine", "l2") == (None, None)
    cls = type("Untidy", (OfAll,), {method: wrong})
    found = held_to_pairs(Problem(X, Y, cls(), RIDGE), "mine", "l2").broken
    assert found.startswith(f"the loss 'mine' has a method that no gap can be computed with: {fault}")


class Several(SquaredMulti):
    """The squared distance to targets, of several samples at once in place."""

    def value_rows(self, z, y, values):
        z -= y
        values[:] = 0.5 * np.sum(z * z, axis=1)


def test_a_loss_of_several_rows_in_place_is_named():
    """Metrics would be of what is left of the outputs."""
    problem = Problem(X, RNG.normal(size=(30, 3)), "squared_multi", RIDGE)
    found = held_to_pairs(replace(problem, loss=Several()), "mine", "l2").broken
    assert found.endswith("computed with: value_rows changes an array that it is given: work on a copy")


def test_solve_refuses_a_scaling_in_place_which_would_prove_too_much():
    """v would be inside of the dual ball, and b not: the run would end with a gap of 0 at its first point."""
    cls = type("Untidy", (Tidy,), {"dual_scaling": scaled_in_place})
    with pytest.raises(RrmbenchError, match="dual_scaling changes an array"):
        solve(Problem(X, Y, "squared", cls(0.1)), "fista", relative_gap=1e-8)
