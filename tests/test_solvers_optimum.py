"""Final values agree with optima computed by others, to 1e-8 relative."""

import numpy as np
import pytest
from scipy.optimize import minimize

from rrmbench import Problem, solve

pytestmark = pytest.mark.usefixtures("own_bounds")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 8))
SIGNS = np.where(X @ RNG.normal(size=8) + RNG.normal(size=40) > 0.0, 1.0, -1.0)
VALUES = X @ RNG.normal(size=8) + 0.1 * RNG.normal(size=40)
LINEAR = [
    "apcg",
    "prox_sdca",
    "prox_sdca_shrinking",
    {"name": "prox_sdca", "sampling": "uniform"},
    {"name": "prox_sdca", "option": "III"},
    {"name": "accelerated_prox_sdca", "inner": 5},
    {"name": "svrg", "step_scale": 0.25},
    "saga",
    {"name": "sag", "step_scale": 0.25},
    "gd",
    "agd",
    "fista",
    {"name": "fista", "restart": "gradient"},
    "coordinate_descent",
    "working_sets",
]


def ridge():
    gram = X.T @ X / 40 + 0.1 * np.eye(8)
    return np.linalg.solve(gram, X.T @ VALUES / 40), Problem(X, VALUES, "squared", {"name": "l2", "strength": 0.1})


def logistic():
    def objective(w):
        margins = SIGNS * (X @ w)
        s = 1.0 / (1.0 + np.exp(margins))
        return np.mean(np.logaddexp(0.0, -margins)) + 0.05 * w @ w, -(X.T @ (SIGNS * s)) / 40 + 0.1 * w

    found = minimize(objective, np.zeros(8), jac=True, method="BFGS", options={"gtol": 1e-13, "maxiter": 2000})
    return found.x, Problem(X, SIGNS, "logistic", {"name": "l2", "strength": 0.1})


def elastic_net():
    from sklearn.linear_model import ElasticNet

    l1, l2 = 0.1, 0.1  # scikit-learn's alpha is their sum
    model = ElasticNet(alpha=l1 + l2, l1_ratio=l1 / (l1 + l2), fit_intercept=False, tol=1e-15, max_iter=100_000)
    w = model.fit(X, VALUES).coef_
    return w, Problem(X, VALUES, "squared", {"name": "elastic_net", "l1": l1, "l2": l2})


def lasso():
    from sklearn.linear_model import Lasso

    w = Lasso(alpha=0.1, fit_intercept=False, tol=1e-15, max_iter=100_000).fit(X, VALUES).coef_
    return w, Problem(X, VALUES, "squared", {"name": "l1", "strength": 0.1})


def svm():
    """The dual by cvxpy, and the primal point that belongs to it."""
    import cvxpy as cp

    signed = SIGNS[:, None] * X
    alpha = cp.Variable(40)
    objective = cp.sum(alpha) / 40 - cp.sum_squares(signed.T @ alpha / 40) / (2 * 0.1)
    tight = {"tol_gap_abs": 1e-13, "tol_gap_rel": 1e-13, "tol_feas": 1e-13}
    cp.Problem(cp.Maximize(objective), [alpha >= 0, alpha <= 1]).solve(solver=cp.CLARABEL, **tight)
    return signed.T @ alpha.value / (40 * 0.1), Problem(X, SIGNS, "hinge", {"name": "l2", "strength": 0.1})


@pytest.mark.core(15)
@pytest.mark.parametrize("known", [ridge, logistic, elastic_net])
@pytest.mark.parametrize("solver", LINEAR, ids=str)
def test_solvers_of_linear_convergence(known, solver):
    w, p = known()
    found = solve(p, solver, passes=6000, relative_gap=1e-9, growth=1.2)
    assert p.primal(found.w) == pytest.approx(p.primal(w), rel=1e-8)


@pytest.mark.parametrize(
    "solver", ["coordinate_descent", "working_sets", "fista", "gd", {"name": "svrg", "step_scale": 0.25}], ids=str
)
def test_the_lasso_by_solvers_that_need_no_strong_convexity(solver):
    w, p = lasso()
    found = solve(p, solver, passes=6000, relative_gap=1e-9, growth=1.2)
    assert p.primal(found.w) == pytest.approx(p.primal(w), rel=1e-8)


@pytest.mark.core(1)
@pytest.mark.parametrize("solver", ["apcg", "prox_sdca", "agd"])
def test_the_lasso_by_adapt_reg(solver):
    w, p = lasso()
    found = solve(p, solver, reduction="adapt_reg", passes=40_000, relative_gap=1e-9, growth=1.2)
    assert p.primal(found.w) == pytest.approx(p.primal(w), rel=1e-8)


@pytest.mark.parametrize("solver", ["prox_sdca", "prox_sdca_shrinking", "apcg_shrinking"])
def test_the_support_vector_machine(solver):
    w, p = svm()
    found = solve(p, solver, passes=20_000, relative_gap=1e-9, growth=1.2)
    assert p.primal(found.w) == pytest.approx(p.primal(w), rel=1e-8)


@pytest.mark.exhaustive
def test_the_support_vector_machine_by_adapt_smooth():
    w, p = svm()
    found = solve(p, "apcg", reduction="adapt_smooth", passes=20_000, relative_gap=1e-9, growth=1.2)
    assert p.primal(found.w) == pytest.approx(p.primal(w), rel=1e-8)
