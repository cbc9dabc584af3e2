"""The dual problem as a program in standard form, which other libraries solve.

Of a loss with the kinks t_i1 <= ... <= t_iK, and slopes s_i0 <= ... <= s_iK between them, phi*(b_i) is piecewise linear
with the kinks for slopes, so with b_i = s_i0 + sum_k u_ik and 0 <= u_ik <= s_ik - s_i(k-1)

    (1/n) sum_i phi*(b_i) = constant + (1/n) sum_ik t_ik u_ik

Other losses of linear pieces say by `rrmbench.numerics.pieces.Parts` of which u their b is made, whose sums over groups
have a limit, and which may have to balance. The squared loss has phi*(b) = b^2/2 + y b, so one u_i = b_i without
bounds. Psi* is psi* of its pieces or its balls; where Psi has a square (s/2) ||w||^2 beside psi, it is the least of
psi*(v') + ||v - v'||^2/(2 s); a centre moves v by kappa center. The multiplier of v = -(1/n) X^T b is w.

The tolerances of libraries are absolute, so all is in units: v in one in which its bounds and the greatest entry of X/n
are 1 or more (or in `units` of these), an equation without v in that of its greatest entry, kinks in one in which they
are 1 or less, as are the labels of the squared loss, whose b has this unit too. The minimum is in units of kinks times
those of b, over n.
"""

import math
from typing import NamedTuple

import numpy as np

from rrmbench.numerics.pieces import Parts, Pieces
from rrmbench.problem.samples import over_samples

ZERO = Pieces((0.0,), (0.0,), (0.0,))
FREE = Pieces((0.0,), (-math.inf,), (math.inf,))  # v' that is bounded by balls alone


class Duals(NamedTuple):
    """The entries of b = base + unit columns u, between least and greatest; u between its bounds, and its costs.

    square : the strong convexity of phi*, 1 of the squared loss
    parts : the Parts that u are of, which say more of them, or None
    """

    costs: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    square: float
    columns: object
    base: np.ndarray
    least: np.ndarray
    greatest: np.ndarray
    unit: float
    parts: Parts | None = None

    @classmethod
    def of(cls, problem):
        """For a loss that knows its kinks or its parts, or the squared one."""
        from scipy.sparse import eye_array, kron

        if hasattr(problem.loss, "parts"):
            parts = problem.loss.parts(problem.y, math.prod(problem.output_shape[1:]))
            zero, u = np.zeros(parts.columns.shape[0]), np.zeros(parts.costs.size)
            free = zero + np.inf
            return cls(parts.costs, u, u + 1.0, 0.0, parts.columns, zero, -free, free, 1.0, parts)
        one = eye_array(problem.n)
        if not hasattr(problem.loss, "kinks"):
            y, free = problem.y, np.full(problem.n, np.inf)
            return cls(y, -free, free, 1.0, one, np.zeros(problem.n), -free, free, float(np.abs(y).max()) or 1.0)
        kinks = problem.loss.kinks(problem.y)
        slopes = _slopes(problem, kinks)
        first, last, widths = slopes[:, 0], slopes[:, -1], np.diff(slopes, axis=1).T.reshape(-1)
        columns = kron(np.ones((1, kinks.shape[1])), one)
        return cls(kinks.T.reshape(-1), np.zeros(kinks.size), widths, 0.0, columns, first, first, last, 1.0)

    def b(self, u, shape):
        """b of this shape, in the domain, of u that may miss their bounds and limits by rounding."""
        u = np.clip(u, self.lower, self.upper) if self.parts is None else self.parts.within(u)
        return np.clip(self.base + self.unit * (self.columns @ u), self.least, self.greatest).reshape(shape)


class Unknowns(NamedTuple):
    """Some x: their costs.x + (1/2) squares.x^2, lower <= x <= upper, and their columns of the equations."""

    costs: np.ndarray
    squares: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    columns: object


class Program(NamedTuple):
    """min costs.x + (1/2) squares.x^2 where columns x = right, lower <= x <= upper, and parts of x are in balls.

    x : the Unknowns u, u_i1 of all samples before u_i2, then v' in pieces, and v - v', as far as the problem has them
    sums : (A, right), A x <= right in every row, for groups of u and l1 balls of v', or None
    balls : (first, blocks, radii, grow), those x[first + j] with blocks[j] = g have ||.||_2 <= radii[g], times the last
        x where balls grow, or None
    w_unit : (d,), the units of the multipliers
    """

    x: Unknowns
    right: np.ndarray
    sums: tuple | None
    balls: tuple | None
    duals: Duals
    w_unit: np.ndarray

    def solution(self, problem, x, multipliers):
        """(w, b), in their domains, of x and the multipliers of the equations, the slopes of the minimum in `right`."""
        duals = self.duals
        w = (self.w_unit * multipliers[: self.w_unit.size]).reshape(problem.shape)
        return problem.prox(w, 0.0), duals.b(x[: duals.costs.size], problem.output_shape)


def program_of(problem, units=1.0):
    """The Program of a problem whose loss knows its pieces or is the squared one, and psi its pieces or its balls."""
    from scipy.sparse import coo_array, diags_array, eye_array, hstack, kron, vstack

    n, size, psi = problem.n, math.prod(problem.shape), problem.regularizer
    shape = problem.start()[: -1 if problem.free_bias else None].shape
    d, duals = math.prod(shape), Duals.of(problem)
    X = getattr(problem.X, "flat", problem.X).columns()
    pieces = psi.conjugate_pieces(shape) if hasattr(psi, "conjugate_pieces") else FREE
    blocks, radii, growth = None, np.zeros(0), 0.0
    if hasattr(psi, "growing_balls"):
        blocks, radii, growth = psi.growing_balls(shape)
    elif pieces is FREE:
        blocks, radii = psi.dual_balls(shape)
    if pieces is FREE and not radii.any():
        pieces, blocks = ZERO, None

    farthest = float(np.abs(duals.costs).max()) or 1.0
    if growth:  # the unit of t, whose psi* is of the order of a mean loss
        radii = radii * math.sqrt(farthest * duals.unit / growth)
    bounds = [*pieces.lower, *pieces.upper, pieces.radius or 0.0, *radii]
    sizes = [np.abs(X.data).max(initial=0.0) * duals.unit / n, *np.abs(bounds)]
    v_unit = min((size for size in sizes if 0.0 < size < np.inf), default=1.0) * units
    w_unit = farthest * duals.unit / (n * v_unit)

    # X^T b/n + v' + (v - v') = kappa center, and sum b = 0 with a minimized bias
    of_b = X.T * (duals.unit / (n * v_unit))
    if problem.minimized_bias:
        of_b = vstack([of_b, np.ones((1, n))])
    of_b = kron(of_b, eye_array(duals.base.size // X.shape[0]), format="csr")  # for each output
    of_u, right = of_b @ duals.columns, -(of_b @ duals.base)
    right[:size] += problem.center_term().reshape(-1) / v_unit
    if duals.parts is not None and duals.parts.balance is not None:
        of_u = vstack([of_u, duals.parts.balance])
        right = np.append(right, np.zeros(duals.parts.balance.shape[0]))
    of_v = vstack([eye_array(size), coo_array((of_u.shape[0] - size, size))], format="csc")
    first = duals.costs.size
    unknowns = [Unknowns(duals.costs / farthest, np.full(first, duals.square), duals.lower, duals.upper, of_u)]
    for slope, *ends in zip(pieces.slopes, pieces.lower, pieces.upper, strict=True):
        if ends != [0.0, 0.0]:
            lower, upper = (np.full(d, end / v_unit) for end in ends)
            unknowns.append(Unknowns(np.full(d, slope / w_unit), np.zeros(d), lower, upper, of_v[:, :d]))
    strengths = np.full(size, problem.kappa)
    strengths[:d] += problem.l2
    places = np.flatnonzero(strengths)
    free = np.full(places.size, np.inf)
    squares = v_unit / (w_unit * strengths[places])
    unknowns.append(Unknowns(np.zeros(places.size), squares, -free, free, of_v[:, places]))

    if growth:  # t, in this unit
        cost = np.array([float(n)])
        unknowns.append(Unknowns(0.0 * cost, cost, 0.0 * cost, np.full(1, np.inf), coo_array((of_u.shape[0], 1))))

    *numbers, columns = zip(*unknowns, strict=True)
    columns = hstack(columns, format="csc")
    rows = _row_units(columns, first)
    x = Unknowns(*map(np.concatenate, numbers), diags_array(1.0 / rows) @ columns)
    sums = []
    if duals.parts is not None:
        groups, limit = duals.parts.groups, duals.parts.limit
        sums.append((coo_array((np.ones(first), (groups, np.arange(first))), (groups.max() + 1, x.costs.size)), limit))
    if pieces.radius:
        sums.append((_sums(pieces, d, first, places.size), pieces.radius / v_unit))
    if sums:
        sums = vstack([A for A, _ in sums]), np.concatenate([np.full(A.shape[0], limit) for A, limit in sums])
    return Program(
        x,
        right / rows,
        sums or None,
        None if blocks is None else (first, blocks, radii / v_unit, growth > 0.0),
        duals,
        w_unit / rows[:size],
    )


def _row_units(columns, first):
    """The greatest entry of each equation on u alone, the `first` unknowns; 1 for the others, whose unit is that of v.

    Libraries take entries below 1e-9 for 0, where Psi is 0 those of columns of X that are small beside others.
    """
    greatest = np.abs(columns).max(axis=1).toarray()
    alone = np.diff(columns[:, first:].tocsr().indptr) == 0
    return np.where(alone & (greatest > 0.0), greatest, 1.0)


def _sums(pieces, d, before, after):
    """The matrix A of sum |v'| over the blocks of l1 balls; so many unknowns stand before and after those of v'."""
    from scipy.sparse import coo_array, eye_array, hstack, kron

    blocks = d // pieces.length
    sums = kron(eye_array(blocks), np.ones((1, pieces.length)))
    signed = [sums if upper > 0.0 else -sums for upper in pieces.upper]
    return hstack([coo_array((blocks, before)), *signed, coo_array((blocks, after))], format="csc")


def _slopes(problem, kinks):
    """phi'(z) left of the first kink, between two of them, and right of the last, (n, K + 1)."""
    first, last = kinks[:, :1], kinks[:, -1:]
    between = [first - np.abs(first) - 1.0, 0.5 * (kinks[:, 1:] + kinks[:, :-1]), last + np.abs(last) + 1.0]
    losses = over_samples(problem.loss, problem.X, problem.y)  # without the bias that the problem may minimize
    points = np.ascontiguousarray(np.concatenate(between, axis=1).T)
    return np.stack([losses.dual_point(0.0, z) for z in points], axis=1)
