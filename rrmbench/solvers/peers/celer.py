"""celer: coordinate descent on working sets, with dual extrapolation [Massias, Gramfort and Salmon 2018]."""

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import elastic_net, group_lasso, imported, known, restarts, tolerances


@solver(needs={"Squared", "L1 or BlockNorm", "rows"}, counts_passes=False, deterministic=True, library="celer")
def celer(problem, start, rng):
    """celer's working sets for the lasso, the elastic net and the group lasso, with falling tolerances"""
    name, penalty = ("GroupLasso", group_lasso) if "BlockNorm" in problem.traits else ("ElasticNet", elastic_net)
    model, penalty = getattr(imported("celer"), name), penalty(problem)

    def build(tol):
        return model(**penalty, fit_intercept=False, tol=tol)

    return restarts(problem, known("celer"), build, tolerances())
