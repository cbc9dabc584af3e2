"""One mapping of a component checked against the registries: real name, valid parameters."""

from rrmbench import registry
from rrmbench.config.entries import absolute


def check(kind, mapping, at, places, folder, tuned=()):
    """Return {"name": real name, "path": plug-in file if any, parameter: value, ...} of one component.

    at : where it is written, an At
    folder : of the configuration; a parameter that is a file by its annotation may be relative to it
    tuned : the keys to which `tune:` gives values, as tuples below the kind, ("mu",) or ("inside", "mu")
    """
    if kind == "dataset":
        from rrmbench.data import spec

        with places.located(at.path, at.inner) as where:
            return spec.check(mapping, where, folder)
    mapping = dict(mapping)
    around = mapping.pop(registry.AROUND.get(kind), None)
    with places.located(at.path) as where:
        if "path" in mapping:
            mapping["name"] = registry.name_in_file(kind, mapping, where)
    with places.located(at.inner.get("name", at.path)):
        registry.lookup(kind, mapping["name"], where)
    with places.located(at.path, at.inner):
        given = [key[0] for key in tuned if len(key) == 1]
        component, parameters = registry.from_mapping(kind, mapping, where, given)
    for key, value in parameters.items():
        if component.parameters[key].is_path(value):
            parameters[key] = absolute(value, folder, places.where(at.inner[key]))
    checked = {"name": component.name} | component.plugin | parameters
    if around is not None:
        key = registry.AROUND[kind]
        if key == "inside":
            below = [rest for first, *rest in tuned if first == key]
            around = check(kind, around, at.inner[key], places, folder, below)
        checked[key] = around
    return checked
