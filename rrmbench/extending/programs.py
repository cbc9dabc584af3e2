"""What losses and regularizers say of themselves to linear programs and cones, beside their conjugates."""

import math

import numpy as np

from rrmbench.extending.verdicts import Broken
from rrmbench.extending.whole_regularizers import text_of

OF_REGULARIZERS = ("conjugate_pieces", "growing_balls")
TOLERANCE = 1e-6  # of a program, whose equations hold up to 1e-7


def growing_balls_give_the_conjugate(psi, v):
    """psi*(v) = (c/2) t^2 for the least t that brings v into the balls of `growing_balls`, if psi has them."""
    if not hasattr(psi.psi, "growing_balls"):
        return
    blocks, radii, growth = psi.psi.growing_balls(v.shape)
    lengths = np.sqrt(np.bincount(blocks, np.square(v).reshape(-1), len(radii)))
    t = max(np.divide(lengths, radii, out=np.full(len(radii), math.inf), where=radii > 0.0)[lengths > 0.0], default=0.0)
    _compare("growing_balls", v, 0.5 * growth * t * t, psi.conjugate(v))


def pieces_give_the_conjugate(psi, v):
    """The program of `conjugate_pieces`, if psi has them, gives psi*(t v) - psi*(0) where psi* is finite.

    With t the dual scaling of v. A little beyond it, where psi* is infinite, the program has no solution.
    """
    if not hasattr(psi.psi, "conjugate_pieces"):
        return
    pieces = psi.psi.conjugate_pieces(v.shape)
    zero, at_zero = _least_of_pieces(pieces, 0.0 * v), psi.conjugate(0.0 * v)
    for scale in (t := psi.dual_scaling(v), 0.5 * t, 1.01 * t):
        found = _least_of_pieces(pieces, scale * v) - zero + at_zero
        _compare("conjugate_pieces", scale * v, found, psi.conjugate(scale * v))


def parts_give_the_conjugate(p, mu, z, rng):
    """The program of `parts` of a loss of linear pieces gives n times the mean of phi*, at dual points and elsewhere.

    Where u have to balance, b may be of no distribution though its phi* is finite, which is a bound there: it is asked
    for at exact dual points alone.
    """
    if not hasattr(p.loss, "parts") or p.loss.conjugate_convexity > 0.0:
        return
    parts, b = p.loss.parts(p.y, math.prod(p.output_shape[1:])), p.losses.dual_point(mu, z)
    count, columns = parts.costs.size, parts.columns.toarray()
    balance = np.zeros((0, count)) if parts.balance is None else parts.balance.toarray()
    A = np.zeros((int(np.max(parts.groups, initial=0)) + 1, count))
    A[parts.groups, np.arange(count)] = 1.0
    limits, ends = np.full(A.shape[0], parts.limit), np.tile([0.0, 1.0], (count, 1))
    within = (columns @ rng.random(count)).reshape(b.shape)  # but for the limits
    points = [b, 0.5 * b, within, b + rng.standard_normal(b.shape)]
    if parts.balance is not None:
        points = [b] if mu == 0.0 else []
    for point in points:
        right = np.append(point.reshape(-1), np.zeros(len(balance)))
        found = _least(parts.costs, np.vstack([columns, balance]), right, A, limits, ends)
        _compare("parts", point, found, p.n * p.losses.mean_conjugate(0.0, point))


def _least_of_pieces(pieces, v):
    """The minimum of a program of `Pieces`, inf where there is no solution."""
    ends = np.stack([pieces.lower, pieces.upper], axis=1)
    signs, count = np.where(ends[:, 1] > 0.0, 1.0, -1.0), v.size
    A, limits = None, None
    if pieces.radius is not None:  # each piece is of one sign
        blocks = np.kron(np.eye(count // pieces.length), np.ones((1, pieces.length)))
        A, limits = np.kron(signs[None, :], blocks), np.full(len(blocks), pieces.radius)
    costs, columns = np.repeat(pieces.slopes, count), np.kron(np.ones((1, len(ends))), np.eye(count))
    return _least(costs, columns, v.reshape(-1), A, limits, np.repeat(ends, count, axis=0))


def _least(costs, columns, right, A, limits, ends):
    """min costs.u where columns u = right, A u <= limits and u is between its two ends; inf without a solution."""
    from scipy.optimize import linprog

    if limits is None or np.isinf(limits).all():
        A = limits = None
    found = linprog(costs, A, limits, columns, right, ends)
    return float(found.fun) if found.status == 0 else math.inf


def _compare(method, v, found, expected):
    if not math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE):  # infinite ones if both are
        raise Broken(
            f"{method} of {text_of(v)} gives {found:.8g}, the conjugate is {expected:.8g}",
            f"{method} describes the conjugate to `highs` and `clarabel`, whose bounds would be of another problem",
        )
