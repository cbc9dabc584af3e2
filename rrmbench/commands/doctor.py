"""`rrmbench doctor`: a line per thing that runs depend on, with a verdict and what to do."""

import json

from rrmbench.commands import PLAIN

SIGNS = {"ok": "ok     ", "warning": "WARNING", "error": "ERROR  "}


def doctor(console, as_json):
    """Print the findings as lines or as JSON; return 1 if one is an error."""
    from rrmbench.commands import examination
    from rrmbench.errors import printable

    found = list(examination.findings())
    failed = any(one.verdict == "error" for one in found)
    if as_json:
        items = [{"name": o.name, "verdict": o.verdict, "found": o.found, "advice": o.advice} for o in found]
        print(json.dumps({"ok": not failed, "items": items}, indent=1))
        return int(failed)
    for one in found:
        console.print(printable(f"{SIGNS[one.verdict]} {one.name}: {one.found}"), **PLAIN)
        if one.advice:
            console.print(printable(f"          {one.advice}"), **PLAIN)
    counts = {verdict: sum(one.verdict == verdict for one in found) for verdict in ("warning", "error")}
    console.print(", ".join(f"{count} {verdict}{'s' * (count != 1)}" for verdict, count in counts.items()), **PLAIN)
    return int(failed)
