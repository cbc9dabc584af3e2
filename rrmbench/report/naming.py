"""How readers name runs: short values, and only the keys in which runs differ."""

import json
import math
from collections import Counter

from rrmbench.keys import is_origin
from rrmbench.kinds import PROBLEM


def short(value):
    """Return a parameter's value as people write it: 1e-4, 0.5, auto; whole numbers are whole."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        if value and math.isfinite(value) and not 0.01 < abs(value) < 1e5:
            return with_exponent(value)
        return f"{value:.6g}"
    return value


def with_exponent(value):
    """Return a number as digits and a power of ten: 1e-1, 2.5e3."""
    digits, _, exponent = f"{value:.3e}".partition("e")
    return f"{digits.rstrip('0').rstrip('.')}e{int(exponent)}"


def varying(keys):
    """Return, in order, the names of the keys in which the mappings `keys` differ (an absent key differs)."""
    keys = list(keys)
    names = dict.fromkeys(name for mapping in keys for name in mapping)
    return [name for name in names if len({repr(mapping.get(name)) for mapping in keys}) > 1]


def parameters(keys, kind, shown=None, write=short):
    """Return ["strength=1e-4", ...] for the parameters of one component; `shown` names the keys wanted."""
    start = kind + "."
    wanted = [key for key in keys if key.startswith(start) and (shown is None or key in shown)]
    return [f"{key.removeprefix(start)}={write(keys[key])}" for key in wanted]


def component(keys, kind, shown=None, write=short):
    """Return "l1(strength=1e-4)" for the component `kind` of a run's keys."""
    inside = ", ".join(parameters(keys, kind, shown, write))
    return f"{keys[kind]}({inside})" if inside else keys[kind]


def method(keys, shown=None, write=short):
    """Return "apcg + adapt_reg(sigma=auto)", or the solver alone; with origins, "apcg [stop.passes=5]"."""
    parts = [component(keys, kind, shown, write) for kind in ("solver", "reduction")]
    return " + ".join(part for part in parts if part != "none") + origins(keys, shown, write)


def origins(keys, shown=None, write=short):
    """Return " [stop.passes=5]" for the keys of `is_origin`, or ""."""
    wanted = [key for key in keys if is_origin(key) and (shown is None or key in shown)]
    return f" [{', '.join(f'{key}={write(keys[key])}' for key in wanted)}]" if wanted else ""


def problem(keys, shown=None, write=short):
    """Return "rcv1_train, squared, l1(strength=1e-4)"."""
    return ", ".join(component(keys, kind, shown, write) for kind in PROBLEM)


def problem_difference(keys, shown, write=short):
    """Return what sets a problem apart, given the keys `shown` that vary: "rcv1_train, strength=1e-4"."""
    parts = []
    for kind in PROBLEM:
        parts += [component(keys, kind, shown, write)] if kind in shown else parameters(keys, kind, shown, write)
    return ", ".join(parts)


def told_apart(describe, items):
    """Return describe(one, short) of each of the items, and describe(one, str), in full, where others read the same."""
    found, full = ([describe(one, write) for one in items] for write in (short, str))
    count = Counter(text for text, _ in set(zip(found, full, strict=True)))
    return [text if count[text] == 1 else whole for text, whole in zip(found, full, strict=True)]


def bad_endings(runs, described):
    """{(status, described(run), reason): seeds, as texts} of the stored runs that did not end as done."""
    seeds = {}
    for one in runs:
        if one.status != "done":
            seeds.setdefault((one.status, described(one), one.result.reason), []).append(str(one.keys["seed"]))
    return seeds


def run(keys, write=short):
    """Return the full description of a run, for messages."""
    return f"{problem(keys, None, write)}, {method(keys, None, write)}, seed {keys['seed']}"
