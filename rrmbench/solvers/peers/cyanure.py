"""cyanure: accelerated variance reduction and quasi-Newton outer loops [Mairal 2019]."""

from operator import attrgetter

from rrmbench.errors import RrmbenchError
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    imported,
    iterations,
    known,
    restarts,
    seed,
)

LOSSES = {"Squared": "square", "SquaredHinge": "sqhinge", "Logistic": "logistic"}
SEVERAL = {"SquaredMulti": "square", "MultinomialLogistic": "logistic"}
ALONE = "L1 and one_term", "Zero"  # its elastic net, of release 1.2.2, has twice the l2 that it is given
PAIRS = [f"{loss} and {psi}" for loss in LOSSES | SEVERAL for psi in ALONE]
PAIRS += [f"{loss} and row_norms and norm and one_term" for loss in SEVERAL]


@solver(needs={" or ".join(PAIRS), "rows"}, counts_passes=False, library="cyanure")
def cyanure(problem, start, rng, *, method: str = "auto"):
    """cyanure for squared, squared hinge and logistic losses with l2 or l1, of several outputs with norms of rows too

    method : its `solver`, such as "qning-miso" or "catalyst-svrg"
    """
    if problem.n == 1:
        raise RrmbenchError("found one sample, cyanure needs two")
    penalty, strength = _penalty(problem)
    given = {"penalty": penalty, "lambda_1": strength, "solver": method, "random_state": seed(rng)}
    loss = (LOSSES | SEVERAL)[type(problem.loss).__name__]

    def build(budget):
        estimators = imported("cyanure.estimators")
        estimators.logger.setLevel("WARNING")  # it tells which labels it has found
        run = {"max_iter": budget, "tol": 1e-15, "fit_intercept": False, "n_threads": 1, "verbose": False}
        if loss == "square":
            return estimators.Regression(**given, **run)
        return estimators.Classifier(loss=loss, **given, **run)

    return restarts(problem, known("cyanure"), build, iterations(), coefficients=attrgetter("coef_"))


def _penalty(problem):
    strength = problem.regularizer.strength
    if strength > 0.0:
        return ("l1" if "L1" in problem.traits else "l1l2"), strength
    return "l2", problem.strong_convexity
