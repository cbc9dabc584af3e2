"""Correlated features with a sparse truth, as in the literature on the lasso."""

import math
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt
from scipy.sparse import csr_array

from rrmbench import registry
from rrmbench.data.draws import normals, ordering, uniforms
from rrmbench.errors import RrmbenchError
from rrmbench.parameters import PositiveInt

Share = Annotated[float, Gt(0), Le(1)]


@registry.dataset(entries=lambda n, d, X_density: n * d * X_density)
def simulated(
    n: PositiveInt = 200,
    d: PositiveInt = 500,
    rho: Annotated[float, Gt(-1), Lt(1)] = 0.5,
    density: Share = 0.1,
    X_density: Share = 1.0,
    snr: Annotated[float, Gt(0)] = 3.0,
    task: Literal["regression", "classification", "multiclass"] = "regression",
    classes: Annotated[int, Ge(2)] = 3,
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0,
):
    """Gaussian rows, cov(x_j, x_k) = rho^|j-k|; y = X w + noise, w with density d non-zeros, ||X w|| = snr ||noise||.

    x_1 = z_1 and x_j = rho x_(j-1) + sqrt(1 - rho^2) z_j for standard normal z; each entry of X is kept with
    probability X_density. Of the weights, round(density d), one at least, are standard normal at random places, and the
    others 0. Classification: y is the sign of X w + noise. Multiclass: so many columns of w, on one set of rows, as
    there are classes; y is the place of the greatest entry of a row of X w + noise.
    """
    if task == "multiclass" and n < classes:
        raise RrmbenchError(f"found n: {n} rows for {classes} classes")
    X = correlated_columns(n, d, rho, seed)
    if X_density < 1:
        X *= uniforms(seed, "kept", n * d).reshape(n, d) < X_density
    k = classes if task == "multiclass" else 1
    support = np.sort(ordering(seed, "support", d)[: max(1, round(density * d))])
    W = normals(seed, "weights", len(support) * k).reshape(-1, k)
    outputs = np.zeros((n, k))
    for column, row in zip(support, W, strict=True):  # one by one: how a matrix product sums depends on the machine
        outputs += X[:, column, None] * row
    noise = normals(seed, "noise", n * k).reshape(n, k)
    outputs += noise * (norm(outputs) / (snr * norm(noise)))
    if task == "multiclass":
        return {"X": csr_array(X), "y": outputs.argmax(axis=1), "task": "multiclass"}
    y = outputs[:, 0]
    if task == "classification":
        return {"X": csr_array(X), "y": np.where(y > 0, 1, -1), "task": "binary"}
    return {"X": csr_array(X), "y": y, "task": "regression"}


def correlated_columns(n, d, rho, seed):
    """(n, d) standard normal columns with cov(x_j, x_k) = rho^|j-k|."""
    X = np.empty((n, d))
    innovation = math.sqrt(1 - rho * rho)
    for j in range(d):
        z = normals(seed, f"column {j}", n)
        X[:, j] = z if j == 0 else rho * X[:, j - 1] + innovation * z
    return X


def norm(values):
    """||values||, summed exactly, so that it is the same on every machine."""
    return math.sqrt(math.fsum((values * values).ravel().tolist()))
