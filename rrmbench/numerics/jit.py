"""Compiled kernels: the decorator, the bridge to losses and regularizers, prefetch, and sums over arrays.

A loss or a regularizer is a NamedTuple of floats with plain scalar methods. Kernels call these methods as
they stand (`loss.dual_point(z, y, mu)`), numba inlines them, and the machine code is cached on disk for all
processes.
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload_attribute, overload_method, register_jitable

from rrmbench.numerics.jit_cache import KernelCache

_kernels = []


def kernel(function):
    """Compile `function` on first use; cached on disk, free of the interpreter lock, IEEE arithmetic."""
    compiled = njit(function, nogil=True, error_model="numpy")
    compiled._cache = KernelCache(function)
    _kernels.append(compiled)
    return compiled


def _expose(name, implementation):
    for tuple_type in types.NamedTuple, types.NamedUniTuple:
        overload_method(tuple_type, name)(implementation)


# numba allows one signature per method name over all tuples; a regularizer's `value` and `conjugate` take one
# argument less than a loss's, so kernels know them as psi and psi_conjugate.
_expose("value", lambda self, z, y: self.instance_class.value)
_expose("conjugate", lambda self, b, y: self.instance_class.conjugate)
_expose("dual_point", lambda self, z, y, mu: self.instance_class.dual_point)
_expose("value_row", lambda self, z, y: self.instance_class.value_row)
_expose("conjugate_row", lambda self, b, y: self.instance_class.conjugate_row)
_expose("penalty_row", lambda self, b, y: self.instance_class.penalty_row)
_expose("dual_point_row", lambda self, z, y, mu, q, b: self.instance_class.dual_point_row)
_expose("psi", lambda self, w: self.instance_class.value)
_expose("psi_conjugate", lambda self, v: self.instance_class.conjugate)
_expose("prox", lambda self, w, t: self.instance_class.prox)
_expose("step", lambda self, p, b, y, q: self.instance_class.step)
_expose("step_row", lambda self, p, b, y, q, new: self.instance_class.step_row)

# the former names, for the kernels of plug-ins (`rrmbench.former_names`); a field is one under both of its names
_expose("dual", lambda self, z, y, mu: self.instance_class.dual_point)
_expose("dual_row", lambda self, z, y, mu, q, b: self.instance_class.dual_point_row)


def _conjugate_convexity(self):
    field = "conjugate_convexity" if "conjugate_convexity" in self.fields else "convexity"
    at = self.fields.index(field)
    return lambda self: self[at]


for _tuple_type in types.NamedTuple, types.NamedUniTuple:
    for _name in "conjugate_convexity", "convexity":
        overload_attribute(_tuple_type, _name)(_conjugate_convexity)


@intrinsic
def prefetch(typingctx, array, i):
    """Ask for the cache line of array[i]; changes no result. `i` may lie outside. For what is no array, do nothing."""
    if not isinstance(array, types.Array):
        return types.void(array, i), lambda context, builder, signature, args: context.get_dummy_value()

    def codegen(context, builder, signature, args):
        data = context.make_array(signature.args[0])(context, builder, args[0]).data
        void = ir.IntType(8).as_pointer()
        int32 = ir.IntType(32)
        index = context.cast(builder, args[1], signature.args[1], types.intp)
        declared = ir.FunctionType(ir.VoidType(), [void, int32, int32, int32])
        function = builder.module.globals.get("llvm.prefetch.p0i8") or ir.Function(
            builder.module, declared, "llvm.prefetch.p0i8"
        )
        address = builder.bitcast(builder.gep(data, [index]), void)
        builder.call(function, [address, int32(0), int32(3), int32(1)])
        return context.get_dummy_value()

    return types.void(array, i), codegen


@register_jitable
def clipped_ratio(t, mu, low, high):
    """clip(t / mu, low, high), for mu = 0 its limit: the least-norm subgradient of the kink at t = 0."""
    if t == 0.0:
        return min(max(0.0, low), high)
    if t <= low * mu:
        return low
    if t >= high * mu:
        return high
    return t / mu


@kernel
def dot(indices, data, begin, end, w):
    """Return sum of data[k] * w[indices[k]] over begin <= k < end; indices and data (nnz,), w (d,)."""
    total = 0.0
    for k in range(begin, end):
        total += data[k] * w[indices[k]]
    return total


@kernel
def axpy(indices, data, begin, end, a, w):
    """Add a * data[k] to w[indices[k]] for begin <= k < end; indices and data (nnz,), w (d,)."""
    for k in range(begin, end):
        w[indices[k]] += a * data[k]


@kernel
def prefetch_rows(rows, y, order, k):
    """Fetch what steps k+4 (the row) and k+8 (its place, norm and label) of `order` will touch.

    The memory of a random row arrives while the rows before it are worked on: twice the speed on short rows.
    """
    last = order.shape[0] - 1
    far = order[min(k + 8, last)]
    prefetch(rows.indptr, far)
    prefetch(rows.sqnorms, far)
    prefetch(y, far)
    near = order[min(k + 4, last)]
    begin, end = rows.indptr[near], rows.indptr[near + 1]
    for line in range(begin, end, 16):
        prefetch(rows.indices, line)
        prefetch(rows.data, line)
        prefetch(rows.data, line + 8)


@kernel
def mean_loss(loss, mu, z, y):
    """(1/n) sum of phi^mu(z_i), phi^mu(z) = max_b b z - phi*(b) - (mu/2) b^2."""
    total = 0.0
    for i in range(z.shape[0]):
        if mu > 0.0:
            b = loss.dual_point(z[i], y[i], mu)
            total += b * z[i] - loss.conjugate(b, y[i]) - 0.5 * mu * b * b
        else:
            total += loss.value(z[i], y[i])
    return total / z.shape[0]


@kernel
def mean_conjugate(loss, mu, b, y):
    """(1/n) sum of phi*(b_i) + (mu/2) b_i^2, +inf outside the domain."""
    total = 0.0
    for i in range(b.shape[0]):
        total += loss.conjugate(b[i], y[i]) + 0.5 * mu * b[i] * b[i]
    return total / b.shape[0]


@kernel
def loss_dual(loss, mu, z, y, b):
    """b_i = argmax_b b z_i - phi*(b) - (mu/2) b^2, the derivative of phi^mu at z_i."""
    for i in range(z.shape[0]):
        b[i] = loss.dual_point(z[i], y[i], mu)


@kernel
def mean_loss_rows(loss, mu, z, y):
    """As `mean_loss`, for a loss on rows z_i of length k."""
    total, b = 0.0, np.empty(z.shape[1])
    for i in range(z.shape[0]):
        if mu > 0.0:
            loss.dual_point_row(z[i], y[i], mu, 0.0, b)
            total -= loss.conjugate_row(b, y[i]) + 0.5 * mu * loss.penalty_row(b, y[i])
            for j in range(b.shape[0]):
                total += b[j] * z[i, j]
        else:
            total += loss.value_row(z[i], y[i])
    return total / z.shape[0]


@kernel
def mean_conjugate_rows(loss, mu, b, y):
    """As `mean_conjugate`, for a loss on rows of length k."""
    total = 0.0
    for i in range(b.shape[0]):
        total += loss.conjugate_row(b[i], y[i]) + 0.5 * mu * loss.penalty_row(b[i], y[i])
    return total / b.shape[0]


@kernel
def loss_dual_rows(loss, mu, q, z, y, b):
    """As `loss_dual`, for a loss on rows of length k, with (q/2) ||b_i||^2 subtracted too."""
    for i in range(z.shape[0]):
        loss.dual_point_row(z[i], y[i], mu, q, b[i])


@kernel
def psi_value(regularizer, w):
    """Sum of psi(w_j)."""
    total = 0.0
    for j in range(w.shape[0]):
        total += regularizer.psi(w[j])
    return total


@kernel
def psi_conjugate(regularizer, v):
    """Sum of psi*(v_j)."""
    total = 0.0
    for j in range(v.shape[0]):
        total += regularizer.psi_conjugate(v[j])
    return total


@kernel
def psi_prox(regularizer, x, t, w):
    """w_j = argmin_u t psi(u) + (u - x_j)^2 / 2; x and w (d,) may be one array."""
    for j in range(x.shape[0]):
        w[j] = regularizer.prox(x[j], t)


GOLDEN_GAMMA = np.uint64(0x9E3779B97F4A7C15)
MIX1 = np.uint64(0xBF58476D1CE4E5B9)
MIX2 = np.uint64(0x94D049BB133111EB)


@kernel
def splitmix64(state):
    """The next 64 random bits of Steele, Lea and Flood's splitmix64; `state` is one uint64 in an array."""
    state[0] += GOLDEN_GAMMA
    x = state[0]
    x = (x ^ (x >> np.uint64(30))) * MIX1
    x = (x ^ (x >> np.uint64(27))) * MIX2
    return x ^ (x >> np.uint64(31))


@kernel
def below(state, n):
    """A random integer in 0 .. n-1 (n < 2^32) by Lemire's multiplication of the upper 32 bits."""
    return np.int64(((splitmix64(state) >> np.uint64(32)) * np.uint64(n)) >> np.uint64(32))


@kernel
def draw_integers(state, n, out):
    """Fill `out` with independent uniform integers in 0 .. n-1."""
    for k in range(out.shape[0]):
        out[k] = below(state, n)


@kernel
def draw_permutation(state, out):
    """Fill `out` with a uniform permutation (Fisher and Yates)."""
    for k in range(out.shape[0]):
        j = below(state, k + 1)
        out[k] = out[j]
        out[j] = k


@kernel
def is_finite(x):
    """Whether no entry is infinite or NaN."""
    for value in x.flat:  # noqa: SIM110, numba has no generators in all()
        if not math.isfinite(value):
            return False
    return True
