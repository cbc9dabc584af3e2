"""Child processes on a worker of a cluster: what they do before and instead of `rrmbench.bench.worker.child`.

This module and what it imports are light: a worker imports them into its own process, which computes nothing.
"""

import sys

from rrmbench import fingerprint, kernel_cache, syntax
from rrmbench.errors import RrmbenchError, printable

STALE = "the code of this machine was edited after it was imported"
TOLD = ("children", "goods", "remote", "shipped")
# of the modules that callers and workers talk through, as this process has them
PROTOCOL = fingerprint.digest(*(fingerprint.PACKAGE / "bench" / f"{name}.py" for name in TOLD))


def child(task, connection):
    """The main function of a child that runs a task = (fields of a Task, folder of plug-ins or None)."""
    from rrmbench.bench import worker

    fields, folder = task
    _use_plugins(fields["plugins"], folder)
    worker.child(worker.Task(**fields), connection)


def survey(question, connection):
    """The main function of a child that tells what the code of runs is here.

    question = ({name: spec}, plug-in files, their folder or None). Its last facts have `answers`:
    {name: (digest, stamps of its files)}, with the reason as text in place of the tuple where a run is not possible.
    """
    from rrmbench import plugin_files
    from rrmbench.bench import identity, preload
    from rrmbench.bench.worker import end_with_parent

    end_with_parent()
    specs, plugins, folder = question
    status, reason, answers = "done", "", {}
    if fingerprint.stamps(syntax.package_files()) != preload.IMPORTED:
        status, reason = "failed", STALE
    else:
        try:
            _use_plugins(plugins, folder)
            for plugin in plugins:
                plugin_files.load_plugin(plugin)
            answers = {name: _answer(spec, identity) for name, spec in specs.items()}
        except Exception as error:  # a plug-in may raise anything
            status, reason = "failed", printable(str(error) or type(error).__name__)
    connection.send(("end", status, reason, {"answers": answers}))


def _answer(spec, identity):
    try:
        files = tuple(identity.files_of(spec))
        stamps = fingerprint.stamps(files)
        return fingerprint.digest(*files), stamps
    except RrmbenchError as error:
        return printable(str(error))


def _use_plugins(plugins, folder):
    if plugins:
        kernel_cache.use(plugins)  # the fork server knew of none
        sys.path.append(str(folder))
