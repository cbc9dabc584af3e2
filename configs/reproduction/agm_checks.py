"""What the claims of [AGM] need beyond stored results: short runs of AGM-EF in this process, and exact constants."""

import importlib.util
from itertools import islice
from math import inf, log
from pathlib import Path

import numpy as np
from measures import head, row

from rrmbench import registry
from rrmbench.numerics.prox_weights import by_direction, by_norms
from rrmbench.numerics.random import Rng
from rrmbench.solvers.batch.agm import WholePast, rho_bound, steps

CHECKED = (1, 2, 5, 10, 20, 50, 100, 200)
SLOPE = (10, 300)  # steps between which the power of k is measured
MOST = 1500  # steps for the optimum of a smoothed problem
INNER = Path(__file__).parents[2] / "tests" / "benchmarks" / "inner.py"


class Noted(WholePast):
    """The estimate function of `agm_ef`; it notes L and the trials of each accepted step.

    With lambda_1 = 0, L = rho' in the first step, and then c/theta^2 - rho/theta - lambda_2.
    """

    def __init__(self, *given):
        super().__init__(*given)
        self.rho, self.trials, self.noted = inf, 0, []

    def minimize(self, step, V, v):
        self.step, self.trials = step, self.trials + 1
        return super().minimize(step, V, v)

    def accept(self, z, dz, model):
        super().accept(z, dz, model)
        theta, lambda_2 = self.step.theta, self.problem.strong_convexity
        first = self.rho == inf
        L = self.step.rho if first else ((self.rho + lambda_2) / theta - self.rho) / theta - lambda_2
        self.noted.append((L, self.trials))
        self.rho, self.trials = self.step.rho, 0


def steps_of(problem, number):
    """(L_k, trials) of the first accepted steps with an adaptive L, as two arrays."""
    made = []

    def memory(*given):
        made.append(Noted(*given))
        return made[0]

    iterates = steps(problem, None, memory, "adaptive", 2.0, 1.1, "psi", "auto")
    for _ in iterates:
        if made[0].noted[number - 1 :]:
            break
    return np.array(made[0].noted).T


def greatest_square(X, weights, centred):
    """lambda_max of (1/n) sum x_i x_i^T / weights_i, of centred rows if asked for, by 60 steps of the power method."""
    v = np.random.default_rng(0).standard_normal(X.shape[1:])
    size = 0.0
    for _ in range(60):
        z = X.forward(v / np.linalg.norm(v))
        v = X.adjoint((z - centred * z.mean()) / weights) / X.shape[0]
        size = float(np.linalg.norm(v))
    return size


def exact_over_bound(problem):
    """lambda_max((1/n) X^T X) over the bound S of it, which are L of the primal and of the dual, relative to theirs."""
    return greatest_square(problem.X, np.ones(problem.n), problem.minimized_bias) / problem.losses.S


def weights_of(problem):
    """The exact L with weights by norms, by direction, and |x_i.v| as printed, each over that of equal weights."""
    X, n = problem.X, problem.n
    equal = greatest_square(X, np.ones(n), False)
    v = X.adjoint(np.ones(n))
    for _ in range(60):
        v = X.adjoint(X.forward(v / np.linalg.norm(v)))
    printed = np.abs(X.forward(v))
    printed = printed / printed.mean()
    ratios = [greatest_square(X, omega, False) / equal for omega in (by_norms(X.sqnorms), by_direction(X))]
    zero = printed == 0.0
    if np.any(X.sqnorms[zero] > 0.0):
        return [*ratios, inf]
    return [*ratios, greatest_square(X, np.where(zero, 1.0, printed), False) / equal]


def rates_of(problem):
    """(greatest (P - D*) / (rho_k ||w*||^2/2) with the fixed L, measured rate, its theory) of a smooth problem.

    The rate with an adaptive L is the factor per step where lambda > 0, else the power of k.
    """
    values, dual, w = [], -inf, None
    for x in islice(run(problem, "adaptive"), MOST):
        if x.objectives is None:
            continue
        primal, bound = x.objectives()
        if not values or primal != values[-1]:  # a rejected trial shows the iterate before it again
            values.append(primal)
        if primal <= min(values):
            w = x.w.copy()
        dual = max(dual, bound)
        if primal - dual <= 1e-10:
            break
    distance = 0.5 * float(np.vdot(w, w))
    s, greatest = problem.strong_convexity, 0.0
    for k, x in enumerate(islice(run(problem, "bound"), CHECKED[-1] + 1)):
        if k in CHECKED:
            away = max(problem.primal(x.w) - dual, 0.0)
            greatest = max(greatest, away / float(rho_bound(float(k), problem.L, 0.0, s) * distance))
    if s == 0.0:
        gaps = np.array(values) - min(values)
        return greatest, log(gaps[SLOPE[1] - 1] / gaps[SLOPE[0] - 1]) / log(SLOPE[1] / SLOPE[0]), -2.0
    gaps = np.array(values) - dual
    last = int(np.flatnonzero(gaps >= max(1e-7 * gaps[0], 3.0 * float(gaps.min())))[-1])
    first = int(np.argmax(gaps <= 1e-2 * gaps[0]))
    factor = (gaps[last] / gaps[first]) ** (1.0 / max(last - first, 1))
    return greatest, float(factor), (1.0 + np.sqrt(s / (4.0 * problem.L))) ** -2.0


def run(problem, step):
    solver = registry.build_solver({"name": "agm_ef", "step": step}, {"name": "none"})
    return solver(problem, None, Rng(0))


def inner():
    """CPU time of the O(n) inner solvers next to versions of them that sort."""
    spec = importlib.util.spec_from_file_location("inner", INNER)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    head("n", "solver", "ns per entry: O(n) / sorting", "verdict")
    for n in (1_000, 10_000, 100_000, 1_000_000):
        for label, linear, sorting in module.cases(n):
            times = [1e9 * module.seconds(function) / n for function in (linear, sorting)]
            word = "holds" if times[0] <= times[1] else "does not hold"
            row(f"{n:.0e}", label, f"{times[0]:.1f} / {times[1]:.1f}", word)
    print()
