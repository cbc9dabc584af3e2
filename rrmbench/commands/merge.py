"""`rrmbench merge`: what was joined, what differs and what was left out."""

from rrmbench.commands import PLAIN

MOST = 20  # notes of one experiment that are shown


def merge(sources, output, console, errors):
    """Join results and print a summary; return 1 if something was left out."""
    from rrmbench.bench.merging import merge as join
    from rrmbench.errors import printable

    code = 0
    for merged in join(sources, output):
        for note in merged.notes[:MOST]:
            console.print(printable(note).replace("\n", "\\n"), **PLAIN)
        if merged.repeated:
            line = f"{merged.repeated} runs were executed more than once with the same numbers; one of each is kept"
            console.print(line, **PLAIN)
        if len(merged.notes) > MOST:
            console.print(f"... ({len(merged.notes)} notes in all)", **PLAIN)
        for fault in merged.faults:
            errors.print(printable(fault).replace("\n", "\\n"), **PLAIN)
        here = f", {merged.kept} were there" if merged.kept else ""
        left = f", {len(merged.faults)} left out" if merged.faults else ""
        line = f"{merged.directory}: {merged.copied} results copied{here}{left}"
        console.print(printable(line), **PLAIN)
        code = max(code, int(bool(merged.faults)))
    return code
