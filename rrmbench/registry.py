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
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, get_args

from rrmbench import crashes, fingerprint
from rrmbench.errors import RrmbenchError, nearest, shortened, shown
from rrmbench.former_names import renamed
from rrmbench.keys import nested
from rrmbench.kinds import COMPONENTS, KINDS
from rrmbench.parameters import File

PEERS = dict.fromkeys(("celer", "skglm", "cyanure"), "'rrmbench[peers]'")  # library -> what pip installs it with
PLUGIN = "rrmbench_plugin_"  # of the names of modules that are loaded by their path
AROUND = {"reduction": "inside", "regularizer": "domain"}  # keys of a mapping that are no parameter of its component


@dataclass(frozen=True)
class Parameter:
    """One keyword parameter: its annotation (with bounds, from `annotated_types`) and its default."""

    name: str
    annotation: object
    default: object = inspect.Parameter.empty

    @property
    def required(self):
        return self.default is inspect.Parameter.empty

    @property
    def file(self):
        """The `rrmbench.parameters.File` of the annotation or of one of its alternatives, or None."""
        options = (self.annotation, *get_args(self.annotation))
        marks = [mark for option in options for mark in getattr(option, "__metadata__", ())]
        return next((mark for mark in marks if isinstance(mark, File)), None)

    def is_path(self, value):
        """Whether a value is the path of a file."""
        return self.file is not None and isinstance(value, str)

    def read(self, value):
        """`value`, or what the annotation reads from the file of this path."""
        return self.file.read(value) if self.is_path(value) and self.file.read else value

    @cached_property
    def _adapter(self):
        from pydantic import TypeAdapter

        return TypeAdapter(self.annotation)

    def check(self, value, where):
        """Return `value` as the annotation wants it; `where` names the key in the message."""
        from pydantic import ValidationError

        try:
            checked = self._adapter.validate_python(value, strict=True)
        except ValidationError as error:
            wanted = " or ".join(dict.fromkeys(_wanted(fault) for fault in error.errors()))
            raise RrmbenchError(f"{where}: found {shown(value)}, allowed is {wanted}") from None
        if isinstance(checked, int) and not -(2**63) <= checked < 2**63:
            raise RrmbenchError(f"{where}: found {shown(value)}, allowed is a whole number of at most 64 bits")
        if isinstance(checked, float) and checked != checked:
            raise RrmbenchError(f"{where}: found nan, allowed is a number")
        return 0.0 if isinstance(checked, float) and checked == 0.0 else checked  # -0.0 is no other run


def _wanted(fault):
    """What would be allowed, by a fault that pydantic found."""
    beyond = fault["type"].startswith(("greater_than", "less_than"))
    if beyond and fault["input"] != fault["input"]:  # nan is beyond all bounds, of which the fault names one
        return "a number"
    return fault["msg"].removeprefix("Input should be ")


@dataclass(frozen=True)
class Component:
    """A named function of the mathematics, with what it needs and gives (sets of traits).

    A reduction needs something of the solver inside, in words of `Solver.able`.
    """

    kind: str
    name: str
    build: object
    parameters: dict = field(hash=False)
    needs: frozenset
    gives: frozenset
    source: str
    bound: object = None  # its theorem, bound(constants, passes or epochs, ...), see rrmbench.problem.constants
    passes_to_quarter: object = None  # of a solver: f(problem, those of its parameters that it names)
    counts_passes: bool = True  # of a solver: False if the passes of its iterates are NaN
    choose: object = None  # of a solver: f(**parameters) -> (what it needs beside `needs`, what it loses of `gives`)
    deterministic: object = False  # of a solver or a reduction: whether it draws no random numbers, or f(**parameters)
    library: str = ""  # of a solver: the module outside of this package that it cannot run without
    network: bool = False  # of a data set: whether it is downloaded

    def endless(self, rules):
        """Return why no rule of the `stop` section (names of rules) ends this solver, or None if one may."""
        if self.counts_passes or not set(rules) <= {"passes"}:
            return None
        return f"{self.name} counts no passes: give stop.gap, stop.relative_gap or stop.seconds"

    def unfit(self, solver):
        """Return why this reduction cannot go around a Solver, or None if it can."""
        if not lacking(self.needs, solver.able):
            return None
        epochs = "it continues its solver from where that ended, and counts passes"
        return f"{epochs}; {solver.name} counts none, or begins from scratch with each call"

    @property
    def uninstalled(self):
        """What to say of a solver whose library is not here, or None."""
        if not self.library or _is_installed(self.library):
            return None
        return f"{self.library} is not installed: pip install {PEERS.get(self.library, self.library)}"

    def is_deterministic(self, values):
        """Whether no random numbers are drawn with these parameter values."""
        if not callable(self.deterministic):
            return self.deterministic
        return self.deterministic(**{p.name: p.default for p in self.parameters.values()} | values)

    @property
    def plugin(self):
        """{"path": its file} of a component from a plug-in file, which a mapping must name; else {}."""
        return {"path": self.source} if self.build.__module__.startswith(PLUGIN) else {}

    def check(self, values, where, given=()):
        """Validate the parameter values of a YAML mapping and fill in no defaults; those in `given` come later."""
        for key in values:
            if key not in self.parameters:
                allowed = ", ".join(self.parameters) or "none"
                raise RrmbenchError(
                    f"{where}.{key}: {self.kind} '{self.name}' has no such parameter (it has: {allowed})"
                    + nearest(key, [*self.parameters, *filter(None, [AROUND.get(self.kind)])])
                )
        for parameter in self.parameters.values():
            if parameter.required and parameter.name not in values and parameter.name not in given:
                raise RrmbenchError(f"{where}: {self.kind} '{self.name}' needs the parameter '{parameter.name}'")
        return {key: self.parameters[key].check(value, f"{where}.{key}") for key, value in values.items()}

    def solver(self, values):
        """The Solver of a component of this kind; its theorems get those of its parameters that they name."""
        every = {p.name: p.default for p in self.parameters.values()} | values

        def told(theorem):
            if theorem is None:
                return None
            return partial(
                theorem, **{name: every[name] for name in inspect.signature(theorem).parameters if name in every}
            )

        deterministic = self.is_deterministic(values)

        def run(problem, start, rng):
            return self.build(problem, start, _NoRandomNumbers(self.name) if deterministic else rng, **values)

        needed, lost = self.choose(**values) if self.choose is not None else (frozenset(), frozenset())
        needs, gives, theorems = self.needs | needed, self.gives - lost, map(told, (self.bound, self.passes_to_quarter))
        return Solver(run, self.name, needs, gives, *theorems, self.counts_passes, deterministic)


@dataclass(frozen=True)
class Solver:
    """A solver with its parameters, and the reductions around it: solver(problem, start, rng) yields Iterates.

    run : the function of (problem, start, rng) behind it
    name : as in messages, "prox_sdca" or "adapt_reg(prox_sdca)"
    needs, gives : sets of traits, what a problem must have and what the iterates are
    bound : bound(constants, passes), its theorem, or None; see `rrmbench.problem.constants`
    passes_to_quarter : f(problem), the passes in which its theorem quarters P(w) - P(w*), D(b*) - D(b) of a solver that
        gives b, or None
    counts_passes : False if the passes of its iterates are NaN
    deterministic : True if neither it nor a reduction around it draws random numbers
    """

    run: object
    name: str
    needs: frozenset = frozenset()
    gives: frozenset = frozenset()
    bound: object = None
    passes_to_quarter: object = None
    counts_passes: bool = True
    deterministic: bool = False

    def __call__(self, problem, start, rng):
        return self.run(problem, start, rng)

    @property
    def takes_single_samples(self):
        """Whether it steps on one sample after another, in an order that it draws, so that a pass has n steps."""
        return "rows" in self.needs and not self.deterministic and "full_steps" not in self.gives

    @property
    def declared(self):
        """What a `Trace` asks: whether it counts passes, and whether its iterates may be `restarted`."""
        return {"counted": self.counts_passes, "restarts": "restarts" in self.gives}

    @property
    def able(self):
        """What it gives, and "warm_start" unless it counts no passes or begins from scratch with each call."""
        return self.gives | ({"warm_start"} if self.counts_passes and "restarts" not in self.gives else set())

    def inside(self, reduction, run, more=frozenset()):
        """The Solver that a reduction (its name) makes of this one, which has none of its theorems.

        run : its function of (problem, start, rng); more : traits that it needs beside those of this one
        """
        return Solver(run, f"{reduction}({self.name})", self.needs | more, self.gives, counts_passes=self.counts_passes)


class _NoRandomNumbers:
    """What a deterministic solver gets for its random numbers, so that the declaration holds."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, attribute):
        raise RrmbenchError(f"{self._name} draws random numbers though it is declared deterministic")


def _is_installed(library):
    if library in sys.modules:
        return sys.modules[library] is not None
    return importlib.util.find_spec(library) is not None


def built(kind, mapping):
    """What the component of a mapping makes of its checked parameters, files read."""
    component, values = from_mapping(kind, mapping)
    made = _call(component, **{key: component.parameters[key].read(value) for key, value in values.items()})
    renamed(kind, made[0] if type(made) is tuple else made)  # a tuple has the mu or the l2 beside the component
    return made


def _call(component, /, *given, **values):
    """What the function of a component returns; raises RrmbenchError where it would end the process."""
    try:
        with crashes.without_sudden_end():
            return component.build(*given, **values)
    except SystemExit as error:
        where = f"{component.kind} {component.name}"
        raise RrmbenchError(f"{where}: its function would end the process: {crashes.text_of(error)}") from error


def lacking(needs, has):
    """The needs that a set of traits does not meet; "Hinge or Logistic" is met by either."""
    return frozenset(need for need in needs if has.isdisjoint(need.split(" or ")))


_components = {kind: {} for kind in COMPONENTS}
_aliases = {kind: {} for kind in COMPONENTS}
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
        passes_to_quarter: Callable | None = None,
        counts_passes: bool = True,
        choose: Callable | None = None,
        deterministic: bool | Callable[..., bool] = False,
        library: str = "",
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
                passes_to_quarter=passes_to_quarter,
                counts_passes=counts_passes,
                choose=choose,
                deterministic=deterministic,
                library=library,
            )

        return add if function is None else add(function)

    decorate.__name__ = kind
    decorate.__doc__ = (
        f"Register a {kind} under the function's name; see the README, Extending.\n\n"
        "needs : of a reduction, also {'warm_start'}, that its solver counts passes and goes on from a start\n"
        "deterministic : of a solver or a reduction, whether it draws no random numbers, so that a list of seeds\n"
        "    gives one run; or a function of its parameters that says so\n"
        "library : of a solver, the module of another package without which its runs are skipped\n"
        "quartering : the former name of passes_to_quarter, deprecated\n"
    )
    return decorate


loss = _decorator("loss", keyword_only=False)
regularizer = _decorator("regularizer", keyword_only=False)
solver = _decorator("solver", keyword_only=True)
reduction = _decorator("reduction", keyword_only=True)


def dataset(function: Callable | None = None, *, aliases: Iterable[str] = (), network: bool = False) -> Any:
    """Register a function that makes a data set under the function's name; see docs/data.md.

    It returns (X, y), or a mapping with more of `rrmbench.data.arrays.KEYS`; the same arrays for the same parameters.
    network : it downloads, so that `--dry-run` does not make it
    """

    def add(f):
        return _add("dataset", f, False, aliases, needs=frozenset(), gives=frozenset(), network=network)

    return add if function is None else add(function)


@cache
def load():
    """Import every shipped component and every installed plug-in (entry points `rrmbench.plugins`)."""
    from importlib.metadata import entry_points

    for package in (*KINDS.values(), "data.generators"):
        importlib.import_module(f"rrmbench.{package}")
    for entry in entry_points(group="rrmbench.plugins"):
        entry.load()


@cache
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
    fingerprint.read_from_text(path.parent)
    execute = _module(name, path)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    before = fingerprint.bindings()
    try:
        with crashes.without_sudden_end():
            imported = fingerprint.imported_by(execute, path)
    except RrmbenchError:
        raise
    except (Exception, SystemExit) as error:
        place = crashes.place_of(error, [path])
        text = f"{place}: {crashes.text_of(error)}" if place else crashes.text_of(error)
        raise RrmbenchError(f"{path}: the plug-in cannot be imported: {text}") from error
    _check_neighbours(path)
    _check_the_package(path, before)
    fingerprint.unforeseen.update(imported - set(fingerprint.sources_of(path)))
    _plugins.add(path)


def _module(name, path):
    """Put a new module of a file in the place of any other of its name; return the function that executes it."""
    spec = importlib.util.spec_from_file_location(name, path, loader=fingerprint.FromText(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    return lambda: spec.loader.exec_module(module)


@contextmanager
def executed_anew(component):
    """The component as a second execution of its file registers it, with nothing that its module remembers.

    Afterwards the registry is as before.
    """
    module, path = component.build.__module__, component.source
    fingerprint.check_loaded([Path(path)])
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
    after = fingerprint.bindings()
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


def names(kind):
    """The sorted names of all components of one kind."""
    load()
    return sorted(_components[kind])


def lookup(kind, name, where=None):
    """Return the Component called `name` (or an alias of it); raise RrmbenchError with the nearest match."""
    load()
    name = _aliases[kind].get(name, name)
    if name not in _components[kind]:
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
    if "square" in component.gives and "entropy" in solver.needs:
        raise RrmbenchError(
            f"{where} {component.name}: it adds a square, which {solver.name} with an entropy cannot have"
        )
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
    # w and b of a problem with more strong convexity are no pair on the one without, and a square has no entropic step
    lost = {"dual"} if "strongly_convex" in component.gives else set()
    lost |= {"ground"} if "square" in component.gives else set()
    if component.gives and "gap" in reduced.gives:  # of the problem that the reduction made
        reduced, lost = replace(reduced, run=_without_objectives(reduced.run)), lost | {"gap"}
    deterministic = solver.deterministic and component.is_deterministic(parameters)
    needs, gives = lacking(reduced.needs, component.gives), reduced.gives - lost
    return replace(reduced, needs=needs, gives=gives, deterministic=deterministic)


def _of_exact_losses(need):
    """Whether a trait, or each of its alternatives, is lost where losses are smoothed: the class names are."""
    return all(
        name in {"piecewise_linear", "labellings"} or (name[:1].isupper() and _is_in_module_of_a_loss(name))
        for name in need.split(" or ")
    )


def _is_in_module_of_a_loss(class_name):
    modules = (sys.modules[component.build.__module__] for component in _components["loss"].values())
    return any(inspect.isclass(getattr(module, class_name, None)) for module in modules)


def _without_objectives(run):
    def stripped(problem, start, rng):
        for x in run(problem, start, rng):
            yield x._replace(objectives=None)

    return stripped
