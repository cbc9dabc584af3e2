"""Solvers, one file each: generators of iterates.

    @solver(needs={"smooth", "rows"})
    def mine(problem, start, rng, *, step_scale=1.0):
        ...                                            # set-up is part of the clock
        yield Iterate(w, b, passes=0, checks=0)        # once before any work
        while True: ...; yield Iterate(w, b, passes, checks)   # at least once per pass

A solver never stops, times, prints or evaluates the objective. `start` is None or an Iterate to continue from:
`problem.start(start)` is a new w to begin with, in the domain of Psi. A pass is one product with X and one with X^T, so
2 nnz entries read; products that papers do not count are checks; a product with 0 is free. `problem.counted()` is a
view of the problem whose `X.passes` counts the products made through it. `needs` are traits of the problem (see
`rrmbench.problem.traits.traits`), "Hinge or Logistic" being met by either.

`gives={"dual"}` promises that each iterate is a pair w = grad Psi*(-(1/n) X^T b), {"gap"} that it has `objectives`,
{"ground"} that the method takes the steps of an entropy where a dual has no other; with {"restarts"} a solver that
counts passes may yield iterates that are `restarted`; {"full_steps"} says of one that draws random numbers and needs
rows that its steps are of many samples at once. `choose` is a function of the parameters,
f(**parameters) -> (needs, loses), for what depends on them.
"""

import importlib
import pkgutil

for _module in pkgutil.walk_packages(__path__, f"{__name__}."):
    importlib.import_module(_module.name)
