"""`--only KEY=VALUE`: keep the runs that match."""

import json
from dataclasses import replace
from pathlib import Path

from rrmbench import registry
from rrmbench.config.overrides import split
from rrmbench.config.plan import is_deterministic
from rrmbench.config.schema import CASE_KEYS
from rrmbench.errors import RrmbenchError, listed, nearest, shortened
from rrmbench.kinds import KINDS

SEED = ("seed",)


def select(plans, only):
    """Return the plans with the runs that match the texts KEY=VALUE: same key or, different keys and.

    A deterministic run is one of every seed. Plans without a run left are dropped. Raises RrmbenchError if a text
    matches no combination of any plan, or all of them together leave no run.
    """
    specs = [spec for plan in plans for spec in [*plan.runs, *(spec for spec, _ in plan.skipped)]]
    wanted = {}
    for text in only:
        keys, value = split("--only", text, CASE_KEYS)
        values = value if isinstance(value, list) else [value]
        _check(f"--only {shortened(text)}", keys, values, specs)
        wanted.setdefault(keys, set()).update(_meant(keys, value) for value in values)

    def keep(spec):
        return all(
            not wanted[keys].isdisjoint(_held(spec, keys)) or (keys == SEED and _is_once(spec)) for keys in wanted
        )

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
        raise RrmbenchError("\n  ".join([f"--only {shortened(' '.join(only))}: no run is left", *list(reasons)[:20]]))
    return [plan for plan in kept if plan.runs]


def _is_once(spec):
    try:
        return is_deterministic(spec)
    except RrmbenchError:  # a combination that is skipped
        return False


def _check(option, keys, values, specs):
    if keys == SEED:
        specs = [spec for spec in specs if not _is_once(spec)]
        if not specs:
            return
    shown = list(dict.fromkeys(str(_spoken(spec, keys)[0]) for spec in specs if _spoken(spec, keys)))
    if not shown:
        raise RrmbenchError(f"{option}: no combination sets that key")
    held = {spelling for spec in specs for spelling in _held(spec, keys)}
    for value in values:
        if _meant(keys, value) not in held:
            hint = nearest(value, shown) if isinstance(value, str) else ""
            raise RrmbenchError(f"{option}: no combination matches{hint} (the values are: {listed(shown)})")


def _meant(keys, value):
    """A value of `--only` in the form of `_held`; of a component by its real name."""
    if isinstance(value, str) and keys[0] in KINDS and set(keys[1:]) <= {"inside"}:
        value = _real_name(keys[0], value)
    return _key(value)


def _held(spec, keys):
    return [_key(value) for value in _spoken(spec, keys)]


def _key(value):
    """A text that is the same for equal values, and for 1 and 1.0; not for 1 and true, which are equal in Python."""
    if isinstance(value, list):
        return f"[{','.join(map(_key, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


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
