"""skglm: coordinate descent on working sets with Anderson acceleration [Bertrand et al. 2022]."""

import numpy as np

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import elastic_net, group_lasso, imported, known, restarts, tolerances

NEEDS = {"Squared or Logistic", "L1 or BlockNorm", "rows"}


@solver(needs=NEEDS, counts_passes=False, deterministic=True, library="skglm")
def skglm(problem, start, rng):
    """skglm's working sets for the lasso, elastic net, group lasso and their logistic forms, with falling tolerances"""
    is_squared, has_groups = "Squared" in problem.traits, "BlockNorm" in problem.traits
    if has_groups:
        model, penalty = _groups if is_squared else _logistic_groups, group_lasso(problem)
    else:
        model = getattr(imported("skglm"), "ElasticNet" if is_squared else "SparseLogisticRegression")
        penalty = elastic_net(problem)

    def build(tol):
        return model(**penalty, fit_intercept=False, tol=tol)

    return restarts(problem, known("skglm"), build, tolerances(), is_for_arrays=has_groups and not is_squared)


def _groups(**settings):
    return imported("skglm").GroupLasso(**settings)


def _logistic_groups(groups, alpha, weights, **settings):
    """What `GroupLasso` of skglm is, with the logistic loss: skglm has the parts."""
    starts = np.append(0, np.cumsum(groups)).astype(np.int32)
    parts = {"grp_ptr": starts, "grp_indices": np.arange(starts[-1], dtype=np.int32)}
    return imported("skglm").GeneralizedLinearEstimator(
        datafit=imported("skglm.datafits").LogisticGroup(**parts),
        penalty=imported("skglm.penalties").WeightedGroupL2(alpha, weights, **parts),
        solver=imported("skglm.solvers").GroupProxNewton(max_iter=1000, **settings),
    )
