"""Plug-in files: a user's own components, imported by the path of their file."""

import importlib.util
import os
import sys
from contextlib import contextmanager
from pathlib import Path

from rrmbench import building, crashes, fingerprint, loaded_code, registry
from rrmbench.components import PLUGIN
from rrmbench.errors import RrmbenchError, shown
from rrmbench.keys import nested


def load_plugin(path):
    """Import a user's own file; the components that it registers are named like shipped ones.

    Modules beside it can be imported, after those of the import path. Raises RrmbenchError where that fails.
    """
    path = Path(path).resolve()
    if path in registry.plugin_paths:
        return
    if not path.is_file():
        raise RrmbenchError(f"{path}: no such plug-in file")
    registry.load()
    name = PLUGIN + path.stem
    if name in sys.modules:
        raise RrmbenchError(f"{path}: a plug-in file called {path.name} is loaded already; rename one of the two")
    if path.suffix != ".py":
        raise RrmbenchError(f"{path}: a plug-in is a Python file, named like my_solver.py")
    loaded_code.read_from_text(path.parent)
    execute = _module(name, path)
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    before = loaded_code.bindings()
    try:
        with crashes.without_sudden_end():
            imported = loaded_code.imported_by(execute, path)
    except (RrmbenchError, KeyboardInterrupt):
        raise
    except BaseException as error:
        place = crashes.place_of(error, [path])
        text = f"{place}: {crashes.text_of(error)}" if place else crashes.text_of(error)
        raise RrmbenchError(f"{path}: the plug-in cannot be imported: {text}") from error
    _check_neighbours(path)
    _check_the_package(path, before)
    building.adopt_classes(sys.modules[name])
    loaded_code.unforeseen.update(imported - set(fingerprint.sources_of(path)))
    registry.plugin_paths.add(path)


def _module(name, path):
    """Put a new module of a file in the place of any other of its name; return the function that executes it."""
    spec = importlib.util.spec_from_file_location(name, path, loader=loaded_code.FromText(name, str(path)))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module

    def execute():
        with crashes.in_the_same_process():
            spec.loader.exec_module(module)

    return execute


@contextmanager
def executed_anew(component):
    """The component as a second execution of its file registers it, with nothing that its module remembers.

    Afterwards the registry is as before.
    """
    module, path = component.build.__module__, component.source
    loaded_code.check_loaded([Path(path)])
    first = sys.modules[module]
    with registry.restored():
        registry.forget(module)
        try:
            _module(module, path)()
            yield registry.lookup(component.kind, component.name)
        finally:
            sys.modules[module] = first


def _check_neighbours(path):
    """A module of the same name from elsewhere in place of the one beside a plug-in would compute something else."""
    for name in fingerprint.imported_names(path):
        loaded = getattr(sys.modules.get(name), "__file__", None)
        for beside in (path.parent / f"{name}.py", path.parent / name / "__init__.py"):
            if loaded and beside.is_file() and beside.resolve() != Path(loaded).resolve():
                raise RrmbenchError(f"{path}: it imports '{name}', which is {loaded} and not {beside}; rename one")


def _check_the_package(path, before):
    """Results say which code made them, and kernels are kept by it: of a shipped function there is one."""
    after = loaded_code.bindings()
    replaced = [name for name, value in before.items() if value is not None and after.get(name) is not value]
    if replaced:
        raise RrmbenchError(f"{path}: it replaces {replaced[0]}, of which results would not tell; register another")


def load_plugins_of(mapping):
    """Import the plug-in files that the mapping of a component names, `inside:` included.

    For mappings that the user wrote or trusts; those of results are data, which must not run code.
    """
    for component in nested(mapping):
        if "path" in component:
            load_plugin(str(component["path"]))


def load_edited_plugins_of(mapping):
    """As `load_plugins_of`, in a session: a plug-in file that was edited since it was imported is executed anew.

    What the earlier one made stays as it is. Raises OtherCode where a module that the file imports was edited.
    """
    for component in nested(mapping):
        if "path" in component:
            if not isinstance(component["path"], str | os.PathLike):
                raise RrmbenchError(f"path: found {shown(component['path'])}, allowed is the path of a plug-in file")
            path = Path(component["path"]).resolve()
            if path in registry.plugin_paths and path.is_file() and not loaded_code.is_as_imported(path):
                _forget(path)
            load_plugin(path)
            loaded_code.check_loaded(fingerprint.sources_of(path))


def _forget(path):
    """Take a plug-in file, and the components that it registered, out of the registry."""
    module = PLUGIN + path.stem
    registry.forget(module)
    registry.plugin_paths.discard(path)
    del sys.modules[module]
