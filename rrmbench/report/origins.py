"""Runs of one experiment, told apart where they differ in anything but the seed."""

from collections import Counter
from typing import TYPE_CHECKING

from rrmbench.keys import flat, line, owner
from rrmbench.report import namesakes, naming

if TYPE_CHECKING:
    from rrmbench.report.results import StoredRun


def tell_apart(found: list["StoredRun"]) -> None:
    """Add keys to the runs of one experiment until those that differ in anything but the seed have other ones."""
    namesakes.tell_apart(found)
    _tell_origins_apart(found)
    _tell_rules_apart(found)


def _tell_rules_apart(found: list["StoredRun"]) -> None:
    """Add the keys of stopping rule and trace points to methods that have not those of most methods on their problem.

    Of several values that are as frequent the first in the manifest counts as that of most.
    """
    problems: dict[tuple, dict[tuple, list[StoredRun]]] = {}
    for run in found:
        problem = but_seed({key: run.keys[key] for key in run.keys if owner(key) in naming.PROBLEM})
        problems.setdefault(problem, {}).setdefault(but_seed(run.keys), []).append(run)
    for methods in problems.values():
        rules = {run: _rules(run) for runs in methods.values() for run in runs}
        for key in naming.varying(rules.values()):
            held = Counter(value for runs in methods.values() for value in {rules[run].get(key) for run in runs})
            ((usual, _),) = held.most_common(1)
            for run, rule in rules.items():
                if rule.get(key) != usual and key not in run.keys:
                    run.keys[key] = rule.get(key)


def _rules(run: "StoredRun") -> dict:
    """When a run was to stop, and where its trace has points."""
    spec = run.result.spec
    return flat("stop", spec.get("stop", {})) | flat("trace", spec.get("trace", {}))


def _tell_origins_apart(found: list["StoredRun"]) -> None:
    """Add the keys of what else differs among runs whose keys differ in the seed and what is tuned, see `origin`.

    One curve, one median and one row are of runs that differ in the seed and in nothing else, and one value of a grid
    is compared with others that were run alike.
    """
    alike: dict[tuple, list[StoredRun]] = {}
    for run in found:
        alike.setdefault(but_seed({k: v for k, v in run.keys.items() if k not in run.tuned}), []).append(run)
    for members in alike.values():
        origins = {run: origin(run) for run in members}
        known = [there for run, there in origins.items() if not run.result.unreadable]
        for key in naming.varying(known):
            for run in members:
                run.keys[key] = origins[run].get(key)


def but_seed(keys: dict) -> tuple[tuple[str, str], ...]:
    """Return what two runs that differ in the seed only have in common, hashable."""
    return tuple((key, repr(value)) for key, value in keys.items() if key != "seed")


def origin(run: "StoredRun") -> dict:
    """What a result depends on beside its keys: stopping rule, trace points, code and data."""
    rest = {"dataset.checksum": line(run.result.data[:12]), "code": line(run.result.code[:8])}
    return _rules(run) | {"timing": repeats(run)} | rest


def repeats(run: "StoredRun") -> int | None:
    """The repeats of `run --timing`, None where seconds are of one run."""
    return (run.result.info.get("timing") or {}).get("repeats")
