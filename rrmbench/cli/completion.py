"""What a shell offers where <TAB> is pressed; nothing here imports more than the files of a folder."""


def kinds(incomplete: str):
    """What `list` lists."""
    from rrmbench.kinds import KINDS

    return _starting(incomplete, ["datasets", *KINDS.values(), "configs"])


def datasets(incomplete: str):
    """The names of the registered data sets."""
    from rrmbench.data import places

    folders = (places.own_registry(), places.shipped("datasets"))
    return _starting(incomplete, sorted({file.stem for folder in folders for file in folder.glob("*.yaml")}))


def backends(incomplete: str):
    """The values of --backend."""
    return _starting(incomplete, ["local", "dask"])


def statuses(incomplete: str):
    """The statuses of runs that are not run again by themselves."""
    return _starting(incomplete, ["timeout", "diverged", "done"])


def _starting(incomplete, names):
    return [name for name in names if name.startswith(incomplete)]
