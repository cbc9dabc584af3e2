"""Steps on single rows for a kernel of one's own: what a row sees of w, and how w moves along it.

    way = row_steps(problem, eta)
    z = row_output(way, i, t, w)       x_i.w in step t
    row_move(way, i, t, delta, w)      w = prox_{eta Psi}(w - eta (g + delta x_i))
    bring_up(way, steps, w)            after the last of so many steps

Where a row has few entries and psi is a multiple of |w| on an interval, the coordinates that a row does not touch wait
for the closed form of `rrmbench.numerics.lazy`; otherwise all of them move in each step. Which it is the compiler knows
from the type of `way`, so that a kernel is written once.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import overload, register_jitable

from rrmbench.numerics.lazy import StochasticSteps, closed_form_steps
from rrmbench.numerics.sparse_rows import axpy, dot


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


def row_output(way, i, t, w):
    """x_i.w in step t = 0, 1, ...; for kernels only."""
    raise NotImplementedError


def row_move(way, i, t, delta, w):
    """w = prox_{eta Psi}(w - eta (g + delta x_i)) in step t, after `row_output` of i; for kernels only."""
    raise NotImplementedError


def bring_up(way, steps, w):
    """Bring all of w up to date after so many steps; for kernels only."""
    raise NotImplementedError


@register_jitable
def _present(way, j, t, w):
    """w_j, which has made last_j steps, after t of them."""
    threshold = way.a * way.eta * way.regularizer.strength
    return way.regularizer.prox(closed_form_steps(w[j], way.B[j], threshold, t - way.last[j], way.powers), 0.0)


@overload(row_output)
def _row_output(way, i, t, w):
    if way.instance_class is Moving:
        return lambda way, i, t, w: dot(way.rows.indices, way.rows.data, way.rows.indptr[i], way.rows.indptr[i + 1], w)

    def waiting(way, i, t, w):
        z = 0.0
        for e in range(way.rows.indptr[i], way.rows.indptr[i + 1]):
            j = way.rows.indices[e]
            w[j] = _present(way, j, t, w)
            way.last[j] = t
            z += way.rows.data[e] * w[j]
        return z

    return waiting


@overload(row_move)
def _row_move(way, i, t, delta, w):
    if way.instance_class is Moving:

        def moving(way, i, t, delta, w):
            axpy(way.rows.indices, way.rows.data, way.rows.indptr[i], way.rows.indptr[i + 1], -way.eta * delta, w)
            for j in range(w.shape[0]):
                w[j] = way.regularizer.prox(way.a * w[j] - way.B[j], way.a * way.eta)

        return moving

    def waiting(way, i, t, delta, w):
        move = way.a * way.eta * delta
        for e in range(way.rows.indptr[i], way.rows.indptr[i + 1]):
            j = way.rows.indices[e]
            w[j] = way.regularizer.prox(way.a * w[j] - way.B[j] - move * way.rows.data[e], way.a * way.eta)
            way.last[j] = t + 1

    return waiting


@overload(bring_up)
def _bring_up(way, steps, w):
    if way.instance_class is Moving:
        return lambda way, steps, w: None

    def waiting(way, steps, w):
        for j in range(w.shape[0]):
            w[j] = _present(way, j, steps, w)
            way.last[j] = 0

    return waiting
