"""The checks of all components that a file registers."""

from functools import partial
from pathlib import Path

from rrmbench import fingerprint, loaded_code, plugin_files, registry
from rrmbench.errors import RrmbenchError
from rrmbench.extending import datasets, losses, reductions, regularizers, solvers
from rrmbench.extending.verdicts import Check
from rrmbench.kinds import COMPONENTS

CHECKS_OF = {
    "loss": losses.named_checks,
    "regularizer": regularizers.named_checks,
    "solver": solvers.named_checks,
    "reduction": reductions.named_checks,
    "dataset": datasets.named_checks,
}


def checks(path):
    """The list of Checks of the components that a file registers, a plug-in's or one of the package.

    The file is imported; RrmbenchError where that fails, or where it registers nothing.
    """
    path = Path(path).resolve()
    registry.load()
    if not fingerprint.is_shipped(path):
        plugin_files.load_plugin(path)
    found = [
        component
        for kind in COMPONENTS
        for component in registry.components(kind)
        if Path(component.source).resolve() == path
    ]
    if not found:
        decorators = ", ".join(f"@rrmbench.{kind}" for kind in COMPONENTS)
        raise RrmbenchError(f"{path}: it registers no component; decorate a function with one of {decorators}")
    return [check for component in found for check in checks_of(component)]


def checks_of(component):
    """The Checks of one component."""
    of, files, found = f"{component.kind} {component.name}", _own_files(component), []
    try:
        for name, run in CHECKS_OF[component.kind](component):
            found.append(Check(of, name, run, files))
    except (Exception, SystemExit) as error:  # of the component, which is built to know which checks it has
        found.append(Check(of, "which checks it has", partial(_raise, error), files))
    return found


def _raise(error):
    raise error


def _own_files(component):
    """The component's file and what it imports, without the package's own unless it is one of them."""
    source = Path(component.source).resolve()
    if fingerprint.is_shipped(source):
        return (source,)
    files = {*fingerprint.sources_of(source), *loaded_code.unforeseen}
    return tuple(sorted(file for file in files if not fingerprint.is_shipped(file)))
