"""Proximal Newton's method for losses on several outputs, with the whole second derivative of samples that grow."""

from functools import partial
from itertools import pairwise
from math import sqrt

import numpy as np

from rrmbench.components import lacking
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.jit import WARM_UP_ROWS
from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order import gram
from rrmbench.solvers.second_order.curvature import greatest_diagonal, longest_step
from rrmbench.solvers.second_order.growing import LARGEST, PER_FEATURE, SETTLED, on_growing_samples, too_many_entries
from rrmbench.subproblems.quadratic import ROUNDING
from rrmbench.subproblems.units import BlockUnits, CoordinateUnits, outcome

NEEDS = frozenset({"rows", "smooth", "slopes", "coordinate or blocks"})
NUMBERS = 2**18  # in a block of rows, of chosen entries, which stays in the cache
AFFORDED = 2 * 10**10  # products for H, for which other solvers are slower to the last digits: some seconds
ACCURACY = 1e-4  # of a model: the greatest potential left, over that before
FEW = 16  # samples times d sqrt(k), of which H is made at first
LACKS = 0.8  # of the mean square of a column, below which those samples are too few for it
SLOW = 0.2  # of the fall of the model before, above which H is made of twice as many


def is_best_for(traits, n, size):
    """Whether no other solver is faster to certify a problem of these traits on n samples, for models of this size."""
    return not lacking(NEEDS, traits) and size <= LARGEST and n * size**2 <= AFFORDED


@solver(needs=NEEDS, gives={"full_steps"}, too_large=too_many_entries)
def prox_newton(problem, start, rng):
    """w+ = w + t (u - w), u = argmin g.(u - w) + (1/2) (u - w)^T H (u - w) + Psi(u) [Lee, Sun and Saunders 2014].

    g is the derivative of the mean loss on samples that grow from stage to stage, as in `newton`, 8 d sqrt(k) at least.
    H is the second derivative of 16 d sqrt(k) of them at first, drawn anew for each step, and of twice as many after a
    step whose model falls by more than a fifth of what the one before fell by, up to all [Byrd et al. 2011]; its
    diagonal is raised in columns of which those samples hold too little. It is known in the coordinates that are not 0
    or that a proximal step would move; the others stay 0. u is found as in `working_sets`, by coordinate descent, or
    steps on blocks, and conjugate gradients on the matrix. t is the first of 1, 1/2, 1/4 ... where P falls by 1e-4 t
    times what the model falls by; X (u - w) is known then, so that a trial of t touches no data.

    For few features and outputs: the product of two entries of a row, for two of k outputs, counts as that of an entry
    with a number of the model, of which a pass has 2 k for each entry. So a row of m chosen entries and outputs counts
    m (m + 3)/2 of these, and m_j (m_j + 1)/2 for the m_j of each output, of dense data with its zeros. Outputs,
    gradient, copies of rows, of those of H too, and the norms of their columns are half a pass of these rows each. The
    descent on the model touches no data; the clock includes it. Yields after the gradient, each part of H and each
    step; iterates have b in the last stage.

    Raises RrmbenchError for d k > 3000.
    """
    w = problem.start(start)
    yield Iterate(w)
    if problem.n <= WARM_UP_ROWS:  # on more, which kernels are called depends on the data
        _rehearse(problem.counted(), w)
    d, k = w.shape  # a sample tells of each output
    size = d * sqrt(k)
    yield from on_growing_samples(problem, w, rng, partial(_steps, rng, FEW * size), PER_FEATURE * size)


def _steps(rng, few, problem, w, is_last):
    X, greatest = problem.X, greatest_diagonal(problem)
    units = _units_of(problem, greatest)
    z, before = problem.outputs(w), np.inf
    P, b = problem.primal(w, z), problem.loss_dual(z)
    while True:
        g, flat = X.adjoint(b).reshape(-1) / problem.n, w.reshape(-1)
        yield Iterate(w, b, X.passes)
        potentials = units.potentials(flat, g)
        chosen = np.flatnonzero(units.are_nonzero(flat) | (potentials > 0.0))
        coordinates = units.columns(chosen)
        part, of_part = problem, b
        if 2 * few <= problem.n:
            samples = np.unique(rng.integers(problem.n, int(few)))
            part, of_part = problem.on(samples), b[samples]
            X.passes += part.X.nnz / max(X.nnz, 1)  # the copy, and the norms of its columns
        H = np.zeros((coordinates.size, coordinates.size))
        for _ in _add_second_derivative(X, part, of_part, coordinates, H):
            yield Iterate(w, b, X.passes)
        if part is not problem:
            features = coordinates // w.shape[1]
            _add_lacking(greatest_diagonal(part.counted())[features, 0], greatest[features, 0], H)
        form = ByMatrix(H), np.diag(H).copy(), np.zeros(coordinates.size)
        model = outcome(units.model(form, chosen, coordinates, flat, g, False, np.inf))
        for _ in model.descend(max(ACCURACY * potentials.max(initial=0.0), ROUNDING * abs(P))):
            pass
        u = w.copy()
        u.reshape(-1)[coordinates] = model.w
        few, before = few if model.fall <= SLOW * before else 2 * few, model.fall
        t, w, z, P = longest_step(problem.primal, w, z, u, X.forward(u - w), P, -model.fall, _between)
        b = problem.loss_dual(z)
        yield Iterate(w, b, X.passes)
        if not is_last and model.fall <= SETTLED * P and t == 1.0:
            return


def _units_of(problem, greatest):
    """The units of the flat model, its coordinates or blocks of them; greatest : `greatest_diagonal` of the problem."""
    curvatures = np.repeat(greatest[:, 0], problem.shape[1])
    linear = (problem.center_term() + np.zeros(problem.shape)).reshape(-1)
    if "coordinate" in problem.traits:
        return CoordinateUnits(problem.regularizer, problem.strong_convexity, linear, curvatures)
    return BlockUnits(problem.regularizer.dual_balls(problem.shape), problem.strong_convexity, linear, curvatures)


def _rehearse(problem, w):
    """Call the kernels that few passes over few rows may not call, with a counting view of X."""
    zeros, ones, every = np.zeros(2), np.ones(2), np.arange(2)
    if "coordinate" in problem.traits:
        units = CoordinateUnits(problem.regularizer, 1.0, zeros, ones)
    else:
        units = BlockUnits((every, 0.1 * ones), 1.0, zeros, ones)
    form = ByMatrix(np.array([[2.0, 1.0], [1.0, 2.0]])), 2.0 * ones, np.zeros(2)
    model = outcome(units.model(form, every, every, zeros, -ones, False, np.inf))
    for _ in model.descend(0.0):
        pass
    for _ in model.extrapolate(every):
        pass
    whole_arrays.toward(zeros, ones, 0.5)
    b = problem.loss_dual(problem.outputs(w))
    outcome(_add_second_derivative(problem.X, problem, b, every, np.zeros((2, 2))))


def _between(w, u, t):
    """w + t (u - w); u itself for t = 1, and no farther by rounding, out of the domain."""
    return u if t == 1.0 else whole_arrays.toward(w, u, t)


def _add_second_derivative(X, part, b, coordinates, H):
    """Add the mean D_i (x) x_i x_i^T of a part of the samples in the flat coordinates (m,) to H (m, m), which is zero.

    D_i = diag(s_i) - s_i s_i^T / sum(s_i) is the second derivative of phi at sample i, so that this is a matrix of each
    output less one product for all. Yields after each part of the work, at least once a pass.

    X : the counting view whose passes grow, of all samples; part : the problem of the part, b (n, k) its derivatives
    """
    n, (d, k) = part.n, part.shape
    features, outputs = np.divmod(coordinates, k)
    order = np.argsort(outputs, kind="stable")  # those of an output one behind the other
    features, outputs = features[order], outputs[order]
    ends = np.searchsorted(outputs, np.arange(k), side="right")
    reads = np.concatenate(([0.0], np.cumsum(_reads(part.X, features, outputs))))
    a_pass, before = 2.0 * max(X.nnz if X.array is None else X.array.size, 1) * k, X.passes
    G, size = np.zeros(H.shape), max(NUMBERS // max(order.size, d), 1)
    for begin in range(0, n, size):
        block = slice(begin, min(begin + size, n))
        after = before + reads[block.stop] / a_pass
        yield from gram.told_ahead(X, after)
        s = np.empty((block.stop - begin, k))
        whole_arrays.slopes(part.loss, part.mu, b[block], part.y[block], s)
        U = _lines(part.X, block)[:, features] * np.sqrt(s)[:, outputs]
        for first, end in pairwise([0, *ends]):
            G[first:end, first:end] += U[:, first:end].T @ U[:, first:end]
        U *= np.sqrt(s / s.sum(axis=1, keepdims=True))[:, outputs]
        G -= U.T @ U
        X.passes = after
        yield
    H[np.ix_(order, order)] = G / n


def _add_lacking(of_part, of_all, H):
    """Add to the diagonal of H what its samples lack of columns, at the mean curvature of what they have.

    Few of them or none may tell of a rare feature, and steps on it would be too long.

    of_part, of_all : the `greatest_diagonal` at each coordinate (m,) of the samples of H, and of all
    """
    if of_part.any():
        lacking = np.where(of_part < LACKS * of_all, of_all - of_part, 0.0)
        H.flat[:: len(H) + 1] += np.trace(H) / of_part.sum() * lacking


def _reads(X, features, outputs):
    """The products of pairs of chosen entries of each row (n,), and of pairs of one output once more."""
    total = gram.reads_of(_sizes(X, features))
    for e in range(outputs.max(initial=-1) + 1):
        m = _sizes(X, features[outputs == e])
        total = total + m * (m + 1) // 2
    return total


def _sizes(X, features):
    """How many of the chosen entries each row has (n,); of dense data all of them."""
    if X.array is not None:
        return np.full(X.shape[0], features.size)
    chosen = np.bincount(features, minlength=X.shape[1])
    return np.add.reduceat(np.append(chosen[X.rows.indices], 0), X.rows.indptr[:-1]) * (np.diff(X.rows.indptr) > 0)


def _lines(X, block):
    """The rows of X in a slice (m, d) with their zeros."""
    if X.array is not None:
        return X.array[block]
    lines = np.zeros((block.stop - block.start, X.shape[1]))
    gram.scatter(*X.rows[:3], np.arange(block.start, block.stop), lines)
    return lines
