"""Reductions, one file each: functions from solver to solver.

    @reduction(gives={"strongly_convex"})
    def mine(solve, *, sigma=1e-3):
        def reduced(problem, start, rng):
            yield from solve(problem.regularized(sigma), start, rng)
        return reduced

A reduction changes the problem that the solver sees; curves and certificates are measured on the original one. `solve`
is a `rrmbench.components.Solver`, which says what it `needs` and `gives`. What is returned is a function of (problem,
start, rng), which becomes a Solver without theorems, or a Solver; either needs what `solve` needs and the reduction
does not give. `gives={"square"}` says that a square is added to whatever Psi is there, so that steps of an entropy are
lost; {"smoothing"} that all losses are smoothed, so that solvers that know certain losses only are lost. `bound` is its
theorem and `epochs_over` says when that counts: `rrmbench.problem.constants`.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
