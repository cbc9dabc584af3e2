"""One mapping of a component checked against the registries: real name, valid parameters."""

from rrmbench import registry
from rrmbench.config.entries import absolute


def check(kind, mapping, path, places, folder, tuned=()):
    """Return {"name": real name, "path": plug-in file if any, parameter: value, ...} of one component.

    folder : of the configuration; a parameter that is a file by its annotation may be relative to it
    tuned : the keys to which `tune:` gives values, as tuples below the kind, ("mu",) or ("inside", "mu")
    """
    if kind == "dataset":
        from rrmbench.data import spec

        with places.located(path) as where:
            return spec.check(mapping, where, folder)
    mapping = dict(mapping)
    around = mapping.pop(registry.AROUND.get(kind), None)
    with places.located(path) as where:
        if "path" in mapping:
            mapping["name"] = registry.name_in_file(kind, mapping, where)
    with places.located((*path, "name")):
        registry.lookup(kind, mapping["name"], where)
    with places.located(path):
        given = [key[0] for key in tuned if len(key) == 1]
        component, parameters = registry.from_mapping(kind, mapping, where, given)
    for key, value in parameters.items():
        if component.parameters[key].is_path(value):
            parameters[key] = absolute(value, folder, places.where((*path, key)))
    checked = {"name": component.name} | component.plugin | parameters
    if around is not None:
        key = registry.AROUND[kind]
        if key == "inside":
            around = check(kind, around, (*path, key), places, folder, [rest for first, *rest in tuned if first == key])
        checked[key] = around
    return checked
