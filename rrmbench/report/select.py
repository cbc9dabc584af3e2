"""`--only KEY=VALUE` on stored runs: the meaning that it has for `rrmbench run`."""

from rrmbench.errors import RrmbenchError, shortened
from rrmbench.kinds import COMPONENTS
from rrmbench.matching import matcher


def select(runs, only):
    """Return the StoredRuns among `runs` that match the texts KEY=VALUE: same key or, different keys and.

    `runs` may be those of several experiments; without texts all of them are returned. KEY is a component, one of its
    parameters (`regularizer.strength`), `seed`, or a key of `stop` or `trace`; VALUE may be a list.

    Raises RrmbenchError, with the nearest key or value, for a text that matches no run, and where all texts together
    leave none.
    """
    if not only or not runs:
        return list(runs)
    specs = {run: dict.fromkeys(COMPONENTS, "none") | run.result.spec for run in runs}
    once = {id(specs[run]) for run in runs if run.result.info.get("deterministic")}
    matches = matcher(only, specs.values(), "run", lambda spec: id(spec) in once)
    kept = [run for run in runs if matches(specs[run])]
    if not kept:
        raise RrmbenchError(f"--only {shortened(' '.join(only))}: no run is left of {len(runs)}")
    return kept


def select_each(stored, only):
    """`select` among the runs of several experiments, {experiment: runs}; those that match, of each."""
    wanted = set(select([run for runs in stored.values() for run in runs], only))
    return {experiment: [run for run in runs if run in wanted] for experiment, runs in stored.items()}
