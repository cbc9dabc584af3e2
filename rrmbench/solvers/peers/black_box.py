"""A library as a black box: called with greater and greater budgets, each time from scratch.

The trace point of a budget has the time of that one call. This time has all that a user of the library waits for: the
validation of the data, their conversion to the library's own layout, the copy of what it returns. Imports and
just-in-time compilation are in the harness's warm-up, as they are for the solvers of this package. The rows are handed
over as float64, in the layout that the libraries are faster with: an array by columns where at least half of the
entries are stored, else CSR with int32 indices. Each method is asked for one thread and no intercept, and is seeded by
the run where it draws samples.

Passes are unknown (but for SAGA), so `stop.gap` or `stop.seconds` ends a run, or that P(w) stays the same from call to
call; with a `stop` of passes alone the combination is skipped. With calls that grow by a factor of 1.3, the run as a
whole takes about four times as long as its last call. A starting point is not used: every call is from 0.
"""

import importlib
import warnings
from math import ceil, log, nan

import numpy as np

from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import DENSE
from rrmbench.registry import lookup

LARGEST = 2**27  # entries of an array, 1 GB


def fastest(X):
    """The rows in the layout that libraries are faster with."""
    from scipy.sparse import csr_matrix

    n, d, *_ = X.shape
    rows = csr_matrix((X.rows.data, X.rows.indices.view(np.int32), X.rows.indptr), shape=(n, d), copy=False)
    return rows.toarray(order="F") if rows.nnz >= DENSE * n * d else rows


def as_array(X):
    """The rows as an array by columns; RrmbenchError where this has more than LARGEST entries."""
    n, d, *_ = X.shape
    if n * d > LARGEST:
        raise RrmbenchError(
            f"this method of the library takes no sparse matrix, and X, {n} x {d}, as an array would have more than "
            f"{LARGEST} entries"
        )
    rows = fastest(X)
    return rows if isinstance(rows, np.ndarray) else rows.toarray(order="F")


def by_outputs(estimator):
    """The coefficients as scikit-learn has them, (d,) or a row for each output, as a model: a column for each."""
    return estimator.coef_.T


def restarts(problem, needs, build, budgets, per_iteration=nan, layout=fastest, coefficients=by_outputs):
    """Yield the start, then the coefficients of build(budget).fit(X, y) for each budget until half is not used up.

    problem, needs : the Problem, and the traits of it that the library knows
    build : budget -> estimator in the style of scikit-learn
    budgets : growing numbers of iterations (int), or falling tolerances (float)
    per_iteration : passes over the data in one of the library's iterations, NaN where nobody counts them
    layout : `fastest`, or `as_array` for a library that takes no sparse matrix
    coefficients : fitted estimator -> w
    """
    check(problem, needs)
    X = layout(problem.X)
    yield Iterate(problem.start(), passes=0.0 * per_iteration)
    for budget in budgets:
        fitted = _fitted(build(budget), X, problem)
        w = _with_all_classes(np.array(coefficients(fitted), dtype=np.float64), problem).reshape(problem.shape)
        used = np.max(getattr(fitted, "n_iter_", nan))
        yield Iterate(w, passes=per_iteration * used, restarted=True)
        if isinstance(budget, int) and 2 * used < budget:  # cyanure ends in multiples of its interval
            return


def known(name):
    """The traits of problems that the library of the registered solver `name` knows: what this solver needs."""
    return lookup("solver", name).needs


def check(problem, needs):
    """Raise RrmbenchError where a trait is lacking, there is a centre, or a loss of classes has two.

    A reduction may have smoothed the losses or added a centre, of which libraries of estimators do not know. Of two
    classes they have models of one output.
    """
    if problem.traits & {"MultinomialLogistic", "MaxOfHinge"} and problem.shape[1] == 2:
        raise RrmbenchError("found two classes, of which the library has a model of one output; use a binary loss")
    check_traits(problem, needs, set() if problem.center is None else {"a regularizer without a centre"})


def check_traits(problem, needs, more=frozenset()):
    """Raise RrmbenchError where a trait is lacking, or there is `more` that is."""
    if missing := lacking(needs, problem.traits) | more:
        raise RrmbenchError(
            f"the library does not know this problem, which a reduction may have changed: "
            f"it is not {', '.join(sorted(missing))}"
        )


def _with_all_classes(w, problem):
    """The columns of w (d, m) at the m classes that there are, 0 at the others: a warm-up has few rows."""
    if w.size == np.prod(problem.shape) or len(problem.shape) == 1:
        return w
    whole = np.zeros(problem.shape)
    whole[:, np.unique(problem.y).astype(int)] = w
    return whole


def _fitted(estimator, X, problem):
    if problem.y.min() == problem.y.max() and imported("sklearn.base").is_classifier(estimator):
        raise RrmbenchError(f"y: found the label {problem.y[0]:g} alone, the library needs two classes")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the budget was spent before convergence
        return estimator.fit(X, problem.y)


def iterations():
    """Growing numbers of iterations: 1, 2, 3, 4, 6, 8, 11, 15, 20, ..."""
    m = 1
    while True:
        yield m
        m = ceil(1.3 * m)


def tolerances(first=0.1, last=1e-13, unit=1.0):
    """Falling tolerances: 0.1, 0.033, 0.011, ... down to 1e-13, in a unit."""
    return (unit * first * 3.0**-k for k in range(ceil(log(first / last, 3.0))))


def gradient_unit(problem):
    """max |X^T phi'(0)| / n, the unit of a library's tolerance that is of gradients; 1 for 0."""
    return float(np.abs(problem.v(problem.loss_dual(np.zeros(problem.output_shape)))).max()) or 1.0


def imported(module):
    """The module called `module`; RrmbenchError with the command that installs it where it cannot be imported."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0]
        raise RrmbenchError(f"{library} cannot be imported ({error}): pip install 'rrmbench[peers]'") from None


def seed(rng):
    """A number for the library's own random stream."""
    return int(rng.integers(2**31 - 1, 1)[0])


def elastic_net(problem):
    """alpha and l1_ratio with Psi(w) = alpha (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2), which is not 0."""
    l1, l2 = problem.regularizer.strength, problem.strong_convexity
    return {"alpha": l1 + l2, "l1_ratio": l1 / (l1 + l2)}


def group_lasso(problem):
    """groups, alpha and weights with Psi(w) = alpha sum_g weights_g ||w_g||, groups being the sizes of the blocks."""
    psi = problem.regularizer
    sizes = [int(size) for size in psi.blocks.sizes(problem.shape)]
    return {"groups": sizes, "alpha": psi.strength, "weights": psi.weights(problem.shape)}
