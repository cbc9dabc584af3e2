"""Rows of a sparse matrix X (n, d) times matrices of several columns, as models of several outputs need them.

The columns are taken 16 at a time, in four vectors of four that stay in registers while a row of X is read; the last
ones in as many as they fill. Loops over the columns for each entry of X, as compilers and the C libraries have them,
read and write the memory each time and take two to four times as long.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload, register_jitable

from rrmbench.numerics.jit import kernel

INDEX = ir.IntType(64)
MOST = 16  # columns, whose vectors are in registers beside the entry of X and a term


class _Columns:
    """The columns j, ..., j + c - 1 of row i of a matrix, in vectors of four, two and one."""

    def __init__(self, builder, matrix, i, j, c):
        self.builder, self.places = builder, []
        at = builder.add(builder.mul(i, builder.extract_value(matrix.shape, 1)), j)
        for first, lanes in widths(c):
            place = builder.gep(matrix.data, [builder.add(at, INDEX(first))])
            self.places.append(builder.bitcast(place, _vector(lanes).as_pointer()))

    def read(self):
        return [self.builder.load(place, align=8) for place in self.places]

    def write(self, values):
        for place, value in zip(self.places, values, strict=True):
            self.builder.store(value, place, align=8)


def widths(c):
    """(first, lanes) of the vectors that c numbers fill: 4, 4, ..., 2, 1."""
    lanes = [4] * (c // 4) + [2] * (c % 4 // 2) + [1] * (c % 2)
    return [(sum(lanes[:v]), lanes[v]) for v in range(len(lanes))]


def _vector(lanes):
    return ir.VectorType(ir.DoubleType(), lanes)


def _filled(builder, x, lanes):
    """The vector of so many x."""
    first = builder.insert_element(_vector(lanes)(ir.Undefined), x, ir.IntType(32)(0))
    places = ir.VectorType(ir.IntType(32), lanes)([0] * lanes)
    return builder.shuffle_vector(first, _vector(lanes)(ir.Undefined), places)


def _on_entries(make):
    """An intrinsic f(indices, data, begin, end, many, one, i, t): a loop over begin <= e < end, 16 columns at a time.

    many, one : arrays of float64 by rows, of as many columns; others are not compiled. For the entry data[e] a row of
        `many`, that of the number indices[e], and row i of `one` meet
    make : (builder, the `_Columns` of `one`, t) -> (step, finish): step(xs, columns) makes the code for an entry, xs
        the vectors of it, `columns` those of `many`; finish() that which comes behind the loop
    t : a number, of which `make` makes what it will
    """

    def typed(typingctx, indices, data, begin, end, many, one, i, t):
        given = (indices, data, begin, end, many, one, i, t)
        if any(array.layout != "C" or array.dtype != types.float64 for array in (many, one)):
            return None

        def codegen(context, builder, signature, args):
            places, entries, of_many, of_one = (
                context.make_array(given[k])(context, builder, args[k]) for k in (0, 1, 4, 5)
            )
            first, last, own = (context.cast(builder, args[k], given[k], types.int64) for k in (2, 3, 6))
            number = context.cast(builder, args[7], t, types.float64)

            def chunk(j, c):
                step, finish = make(builder, columns := _Columns(builder, of_one, own, j, c), number)
                lanes = {place.type.pointee.count for place in columns.places}
                with cgutils.for_range_slice(builder, first, last, INDEX(1), INDEX) as (e, _):
                    x = builder.load(builder.gep(entries.data, [e]))
                    xs = {m: _filled(builder, x, m) for m in lanes}
                    at = builder.zext(builder.load(builder.gep(places.data, [e])), INDEX)
                    step(xs, _Columns(builder, of_many, at, j, c))
                finish()

            size = builder.extract_value(of_one.shape, 1)
            with cgutils.for_range_slice(builder, INDEX(0), size, INDEX(MOST), INDEX) as (j, _):
                left = builder.sub(size, j)
                is_last = builder.icmp_signed("<", left, INDEX(MOST))
                done = builder.append_basic_block("done")
                switch = builder.switch(builder.select(is_last, left, INDEX(MOST)), done)
                for c in range(1, MOST + 1):
                    block = builder.append_basic_block(f"columns{c}")
                    switch.add_case(INDEX(c), block)
                    builder.position_at_end(block)
                    chunk(j, c)
                    builder.branch(done)
                builder.position_at_end(done)
            return context.get_dummy_value()

        return types.void(*given), codegen

    return intrinsic(typed)


def _sum_code(builder, goal, t, read=_Columns.read):
    sums = [cgutils.alloca_once_value(builder, place.type.pointee(None)) for place in goal.places]

    def step(xs, columns):
        for total, w in zip(sums, read(columns), strict=True):
            builder.store(builder.fadd(builder.load(total), builder.fmul(xs[w.type.count], w)), total)

    return step, lambda: goal.write([builder.load(total) for total in sums])


def _add_code(builder, given, t):
    values = given.read()

    def step(xs, columns):
        terms = [builder.fmul(xs[b.type.count], b) for b in values]
        columns.write([builder.fadd(g, term) for g, term in zip(columns.read(), terms, strict=True)])

    return step, lambda: None


def _soft_sum_code(builder, goal, t):
    taus = {m: _filled(builder, t, m) for m in {place.type.pointee.count for place in goal.places}}

    def shrunk(columns):
        """w - min(max(w, -t), t), the proximal point of t |w|."""
        for w in columns.read():
            tau = taus[w.type.count]
            low = builder.fneg(tau)
            above = builder.select(builder.fcmp_ordered(">", w, low), w, low)
            yield builder.fsub(w, builder.select(builder.fcmp_ordered("<", above, tau), above, tau))

    return _sum_code(builder, goal, t, shrunk)


_sum_rows, _sum_soft_rows, _add_to_rows = map(_on_entries, (_sum_code, _soft_sum_code, _add_code))


def array_of(data, begin, end):
    """The array of the entries begin <= e < end of `data`, which are about to be read; for kernels, to be overloaded.

    Loops in vectors read memory as it is. What counts the entries that are read one by one is told of these here.
    """
    raise NotImplementedError


@overload(array_of)
def _array_of(data, begin, end):
    return (lambda data, begin, end: data) if isinstance(data, types.Array) else None


@register_jitable
def sum_rows(indices, data, begin, end, W, Z, i):
    """Write the sum of data[e] W[indices[e]] over begin <= e < end to Z[i]; W is (d, k), Z (., k)."""
    _sum_rows(indices, array_of(data, begin, end), begin, end, W, Z, i, 0.0)


@register_jitable
def sum_soft_rows(indices, data, begin, end, W, t, Z, i):
    """As `sum_rows`, of the proximal points of t |w| of the numbers w in W."""
    _sum_soft_rows(indices, array_of(data, begin, end), begin, end, W, Z, i, t)


@register_jitable
def add_to_rows(indices, data, begin, end, B, i, G):
    """Add data[e] B[i] to G[indices[e]] for begin <= e < end; B is (., k), G (d, k)."""
    _add_to_rows(indices, array_of(data, begin, end), begin, end, G, B, i, 0.0)


def times(rows, d, W):
    """X W (n, k) for W (d, k); ValueError for another number of rows, as of a product of numpy."""
    W = _of_one_kind(W, d)
    Z = np.empty((rows.indptr.size - 1, W.shape[1]))
    _times(rows.indptr, rows.indices, rows.data, W, Z)
    return Z


def transposed_times(rows, d, B):
    """X^T B (d, k) for B (n, k); ValueError for another number of rows."""
    B = _of_one_kind(B, rows.indptr.size - 1)
    G = np.zeros((d, B.shape[1]))
    _add_transposed_times(rows.indptr, rows.indices, rows.data, B, G)
    return G


def _of_one_kind(W, m):
    """W (m, k), or a copy: kernels are compiled for writable arrays of float64 by rows, and read no others."""
    if W.shape[0] != m:
        raise ValueError(f"found a matrix of the shape {W.shape}, needed are {m} rows")
    return W if W.flags.carray and W.dtype == np.float64 else np.array(W, dtype=np.float64, order="C")


@kernel
def _times(indptr, indices, data, W, Z):
    for i in range(Z.shape[0]):
        sum_rows(indices, data, indptr[i], indptr[i + 1], W, Z, i)


@kernel
def _add_transposed_times(indptr, indices, data, B, G):
    for i in range(B.shape[0]):
        add_to_rows(indices, data, indptr[i], indptr[i + 1], B, i, G)
