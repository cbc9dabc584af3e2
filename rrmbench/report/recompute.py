"""The objective and the dual value of stored arrays, without any compiled kernel.

Sums are exact (`math.fsum`), products are scipy's, and losses and regularizers are called as plain Python.
"""

import math

import numpy as np
from scipy.sparse import csr_array

from rrmbench.problem.certificate import rounding_of
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.samples import outputs_of
from rrmbench.problem.traits import build_loss, build_regularizer
from rrmbench.report.plain_bias import minimizers

TOLERANCE = 1e-12  # relative to the sum of the magnitudes of the terms
LEAST = 1e-300  # what is smaller has no digits left


def difference(recorded, computed, size):
    """|recorded - computed| / size, inf where that is no number; NaN never equals."""
    if recorded == computed:
        return 0.0
    error = abs(recorded - computed) / size if size > 0.0 else math.inf
    return error if math.isfinite(error) else math.inf


class _Plain:
    """The data as an operator by scipy's products alone.

    matrix : X, (n, product of `model`)
    model : the shape of w, but for its outputs
    """

    def __init__(self, matrix, model):
        self._matrix, self._model, self.shape = matrix, model, (matrix.shape[0], *model)
        self.sqnorms, self.rows = (matrix * matrix).sum(axis=1), matrix  # whose entries operators of losses square

    def forward(self, w):
        return self._matrix @ (w.reshape(-1) if len(self._model) > 1 else w)

    def adjoint(self, b):
        v = self._matrix.T @ b
        return v.reshape(self._model) if len(self._model) > 1 else v


def _parts(prepared, spec):
    loss, mu = build_loss(spec["loss"])
    return _operator(prepared, loss), (loss, mu), build_regularizer(spec["regularizer"])


def _operator(prepared, loss, sign=np.positive):
    """What the outputs are computed with, of the entries sign(x_ij)."""
    values, indices, indptr = prepared.X_parts
    matrix = csr_array((sign(values), indices.astype(np.int64), indptr.astype(np.int64)), shape=prepared.shape)
    X = _Plain(matrix, tuple(prepared.info.get("model") or (prepared.shape[1],)))
    return loss.operator(X, prepared.y) if hasattr(loss, "operator") else X


def shapes(prepared, spec):
    """The shapes of w and of b."""
    X, (loss, _), _ = _parts(prepared, spec)
    outputs = outputs_of(loss)
    if outputs == "whole":
        return X.shape[1:], loss.shape(X, prepared.y)
    if outputs == "scalar":
        return X.shape[1:], X.shape[:1]
    k = int(prepared.y.max()) + 1 if prepared.y.ndim == 1 else prepared.y.shape[1]
    return (*X.shape[1:], k), (X.shape[0], k)


def unproven(prepared, spec, b):
    """(what is not true of b, or None; what of it cannot be recomputed, or "") in words, for bounds lifted into b.

    A loss whose conjugate is a bound that b says of itself has `necessary(b, y)`, the first condition that does not
    hold of b and that every true one meets, and `unproven`, what these conditions leave open.
    """
    loss, _ = build_loss(spec["loss"])
    if not hasattr(loss, "necessary"):
        return None, ""
    return loss.necessary(b, prepared.y), loss.unproven


def _body(w, spec):
    """What the regularizer sees of w, or of v: all but a free bias."""
    return w[:-1] if spec["dataset"].get("bias") == "free" else w


def minimizes_bias(spec):
    """Whether the outputs of a model are z_i + beta with the best beta."""
    return spec["dataset"].get("bias") == "minimized"


def primal(prepared, spec, w, beta=None):
    """(P(w), the sum of the magnitudes of its terms); of a minimized bias with `beta`, or else with the best one."""
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    z = _product(X.forward, w, X)
    shifts = [0.0]
    if minimizes_bias(spec):
        shifts = (minimizers(loss, mu, z, prepared.y) or [math.nan]) if beta is None else [beta]
    terms = min((_loss_terms(loss, mu, z + shift, prepared.y, X.shape[0]) for shift in shifts), key=math.fsum)
    body = _body(w, spec)
    terms += [*_psi_terms(regularizer, body), *(0.5 * l2 * x * x for x in body.ravel().tolist())]
    return math.fsum(terms), math.fsum(map(abs, terms))


def _product(multiply, w, X):
    """X w or X^T w, of several outputs one by one: the library's products of vectors, not the kernels of runs."""
    if w.ndim > 1 and len(X.shape) == 2:
        return np.stack([multiply(column) for column in np.ascontiguousarray(w.T)], axis=1)
    return multiply(w)


def unsure_of_outputs(prepared, spec, w):
    """(1/n) sum_i |phi'(z_i)| (|X| |w|)_i, in whose rounding P(w) may lie where the terms of z = X w cancel."""
    X, (loss, mu), _ = _parts(prepared, spec)
    if outputs_of(loss) == "whole":
        return 0.0
    z, sizes = (_product(of.forward, at, X) for of, at in ((X, w), (_operator(prepared, loss, np.abs), np.abs(w))))
    if minimizes_bias(spec):
        z = z + (minimizers(loss, mu, z, prepared.y) or [0.0])[0]
    slopes = [_slope(loss, mu, u, t) for u, t in zip(_each(z), _each(prepared.y), strict=True)]
    return float(np.sum(np.abs(np.array(slopes).reshape(z.shape)) * sizes)) / X.shape[0]


def rounding(prepared, spec, w, b):
    """`certificate.rounding_of` stored arrays."""
    X, _, _ = _parts(prepared, spec)
    return rounding_of(X, w, b)


def _slope(loss, mu, z, y):
    """The derivative of phi^mu at z of one sample."""
    if isinstance(z, float):
        return loss.dual_point(z, y, mu)
    b = np.empty(z.shape)
    loss.dual_point_row(z, y, mu, 0.0, b)
    return b


def dual(prepared, spec, b):
    """(D(b), the sum of the magnitudes of its terms, and more where psi* is steep); -inf where b is not feasible.

    Feasible is an entry of v = -(1/n) X^T b to 1e-12 of (1/n) sum_i |x_ij b_i|, its terms, which may cancel.
    """
    if minimizes_bias(spec) and abs(math.fsum(b)) > TOLERANCE * math.fsum(map(abs, b)) + LEAST:
        return -math.inf, math.inf
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    n = X.shape[0]
    terms = [-term for term in _conjugate_terms(loss, mu, b, prepared.y, n)]
    v, size = _product(X.adjoint, b, X) / -n, 0.0
    body = _body(v, spec)
    if body is not v and not np.all(np.abs(v[-1]) <= _rounding(prepared, loss, b)[-1] + LEAST):
        return -math.inf, math.inf
    x = _point(regularizer, l2, body)
    if x is not None:  # psi* is finite everywhere, and a difference that may cancel
        terms += [*_psi_terms(regularizer, x), *(0.5 * l2 * x * x - body * x).ravel().tolist()]
    else:
        found = _psi_terms(regularizer, body * (1.0 - TOLERANCE), "conjugate")
        if math.inf in found and _is_outside_by_rounding(regularizer, body, _body(_rounding(prepared, loss, b), spec)):
            found = [0.0]
        elif math.inf in found:
            inner = np.maximum(np.abs(body) * (1.0 - TOLERANCE) - _body(_rounding(prepared, loss, b), spec), 0.0)
            nearest = _psi_terms(regularizer, np.sign(body) * inner, "conjugate")
            found = [there if here == math.inf else here for here, there in zip(found, nearest, strict=True)]
        terms += [-term for term in found]
        size += _unsure(regularizer, found, body, _body(_rounding(prepared, loss, b), spec)) / TOLERANCE
    return math.fsum(terms), math.fsum(map(abs, terms)) + size


def _point(regularizer, l2, v):
    """The model that attains Psi*(v), None where psi says of none."""
    if l2 > 0.0:
        return _prox(regularizer, v / l2, 1.0 / l2)
    return regularizer.conjugate_point(v) if hasattr(regularizer, "conjugate_point") else None


def unsure_of_dual(prepared, spec, b):
    """sum_j |x_j| (1/n) sum_i |x_ij b_i|, in whose rounding D(b) may lie where the terms of v cancel.

    x is the model that attains Psi*(v), its derivative there; 0 without one.
    """
    X, (loss, _), (regularizer, l2) = _parts(prepared, spec)
    x = _point(regularizer, l2, _body(_product(X.adjoint, b, X) / -X.shape[0], spec))
    return 0.0 if x is None else float(np.sum(np.abs(x) * _body(_rounding(prepared, loss, b), spec))) / TOLERANCE


def _is_outside_by_rounding(regularizer, body, rounding):
    """Whether a v outside of the domain of psi*, where it is 0, is nearer to it than its rounding, entry by entry.

    v - prox(v, 1) is the nearest point of the domain of a homogeneous psi. It need not have an interior, as where psi
    bounds no constant w, so that no scaling comes into it.
    """
    whole = over_coordinates(regularizer)
    if whole.coordinate_separable or not whole.homogeneous:
        return False
    return bool(np.all(np.abs(_prox(regularizer, body, 1.0)) <= rounding + LEAST))


def _unsure(regularizer, found, body, rounding):
    """How far psi* can be off where v is off by its rounding, as the terms of v cancel: 0 where that makes it inf."""
    farther = _psi_terms(regularizer, body + np.where(body < 0.0, -rounding, rounding), "conjugate")
    off = [abs(there - here) for here, there in zip(found, farther, strict=True)]
    return math.fsum(x for x in off if math.isfinite(x))


def _rounding(prepared, loss, b):
    """What the entries of v may be off by: 1e-12 of the sums of the magnitudes of their terms."""
    X = _operator(prepared, loss, np.abs)
    return TOLERANCE * np.abs(_product(X.adjoint, np.abs(b), X)) / X.shape[0]


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


def _loss_terms(loss, mu, z, y, n):
    """The terms of the mean loss: one per sample, or one for a loss that is no sum."""
    if hasattr(loss, "plain_terms"):
        return loss.plain_terms(z, y, mu)
    if outputs_of(loss) != "whole":
        return [_value(loss, mu, u, t) / n for u, t in zip(_each(z), _each(y), strict=True)]
    if mu == 0.0:
        return [loss.value(z, y)]
    b = loss.dual_point(z, y, mu)
    return [float(np.vdot(b, z)) / n, *(-term for term in _conjugate_terms(loss, mu, b, y, n))]


def _conjugate_terms(loss, mu, b, y, n):
    """The terms of the mean conjugate."""
    if outputs_of(loss) != "whole":
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
