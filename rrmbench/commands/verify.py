"""`rrmbench verify`: a line per result."""

import math
from pathlib import Path

from rrmbench.commands import PLAIN


def verify(path, trust, console):
    """Print a line per result; return 1 if one is wrong or cannot be verified."""
    from rrmbench.errors import RrmbenchError, printable
    from rrmbench.report.verify import TOLERANCE
    from rrmbench.report.verify import verify as verdicts

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
    return int(not all(verdict.ok for verdict in found))


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
