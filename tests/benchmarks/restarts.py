"""Passes of pdprox_restarted with and without the bound on the ratio of its steps, on 49 problems.

    RRMBENCH_DATA=FOLDER python tests/benchmarks/restarts.py [passes [part of a name ...]]

For each problem: the passes to a relative gap of 1e-4, 1e-6 and 1e-9 without the bound, with it, and their ratio. What
was not reached within so many passes (10,000) is "-" with the last gap, and without a ratio. The data are the first
rows of small tables and texts of the LIBSVM page; `body` is made like its bodyfat: 14 measurements of 252 people, all
near to their maximum and correlated, and a density near 1, which made the ratio run away.
"""

import lzma
import os
import sys
from math import inf, nan
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array, diags_array
from sklearn.datasets import load_svmlight_file

from rrmbench import registry
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.solvers.pdprox import step_sizes

GOALS = (1e-4, 1e-6, 1e-9)
EPSILON = {"name": "epsilon_insensitive", "epsilon": 0.1}
ROWS = {"cadata": 600, "splice": 500, "svmguide3": 600, "mushrooms": 500, "w1a": 500, "reuters_acq": 300, "a1a": 500}
PROBLEMS = [  # data, how y is scaled, loss, regularizer, strength, size of the groups
    *[("body", "", "absolute", name, 0.05, size) for name, size in (("l1", None), ("group_lasso", 2))],
    ("body", "", "absolute", "l1", 0.005, None),
    ("body", "", EPSILON, "l1", 0.005, None),
    *[("housing_scale", "standard", "absolute", "l1", strength, None) for strength in (0.05, 0.005)],
    *[("housing_scale", "standard", EPSILON, *rest) for rest in (("l1", 0.01, None), ("linf_norm", 0.05, None))],
    ("housing_scale", "raw", "absolute", "l1", 0.05, None),
    ("housing_scale", "raw", EPSILON, "linf_norm", 0.05, None),
    *[("housing_scale", "maximum", "absolute", "l1", strength, None) for strength in (0.05, 0.001)],
    *[("cadata", "standard", "absolute", "l1", strength, None) for strength in (0.05, 0.002)],
    *[("cadata", "standard", "absolute", "group_lasso", *rest) for rest in ((0.05, 4), (0.02, 2))],
    ("cadata", "standard", "absolute", "l2_norm", 0.02, None),
    ("cadata", "standard", EPSILON, "linf_norm", 0.01, None),
    *[("cadata", "maximum", "absolute", "l1", strength, None) for strength in (0.05, 0.005)],
    *[("cadata", "maximum", "absolute", "group_lasso", strength, 2) for strength in (0.05, 0.005)],
    ("cadata", "raw", "absolute", "l1", 0.05, None),
    *[("diabetes_scale", "", "absolute", "l1", strength, None) for strength in (0.05, 0.005)],
    *[("diabetes_scale", "", "hinge", "l1", strength, None) for strength in (0.01, 0.001)],
    ("diabetes_scale", "", "hinge", "group_lasso", 0.01, 2),
    ("diabetes_scale", "", "squared", "linf_norm", 0.05, None),
    *[("sonar_scale", "", "absolute", "group_lasso", strength, 4) for strength in (0.05, 0.01)],
    ("sonar_scale", "", "hinge", "l1", 0.01, None),
    *[("heart_scale", "", "hinge", *rest) for rest in (("linf_norm", 0.01, None), ("l1", 0.005, None))],
    ("heart_scale", "", EPSILON, "l1", 0.01, None),
    ("ionosphere_scale", "", "hinge", "group_lasso", 0.01, 17),
    *[("ionosphere_scale", "", loss, "l1", 0.01, None) for loss in ("squared", "absolute")],
    *[("australian", "", *rest) for rest in (("hinge", "l1", 0.01, None), ("absolute", "l2", 0.001, None))],
    ("splice", "", "hinge", "l1", 0.01, None),
    *[("svmguide3", "", *rest) for rest in (("hinge", "l1", 0.002, None), ("absolute", "group_lasso", 0.01, 7))],
    *[("mushrooms", "", "hinge", *rest) for rest in (("l1", 0.001, None), ("linf_norm", 0.01, None))],
    *[("w1a", "", loss, "l1", 0.001, None) for loss in ("hinge", "squared")],
    ("reuters_acq", "", "hinge", "l1", 0.001, None),
    ("a1a", "", "absolute", "l1", 0.01, None),
]


def body(rows=252, columns=14):
    rng = np.random.default_rng(0)
    size, spread = rng.normal(size=rows), rng.uniform(0.04, 0.4, columns)
    X = np.abs(1.0 + spread * (0.75 * size[:, None] + 0.66 * rng.normal(size=(rows, columns))))
    fat = 19.0 + 8.0 * (0.8 * size + 0.6 * rng.normal(size=rows))
    X[:, 0] = np.abs(fat)
    return csr_array(X), 1.1 - 0.0023 * fat


def table(name):
    file = next(Path(folder) / f"{name}.xz" for folder in os.environ["RRMBENCH_DATA"].split(os.pathsep) if folder)
    with lzma.open(file) as stream:
        X, y = load_svmlight_file(stream)
    return csr_array(X)[: ROWS.get(name)], y[: ROWS.get(name)]


def problem(name, scaled, loss, regularizer, strength, size):
    X, y = body() if name == "body" else table(name)
    if scaled == "standard":
        y = (y - y.mean()) / y.std()
    elif scaled == "maximum":
        y = y / np.abs(y).max()
    elif name != "body" and not scaled:
        y = np.where(y == y.max(), 1.0, -1.0)
    greatest = abs(X).max(axis=0).toarray().ravel()
    X = X @ diags_array(1.0 / np.where(greatest > 0.0, greatest, 1.0))
    groups = {} if size is None else {"groups": size}
    return Problem(X, y, loss, {"name": regularizer, "strength": strength} | groups)


def passes(p, farthest, most):
    """(passes to each goal, the last relative gap) with a bound of `farthest` on the ratio."""
    step_sizes.FARTHEST, found, due, first = farthest, [], 0.0, p.primal(p.start())
    for it in registry.build_solver("pdprox_restarted")(p, None, Rng(0)):
        if it.passes < due and it.passes < most:
            continue
        due = 1.02 * it.passes + 2.0
        gap = p.gap(it.w, it.b) / first
        found += [it.passes] * (sum(gap <= goal for goal in GOALS) - len(found))
        if len(found) == len(GOALS) or it.passes >= most:
            return found + [nan] * (len(GOALS) - len(found)), gap
    raise AssertionError("the solver ended")


def shown(found, gap):
    return " ".join(f"{number:7.0f}" if number == number else "      -" for number in found) + f" {gap:8.0e}"


def main(most=10_000, *parts):
    bound = step_sizes.FARTHEST
    print(f"{'':44s}{'without the bound, last gap':33s}{f'within a factor {bound:g}':33s}ratios")
    for setting in PROBLEMS:
        name, scaled, loss, regularizer, strength, _ = setting
        label = f"{name} {scaled} {loss if isinstance(loss, str) else 'insensitive'} {regularizer} {strength:g}"
        if parts and not any(part in label for part in parts):
            continue
        p = problem(*setting)
        before, now = passes(p, inf, float(most)), passes(p, bound, float(most))
        ratios = " ".join(
            f"{b / a:5.2f}" if b / a == b / a else "    -" for a, b in zip(before[0], now[0], strict=True)
        )
        print(f"{label:44s}{shown(*before)} {shown(*now)}  {ratios}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
