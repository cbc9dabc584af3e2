"""`rrmbench verify`: a line per result."""

import math
from pathlib import Path

from rrmbench.commands import PLAIN


def verify(path, trust, console, against=None):
    """Print a line per result; return 1 if one is wrong or cannot be verified.

    against : a folder of the same runs executed again, beside which all points of each run are looked at, too
    """
    from rrmbench.errors import RrmbenchError, printable
    from rrmbench.report.reruns import reruns
    from rrmbench.report.verify import TOLERANCE
    from rrmbench.report.verify import verify as verdicts

    others = reruns(Path(path), Path(against)) if against else []
    found = []
    for verdict in verdicts(Path(path), trust):
        found.append(verdict)
        print(printable(_line(verdict)).replace("\n", "\\n"), file=console.file, flush=True)  # quicker than rich
    if not found:
        raise RrmbenchError(f"{path}: no run has ended yet, there is nothing to verify")
    notes = [verdict.note for verdict in found if verdict.note]
    notes += [verdict.why for verdict in found if verdict.state == "unverified"]
    for note in dict.fromkeys(notes):
        console.print(printable(f"not recomputed of {_results(notes.count(note))}: {note}"), **PLAIN)
    states = [verdict.state for verdict in found]
    worst = max((verdict.error for verdict in found), default=0.0)
    rest = "".join(
        f", {states.count(state)} {what}"
        for state, what in (("unverified", "unverified"), ("none", "without final arrays"))
        if state in states
    )
    line = f"{_results(len(found))}, {states.count('WRONG')} wrong{rest}, greatest relative difference "
    console.print(f"{line}{worst:.1e} (allowed: {TOLERANCE:g})", **PLAIN)
    if against:
        _print_reruns(others, against, console)
    return int(not all(one.ok for one in (*found, *others)))


def _print_reruns(found, other, console):
    """Print a line per run beside its other execution, and how long they took."""
    from statistics import median

    from rrmbench.errors import printable

    for one in found:
        print(printable(f"{one.state:5} {one.why}  {one.label}").replace("\n", "\\n"), file=console.file)
    states = [one.state for one in found]
    told = [f"{count} {state}" for state in ("same", "near", "OTHER", "alone") if (count := states.count(state))]
    ratios = [one.ratio for one in found if not math.isnan(one.ratio)]
    times = (
        f"; seconds {min(ratios):.2g} to {max(ratios):.2g} times those, median {median(ratios):.2g}" if ratios else ""
    )
    console.print(printable(f"beside {other}: {', '.join(told)}{times}"), **PLAIN)


def _line(verdict):
    """What is said of a result; why it is unverified is said once for all that are so."""
    if verdict.state in ("unverified", "none"):
        return f"{verdict.state:5} {verdict.label}"
    state = " ".join(part for part in (verdict.state, verdict.why) if part)
    if math.isnan(verdict.primal) and math.isnan(verdict.dual):  # neither of which could be recomputed
        return f"{state:5} {verdict.label}"
    P = "no finite P" if math.isnan(verdict.primal) else f"P = {verdict.primal:.12g}"  # of a run that diverged
    D = "no D" if math.isnan(verdict.dual) else f"D = {verdict.dual:.12g}"
    return f"{state:5} {verdict.error:.1e}  {P}  {D}  {verdict.label}"


def _results(count):
    return f"{count} result{'s' * (count != 1)}"
