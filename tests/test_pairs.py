"""Every loss with every regularizer: certified to 1e-6 by our solvers, at the optimum that cvxpy finds."""

import cvxpy as cp
import numpy as np
import oracles
import pytest

from rrmbench import Problem, registry, solve
from rrmbench.problem.operators import CSR, Flattened
from rrmbench.problem.traits import build_loss

N, D, K = 24, 6, 3
ACCURACY = 1e-6
UNCERTIFIED = ("none", "nonneg")  # scaling b does not bring it into the domain of D
DOMAINS = [{"name": "l1", "domain": {"box": [-0.2, 0.3]}}, {"name": "l1inf", "domain": {"ball": 0.5}}]


LOSSES = [oracles.example("loss", name) for name in registry.names("loss")] + [{"name": "hinge", "budget": 7.0}]
REGULARIZERS = [oracles.example("regularizer", name) for name in registry.names("regularizer")]
REGULARIZERS += [oracles.example("regularizer", domain["name"]) | domain for domain in DOMAINS]


def labels(loss, rng):
    """Labels fit for a loss."""
    needs = registry.lookup("loss", loss["name"]).needs
    if "binary" in needs:
        return np.where(rng.random(N) < 0.5, -1.0, 1.0)
    if "classes" in needs:
        return np.arange(N) % float(K)
    if "targets" in needs:
        return rng.normal(size=(N, K))
    return rng.integers(1, 6, N).astype(float)


def problem_of(loss, regularizer):
    """The Problem of two mappings: on a vector where the regularizer allows it, else on a matrix, one column a task."""
    rng = np.random.default_rng(3)
    y, features = labels(loss, rng), rng.normal(size=(N, D))
    several = getattr(build_loss(loss)[0], "outputs", "scalar") == "vector"
    needs = registry.lookup("regularizer", regularizer["name"]).needs
    if several or ("matrix" not in needs and regularizer["name"] != "squared_group"):
        return Problem(features, y, loss, regularizer)
    wide = np.zeros((N, D, K))
    wide[np.arange(N), :, np.arange(N) % K] = features
    rows = CSR.of(wide.reshape(N, -1)).rows
    return Problem(Flattened(rows.data, rows.indices, rows.indptr, (N, D * K), (D, K)), y, loss, regularizer)


def ids(value):
    return "-".join(str(part) for part in value.values())


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=ids)
@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_optimum(loss, regularizer):
    problem = problem_of(loss, regularizer)
    certified = regularizer["name"] not in UNCERTIFIED
    stop = {"gap": ACCURACY / 10, "passes": 50_000 if certified else 3_000}
    found = solve(problem, "pdprox_restarted", reduction="none", every=20, growth=1.1, **stop)
    expected = minimum(problem, loss, regularizer)
    if expected is not None:
        assert problem.primal(found.w) == pytest.approx(expected, rel=ACCURACY, abs=ACCURACY)
    if certified:
        assert found.gap <= ACCURACY / 10
    else:
        assert expected is not None


# cvxpy


def minimum(problem, loss, regularizer):
    """The optimal value by an interior point method, or None where the tests have no formula for a new component."""
    W = cp.Variable(problem.shape)
    units = np.eye(int(np.prod(problem.shape)))
    X = np.stack([problem.X.forward(unit.reshape(problem.shape)).ravel() for unit in units], axis=1)
    z = X @ (W if W.ndim == 1 else cp.vec(W, order="C"))
    if len(problem.output_shape) == 2:
        z = cp.reshape(z, problem.output_shape, order="C")
    try:
        psi, constraints = oracles.cvxpy_regularizer(regularizer, W)
        risk = risk_of(loss, z, problem.y)
    except KeyError:
        return None
    task = cp.Problem(cp.Minimize(risk / N + psi), constraints)
    return task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)


def risk_of(loss, z, y):
    """The sum of the losses."""
    if "budget" in loss:
        return cp.sum_largest(cp.pos(1 - cp.multiply(y, z)), int(loss["budget"]))
    return VECTOR[loss["name"]](z, y) if loss["name"] in VECTOR else oracles.cvxpy_loss(loss["name"], z, y)


def margins(z, y):
    """The 1 + z_j - z_y of the classes j != y, (N, K - 1)."""
    own = np.eye(K)[y.astype(int)]
    others = np.array([[j for j in range(K) if j != c] for c in y.astype(int)])
    gaps = 1 + z - cp.reshape(cp.sum(cp.multiply(own, z), axis=1), (N, 1), order="C") @ np.ones((1, K))
    return cp.vstack([cp.hstack([gaps[i, j] for j in others[i]]) for i in range(N)])


def smoothed_max(a):
    """max over b >= 0, sum b <= 1 of a.b - ||b||^2 / 2: the infimal convolution of the maximum with a square."""
    shift = cp.Variable(a.shape)
    return cp.sum(cp.pos(cp.max(a - shift, axis=1))) + cp.sum_squares(shift) / 2


VECTOR = {
    "l2_multi": lambda z, y: cp.sum(cp.norm(z - y, 2, axis=1)),
    "max_of_hinge": lambda z, y: cp.sum(cp.pos(cp.max(margins(z, y), axis=1))),
    "smoothed_max_of_hinge": lambda z, y: smoothed_max(margins(z, y)),
    "soft_max_of_hinge": lambda z, y: cp.sum(cp.log_sum_exp(cp.hstack([margins(z, y), np.zeros((N, 2))]), axis=1)),
}
