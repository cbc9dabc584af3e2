"""Which function makes the data of a `dataset:` block: a registered one, or one of a plug-in file."""

from pathlib import Path

from rrmbench import registry
from rrmbench.data import catalogue, places
from rrmbench.errors import RrmbenchError, shown


def is_plugin(path):
    """Whether a path is that of a plug-in file, which makes the data, and of no file of data."""
    return isinstance(path, str) and Path(path).suffix == ".py"


def spelled(block):
    """A block with the name that it leaves out: {openml: NAME} is that of the function `openml`."""
    return {"name": "openml"} | block if "openml" in block and not {"name", "path"} & set(block) else block


def is_maker(name):
    """Whether a name is that of a function; a registered data set comes before a function of the same name."""
    return isinstance(name, str) and catalogue.file_of(name) is None and name in registry.names("dataset")


def component_of(block, where, reserved=()):
    """The Component of a block whose data a function makes, or None.

    Raises RrmbenchError for a plug-in file that is not loaded, and for a parameter of a `reserved` name.
    """
    path, name = block.get("path"), block.get("name")
    if is_plugin(path):
        registry.check_loaded(block, where)
        name = registry.name_in_file("dataset", block, where)
    elif path is not None or not is_maker(name):
        return None
    component = registry.lookup("dataset", name)
    for key in component.parameters:
        if key in reserved:
            raise RrmbenchError(
                f"{component.source}: the parameter '{key}' of the data set '{component.name}' has the name of a key "
                "that every data set has; rename it"
            )
    return component


def parameters(component, values, where, folder):
    """The checked parameters of a block; a relative path of a file is taken from `folder`, and made absolute."""
    checked = component.check(values, where)
    for key, value in checked.items():
        if component.parameters[key].is_path(value):
            file = places.file_at(value, [folder, Path.cwd(), *places.search_folders()], f"{where}.{key}")
            if file is None:
                raise RrmbenchError(f"{where}.{key}: no such file: {shown(value)}")
            checked[key] = str(file)
    return checked
