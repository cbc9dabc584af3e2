"""The choice among the reductions."""

from rrmbench.reductions.adaptive import adapt_smooth
from rrmbench.reductions.proximal_point import joint_proximal_point, proximal_point
from rrmbench.registry import lacking, reduction


@reduction(gives={"strongly_convex", "smooth"}, deterministic=True)
def auto(solve):
    """what the solver needs and the problem lacks: nothing, proximal_point, adapt_smooth or joint_proximal_point

    The choice is by measurement: docs/reproduction.md, section "Proximal point".
    """

    def reduced(problem, start, rng):
        missing = lacking(solve.needs, problem.traits) & {"strongly_convex", "smooth"}
        if not missing:
            chosen = solve
        elif missing == {"strongly_convex"}:
            chosen = proximal_point(solve)
        elif missing == {"smooth"}:
            chosen = adapt_smooth(solve)
        else:
            chosen = joint_proximal_point(solve)
        return chosen(problem, start, rng)

    return reduced
