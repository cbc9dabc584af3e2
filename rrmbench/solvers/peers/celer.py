"""celer: coordinate descent on working sets, with dual extrapolation [Massias, Gramfort and Salmon 2018]."""

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import elastic_net, imported, known, restarts, tolerances


@solver(needs={"Squared", "L1", "rows"}, counts_passes=False, deterministic=True, library="celer")
def celer(problem, start, rng):
    """celer's working sets for the lasso and the elastic net, with falling tolerances"""

    def build(tol):
        model = imported("celer").ElasticNet
        return model(**elastic_net(problem), fit_intercept=False, tol=tol)

    return restarts(problem, known("celer"), build, tolerances())
