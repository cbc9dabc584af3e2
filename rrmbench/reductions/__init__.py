"""Reductions, one file each: functions from solver to solver.

    @reduction(gives={"strongly_convex"})
    def mine(solve, *, sigma=1e-3):
        def reduced(problem, start, rng):
            yield from solve(problem.regularized(sigma), start, rng)
        return reduced

A reduction changes the problem that the solver sees; curves and certificates are measured on the original one. `solve`
carries what the solver `needs` and `gives` as attributes.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
