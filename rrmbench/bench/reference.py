"""The reference optimum of a problem: an extra run where the experiment's own leave it open."""

import math
from importlib import import_module

from rrmbench import data
from rrmbench.bench.rates import entries_of
from rrmbench.components import lacking
from rrmbench.problem.traits import traits

WIDTH = 1e-9  # of a certified interval that needs no narrower one, relative to |P| at the start or at the optimum
LARGEST_PROGRAM = 10**7  # stored entries, for which HiGHS takes about 2 GB and a minute
FOR_WORKING_SETS = {"rows", "smooth", "scalar and coordinate or scalar and BlockNorm or SquaredMulti and row_norms"}
BY_MULTIPLIERS = ("ssnal", "ssnal_multiclass")
GAP = WIDTH / 10.0  # relative, which ends an extra run
TRACE = {"every": 1.0, "growth": 1.2}  # of extra runs
SETTINGS = {"apcg": {"sampling": "permutation"}}  # other than the defaults
# Of cutting planes: as many planes are to be met with little sigma as with much, so that no stage asks for more passes.
PLANES = {"name": "proximal_point", "decay": 0.3}


def pinned(bounds, size):
    """Whether the certified interval [dual, primal] of a reference is narrow enough.

    size : of the terms of P and D, |P| at the start, to which an extra run's gap is relative, too; in their rounding a
        much smaller P(w*) is not known any better
    """
    if bounds is None:
        return False
    allowed = WIDTH * max(abs(bounds["primal"]), size)
    return math.isfinite(bounds["dual"]) and bounds["primal"] - bounds["dual"] <= allowed


def sizes(prepared):
    """(shape, entries) of prepared data, as `specs` takes them; n of sequences is that of all labels of positions."""
    (n, d, k), entries = prepared.dimensions, entries_of(prepared)
    if "sequences" in prepared.info:
        k = prepared.info["classes"]
        return (n * k, (d + k) * k), entries * k * k
    return (n, d * k), entries * k


def specs(run_spec, seconds, shape=None, entries=0):
    """The specs of the extra runs for the problem of a run: that of the solver that certifies such problems best first.

    The others are for where those before them leave the optimum open.

    shape : (n, number of entries of w) where the data are at hand; without it a direct solver is not thought of
    entries : the stored entries of X where the data are at hand, once for each output or pair of labels
    """
    has = traits(run_spec["loss"], run_spec["regularizer"], data.traits_of(run_spec["dataset"]))
    methods = [_method(has, shape)]
    if "smooth" in has and methods[0][0]["name"] == "pdprox_restarted":  # where one is slow, the other often is not
        methods.append(({"name": "agm_ef"}, "none"))
    if methods[0][0]["name"] == "newton_cg" and shape and _is_best("second_order.newton_pcg", has, *shape):
        methods.insert(0, ({"name": "newton_pcg"}, "none"))
    elif methods[0][0]["name"] != "newton_cg" and shape and _is_best("second_order.prox_newton", has, *shape):
        first = "slopes" in has or methods[0][0]["name"] == "pdprox_restarted"
        methods.insert(0 if first else 1, ({"name": "prox_newton"}, "none"))
    if methods[0][0]["name"] in BY_MULTIPLIERS:  # rounding may stop it where units differ much
        methods.append(_method(has, None))
    if _is_for_clarabel(has, shape, entries):  # rounding may stop it, too, mostly below 1e-10
        first = methods[0][0]["name"] in ("pdprox_restarted", "agm_ef")
        methods.insert(0 if first else 1, ({"name": "clarabel", "time_limit": seconds}, "none"))
    if {"piecewise_linear", "polyhedral"} <= has and entries <= LARGEST_PROGRAM:
        methods.insert(0, ({"name": "highs", "time_limit": seconds}, "none"))
    return [
        run_spec
        | {
            "solver": solver,
            "reduction": {"name": reduction} if isinstance(reduction, str) else reduction,
            "seed": 0,
            "stop": {"relative_gap": GAP, "seconds": seconds},
            "trace": dict(TRACE),
        }
        for solver, reduction in methods
    ]


def is_extra(spec):
    """Whether a run has the stopping rules and the trace points of extra runs."""
    return (
        spec["stop"].keys() == {"relative_gap", "seconds"}
        and spec["stop"]["relative_gap"] == GAP
        and spec["trace"] == TRACE
    )


def _method(has, shape):
    """(the mapping of the solver, the reduction or its name) for problems with the traits `has`."""
    solver, reduction = "pdprox_restarted", "auto"
    is_for_newton = has & {"scalar", "MultinomialLogistic", "SquaredMulti"}  # products with H cost no evaluations
    if {"Zero", "smooth"} <= has and is_for_newton and has & {"strongly_convex", "free_bias"}:
        solver, reduction = "direct" if "Squared" in has and _is_small(shape) else "newton_cg", "none"
    elif {"rows", "coordinate", "separable", "strongly_convex"} <= has:
        second_order = [name for name in BY_MULTIPLIERS if shape and _is_best(f"second_order.{name}", has, *shape)]
        solver = "apcg" if {"scalar", "smooth"} <= has else next(iter(second_order), "apcg_shrinking")
    elif not lacking(FOR_WORKING_SETS, has):
        solver = "working_sets"
    elif _is_best("sdca.apcg_bias", has):
        solver, reduction = "apcg_bias", "none"
    elif _is_best("sdca.apcg_budget", has):
        solver, reduction = "apcg_budget", "none"
    elif "entropic" in has and not has & {"smooth", "matrix"}:
        # one maximum over all samples; a matrix model is of a sum of many, which take too many planes
        solver, reduction = "cutting_planes", "none" if "strongly_convex" in has else PLANES
    elif {"Zero", "smooth"} <= has and "conjugate_prox" not in has:
        solver, reduction = "lbfgs", "none"
    elif {"labellings", "Zero", "strongly_convex"} <= has:
        solver, reduction = "bcfw", "none"
    elif "conjugate_prox" not in has:
        ways = {"smooth": "none", "strongly_convex": "solve_dual"}
        solver, reduction = "agm_ef", next((way for trait, way in ways.items() if trait in has), "adapt_smooth")
    return {"name": solver, **SETTINGS.get(solver, {})}, reduction


def _is_best(module, has, *shape):
    """Whether a solver is the best that is known for such problems, by its module below rrmbench.solvers."""
    return import_module(f"rrmbench.solvers.{module}").is_best_for(has, *shape)


def _is_for_clarabel(has, shape, entries):
    from rrmbench.solvers.peers.clarabel import fits

    return shape is not None and fits(has, *shape, entries)


def _is_small(shape):
    """Whether the direct solver takes data of this shape."""
    from rrmbench.solvers.second_order.direct import too_large

    return shape is not None and too_large(*shape) is None
