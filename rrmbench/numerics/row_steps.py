"""Steps on single rows for a kernel of one's own: what a row sees of w, and how w moves along it.

    way = row_steps(problem, eta)
    prefetch_row(way, order, t)        asks for the memory of the rows to come
    z = row_output(way, i, t, w)       x_i.w in step t
    row_move(way, i, t, delta, w)      w = prox_{eta Psi}(w - eta (g + delta x_i)), in every step, delta = 0 included
    bring_up(way, steps, w)            after the last of so many steps

Where a row has few entries and psi is a multiple of |w| on an interval, the coordinates that a row does not touch wait
for the closed form of `rrmbench.numerics.lazy`; otherwise all of them move in each step. Which it is the compiler knows
from the type of `way`, so that a kernel is written once.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from rrmbench.numerics.lazy import StochasticSteps, closed_form_steps
from rrmbench.numerics.prefetch import prefetch_rows
from rrmbench.numerics.sparse_rows import axpy, dot, entries


class Waiting(NamedTuple):
    """The way of coordinates that wait.

    rows, y, loss, mu, regularizer : of the problem
    B : (d,) a eta (g - kappa center); a = 1/(1 + eta s)
    powers, last : see `rrmbench.numerics.lazy.lazy_steps`
    """

    rows: tuple
    y: np.ndarray
    loss: tuple
    mu: float
    regularizer: tuple
    B: np.ndarray
    eta: float
    a: float
    powers: np.ndarray
    last: np.ndarray


class Moving(NamedTuple):
    """The way of coordinates that move in each step; the fields of `Waiting` that it needs."""

    rows: tuple
    y: np.ndarray
    loss: tuple
    mu: float
    regularizer: tuple
    B: np.ndarray
    eta: float
    a: float


def row_steps(problem, eta, g=None):
    """The way of at most n steps of length eta, a NamedTuple for kernels; g (d,) is the constant part of the gradient.

    Its fields `rows`, `y`, `loss`, `mu` and `regularizer` are the problem's.
    """
    steps = StochasticSteps(problem, eta)
    fixed = (*steps.samples, steps.regularizer, steps.linear(np.zeros(problem.shape) if g is None else g), eta, steps.a)
    return Waiting(*fixed, steps.powers, steps.last) if steps.lazy else Moving(*fixed)


def prefetch_row(way, order, t):
    """As `rrmbench.numerics.prefetch.prefetch_rows`, of the rows and labels of `way`; for kernels only."""
    raise NotImplementedError


def row_output(way, i, t, w):
    """x_i.w in step t = 0, 1, ...; for kernels only."""
    raise NotImplementedError


def row_move(way, i, t, delta, w):
    """w = prox_{eta Psi}(w - eta (g + delta x_i)) in step t, after `row_output` of i; for kernels only."""
    raise NotImplementedError


def bring_up(way, steps, w):
    """Bring all of w up to date after so many steps; for kernels only."""
    raise NotImplementedError


# no counting of references to the arrays of `way`, which costs as much as a step: nothing is allocated here
BORROWED = {"_nrt": False}


@register_jitable
def _present(regularizer, w, B, threshold, k, powers):
    """w_j after k steps in which it waited."""
    return regularizer.prox(closed_form_steps(w, B, threshold, k, powers), 0.0)


@overload(prefetch_row, jit_options=BORROWED)
def _prefetch_row(way, order, t):
    return lambda way, order, t: prefetch_rows(way.rows, way.y, order, t)


@overload(row_output, jit_options=BORROWED)
def _row_output(way, i, t, w):
    if way.instance_class is Moving:

        def moving(way, i, t, w):
            rows = way.rows
            return dot(rows.indices, rows.data, rows.indptr[i], rows.indptr[i + 1], w)

        return moving

    def waiting(way, i, t, w):
        rows, regularizer, Bs, powers, last = way.rows, way.regularizer, way.B, way.powers, way.last
        indices, data = rows.indices, rows.data
        threshold = way.a * way.eta * regularizer.strength
        z = 0.0
        for e in entries(rows.indptr[i], rows.indptr[i + 1]):
            j = indices[e]
            w[j] = _present(regularizer, w[j], Bs[j], threshold, t - last[j], powers)
            last[j] = t
            z += data[e] * w[j]
        return z

    return waiting


@overload(row_move, jit_options=BORROWED)
def _row_move(way, i, t, delta, w):
    if way.instance_class is Moving:

        def moving(way, i, t, delta, w):
            rows, regularizer, Bs, a, eta = way.rows, way.regularizer, way.B, way.a, way.eta
            axpy(rows.indices, rows.data, rows.indptr[i], rows.indptr[i + 1], -eta * delta, w)
            for j in range(w.shape[0]):
                w[j] = regularizer.prox(a * w[j] - Bs[j], a * eta)

        return moving

    def waiting(way, i, t, delta, w):
        rows, regularizer, Bs, last, a, eta = way.rows, way.regularizer, way.B, way.last, way.a, way.eta
        indices, data, move = rows.indices, rows.data, way.a * way.eta * delta
        for e in entries(rows.indptr[i], rows.indptr[i + 1]):
            j = indices[e]
            w[j] = regularizer.prox(a * w[j] - Bs[j] - move * data[e], a * eta)
            last[j] = t + 1

    return waiting


@overload(bring_up, jit_options=BORROWED)
def _bring_up(way, steps, w):
    if way.instance_class is Moving:
        return lambda way, steps, w: None

    def waiting(way, steps, w):
        regularizer, Bs, powers, last = way.regularizer, way.B, way.powers, way.last
        threshold = way.a * way.eta * regularizer.strength
        for j in range(w.shape[0]):
            w[j] = _present(regularizer, w[j], Bs[j], threshold, steps - last[j], powers)
            last[j] = 0

    return waiting
