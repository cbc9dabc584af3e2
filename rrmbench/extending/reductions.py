"""The checks of a reduction: what the solver inside is given, what is counted, and what is certified."""

from dataclasses import replace
from functools import partial
from itertools import islice, product
from unittest import SkipTest

import numpy as np

from rrmbench import registry
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.extending import problems, solvers, variants
from rrmbench.extending.runs import measured
from rrmbench.extending.verdicts import Broken, located
from rrmbench.numerics.random import Rng

INSIDE = ("fista", "agd", "prox_sdca", "svrg")
PASSES = 40.0
PROMISES = {"prox_sdca": solvers.is_pair, "agm_ef": solvers.has_objectives}  # of whom what is looked at
OTHER = (
    "where w or b is another one than the solver's, yield a new Iterate(w, b, passes, checks), and return "
    "dataclasses.replace(solve.inside(NAME, reduced), gives=frozenset())"
)


def named_checks(component):
    """(name, function) of each check of a reduction."""
    checks = {
        "every iterate": iterates,
        "passes are what was touched": _of_runs(solvers.counted),
        "the seed": _of_runs(solvers.seeded),
        "data and start are left alone": _of_runs(solvers.leaves_alone),
        "the problem has what it gives": gives_what_it_says,
        "certificates are of the original problem": certifies,
    }
    yield "its form", lambda: form(component)
    yield "what the solver inside gives", lambda: each_promise(component)
    for name, check in checks.items():
        yield name, lambda check=check: each_case(component, check)


def form(component):
    """Every variant goes around some solver."""
    variants.tell_refused(component, partial(_cases_of, component))


def cases(component):
    """Yield (label, values, solver inside, Problem) of what the reduction makes valid, what it refuses left out."""
    found = variants.built(component, partial(_cases_of, component))
    if not any(inside for _, inside in found):
        raise SkipTest("no small problem here has what the reduced solvers need")
    for values, inside in found:
        for inner, p in inside:
            yield f"{component.name}{variants.shown(values)} around {inner.name}", values, inner, p


def _cases_of(component, values):
    """(solver inside, Problem) of the reduction with these values; RrmbenchError where it refuses every solver."""
    found, refused = [], None
    for inner in map(registry.build_solver, INSIDE):
        try:
            found.append((inner, _problem(_reduced(component, values, inner).needs)))
        except RrmbenchError as error:
            refused = error
    if refused is not None and not found:
        raise refused
    return [(inner, p) for inner, p in found if p is not None]


def _problem(needs):
    """The poorest of the problems that a reduced solver takes, since reductions are for those."""
    taken = problems.taken_by(needs, "sparse rows")
    order = [("hinge", "l1"), ("hinge", "l2"), ("squared", "l1"), ("logistic", "elastic_net")]
    taken.sort(
        key=lambda one: order.index((one[0], one[1]["name"])) if (one[0], one[1]["name"]) in order else len(order)
    )
    return problems.problem_of("sparse rows", *taken[0]) if taken else None


def each_case(component, check):
    """check(component, values, inner solver, problem) for each of the `cases`."""
    for label, values, inner, p in cases(component):
        with located(label):
            check(component, values, inner, p)


def each_promise(component):
    """Where iterates of the reduced solver are said to be pairs, or to have their objectives, they are and have.

    On an elastic net, where w is no linear function of b, so that an average of pairs is none.
    """
    p = problems.problem_of("sparse rows", *problems.PROBLEMS[0])
    for values, (name, check) in product(variants.variants(component), PROMISES.items()):
        try:
            reduced = _reduced(component, values, registry.build_solver(name))
        except RrmbenchError:  # of which `form` tells
            continue
        if lacking(reduced.needs, p.traits):
            continue
        try:
            check(reduced, p)
        except Broken as broken:
            raise Broken(f"{component.name}{variants.shown(values)} around {name}: {broken.text}", OTHER) from None


def _reduced(component, values, inner):
    return registry.reduce_solver(inner, {"name": component.name, **values})


def _of_runs(check):
    return lambda component, values, inner, p: check(_reduced(component, values, inner), p)


def iterates(component, values, inner, p):
    """As every solver's: shapes, counts that grow, without end; and P is not made worse than at the start."""
    trace, rows = measured(_reduced(component, values, inner), p, PASSES, every=0.0)
    if trace.status == "diverged":
        raise Broken(trace.reason)
    if rows[0]["passes"] > 0.0:
        raise Broken(f"the first iterate counts {rows[0]['passes']:g} passes", "the start is yielded before any work")
    if trace.reason == "ended" and rows[-1]["gap"] > 1e-12:
        raise Broken(
            f"it stopped by itself after {rows[-1]['passes']:g} passes", "a reduced solver goes on for ever, too"
        )
    if rows[-1]["primal"] > rows[0]["primal"]:
        raise Broken(
            f"P(w) is {rows[-1]['primal']:.6g} after {PASSES:g} passes and {rows[0]['primal']:.6g} at the start"
        )


def gives_what_it_says(component, values, inner, p):
    """Every problem that the solver inside is given has what that solver needs."""
    seen = []

    def run(problem, start, rng):
        seen.append(problem)
        return inner(problem, start, rng)

    list(islice(_reduced(component, values, replace(inner, run=run))(p, None, Rng(0)), 20))
    for problem in seen:
        if missing := lacking(inner.needs & component.gives, problem.traits):
            raise Broken(
                f"gives={set(component.gives)}, but the solver is given a problem that is not "
                f"{', '.join(sorted(missing))}",
                "problem.smoothed(mu) makes it smooth, problem.regularized(kappa, center) strongly convex",
            )


def certifies(component, values, inner, p):
    """No b is a bound on the original problem above its optimum, and "dual" is given only where w and b are a pair."""
    reduced = _reduced(component, values, inner)
    _, rows = measured(reduced, p, PASSES)  # raises where P is below D
    if rows and not np.isfinite(rows[-1]["primal"]):
        raise Broken("P(w) is not finite")
    if "dual" in reduced.gives:
        solvers.is_pair(reduced, p)
