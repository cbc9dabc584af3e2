"""`rrmbench test` and `rrmbench new`: the verdicts on a file, and what was written."""

from itertools import groupby

from rrmbench.commands import PLAIN

INDENT = "         "


def test(path, verbose, console):
    """Print the verdicts on the components of a file; return 1 if one is WRONG."""
    from rrmbench import extending, kernel_cache

    # without the plug-in: an edit leaves the kernels of the package where they are, and compiles its own alone
    kernel_cache.use(())
    states = []
    for of, checks in groupby(extending.checks(path), key=lambda check: check.of):
        console.print(f"{of}", **PLAIN)
        before, seen = len(states), {}
        for check in checks:
            verdict = check.verdict()
            states.append(verdict.state)
            same = seen.setdefault(verdict.text, check.name) if verdict.text else check.name
            if verdict.state == "WRONG" and same != check.name and not verbose:
                console.print(f"  WRONG  {check.name}: as in '{same}'", **PLAIN)
            elif verbose or verdict.state in ("WRONG", "note"):
                _print(check.name, verdict, verbose, console)
            if verdict.endless:
                console.print("  the other checks of it are left out: they may not end either", **PLAIN)
                break
        good = states[before:].count("ok")
        if not verbose and good:
            console.print(f"  ok     {good} checks", **PLAIN)
    wrong, notes = states.count("WRONG"), states.count("note")
    console.print(f"{len(states)} checks: {wrong} WRONG, {notes} note{'s' * (notes != 1)}{_skipped(states)}", **PLAIN)
    return int(wrong > 0)


def _skipped(states):
    return f", {states.count('skipped')} skipped" if "skipped" in states else ""


def _print(name, verdict, verbose, console):
    """One verdict: its state and the promise; below, folded to the terminal, what was found and a hint."""
    from rrmbench.errors import printable

    console.print(f"  {verdict.state:6} {name}", **PLAIN)
    texts = [verdict.text, f"hint: {verdict.hint}" if verdict.hint else ""]
    for text in texts:
        for line in _folded(printable(text), console.width):
            console.print(line, **PLAIN)
    if verbose and verdict.traceback:
        console.print(verdict.traceback.rstrip(), **PLAIN)


def _folded(text, width):
    from textwrap import wrap

    options = {"initial_indent": INDENT, "subsequent_indent": INDENT, "break_on_hyphens": False}
    return [line for part in text.splitlines() for line in wrap(part, max(width, 60), **options)]


def new(kind, name, folder, stochastic, console):
    """Write a template with its test; print where they are and what comes next."""
    from rrmbench.errors import printable
    from rrmbench.extending import writing

    file, its_test = writing.write(kind, name, folder, stochastic)
    for path in (file, its_test):
        console.print(printable(f"{path} written"), **PLAIN)
    console.print(printable(f"next: rrmbench test {file}"), **PLAIN)
    console.print(printable(f"then, in a configuration: {writing.yaml_line(kind, name, file)}"), **PLAIN)
