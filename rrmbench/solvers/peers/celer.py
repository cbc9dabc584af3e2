"""celer: coordinate descent on working sets, with dual extrapolation [Massias, Gramfort and Salmon 2018]."""

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    elastic_net,
    group_lasso,
    imported,
    known,
    restarts,
    tolerances,
)

NEEDS = {"Squared and L1 or Squared and BlockNorm and one_term or Logistic and L1 and one_term", "norm", "rows"}


@solver(needs=NEEDS, counts_passes=False, deterministic=True, library="celer")
def celer(problem, start, rng):
    """celer's working sets for the lasso, elastic net, group lasso and logistic loss with l1, with falling tolerances

    Its multi-task lasso is left out: that of release 0.7.4 fails with scikit-learn 1.9.
    """
    library, traits = imported("celer"), problem.traits
    if "Logistic" in traits:
        model, given = library.LogisticRegression, {"C": 1.0 / (problem.regularizer.strength * problem.n)}
    elif "BlockNorm" in traits:
        model, given = library.GroupLasso, group_lasso(problem)
    else:
        model, given = library.ElasticNet, elastic_net(problem)

    def build(tol):
        return model(**given, fit_intercept=False, tol=tol)

    return restarts(problem, known("celer"), build, tolerances())
