"""`rrmbench verify`: a line per result."""

from pathlib import Path

from rrmbench.commands import PLAIN


def verify(path, trust, console):
    """Print a line per result; return 1 if one is wrong or cannot be verified."""
    from rrmbench.errors import printable
    from rrmbench.report.verify import TOLERANCE
    from rrmbench.report.verify import verify as verdicts

    found = []
    for verdict in verdicts(Path(path), trust):
        found.append(verdict)
        state = " ".join(part for part in (verdict.state, verdict.why) if part)
        values = f"{verdict.error:.1e}  P = {verdict.primal:.12g}  D = {verdict.dual:.12g}  {verdict.label}"
        console.print(printable(f"{state:5} {values}").replace("\n", "\\n"), **PLAIN)
    notes = [verdict.note for verdict in found if verdict.note]
    for note in dict.fromkeys(notes):
        console.print(f"not recomputed of {notes.count(note)} results: {note}", **PLAIN)
    states = [verdict.state for verdict in found]
    worst = max((verdict.error for verdict in found), default=0.0)
    rest = "".join(
        f", {states.count(state)} {what}"
        for state, what in (("unverified", "unverified"), ("none", "without final arrays"))
        if state in states
    )
    line = f"{len(found)} results, {states.count('WRONG')} beyond {TOLERANCE:g}{rest}, greatest relative difference "
    console.print(f"{line}{worst:.1e}", **PLAIN)
    return int(not all(verdict.ok for verdict in found))
