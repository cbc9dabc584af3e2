"""Losses and regularizers made of their mappings, and the classes that they are of."""

import inspect
import sys
from functools import cache

from rrmbench.components import is_shipped
from rrmbench.errors import RrmbenchError, listed, shown
from rrmbench.former_names import renamed
from rrmbench.registry import components, from_mapping

METHODS = {
    "scalar": ("value", "conjugate", "dual_point"),
    "vector": ("value_row", "conjugate_row", "penalty_row", "dual_point_row", "spread"),
    "whole": ("shape", "value", "conjugate", "d2", "dual_point"),
    "regularizer": ("value", "conjugate", "prox", "dual_scaling"),
}


def built(kind, mapping):
    """What the component of a mapping makes of its checked parameters, files read."""
    component, values = from_mapping(kind, mapping)
    made = component.made(**{key: component.parameters[key].read(value) for key, value in values.items()})
    part = made[0] if type(made) is tuple else made  # a tuple has the mu or the l2 beside the component
    check_form(adopted(kind, part), kind, f"{component.source}: {kind} '{component.name}'")
    return made


def check_form(component, kind, where):
    """Raise RrmbenchError unless it is a loss or a regularizer (the kind) by its methods, class and smoothness."""
    if is_shipped(type(component)):
        return
    found = f"{where}: found {'an object of ' * (component is not None)}{type(component).__name__}"
    outputs = getattr(component, "outputs", "scalar") if kind == "loss" else kind
    if outputs not in METHODS:
        raise RrmbenchError(f"{found} with outputs = {shown(outputs)}, allowed is scalar, vector or whole")
    if missing := [name for name in METHODS[outputs] if not callable(getattr(component, name, None))]:
        raise RrmbenchError(f"{found} with no method {', '.join(missing)}; needed are {listed(METHODS[outputs])}")
    compiled = outputs in ("scalar", "vector") or (
        kind == "regularizer" and getattr(component, "coordinate_separable", True)
    )
    if compiled and not (isinstance(component, tuple) and hasattr(component, "_fields")):
        hint = ", or say coordinate_separable = False" if kind == "regularizer" else ""
        raise RrmbenchError(f"{found}, which is no NamedTuple: kernels are compiled for those{hint}")
    gamma = getattr(component, "conjugate_convexity", None)
    if kind == "loss" and not (isinstance(gamma, float | int) and gamma >= 0.0):
        raise RrmbenchError(f"{found} with conjugate_convexity = {shown(gamma)}, needed is a number of at least 0")


def adopted(kind, component):
    """The loss or regularizer `component`, with the present names of its kind and a class of a name of its own.

    numba tells NamedTuples that kernels are called with apart by the names of their classes and the types of their
    fields alone. Of two of one name, the second one would be computed with the methods of the first one: of a plug-in's
    class and a shipped one, of two plug-ins, of a cell of a notebook that was changed and run again. A class that is
    not shipped has a number behind its name where the name is taken.
    """
    for part in component if isinstance(component, tuple) else ():
        if hasattr(part, "_fields"):
            adopted(kind, part)
    _named(type(renamed(kind, component)))  # warnings have the name that the file has
    return component


def adopt_classes(module):
    """Give the classes of a plug-in's module that may be losses and regularizers names of their own, as `adopted` does.

    So a solver that needs one of them has its name before anything is made of it.
    """
    for cls in list(vars(module).values()):
        if inspect.isclass(cls) and cls.__module__ == module.__name__ and hasattr(cls, "_fields"):
            _named(cls)


def _named(cls):
    if is_shipped(cls):
        return
    name, number = cls.__name__, 2
    while cls.__name__ in _shipped_names() or _owners.setdefault(cls.__name__, cls) is not cls:
        cls.__name__, number = f"{name}_{number}", number + 1


_owners = {}  # name -> the class of losses and regularizers that has it, of those that are not shipped


@cache
def _shipped_names():
    """The names of the classes in the modules of this package's losses and regularizers."""
    builds = [component.build for kind in ("loss", "regularizer") for component in components(kind)]
    modules = [vars(sys.modules[name]) for name in {build.__module__ for build in builds if is_shipped(build)}]
    return frozenset(name for module in modules for name, value in module.items() if inspect.isclass(value))


def needs_of_loss(cls):
    """What the losses need that build a class.

    They stand in its module; where these differ, or there are none, they are those that build it by their defaults.
    """
    beside = [component for component in components("loss") if component.build.__module__ == cls.__module__]
    if len({component.needs for component in beside}) != 1:
        beside = [component for component in components("loss") if _builds(component, cls)] or beside
    return frozenset().union(*(component.needs for component in beside))


def _builds(component, cls):
    if any(parameter.required for parameter in component.parameters.values()):
        return False
    try:
        made = component.made()
    except Exception:  # of a plug-in, whatever it is
        return False
    return type(made[0] if type(made) is tuple else made) is cls
