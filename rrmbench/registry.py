"""The names of losses, regularizers, solvers, reductions and made data sets, and the functions behind them.

A component is a function; its keyword parameters are the parameters of the YAML file. The five decorators
`loss`, `regularizer`, `solver`, `reduction` and `dataset` add one under the function's name, from the package or
from a user's own file alike.
"""

import importlib
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rrmbench import reducing
from rrmbench.components import AROUND, PLUGIN, Component, Parameter, is_shipped
from rrmbench.errors import RrmbenchError, nearest, shortened, shown
from rrmbench.keys import nested
from rrmbench.kinds import COMPONENTS, KINDS

_components = {kind: {} for kind in COMPONENTS}
_aliases = {kind: {} for kind in COMPONENTS}
plugin_paths = set()  # the resolved paths of the plug-in files that were imported, see `rrmbench.plugin_files`


def _add(kind, function, keyword_only, aliases, **declared):
    source = inspect.getsourcefile(inspect.unwrap(function)) or "<interactive>"
    name = function.__name__
    taken = _components[kind].get(name)
    if taken is not None and taken.build.__module__ != function.__module__:  # a cell of a notebook may run again
        if function.__module__.startswith(PLUGIN) and Path(taken.source).resolve() == Path(source).resolve():
            module = taken.build.__module__
            raise RrmbenchError(f"{source}: imported already, as the module '{module}'; name '{name}' without its path")
        raise RrmbenchError(f"{source}: the {kind} name '{name}' is taken by {taken.source}")
    if taken is not None and function.__module__.startswith(PLUGIN):
        raise RrmbenchError(f"{source}: it defines the {kind} '{name}' twice; rename one of the two")
    parameters = {}
    for p in inspect.signature(function).parameters.values():
        if keyword_only and p.kind is not inspect.Parameter.KEYWORD_ONLY:
            continue
        annotation = p.annotation
        if annotation is inspect.Parameter.empty:
            annotation = object if p.default in (None, inspect.Parameter.empty) else type(p.default)
        parameters[p.name] = Parameter(p.name, annotation, p.default)
    component = Component(kind, name, function, parameters, source=source, **declared)
    _components[kind][name] = component
    for alias in aliases:
        _aliases[kind][alias] = name
    return function


def _decorator(kind, keyword_only):
    def decorate(
        function: Callable | None = None,
        *,
        needs: Iterable[str] = (),
        gives: Iterable[str] = (),
        aliases: Iterable[str] = (),
        bound: Callable | None = None,
        bound_at: Callable | None = None,
        epochs_over: Callable | None = None,
        passes_to_quarter: Callable | None = None,
        counts_passes: bool = True,
        choose: Callable | None = None,
        deterministic: bool | Callable[..., bool] = False,
        library: str = "",
        too_large: Callable[[int, int, int], str | None] | None = None,
        quartering: Callable | None = None,
    ) -> Any:
        if quartering is not None:
            warnings.warn("quartering= is now called passes_to_quarter=", DeprecationWarning, stacklevel=2)
            passes_to_quarter = quartering

        def add(f):
            return _add(
                kind,
                f,
                keyword_only,
                aliases,
                needs=frozenset(needs),
                gives=frozenset(gives),
                bound=bound,
                bound_at=bound_at,
                epochs_over=epochs_over,
                passes_to_quarter=passes_to_quarter,
                counts_passes=counts_passes,
                choose=choose,
                deterministic=deterministic,
                library=library,
                too_large=too_large,
            )

        return add if function is None else add(function)

    decorate.__name__ = kind
    decorate.__doc__ = (
        f"Register a {kind} under the function's name; see the README, Extending.\n\n"
        "needs : traits, docs/notation.md; 'Hinge or Squared and L1' is met by the first, or by both others;\n"
        "    of a reduction, also {'warm_start'}, that its solver counts passes and goes on from a start\n"
        "gives : of a solver, 'dual', 'gap', 'restarts' or 'ground', what it promises of its iterates; of a\n"
        "    reduction, the traits of the problems that the solver inside is given\n"
        "aliases : former names, with which configurations go on\n"
        "bound, bound_at, passes_to_quarter, epochs_over : its theorems, see `rrmbench.problem.constants`\n"
        "counts_passes : of a solver, False for one that yields NaN for them, as libraries that are called do\n"
        "choose : of a solver, the function from its parameters to (what it needs beside `needs`, what it does not\n"
        "    give of `gives`)\n"
        "deterministic : of a solver or a reduction, whether it draws no random numbers, so that a list of seeds\n"
        "    gives one run; or a function of its parameters that says so\n"
        "library : of a solver, the module of another package without which its runs are skipped\n"
        "too_large : of a solver, a function of (samples, features, outputs) that says of too many of them what is\n"
        "    found and allowed, else None; runs on such data are skipped\n"
        "quartering : the former name of passes_to_quarter, deprecated\n"
    )
    return decorate


loss = _decorator("loss", keyword_only=False)
regularizer = _decorator("regularizer", keyword_only=False)
solver = _decorator("solver", keyword_only=True)
reduction = _decorator("reduction", keyword_only=True)


def dataset(
    function: Callable | None = None,
    *,
    aliases: Iterable[str] = (),
    network: bool = False,
    entries: Callable[..., float] | None = None,
) -> Any:
    """Register a function that makes a data set under the function's name; see docs/data.md.

    It returns (X, y), or a mapping with more of `rrmbench.data.arrays.KEYS`; the same arrays for the same parameters.
    network : it downloads, so that `--dry-run` does not make it
    entries : about how many entries X stores, a function of the parameters that it names, for estimates; n d without it
    """

    def add(f):
        return _add(
            "dataset", f, False, aliases, needs=frozenset(), gives=frozenset(), network=network, entries=entries
        )

    return add if function is None else add(function)


@cache
def load():
    """Import every shipped component and every installed plug-in (entry points `rrmbench.plugins`)."""
    from importlib.metadata import entry_points

    for package in (*KINDS.values(), "data.generators"):
        importlib.import_module(f"rrmbench.{package}")
    for entry in entry_points(group="rrmbench.plugins"):
        entry.load()


def forget(module):
    """Take the components that a module registered, by its name, out of the registry."""
    for kind in COMPONENTS:
        gone = {name for name, component in _components[kind].items() if component.build.__module__ == module}
        for alias in [alias for alias, name in _aliases[kind].items() if name in gone]:
            del _aliases[kind][alias]
        for name in gone:
            del _components[kind][name]


@contextmanager
def restored():
    """Leave the registry at the end as it was at the beginning."""
    tables = [*_components.values(), *_aliases.values()]
    before = [dict(table) for table in tables]
    try:
        yield
    finally:
        for table, known in zip(tables, before, strict=True):
            table.clear()
            table.update(known)


def names(kind):
    """The sorted names of all components of one kind."""
    load()
    return sorted(_components[kind])


def components(kind):
    """All components of one kind, in the order of their names."""
    return [_components[kind][name] for name in names(kind)]


def lookup(kind, name, where=None):
    """Return the Component called `name` (or an alias of it); raise RrmbenchError with the nearest match."""
    load()
    name = _aliases[kind].get(name, name)
    if name not in _components[kind]:
        if str(name).endswith(".py"):
            raise RrmbenchError(f"{where or kind}: unknown {kind} '{name}'; a file of yours is {{path: {name}}}")
        raise RrmbenchError(
            f"{where or kind}: unknown {kind} '{name}'{nearest(name, names(kind))} (allowed: {', '.join(names(kind))})"
        )
    return _components[kind][name]


def name_in_file(kind, mapping, where):
    """The real name of the component of a mapping whose `path` is a plug-in file that is loaded.

    Without "name", that of its only component of this kind. RrmbenchError where it has none of the name, or several.
    """
    path = Path(mapping["path"]).resolve()
    mine = [component.name for component in components(kind) if Path(component.source).resolve() == path]
    found = f"the {kind} " + ", ".join(mine) if mine else f"no {kind}"
    if "name" in mapping:
        real = _aliases[kind].get(mapping["name"], mapping["name"])
    elif len(mine) == 1:
        real = mine[0]
    else:
        raise RrmbenchError(f"{where}: {shortened(mapping['path'])} registers {found}; needed is the name of one")
    if real not in mine:
        raise RrmbenchError(
            f"{where}.name: found '{real}', but {mapping['path']} registers {found}{nearest(real, mine)}"
        )
    return real


def _mapping(given, where):
    """The mapping of a component, a new dict; RrmbenchError for what is neither a name nor a mapping with one."""
    if isinstance(given, str):
        return {"name": given}
    if not (isinstance(given, Mapping) and isinstance(given.get("name"), str)):
        raise RrmbenchError(f"{where}: found {shown(given)}, allowed is a name, or a mapping with a name")
    return dict(given)


def check_loaded(mapping, where):
    """Raise RrmbenchError where the plug-in file of a mapping, `path`, was not loaded by whoever may."""
    path = mapping.get("path")
    if path is not None and Path(path).resolve() not in plugin_paths:
        raise RrmbenchError(
            f"{where}: '{mapping.get('name')}' comes from the plug-in file {path}, which is not loaded; results are "
            "data and run no code, --trust loads the files that they name"
        )


def from_mapping(kind, mapping, where=None, given=()):
    """Return (component, checked parameters) of {"name": ..., "path": ..., parameter: value}, or of a bare name.

    given : names of parameters whose values come later, by a grid

    Imports nothing: raises RrmbenchError where the plug-in file `path` was not loaded by whoever may.
    """
    where = where or kind
    mapping = _mapping(mapping, where)
    check_loaded(mapping, where)
    mapping.pop("path", None)
    mapping.pop(AROUND.get(kind), None)
    component = lookup(kind, mapping.pop("name"), where)
    return component, component.check(mapping, where, given)


def parameter_files(spec, kinds=tuple(KINDS)):
    """The paths of the files that parameters of the components of a run spec name, those of these kinds alone."""
    found = []
    for kind in kinds:
        for mapping in nested(spec[kind]):
            component, values = from_mapping(kind, mapping)
            found += [value for key, value in values.items() if component.parameters[key].is_path(value)]
    return found


def plugin_files(spec):
    """The paths of the plug-in files that the components of a run spec name, or of a part of it."""
    for kind in KINDS:
        yield from (mapping["path"] for mapping in nested(spec.get(kind)) if "path" in mapping)


def build_solver(solver_spec, reduction_spec="none"):
    """Return the Solver of two mappings: the solver's, and that of the reduction around it."""
    component, parameters = from_mapping("solver", solver_spec)
    return reduce_solver(component.solver(parameters), reduction_spec)


def reduce_solver(solver, reduction_spec, where="reduction"):
    """Wrap a Solver in a reduction; `inside:` is applied first, so that the outer one sees a reduced solver."""
    reduction_spec = _mapping(reduction_spec, where)
    component, parameters = from_mapping("reduction", reduction_spec, where)
    inside = reduction_spec.get("inside")
    if inside is not None:
        name = _mapping(inside, f"{where}.inside")["name"]
        if component.name == "none":  # one method would have two names and two ids
            raise RrmbenchError(f"{where}: found none around {name}, allowed is {name} alone, which is the same")
        solver = reduce_solver(solver, inside, f"{where}.inside")
    reducing.check(component, solver, where, _is_in_module_of_a_loss)
    reduced = component.made(solver, **parameters)
    return reducing.around(component, solver, reduced, component.is_deterministic(parameters))


def names_beside(kind, class_name):
    """The sorted names of the components of a kind that are not shipped and stand beside a class of this name."""

    mine = (component for component in components(kind) if not is_shipped(component.build))
    return [component.name for component in mine if class_name in _classes_beside(component, own=True)]


def _is_in_module_of_a_loss(class_name):
    return any(class_name in _classes_beside(component) for component in _components["loss"].values())


def _classes_beside(component, own=False):
    """The names of the classes in the module of a component, as `building.adopted` left them; or of its own ones."""
    name = component.build.__module__
    classes = (value for value in vars(sys.modules[name]).values() if inspect.isclass(value))
    return {cls.__name__ for cls in classes if not own or cls.__module__ == name}
