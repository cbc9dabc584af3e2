"""Slow, plain restatements of the mathematics, that the tests compare the package with."""

from functools import cache

import cvxpy as cp
import numpy as np

from rrmbench import registry
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, build_regularizer

# A value for each parameter that has no default.
EXAMPLES = {"strength": 0.05, "l1": 0.03, "l2": 0.1, "lower": -0.4, "upper": 0.7, "groups": 2, "norm": "l2"}


def example(kind, name):
    """The mapping of a component with example values for the parameters that it must have."""
    component = registry.lookup(kind, name)
    required = [p.name for p in component.parameters.values() if p.required]
    return {"name": name, **{key: EXAMPLES[key] for key in required}}


def scalar_losses():
    """The names of all losses over single outputs."""
    return [n for n in registry.names("loss") if getattr(build_loss(n)[0], "outputs", "scalar") == "scalar"]


def coordinate_regularizers():
    """The example mappings of all regularizers over single coordinates whose parameters are plain numbers."""
    mappings = []
    for name in registry.names("regularizer"):
        required = [p.name for p in registry.lookup("regularizer", name).parameters.values() if p.required]
        if all(key in EXAMPLES for key in required):
            mapping = example("regularizer", name)
            if getattr(build_regularizer(mapping)[0], "separable", True):
                mappings.append(mapping)
    return mappings


def labels(loss, z):
    """Labels fit for `loss` (a name), made of the numbers z."""
    return np.where(z > 0.0, 1.0, -1.0) if "binary" in registry.lookup("loss", loss).needs else z


def data(n, d, density=1.0, seed=0, loss="squared"):
    """A random X (n, d) with about `density` of its entries, rows of different lengths, and labels."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < density) * rng.uniform(0.3, 1.5, (n, 1))
    # so much noise that classes are not separable, else unregularized problems would have no solution
    return X, labels(loss, X @ rng.standard_normal(d) + 3.0 * rng.standard_normal(n))


def problem(loss, regularizer, n=40, d=12, density=0.5, seed=0):
    """A small random problem; `loss` a name, `regularizer` a mapping."""
    return Problem(*data(n, d, density, seed, loss), loss, regularizer)


class Counting:
    """A data operator that counts its products, and how many of them are with 0, where the result is known."""

    def __init__(self, X):
        self.X, self.shape, self.sqnorms, self.products, self.zeros = X, X.shape, X.sqnorms, 0, 0
        if hasattr(X, "rows"):
            self.rows = X.rows

    def forward(self, w):
        return self._count(w, self.X.forward)

    def adjoint(self, b):
        return self._count(b, self.X.adjoint)

    def _count(self, x, multiply):
        self.products += 1
        self.zeros += not x.any()
        return multiply(x)


# cvxpy


def cvxpy_loss(name, z, y):
    """The sum of a loss over samples as a cvxpy expression, by its formula in the papers."""
    margin, residual = cp.multiply(y, z), z - y
    return {
        "squared": lambda: cp.sum_squares(residual) / 2,
        "logistic": lambda: cp.sum(cp.logistic(-margin)),
        "hinge": lambda: cp.sum(cp.pos(1 - margin)),
        "smoothed_hinge": lambda: cp.sum(cp.huber(cp.pos(1 - margin), 1)) / 2,
        "squared_hinge": lambda: cp.sum_squares(cp.pos(1 - margin)) / 2,
        "absolute": lambda: cp.norm1(residual),
        "huber": lambda: cp.sum(cp.huber(residual, 1)) / 2,
        "epsilon_insensitive": lambda: cp.sum(cp.pos(cp.abs(residual) - 0.1)),
        "quantile": lambda: cp.sum(cp.abs(residual)) / 2,
        "generalized_hinge": lambda: cp.sum(cp.maximum(0, 1 - margin, 1 - 2 * margin)),
        "ordinal_hinge": lambda: sum(
            cp.sum(cp.pos(1 - cp.multiply(np.where(y > r, 1.0, -1.0), z - theta)))
            for r, theta in enumerate((0.0, 3.0, 6.0, 9.0), 1)
        ),
    }[name]()


def cvxpy_regularizer(mapping, w):
    """(expression, constraints) of a regularizer's mapping for a variable w, a vector or a matrix."""
    get = mapping.get
    entries = cp.vec(w, order="C") if w.ndim == 2 else w

    def groups(size):
        return [entries[k : k + size] for k in range(0, w.size, size)]

    def norm(name):
        return {
            "l1": lambda: cp.sum(cp.abs(w)),
            "l2": lambda: cp.norm2(entries),
            "linf": lambda: cp.max(cp.abs(w)),
            "l21": lambda: cp.sum(cp.norm2(w, axis=1)),
            "l1inf": lambda: cp.sum(cp.max(cp.abs(w), axis=1)),
            "trace": lambda: cp.normNuc(w),
            "columns": lambda: cp.sum(cp.norm2(w, axis=0)),
            "groups": lambda: sum(cp.norm2(g) for g in groups(get("groups"))),
            "weighted": lambda: sum(np.sqrt(g.size) * cp.norm2(g) for g in groups(get("groups"))),
        }[name]()

    square, strength = cp.sum_squares(w), get("strength")
    psi, constraints = {
        "none": lambda: (0, []),
        "l1": lambda: (strength * norm("l1"), []),
        "l2": lambda: (strength / 2 * square, []),
        "elastic_net": lambda: (get("l1") * norm("l1") + get("l2") / 2 * square, []),
        "box": lambda: (0, [w >= get("lower"), w <= get("upper")]),
        "nonneg": lambda: (0, [w >= 0]),
        "l2_norm": lambda: (strength * norm("l2"), []),
        "linf_norm": lambda: (strength * norm("linf"), []),
        "group_lasso": lambda: (strength * norm("weighted"), []),
        "l21": lambda: (strength * norm("l21"), []),
        "l1inf": lambda: (strength * norm("l1inf"), []),
        "trace_norm": lambda: (strength * norm("trace"), []),
        "exclusive_lasso": lambda: (strength * cp.sum_squares(cp.sum(cp.abs(w), axis=1)), []),
        "squared_group": lambda: (strength * cp.square(norm("groups" if get("groups") else "columns")), []),
        "norm_power": lambda: (strength * cp.power(norm(get("norm")), get("power", 2)), []),
    }[mapping["name"]]()
    domain = get("domain", {})
    if "box" in domain:
        constraints += [
            side
            for side, end in zip((w >= domain["box"][0], w <= domain["box"][1]), domain["box"], strict=True)
            if np.isfinite(end)
        ]
    if "ball" in domain:
        constraints += [cp.norm2(entries) <= domain["ball"]]
    return psi, constraints


@cache
def cvxpy_optimum(loss, regularizer_name, **sizes):
    """(minimum, minimizer) of `problem(loss, example, **sizes)` by cvxpy's interior point method."""
    mapping = example("regularizer", regularizer_name)
    p = problem(loss, mapping, **sizes)
    X, y = p.X.forward(np.eye(p.shape[0])), p.y
    w = cp.Variable(p.shape[0])
    psi, constraints = cvxpy_regularizer(mapping, w)
    task = cp.Problem(cp.Minimize(cvxpy_loss(loss, X @ w, y) / p.n + psi), constraints)
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    return task.value, w.value


# the dual in plain numpy


def derivatives(p, z):
    """phi^mu'(z_i), one by one."""
    return np.array([p.loss.dual(a, b, p.mu) for a, b in zip(z, p.y, strict=True)])


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
    n, s, gamma, rows = len(b), p.l2 + p.kappa, p.loss.convexity + p.mu, np.sum(X**2, axis=1)
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
            new[i] = p.loss.dual(c * new[i] - n * gradient, p.y[i], c + p.mu - gamma)
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
        delta = p.loss.dual(X[i] @ w, p.y[i], p.mu) - theta[i]
        w = prox_Psi(p, w - eta * (g + delta * X[i]), eta)
    return w


def table_steps(p, X, w, order, eta, theta, biased):
    """SAGA or SAG (biased: the new mean itself) for each i of `order`; renews the table theta."""
    for i in order:
        mean = X.T @ theta / len(theta)
        delta = p.loss.dual(X[i] @ w, p.y[i], p.mu) - theta[i]
        theta[i] += delta
        direction = X.T @ theta / len(theta) if biased else mean + delta * X[i]
        w = prox_Psi(p, w - eta * direction, eta)
    return w


def adagrad_steps(p, X, w, order, eta, delta, squares):
    """Composite mirror descent in the metric delta + sqrt(squares); adds to squares."""
    for i in order:
        g = p.loss.dual(X[i] @ w, p.y[i], p.mu) * X[i]
        squares += g * g
        steps = eta / (delta + np.sqrt(squares))
        w = np.array([prox_Psi(p, w - steps * g, t)[j] for j, t in enumerate(steps)])
    return w
