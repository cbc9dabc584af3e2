"""What the classes of losses and regularizers are; `part` is an object of one, `name` what messages call it.

Every function raises Broken where its statement does not hold.
"""

from rrmbench.extending.verdicts import Broken


def is_of_floats(name, part):
    """All fields of a NamedTuple are floats."""
    if odd := [field for field, value in zip(part._fields, part, strict=True) if not isinstance(value, float)]:
        raise Broken(f"{name}: the fields {', '.join(odd)} are no floats", "another type compiles all kernels anew")
