"""NAME: say in one line what the reduction does."""

from rrmbench.toolbox import Positive, reduction


# needs: the solver inside goes on from where it was, for one problem after another; gives: what the changed problem has
# more than the original one, which the solver inside may need
@reduction(needs={"warm_start"}, gives={"strongly_convex", "square"})
def NAME(solve, *, sigma: Positive = 1e-3, passes: Positive = 20.0):
    """the problem plus (sigma/2) ||w - center||^2, where the centre moves to w every so many passes"""

    def reduced(problem, start, rng):
        spent = checks = 0.0
        while True:  # a reduced solver never stops, as every solver
            center = problem.start(start)
            for x in solve(problem.regularized(sigma, center), start, rng):
                # counts go on; curves and certificates are measured on the original problem
                yield x._replace(passes=spent + x.passes, checks=checks + x.checks)
                if x.passes >= passes:
                    break
            spent, checks = spent + x.passes, checks + x.checks
            # an iterate is a live view of the solver's arrays
            start = x.copied()

    return reduced
