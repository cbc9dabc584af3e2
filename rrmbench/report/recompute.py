"""The objective and the dual value of stored arrays, without any compiled kernel.

Sums are exact (`math.fsum`), products are scipy's, and losses and regularizers are called as plain Python.
"""

import math

import numpy as np
from scipy.sparse import csr_array

from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.traits import build_loss, build_regularizer

TOLERANCE = 1e-12  # relative to the sum of the magnitudes of the terms


def difference(recorded, computed, size):
    """|recorded - computed| / size, inf where that is no number; NaN never equals."""
    if recorded == computed:
        return 0.0
    error = abs(recorded - computed) / size if size > 0.0 else math.inf
    return error if math.isfinite(error) else math.inf


def _parts(prepared, spec):
    values, indices, indptr = prepared.X_parts
    X = csr_array((values, indices.astype(np.int64), indptr.astype(np.int64)), shape=prepared.shape)
    return X, build_loss(spec["loss"]), build_regularizer(spec["regularizer"])


def shapes(prepared, spec):
    """The shapes of w and of b."""
    n, d = prepared.shape
    if prepared.info.get("model"):
        return tuple(prepared.info["model"]), (n,)
    loss, _ = build_loss(spec["loss"])
    if getattr(loss, "outputs", "scalar") != "vector":
        return (d,), (n,)
    k = int(prepared.y.max()) + 1 if prepared.y.ndim == 1 else prepared.y.shape[1]
    return (d, k), (n, k)


def _body(w, spec):
    """What the regularizer sees of w, or of v: all but a free bias."""
    return w[:-1] if spec["dataset"].get("bias") == "free" else w


def primal(prepared, spec, w):
    """(P(w), the sum of the magnitudes of its terms)."""
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    z = X @ (w.reshape(-1) if prepared.info.get("model") else w)
    terms = _loss_terms(loss, mu, z, prepared.y)
    body = _body(w, spec)
    terms += [*_psi_terms(regularizer, body), *(0.5 * l2 * x * x for x in body.ravel().tolist())]
    return math.fsum(terms), math.fsum(map(abs, terms))


def dual(prepared, spec, b):
    """(D(b), the sum of the magnitudes of its terms); -inf where b is not feasible to 1e-12."""
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    terms = [-term for term in _conjugate_terms(loss, mu, b, prepared.y)]
    v = -(X.T @ b) / X.shape[0]
    if prepared.info.get("model"):
        v = v.reshape(prepared.info["model"])
    body = _body(v, spec)
    if body is not v and not np.all(np.abs(v[-1]) <= TOLERANCE):
        return -math.inf, math.inf
    if l2 > 0.0:
        x = _prox(regularizer, body / l2, 1.0 / l2)
        terms += [*_psi_terms(regularizer, x), *(0.5 * l2 * x * x - body * x).ravel().tolist()]
    else:
        terms += [-term for term in _psi_terms(regularizer, body * (1.0 - TOLERANCE), "conjugate")]
    return math.fsum(terms), math.fsum(map(abs, terms))


def _psi_terms(regularizer, w, method="value"):
    """The terms of psi(w), or of psi*(w): one per coordinate, or one."""
    function = getattr(regularizer, method)
    if over_coordinates(regularizer).coordinate_separable:
        return [function(x) for x in w.ravel().tolist()]
    return [function(w)]


def _prox(regularizer, x, t):
    if over_coordinates(regularizer).coordinate_separable:
        return np.array([regularizer.prox(u, t) for u in x.ravel().tolist()]).reshape(x.shape)
    return regularizer.prox(x, t)


def _loss_terms(loss, mu, z, y):
    """The terms of the mean loss: one per sample, or one for a loss that is no sum."""
    n = len(y)
    if getattr(loss, "outputs", "scalar") != "whole":
        return [_value(loss, mu, u, t) / n for u, t in zip(_each(z), _each(y), strict=True)]
    if mu == 0.0:
        return [loss.value(z, y)]
    b = loss.dual_point(z, y, mu)
    return [float(b @ z) / n, *(-term for term in _conjugate_terms(loss, mu, b, y))]


def _conjugate_terms(loss, mu, b, y):
    """The terms of the mean conjugate."""
    n = len(y)
    if getattr(loss, "outputs", "scalar") != "whole":
        return [_conjugate(loss, mu, u, t) / n for u, t in zip(_each(b), _each(y), strict=True)]
    return [loss.conjugate(b, y), mu * loss.d2(b, y)]


def _each(outputs):
    """What the samples' loss functions are called with: floats, or rows of a vector loss."""
    return outputs.tolist() if outputs.ndim == 1 else list(outputs)


def _value(loss, mu, z, y):
    """phi^mu(z) of one sample."""
    if isinstance(z, float):
        if mu == 0.0:
            return loss.value(z, y)
        b = loss.dual_point(z, y, mu)
        return b * z - _conjugate(loss, mu, b, y)
    if mu == 0.0:
        return loss.value_row(z, y)
    b = np.empty(z.shape)
    loss.dual_point_row(z, y, mu, 0.0, b)
    return float(b @ z) - _conjugate(loss, mu, b, y)


def _conjugate(loss, mu, b, y):
    """(phi^mu)*(b) of one sample."""
    if isinstance(b, float):
        return loss.conjugate(b, y) + 0.5 * mu * b * b
    return loss.conjugate_row(b, y) + 0.5 * mu * loss.penalty_row(b, y)
