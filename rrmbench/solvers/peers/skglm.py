"""skglm: coordinate descent on working sets with Anderson acceleration [Bertrand et al. 2022]."""

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import elastic_net, imported, known, restarts, tolerances


@solver(needs={"Squared or Logistic", "L1", "rows"}, counts_passes=False, deterministic=True, library="skglm")
def skglm(problem, start, rng):
    """skglm's working sets for the lasso, the elastic net and their logistic forms, with falling tolerances"""
    name = "ElasticNet" if "Squared" in problem.traits else "SparseLogisticRegression"

    def build(tol):
        model = getattr(imported("skglm"), name)
        return model(**elastic_net(problem), fit_intercept=False, tol=tol)

    return restarts(problem, known("skglm"), build, tolerances())
