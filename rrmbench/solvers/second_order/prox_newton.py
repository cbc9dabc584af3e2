"""Proximal Newton's method for smooth losses, with the whole second derivative of samples that grow."""

from functools import partial
from math import sqrt

import numpy as np

from rrmbench.components import lacking
from rrmbench.numerics import whole_arrays
from rrmbench.numerics.jit import WARM_UP_ROWS
from rrmbench.numerics.quadratic_descent import ByMatrix
from rrmbench.problem.iterate import Iterate
from rrmbench.registry import solver
from rrmbench.solvers.second_order.chosen_curvature import add_second_derivative
from rrmbench.solvers.second_order.curvature import greatest_diagonal, longest_step
from rrmbench.solvers.second_order.growing import (
    LARGEST,
    PER_FEATURE,
    end_of_stage,
    on_growing_samples,
    too_many_entries,
)
from rrmbench.subproblems.quadratic import ROUNDING
from rrmbench.subproblems.units import BlockUnits, CoordinateUnits, outcome

NEEDS = frozenset({"rows", "smooth", "scalar or slopes", "coordinate or blocks"})
AFFORDED = 2 * 10**10  # products for H, for which other solvers are slower to the last digits: some seconds
ACCURACY = 1e-4  # of a model: the greatest potential left, over that before
FEW = 16  # samples times d sqrt(k), of which H is made at first
DAMPED = 1e-4  # of the greatest diagonal: the least damping that does something
AGREES = 0.75  # of the fall of a model, from which on of P damping falls
RATIO = 4.0  # of a damping to the next one, where it falls; the most by which it grows is RATIO^2
SLOW = 0.2  # of the fall of the model before, above which H is made of twice as many


def is_best_for(traits, n, size):
    """Whether no solver is much faster to certify a problem of these traits on n samples, for models of this size."""
    return not lacking(NEEDS, traits) and size <= LARGEST and n * size**2 <= AFFORDED


@solver(needs=NEEDS, gives={"full_steps"}, too_large=too_many_entries)
def prox_newton(problem, start, rng):
    """w+ = w + t (u - w), u = argmin g.(u - w) + (1/2) (u - w)^T H (u - w) + Psi(u) [Lee, Sun and Saunders 2014].

    g is the derivative of the mean loss on samples that grow from stage to stage, as in `newton`, 8 d sqrt(k) at least.
    H is the second derivative of 16 d sqrt(k) of them at first, drawn anew for each step, and of twice as many after a
    step whose model falls by more than a fifth of what the one before fell by, up to all [Byrd et al. 2011]; its
    diagonal is raised in columns of which those samples hold too little. It is known in the coordinates that are not 0
    or that a proximal step would move; the others stay 0. After a step cut to t, c times the greatest diagonal that H
    could have is added to it, c = 1e-4 at first and by up to 1/t more each time, until P falls as the models do. u is
    found as in `working_sets`, by coordinate descent, or steps on blocks, and conjugate gradients on the matrix. t is
    the first of 1, 1/2, 1/4 ... where P falls by 1e-4 t times what the model falls by; X (u - w) is known then, so that
    a trial of t touches no data.

    For few features and outputs: the product of two entries of a row, for two of k outputs, counts as that of an entry
    with a number of the model, of which a pass has 2 k for each entry. So a row of m chosen entries and outputs counts
    m (m + 3)/2 of these and, of several outputs, m_j (m_j + 1)/2 for the m_j of each, of dense data with its zeros.
    Outputs, gradient, copies of rows, of those of H too, and the norms of their columns are half a pass of these rows
    each; of a single output, the chosen columns of the rows of H are copied. The descent on the model touches no data;
    the clock includes it. Yields after these norms, the gradient, each part of H and each step; iterates have b in the
    last stage, but for the first one there.

    Raises RrmbenchError for d k > 3000.
    """
    w = problem.start(start)
    yield Iterate(w)
    if problem.n <= WARM_UP_ROWS:  # on more, which kernels are called depends on the data
        _rehearse(problem.counted(), w)
    size = w.shape[0] * sqrt(w.size // w.shape[0])  # a sample tells of each output
    yield from on_growing_samples(problem, w, rng, partial(_steps, rng, FEW * size), PER_FEATURE * size)


def _steps(rng, few, problem, w, is_last):
    X, greatest = problem.X, _flat_diagonal(problem)
    yield Iterate(w, passes=X.passes)
    units = _units_of(problem, greatest)
    z, before, damping = problem.outputs(w), np.inf, 0.0
    P, b, ends = problem.primal(w, z), problem.loss_dual(z), end_of_stage(problem, is_last)
    while True:
        g, flat = X.adjoint(b).reshape(-1) / problem.n, w.reshape(-1)
        yield Iterate(w, b, X.passes)
        potentials = units.potentials(flat, g)
        chosen = np.flatnonzero(units.are_nonzero(flat) | (potentials > 0.0))
        coordinates = units.columns(chosen)
        samples = None
        if 2 * few <= problem.n:
            samples = np.unique(rng.integers(problem.n, int(few))).astype(np.int64)  # as kernels know all of them
        H = np.zeros((coordinates.size, coordinates.size))
        for _ in add_second_derivative(X, problem, samples, z, b, coordinates, greatest[coordinates], H):
            yield Iterate(w, b, X.passes)
        H.flat[:: len(H) + 1] += damping * greatest[coordinates]
        form = ByMatrix(H), np.diag(H).copy(), np.zeros(coordinates.size)
        model = outcome(units.model(form, chosen, coordinates, flat, g, False, np.inf))
        for _ in model.descend(max(ACCURACY * potentials.max(initial=0.0), ROUNDING * abs(P))):
            pass
        u = w.copy()
        u.reshape(-1)[coordinates] = model.w
        few, before = few if model.fall <= SLOW * before else 2 * few, model.fall
        level = P
        t, w, z, P = longest_step(problem.primal, w, z, u, X.forward(u - w), P, -model.fall, _between)
        damping = _next_damping(damping, t, (level - P) / model.fall if model.fall > 0.0 else 1.0)
        b = problem.loss_dual(z)
        yield Iterate(w, b, X.passes)
        if ends(-model.fall, P, t):
            return


def _next_damping(damping, t, agreement):
    """That after a step cut to t, along which P fell by so much of what the model did.

    Where most samples lie on flat parts of phi' H knows nothing of the bends ahead, and steps go far too long.
    """
    if t < 1.0:
        return min(max(damping, DAMPED) / max(t, RATIO**-2), 1.0)
    if agreement < AGREES:
        return damping
    return damping / RATIO if damping > DAMPED else 0.0


def _flat_diagonal(problem):
    """The `greatest_diagonal` at each coordinate of the flat model."""
    diagonal = greatest_diagonal(problem).reshape(-1)
    return np.repeat(diagonal, np.prod(problem.shape) // diagonal.size)


def _units_of(problem, curvatures):
    """The units of the flat model, its coordinates or blocks of them; curvatures : its `_flat_diagonal`."""
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
    X, z, every = problem.X, problem.outputs(w), np.arange(w.size)
    b, greatest = problem.loss_dual(z), _flat_diagonal(problem)
    for samples in None, np.arange(1):
        outcome(add_second_derivative(X, problem, samples, z, b, every, greatest, np.zeros((w.size, w.size))))


def _between(w, u, t):
    """w + t (u - w); u itself for t = 1, and no farther by rounding, out of the domain."""
    return u if t == 1.0 else whole_arrays.toward(w, u, t)
