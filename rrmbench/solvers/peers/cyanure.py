"""cyanure: accelerated variance reduction and quasi-Newton outer loops [Mairal 2019]."""

from rrmbench.errors import RrmbenchError
from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import imported, iterations, known, restarts, seed

LOSSES = {"Squared": "square", "SquaredHinge": "sqhinge", "Logistic": "logistic"}


@solver(needs={"Squared or SquaredHinge or Logistic", "L1 or Zero", "rows"}, counts_passes=False, library="cyanure")
def cyanure(problem, start, rng, *, method: str = "auto"):
    """cyanure for squared, squared hinge and logistic losses with l2 or l1 regularization

    method : its `solver`, such as "qning-miso" or "catalyst-svrg". Its elastic net is left out: release 1.2.2 minimizes
    with twice the l2 that it is given.
    """
    if problem.n == 1:
        raise RrmbenchError("found one sample, cyanure needs two")
    penalty, strength = _penalty(problem)
    given = {"penalty": penalty, "lambda_1": strength, "solver": method, "random_state": seed(rng)}
    loss = LOSSES[type(problem.loss).__name__]

    def build(budget):
        estimators = imported("cyanure.estimators")
        run = {"max_iter": budget, "tol": 1e-15, "fit_intercept": False, "n_threads": 1, "verbose": False}
        if loss == "square":
            return estimators.Regression(**given, **run)
        return estimators.Classifier(loss=loss, **given, **run)

    return restarts(problem, known("cyanure"), build, iterations())


def _penalty(problem):
    l1, l2 = problem.regularizer.strength, problem.strong_convexity
    if l1 > 0.0 and l2 > 0.0:
        raise RrmbenchError("cyanure 1.2.2 minimizes the elastic net with twice its l2: not compared")
    return ("l1", l1) if l1 > 0.0 else ("l2", l2)
