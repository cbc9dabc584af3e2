"""Memory that is asked for before it is needed; it changes the speed of kernels and no result."""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from rrmbench.numerics.jit import kernel


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
