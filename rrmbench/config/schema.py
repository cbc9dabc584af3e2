"""The fixed parts of a configuration: which keys there are and what each may hold."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from rrmbench.columns import MEASURES, X
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.kinds import COMPONENTS, PARTS

CASE_KEYS = PARTS
COMPONENT = "a name, a mapping `{name: ..., parameter: value}`, or a list of those; a list as value is a grid"
TOP_KEYS = {
    "name": "of the experiment and its folder (the file's name)",
    "dataset": f"{COMPONENT}; its keys are below",
    "loss": COMPONENT,
    "regularizer": f"{COMPONENT} (`none`); beside its parameters a `domain`, `{{box: [a, b]}}` or `{{ball: r}}`",
    "solver": COMPONENT,
    "reduction": f"{COMPONENT} (`none`); another one may stand `inside`",
    "seed": "a whole number of at least 0, or a list of those (0)",
    "stop": "rules that end a run, the first that is met (100 passes)",
    "trace": "how far apart trace points are",
    "limit": "wall-clock seconds after which a run is killed (3 stop.seconds + 60, or an hour without stop.seconds)",
    "reference": "the extra runs that pin the optimum where the others leave it open, or `false`",
    "tune": "grids for parameters that a component has and the file does not set",
    "plot": "what `rrmbench plot` draws",
    "cases": f"a list of blocks that override {', '.join(CASE_KEYS)}; the experiment is their union",
}

MOST_FAULTS = 10  # of one part that a message tells

POSITIVE = "a finite number greater than 0"
Number = Annotated[float, Field(gt=0, allow_inf_nan=False)]
SECONDS = "a number greater than 0 and at most 1e9"  # beyond it clocks of the operating system end
Seconds = Annotated[float, Field(gt=0, le=1e9)]
Key = Annotated[str, Field(pattern=rf"^({'|'.join(COMPONENTS)})(\.\w+)*$|^seed$")]


def _growing(values):
    if not values[0] < values[1]:
        raise ValueError("not in order")
    return values


LIMITS = "two finite numbers [low, high] with low < high"
Finite = Annotated[float, Field(allow_inf_nan=False)]
Limits = Annotated[list[Finite], Field(min_length=2, max_length=2), AfterValidator(_growing)]
KEY = "a component (" + ", ".join(COMPONENTS) + "), one of its parameters (regularizer.strength) or seed"
PARAMETER = "a parameter of a component, like reduction.sigma"


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StopSection(_Part):
    """When a run is done: whichever comes first.

    `gap` is the certified gap P(w) - D(b), `relative_gap` the same over |P| at the start; `passes` and `seconds` are
    those of the solver.
    """

    passes: Number | None = Field(None, description=POSITIVE)
    gap: Number | None = Field(None, description=POSITIVE)
    relative_gap: Number | None = Field(None, description=POSITIVE)
    seconds: Seconds | None = Field(None, description=SECONDS)

    @model_validator(mode="after")
    def _not_empty(self):
        if not self.model_dump(exclude_none=True):
            raise ValueError(f"found no rule, needed is at least one of {', '.join(type(self).model_fields)}")
        return self


class TraceSection(_Part):
    """Points are max(every, (growth - 1) * passes) passes apart, and at least 1e-5 of the passes."""

    every: Number = Field(1.0, description=POSITIVE)
    growth: float = Field(1.0, ge=1, allow_inf_nan=False, description="a finite number of at least 1")


class Reference(_Part):
    """The seconds of each extra high-accuracy run that pins the optimum, at most three for a problem."""

    seconds: Seconds = Field(60.0, description=SECONDS)


class Plot(_Part):
    """What figures show; `figure` makes one file for each of its values."""

    rows: Key | None = Field(None, description=KEY)
    columns: Key | None = Field(None, description=KEY)
    figure: Key | list[Key] | None = Field(None, description=KEY + ", or a list of those")
    x: Literal[X] = Field("passes", description="passes, work, seconds or cpu_seconds")
    y: Literal[MEASURES] = Field("suboptimality", description="one of " + ", ".join(MEASURES))
    xscale: Literal["log", "linear"] | None = Field(None, description="log or linear")
    title: str | None = Field(None, description="text")
    xlim: Limits | None = Field(None, description=LIMITS)
    ylim: Limits | None = Field(None, description=LIMITS)


class Tune(_Part):
    """Grids of numbers, `[1, 3]` or `2^[-10..10]`, for parameters that a component has and the file does not set."""

    grid: dict[Key, object] = Field(min_length=1, description="a mapping of parameters, at least one, to grids")
    keep: Literal["best"] = Field("best", description="best")
    by: Literal["objective", "passes_to_gap"] = Field("objective", description="objective or passes_to_gap")
    gap: Number | None = Field(None, description=POSITIVE + ", to which passes_to_gap counts (default: stop.gap)")


SECTIONS = {"stop": StopSection, "trace": TraceSection, "reference": Reference, "tune": Tune, "plot": Plot}


def check(model, value, path, places):
    """Return `value` as the pydantic `model`; every fault is one line of a RrmbenchError."""
    try:
        return model.model_validate(value, strict=True)
    except ValidationError as error:
        lines = list(dict.fromkeys(_line(model, fault, path, places) for fault in error.errors()))
        more = [f"... ({len(lines)} faults in all)"] if len(lines) > MOST_FAULTS else []
        raise RrmbenchError("\n".join([*lines[:MOST_FAULTS], *more])) from None


def check_value(annotation, value, path, places, allowed):
    """Return `value` as the annotation of one key wants it; `allowed` says so in words."""
    try:
        return TypeAdapter(annotation).validate_python(value, strict=True)
    except ValidationError:
        raise RrmbenchError(f"{places.where(path)}: found {shown(value)}, allowed is {allowed}") from None


def check_keys(mapping, allowed, path, places):
    """Refuse anything but a mapping whose keys are all in `allowed`."""
    if not isinstance(mapping, dict):
        raise RrmbenchError(
            f"{places.where(path)}: found {shown(mapping)}, allowed is a mapping of the keys {', '.join(allowed)}"
        )
    for key in mapping:
        if key not in allowed:
            raise RrmbenchError(f"{places.where((*path, key))}: {_unknown(allowed, key)}")


def _unknown(allowed, key):
    return f"unknown key{nearest(key, allowed)} (allowed: {', '.join(allowed)})"


def _line(model, fault, path, places):
    fields = model.model_fields
    if not fault["loc"]:
        if fault["type"] == "value_error":
            return f"{places.where(path)}: {fault['msg'].removeprefix('Value error, ')}"
        allowed = f"a mapping of the keys {', '.join(fields)}"
        return f"{places.where(path)}: found {shown(fault['input'])}, allowed is {allowed}"
    if fault["loc"][-1] == "[key]":  # of `tune.grid`, the only mapping in a part
        *above, key, _ = fault["loc"]
        where = places.where((*path, *above, key))
        return f"{where}: found {shown(key)}, allowed is {PARAMETER}{_nearest_key(key)}"
    key = fault["loc"][0]
    where = places.where((*path, key))
    if key not in fields:
        return f"{where}: {_unknown(fields, key)}"
    if fault["type"] == "missing":
        return f"{where}: missing, needed is {fields[key].description}"
    hint = _hint(fields[key], fault)
    return f"{where}: found {shown(fault['input'])}, allowed is {fields[key].description}{hint}"


def _nearest_key(found):
    return nearest(found.partition(".")[0], [*COMPONENTS, "seed"])


def _hint(field, fault):
    """The nearest match of a text that is none of a few."""
    found = fault["input"]
    if not isinstance(found, str):
        return ""
    if field.description.startswith(KEY):
        return _nearest_key(found)
    return nearest(found, re.findall("'(.*?)'", fault["ctx"]["expected"])) if fault["type"] == "literal_error" else ""
