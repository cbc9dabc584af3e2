"""What a reduction may be put around, and what the solver that it makes needs and gives."""

from dataclasses import replace

from rrmbench.components import Solver, alternatives, lacking
from rrmbench.errors import RrmbenchError

NO_SQUARE = frozenset({"entropy", "polyhedral", "one_term"})  # traits of a problem that a square beside psi ends


def check(reduction, solver, where, is_of_loss):
    """Raise RrmbenchError where a reduction (its Component) takes from a problem what a Solver needs.

    is_of_loss : whether a name is that of a class in the module of a loss
    """
    if without := solver.needs - _kept(solver.needs, _ended(reduction)).keys():
        names = ", ".join(sorted(without))
        raise RrmbenchError(f"{where} {reduction.name}: it adds a square, which {solver.name} cannot have ({names})")
    if why := reduction.unfit(solver):
        raise RrmbenchError(f"{where} {reduction.name}: {why}")
    if "smoothing" not in reduction.gives:
        return
    if exact := sorted(need for need in solver.needs if _is_of_exact_losses(need, is_of_loss)):
        raise RrmbenchError(
            f"{where} {reduction.name}: it smooths losses, {solver.name} needs them as they are ({', '.join(exact)})"
        )


def around(reduction, solver, made, is_deterministic):
    """The Solver that a reduction is around another one; `made` is what its function returned, a Solver or a function.

    is_deterministic : whether the reduction draws no random numbers
    """
    if made is solver:  # which was given nothing
        return solver
    if not isinstance(made, Solver):  # a function, which the solver's theorems are not about
        made = solver.inside(reduction.name, made)
    needs = lacking(_kept(made.needs, _ended(reduction)).values(), reduction.gives)
    # w and b of a problem with more strong convexity are no pair on the one without, and a square has no entropic step
    lost = {"dual"} if "strongly_convex" in reduction.gives else set()
    lost |= {"ground"} if "square" in reduction.gives else set()
    if reduction.gives and "gap" in made.gives:  # of the problem that the reduction made
        made, lost = replace(made, run=_without(made.run, "objectives")), lost | {"gap"}
    if "warm_start" in reduction.needs and "gradient_norm" in made.gives:  # of one problem after another
        made, lost = replace(made, run=_without(made.run, "gradient_norm")), lost | {"gradient_norm"}
    return replace(made, needs=needs, gives=made.gives - lost, deterministic=solver.deterministic and is_deterministic)


def _ended(reduction):
    """The traits that a problem has no more under a reduction."""
    return NO_SQUARE if "square" in reduction.gives else frozenset()


def _kept(needs, ended):
    """Need -> its alternatives that ask for no trait of `ended`; without the needs that have none."""
    kept = {need: [all_of for all_of in alternatives(need) if ended.isdisjoint(all_of)] for need in needs}
    return {need: " or ".join(map(" and ".join, all_of)) for need, all_of in kept.items() if all_of}


def _is_of_exact_losses(need, is_of_loss):
    """Whether each alternative of a need is lost where losses are smoothed: the class names of losses are."""

    def is_lost(name):
        return name in {"piecewise_linear", "labellings"} or (name[:1].isupper() and is_of_loss(name))

    return all(any(map(is_lost, all_of)) for all_of in alternatives(need))


def _without(run, field):
    def stripped(problem, start, rng):
        for x in run(problem, start, rng):
            yield x._replace(**{field: None})

    return stripped
