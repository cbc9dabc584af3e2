"""Whether what is compared is of the same code: a method that was edited in between has the name that it had."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rrmbench.errors import listed, printable
from rrmbench.keys import nested
from rrmbench.kinds import KINDS
from rrmbench.report.compare.pairs import Pair
from rrmbench.report.results import StoredRun

_MOST = 5  # components that the sentence names


def told(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield the sentence on the components of one name whose code, or whose files, are not the same in A and B."""
    found = Counter(name for pair in pairs for name in _other(pair.a, pair.b))
    counted = (f"{name}{_in(count, len(pairs))}" for name, count in found.items())
    if found:
        yield printable(f"A and B are not of the same code: {listed(counted, _MOST)}")


def _other(a: StoredRun, b: StoredRun) -> list[str]:
    """What is of other code in b than in a, of the components that both have by name."""
    alike = [kind for kind in KINDS if _names(a, kind) == _names(b, kind)]
    ours, theirs = (run.result.info.get("codes") for run in (a, b))
    found = []
    if ours and theirs:
        found = [_described(a, kind) for kind in alike if ours.get(kind) != theirs.get(kind)]
        found += ["what all runs of rrmbench share"] * (ours.get("shared") != theirs.get("shared"))
    if not found and len(alike) == len(KINDS) and a.result.code != b.result.code:  # as of older records
        found = ["the records do not say what"]
    return found


def _names(run: StoredRun, kind: str) -> list:
    return [part.get("name") for part in nested(run.result.spec.get(kind))]


def _described(run: StoredRun, kind: str) -> str:
    """A component by its kind and name, with those inside of it: "solver mine (mine.py)"."""
    parts = [
        f"{part.get('name')}" + (f" ({Path(str(part['path'])).name})" if "path" in part else "")
        for part in nested(run.result.spec.get(kind))
    ]
    return f"{kind} {' around '.join(parts)}"


def _in(count: int, pairs: int) -> str:
    return f" in {count} of {pairs} pairs" if count < pairs else ""
