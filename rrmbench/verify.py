"""Recomputing final objectives and certificates from the stored arrays, without any compiled kernel.

Sums are exact (`math.fsum`), products are scipy's, and losses and regularizers are called as plain Python.
"""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench import identity, labels
from rrmbench.results import runs_of
from rrmbench.store import experiments

TOLERANCE = 1e-12


@dataclass(frozen=True)
class Verdict:
    """One result: the recorded and the recomputed values, and their relative difference."""

    label: str
    primal: float
    dual: float
    error: float
    problem: str = ""

    @property
    def ok(self):
        return not self.problem and self.error <= TOLERANCE


def verify(path):
    """Yield a Verdict for every result with final arrays at `path`, one that differs more than 1e-12 not ok."""
    for experiment in experiments(path):
        for run in runs_of(experiment):
            if run.result.w is not None:
                yield _verdict(run)


def _verdict(run):
    result = run.result
    primal, dual = (float(result.trace[name][-1]) for name in ("primal", "dual"))
    label = labels.run(run.keys)
    prepared = identity.data_of(result.spec)
    if prepared.checksum != result.data:
        return Verdict(label, primal, dual, math.inf, "the data file has changed since")
    error = 0.0
    if result.status != "diverged":  # what is not finite has no digits to compare
        P, size = _primal(prepared, result.spec, result.w)
        error = _difference(primal, P, size)
    if result.b is not None:
        D, size = _dual(prepared, result.spec, result.b)
        error = max(error, _difference(dual, D, size))
    return Verdict(label, primal, dual, error)


def _difference(recorded, computed, size):
    if recorded == computed:
        return 0.0
    error = abs(recorded - computed) / size if size > 0.0 else math.inf
    return error if math.isfinite(error) else math.inf


def _parts(prepared, spec):
    from scipy.sparse import csr_array

    from rrmbench.problem import build_loss, build_regularizer

    values, indices, indptr = prepared.X_parts
    X = csr_array((values, indices.astype(np.int64), indptr.astype(np.int64)), shape=prepared.shape)
    return X, build_loss(spec["loss"]), build_regularizer(spec["regularizer"])


def _primal(prepared, spec, w):
    """(P(w), the sum of the magnitudes of its terms)."""
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    samples = zip(_each(X @ w), prepared.y.tolist(), strict=True)
    terms = [_value(loss, mu, z, y) / X.shape[0] for z, y in samples]
    terms += [regularizer.value(x) + 0.5 * l2 * x * x for x in w.ravel().tolist()]
    return math.fsum(terms), math.fsum(map(abs, terms))


def _dual(prepared, spec, b):
    """(D(b), the sum of the magnitudes of its terms); -inf where b is not feasible to 1e-12."""
    X, (loss, mu), (regularizer, l2) = _parts(prepared, spec)
    n = X.shape[0]
    terms = [-_conjugate(loss, mu, u, y) / n for u, y in zip(_each(b), prepared.y.tolist(), strict=True)]
    for v in (-(X.T @ b) / n).ravel().tolist():
        if l2 > 0.0:
            x = regularizer.prox(v / l2, 1.0 / l2)
            terms += [regularizer.value(x) + 0.5 * l2 * x * x, -v * x]
        else:
            terms.append(-regularizer.conjugate(v * (1.0 - TOLERANCE)))
    return math.fsum(terms), math.fsum(map(abs, terms))


def _each(outputs):
    """What the samples' loss functions are called with: floats, or rows of a vector loss."""
    return outputs.tolist() if outputs.ndim == 1 else list(outputs)


def _value(loss, mu, z, y):
    """phi^mu(z) of one sample."""
    if isinstance(z, float):
        if mu == 0.0:
            return loss.value(z, y)
        b = loss.dual(z, y, mu)
        return b * z - _conjugate(loss, mu, b, y)
    if mu == 0.0:
        return loss.value_row(z, y)
    b = np.empty(z.shape)
    loss.dual_row(z, y, mu, 0.0, b)
    return float(b @ z) - _conjugate(loss, mu, b, y)


def _conjugate(loss, mu, b, y):
    """(phi^mu)*(b) of one sample."""
    if isinstance(b, float):
        return loss.conjugate(b, y) + 0.5 * mu * b * b
    return loss.conjugate_row(b, y) + 0.5 * mu * loss.penalty_row(b, y)
