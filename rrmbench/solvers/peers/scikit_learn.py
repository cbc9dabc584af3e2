"""scikit-learn's solvers: liblinear [Fan et al. 2008], coordinate descent, SAGA, L-BFGS, Newton, LSQR.

liblinear's coordinate descent is asked for falling tolerances where it shrinks: what it has shrunk comes back when its
tolerance is met, so that with one that it never meets it ends at wrong points, however many iterations it has. The
number of iterations is limited by the tolerance, too, as where one is out of reach. The other methods are asked for
more and more iterations. C multiplies the sum of the losses, beside
(1/2) ||w||^2, so C = 1/(l2 n); alpha of the lasso and the elastic net multiplies the penalty beside half the mean
square, as here.
"""

from math import ceil

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    as_array,
    elastic_net,
    fastest,
    imported,
    iterations,
    known,
    restarts,
    seed,
    tolerances,
)

LOGISTIC = "Logistic or MultinomialLogistic"
TINY = 1e-15  # a tolerance at which the number of iterations alone ends a call
LOOSE, TIGHT = 1.0, 1e-10  # the first tolerance of liblinear, and one that rounding lets it meet
MOST = 10**5  # iterations of a call of it with a tolerance


CLASSIFIERS = "Hinge or SquaredHinge or Logistic"


@solver(
    needs={f"{CLASSIFIERS} or EpsilonInsensitive or MaxOfHinge", "Zero", "strongly_convex", "rows"}, counts_passes=False
)
def liblinear(problem, start, rng):
    """liblinear's dual coordinate descent with shrinking, through scikit-learn

    Its outer iterations are not passes, since it shrinks. For the logistic loss it does not.
    """
    build = _liblinear(problem, dual=True, random_state=seed(rng))
    return restarts(problem, known("liblinear"), build, _budgets(problem))


@solver(needs={"SquaredHinge or Logistic", "L1", "norm", "one_term", "rows"}, counts_passes=False)
def liblinear_l1(problem, start, rng):
    """liblinear for l1: coordinate descent for the squared hinge, GLMNET for the logistic loss [Yuan et al. 2012]"""
    C, random_state = 1.0 / (problem.regularizer.strength * problem.n), seed(rng)
    given = {"fit_intercept": False, "random_state": random_state}

    def build(budget):
        limits = _limits(budget)
        if "Logistic" in problem.traits:
            model = imported("sklearn.linear_model").LogisticRegression
            return model(C=C, l1_ratio=1.0, solver="liblinear", **limits, **given)
        model = imported("sklearn.svm").LinearSVC
        return model(C=0.5 * C, penalty="l1", dual=False, **limits, **given)  # its loss has no factor 1/2

    return restarts(problem, known("liblinear_l1"), build, _budgets(problem))


@solver(needs={"SquaredHinge or Logistic", "Zero", "strongly_convex", "rows"}, counts_passes=False, deterministic=True)
def liblinear_newton(problem, start, rng):
    """liblinear's trust-region Newton method on the primal, through scikit-learn"""
    return restarts(problem, known("liblinear_newton"), _liblinear(problem, dual=False), iterations())


@solver(
    needs={"Squared and L1 or SquaredMulti and row_norms and norm and one_term", "norm or strongly_convex", "rows"},
    counts_passes=False,
    deterministic=True,
)
def sklearn_cd(problem, start, rng):
    """scikit-learn's coordinate descent for lasso, elastic net and multi-task lasso, with falling tolerances"""
    if "SquaredMulti" in problem.traits:
        name, given, layout = "MultiTaskLasso", {"alpha": problem.regularizer.strength}, as_array
    else:
        name, given, layout = "ElasticNet", elastic_net(problem), fastest

    def build(tol):
        model = getattr(imported("sklearn.linear_model"), name)
        return model(**given, fit_intercept=False, tol=tol, max_iter=10**6)

    return restarts(problem, known("sklearn_cd"), build, tolerances(), layout=layout)


@solver(needs={LOGISTIC, "L1 or Zero", "norm or strongly_convex", "rows"}, gives={"restarts"})
def sklearn_saga(problem, start, rng):
    """scikit-learn's SAGA for (multinomial) logistic loss with l1, l2 or elastic net; its iterations are passes"""
    random_state, penalty = seed(rng), elastic_net(problem)
    given = {
        "C": 1.0 / (penalty["alpha"] * problem.n),
        "l1_ratio": penalty["l1_ratio"],
        "fit_intercept": False,
    }

    def build(budget):
        model = imported("sklearn.linear_model").LogisticRegression
        return model(solver="saga", max_iter=budget, tol=TINY, random_state=random_state, **given)

    return restarts(problem, known("sklearn_saga"), build, iterations(), per_iteration=1.0)


@solver(needs={LOGISTIC, "Zero", "strongly_convex", "rows"}, counts_passes=False, deterministic=True)
def sklearn_lbfgs(problem, start, rng):
    """scikit-learn's L-BFGS for (multinomial) logistic regression with l2"""
    return restarts(problem, known("sklearn_lbfgs"), _logistic("lbfgs", problem), iterations())


@solver(needs={LOGISTIC, "Zero", "strongly_convex", "rows"}, counts_passes=False, deterministic=True)
def sklearn_newton(problem, start, rng):
    """scikit-learn's Newton method with conjugate gradients for (multinomial) logistic regression with l2"""
    return restarts(problem, known("sklearn_newton"), _logistic("newton-cg", problem), iterations())


@solver(needs={"Squared", "Zero", "strongly_convex", "rows"}, counts_passes=False, deterministic=True)
def sklearn_lsqr(problem, start, rng):
    """scikit-learn's LSQR for ridge regression"""
    alpha = problem.strong_convexity * problem.n

    def build(budget):
        model = imported("sklearn.linear_model").Ridge
        return model(alpha, solver="lsqr", fit_intercept=False, tol=TINY, max_iter=budget)

    return restarts(problem, known("sklearn_lsqr"), build, iterations())


def _liblinear(problem, **given):
    loss, C = type(problem.loss).__name__, 1.0 / (problem.strong_convexity * problem.n)
    given |= {"fit_intercept": False}

    def build(budget):
        limits = _limits(budget)
        if loss == "Logistic":
            linear_model = imported("sklearn.linear_model")
            return linear_model.LogisticRegression(C=C, solver="liblinear", **limits, **given)
        svm = imported("sklearn.svm")
        if loss == "EpsilonInsensitive":
            return svm.LinearSVR(C=C, epsilon=problem.loss.epsilon, **limits, **given)
        if loss == "MaxOfHinge":
            return svm.LinearSVC(C=C, multi_class="crammer_singer", **limits, **given)
        if loss == "Hinge":
            return svm.LinearSVC(C=C, loss="hinge", **limits, **given)
        return svm.LinearSVC(C=0.5 * C, loss="squared_hinge", **limits, **given)  # it has no factor 1/2

    return build


def _budgets(problem):
    """What liblinear is called with: numbers of iterations for the logistic loss, for which it does not shrink."""
    return iterations() if "Logistic" in problem.traits else tolerances(LOOSE, TIGHT)


def _limits(budget):
    """The tolerance and the greatest number of iterations of liblinear: one of them is given, the other follows."""
    if isinstance(budget, int):
        return {"tol": TINY, "max_iter": budget}
    return {"tol": budget, "max_iter": min(ceil(30.0 * budget**-0.5), MOST)}


def _logistic(method, problem):
    C = 1.0 / (problem.strong_convexity * problem.n)

    def build(budget):
        model = imported("sklearn.linear_model").LogisticRegression
        return model(C=C, solver=method, fit_intercept=False, tol=TINY, max_iter=budget)

    return build
