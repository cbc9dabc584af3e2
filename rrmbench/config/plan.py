"""Phase two: the tree of a configuration to its runs."""

import json
import re
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from pathlib import Path

from rrmbench import plugin_files, registry
from rrmbench.columns import CLOCKS, FACETS
from rrmbench.config import components, entries, schema
from rrmbench.config.grids import count, expand
from rrmbench.config.raw import DEFAULTS
from rrmbench.config.tune import Tuner
from rrmbench.config.validity import reason
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.keys import keys, sets_apart
from rrmbench.kinds import COMPONENTS, KINDS
from rrmbench.parameters import Seed

MAX_RUNS = 100_000  # of a file, the skipped included
ANY_SEED = 0  # of a deterministic run, whatever seeds the file lists
MOST_REASONS = 20  # that a message tells
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class Plan:
    """An experiment: its runs (resolved specs, plain JSON) and those that the mathematics excludes."""

    path: Path
    name: str
    runs: list  # of specs
    skipped: list  # of (spec, reason)
    plot: dict
    reference: dict | None  # {"seconds": s}
    limit: float  # wall-clock seconds after which a run is killed
    plugins: tuple  # absolute paths
    config: dict  # the tree with defaults and overrides, for the manifest
    tuned: dict  # text of a spec -> the keys that `tune:` chose, for the specs that it made
    is_limited: bool  # whether the file says its limit

    def tuned_keys(self, spec):
        """The keys of a spec whose values come from a grid of `tune:`, such as ["reduction.sigma"]."""
        return self.tuned.get(_text(spec), [])

    def fitting(self, dimensions):
        """The Plan whose runs on data that are too large for their solver are skipped; RrmbenchError if all are.

        dimensions : f(spec) -> (samples, features, outputs) of its data, or None where they are not known
        """
        fit, large = [], []
        for spec in self.runs:
            found = dimensions(spec)
            why = found and registry.lookup("solver", spec["solver"]["name"]).refusal(*found)
            large.append((spec, why)) if why else fit.append(spec)
        if not fit:
            raise _all_skipped(self.path, self.skipped + large)
        return replace(self, runs=fit, skipped=self.skipped + large)

    def for_reference(self):
        """The Plan for the extra runs of `reference`: a limit that the file does not say leaves room for these, too."""
        own = self.limit if self.is_limited else _default_limit({self.reference["seconds"]})
        return replace(self, limit=max(self.limit, own))

    @property
    def serial(self):
        """Whether runs should not share the machine, because the plot is over seconds of any clock."""
        return self.plot["x"] in CLOCKS


def resolve(raw):
    """Return the Plan of a Raw configuration; imports the components and the plug-ins.

    Raises RrmbenchError, with file, line and key, for unknown names, keys and parameters, bad values, empty
    grids, and if every combination is skipped.
    """
    registry.load()
    # all of them first: one may be named before the mapping that gives its file
    for file in (*raw.plugins, *raw.makers):
        plugin_files.load_plugin(file)
    tree, places = raw.tree, raw.places
    tuner, room = Tuner(tree, places), _Room(places)
    plot = schema.check(schema.Plot, tree.get("plot", {}), ("plot",), places).model_dump(exclude_none=True)
    name, reference = _name(raw), _reference(tree, places)
    combinations = {}
    for block, at in raw.blocks():
        for spec, why, tuned in _combinations(block, at, raw, tuner, room):
            _, _, before = combinations.setdefault(_text(spec), (spec, why, tuned))
            tuner.check_not_set({key: keys(spec)[key] for key in {*before} ^ {*tuned}})
    tuner.check_used()
    runs = [spec for spec, why, _ in combinations.values() if why is None]
    skipped = [(spec, why) for spec, why, _ in combinations.values() if why is not None]
    tuned = {key: keys for key, (_, _, keys) in combinations.items() if keys}
    if not runs:
        raise _all_skipped(raw.path, skipped)
    _check_facets(plot, runs, places)
    tuner.check_gap(spec for spec in runs if tuned.get(_text(spec)))
    limit = _limit(tree, places, runs)
    config = DEFAULTS | tree | {"name": name, "plot": plot, "reference": reference, "limit": limit}
    plugins = _of_mathematics(raw, runs)
    return Plan(raw.path, name, runs, skipped, plot, reference, limit, plugins, config, tuned, "limit" in tree)


def check_names(plans):
    """An experiment's name is its folder: two files of one name would replace each other's manifest."""
    first = {}
    for plan in plans:
        if plan.name in first:
            raise RrmbenchError(f"{plan.path}: the name '{plan.name}' is that of {first[plan.name]} too; rename one")
        first[plan.name] = plan.path


def _check_facets(plot, runs, places):
    """Raise RrmbenchError where `plot:` asks for rows, columns or figures by a key that no run has, or by one twice."""
    taken = {}
    for facet in FACETS:
        asked = plot.get(facet) or []
        for key in [asked] if isinstance(asked, str) else asked:
            if key in taken:
                where = places.where(("plot", facet))
                raise RrmbenchError(f"{where}: found '{key}', which plot.{taken[key]} has already")
            taken[key] = facet
            if sets_apart(key) or any(key in keys(run) for run in runs):  # the former runs have where they differ
                continue
            known = dict.fromkeys(name for run in runs for name in keys(run))
            where = places.where(("plot", facet))
            raise RrmbenchError(
                f"{where}: no run has the key '{key}'{nearest(key, known)} (there are: {', '.join(known)})"
            )


def _of_mathematics(raw, runs):
    """The plug-in files that runs need: also one named for its data set only, if a component comes from it."""
    named = {file for run in runs for kind in KINDS for file in entries.plugins(kind, run[kind])}
    return (*raw.plugins, *(file for file in raw.makers if str(Path(file).resolve()) in named))


class _Room:
    """The combinations that a file has so far, of which there may be MAX_RUNS."""

    def __init__(self, places):
        self.places, self.taken = places, 0

    def check(self, at, sizes):
        """Return the product of the `sizes`, a mapping by key; RrmbenchError, at the longest, if it is too much."""
        more = prod(sizes.values())
        if self.taken + more > MAX_RUNS:
            axes = " x ".join(f"{size:,} {kind}" for kind, size in sizes.items() if size > 1)
            total = f"{self.taken + more:,}" if more < 10**15 else "more than 1e15"
            where = self.places.where(at[max(sizes, key=sizes.get)])
            found = f"found {total} combinations (here {axes})"
            raise RrmbenchError(f"{where}: {found}, allowed are {MAX_RUNS:,} in a file")
        return more


def _combinations(block, at, raw, tuner, room):
    """Yield (spec, reason or None, tuned keys) for the product of one block, `COMPONENTS` before seeds."""
    from rrmbench import data
    from rrmbench.problem.traits import build_loss, traits

    places = raw.places
    seeds = _seeds(block["seed"], at["seed"], places)
    sizes = {kind: count(kind, block[kind]) for kind in COMPONENTS} | {"seed": len(seeds)}
    room.check(at, sizes)
    checked = {
        kind: [
            components.check(kind, mapping, where, places, raw.folder, tuner.given(kind))
            for mapping, where in expand(kind, block[kind], at[kind], places)
        ]
        for kind in COMPONENTS
    }
    sizes |= {kind: sum(tuner.count(kind, mapping) for mapping in checked[kind]) for kind in checked}
    room.taken += room.check(at, sizes)
    axes = [[tuned for mapping in checked[kind] for tuned in tuner.expand(kind, mapping)] for kind in checked]
    stop = schema.check(schema.StopSection, block["stop"], at["stop"], places).model_dump(exclude_none=True)
    trace = schema.check(schema.TraceSection, block["trace"], at["trace"], places).model_dump()
    with places.located(at["loss"]):  # a bad pair of parameters shows when the thing is built
        for loss, _ in axes[1]:
            build_loss(loss)
    for problem in product(*axes[:3]):
        dataset, loss, regularizer = (mapping for mapping, _ in problem)
        with places.located(at["regularizer"]):
            has = traits(loss, regularizer, data.traits_of(dataset))
        for method in product(*axes[3:]):
            parts = (*problem, *method)
            spec = {kind: mapping for kind, (mapping, _) in zip(COMPONENTS, parts, strict=True)}
            tuned = [key for _, keys in parts for key in keys]
            why = reason(spec, has, stop)
            for seed in [ANY_SEED] if why is None and is_deterministic(spec) else seeds:
                yield spec | {"seed": seed, "stop": stop, "trace": trace}, why, tuned


def is_deterministic(spec):
    """Whether a valid spec draws no random numbers, so that one run stands for all seeds."""
    return registry.build_solver(spec["solver"], spec["reduction"]).deterministic


def _seeds(value, path, places):
    if value == []:
        raise RrmbenchError(f"{places.where(path)}: the list is empty; needed is at least one seed")
    allowed = "a whole number from 0 to 2^63 - 1, or a list of those"
    seeds = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(schema.check_value(list[Seed], seeds, path, places, allowed)))


def _text(spec):
    return json.dumps(spec, sort_keys=True)


def _name(raw):
    name = raw.tree.get("name", re.sub(r"[^A-Za-z0-9._-]", "_", raw.path.stem))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise RrmbenchError(
            f"{raw.places.where(('name',))}: found {shown(name)}, allowed are letters, digits, '.', '_' and '-', "
            "starting with a letter or digit, 100 at most (it names a directory)"
        )
    return name


def _reference(tree, places):
    value = tree.get("reference", {})
    if value is False or value in (None, "none"):
        return None
    return schema.check(schema.Reference, value, ("reference",), places).model_dump()


def _limit(tree, places, runs):
    """The file's `limit`, or the default for all its runs."""
    if "limit" in tree:
        allowed = f"{schema.SECONDS} (seconds)"
        return schema.check_value(schema.Seconds, tree["limit"], ("limit",), places, allowed)
    return _default_limit({spec["stop"].get("seconds") for spec in runs})


def _default_limit(seconds):
    """The longest limit of runs with these `stop.seconds`, or None: 3 times as much and a minute, or an hour."""
    return max(3600.0 if one is None else 3.0 * one + 60.0 for one in seconds)


def _all_skipped(path, skipped):
    reasons = list(dict.fromkeys(why for _, why in skipped))
    more = [f"... ({len(reasons)} reasons in all)"] if len(reasons) > MOST_REASONS else []
    listed = "\n".join(f"  {why}" for why in [*reasons[:MOST_REASONS], *more])
    return RrmbenchError(f"{path}: every combination is skipped:\n{listed}")
