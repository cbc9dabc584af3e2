"""The kernels that a `dataset:` block may have, and their parameters."""

from rrmbench.components import Parameter
from rrmbench.errors import RrmbenchError, nearest, quoted, shown
from rrmbench.parameters import NonNegative, Positive, PositiveInt

# every kernel is positive semidefinite for these; gamma is 1/d where it is not given
KERNELS = {
    "linear": {},
    "rbf": {"gamma": Positive},
    "polynomial": {"degree": PositiveInt, "coef0": NonNegative, "gamma": Positive},
}
KERNEL_ABSENT = {"degree": 3, "coef0": 1.0, "gamma": None}


def check(value, where):
    """The `kernel:` of a block as a mapping with a name and valid parameters; RrmbenchError naming `where`."""
    value = {"name": value} if isinstance(value, str) else value
    kinds = ", ".join(KERNELS)
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str):
        raise RrmbenchError(
            f"{where}: found {shown(value)}, allowed is a kernel or a mapping {{name: ..., parameter: value}} ({kinds})"
        )
    if name not in KERNELS:
        found = quoted(name)
        raise RrmbenchError(f"{where}.name: unknown kernel '{found}'{nearest(name[:50], KERNELS)} (allowed: {kinds})")
    for key in value:
        if key != "name" and key not in KERNELS[name]:
            allowed = ", ".join(KERNELS[name]) or "none"
            wrong = quoted(key)
            hint = nearest(wrong, KERNELS[name])
            raise RrmbenchError(f"{where}.{wrong}: kernel '{name}' has no such parameter (it has: {allowed}){hint}")
    given = {key: value[key] for key in value if key != "name"}
    return {"name": name} | {k: Parameter(k, KERNELS[name][k]).check(v, f"{where}.{k}") for k, v in given.items()}


def with_defaults(kernel):
    """A checked kernel with all its parameters."""
    return {key: KERNEL_ABSENT[key] for key in KERNELS[kernel["name"]]} | kernel
