"""What the registry knows by a name: parameters that are checked, components that build, solvers that run."""

import importlib.util
import inspect
import math
import sys
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import get_args

from rrmbench import crashes
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.parameters import File

# library -> what pip installs it with
PEERS = dict.fromkeys(("celer", "skglm"), "'rrmbench[peers]'") | {"cyanure": "'rrmbench[peers]' on Python up to 3.12"}
PLUGIN = "rrmbench_plugin_"  # of the names of modules that are loaded by their path
AROUND = {"reduction": "inside", "regularizer": "domain"}  # keys of a mapping that are no parameter of its component


def is_shipped(part):
    """Whether a function or a class is one of this package."""
    return part.__module__.startswith("rrmbench.")


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


_WANTED = {  # type of a fault that pydantic found -> what would be allowed
    "greater_than": "a number greater than {bound}",
    "greater_than_equal": "a number of at least {bound}",
    "less_than": "a number less than {bound}",
    "less_than_equal": "a number of at most {bound}",
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a mapping",
}


def _wanted(fault):
    """What would be allowed, by a fault that pydantic found."""
    kind, said = fault["type"], fault["msg"].removeprefix("Input should be ")
    if kind.startswith(("greater_than", "less_than")) and fault["input"] != fault["input"]:
        return "a number"  # nan is beyond all bounds, of which the fault names one
    if kind == "less_than" and fault["ctx"]["lt"] == float("inf"):
        kind = "finite_number"
    return _WANTED[kind].format(bound=said.rpartition(" ")[2]) if kind in _WANTED else said


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
    bound_at: object = None  # of a solver: f(constants, last passes, ...), of which iterates it is, see there, too
    epochs_over: object = None  # of a reduction with a theorem: f(solve, problem, trace, ...), see there, too
    passes_to_quarter: object = None  # of a solver: f(problem, those of its parameters that it names)
    counts_passes: bool = True  # of a solver: False if the passes of its iterates are NaN
    choose: object = None  # of a solver: f(**parameters) -> (what it needs beside `needs`, what it loses of `gives`)
    deterministic: object = False  # of a solver or a reduction: whether it draws no random numbers, or f(**parameters)
    library: str = ""  # of a solver: the module outside of this package that it cannot run without
    too_large: object = None  # of a solver: f(samples, features, outputs) -> what is found and allowed, or None
    network: bool = False  # of a data set: whether it is downloaded
    entries: object = None  # of a data set: f(those of its parameters that it names), about how many X stores

    def made(self, /, *given, **values):
        """What its function returns; raises RrmbenchError where that would end the process."""
        try:
            with crashes.without_sudden_end():
                return self.build(*given, **values)
        except SystemExit as error:
            where = f"{self.kind} {self.name}"
            raise RrmbenchError(f"{where}: its function would end the process: {crashes.text_of(error)}") from error

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

    def refusal(self, n, d, k):
        """What to say of n samples of d features and k outputs that are too many for this solver, or None."""
        found = self.too_large and self.too_large(n, d, k)
        return f"{self.name}: {found}" if found else None

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
        """The Solver of a component of this kind, its theorems `told` the parameters."""
        deterministic = self.is_deterministic(values)

        def run(problem, start, rng):
            if why := self.refusal(problem.n, problem.shape[0], math.prod(problem.shape[1:])):
                raise RrmbenchError(why)
            return self.build(problem, start, _NoRandomNumbers(self.name) if deterministic else rng, **values)

        needed, lost = self.choose(**values) if self.choose is not None else (frozenset(), frozenset())
        needs, gives = frozenset(map(self._as_named, self.needs | needed)), self.gives - lost
        theorems = (self.told(theorem, values) for theorem in (self.bound, self.passes_to_quarter))
        return Solver(run, self.name, needs, gives, *theorems, self.counts_passes, deterministic)

    def _as_named(self, need):
        """A need of a plug-in with the present names of classes of its module, which `building.adopted` may change."""
        module = sys.modules.get(self.build.__module__)

        def present(name):
            cls = getattr(module, name, None)
            return cls.__name__ if inspect.isclass(cls) else name

        if is_shipped(self.build):
            return need
        return " or ".join(" and ".join(map(present, all_of)) for all_of in alternatives(need))

    def told(self, theorem, values):
        """A function with the parameters that it names, as in `values` or by default; None for None."""
        if theorem is None:
            return None
        every = {p.name: p.default for p in self.parameters.values()} | values
        return partial(
            theorem, **{name: every[name] for name in inspect.signature(theorem).parameters if name in every}
        )


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
        """A generator, also where `run` is a function that works before it returns one: that work is on the clock."""
        yield from self.run(problem, start, rng)

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


def lacking(needs, has):
    """The needs that a set of traits does not meet; "Hinge or Squared and L1" is met by Hinge, or by both others."""
    return frozenset(need for need in needs if not any(has.issuperset(all_of) for all_of in alternatives(need)))


def alternatives(need):
    """The lists of traits that meet a need, each as a whole: [["Hinge"], ["Squared", "L1"]]."""
    return [all_of.split(" and ") for all_of in need.split(" or ")]
