"""scikit-learn's solvers: liblinear [Fan et al. 2008], coordinate descent, SAGA, L-BFGS, Newton, LSQR.

liblinear is asked for more and more iterations at a tolerance that it does not reach; on real data that was no slower
to any accuracy than falling tolerances, and it gives more points. C multiplies the sum of the losses, beside
(1/2) ||w||^2, so C = 1/(l2 n); alpha of the lasso and the elastic net multiplies the penalty beside half the mean
square, as here.
"""

from rrmbench.registry import solver
from rrmbench.solvers.peers.black_box import (
    as_array,
    elastic_net,
    fastest,
    imported,
    iterations,
    known,
    restarts,
    row_norms,
    seed,
    strength,
    tolerances,
)

LOGISTIC = "Logistic or MultinomialLogistic"
TINY = 1e-15  # a tolerance at which the number of iterations alone ends a call


CLASSIFIERS = "Hinge or SquaredHinge or Logistic"


@solver(
    needs={f"{CLASSIFIERS} or EpsilonInsensitive or MaxOfHinge", "Zero", "strongly_convex", "rows"}, counts_passes=False
)
def liblinear(problem, start, rng):
    """liblinear's dual coordinate descent with shrinking, through scikit-learn

    Its outer iterations are not passes, since it shrinks. For Crammer and Singer's loss it heeds tolerances alone.
    """
    budgets = tolerances() if "MaxOfHinge" in problem.traits else iterations()
    return restarts(problem, known("liblinear"), _liblinear(problem, dual=True, random_state=seed(rng)), budgets)


@solver(needs={"SquaredHinge or Logistic", "L1", "rows"}, counts_passes=False)
def liblinear_l1(problem, start, rng):
    """liblinear for l1: coordinate descent for the squared hinge, GLMNET for the logistic loss [Yuan et al. 2012]"""
    C, random_state = 1.0 / (strength(problem) * problem.n), seed(rng)
    given = {"fit_intercept": False, "tol": TINY, "random_state": random_state}

    def build(budget):
        if "Logistic" in problem.traits:
            model = imported("sklearn.linear_model").LogisticRegression
            return model(C=C, l1_ratio=1.0, solver="liblinear", max_iter=budget, **given)
        model = imported("sklearn.svm").LinearSVC
        return model(C=0.5 * C, penalty="l1", dual=False, max_iter=budget, **given)  # its loss has no factor 1/2

    return restarts(problem, known("liblinear_l1"), build, iterations())


@solver(needs={"SquaredHinge or Logistic", "Zero", "strongly_convex", "rows"}, counts_passes=False, deterministic=True)
def liblinear_newton(problem, start, rng):
    """liblinear's trust-region Newton method on the primal, through scikit-learn"""
    return restarts(problem, known("liblinear_newton"), _liblinear(problem, dual=False), iterations())


@solver(needs={"Squared and L1 or SquaredMulti and BlockNorm", "rows"}, counts_passes=False, deterministic=True)
def sklearn_cd(problem, start, rng):
    """scikit-learn's coordinate descent for lasso, elastic net and multi-task lasso, with falling tolerances"""
    if "SquaredMulti" in problem.traits:
        name, given, layout = "MultiTaskLasso", row_norms(problem), as_array
    else:
        name, given, layout = "ElasticNet", elastic_net(problem), fastest

    def build(tol):
        model = getattr(imported("sklearn.linear_model"), name)
        return model(**given, fit_intercept=False, tol=tol, max_iter=10**6)

    return restarts(problem, known("sklearn_cd"), build, tolerances(), layout=layout)


@solver(needs={LOGISTIC, "L1 or Zero", "rows"}, gives={"restarts"})
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
    given |= {"fit_intercept": False, "tol": TINY}

    def build(budget):
        if loss == "Logistic":
            linear_model = imported("sklearn.linear_model")
            return linear_model.LogisticRegression(C=C, solver="liblinear", max_iter=budget, **given)
        svm = imported("sklearn.svm")
        if loss == "EpsilonInsensitive":
            return svm.LinearSVR(C=C, epsilon=problem.loss.epsilon, max_iter=budget, **given)
        if loss == "MaxOfHinge":
            return svm.LinearSVC(C=C, multi_class="crammer_singer", **(given | {"tol": budget}))
        if loss == "Hinge":
            return svm.LinearSVC(C=C, loss="hinge", max_iter=budget, **given)
        return svm.LinearSVC(C=0.5 * C, loss="squared_hinge", max_iter=budget, **given)  # it has no factor 1/2

    return build


def _logistic(method, problem):
    C = 1.0 / (problem.strong_convexity * problem.n)

    def build(budget):
        model = imported("sklearn.linear_model").LogisticRegression
        return model(C=C, solver=method, fit_intercept=False, tol=TINY, max_iter=budget)

    return build
