"""Names that plug-ins may still use, and what they are called now.

`renamed` gives a plug-in's component the present names; `FormerName` is an attribute under the former one. Both warn.
"""

import inspect
import math
import warnings
from operator import attrgetter

FORMER_NAMES = {
    "loss": {"dual": "dual_point", "dual_row": "dual_point_row", "convexity": "conjugate_convexity"},
    "regularizer": {"feasible": "dual_scaling", "separable": "coordinate_separable"},
    "losses": {"dual": "dual_point"},
    "regularization": {"feasible": "dual_scaling", "separable": "coordinate_separable"},
    "problem": {"dual": "dual_value"},
}


class FormerName:
    """A class attribute that warns and gives the attribute called `name`."""

    def __init__(self, kind, former, name):
        self.kind, self.former, self.name = kind, former, name

    def __get__(self, instance, owner):
        if instance is None:
            return self
        warn(self.kind, self.former, self.name, stacklevel=3)
        return getattr(instance, self.name)


def warn(kind, former, name, stacklevel):
    """Warn that `former` of a component of this kind is now called `name`; as `warnings.warn`."""
    warnings.warn(f"{kind}: {former} is now called {name}", DeprecationWarning, stacklevel=stacklevel + 1)


def with_former_names(kind):
    """A decorator of classes of the package: the former names of this kind stay readable."""

    def add(cls):
        for former, name in FORMER_NAMES[kind].items():
            setattr(cls, former, FormerName(kind, former, name))
        return cls

    return add


def renamed(kind, component):
    """The loss or regularizer `component`, whose class gets the present names and the former ones as aliases.

    A class with both names in its line of descent has the one that is defined later: `feasible` of a plug-in's class
    replaces `dual_scaling` of the class that it is derived from.
    """
    cls = type(component)
    for former, name in FORMER_NAMES[kind].items():
        if _depth(component, former) < _depth(component, name):
            warn(kind, f"{cls.__name__}.{former}", name, stacklevel=2)
            # a method or a field of a NamedTuple; what was set on the instance has no such descriptor
            own = former in getattr(component, "__dict__", {})
            setattr(cls, name, property(attrgetter(former)) if own else inspect.getattr_static(cls, former))
        elif not hasattr(cls, former) and hasattr(cls, name):
            setattr(cls, former, FormerName(kind, former, name))
    return component


def _depth(component, name):
    """How many classes from the component's own on `name` is defined: -1 on the instance, inf where it is not."""
    if name in getattr(component, "__dict__", {}):
        return -1
    for depth, cls in enumerate(type(component).__mro__):
        if name in vars(cls) and not isinstance(vars(cls)[name], FormerName):
            return depth
    return math.inf
