"""Files of one name in several folders: one where they hold the same, else told apart by their folders."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rrmbench.keys import is_path, line, owner
from rrmbench.kinds import COMPONENTS, PROBLEM

if TYPE_CHECKING:
    from rrmbench.report.results import StoredRun


def tell_apart(found: list["StoredRun"]) -> None:
    """Add what tells files apart to the keys of runs, which have the name of a file and not its folder.

    That is `dataset.path` where data files of one stem (a9a, a9a.t) would look the same, and of every file as much of
    its path as it takes, where files of one name hold other things. The folder alone makes no other method or problem.
    """
    names = {run: _name(_paths(run.result.spec["dataset"], "dataset").get("dataset.path")) for run in found}
    stems: dict[str, set] = {}
    for run, name in names.items():
        stems.setdefault(run.keys["dataset"], set()).add(name)
    for run, name in names.items():
        if len(stems[run.keys["dataset"]]) > 1:
            run.keys["dataset.path"] = name
    for kind in COMPONENTS:
        paths = {run: _paths(run.result.spec.get(kind), kind) for run in found}
        alike: dict[tuple, list[StoredRun]] = {}
        for run in found if any(paths.values()) else ():
            alike.setdefault(_rivals(run, kind), []).append(run)
        for members in alike.values():
            _tell(members, paths)


def _rivals(run: "StoredRun", kind: str) -> tuple:
    """The keys that two runs have in common where files of a component of this kind may be mistaken for each other."""
    of = {"dataset": ("dataset",), "loss": PROBLEM, "regularizer": PROBLEM}.get(kind, COMPONENTS)
    return tuple((key, repr(value)) for key, value in run.keys.items() if owner(key) in of)


def _tell(members: list["StoredRun"], paths: dict["StoredRun", dict[str, str]]) -> None:
    for key in dict.fromkeys(key for run in members for key in paths[run]):
        contents: dict[str | None, set] = {}
        for run in members:
            path = paths[run].get(key)
            contents.setdefault(path, set()).add((_name(path), _content(run, key, path)))
        if len(set(map(frozenset, contents.values()))) > 1:
            ends = _ends({path: frozenset(held) for path, held in contents.items() if path is not None})
            for run in members:
                run.keys[key] = ends.get(paths[run].get(key))


def _content(run: "StoredRun", key: str, path: str | None) -> Any:
    """What a result says of the content of a file; of those of a solver's parameters it says nothing but the path."""
    kind = owner(key)
    if kind in PROBLEM:
        return run.result.data if kind == "dataset" else run.result.problem
    return run.result.code if key.endswith(".path") else path


def _ends(contents: dict[str, frozenset]) -> dict[str | None, str]:
    """The shortest ends of paths that are those of one content each."""
    ends: dict[str | None, str] = {}
    for length in range(1, max(len(Path(path).parts) for path in contents) + 1):
        ends = {path: line("/".join(Path(path).parts[-length:])) for path in contents}
        if len({(ends[path], held) for path, held in contents.items()}) == len(set(ends.values())):
            break
    return ends


def _paths(component: Any, key: str) -> dict[str, str]:
    """The paths that a component names, by their keys, which begin with `key`."""
    if isinstance(component, dict):
        inside = (_paths(held, f"{key}.{line(name)}") for name, held in component.items())
        return {name: path for named in inside for name, path in named.items()}
    return {key: component} if isinstance(component, str) and is_path(component) else {}


def _name(path: str | None) -> str | None:
    return path and line(Path(path).name)
