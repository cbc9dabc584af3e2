"""One mapping of a component checked against the registries: real name, valid parameters."""

from pathlib import Path

from rrmbench import registry
from rrmbench.config.entries import absolute
from rrmbench.errors import RrmbenchError, shortened


def check(kind, mapping, path, places, folder, tuned=()):
    """Return {"name": real name, "path": plug-in file if any, parameter: value, ...} of one component.

    folder : of the configuration; a parameter that is a file by its annotation may be relative to it
    tuned : the keys to which `tune:` gives values, as tuples below the kind, ("mu",) or ("inside", "mu")
    """
    if kind == "dataset":
        from rrmbench.data import spec

        with places.located(path) as where:
            return spec.check(mapping, where)
    mapping = dict(mapping)
    around = mapping.pop(registry.AROUND.get(kind), None)
    with places.located(path) as where:
        if "path" in mapping:
            mapping["name"] = _plugin_name(kind, mapping, where)
    with places.located((*path, "name")):
        registry.lookup(kind, mapping["name"], where)
    with places.located(path):
        given = [key[0] for key in tuned if len(key) == 1]
        component, parameters = registry.from_mapping(kind, mapping, where, given)
    for key, value in parameters.items():
        if component.parameters[key].is_path(value):
            parameters[key] = absolute(value, folder, places.where((*path, key)))
    checked = {"name": component.name} | _plugin(component) | parameters
    if around is not None:
        key = registry.AROUND[kind]
        if key == "inside":
            around = check(kind, around, (*path, key), places, folder, [rest for first, *rest in tuned if first == key])
        checked[key] = around
    return checked


def _plugin(component):
    """The file of a component that the worker must load too, also where the YAML gives the name only."""
    if component.build.__module__.startswith("rrmbench_plugin_"):
        return {"path": component.source}
    return {}


def _plugin_name(kind, mapping, where):
    mine = [name for name in registry.names(kind) if _is_from(registry.lookup(kind, name), mapping["path"])]
    if "name" in mapping:
        real = registry.lookup(kind, mapping["name"], where).name
    elif len(mine) == 1:
        real = mine[0]
    else:
        found = f"{shortened(mapping['path'])} registers {_listed(kind, mine)}"
        raise RrmbenchError(f"{where}: {found}; needed is the name of one")
    if real not in mine:
        raise RrmbenchError(f"{where}.name: found '{real}', but {mapping['path']} registers {_listed(kind, mine)}")
    return real


def _is_from(component, path):
    return Path(component.source).resolve() == Path(path).resolve()


def _listed(kind, mine):
    return f"the {kind} " + ", ".join(mine) if mine else f"no {kind}"
