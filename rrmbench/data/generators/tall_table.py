"""Data like those of a tall table: a few numbers and two categories per row."""

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.sparse import csr_array, hstack

from rrmbench import registry
from rrmbench.data.draws import normals, uniforms
from rrmbench.data.generators.simulated import correlated_columns, norm
from rrmbench.parameters import PositiveInt


@registry.dataset(entries=lambda n, numbers: n * (numbers + 2))
def tall_table(
    n: PositiveInt = 2000,
    numbers: PositiveInt = 10,
    few: PositiveInt = 4,
    many: PositiveInt = 40,
    rho: Annotated[float, Gt(-1), Lt(1)] = 0.5,
    snr: Annotated[float, Gt(0)] = 1.0,
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0,
):
    """Rows of `numbers` in [0, 1] and two categories of `few` and `many` values, a 0/1 column for each value.

    The numbers are 1/2 + z/8 cut to [0, 1], z standard normal with cov(z_j, z_k) = rho^|j-k|. Value v = 1, 2, ... of a
    category has a probability proportional to 1/v. y is the sign of f + noise, f the sum of z w and of a weight per
    value, all weights standard normal, f less its mean, and ||f|| = snr ||noise||. Shape (n, numbers + few + many).
    """
    z = correlated_columns(n, numbers, rho, seed)
    weights = normals(seed, "weights", numbers + few + many)
    f = np.zeros(n)
    for j in range(numbers):  # one by one: how a matrix product sums depends on the machine
        f += weights[j] * z[:, j]
    blocks, before = [csr_array(np.clip(0.5 + z / 8.0, 0.0, 1.0))], numbers
    for purpose, size in ("few", few), ("many", many):
        ends = np.cumsum(1.0 / np.arange(1.0, size + 1.0))
        value = np.searchsorted(ends[:-1], uniforms(seed, purpose, n) * ends[-1], side="right")
        f += weights[before + value]
        blocks.append(csr_array((np.ones(n), (np.arange(n), value)), shape=(n, size)))
        before += size
    f -= math.fsum(f.tolist()) / n
    noise = normals(seed, "noise", n)
    noise *= norm(f) / (snr * norm(noise))
    return {"X": hstack(blocks, format="csr"), "y": np.where(f + noise > 0, 1, -1), "task": "binary"}
