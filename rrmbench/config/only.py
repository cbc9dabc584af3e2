"""`--only KEY=VALUE`: keep the runs that match."""

from dataclasses import replace
from pathlib import Path

from rrmbench import registry
from rrmbench.config.overrides import split
from rrmbench.config.schema import CASE_KEYS
from rrmbench.errors import RrmbenchError, nearest


def select(plans, only):
    """Return the plans with the runs that match the texts KEY=VALUE: same key or, different keys and.

    Plans without a run left are dropped. Raises RrmbenchError if a text matches no combination of any plan,
    or all of them together leave no run.
    """
    wanted = {}
    for text in only:
        keys, value = split("--only", text, CASE_KEYS)
        values = value if isinstance(value, list) else [value]
        wanted.setdefault(keys, []).extend(values)
        _check(text, keys, values, [spec for plan in plans for spec in _specs(plan)])

    def keep(spec):
        return all(any(_matches(spec, keys, value) for value in values) for keys, values in wanted.items())

    kept = [
        replace(
            plan,
            runs=[spec for spec in plan.runs if keep(spec)],
            skipped=[(spec, why) for spec, why in plan.skipped if keep(spec)],
        )
        for plan in plans
    ]
    if not any(plan.runs for plan in kept):
        reasons = dict.fromkeys(why for plan in kept for _, why in plan.skipped)
        raise RrmbenchError("\n  ".join([f"--only {' '.join(only)}: no run is left", *reasons]))
    return [plan for plan in kept if plan.runs]


def _specs(plan):
    return [*plan.runs, *(spec for spec, _ in plan.skipped)]


def _check(text, keys, values, specs):
    shown = list(dict.fromkeys(_spoken(spec, keys)[0] for spec in specs if _spoken(spec, keys)))
    if not shown:
        raise RrmbenchError(f"--only {text}: no combination sets that key")
    for value in values:
        if not any(_matches(spec, keys, value) for spec in specs):
            hint = nearest(value, shown) if isinstance(value, str) else ""
            raise RrmbenchError(
                f"--only {text}: no combination matches{hint} (the values are: {', '.join(map(str, shown))})"
            )


def _matches(spec, keys, value):
    if isinstance(value, str) and keys[0] in registry.KINDS and keys[1:] in ((), ("inside",)):
        value = _real_name(keys[0], value)
    # True == 1 in Python, but not for a user
    return any(held == value and isinstance(held, bool) == isinstance(value, bool) for held in _spoken(spec, keys))


def _real_name(kind, name):
    try:
        return registry.lookup(kind, name).name
    except RrmbenchError:
        return name


def _spoken(spec, keys):
    """The ways to say the value of a key: a component by name, a file by its stem, name or path."""
    value = spec
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return []
        value = value[key]
    if not isinstance(value, dict):
        return [value]
    if "name" in value:
        return [value["name"]]
    return [Path(value["path"]).stem, Path(value["path"]).name, value["path"]] if "path" in value else []
