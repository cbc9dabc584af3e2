"""What a figure is asked to be: the `plot:` section of an experiment and the options over it, checked."""

from dataclasses import dataclass

from rrmbench.columns import FACETS, MEASURES, X
from rrmbench.errors import RrmbenchError, nearest, printable, shown

SCALES = ("log", "linear")
LARGEST = 1e100  # of an axis limit; matplotlib squares and subtracts them


@dataclass(frozen=True)
class Options:
    """What overrides the `plot:` section (None: nothing), and what it does not know: see `rrmbench.report.plots`."""

    x: str | None = None
    y: str | None = None
    xscale: str | None = None
    theory: bool = False
    trust: bool = False

    def __post_init__(self):
        check("--x", self.x, (None, *X))
        check("--y", self.y, (None, *MEASURES))
        check("--xscale", self.xscale, (None, *SCALES))
        for name in "theory", "trust":
            if not isinstance(value := getattr(self, name), bool):
                raise RrmbenchError(f"{name}: found {shown(value)}, allowed is True or False")


def check(option, value, allowed):
    """Raise RrmbenchError for a value that is not among the allowed ones."""
    if not isinstance(value, str | None) or value not in allowed:
        names = [name for name in allowed if name]
        found = f"'{value}'" if isinstance(value, str) else shown(value)
        raise RrmbenchError(f"{option}: found {found}, allowed is {', '.join(names)}{nearest(value, names)}")


def formats_of(text, allowed):
    """The formats of --format, separated by commas, each once; RrmbenchError for another one."""
    kinds = list(dict.fromkeys(kind.strip() for kind in text.split(",")))
    for kind in kinds:
        check("--format", kind, allowed)
    return kinds


def section_of(manifest):
    """Return the `plot:` section of a manifest with its defaults; RrmbenchError for what no section may say."""
    asked = manifest.get("plot") or {}
    section = dict.fromkeys((*FACETS, "title", "xlim", "ylim", "xscale"))
    section |= {"x": "passes", "y": "suboptimality"} | {key: asked[key] for key in asked if asked[key] is not None}
    check("plot.x", section["x"], X)
    check("plot.y", section["y"], MEASURES)
    check("plot.xscale", section["xscale"], (None, *SCALES))
    for name in FACETS:
        keys = section[name] if isinstance(section[name], list) else [section[name] or ""]
        _require(name, section, all(isinstance(key, str) for key in keys), "a key or a list of keys")
    title = section["title"]
    _require("title", section, title is None or isinstance(title, str), "text")
    for name in "xlim", "ylim":
        ends = section[name]
        _require(name, section, ends is None or _are_limits(ends), "two different finite numbers [low, high]")
    return section | {"title": title and printable(title)}


def limits_of(section, x, y):
    """The limits of both axes, None for an axis that shows something else than the section asks for."""
    return [section[f"{axis}lim"] if section[axis] == shown else None for axis, shown in (("x", x), ("y", y))]


def _require(name, section, holds, allowed):
    if not holds:
        raise RrmbenchError(f"plot.{name}: found {section[name]!r}, allowed is {allowed}")


def _are_limits(ends):
    plain = isinstance(ends, list) and len(ends) == 2 and all(type(end) in (int, float) for end in ends)
    return plain and all(abs(end) < LARGEST for end in ends) and ends[0] != ends[1]
