"""Which run of A stands against which of B: the same problem, the same seed, and, in two folders, the same method."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rrmbench.errors import RrmbenchError, listed, printable
from rrmbench.keys import RULES
from rrmbench.report import naming
from rrmbench.report.levels import Levels
from rrmbench.report.methods import Method, ProblemMethods
from rrmbench.report.results import StoredRun
from rrmbench.report.select import select
from rrmbench.report.standings import standings_at


@dataclass(frozen=True, eq=False)
class Pair:
    """Two runs that are compared. Pairs of one `case`, a problem and a method, differ in the seed only."""

    case: tuple[str, str]
    a: StoredRun
    b: StoredRun


@dataclass(frozen=True, eq=False)
class Pairing:
    """The pairs, and what has none.

    names : what A and B are, in words
    alone : {"A": ..., "B": ...}, descriptions of runs that nothing of the other side stands against
    other_data : problems whose data are not the same on both sides, and which are left out for that
    searched : {"A": ..., "B": ...}, what is to be known of the search of each tuned method that has a pair
    """

    names: tuple[str, str]
    pairs: tuple[Pair, ...]
    alone: dict[str, list[str]]
    other_data: list[str]
    searched: dict[str, list[str]]

    @property
    def cases(self) -> list[tuple[str, str]]:
        """The cases, in the order of their first pairs."""
        return list(dict.fromkeys(pair.case for pair in self.pairs))

    def by_method(self) -> dict[str, list[Pair]]:
        """The pairs of each method."""
        grouped: dict[str, list[Pair]] = {}
        for one in self.pairs:
            grouped.setdefault(one.case[1], []).append(one)
        return grouped

    def runs(self, side: str) -> list[StoredRun]:
        """The runs of one side, "A" or "B", that have a pair, each once."""
        found = (one.a if side == "A" else one.b for one in self.pairs)
        return list({run.result.run: run for run in found}.values())


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a folder, and the texts KEY=VALUE that its runs match beside those of --only."""

    path: Path
    filters: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return printable(" ".join([str(self.path), *self.filters]))


def pair(a: Side, b: Side, levels: Levels, only: Sequence[str] = ()) -> Pairing:
    """Return the Pairing of two sides.

    Without filters the methods of two folders are paired with themselves. With filters, the one method of A on a
    problem stands against the one of B; where there are several, those whose other keys are the same. Raises
    RrmbenchError where that leaves a choice, and where nothing is left to compare.
    """
    read = {path: standings_at(path, levels, only) for path in dict.fromkeys((a.path, b.path))}
    found = [_problems(read[side.path], side, option) for side, option in ((a, "--a"), (b, "--b"))]
    if all(len({experiment for experiment, _ in one}) > 1 for one in found):
        keyed = [_keyed(one, lambda experiment, keys: (experiment, keys)) for one in found]
    else:
        keyed = [_keyed(one, lambda _, keys: keys) for one in found]
    theirs, ours = keyed[1], keyed[0]
    filtered = {text.partition("=")[0].strip() for text in (*a.filters, *b.filters)}
    pairs, other_data, used = [], [], set()
    searched: dict[str, list[str]] = {"A": [], "B": []}
    names = naming.told_apart(lambda one, write: naming.problem(one.keys, None, write), list(ours.values()))
    for name, (key, mine) in zip(names, ours.items(), strict=True):
        if key not in theirs:
            continue
        if _data(mine) != _data(theirs[key]):
            other_data.append(name)
            continue
        for one, other in _matched(mine, theirs[key], filtered, name):
            label = one.label if one.label == other.label else f"{one.label} against {other.label}"
            made = list(_seeds((name, label), one, other))
            used.update(run.result for pair in made for run in (pair.a, pair.b))
            pairs += made
            for side, method in (("A", one), ("B", other)):
                searched[side] += [method.choice.text] if method.choice else []
    alone = {side: _alone(problems, used) for side, problems in (("A", ours), ("B", theirs))}
    if not pairs:
        raise RrmbenchError(_nothing(ours, theirs, other_data))
    if any(one.a.result is one.b.result for one in pairs):
        raise RrmbenchError(f"A and B are the same runs of {pairs[0].case[1]}; nothing is compared with itself")
    return Pairing((a.name, b.name), tuple(_joined(pairs)), alone, other_data, searched)


def _problems(read, side, option):
    """[(experiment, ProblemMethods)] of one side, with the runs that its filters keep."""
    found = [(one.experiment, problem) for one in read for problem in one.problems]
    if not side.filters:
        return found
    runs = [run for _, problem in found for method in problem.methods for run in method.runs]
    try:
        kept = set(select(runs, side.filters))
    except RrmbenchError as error:
        raise RrmbenchError(str(error).replace("--only", option, 1)) from None
    return [(experiment, _restricted(problem, kept)) for experiment, problem in found]


def _restricted(problem, kept):
    methods = (replace(m, runs=tuple(run for run in m.runs if run in kept)) for m in problem.methods)
    return replace(problem, methods=tuple(method for method in methods if method.runs))


def _keyed(problems, key):
    """{what a problem is: ProblemMethods}; a problem that two experiments have is one with the methods of both."""
    keyed: dict = {}
    for experiment, problem in problems:
        what = key(experiment, tuple(sorted((name, repr(value)) for name, value in problem.keys.items())))
        before = keyed[what].methods if what in keyed else ()
        if problem.methods:
            keyed[what] = ProblemMethods(problem.heading, problem.keys, before + problem.methods)
    return keyed


def _data(problem):
    """The checksums of the data of a problem; a damaged record has none."""
    return {run.result.data for method in problem.methods for run in method.runs} - {""}


def _matched(mine, theirs, filtered, problem):
    """Yield (method of A, method of B) on one problem."""
    if filtered and len(mine.methods) == len(theirs.methods) == 1:
        yield mine.methods[0], theirs.methods[0]
        return
    rules = filtered | set(RULES)
    if filtered and all(len({_rest(m, rules) for m in one.methods}) == len(one.methods) for one in (mine, theirs)):
        filtered = rules  # whoever asks for two methods by name means them with their own stopping rules
    a, b = (_by_rest(one.methods, filtered, problem, side) for one, side in ((mine, "A"), (theirs, "B")))
    yield from ((method, b[rest]) for rest, method in a.items() if rest in b)


def _rest(method, filtered):
    return tuple((k, v) for k, v in method.identity if not any(k == f or k.startswith(f + ".") for f in filtered))


def _by_rest(methods, filtered, problem, side):
    """{all of a method's identity but the filtered keys: the method}."""
    found: dict = {}
    for method in methods:
        rest = _rest(method, filtered)
        if rest in found:
            names = listed(dict.fromkeys(one.name for one in methods))
            option = f"--{side.lower()} or --only" if filtered else "--only, or name the folder of one experiment,"
            raise RrmbenchError(f"{side} has several methods on {problem}: {names}; {option} tells which one is meant")
        found[rest] = method
    return found


def _seeds(case, mine: Method, theirs: Method):
    """Yield the Pairs of equal seeds; a deterministic run, which is done once for all seeds, stands against each."""
    a, b = ({run.keys["seed"]: run for run in method.runs} for method in (mine, theirs))
    once_a, once_b = (_once(method) for method in (mine, theirs))
    if once_a or once_b:
        pairs = [(run, once_b) for run in a.values()] if once_b else [(once_a, run) for run in b.values()]
    else:
        pairs = [(a[seed], b[seed]) for seed in a if seed in b]
    yield from (Pair(case, *runs) for runs in pairs)


def _once(method):
    """The run of a method that draws no random numbers, or None."""
    (run, *others) = method.runs
    return run if not others and run.result.info.get("deterministic") is True else None


def _alone(problems, used):
    runs = [run for problem in problems.values() for method in problem.methods for run in method.runs]
    return [naming.run(run.keys) for run in runs if run.result not in used]


def _joined(pairs):
    """The pairs with the best bounds that either side knows for the optimum, so that suboptimalities are comparable."""
    for one in pairs:
        known = [run.reference for run in (one.a, one.b) if run.reference]
        if len(known) == 2 and known[0] != known[1]:
            best = {"primal": min(k["primal"] for k in known), "dual": max(k["dual"] for k in known)}
            one = replace(one, a=replace(one.a, reference=best), b=replace(one.b, reference=best))
        yield one


def _nothing(ours, theirs, other_data):
    if other_data:
        return f"nothing to compare: the data of {listed(other_data)} are not the same in A and B"
    if empty := [side for side, one in (("A", ours), ("B", theirs)) if not one]:
        return f"nothing to compare: no run of {' and of '.join(empty)} has ended yet"
    names = [
        f"{side} has {listed(dict.fromkeys(method.name for problem in one.values() for method in problem.methods))}"
        f" on {listed(dict.fromkeys(naming.problem(problem.keys) for problem in one.values()), 3)}"
        for side, one in (("A", ours), ("B", theirs))
    ]
    return f"nothing to compare, no run of A has its like in B: {'; '.join(names)}"
