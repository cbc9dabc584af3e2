"""The choice among the reductions."""

from rrmbench.components import lacking
from rrmbench.reductions.adaptive import adapt_smooth
from rrmbench.reductions.proximal_point import joint_proximal_point, proximal_point
from rrmbench.registry import reduction
from rrmbench.stages.progress import shows


@reduction(gives={"strongly_convex", "smooth"}, deterministic=True)
def auto(solve):
    """what the solver needs and the problem lacks: nothing, proximal_point, adapt_smooth or joint_proximal_point

    joint_proximal_point also where the losses are not smooth and the solver has no dual iterate and no gap, so that
    nothing else tells when an epoch is over. Black boxes, which no epochs go around, run as they are. The choice is by
    measurement: docs/reproduction.md, section "Proximal point".
    """
    if "warm_start" not in solve.able:
        return solve

    def reduced(problem, start, rng):
        missing = lacking(solve.needs, problem.traits) & {"strongly_convex", "smooth"}
        if not missing:
            chosen = solve
        elif missing == {"strongly_convex"} and shows(solve, problem):
            chosen = proximal_point(solve)
        elif missing == {"smooth"}:
            chosen = adapt_smooth(solve)
        else:
            chosen = joint_proximal_point(solve)
        return chosen(problem, start, rng)

    return reduced
