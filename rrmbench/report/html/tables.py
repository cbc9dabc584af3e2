"""All that the page says in words: runs, what tuning chose, what is missing, where and how it was measured."""

import json
from collections import Counter

import numpy as np

from rrmbench.bench.records import STATUSES
from rrmbench.columns import METRICS
from rrmbench.errors import printable, shortened
from rrmbench.keys import keys
from rrmbench.report import naming
from rrmbench.report.plots.curves import Axes
from rrmbench.report.plots.timing import timing
from rrmbench.report.results import width
from rrmbench.report.tuning import choices
from rrmbench.yaml_reader import dumped

LAST = ("passes", "seconds", "objective", "gap", "suboptimality", *METRICS)  # of a run: the values at its end
_CLOCK = Axes("seconds", "gap")


def tables(experiment, stored, found):
    """Return what the page says of one experiment beside its figures, as a mapping for the template.

    Its texts may have characters that nobody sees, which the template takes out; not so those of `runs`.

    stored : all its runs that have a result; found : those of them that the page is about
    """
    manifest = experiment.manifest()
    tuned = choices(manifest, stored)
    shown = [choice for choice in tuned if not set(found).isdisjoint(choice.kept)]
    return {
        "name": experiment.name,
        "asked": len({entry["spec_id"] for entry in manifest["runs"]}),
        "statuses": _statuses(found),
        "outstanding": _outstanding(manifest, stored),
        "runs": _runs(found, tuned),
        "tuning": [choice.text for choice in shown],
        "skipped": _skipped(manifest),
        "timing": list(timing(found, _CLOCK)),
        "environments": _environments(manifest, found),
        "references": _references(found),
        "config": dumped(manifest.get("config") or {}),
    }


def _statuses(found):
    """{status: number of runs}, in the order of the words of the format."""
    counts = Counter(run.status for run in found)
    return {status: counts[status] for status in STATUSES if counts[status]}


def _outstanding(manifest, stored):
    """The descriptions of the runs that the experiment asks for and that have no result yet."""
    done = {run.result.spec_id for run in stored}
    entries = {entry["spec_id"]: entry for entry in manifest["runs"] if entry["spec_id"] not in done}
    return [naming.run(keys(entry["spec"])) for entry in entries.values()]


def _runs(found, tuned):
    """The table of runs for the browser: columns [title, is a number], rows of cells, tracebacks by number."""
    differ = set(naming.varying(run.keys for run in found))
    trials = {run for choice in tuned for run in choice.trials}
    kept = {run for choice in tuned for run in choice.kept}
    last = {name: [_last(run, name) for run in found] for name in LAST}
    last = {name: values for name, values in last.items() if any(value is not None for value in values)}
    words = {
        "problem": naming.told_apart(lambda run, write: naming.problem_difference(run.keys, differ, write), found),
        "method": naming.told_apart(lambda run, write: naming.method(run.keys, differ, write), found),
        "seed": [str(run.keys["seed"]) for run in found],  # numbers of a browser have 53 bits
        "tuning": ["trial" if run in trials else "kept" if run in kept else "" for run in found],
        "status": [run.status for run in found],
        "reason": [run.result.reason for run in found],
    }
    words = {name: values for name, values in words.items() if name in ("method", "status", "reason") or any(values)}
    if "seed" not in differ:
        words.pop("seed", None)
    columns = words | last | {"run": [run.result.run for run in found]}
    texts = {}
    tracebacks = [
        texts.setdefault(printable(_text(run.result.info["traceback"])), len(texts))
        if run.result.info.get("traceback")
        else None
        for run in found
    ]
    return {
        "columns": [[name, name in last or name == "seed"] for name in columns],
        "rows": [list(row) for row in zip(*columns.values(), strict=True)],
        "tracebacks": tracebacks,
        "texts": list(texts),
    }


def _last(run, name):
    """A measured value at the end of a run; None where there is none, the text Infinity for an infinite one."""
    values = run.column(name)
    if not len(values) or np.isnan(values[-1]):
        return None
    return float(values[-1]) if np.isfinite(values[-1]) else str(values[-1]).replace("inf", "Infinity")


def _skipped(manifest):
    """{reason: descriptions of the combinations that are skipped for it}."""
    skipped = {}
    for entry in manifest.get("skipped") or []:
        entry = entry if isinstance(entry, dict) else {"spec": entry}
        reason = _text(entry.get("reason", "no reason was recorded"))
        skipped.setdefault(reason, []).append(_combination(entry.get("spec")))
    return skipped


def _combination(spec):
    """The description of a spec that nothing has checked."""
    try:
        named = keys(spec)
        return f"{naming.problem(named)}, {naming.method(named)}"
    except Exception:  # whatever a foreign file holds
        return shortened(json.dumps(spec))


def _environments(manifest, found):
    """[(id, number of runs, {fact: text})] of the machines and versions."""
    counts = Counter(run.result.info.get("environment") for run in found)
    known = manifest.get("environments") or {}
    unknown = {name: {} for name in counts if name is not None and name not in known}
    return [(_text(name), counts[name], _facts(facts)) for name, facts in (known | unknown).items()]


def _facts(facts):
    """A record of an environment as {fact: text}, the versions of packages among the facts."""
    if not isinstance(facts, dict):
        return {"record": _text(facts)}
    flat = {}
    for key, value in facts.items():
        inside = value.items() if isinstance(value, dict) else [(key, value)]
        flat |= {_text(name).replace("_", " "): _text(one) for name, one in inside if one is not None}
    return flat


def _references(found):
    """The certified interval of each problem's optimum: description, least P, greatest D, width, relative width."""
    problems = {}
    for run in found:
        problems.setdefault(run.result.problem, run)
    differ = set(naming.varying(run.keys for run in problems.values()))
    rows = []
    for run in problems.values():
        primal, dual = (run.reference or {}).get("primal", np.inf), (run.reference or {}).get("dual", -np.inf)
        between = width(run.reference)
        relative = between / abs(primal) if primal and np.isfinite(between) else np.nan
        name = naming.problem_difference(run.keys, differ) or naming.problem(run.keys)
        ends = [f"{end:.12g}" if np.isfinite(end) else "none" for end in (primal, dual)]
        sizes = [f"{size:.1e}" if np.isfinite(size) else "none" for size in (between, relative)]
        rows.append((name, ends + sizes))
    return rows


def _text(value):
    return value if isinstance(value, str) else json.dumps(value)
