"""Kernels are compiled, or loaded, before the clock starts."""

from itertools import takewhile

import pytest

from rrmbench import registry
from rrmbench.bench.trace import warm_up
from rrmbench.extending import problems
from rrmbench.numerics import jit
from rrmbench.numerics.random import Rng

PASSES = 60.0
NAMES = [n for n in registry.names("solver") if ".peers." not in registry.lookup("solver", n).build.__module__]
OURS = [name for name in NAMES if registry.lookup("solver", name).build.__module__.startswith("rrmbench.")]


def signatures():
    return {(id(compiled), signature) for compiled in jit._kernels for signature in compiled.nopython_signatures}


@pytest.mark.core(3)
@pytest.mark.parametrize("name", sorted(OURS, key=lambda name: name not in ("apcg_shrinking", "working_sets")))
def test_a_run_needs_no_kernel_that_the_warm_up_has_not_called(name):
    solve = registry.build_solver({"name": name}, {"name": "none"})
    for loss, psi in problems.taken_by(solve.needs, "sparse rows")[:2]:
        problem = problems.problem_of("sparse rows", loss, psi)
        for compiled in jit._kernels:
            compiled._reset_overloads()
        warm_up(problem, solve)
        ready = signatures()
        for _ in takewhile(lambda x: x.passes + x.checks < PASSES, solve(problem, None, Rng(0))):
            pass
        assert not signatures() - ready, (loss, psi)
