"""L-BFGS on the primal."""

import numpy as np

from rrmbench.numerics.lbfgs import Memory, searched
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.curvature import gradient_of


@solver(needs={"smooth", "Zero"}, deterministic=True)
def lbfgs(problem, start, rng):
    """w+ = w - t H grad P(w), H from the last 30 steps and the changes of the gradient; t by Wolfe's conditions.

    [Liu and Nocedal 1989, Algorithm 2.1]

    t = 1 is tried first; without pairs, 1/(L + l2 + kappa). X p of the step p and X^T b of the new point are a pass,
    whatever the line search tries. Where no step lowers P, the pairs are forgotten; where that does not help either, w
    is optimal to rounding, and stays.
    """
    problem = problem.counted()
    w = problem.start(start)
    yield Iterate(w)
    z, memory, is_optimal = problem.outputs(w), Memory(), False
    P, b = problem.primal(w, z), problem.loss_dual(z)
    g = gradient_of(problem, problem.X.adjoint(b) / problem.n, w)
    yield Iterate(w, b, problem.X.passes)
    while True:
        p, first = memory.direction(g), 1.0 if memory else 1.0 / (problem.L + problem.l2 + problem.kappa)
        along = problem.X.forward(p)

        def moved(t, w=w, z=z, p=p, along=along):
            new, outputs = w + t * p, z + t * along
            b = problem.loss_dual(outputs)
            slope = float(np.vdot(gradient_of(problem, 0.0, new), p)) + float(np.vdot(b, along)) / problem.n
            value = problem.primal(new, outputs)
            return value, slope, (new, outputs, value, b)

        point = None if is_optimal else searched(moved, P, float(np.vdot(g, p)), first)
        if point is not None:
            before = w, g
            w, z, P, b = point
            g = gradient_of(problem, problem.X.adjoint(b) / problem.n, w)
            memory.take(w - before[0], g - before[1])
        else:
            is_optimal = not memory
            memory.forget()
        yield Iterate(w, b, problem.X.passes)
