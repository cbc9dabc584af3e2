"""Data and strengths at the ends of the floating-point numbers: an answer, or one message, never a bare exception."""

import numpy as np
import pytest
from lab import make_lab  # noqa: F401

import rrmbench
from rrmbench import registry
from rrmbench.errors import RrmbenchError
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_regularizer

L2 = {"name": "l2", "strength": 0.1}


def data(scale, n=5, d=3):
    rng = np.random.default_rng(0)
    return scale * rng.standard_normal((n, d)), np.array([0.0, 1.0, 2.0, 1.0, 0.0])[:n]


@pytest.mark.parametrize("scale", [1e155, 1e200, 1e300])
def test_squared_norms_that_overflow_are_one_message(scale):
    X, y = data(scale)
    with pytest.raises(RrmbenchError, match=r"squared norms of the rows of X overflow.*scale the data"):
        Problem(X, y, "squared", L2)


@pytest.mark.parametrize("scale", [1e-154, 1e-160])
def test_squared_norms_that_underflow_are_one_message(scale):
    """Steps of the inverse of such a square are infinite, and objectives nan after them."""
    X, y = data(scale)
    with pytest.raises(RrmbenchError, match=r"squared norms of the rows of X underflow.*scale the data"):
        Problem(X, y, "squared", L2)
    X[0, 0] = 1.0
    assert rrmbench.solve(Problem(X, y, "squared", L2), "agd", passes=3).status == "done"


@pytest.mark.parametrize("scale", [1e-154, 1e-161, 1e-200])
def test_labels_whose_squares_underflow_are_one_message(scale):
    """P(0) has few digits there, or is 0: conjugate gradients divided by 0, and P was told to be below D."""
    X, y = data(1.0)
    with pytest.raises(RrmbenchError, match=r"y: found labels of at most .*, whose squares underflow"):
        Problem(X, scale * y, "squared", L2)
    y *= np.where(np.arange(y.size) == 1, 1.0, scale)
    Problem(X, y, "squared", L2).on(np.arange(2, 5))


def test_a_solver_that_has_nothing_to_do_has_ended():
    """P and D at the optimum 0 are parted by the rounding of log 2."""
    y = np.where(np.arange(40) < 21, 1.0, -1.0)
    problem = Problem(np.zeros((40, 6)), y, "logistic", {"name": "l1", "strength": 1e-3})
    assert rrmbench.solve(problem, "coordinate_descent", passes=6).reason == "ended"


def test_a_model_whose_square_overflows_has_an_objective_where_nothing_squares_it():
    p = Problem(np.array([[1e-149], [2e-149]]), np.array([1.0, -1.0]), "hinge", "none")
    assert p.primal(np.array([1e155])) == pytest.approx(0.5 + 1e6)


@pytest.mark.parametrize(("strength", "size"), [(1e-300, 1e200), (1e-160, 1e160), (0.1, 1e100)])
def test_an_objective_is_finite_where_it_is_a_number_also_where_the_square_of_the_model_is_none(strength, size):
    """`verify` adds up its terms one by one, and called runs wrong that had diverged by this square alone."""
    X, y = data(1e-3)
    problem = Problem(X, y, "squared", {"name": "l2", "strength": strength})
    w = size * np.array([1.0, -2.0, 0.5])
    half = 0.5 * strength * size * size if size < 1e154 else 0.5 * (strength * size) * size
    assert problem.Psi(w) == pytest.approx(half * 5.25, rel=1e-14)
    centred = Problem(X, y, "squared", "none").regularized(strength, np.zeros(3))
    assert centred.Psi(w) == pytest.approx(half * 5.25, rel=1e-14)
    assert problem.Psi(np.full(3, np.inf)) == np.inf
    assert np.isnan(problem.Psi(np.full(3, np.nan)))


def test_two_squares_of_a_tiny_model_are_one():
    """(k/2) ||w||^2 + (k/2) ||w - c||^2 = k ||w - c/2||^2 + k ||c||^2 / 4, though k^2 overflows."""
    X, y = data(1e100)
    center = np.array([1e-100, -2e-100, 0.0])
    p = Problem(X, y, "squared", "none").regularized(1e200).regularized(1e200, center)
    assert p.offset == pytest.approx(1.25, rel=1e-14)
    assert p.Psi(0.5 * center) == pytest.approx(1.25, rel=1e-14)
    assert rrmbench.solve(Problem(X, y, "squared", "none"), "accelerated_prox_sdca", passes=200).status == "done"


def test_on_the_command_line(lab):
    (lab.folder / "huge.txt").write_text("1 1:1e200 2:1\n-1 1:3 2:-1e180\n")
    ran = lab.run(lab.config(dataset="huge.txt"))
    (result,) = lab.results()
    assert ran.code == 1 and result.status == "failed" and "scale the data" in result.reason
    assert "Traceback" not in ran.out + ran.err


TINY = {"name": "squared_group", "strength": 1e-161, "groups": 2}
FOUND = [
    ("pdprox_accelerated", "accelerate", "squared", {"name": "l2", "strength": 1e-161}, 1e-149),
    ("pdprox_accelerated", "accelerate", "squared", {"name": "l2", "strength": 1e-101}, 1e150),
    ("pdprox_accelerated", "none", "squared", {"name": "l2", "strength": 1e149}, 1e-149),
    ("fobos", "accelerate", "smoothed_max_of_hinge", TINY, 1e150),
    ("agd", "joint_adapt", "soft_max_of_hinge", {"name": "norm_power", "strength": 0.1, "norm": "l2"}, 1e-150),
    ("excessive_gap", "auto", "absolute", {"name": "l2_norm", "strength": 1e149}, 1e-150),
    ("excessive_gap", "none", "absolute", {"name": "group_lasso", "strength": 1e-11, "groups": 2}, 1e-149),
    ("excessive_gap", "auto", "absolute", {"name": "l2_norm", "strength": 1e-161}, 1e150),
    ("pdprox_restarted", "none", "squared", L2, 1e153),
]


@pytest.mark.core(4)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # infinite numbers on the way are no news here
@pytest.mark.parametrize(("solver", "reduction", "loss", "regularizer", "scale"), FOUND)
def test_a_run_ends_as_a_run(solver, reduction, loss, regularizer, scale):
    classes = "classes" in registry.lookup("loss", loss).needs
    for n in (2 if classes else 1), 5:
        X, y = data(scale, n)
        problem = Problem(X, y if n > 1 else y + 2.0, loss, regularizer)  # labels of 0 alone leave nothing to do
        found = rrmbench.solve(problem, solver, reduction=reduction, passes=6)
        assert found.status in ("done", "diverged")


@pytest.mark.parametrize("domain", [{"ball": 10**400}, {"box": [0, 10**400]}])
def test_a_bound_of_400_digits_is_one_message(domain):
    with pytest.raises(RrmbenchError, match=r"regularizer\.domain") as error:
        build_regularizer({"name": "l1", "strength": 0.1, "domain": domain})
    assert len(str(error.value)) < 400
