"""KEY=VALUE on the command line, and which runs `--only` keeps: those to come and the stored ones alike."""

import json
from pathlib import Path

from rrmbench.errors import RrmbenchError, listed, nearest, shortened, shown
from rrmbench.keys import owner
from rrmbench.kinds import COMPONENTS, KINDS, PARTS
from rrmbench.yaml_reader import MAX_DEPTH, parse

SEED = ("seed",)


def key_value(option, text, allowed):
    """Return (keys, value) of KEY=VALUE, whose first key is one of `allowed`."""
    key, equals, value = text.partition("=")
    keys, place = tuple(key.strip().split(".")), f"{option} {shortened(text)}"
    if not equals or "" in keys:
        raise RrmbenchError(f"{place}: found {shown(text)}, allowed is KEY=VALUE such as solver=apcg")
    if keys[0] not in allowed:
        hint = f"{nearest(keys[0], allowed)} (allowed: {', '.join(allowed)})"
        raise RrmbenchError(f"{place}: unknown key {shown(keys[0])}{hint}")
    if not value.strip():  # as of a variable of the shell that is empty; a rule of `stop` would go silently
        hint = "; 'null' takes back what the file sets" if option == "--set" else ""
        raise RrmbenchError(f"{place}: found no value, allowed is KEY=VALUE{hint}")
    if len(keys) > MAX_DEPTH:
        raise RrmbenchError(f"{place}: nested deeper than {MAX_DEPTH} levels")
    return keys, parse(value, place).value


def check_apart(texts):
    """Raise RrmbenchError where a text KEY=VALUE of `--set` undoes one before it.

    It has the same key, as in a file that has it twice, or one around it: `stop={gap: 1}` after `stop.passes=5`.
    """
    first = {}
    for text in texts:
        key, _, value = text.partition("=")
        key, place = key.strip(), f"--set {shortened(text)}"
        if key in first:
            raise RrmbenchError(f"{place}: {shortened(key)} is set already, by {shortened(first[key])}")
        below = [other for other in first if other.startswith(f"{key}.")]
        keeps = below and _keeps_parameters(key, parse(value, place).value)
        inside = next((one for one in below if not keeps or one in (f"{key}.name", f"{key}.path")), None)
        if inside:
            before = f"{shortened(inside)}, which is set already, by {shortened(first[inside])}"
            raise RrmbenchError(f"{place}: {shortened(key)} replaces {before}; set {shortened(key)} first")
        first[key] = text


def _keeps_parameters(key, value):
    """Whether a value is the bare name of a component, which leaves the parameters as they are."""
    return owner(key) in COMPONENTS and isinstance(value, str)


def matcher(only, specs, what, is_once):
    """Return the function from a spec to whether it matches the texts KEY=VALUE: same key or, different keys and.

    specs : all specs that there are, against which the texts are checked; what : how messages call one of them
    is_once : the function from a spec to whether it is of a deterministic method, whose one run is that of every seed

    Raises RrmbenchError for a text that matches none of the specs, with the nearest key or value.
    """
    wanted = {}
    for text in only:
        keys, value = key_value("--only", text, PARTS)
        values = value if isinstance(value, list) and value else [value]
        among = [spec for spec in specs if not is_once(spec)] if keys == SEED else specs
        option = f"--only {shortened(text)}"
        meant = _meant(keys, values, among, option, what) if among else _seeds(values, option)
        wanted.setdefault(keys, set()).update(meant)

    def matches(spec):
        return all(
            not wanted[keys].isdisjoint(_held(spec, keys)) or (keys == SEED and is_once(spec)) for keys in wanted
        )

    return matches


def _meant(keys, values, specs, option, what):
    """The `values` of one text in the form of `_held`, each of which some spec holds."""
    held = {spelling for spec in specs for spelling in _held(spec, keys)}
    if not held:
        there = dict.fromkeys(".".join(path) for spec in specs for path in _paths(spec))
        raise RrmbenchError(f"{option}: no {what} sets that key{nearest('.'.join(keys), there)}")
    named = keys[0] in KINDS and set(keys[1:]) <= {"inside"}
    meant = set()
    for value in values:
        spelling = _key(value)
        if spelling not in held and named and isinstance(value, str):
            spelling = _key(_real_name(keys[0], value))
        if spelling not in held:
            there = list(dict.fromkeys(str(_spoken(spec, keys)[0]) for spec in specs if _spoken(spec, keys)))
            hint = nearest(value, there) if isinstance(value, str) else ""
            raise RrmbenchError(f"{option}: no {what} matches{hint} (the values are: {listed(there)})")
        meant.add(spelling)
    return meant


def _seeds(values, option):
    """The `values` of a text in the form of `_held` where every seed there may be is that of the runs."""
    for value in values:
        if not _key(value).isdecimal():
            raise RrmbenchError(f"{option}: found {shown(value)}, allowed is a whole number of at least 0")
    return {_key(value) for value in values}


def _real_name(kind, name):
    from rrmbench import registry  # with all components, which readers of results do without

    try:
        return registry.lookup(kind, name).name
    except RrmbenchError:
        return name


def _held(spec, keys):
    return [_key(value) for value in _spoken(spec, keys)]


def _key(value):
    """A text that is the same for equal values, and for 1 and 1.0; not for 1 and true, which are equal in Python."""
    if isinstance(value, list):
        return f"[{','.join(map(_key, value))}]"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return json.dumps(value, sort_keys=True)


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


def _paths(spec, above=()):
    """Yield the keys of a spec that have a value, as tuples."""
    for key, value in spec.items():
        if _spoken(spec, (key,)):
            yield (*above, key)
        if isinstance(value, dict):
            yield from _paths(value, (*above, key))
