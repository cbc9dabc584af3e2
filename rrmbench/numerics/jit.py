"""Compiled kernels: the decorator, and the bridge to losses and regularizers.

A loss or a regularizer is a NamedTuple of floats with plain scalar methods. Kernels call these methods as
they stand (`loss.dual_point(z, y, mu)`), numba inlines them, and the machine code is cached on disk for all
processes.
"""

from numba import config, njit, types
from numba.extending import overload_attribute, overload_method, register_jitable

from rrmbench.errors import RrmbenchError
from rrmbench.numerics.jit_cache import KernelCache

if config.DISABLE_JIT:
    raise RrmbenchError("NUMBA_DISABLE_JIT is set: without compiled kernels nothing runs here; unset it")

WARM_UP_ROWS = 8  # of the data on which a run calls its kernels before its clock starts

# numba compiles a wrapper for callers in C, too, in a twentieth of all its time, unless it is told not to.
_CALLED_BY_PYTHON_AND_KERNELS = {"no_cfunc_wrapper": True}

_kernels = []


def kernel(function):
    """Compile `function` on first use; cached on disk, free of the interpreter lock, IEEE arithmetic."""
    compiled = njit(function, nogil=True, error_model="numpy", **_CALLED_BY_PYTHON_AND_KERNELS)
    compiled._cache = KernelCache(function)
    _kernels.append(compiled)
    return compiled


@register_jitable(fastmath={"reassoc", "nsz"}, forceinline=True)
def plus(total, term):
    """total + term, in a sum of a loop whose terms may be added in any order, several at once."""
    return total + term


def _expose(name, implementation, **options):
    for tuple_type in types.NamedTuple, types.NamedUniTuple:
        overload_method(tuple_type, name, jit_options=_CALLED_BY_PYTHON_AND_KERNELS | options)(implementation)


def _values(self, z, y, values):
    for i in range(z.shape[0]):
        values[i] = self.value_row(z[i], y[i])


def _dual_points(self, z, y, b):
    for i in range(z.shape[0]):
        self.dual_point_row(z[i], y[i], 0.0, 0.0, b[i])


# numba allows one signature per method name over all tuples; a regularizer's `value` and `conjugate` take one
# argument less than a loss's, so kernels know them as psi and psi_conjugate. Left to itself, LLVM does not inline the
# value of the logistic loss into loops over samples, which then compute one at a time, six times as long.
_expose("value", lambda self, z, y: self.instance_class.value, forceinline=True)
_expose("conjugate", lambda self, b, y: self.instance_class.conjugate)
_expose("dual_point", lambda self, z, y, mu: self.instance_class.dual_point)
_expose("value_row", lambda self, z, y: self.instance_class.value_row)
_expose("value_rows", lambda self, z, y, values: getattr(self.instance_class, "value_rows", _values))
_expose("conjugate_row", lambda self, b, y: self.instance_class.conjugate_row)
_expose("penalty_row", lambda self, b, y: self.instance_class.penalty_row)
_expose("dual_point_row", lambda self, z, y, mu, q, b: self.instance_class.dual_point_row)
_expose("dual_point_rows", lambda self, z, y, b: getattr(self.instance_class, "dual_point_rows", _dual_points))
_expose("slopes_row", lambda self, b, y, mu, s: self.instance_class.slopes_row, forceinline=True)
_expose("prox_slopes_row", lambda self, b, y, mu, q, s: self.instance_class.prox_slopes_row)
_expose("psi", lambda self, w: self.instance_class.value)
_expose("psi_conjugate", lambda self, v: self.instance_class.conjugate)
_expose("prox", lambda self, w, t: self.instance_class.prox)
_expose("shrinkage", lambda self, square, t: self.instance_class.shrinkage)
_expose("step", lambda self, p, b, y, q: self.instance_class.step)
_expose("step_row", lambda self, p, b, y, q, new: self.instance_class.step_row)

# a quadratic model, `rrmbench.numerics.quadratic_descent`; numba counts references to its arrays where these are called
_expose("slope_along", lambda self, j, state: self.instance_class.slope_along, forceinline=True)
_expose("move_along", lambda self, j, step, state: self.instance_class.move_along, forceinline=True)
_expose("reads_along", lambda self, j: self.instance_class.reads_along)
_expose("square_of", lambda self, v, state: self.instance_class.square_of)
_expose("add_bend", lambda self, p, Hp: self.instance_class.add_bend)

# columns of X, `rrmbench.numerics.loss_descent`
_expose("product_with", lambda self, j, b: self.instance_class.product_with, forceinline=True)
_expose("size_of", lambda self, j: self.instance_class.size_of)
_expose("shift", lambda self, j, step, loss, mu, y, z, b, room: self.instance_class.shift)

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
