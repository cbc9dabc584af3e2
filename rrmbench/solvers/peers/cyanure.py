"""cyanure: accelerated variance reduction and quasi-Newton outer loops [Mairal 2019]."""

from operator import attrgetter

from rrmbench.errors import RrmbenchError
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    imported,
    iterations,
    known,
    restarts,
    row_norms,
    seed,
)

LOSSES = {"Squared": "square", "SquaredHinge": "sqhinge", "Logistic": "logistic"}
SEVERAL = {"SquaredMulti": "square", "MultinomialLogistic": "logistic"}
PAIRS = [f"{loss} and {psi}" for loss in LOSSES for psi in ("L1", "Zero")]
PAIRS += [f"{loss} and {psi}" for loss in SEVERAL for psi in ("L1", "Zero", "BlockNorm")]


@solver(needs={" or ".join(PAIRS), "rows"}, counts_passes=False, library="cyanure")
def cyanure(problem, start, rng, *, method: str = "auto"):
    """cyanure for squared, squared hinge and logistic losses with l2 or l1, of several outputs with norms of rows too

    method : its `solver`, such as "qning-miso" or "catalyst-svrg". Its elastic net is left out: release 1.2.2 minimizes
    with twice the l2 that it is given.
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
    if "BlockNorm" in problem.traits:
        return "l1l2", row_norms(problem)["alpha"]
    l1, l2 = problem.regularizer.strength, problem.strong_convexity
    if l1 > 0.0 and l2 > 0.0:
        raise RrmbenchError("cyanure 1.2.2 minimizes the elastic net with twice its l2: not compared")
    return ("l1", l1) if l1 > 0.0 else ("l2", l2)
