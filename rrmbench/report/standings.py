"""Standings: the methods on each problem of an experiment, from which show, compare and the HTML report start.

Of a tuned method the best value stays, its trials go.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from rrmbench.bench.store import Experiment
from rrmbench.errors import listed, printable
from rrmbench.keys import owner
from rrmbench.report import naming
from rrmbench.report.levels import CERTIFIED_GAPS, Levels
from rrmbench.report.methods import Method, ProblemMethods, is_of_method
from rrmbench.report.origins import but_seed
from rrmbench.report.results import StoredRun, readable, runs_of
from rrmbench.report.select import select_each
from rrmbench.report.tuning import Choice, choices

_MOST = 3  # methods and problems that a line names


@dataclass(frozen=True, eq=False)
class Standings:
    """One experiment: its problems with their methods, and what stands behind them.

    asked : how many runs the manifest names; stored : how many of them have a result; wanted : how many were asked for
    tuned : the Choices; trials : how many of the wanted runs are trials that tuning did not keep
    differ : the keys in which the runs differ, trials left out
    """

    experiment: str
    problems: tuple[ProblemMethods, ...]
    asked: int
    stored: int
    wanted: int
    tuned: tuple[Choice, ...]
    trials: int
    differ: frozenset[str]
    skipped: int

    @property
    def methods(self) -> list[Method]:
        return [method for problem in self.problems for method in problem.methods]

    @property
    def runs(self) -> list[StoredRun]:
        return [run for method in self.methods for run in method.runs]

    @property
    def shared(self) -> str:
        """What all problems have in common, in words."""
        keys = next((method.keys for method in self.methods), None)
        kept = {key: value for key, value in (keys or {}).items() if key not in self.differ}
        return ", ".join(naming.component(kept, kind) for kind in naming.PROBLEM if kind in kept)


def other_seeds(problems: Iterable[ProblemMethods], counting: bool = False) -> Iterator[str]:
    """Yield of how many seeds the medians are, where the methods of a problem have not as many as each other.

    What is deterministic is run once for all seeds. Problems of the same counts have one line.

    counting : of the methods that count passes alone
    """
    found: dict[str, list[str]] = {}
    counted = 0
    for problem in problems:
        counts: dict[int, list[str]] = {}
        for method in problem.methods:
            drawn = method.runs[0].result.info.get("deterministic") is not True
            if drawn and (method.counts_passes or not counting):
                counts.setdefault(len(method.runs), []).append(method.label)
        counted += bool(counts)
        if len(counts) > 1:
            parts = (f"{count} of {listed(counts[count], _MOST)}" for count in sorted(counts, reverse=True))
            found.setdefault("; ".join(parts), []).append(problem.heading)
    for text, headings in found.items():
        where = f" (on {listed(headings, _MOST)})" if len(headings) < counted else ""
        yield f"not all medians are over as many seeds{where}: {text}"


def standings_at(path: str | Path, levels: Levels = CERTIFIED_GAPS, only: Sequence[str] = ()) -> list[Standings]:
    """Return the Standings of the experiments at `path`, of those with a run that matches `only`.

    only : texts KEY=VALUE

    Raises RrmbenchError if a manifest is missing or unreadable, and for texts that match no run.
    """
    stored = {experiment: runs_of(experiment) for experiment in readable(path)}
    return [
        standings_of(experiment, stored[experiment], runs, levels)
        for experiment, runs in select_each(stored, only).items()
        if runs or not only
    ]


def standings_of(experiment: Experiment, stored: list[StoredRun], wanted: list[StoredRun], levels: Levels) -> Standings:
    """Return the Standings of the runs `wanted` among those that an experiment has stored, all of which are read."""
    manifest = experiment.manifest()
    chosen = choices(manifest, stored)
    trials = {run for choice in chosen for run in choice.trials}
    found = [run for run in wanted if run not in trials]
    differ = frozenset(naming.varying(run.keys for run in found))
    kept = set(found)
    tuned = tuple(choice for choice in chosen if not kept.isdisjoint(choice.kept))
    return Standings(
        experiment=printable(experiment.name),
        problems=tuple(_problems(found, tuned, levels, differ)),
        asked=len({entry["spec_id"] for entry in manifest["runs"]}),
        stored=len(stored),
        wanted=len(wanted),
        tuned=tuned,
        trials=sum(run in trials for run in wanted),
        differ=differ,
        skipped=len(manifest.get("skipped") or ()),
    )


def _problems(found, tuned, levels, differ):
    choice_of = {run: choice for choice in tuned for run in choice.kept}
    problems = {}
    for run in found:
        of_problem = ((key, repr(value)) for key, value in run.keys.items() if owner(key) in naming.PROBLEM)
        what = tuple(sorted(of_problem))  # blocks may name their keys in any order
        problems.setdefault(what, {}).setdefault(but_seed(run.keys), []).append(run)
    firsts = [next(iter(methods.values()))[0].keys for methods in problems.values()]
    headings = naming.told_apart(lambda keys, write: naming.problem_difference(keys, differ, write), firsts)
    for heading, methods in zip(headings, problems.values(), strict=True):
        keys = [{key: value for key, value in runs[0].keys.items() if key != "seed"} for runs in methods.values()]
        names = naming.told_apart(lambda keys, write: naming.method(keys, differ, write), keys)
        runs = zip(names, keys, methods.values(), strict=True)
        made = tuple(_method(*about, choice_of, levels, differ) for about in runs)
        yield ProblemMethods(heading, {k: v for k, v in made[0].keys.items() if not is_of_method(k)}, made)


def _method(name, keys, runs, choice_of, levels, differ):
    choice = choice_of.get(runs[0])
    label = naming.method(keys | dict.fromkeys(choice.values, "tuned"), differ) if choice else name
    return Method(name, label, keys, tuple(runs), choice, levels)
