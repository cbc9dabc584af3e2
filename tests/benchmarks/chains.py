"""Time the kernels on chains next to their floor, in ns per edge and pair of labels.

    python tests/benchmarks/chains.py [rounds]

The floor of a sum over labellings is a plain loop with the same exponentials, k a position, and k^2 multiplications and
additions an edge for every message: one for the value, three with the marginals (forward, backward, the sum of edges).
Where transitions / tau has a great range, every pair that is not negligible needs an exponential: the floor is one of
each pair. The data have the shape of ocr_letters: 6,877 words of 3 to 14 letters out of 26; the file is taken where
RRMBENCH_DATA has it. The least CPU time counts.
"""

import math
import os
import sys
import time

import numba
import numpy as np

from rrmbench import Problem, data
from rrmbench.numerics import chains

K = 26


@numba.njit(nogil=True, error_model="numpy")
def floor_of_products(nodes, matrix, starts, messages, out):
    """k exponentials a position and `messages` products of a vector with the matrix an edge."""
    k = matrix.shape[0]
    x = np.empty(k)
    for i in range(starts.shape[0] - 1):
        for t in range(starts[i], starts[i + 1]):
            for j in range(k):
                x[j] = math.exp(nodes[t, j])
            for _ in range(messages if t > starts[i] else 0):
                for h in range(k):
                    for j in range(k):
                        out[j] += x[h] * matrix[h, j]


@numba.njit(nogil=True, error_model="numpy")
def floor_of_exponentials(nodes, matrix, starts, out):
    """k^2 exponentials an edge."""
    k = matrix.shape[0]
    for i in range(starts.shape[0] - 1):
        for t in range(starts[i] + 1, starts[i + 1]):
            for h in range(k):
                for j in range(k):
                    out[j] += math.exp(nodes[t, h] + matrix[h, j])


def words():
    """(X (N, d), y (N, 2)) of ocr_letters, or random ones of its shape."""
    if "RRMBENCH_DATA" in os.environ:
        prepared = data.load({"name": "ocr_letters"}, "sequences")
        return prepared.operator(), prepared.y
    rng = np.random.default_rng(0)
    lengths = rng.integers(3, 13, 6877)
    N = lengths.sum()
    X = (rng.random((N, 128)) < 0.22).astype(float)
    return X, np.column_stack([rng.integers(0, K, N), np.repeat(np.arange(len(lengths)), lengths)])


def least(call, rounds):
    """The least CPU seconds of a call, after a first one that compiles."""
    call()
    best = np.inf
    for _ in range(rounds):
        begin = time.thread_time()
        call()
        best = min(best, time.thread_time() - begin)
    return best


def main(rounds=7):
    X, y = words()
    p = Problem(X, y if y.flags.writeable else y.copy(), "crf", {"name": "l2", "strength": 1e-3})
    starts, N, rng = p.X.starts, p.X.labels, np.random.default_rng(0)
    w = 0.3 * rng.standard_normal(p.shape)
    nodes, transitions = np.ascontiguousarray(p.X.forward(w)[:N]), rng.standard_normal((K, K))
    labels, path = p.y[:, 0].astype(np.int64), np.empty(N, dtype=np.int64)
    marginals, edges, out = np.empty((N, K)), np.empty((K, K)), np.zeros(K)
    pairs = (N - p.n) * K * K
    low, matrix = nodes - nodes.max(), np.exp(transitions - transitions.max())
    far = 1e3 * transitions

    def value(T):
        return lambda: chains.partition(nodes, T, starts, labels, 0.0, 1.0)

    def gradient(T):
        return lambda: chains.expectations(nodes, T, starts, labels, 0.0, 1.0, marginals, edges)

    entries = {
        "value": value(transitions),
        "  floor": lambda: floor_of_products(low, matrix, starts, 1, out),
        "value and marginals": gradient(transitions),
        "  floor ": lambda: floor_of_products(low, matrix, starts, 3, out),
        "value, transitions of a great range": value(far),
        "value and marginals, likewise": gradient(far),
        "  floor  ": lambda: floor_of_exponentials(low, transitions - transitions.max(), starts, out),
        "best labelling": lambda: chains.best(nodes, transitions, starts, labels, 0.0, path),
        "one pass: X w, value, marginals, X^T b": lambda: p.X.adjoint(p.loss_dual(p.X.forward(w))),
    }
    print(f"chains: {p.n} sequences, {N} positions, {K} labels, {N - p.n} edges")
    for label, call in entries.items():
        seconds = least(call, rounds)
        print(f"  {label:40s} {1e3 * seconds:8.1f} ms {1e9 * seconds / pairs:7.2f} ns per edge and pair of labels")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
