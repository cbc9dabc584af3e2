"""Values for the parameters with which a component is checked: its defaults, and some others."""

import warnings
from typing import Literal, get_args, get_origin

from rrmbench.errors import RrmbenchError
from rrmbench.extending.verdicts import Doubt

# where there is no default, or another value is wanted, the first ones that the annotation allows
GUESSES = (0.1, 1.0, 0.5, 2.0, 1, 2, 3, True, "auto")
MOST = 8


def defaults(component):
    """A value for each required parameter; RrmbenchError where none of the usual ones is allowed."""
    return {p.name: _guess(component, p) for p in component.parameters.values() if p.required}


def variants(component):
    """`defaults`, then the same with one parameter changed: another choice, three times or a third of a number."""
    first = defaults(component)
    found = [first]
    for parameter in component.parameters.values():
        found += [first | {parameter.name: value} for value in _others(parameter, first) if _allowed(parameter, value)]
    return found[:MOST]


def built(component, make):
    """(values, make(values)) of the `variants`, but for those that are refused; RrmbenchError where all are."""
    tried = list(_tried(component, make))
    found = [(values, made) for values, made in tried if not isinstance(made, RrmbenchError)]
    if not found:
        raise tried[0][1]
    return found


def tell_refused(component, make):
    """A Doubt for each of the `variants` that `make` refuses, since no check looks at it."""
    for values, made in _tried(component, make):
        if isinstance(made, RrmbenchError):
            warnings.warn(Doubt(f"{component.name}{shown(values)} is refused, and not looked at: {made}"), stacklevel=2)


def _tried(component, make):
    """(values, make(values) or the RrmbenchError that it raises) of the `variants`."""
    for values in variants(component):
        try:
            made = make(values)
        except RrmbenchError as error:
            made = error
        yield values, made


def shown(values):
    """ "(strength=0.1)", or "" for the defaults."""
    inside = ", ".join(
        f"{key}={value:g}" if isinstance(value, float) else f"{key}={value}" for key, value in values.items()
    )
    return f"({inside})" if inside else ""


def _guess(component, parameter):
    for value in (*_choices(parameter.annotation), *GUESSES):
        if _allowed(parameter, value):
            return parameter.check(value, parameter.name)
    raise RrmbenchError(
        f"{component.source}: {component.kind} '{component.name}': no value for the parameter '{parameter.name}' is "
        "known; give it a default"
    )


def _others(parameter, first):
    usual = first.get(parameter.name, parameter.default)
    choices = [value for value in _choices(parameter.annotation) if value != usual]
    if usual is None:
        return [*choices, next((v for v in GUESSES if _allowed(parameter, v)), None)]
    if isinstance(usual, bool):
        return [not usual]
    if isinstance(usual, int):
        return [usual + 1]
    if isinstance(usual, float):
        return [*choices, next((v for v in (3.0 * usual, usual / 3.0) if _allowed(parameter, v)), usual)]
    return choices


def _choices(annotation):
    """The values of all Literals in an annotation."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [value for part in get_args(annotation) for value in _choices(part) if not isinstance(part, str)]


def _allowed(parameter, value):
    try:
        parameter.check(value, parameter.name)
    except RrmbenchError:
        return False
    return parameter.annotation is not object or not isinstance(value, str)
