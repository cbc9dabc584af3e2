"""skglm: coordinate descent on working sets with Anderson acceleration [Bertrand et al. 2022]."""

import numpy as np

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    as_array,
    elastic_net,
    fastest,
    gradient_unit,
    group_lasso,
    imported,
    known,
    restarts,
    tolerances,
)

PAIRS = [f"{loss} and {psi}" for loss in ("Squared", "Logistic") for psi in ("L1", "BlockNorm and norm and one_term")]


@solver(
    needs={
        " or ".join([*PAIRS, "SquaredMulti and row_norms and norm and one_term"]),
        "norm or strongly_convex",
        "rows",
    },
    counts_passes=False,
    deterministic=True,
    library="skglm",
)
def skglm(problem, start, rng):
    """skglm's working sets for elastic net and group lasso, also logistic, and multi-task lasso; falling tolerances"""
    library, is_squared, layout = imported("skglm"), "Squared" in problem.traits, fastest
    if "SquaredMulti" in problem.traits:
        model, penalty = library.MultiTaskLasso, {"alpha": problem.regularizer.strength}
    elif "BlockNorm" not in problem.traits:
        model, penalty = library.ElasticNet if is_squared else library.SparseLogisticRegression, elastic_net(problem)
    elif is_squared:
        model, penalty = library.GroupLasso, group_lasso(problem)
    else:
        model, penalty, layout = _logistic_groups, group_lasso(problem), as_array

    def build(tol):
        return model(**penalty, fit_intercept=False, tol=tol)

    # its tolerance is of the distance of -X^T phi'(z)/n to the subdifferential, and not relative to anything
    return restarts(problem, known("skglm"), build, tolerances(unit=gradient_unit(problem)), layout=layout)


def _logistic_groups(groups, alpha, weights, **settings):
    """What `GroupLasso` of skglm is, with the logistic loss: skglm has the parts."""
    starts = np.append(0, np.cumsum(groups)).astype(np.int32)
    parts = {"grp_ptr": starts, "grp_indices": np.arange(starts[-1], dtype=np.int32)}
    return imported("skglm").GeneralizedLinearEstimator(
        datafit=imported("skglm.datafits").LogisticGroup(**parts),
        penalty=imported("skglm.penalties").WeightedGroupL2(alpha, weights, **parts),
        solver=imported("skglm.solvers").GroupProxNewton(max_iter=1000, **settings),
    )
