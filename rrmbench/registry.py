"""The names of losses, regularizers, solvers, reductions and made data sets, and the functions behind them.

A component is a function; its keyword parameters are the parameters of the YAML file. The five decorators
`loss`, `regularizer`, `solver`, `reduction` and `dataset` add one under the function's name, from the package or
from a user's own file alike.
"""

import importlib
import importlib.util
import inspect
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from rrmbench import crashes, fingerprint, loaded_code
from rrmbench.components import AROUND, PLUGIN, Component, Parameter, Solver, alternatives, is_shipped, lacking
from rrmbench.errors import RrmbenchError, nearest, shortened, shown
from rrmbench.former_names import renamed
from rrmbench.keys import nested
from rrmbench.kinds import COMPONENTS, KINDS


def built(kind, mapping):
    """What the component of a mapping makes of its checked parameters, files read."""
    component, values = from_mapping(kind, mapping)
    made = _call(component, **{key: component.parameters[key].read(value) for key, value in values.items()})
    adopted(kind, made[0] if type(made) is tuple else made)  # a tuple has the mu or the l2 beside the component
    return made


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
    cls, number = type(renamed(kind, component)), 2  # warnings have the name that the file has
    if not is_shipped(cls):
        name = cls.__name__
        while cls.__name__ in _shipped_names() or _owners.setdefault(cls.__name__, cls) is not cls:
            cls.__name__, number = f"{name}_{number}", number + 1
    return component


def _call(component, /, *given, **values):
    """What the function of a component returns; raises RrmbenchError where it would end the process."""
    try:
        with crashes.without_sudden_end():
            return component.build(*given, **values)
    except SystemExit as error:
        where = f"{component.kind} {component.name}"
        raise RrmbenchError(f"{where}: its function would end the process: {crashes.text_of(error)}") from error


NO_SQUARE = frozenset({"entropy", "polyhedral", "one_term"})  # traits of a problem that a square beside psi ends

_components = {kind: {} for kind in COMPONENTS}
_aliases = {kind: {} for kind in COMPONENTS}
_owners = {}  # name -> the class of losses and regularizers that has it, of those that are not shipped
_plugins = set()  # the resolved paths of the plug-in files that were imported


def _add(kind, function, keyword_only, aliases, **declared):
    source = inspect.getsourcefile(inspect.unwrap(function)) or "<interactive>"
    name = function.__name__
    taken = _components[kind].get(name)
    if taken is not None and taken.build.__module__ != function.__module__:  # a cell of a notebook may run again
        if function.__module__.startswith(PLUGIN) and Path(taken.source).resolve() == Path(source).resolve():
            module = taken.build.__module__
            raise RrmbenchError(f"{source}: imported already, as the module '{module}'; name '{name}' without its path")
        raise RrmbenchError(f"{source}: the {kind} name '{name}' is taken by {taken.source}")
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
        "bound, passes_to_quarter, epochs_over : its theorems, see `rrmbench.problem.constants`\n"
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


def load_plugin(path):
    """Import a user's own file; the components that it registers are named like shipped ones.

    Modules beside it can be imported, after those of the import path. Raises RrmbenchError where that fails.
    """
    path = Path(path).resolve()
    if path in _plugins:
        return
    if not path.is_file():
        raise RrmbenchError(f"{path}: no such plug-in file")
    load()
    name = PLUGIN + path.stem
    if name in sys.modules:
        raise RrmbenchError(f"{path}: a plug-in file called {path.name} is loaded already; rename one of the two")
    if path.suffix != ".py":
        raise RrmbenchError(f"{path}: a plug-in is a Python file, named like my_solver.py")
    loaded_code.read_from_text(path.parent)
    execute = _module(name, path)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    before = loaded_code.bindings()
    try:
        with crashes.without_sudden_end():
            imported = loaded_code.imported_by(execute, path)
    except (RrmbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:
        place = crashes.place_of(error, [path])
        text = f"{place}: {crashes.text_of(error)}" if place else crashes.text_of(error)
        raise RrmbenchError(f"{path}: the plug-in cannot be imported: {text}") from error
    _check_neighbours(path)
    _check_the_package(path, before)
    loaded_code.unforeseen.update(imported - set(fingerprint.sources_of(path)))
    _plugins.add(path)


def _module(name, path):
    """Put a new module of a file in the place of any other of its name; return the function that executes it."""
    spec = importlib.util.spec_from_file_location(name, path, loader=loaded_code.FromText(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module

    def execute():
        with crashes.in_the_working_directory():
            spec.loader.exec_module(module)

    return execute


@contextmanager
def executed_anew(component):
    """The component as a second execution of its file registers it, with nothing that its module remembers.

    Afterwards the registry is as before.
    """
    module, path = component.build.__module__, component.source
    loaded_code.check_loaded([Path(path)])
    tables = [table[kind] for table in (_components, _aliases) for kind in COMPONENTS]
    before, first = [dict(table) for table in tables], sys.modules[module]
    for table in tables[: len(COMPONENTS)]:
        for name in [name for name, known in table.items() if known.build.__module__ == module]:
            del table[name]
    try:
        _module(module, path)()
        yield _components[component.kind][component.name]
    finally:
        sys.modules[module] = first
        for table, known in zip(tables, before, strict=True):
            table.clear()
            table.update(known)


def _check_neighbours(path):
    """A module of the same name from elsewhere in place of the one beside a plug-in would compute something else."""
    for name in fingerprint.imported_names(path):
        loaded = getattr(sys.modules.get(name), "__file__", None)
        for beside in (path.parent / f"{name}.py", path.parent / name / "__init__.py"):
            if loaded and beside.is_file() and beside.resolve() != Path(loaded).resolve():
                raise RrmbenchError(f"{path}: it imports '{name}', which is {loaded} and not {beside}; rename one")


def _check_the_package(path, before):
    """Results say which code made them, and kernels are kept by it: of a shipped function there is one."""
    after = loaded_code.bindings()
    replaced = [name for name, value in before.items() if value is not None and after.get(name) is not value]
    if replaced:
        raise RrmbenchError(f"{path}: it replaces {replaced[0]}, of which results would not tell; register another")


def load_plugins_of(mapping):
    """Import the plug-in files that the mapping of a component names, `inside:` included.

    For mappings that the user wrote or trusts; those of results are data, which must not run code.
    """
    for component in nested(mapping):
        if "path" in component:
            load_plugin(str(component["path"]))


def load_edited_plugins_of(mapping):
    """As `load_plugins_of`, in a session: a plug-in file that was edited since it was imported is executed anew.

    What the earlier one made stays as it is. Raises OtherCode where a module that the file imports was edited.
    """
    for component in nested(mapping):
        if "path" in component:
            path = Path(component["path"]).resolve()
            if path in _plugins and path.is_file() and not loaded_code.is_as_imported(path):
                _forget(path)
            load_plugin(path)
            loaded_code.check_loaded(fingerprint.sources_of(path))


def _forget(path):
    """Take a plug-in file, and the components that it registered, out of the registry."""
    module = PLUGIN + path.stem
    for kind in COMPONENTS:
        gone = {name for name, known in _components[kind].items() if known.build.__module__ == module}
        _components[kind] = {name: known for name, known in _components[kind].items() if name not in gone}
        _aliases[kind] = {alias: name for alias, name in _aliases[kind].items() if name not in gone}
    _plugins.discard(path)
    del sys.modules[module]


def names(kind):
    """The sorted names of all components of one kind."""
    load()
    return sorted(_components[kind])


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
    mine = [name for name in names(kind) if Path(lookup(kind, name).source).resolve() == path]
    found = f"the {kind} " + ", ".join(mine) if mine else f"no {kind}"
    if "name" in mapping:
        real = lookup(kind, mapping["name"], where).name
    elif len(mine) == 1:
        real = mine[0]
    else:
        raise RrmbenchError(f"{where}: {shortened(mapping['path'])} registers {found}; needed is the name of one")
    if real not in mine:
        raise RrmbenchError(f"{where}.name: found '{real}', but {mapping['path']} registers {found}")
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
    if path is not None and Path(path).resolve() not in _plugins:
        raise RrmbenchError(
            f"{where}: '{mapping.get('name')}' comes from the plug-in file {path}, which is not loaded; results are "
            "data and run no code, --trust loads the files that they name"
        )


def needs_of(kind, cls):
    """What the components of one kind need that build a class.

    They stand in its module; where these differ, or there are none, they are those that build it by their defaults.
    """
    load()
    beside = [c for c in _components[kind].values() if c.build.__module__ == cls.__module__]
    if len({c.needs for c in beside}) != 1:
        beside = [c for c in _components[kind].values() if _builds(c, cls)] or beside
    return frozenset().union(*(c.needs for c in beside))


def _builds(component, cls):
    if any(parameter.required for parameter in component.parameters.values()):
        return False
    try:
        made = _call(component)
    except Exception:  # of a plug-in, whatever it is
        return False
    return type(made[0] if type(made) is tuple else made) is cls


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
    ended = NO_SQUARE if "square" in component.gives else frozenset()
    if without := solver.needs - _kept(solver.needs, ended).keys():
        names = ", ".join(sorted(without))
        raise RrmbenchError(f"{where} {component.name}: it adds a square, which {solver.name} cannot have ({names})")
    if why := component.unfit(solver):
        raise RrmbenchError(f"{where} {component.name}: {why}")
    if "smoothing" in component.gives and (exact := sorted(filter(_of_exact_losses, solver.needs))):
        raise RrmbenchError(
            f"{where} {component.name}: it smooths losses, {solver.name} needs them as they are ({', '.join(exact)})"
        )
    reduced = _call(component, solver, **parameters)
    if reduced is solver:  # which was given nothing
        return solver
    if not isinstance(reduced, Solver):  # a function, which the solver's theorems are not about
        reduced = solver.inside(component.name, reduced)
    needs = lacking(_kept(reduced.needs, ended).values(), component.gives)
    # w and b of a problem with more strong convexity are no pair on the one without, and a square has no entropic step
    lost = {"dual"} if "strongly_convex" in component.gives else set()
    lost |= {"ground"} if "square" in component.gives else set()
    if component.gives and "gap" in reduced.gives:  # of the problem that the reduction made
        reduced, lost = replace(reduced, run=_without(reduced.run, "objectives")), lost | {"gap"}
    if "warm_start" in component.needs and "gradient_norm" in reduced.gives:  # of one problem after another
        reduced, lost = replace(reduced, run=_without(reduced.run, "gradient_norm")), lost | {"gradient_norm"}
    deterministic = solver.deterministic and component.is_deterministic(parameters)
    return replace(reduced, needs=needs, gives=reduced.gives - lost, deterministic=deterministic)


def _kept(needs, ended):
    """Need -> its alternatives that ask for no trait of `ended`; without the needs that have none."""
    kept = {need: [all_of for all_of in alternatives(need) if ended.isdisjoint(all_of)] for need in needs}
    return {need: " or ".join(map(" and ".join, all_of)) for need, all_of in kept.items() if all_of}


def _of_exact_losses(need):
    """Whether each alternative of a need is lost where losses are smoothed: the class names of losses are."""
    return all(any(_is_of_exact_loss(name) for name in all_of) for all_of in alternatives(need))


def _is_of_exact_loss(name):
    return name in {"piecewise_linear", "labellings"} or (name[:1].isupper() and _is_in_module_of_a_loss(name))


def _is_in_module_of_a_loss(class_name):
    modules = (sys.modules[component.build.__module__] for component in _components["loss"].values())
    return any(inspect.isclass(getattr(module, class_name, None)) for module in modules)


@cache
def _shipped_names():
    """The names of the classes in the modules of this package's losses and regularizers."""
    load()
    shipped = [c.build for kind in ("loss", "regularizer") for c in _components[kind].values() if is_shipped(c.build)]
    members = (
        member for module in {build.__module__ for build in shipped} for member in vars(sys.modules[module]).items()
    )
    return frozenset(name for name, value in members if inspect.isclass(value))


def _without(run, field):
    def stripped(problem, start, rng):
        for x in run(problem, start, rng):
            yield x._replace(**{field: None})

    return stripped
