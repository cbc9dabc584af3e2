"""Measures of the distance from an iterate to the optimum of a stage, the problem that a reduction made."""

import numpy as np

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.tolerances import TERMS_ROUNDING
from rrmbench.problem.iterate import Iterate

GIVEN = 1e-13  # of P, the errors of a gap that a solver has from its own model and dual variable
NORM_GOAL = 1.0 / 3.0  # of the norm of the prox-gradient map, that of [Reductions, section 6.2]
SOLVED = 4.0  # times its rounding, a distance counts as 0
PATIENCE, RESOLVED, UNMOVED = 10.0, 1e-12, 30.0  # of `StandStill`
LONGEST = 1000.0  # passes, up to which a stage that does not move makes the next one wait longer


def progress_of(solve):
    """Return (measure, fraction): an epoch of `adaptive` ends when the distance has fallen to this fraction.

    The measure f(stage, iterate) returns (distance or None, its rounding level, its cost in passes).

    For a solver with a dual iterate the distance is the duality gap, and the fraction 1/4. The gap costs a product X w,
    or nothing where the iterate has its objectives; it is inf where no scaling of b gives a bound, as without a
    regularizer. For other solvers the distance is the norm of the prox-gradient map, and the fraction 1/3. The norm is
    free at the snapshots of a solver that gives it, else it costs a full gradient per iterate. [Reductions, sections
    6.1 and 6.2]
    """
    if "gap" in solve.gives:
        return _given_gap, 0.25
    if "dual" in solve.gives:
        return _gap, 0.25
    if "gradient_norm" in solve.gives:
        return _given_norm, NORM_GOAL
    return gradient_norm, NORM_GOAL


def needed_to_show(solve):
    """The traits of the problems on which the progress of a solver shows: without a dual iterate, the smooth ones."""
    return frozenset({"smooth"} if progress_of(solve)[0] is gradient_norm else ())


def shows(solve, problem):
    """Whether the progress of a solver shows on a problem."""
    return needed_to_show(solve) <= problem.traits


def accuracy_of(solve):
    """As `progress_of`, with a bound of P(w) - min P on the stage for the distance; needs strong convexity s > 0.

    The duality gap, or ||g||^2 / (2 s) of the prox-gradient map g: where psi = 0 this is ||grad P||^2 / (2 s), and else
    it bounds P at the prox-gradient step from w.
    """
    measure, _ = progress_of(solve)
    if measure in (_gap, _given_gap):
        return measure

    def bound(stage, x):
        norm, floor, cost = measure(stage, x)
        s = stage.strong_convexity
        return None if norm is None else norm / (2.0 * s) * norm, floor / (2.0 * s) * floor, cost

    return bound


class StandStill:
    """Whether the distance of a stage falls no more, as rounding lets no solver come nearer, whatever it computes.

    So it is after PATIENCE passes of a stage without a new least one, where it is RESOLVED of the first distance of all
    or less, or counts as 0: above that, a solver whose distance rises and falls, as with momentum, is waited for. So it
    is, too, after UNMOVED passes with one and the same distance, w and b: a solver that compares objectives moves no
    more where they are the same to rounding, which may be far above the rounding of a norm. A solver may be at work on
    a step for longer, on a Hessian say, and would begin anew in the next stage: it is waited for twice as long as it
    ever stood and went on, and twice as long as in a stage that it did not move in, up to 1000 passes.
    """

    def __init__(self):
        self.first, self.wait = None, UNMOVED
        self.begin()

    def begin(self):
        """A stage begins."""
        self.least, self.since, self.last, self.kept = np.inf, 0.0, None, None
        self.changed, self.moved = 0.0, False

    def __call__(self, x, distance, floor):
        """Look at an iterate of the stage, at its distance, None or infinite where there is none, and its rounding."""
        if distance is None or distance == np.inf:
            return False
        self.first = distance if self.first is None else self.first
        if distance < self.least:
            self.least, self.since = distance, x.passes
        if distance <= max(RESOLVED * self.first, SOLVED * floor) and x.passes - self.since >= PATIENCE:
            return True
        return self._stands(x, distance)

    def _stands(self, x, distance):
        if distance != self.last or (self.kept is not None and not _is_same(x, self.kept)):
            if self.last is not None:
                self.wait, self.moved = max(self.wait, 2.0 * (x.passes - self.changed)), True
            self.last, self.changed, self.kept = distance, x.passes, None
        elif self.kept is None:
            self.kept = x.copied()
        if x.passes - self.changed < self.wait:
            return False
        if not self.moved and self.wait < LONGEST:
            self.wait *= 2.0
        return True


def _is_same(x, y):
    return np.array_equal(x.w, y.w) and np.array_equal(x.b, y.b)


def first_iterate(problem, start):
    """Where a reduction begins, the Iterate `start` or the start of the problem: nothing but arrays of its own."""
    return Iterate(problem.start(start), None if start is None or start.b is None else start.b.copy())


def bound_of_suboptimality(problem, w0, z0):
    """Delta = P(w0) - D(b) >= P(w0) - P(w*) for b = 0, or for the losses' derivatives where D(0) = -inf; z0 = X w0.

    Of a dual, b is a model of the problem, whose domain may be without 0.
    """
    least = _dual_at_0(problem)
    return problem.primal(w0, z0) - (least if least > -np.inf else problem.dual_value(problem.loss_dual(z0)))


def _dual_at_0(problem):
    return problem.dual_at(np.zeros(problem.shape), np.zeros(problem.output_shape))[0]


def _gap(stage, x):
    if x.b is None:  # where a reduction inside begins
        return None, 0.0, 0.0
    stage = stage.counted()
    z = stage.outputs(x.w)
    floor = TERMS_ROUNDING * abs(stage.primal(x.w, z))
    return max(stage.consistent_gap(z, x.b), floor), floor, stage.X.passes


def _given_gap(stage, x):
    if x.objectives is None:
        return None, 0.0, 0.0
    (primal, dual), cost = x.objectives(), 0.0
    if dual == -np.inf:  # for the b at hand, as with a free bias
        stage = stage.counted()
        dual, cost = stage.dual_value(x.b), stage.X.passes
    floor = GIVEN * abs(primal)
    if dual > -np.inf:  # D may be a bad bound where psi* is steep, worse than at b = 0
        dual = max(dual, _dual_at_0(stage))
    return max(primal - dual, floor), floor, cost


def _given_norm(stage, x):
    return x.gradient_norm, _norm_floor(stage, x.w), 0.0


def gradient_norm(stage, x):
    """The norm of the prox-gradient map at x, which costs a pass; a measure as of `progress_of`."""
    if "smooth" not in stage.traits:
        raise RrmbenchError(
            "reduction: the progress of a solver without a dual iterate shows on smooth problems only; use "
            "joint_adapt, or put the smoothing outside of this reduction if it is inside"
        )
    stage = stage.counted()
    z = stage.outputs(x.w)
    g = stage.X.adjoint(stage.loss_dual(z)) / stage.n
    floor, s = _norm_floor(stage, x.w, g), stage.strong_convexity
    if s > 0.0:  # where P is optimal up to rounding, solvers that compare objectives see no more
        floor = max(floor, float(np.sqrt(2.0 * s * TERMS_ROUNDING * abs(stage.primal(x.w, z)))))
    return float(np.linalg.norm(stage.prox_gradient_from(x.w, g))), floor, stage.X.passes


def _norm_floor(stage, w, g=0.0):
    """The rounding level of the prox-gradient map at w, where the gradient of the losses is g."""
    L = stage.L if np.isfinite(stage.L) else 0.0  # a reduction inside smooths, and says the norm
    return TERMS_ROUNDING * float((L + stage.strong_convexity) * np.linalg.norm(w) + np.linalg.norm(g))
