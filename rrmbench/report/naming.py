"""How readers name runs: short values, and only the keys in which runs differ."""

import json
import math

from rrmbench.keys import is_origin
from rrmbench.kinds import PROBLEM


def short(value):
    """Return a parameter's value as people write it: 1e-4, 0.5, auto."""
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, (int, float)):
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


def parameters(keys, kind, shown=None):
    """Return ["strength=1e-4", ...] for the parameters of one component; `shown` names the keys wanted."""
    start = kind + "."
    wanted = [key for key in keys if key.startswith(start) and (shown is None or key in shown)]
    return [f"{key.removeprefix(start)}={short(keys[key])}" for key in wanted]


def component(keys, kind, shown=None):
    """Return "l1(strength=1e-4)" for the component `kind` of a run's keys."""
    inside = ", ".join(parameters(keys, kind, shown))
    return f"{keys[kind]}({inside})" if inside else keys[kind]


def method(keys, shown=None):
    """Return "apcg + adapt_reg(sigma=auto)", or the solver alone; with origins, "apcg [stop.passes=5]"."""
    parts = [component(keys, kind, shown) for kind in ("solver", "reduction")]
    return " + ".join(part for part in parts if part != "none") + origins(keys, shown)


def origins(keys, shown=None):
    """Return " [stop.passes=5]" for the keys of `is_origin`, or ""."""
    wanted = [key for key in keys if is_origin(key) and (shown is None or key in shown)]
    return f" [{', '.join(f'{key}={short(keys[key])}' for key in wanted)}]" if wanted else ""


def problem(keys, shown=None):
    """Return "rcv1_train, squared, l1(strength=1e-4)"."""
    return ", ".join(component(keys, kind, shown) for kind in PROBLEM)


def problem_difference(keys, shown):
    """Return what sets a problem apart, given the keys `shown` that vary: "rcv1_train, strength=1e-4"."""
    parts = []
    for kind in PROBLEM:
        parts += [component(keys, kind, shown)] if kind in shown else parameters(keys, kind, shown)
    return ", ".join(parts)


def bad_endings(runs, described):
    """{(status, described(run), reason): seeds, as texts} of the stored runs that did not end as done."""
    seeds = {}
    for one in runs:
        if one.status != "done":
            seeds.setdefault((one.status, described(one), one.result.reason), []).append(str(one.keys["seed"]))
    return seeds


def run(keys):
    """Return the full description of a run, for messages."""
    return f"{problem(keys)}, {method(keys)}, seed {keys['seed']}"
