"""scikit-learn's solvers: liblinear (Fan et al. 2008), coordinate descent, SAGA, L-BFGS, Newton, LSQR.

Their C multiplies the sum of the losses, beside (1/2) ||w||^2, so C = 1/(l2 n); alpha of the lasso and the elastic net
multiplies the penalty beside half the mean square, as here.
"""

from typing import Literal

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import elastic_net, imported, iterations, restarts, tolerances

TINY = 1e-15  # a tolerance at which the number of iterations alone ends a call


@solver(needs={"Hinge or SquaredHinge or Logistic", "Zero", "strongly_convex", "rows"})
def liblinear(problem, start, rng, *, form: Literal["dual", "primal"] = "dual"):
    """liblinear through scikit-learn, l2 regularization: dual coordinate descent with shrinking

    form : "primal" is its trust-region Newton method, which the hinge does not allow. Its outer iterations are not
    passes, since it shrinks.
    """
    loss, seed = type(problem.loss).__name__, _seed(rng)
    C = 1.0 / (problem.strong_convexity * problem.n)
    given = {"fit_intercept": False, "tol": TINY, "dual": form == "dual", "random_state": seed}

    def build(budget):
        if loss == "Logistic":
            linear_model = imported("sklearn.linear_model")
            return linear_model.LogisticRegression(C=C, solver="liblinear", max_iter=budget, **given)
        svm = imported("sklearn.svm")
        if loss == "Hinge":
            return svm.LinearSVC(C=C, loss="hinge", max_iter=budget, **given)
        return svm.LinearSVC(C=0.5 * C, loss="squared_hinge", max_iter=budget, **given)  # it has no factor 1/2

    return restarts(problem, liblinear.needs, build, iterations())


@solver(needs={"Squared", "L1", "rows"})
def sklearn_cd(problem, start, rng):
    """scikit-learn's coordinate descent for the lasso and the elastic net, with falling tolerances"""
    return restarts(problem, sklearn_cd.needs, _linear("ElasticNet", problem), tolerances())


@solver(needs={"Logistic", "L1 or Zero", "rows"})
def sklearn_saga(problem, start, rng):
    """scikit-learn's SAGA for logistic regression with l1, l2 or elastic net; its iterations are passes"""
    seed = _seed(rng)
    penalty = elastic_net(problem)
    given = {"C": 1.0 / (penalty["alpha"] * problem.n), "l1_ratio": penalty["l1_ratio"], "fit_intercept": False}

    def build(budget):
        model = imported("sklearn.linear_model").LogisticRegression
        return model(solver="saga", max_iter=budget, tol=TINY, random_state=seed, **given)

    return restarts(problem, sklearn_saga.needs, build, iterations(), per_iteration=1.0)


@solver(needs={"Logistic", "Zero", "strongly_convex", "rows"})
def sklearn_lbfgs(problem, start, rng):
    """scikit-learn's L-BFGS for logistic regression with l2"""
    return restarts(problem, sklearn_lbfgs.needs, _logistic("lbfgs", problem), iterations())


@solver(needs={"Logistic", "Zero", "strongly_convex", "rows"})
def sklearn_newton(problem, start, rng):
    """scikit-learn's Newton method with conjugate gradients for logistic regression with l2"""
    return restarts(problem, sklearn_newton.needs, _logistic("newton-cg", problem), iterations())


@solver(needs={"Squared", "Zero", "strongly_convex", "rows"})
def sklearn_lsqr(problem, start, rng):
    """scikit-learn's LSQR for ridge regression"""
    alpha = problem.strong_convexity * problem.n

    def build(budget):
        model = imported("sklearn.linear_model").Ridge
        return model(alpha, solver="lsqr", fit_intercept=False, tol=TINY, max_iter=budget)

    return restarts(problem, sklearn_lsqr.needs, build, iterations())


def _logistic(method, problem):
    C = 1.0 / (problem.strong_convexity * problem.n)

    def build(budget):
        model = imported("sklearn.linear_model").LogisticRegression
        return model(C=C, solver=method, fit_intercept=False, tol=TINY, max_iter=budget)

    return build


def _linear(name, problem):
    def build(tol):
        model = getattr(imported("sklearn.linear_model"), name)
        return model(**elastic_net(problem), fit_intercept=False, tol=tol, max_iter=10**6)

    return build


def _seed(rng):
    return int(rng.integers(2**31 - 1, 1)[0])
