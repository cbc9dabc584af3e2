"""Time an epoch of the compiled kernels next to liblinear's, in ns per nonzero of X.

    python tests/benchmarks/kernels.py [rounds]

liblinear is scikit-learn's LinearSVC (hinge) and LogisticRegression, dual coordinate descent, the slope between 1 and
6 passes at a large C, where next to nothing is shrunk; SAGA of scikit-learn likewise. X w + X^T b is scipy's, and the
floor of a full-gradient iteration. The F1 loss, smoothed, is next to the recursions of the paper in logarithms. All
take turns in the same run, and the least CPU time counts, so that a busy machine disturbs all alike. The data are
synthetic: text-like (long sparse rows over many features) and table-like (short rows over 54 features); if
RRMBENCH_DATA names a folder with rcv1_subsets.binary and covtype_sample20k.binary.scale (.xz or not), these are taken,
the second ten times over so that no cache holds it.
"""

import lzma
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rrmbench import registry
from rrmbench.losses.f1 import F1
from rrmbench.numerics.random import Rng
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem

sys.path.insert(0, str(Path(__file__).parent.parent))
import labellings

SETTINGS = [
    ("prox_sdca", "hinge", 1.0),
    ("prox_sdca", "smoothed_hinge", 1.0),
    ("prox_sdca", "logistic", 1.0),
    ("prox_sdca", "squared", 1.0),
    ("apcg", "smoothed_hinge", 1.0),
    ("apcg", "logistic", 1.0),
    ("svrg", "smoothed_hinge", 3.0),
    ("svrg", "logistic", 3.0),
    ("saga", "logistic", 1.0),
    ("sgd", "smoothed_hinge", 1.0),
    ({"name": "fista", "step": "bound"}, "smoothed_hinge", 1.0),
    ({"name": "agm_ef", "step": "bound"}, "smoothed_hinge", 1.0),
    ("agm_ef_1", "smoothed_hinge", 1.0),
    ("pdprox_dual", "hinge", 1.0),
    ("pdprox_primal", "hinge", 1.0),
    ("pdprox_preconditioned", "hinge", 1.0),
]
EPOCHS = 5
COLUMNS = 4, 10


def synthetic(n, d, per_row, skew):
    """A sparse matrix with unit rows whose columns have frequencies ~ 1/rank^skew, and labels."""
    rng = np.random.default_rng(0)
    frequency = 1.0 / np.arange(1, d + 1) ** skew
    columns = rng.choice(d, size=n * per_row, p=frequency / frequency.sum())
    data = rng.random(n * per_row) + 0.1
    starts = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    X = sp.csr_array((data, columns.astype(np.int32), starts), shape=(n, d))
    X.sum_duplicates()
    return X, np.where(X @ rng.standard_normal(d) > 0.0, 1.0, -1.0)


def from_file(name, copies):
    """The data set `name` of the folder RRMBENCH_DATA, `copies` times over."""
    path = Path(os.environ["RRMBENCH_DATA"]) / name
    with lzma.open(f"{path}.xz") if not path.exists() else path.open("rb") as file:
        X, y = load_svmlight_file(file)
    return sp.csr_array(sp.vstack([X] * copies)), np.tile(np.where(y == y.max(), 1.0, -1.0), copies)


def unit_rows(X):
    norms = np.sqrt(X.multiply(X).sum(axis=1))
    return sp.csr_array(sp.diags_array(1.0 / np.maximum(norms, 1e-12)) @ X)


def data_sets():
    if "RRMBENCH_DATA" in os.environ:
        yield "rcv1_subsets.binary", *from_file("rcv1_subsets.binary", 1)
        yield "covtype x 10", *from_file("covtype_sample20k.binary.scale", 10)
    else:
        yield "text-like", *synthetic(20_000, 47_000, 75, 0.8)
        yield "table-like", *synthetic(200_000, 54, 12, 0.5)


def epoch_seconds(iterates, passes):
    """The CPU seconds per `passes` over EPOCHS times so many passes, after a first one that is not timed."""
    for it in iterates:
        if it.passes >= passes:
            break
    begin, first = time.thread_time(), it.passes
    for it in iterates:
        if it.passes >= first + passes * EPOCHS:
            return (time.thread_time() - begin) / EPOCHS
    raise RuntimeError("the solver ended")


def slope(fit):
    """The CPU seconds of one pass of fit(passes)."""

    def seconds(passes):
        begin = time.thread_time()
        fit(passes)
        return time.thread_time() - begin

    return (seconds(1 + EPOCHS) - seconds(1)) / EPOCHS


def product_seconds(X, columns=None, ours=False):
    """The CPU seconds of X w and X^T b together, or of those with so many columns, by scipy or by our operator."""
    w, b = (np.ones(m if columns is None else (m, columns)) for m in X.shape[::-1])
    operator, transposed = CSR.of(X, columns), X.T
    begin = time.thread_time()
    for _ in range(EPOCHS):
        if ours:
            operator.forward(w), operator.adjoint(b)
        else:
            X @ w, transposed @ b
    return (time.thread_time() - begin) / EPOCHS


def peers(X, y):
    """Pairs of a label and a function that measures one pass of scikit-learn or scipy in seconds."""
    given = {"fit_intercept": False, "tol": 1e-30}

    def svm(passes):
        LinearSVC(loss="hinge", C=100.0, max_iter=passes, **given).fit(X, y)

    def logistic(passes):
        LogisticRegression(solver="liblinear", dual=True, C=100.0, max_iter=passes, **given).fit(X, y)

    def saga(passes):
        LogisticRegression(solver="saga", C=1.0, max_iter=passes, **given).fit(X, y)

    yield "scipy X w + X^T b", lambda: product_seconds(X)
    for columns in COLUMNS:
        yield f"scipy X W + X^T B, {columns} columns", lambda columns=columns: product_seconds(X, columns)
    yield "liblinear hinge", lambda: slope(svm)
    yield "liblinear logistic (dual)", lambda: slope(logistic)
    yield "scikit-learn saga logistic", lambda: slope(saga)


def contestants(X, y):
    """Pairs of a label and a function that measures one epoch in seconds, ours after the peers."""
    yield from peers(X, y)
    n = X.shape[0]
    for columns in COLUMNS:
        yield f"X W + X^T B, {columns} columns", lambda columns=columns: product_seconds(X, columns, ours=True)
        classes = (np.arange(n) * 0.618) % 1.0 * columns // 1.0
        for loss in "max_of_hinge", "multinomial_logistic":
            problem = Problem(X, classes, loss, {"name": "l2", "strength": 1.0 / n})
            solve = registry.build_solver("prox_sdca")
            yield (
                f"prox_sdca {loss} l2, {columns} classes",
                lambda problem=problem, solve=solve: epoch(problem, solve, 1.0),
            )
    for regularizer in (
        {"name": "l2", "strength": 1.0 / n},
        {"name": "elastic_net", "l1": 1e-5, "l2": 1.0 / n},
    ):
        for solver, loss, passes in SETTINGS:
            problem, solve = Problem(X, y, loss, regularizer), registry.build_solver(solver)
            name = solver if isinstance(solver, str) else solver["name"]
            label = f"{name} {loss} {regularizer['name']}"
            yield label, lambda problem=problem, solve=solve, passes=passes: epoch(problem, solve, passes)


def epoch(problem, solve, passes):
    """The CPU seconds of one pass, measured over rounds of `passes`."""
    return epoch_seconds(solve(problem, None, Rng(0)), passes) / passes


def f1_seconds(n, share, mu):
    """The CPU seconds of a value and gradient of the F1 loss of n samples, ours and in logarithms."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(n) < share * n, 1.0, -1.0)
    z, loss = np.append(rng.standard_normal(n), [0.0, 0.0]), F1()
    r = -2.0 * y * z[:n] / (n * mu)

    def ours():
        loss.dual_point(z, y, mu)

    def plain():
        labellings.in_logarithms(r[y > 0.0], r[y < 0.0], mu)

    for run in ours, plain:
        begin = time.thread_time()
        run()
        yield time.thread_time() - begin


def f1_table(rounds):
    """Print the times of `f1_seconds`, the first round left out, which compiles."""
    print("f1, value and gradient in ms: ours, and in logarithms")
    for n, share in ((5000, 0.1), (5000, 0.5)):
        for mu in (1e-6, 1e-3, 1.0):
            times = np.array([list(f1_seconds(n, share, mu)) for _ in range(rounds + 1)])[1:].min(axis=0)
            print(f"  n = {n}, {share:3.0%} positive, mu = {mu:5.0e} {1e3 * times[0]:9.1f} {1e3 * times[1]:9.1f}")


def main(rounds=3):
    warnings.simplefilter("ignore")
    for name, X, y in data_sets():
        X = unit_rows(X)
        entries = list(contestants(X, y))
        best = dict.fromkeys((label for label, _ in entries), np.inf)
        for _ in range(rounds):
            for label, measure in entries:
                best[label] = min(best[label], measure())
        print(f"{name}: {X.shape[0]} x {X.shape[1]}, {X.nnz / X.shape[0]:.1f} nonzeros per row")
        for label, seconds in best.items():
            print(f"  {label:40s} {1e9 * seconds / X.nnz:7.2f} ns per nonzero and pass")
    f1_table(rounds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
