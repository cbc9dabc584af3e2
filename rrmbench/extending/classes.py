"""What the classes of losses and regularizers are; `part` is an object of one, `name` what messages call it.

Every function raises Broken where its statement does not hold.
"""

from rrmbench.extending.verdicts import Broken


def has_methods(name, part, methods, hint=""):
    """It has all of these methods."""
    missing = [method for method in methods if not callable(getattr(part, method, None))]
    if missing:
        raise Broken(f"{name}: {type(part).__name__} has no method {', '.join(missing)}", hint)


def is_named_tuple(name, part, hint):
    """It is a NamedTuple, as kernels are compiled for."""
    if not (isinstance(part, tuple) and hasattr(part, "_fields")):
        raise Broken(f"{name}: {type(part).__name__} is no NamedTuple", hint)


def is_of_floats(name, part):
    """All fields of a NamedTuple are floats."""
    if odd := [field for field, value in zip(part._fields, part, strict=True) if not isinstance(value, float)]:
        raise Broken(f"{name}: the fields {', '.join(odd)} are no floats", "another type compiles all kernels anew")
