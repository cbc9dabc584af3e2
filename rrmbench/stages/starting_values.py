"""Strengths that need no tuning: how much to smooth and to regularize in the first epoch of a reduction."""

import numpy as np

from rrmbench.stages.progress import bound_of_suboptimality

CG_STEPS = 10  # for the estimate of ||w0 - w*||^2: a pass each
FLAT = 1e-12  # of L, a curvature of which nothing is left but rounding


def starting_values(solve, problem, state, sigma, mu):
    """Return ((sigma_0, mu_0), passes spent), "auto" replaced and None by 0; yields `state` while passes are spent."""
    if "auto" not in (sigma, mu):
        return (sigma or 0.0, mu or 0.0), 0.0
    problem = problem.counted()
    z = problem.outputs(state.w)
    gap = bound_of_suboptimality(problem, state.w, z)
    theory = _at_scale(gap, 2.0 * _diameter(problem, z))
    if mu == "auto":
        mu = theory
    if sigma == "auto":
        smoothed = problem.smoothed(mu or 0.0)
        if "smooth" not in smoothed.traits:  # a solver that needs no smoothness still wants a scale for sigma_0
            smoothed = smoothed.smoothed(theory)
        if "rows" in solve.needs:
            sigma = (smoothed.L_max or smoothed.smoothness) / smoothed.n
        else:
            theta = 1.0  # where the losses are flat at w0
            for theta in squared_distances(smoothed, state.w, z, 2.0 * max(gap, 0.0)):  # noqa: B007, the last is used
                yield state._replace(passes=problem.X.passes)
            sigma = _at_scale(gap, theta)
    return (sigma or 0.0, mu or 0.0), problem.X.passes


def _diameter(problem, z):
    """D, or of losses that are neither smooth nor Lipschitz what it is of their slopes at z: ||phi'(z)||^2 / (2 n)."""
    if np.isfinite(problem.diameter) or "smooth" in problem.traits:
        return problem.diameter
    return float(np.sum(problem.loss_dual(z) ** 2)) / (2.0 * problem.n)


def _at_scale(gap, size):
    """gap/size, and 1 where w0 is optimal or what is added changes nothing: then any strength will do, but not 0."""
    return gap / size if gap > 0.0 and size > 0.0 else 1.0


def squared_distances(problem, w0, z0, fall):
    """Yield better and better estimates Theta of ||w0 - w*||^2, from below as a rule.

    z0 = X w0 is known. Theta is the squared length of the way after k = 1 .. CG_STEPS steps of conjugate gradients on
    the quadratic model smoothness ||X u||^2 / (2 n) - p.u of the loss around w0, p the prox-gradient map at w0
    downhill. p need not be a gradient of this model, as with few samples or bounds on w; the model may then fall for
    ever. The way ends where the model has fallen by `fall`, more than P can fall.
    """
    residual = -problem.prox_gradient(w0, z0)
    way, direction, size = np.zeros(w0.shape), residual, float(np.vdot(residual, residual))
    for step in range(CG_STEPS):
        q = problem.outputs(direction)
        curvature = problem.smoothness * float(np.sum(q**2)) / problem.n
        if curvature <= FLAT * problem.L * float(np.vdot(direction, direction)):
            break
        length = size / curvature
        if is_last := size * length >= 2.0 * fall:  # a part t of the step lowers the model by size length (t - t^2/2)
            length *= 1.0 - (1.0 - 2.0 * fall / (size * length)) ** 0.5
        fall -= 0.5 * size * length
        way = way + length * direction
        yield float(np.vdot(way, way))
        if is_last:
            break
        if step + 1 < CG_STEPS:
            residual = residual - (length * problem.smoothness / problem.n) * problem.X.adjoint(q)
            before, size = size, float(np.vdot(residual, residual))
            direction = residual + (size / before) * direction
