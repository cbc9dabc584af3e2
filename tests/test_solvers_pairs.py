"""Every loss with every regularizer: certified to 1e-6 by our solvers, at the optimum that cvxpy finds."""

import cvxpy as cp
import numpy as np
import oracles
import pytest

from rrmbench import Problem, registry, solve
from rrmbench.problem.operators import CSR, Flattened
from rrmbench.problem.traits import build_loss

# a warm-up of three passes does not come to the first restart, and these tests look at no clock
pytestmark = [
    pytest.mark.usefixtures("own_bounds"),
    pytest.mark.filterwarnings("ignore:a kernel was compiled:UserWarning"),
]

N, D, K = 24, 6, 3
ACCURACY = 1e-6
UNCERTIFIED = ("none", "nonneg")  # scaling b does not bring it into the domain of D
DOMAINS = [{"name": "l1", "domain": {"box": [-0.2, 0.3]}}, {"name": "l1inf", "domain": {"ball": 0.5}}]


# losses on labellings, which pdprox_restarted cannot take, have tests of their own
EXAMPLES = [oracles.example("loss", name) for name in oracles.names("loss")] + [{"name": "hinge", "budget": 7.0}]
LOSSES = [loss for loss in EXAMPLES if getattr(build_loss(loss)[0], "conjugate_prox", True)]
REGULARIZERS = [oracles.example("regularizer", name) for name in oracles.names("regularizer")]
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


def is_of_matrices(regularizer):
    needs = registry.lookup("regularizer", regularizer["name"]).needs
    return "matrix" in needs or regularizer["name"] == "squared_group"


def problem_of(loss, regularizer):
    """The Problem of two mappings: on a vector where the regularizer allows it, else on a matrix, one column a task."""
    rng = np.random.default_rng(3)
    y, features = labels(loss, rng), rng.normal(size=(N, D))
    several = getattr(build_loss(loss)[0], "outputs", "scalar") == "vector"
    if several or not is_of_matrices(regularizer):
        return Problem(features, y, loss, regularizer)
    wide = np.zeros((N, D, K))
    wide[np.arange(N), :, np.arange(N) % K] = features
    rows = CSR.of(wide.reshape(N, -1)).rows
    return Problem(Flattened(rows.data, rows.indices, rows.indptr, (N, D * K), (D, K)), y, loss, regularizer)


# the default tests: every loss with these regularizers, every regularizer with these losses
WITH_EVERY_LOSS = {"elastic_net"}
WITH_EVERY_REGULARIZER = {"max_of_hinge"}


def pairs():
    for loss in LOSSES:
        for regularizer in REGULARIZERS:
            if loss["name"] == "max_row" and is_of_matrices(regularizer):  # its model weighs the samples
                continue
            core = regularizer["name"] in WITH_EVERY_LOSS or loss["name"] in WITH_EVERY_REGULARIZER
            name = "-".join(str(part) for mapping in (loss, regularizer) for part in mapping.values())
            yield pytest.param(loss, regularizer, id=name, marks=[] if core else pytest.mark.exhaustive)


@pytest.mark.parametrize(("loss", "regularizer"), list(pairs()))
def test_optimum(loss, regularizer):
    problem = problem_of(loss, regularizer)
    certified = regularizer["name"] not in UNCERTIFIED
    stop = {"gap": ACCURACY / 10, "passes": 50_000 if certified else 3_000}
    found = solve(problem, "pdprox_restarted", reduction="none", every=20, growth=1.1, **stop)
    expected = minimum(problem, loss, regularizer)
    assert problem.primal(found.w) == pytest.approx(expected, rel=ACCURACY, abs=ACCURACY)
    assert found.gap <= ACCURACY / 10 or not certified


# cvxpy


def minimum(problem, loss, regularizer):
    """The optimal value by an interior point method."""
    W = cp.Variable(problem.shape)
    units = np.eye(int(np.prod(problem.shape)))
    X = np.stack([problem.X.forward(unit.reshape(problem.shape)).ravel() for unit in units], axis=1)
    z = X @ (W if W.ndim == 1 else cp.vec(W, order="C"))
    if len(problem.output_shape) == 2:
        z = cp.reshape(z, problem.output_shape, order="C")
    psi, constraints = oracles.cvxpy_regularizer(regularizer, W)
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss(loss, z, problem.y) / N + psi), constraints)
    return task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
