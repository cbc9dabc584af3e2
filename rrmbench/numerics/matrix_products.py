"""Products of a sparse matrix X (n, d) with matrices of several columns, as models of several outputs need them.

The columns are taken 16 at a time, in four vectors of four that stay in registers while a row of X is read. The loops
of C libraries, here those of scipy, read and write the memory for each entry of X, which takes two to three times as
long. Matrices whose columns do not fill the last vector are copied with zeros.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from rrmbench.numerics.jit import kernel

LANES = 4  # numbers in a vector
VECTORS = 4  # of a row that are in registers, beside the entry of X and the term
VECTOR, INDEX = ir.VectorType(ir.DoubleType(), LANES), ir.IntType(64)


def times(rows, W):
    """X W (n, k) for W (d, k)."""
    Z = np.empty((rows.indptr.size - 1, _filled(W.shape[1])))
    _times(rows.indptr, rows.indices, rows.data, _padded(W), Z)
    return np.ascontiguousarray(Z[:, : W.shape[1]])


def transposed_times(rows, B, d):
    """X^T B (d, k) for B (n, k)."""
    G = np.zeros((d, _filled(B.shape[1])))
    _add_transposed_times(rows.indptr, rows.indices, rows.data, _padded(B), G)
    return np.ascontiguousarray(G[:, : B.shape[1]])


def _filled(k):
    return -(-k // LANES) * LANES


def _padded(W):
    """W, or a copy with columns of zeros that fill vectors; kernels are compiled for arrays of one kind."""
    if W.shape[1] % LANES == 0 and W.flags.carray and W.dtype == np.float64:
        return W
    padded = np.zeros((W.shape[0], _filled(W.shape[1])))
    padded[:, : W.shape[1]] = W
    return padded


class _Row:
    """The vectors of row i of a matrix, from its column j on."""

    def __init__(self, builder, matrix, i, j, vectors):
        self.builder, at = builder, builder.add(builder.mul(i, builder.extract_value(matrix.shape, 1)), j)
        self.places = [
            builder.bitcast(builder.gep(matrix.data, [builder.add(at, INDEX(LANES * v))]), VECTOR.as_pointer())
            for v in range(vectors)
        ]

    def read(self):
        return [self.builder.load(place, align=8) for place in self.places]

    def write(self, values):
        for place, value in zip(self.places, values, strict=True):
            self.builder.store(value, place, align=8)


def _on_entries(make):
    """An intrinsic f(vectors, indices, data, begin, end, W, Z, i, j) with a loop over the entries of row i of X.

    make : (builder, row, W, Z) -> (step, end); row(matrix, i or None) is a `_Row` from column j on, step(x, i) makes
        the code for the entry x in column i of X, end() that which comes behind the loop
    """

    def typed(typingctx, vectors, indices, data, begin, end, W, Z, i, j):
        signature = types.void(vectors, indices, data, begin, end, W, Z, i, j)

        def codegen(context, builder, signature, args):
            def array(k):
                return context.make_array(signature.args[k])(context, builder, args[k])

            def number(k):
                return context.cast(builder, args[k], signature.args[k], types.int64)

            own, column, lanes = number(7), number(8), ir.VectorType(ir.IntType(32), LANES)

            def row(matrix, i=own):
                return _Row(builder, matrix, i, column, vectors.literal_value)

            step, finish = make(builder, row, array(5), array(6))
            with cgutils.for_range_slice(builder, number(3), number(4), INDEX(1), INDEX) as (k, _):
                x, at = (builder.load(builder.gep(array(of).data, [k])) for of in (2, 1))
                one = builder.insert_element(VECTOR(ir.Undefined), x, ir.IntType(32)(0))
                step(builder.shuffle_vector(one, VECTOR(ir.Undefined), lanes([0] * LANES)), builder.zext(at, INDEX))
            finish()
            return context.get_dummy_value()

        return signature, codegen

    return intrinsic(prefer_literal=True)(typed)


def _sum(builder, row, W, Z):
    """Row i of Z is the sum of x times the rows of W."""
    goal = row(Z)
    sums = [cgutils.alloca_once_value(builder, VECTOR([0.0] * LANES)) for _ in goal.places]

    def step(x, i):
        for total, w in zip(sums, row(W, i).read(), strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(x, w)), total)

    return step, lambda: goal.write([builder.load(total) for total in sums])


def _spread(builder, row, B, G):
    """Add x times row i of B to the rows of G."""
    given = row(B).read()

    def step(x, i):
        goal = row(G, i)
        goal.write([builder.fadd(g, builder.fmul(x, b)) for g, b in zip(goal.read(), given, strict=True)])

    return step, lambda: None


_sum_row, _spread_row = _on_entries(_sum), _on_entries(_spread)


@kernel
def _times(indptr, indices, data, W, Z):
    """Write X W to Z; their numbers of columns are a multiple of LANES."""
    for i in range(Z.shape[0]):
        begin, end = indptr[i], indptr[i + 1]
        for j in range(0, Z.shape[1], LANES * VECTORS):
            left = (Z.shape[1] - j) // LANES
            if left >= 4:
                _sum_row(4, indices, data, begin, end, W, Z, i, j)
            elif left == 3:
                _sum_row(3, indices, data, begin, end, W, Z, i, j)
            elif left == 2:
                _sum_row(2, indices, data, begin, end, W, Z, i, j)
            else:
                _sum_row(1, indices, data, begin, end, W, Z, i, j)


@kernel
def _add_transposed_times(indptr, indices, data, B, G):
    """Add X^T B to G; their numbers of columns are a multiple of LANES."""
    for i in range(B.shape[0]):
        begin, end = indptr[i], indptr[i + 1]
        for j in range(0, B.shape[1], LANES * VECTORS):
            left = (B.shape[1] - j) // LANES
            if left >= 4:
                _spread_row(4, indices, data, begin, end, B, G, i, j)
            elif left == 3:
                _spread_row(3, indices, data, begin, end, B, G, i, j)
            elif left == 2:
                _spread_row(2, indices, data, begin, end, B, G, i, j)
            else:
                _spread_row(1, indices, data, begin, end, B, G, i, j)
