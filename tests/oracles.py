"""Slow, plain restatements of the mathematics, that the tests compare the package with."""

from functools import cache
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest
from chain_labellings import labellings, statistics
from scipy.optimize import linprog

from rrmbench import registry
from rrmbench.numerics.quadratic_descent import ByColumns, ByLines
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, build_regularizer
from rrmbench.solvers.coordinate.chosen import Chosen


class Tested(NamedTuple):
    """What a component is tested with: values for its parameters, and somebody else who knows the answer."""

    example: dict
    oracle: object


class Reaches(NamedTuple):
    """The oracle of a solver or a reduction: the minimum that cvxpy finds.

    After `passes` P(w) - P(w*) is at most `accuracy` times that of the start; of other libraries, which count no
    passes, at most `accuracy` itself, on the `problems` alone. A reduction that changes its problem ends at the
    minimum of `instead`.
    """

    accuracy: float
    passes: float = 300
    problems: tuple = ()  # (loss, mapping of the regularizer); none: all that the solver takes
    solver: str = ""  # that is reduced
    instead: tuple = ()


def names(kind):
    """The names of all registered components that are in the table; `test_components` names the others."""
    return [name for name in registry.names(kind) if name in TABLE[kind]]


def example(kind, name):
    """The mapping of a component with the example values for its parameters."""
    return {"name": name, **TABLE[kind][name].example}


def scalar_losses():
    """The names of all losses over single outputs."""
    return [n for n in names("loss") if getattr(loss_of(n), "outputs", "scalar") == "scalar"]


def vector_losses():
    """The names of all losses over rows of outputs."""
    return [n for n in names("loss") if getattr(loss_of(n), "outputs", "scalar") == "vector"]


def coordinate_regularizers():
    """The example mappings of all regularizers over single coordinates."""
    mappings = [example("regularizer", name) for name in names("regularizer")]
    return [m for m in mappings if getattr(build_regularizer(m)[0], "coordinate_separable", True)]


def loss_of(name):
    """The loss of a name, with its example values."""
    return build_loss(example("loss", name))[0]


def reaches(gap, p, iterates, passes):
    """Whether the certified gap of the iterates comes to `gap` P(0) in so many passes."""
    for it in iterates:
        if it.b is not None and p.primal(it.w) - p.certificate(it.b)[0] <= gap * p.primal(np.zeros(p.shape)):
            return True
        if it.passes > passes:
            return False
    return False


def core(grid, kept):
    """Parameters of a test: the cases that `kept` accepts, and the others, marked exhaustive."""
    return [pytest.param(*case, marks=[] if kept(*case) else pytest.mark.exhaustive) for case in grid]


def labels(loss, z):
    """Labels fit for `loss` (a name), made of the numbers z."""
    if "classes" in registry.lookup("loss", loss).needs:
        return np.digitize(z, [-1.0, 1.0])
    return np.where(z > 0.0, 1.0, -1.0) if "binary" in registry.lookup("loss", loss).needs else z


def data(n, d, density=1.0, seed=0, loss="squared"):
    """A random X (n, d) with about `density` of its entries, rows of different lengths, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) * rng.uniform(0.3, 1.5, (n, 1))
    # so much noise that classes are not separable, else unregularized problems would have no solution
    z = X @ rng.standard_normal(d) + 3.0 * rng.standard_normal(n)
    if "targets" in registry.lookup("loss", loss).needs:
        return X, np.column_stack([z, X @ rng.standard_normal(d), rng.standard_normal(n)])
    return X, labels(loss, z)


def problem(loss, regularizer, n=40, d=12, density=0.5, seed=0):
    """A small random problem; `loss` a name, `regularizer` a mapping."""
    return Problem(*data(n, d, density, seed, loss), example("loss", loss), regularizer)


def words(loss, regularizer, lengths=(3, 1, 2, 4, 1, 3), k=3, d=4, seed=0):
    """A small random problem of label sequences of these lengths."""
    return Problem(*label_sequences(lengths, k, d, 0.7, seed), loss, regularizer)


def label_sequences(lengths, k, d, density=1.0, seed=0):
    """X (N, d), and y (N, 2): the labels at random, every one of them there, and the sequences."""
    rng, N = np.random.default_rng(seed), sum(lengths)
    y = np.column_stack([rng.integers(0, k, N), np.repeat(np.arange(len(lengths)), lengths)]).astype(float)
    y[rng.permutation(N)[:k], 0] = np.arange(k)
    return rng.standard_normal((N, d)) * (rng.random((N, d)) < density), y


# cvxpy


def cvxpy_loss(mapping, z, y):
    """The sum of a loss (a mapping or a name) over samples as a cvxpy expression; z (n,) or (n, k)."""
    mapping = {"name": mapping} if isinstance(mapping, str) else mapping
    name, values = mapping["name"], {key: value for key, value in mapping.items() if key != "name"}
    tested = LOSSES[name]
    return tested.oracle(z, y, **tested.example | values)


def cvxpy_regularizer(mapping, w):
    """(expression, constraints) of a regularizer's mapping for a variable w, a vector or a matrix."""
    values = {key: value for key, value in mapping.items() if key not in ("name", "domain", "svd")}
    psi = REGULARIZERS[mapping["name"]].oracle(w, **values)
    psi, constraints = psi if isinstance(psi, tuple) else (psi, [])
    domain = mapping.get("domain", {})
    if "box" in domain:
        low, high = domain["box"]
        constraints = constraints + [w >= low] * bool(np.isfinite(low)) + [w <= high] * bool(np.isfinite(high))
    if "ball" in domain:
        constraints = [*constraints, cp.norm2(entries(w)) <= domain["ball"]]
    return psi, constraints


def hinges(z, y):
    """The n losses max(0, 1 - y_i z_i)."""
    return cp.pos(1 - cp.multiply(y, z))


def largest(losses, m):
    """The sum of the m largest of the losses, of the next one the fraction that m has."""
    whole = int(m)
    return (whole + 1 - m) * cp.sum_largest(losses, whole) + (m - whole) * cp.sum_largest(losses, whole + 1)


def margins(z, y):
    """The 1 + z_j - z_y of the classes j != y, (n, k - 1)."""
    n, k = z.shape
    own = np.eye(k)[y.astype(int)]
    others = np.array([[j for j in range(k) if j != c] for c in y.astype(int)])
    gaps = 1 + z - cp.reshape(cp.sum(cp.multiply(own, z), axis=1), (n, 1), order="C") @ np.ones((1, k))
    return cp.vstack([cp.hstack([gaps[i, j] for j in others[i]]) for i in range(n)])


def labels_outputs(z, y):
    """The sum of the outputs z (n, k) of the labels y (n,)."""
    return cp.sum(cp.multiply(np.eye(z.shape[1])[y.astype(int)], z))


def smoothed_max(a, gamma):
    """max over b >= 0, sum b <= 1 of a.b - (gamma/2) ||b||^2: the infimal convolution of the maximum with a square."""
    shift = cp.Variable(a.shape)
    return cp.sum(cp.pos(cp.max(a - shift, axis=1))) + cp.sum_squares(shift) / (2 * gamma)


def soft_max(a, gamma):
    """gamma log(1 + exp(0) + sum_j exp(a_j/gamma)): the definition sums over all classes, y itself included."""
    return gamma * cp.sum(cp.log_sum_exp(cp.hstack([a / gamma, np.zeros((a.shape[0], 2))]), axis=1))


def one_minus_f1(z, y):
    """n times the greatest 1 - F1 plus margin, over how many labels of each class are flipped."""
    losses = cp.multiply(-2.0 * y, z)
    kinds = [losses[np.flatnonzero(y == sign)] for sign in (1.0, -1.0) if np.any(y == sign)]
    sums = [cp.hstack([0.0, *(cp.sum_largest(kind, k) for k in range(1, kind.size + 1))]) for kind in kinds]
    counts = np.meshgrid(*(np.arange(kind.size + 1.0) for kind in kinds), indexing="ij")
    b, c, n = counts[0].ravel(), sum(counts[1:], np.zeros(counts[0].shape)).ravel(), y.size
    total = sum(sums[kind][at.ravel().astype(int)] for kind, at in enumerate(counts))
    return cp.max(total + n * (b + c) / (2.0 * np.sum(y > 0.0) - b + c))


def chains(z, y, cost, tau):
    """The sum over sequences of tau log sum_y exp((cost(y) + score(y))/tau) - score(y_i); the maximum for tau = 0."""
    N, k, total = len(y), z.shape[1], 0.0
    flat, labels = cp.vec(z[: N + k], order="C"), y[:, 0].astype(int)
    for number in np.unique(y[:, 1]):
        rows = np.flatnonzero(y[:, 1] == number)
        paths = labellings(len(rows), k)
        counts = np.zeros((len(paths), N + k, k))
        for count, path in zip(counts, paths, strict=True):
            count[rows], count[N:] = statistics(path, k)
        own = np.flatnonzero((paths == labels[rows]).all(axis=1))[0]
        scores = (counts - counts[own]).reshape(len(paths), -1) @ flat + cost * np.sum(paths != labels[rows], axis=1)
        total = total + (tau * cp.log_sum_exp(scores / tau) if tau > 0.0 else cp.max(scores))
    return total


LOSSES = {
    "squared": Tested({}, lambda z, y: cp.sum_squares(z - y) / 2),
    "logistic": Tested({}, lambda z, y: cp.sum(cp.logistic(-cp.multiply(y, z)))),
    "hinge": Tested({}, lambda z, y, budget=None: largest(hinges(z, y), budget) if budget else cp.sum(hinges(z, y))),
    "smoothed_hinge": Tested({}, lambda z, y, gamma=1.0: cp.sum(cp.huber(hinges(z, y), gamma)) / (2 * gamma)),
    "squared_hinge": Tested({}, lambda z, y: cp.sum_squares(hinges(z, y)) / 2),
    "generalized_hinge": Tested({}, lambda z, y, a=2.0: cp.sum(cp.maximum(hinges(z, y), 1 - a * cp.multiply(y, z)))),
    "absolute": Tested({}, lambda z, y: cp.norm1(z - y)),
    "huber": Tested({}, lambda z, y, mu=1.0: cp.sum(cp.huber(z - y, mu)) / (2 * mu)),
    "epsilon_insensitive": Tested({}, lambda z, y, epsilon=0.1: cp.sum(cp.pos(cp.abs(z - y) - epsilon))),
    "quantile": Tested({}, lambda z, y, a=0.5: cp.sum(a * cp.pos(y - z) + (1 - a) * cp.pos(z - y))),
    "ordinal_hinge": Tested(
        {"theta_1": 0.0, "theta_2": 3.0, "theta_3": 6.0, "theta_4": 9.0},
        lambda z, y, **theta: sum(
            cp.sum(hinges(z - theta[f"theta_{r}"], np.where(y > r, 1.0, -1.0))) for r in (1, 2, 3, 4)
        ),
    ),
    "crf": Tested({}, lambda z, y: chains(z, y, 0.0, 1.0)),
    "m3n": Tested({}, lambda z, y: chains(z, y, 1.0, 0.0)),
    "l2_multi": Tested({}, lambda z, y: cp.sum(cp.norm(z - y, 2, axis=1))),
    "max_of_hinge": Tested({}, lambda z, y: cp.sum(cp.pos(cp.max(margins(z, y), axis=1)))),
    "smoothed_max_of_hinge": Tested({}, lambda z, y, gamma=1.0: smoothed_max(margins(z, y), gamma)),
    "soft_max_of_hinge": Tested({}, lambda z, y, gamma=1.0: soft_max(margins(z, y), gamma)),
    "multinomial_logistic": Tested({}, lambda z, y: cp.sum(cp.log_sum_exp(z, axis=1)) - labels_outputs(z, y)),
    "squared_multi": Tested({}, lambda z, y: cp.sum_squares(z - y) / 2),
    "f1": Tested({}, one_minus_f1),
    "max_row": Tested({}, lambda z, y: z.size * cp.max(z) - cp.sum(z)),
}


def entries(w):
    """The entries of a vector or, row by row, of a matrix."""
    return cp.vec(w, order="C") if w.ndim == 2 else w


def group_norms(w, size):
    """The Euclidean norms of groups of `size` consecutive entries, the last one may be shorter, and their sizes."""
    groups = [entries(w)[k : k + size] for k in range(0, w.size, size)]
    return [cp.norm2(g) for g in groups], [g.size for g in groups]


NORMS = {
    "l1": lambda w: cp.sum(cp.abs(w)),
    "l2": lambda w: cp.norm2(entries(w)),
    "linf": lambda w: cp.max(cp.abs(w)),
    "l21": lambda w: cp.sum(cp.norm2(w, axis=1)),
    "l1inf": lambda w: cp.sum(cp.max(cp.abs(w), axis=1)),
    "trace": cp.normNuc,
    "columns": lambda w: cp.sum(cp.norm2(w, axis=0)),
}


def norm_of(name):
    return Tested({"strength": 0.05}, lambda w, strength: strength * NORMS[name](w))


def weighted_groups(w, strength, groups):
    return strength * sum(np.sqrt(size) * norm for norm, size in zip(*group_norms(w, groups), strict=True))


def squared_groups(w, strength, groups=None):
    return strength * cp.square(sum(group_norms(w, groups)[0]) if groups else NORMS["columns"](w))


def relative_entropy(w, strength, cap=1.0):
    entropy = cp.sum(cp.entr(w))
    return strength * (np.log(w.size) - entropy), [w >= 0, w <= cap, cp.sum(w) == 1]


REGULARIZERS = {
    "none": Tested({}, lambda w: 0),
    "l1": norm_of("l1"),
    "l2": Tested({"strength": 0.05}, lambda w, strength: strength / 2 * cp.sum_squares(w)),
    "elastic_net": Tested({"l1": 0.03, "l2": 0.1}, lambda w, l1, l2: l1 * NORMS["l1"](w) + l2 / 2 * cp.sum_squares(w)),
    "box": Tested({"lower": -0.4, "upper": 0.7}, lambda w, lower, upper: (0, [w >= lower, w <= upper])),
    "nonneg": Tested({}, lambda w: (0, [w >= 0])),
    "l2_norm": norm_of("l2"),
    "linf_norm": norm_of("linf"),
    "group_lasso": Tested({"strength": 0.05, "groups": 2}, weighted_groups),
    "l21": norm_of("l21"),
    "l1inf": norm_of("l1inf"),
    "trace_norm": norm_of("trace"),
    "exclusive_lasso": Tested(
        {"strength": 0.05}, lambda w, strength: strength * cp.sum_squares(cp.sum(cp.abs(w), axis=1))
    ),
    "squared_group": Tested({"strength": 0.05}, squared_groups),
    "norm_power": Tested(
        {"strength": 0.05, "norm": "l2"},
        lambda w, strength, norm, power=2: strength * cp.power(NORMS[norm](w), power),
    ),
    "entropy_simplex": Tested({"strength": 0.05, "cap": 0.3}, relative_entropy),
    "elastic_net_ball": Tested(
        {"gamma": 0.3, "radius": 0.5},
        lambda w, gamma, radius: (0, [gamma * NORMS["l1"](w) + cp.sum_squares(w) / 2 <= radius]),
    ),
}

L1, L2 = {"name": "l1", "strength": 0.01}, {"name": "l2", "strength": 0.05}
NET = {"name": "elastic_net", "l1": 0.01, "l2": 0.05}
GROUPS = {"name": "group_lasso", "strength": 0.01, "groups": 5}  # of 12 coordinates: the last group is shorter


MULTI_TASK = [("squared_multi", {"name": "l21", "strength": 0.05})]
SOFTMAX = [("multinomial_logistic", psi) for psi in (L1, L2, {"name": "l21", "strength": 0.02})]
LIBLINEAR = "hinge", "squared_hinge", "logistic", "epsilon_insensitive", "max_of_hinge"


def peer(accuracy, *problems):
    """A solver of another library."""
    return Tested({}, Reaches(accuracy, problems=problems))


SOLVERS = {
    "accelerated_prox_sdca": Tested({}, Reaches(0.5)),
    "adagrad": Tested({}, Reaches(0.1)),
    "agd": Tested({}, Reaches(1e-5)),
    "agm_ef": Tested({}, Reaches(1e-2)),
    "agm_ef_1": Tested({}, Reaches(1e-2)),
    "agd_adaptive": Tested({}, Reaches(0.1)),
    "apcg": Tested({}, Reaches(1e-9)),
    "apcg_bias": Tested({}, Reaches(1e-3)),
    "apcg_budget": Tested({}, Reaches(1e-3)),
    "apcg_shrinking": Tested({}, Reaches(1e-3)),
    "bcfw": Tested({}, Reaches(1e-9)),
    "coordinate_descent": Tested({}, Reaches(1e-6)),
    "cutting_planes": Tested({}, Reaches(1e-6, 30)),
    "direct": Tested({}, Reaches(1e-10)),
    "excessive_gap": Tested({}, Reaches(0.4)),
    "fista": Tested({}, Reaches(1e-2)),
    "fobos": Tested({}, Reaches(0.5, 1000)),
    "gd": Tested({}, Reaches(0.1)),
    "lbfgs": Tested({}, Reaches(1e-9)),
    "newton": Tested({}, Reaches(1e-9)),
    "newton_cg": Tested({}, Reaches(1e-9)),
    "newton_pcg": Tested({}, Reaches(1e-9)),
    "pdprox_accelerated": Tested({}, Reaches(0.5)),
    "pdprox_dual": Tested({}, Reaches(0.5)),
    "pdprox_preconditioned": Tested({}, Reaches(0.5)),
    "pdprox_primal": Tested({}, Reaches(0.5)),
    "pdprox_restarted": Tested({}, Reaches(0.5)),
    "pegasos": Tested({}, Reaches(0.01)),
    "prox_newton": Tested({}, Reaches(1e-9)),
    "prox_sdca": Tested({}, Reaches(1e-3)),
    "prox_sdca_shrinking": Tested({}, Reaches(1e-3)),
    "rda": Tested({}, Reaches(0.6, 1000)),
    "sag": Tested({}, Reaches(0.3)),
    "saga": Tested({}, Reaches(0.1)),
    "sgd": Tested({}, Reaches(0.2)),  # far from the optimum of ordinal_hinge without a regularizer, at step_scale 1
    "ssnal": Tested({}, Reaches(1e-9)),
    "ssnal_multiclass": Tested({}, Reaches(1e-9)),
    "subgradient": Tested({}, Reaches(0.1, 1000)),
    "svrg": Tested({}, Reaches(0.1)),
    "working_sets": Tested({}, Reaches(1e-9)),
    "celer": peer(1e-9, ("squared", L1), ("squared", NET), ("squared", GROUPS), ("logistic", L1)),
    "clarabel": peer(1e-9, ("hinge", L2), ("absolute", L1), ("ordinal_hinge", L2), ("squared", NET)),
    "cyanure": peer(
        1e-7,
        ("squared", L1),
        ("squared", L2),
        ("squared_hinge", L2),
        ("logistic", L1),
        ("logistic", L2),
        *MULTI_TASK,
        *SOFTMAX,
    ),
    "highs": peer(1e-9, ("hinge", L1), ("absolute", L1), ("ordinal_hinge", L1)),
    "liblinear": peer(1e-7, *((loss, L2) for loss in LIBLINEAR)),
    "liblinear_l1": peer(1e-7, ("squared_hinge", L1), ("logistic", L1)),
    "liblinear_newton": peer(1e-9, ("squared_hinge", L2), ("logistic", L2)),
    "skglm": peer(1e-9, *((loss, psi) for loss in ("squared", "logistic") for psi in (L1, NET, GROUPS)), *MULTI_TASK),
    "sklearn_cd": peer(1e-9, ("squared", L1), ("squared", NET), *MULTI_TASK),
    "sklearn_lbfgs": peer(1e-9, ("logistic", L2), ("multinomial_logistic", L2)),
    "sklearn_lsqr": peer(1e-9, ("squared", L2)),
    "sklearn_newton": peer(1e-9, ("logistic", L2), ("multinomial_logistic", L2)),
    "sklearn_saga": peer(1e-6, ("logistic", L1), ("logistic", L2), ("logistic", NET), ("multinomial_logistic", L2)),
}
OWN_SOLVERS = [name for name, tested in SOLVERS.items() if not tested.oracle.problems]


def reduced(accuracy, problem, instead=(), solver="prox_sdca", **example):
    return Tested(example, Reaches(accuracy, 600, (problem,), solver, instead or problem))


REDUCTIONS = {
    "none": reduced(1e-3, ("squared", "l2")),
    "adapt_reg": reduced(1e-3, ("squared", "l1"), sigma=0.3),
    "adapt_smooth": reduced(5e-3, ("hinge", "l2"), mu=0.8, solver="apcg"),
    "joint_adapt": reduced(0.03, ("absolute", "l1"), sigma=0.3, mu=0.8),
    "auto": reduced(0.03, ("absolute", "l1")),
    "accelerate": reduced(1e-3, ("logistic", "l2"), solver="saga"),
    "proximal_point": reduced(1e-6, ("squared", "l1")),
    "joint_proximal_point": reduced(1e-3, ("absolute", "l1")),
    "regularize": reduced(1e-3, ("squared", {"name": "l1", "strength": 0.03}), ("squared", "elastic_net"), sigma=0.1),
    "solve_dual": reduced(1e-3, ("squared", "l2"), solver="fista"),
    "smooth": reduced(1e-3, ("hinge", "l2"), ("smoothed_hinge", "l2"), mu=1.0),
}
TABLE = {"loss": LOSSES, "regularizer": REGULARIZERS, "solver": SOLVERS, "reduction": REDUCTIONS}


def hinge_l1_optimum(X, y, strength):
    """min (1/n) sum s + strength sum (p + q), s >= 1 - y x.(p - q), by linear programming."""
    n, d = X.shape
    signed, cost = y[:, None] * X, np.concatenate([np.full(n, 1.0 / n), np.full(2 * d, strength)])
    return linprog(cost, A_ub=np.hstack([-np.eye(n), -signed, signed]), b_ub=-np.ones(n)).fun


@cache
def cvxpy_optimum(loss, regularizer_name, **sizes):
    """(minimum, minimizer) of `problem(loss, example, **sizes)` by cvxpy's interior point method."""
    mapping = example("regularizer", regularizer_name)
    p = problem(loss, mapping, **sizes)
    X, y = np.stack([p.X.forward(e) for e in np.eye(p.shape[0])], axis=1), p.y
    w = cp.Variable(p.shape[0])
    psi, constraints = cvxpy_regularizer(mapping, w)
    task = cp.Problem(cp.Minimize(cvxpy_loss(loss, X @ w, y) / p.n + psi), constraints)
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return task.value, w.value


# the models of working sets


def by_columns(A, weights):
    """Both forms of sum_i weights[i] a_i a_i^T by the columns of A (n, m), which are stored in another order."""
    n, m = A.shape
    order = np.random.default_rng(3).permutation(m)
    place, stored = 1 + np.argsort(order), np.column_stack([np.full(n, 7.0), A[:, order]]).T.copy()
    indptr = np.append(0, np.cumsum(np.count_nonzero(stored, axis=1)))
    indices = np.nonzero(stored)[1].astype(np.uint32)
    weighted = (np.sqrt(weights) * stored)[stored != 0.0]
    return ByColumns(indptr, indices, weighted / 3.0, place, 9.0), ByLines(stored, place, weights)


def chosen_of(X):
    """Columns of X of which none is chosen yet."""
    columns = X.columns()
    return Chosen(X, np.diff(columns.indptr), np.asarray(columns.power(2).sum(axis=0)))


# the dual in plain numpy


def derivatives(p, z):
    """phi^mu'(z_i), one by one."""
    return np.array([p.loss.dual_point(a, b, p.mu) for a, b in zip(z, p.y, strict=True)])


def primal(p, w, X):
    """P(w) for the fields of a Problem, mu = 0, and a dense X."""
    loss = np.mean([p.loss.value(z, y) for z, y in zip(X @ w, p.y, strict=True)])
    center = np.zeros_like(w) if p.center is None else p.center
    psi = sum(p.regularizer.value(x) for x in w)
    return loss + psi + p.l2 / 2 * w @ w + p.kappa / 2 * np.sum((w - center) ** 2) + p.offset


def dual_point(p, b, X):
    """w = grad Psi*(-(1/n) X^T b), one coordinate after the other; needs s > 0."""
    s = p.l2 + p.kappa
    center = np.zeros(X.shape[1]) if p.center is None else p.center
    u = (-X.T @ b / len(b) + p.kappa * center) / s
    return np.array([p.regularizer.prox(x, 1 / s) for x in u])


# solvers on full vectors


def apcg(p, X, b, orders):
    """Algorithm 2 of Lin, Lu and Xiao as printed for -D = f + sum Psi_i; yields x after each of `orders`."""
    n, s, gamma, rows = len(b), p.l2 + p.kappa, p.loss.conjugate_convexity + p.mu, np.sum(X**2, axis=1)
    sigma = min(s * gamma * n / (rows.max() + s * gamma * n), 0.99)
    alpha = np.sqrt(sigma) / n
    L = (rows + s * gamma * n) / (s * n**2)
    x, z = b.copy(), b.copy()
    for order in orders:
        for i in order:
            y = (x + alpha * z) / (1 + alpha)
            gradient = (gamma * y[i] - X[i] @ dual_point(p, y, X)) / n
            new = (1 - alpha) * z + alpha * y
            # argmin_t (n alpha L_i/2)(t - new_i)^2 + gradient t + (phi*(t) + (mu - gamma)/2 t^2)/n, times n
            c = n * n * alpha * L[i]
            new[i] = p.loss.dual_point(c * new[i] - n * gradient, p.y[i], c + p.mu - gamma)
            x = y + n * alpha * (new - z) + n * alpha**2 * (z - y)
            z = new
        yield x


def prox_Psi(p, x, t):
    """argmin_u t Psi(u) + ||u - x||^2/2 by completing the square."""
    center = np.zeros_like(x) if p.center is None else p.center
    scale = 1 + t * (p.l2 + p.kappa)
    return np.array([p.regularizer.prox(u, t / scale) for u in (x + t * p.kappa * center) / scale])


def stochastic_steps(p, X, w, order, eta, g, theta):
    """w = prox_{eta Psi}(w - eta (g + (phi'(x_i.w) - theta_i) x_i)) for each i of `order`."""
    for i in order:
        delta = p.loss.dual_point(X[i] @ w, p.y[i], p.mu) - theta[i]
        w = prox_Psi(p, w - eta * (g + delta * X[i]), eta)
    return w


def table_steps(p, X, w, order, eta, theta, biased):
    """SAGA or SAG (biased: the new mean itself) for each i of `order`; renews the table theta."""
    for i in order:
        mean = X.T @ theta / len(theta)
        delta = p.loss.dual_point(X[i] @ w, p.y[i], p.mu) - theta[i]
        theta[i] += delta
        direction = X.T @ theta / len(theta) if biased else mean + delta * X[i]
        w = prox_Psi(p, w - eta * direction, eta)
    return w


def adagrad_steps(p, X, w, order, eta, delta, squares):
    """Composite mirror descent in the metric delta + sqrt(squares); adds to squares."""
    for i in order:
        g = p.loss.dual_point(X[i] @ w, p.y[i], p.mu) * X[i]
        squares += g * g
        steps = eta / (delta + np.sqrt(squares))
        w = np.array([prox_Psi(p, w - steps * g, t)[j] for j, t in enumerate(steps)])
    return w
