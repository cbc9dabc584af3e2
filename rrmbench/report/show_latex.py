"""`rrmbench show --latex`: a booktabs table per experiment."""

import numpy as np

from rrmbench.report import timing
from rrmbench.report.show_table import scientific
from rrmbench.report.show_table import seconds as time_text
from rrmbench.report.standings import other_seeds

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "*": "{*}",  # \\* and \\[ would be commands
    "[": "{[}",
    "]": "{]}",
    "-": "{-}",  # no dash of --
} | {character: "\\" + character for character in "{}$&#_%"}


def as_text(found):
    """Return LaTeX source, one `tabular` per Standings of the list: passes, below them seconds, medians over seeds.

    Needs \\usepackage{booktabs}, and \\usepackage[T1]{fontenc} for names with quotation marks.
    """
    return "\n\n".join(_tabular(one) for one in found if one.methods)


def escaped(text):
    """Return a text whose every character LaTeX prints as it is; a newline is a space."""
    return "".join(_SPECIAL.get(character, character) for character in text.replace("\n", " "))


def _tabular(standings):
    levels, runs = standings.methods[0].levels, [run for method in standings.methods for run in method.runs]
    of = "gap" if levels.quantity == "gap" else "suboptimality"
    relative = " relative to the start" if levels.relative else ""
    columns = ["method", "gap", *(_number(text) for text in levels.texts)]
    lines = [
        f"% {standings.experiment}: {standings.shared}".replace("\n", " "),
        f"% passes, below them seconds, until the {of}{relative} is at most ...: medians over seeds; bold is the least",
        "% \\le: what was known when evaluation looked for a bound; the run may have been there long before",
        "% an exponent k/n: k of n seeds come there; *: no dual bound, the levels are of P(w) - D*, where it is known",
        *(f"% {line}".replace("\n", " ") for line in (*other_seeds(standings.problems), *timing.told(runs))),
        *(f"% tuned: {choice.text}".replace("\n", " ") for choice in standings.tuned),
        f"\\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
        r"\toprule",
        " & ".join(columns) + r" \\",
    ]
    for problem in standings.problems:
        lines.append(r"\midrule")
        if problem.heading:
            lines.append(rf"\multicolumn{{{len(columns)}}}{{l}}{{\emph{{{escaped(problem.heading)}}}}} \\")
        lines += [line for method in problem.methods for line in _rows(problem, method)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"])


def _rows(problem, method):
    gap = _bold(_power(method.final("gap").median), method in problem.gap_winners)
    name = escaped(method.name) + ("" if method.certified else "$^*$") + _ended(method)
    passes = [_cell(problem, method, k, "passes", "{:.4g}".format) for k in range(len(method.reached))]
    seconds = [_cell(problem, method, k, "seconds", _time) for k in range(len(method.reached))]
    rows = [[name, gap, *passes], *([["", "", *seconds]] if any(seconds) else [])]
    return [" & ".join(row) + r" \\" for row in rows]


def _ended(method):
    """The statuses of runs that did not end well, as " (failed)" or " (2 of 5 diverged)"."""
    bad = {status: count for status, count in method.statuses.items() if status != "done"}
    texts = (
        status if count == len(method.runs) else f"{count} of {len(method.runs)} {status}"
        for status, count in bad.items()
    )
    return f" ({escaped(', '.join(texts))})" if bad else ""


def _cell(problem, method, k, cost, form):
    reached = method.reached[k]
    value = getattr(reached, cost).median
    if np.isnan(value):
        return ""
    is_first = cost == "passes" or np.isnan(reached.passes.median)
    some = f"$^{{{reached.count}/{reached.runs}}}$" if is_first and reached.is_partial else ""
    if np.isfinite(value):
        bound = r"$\le$" * reached.is_bound
        return bound + _bold(form(value), method in problem.level_winners[k, cost]) + some
    return "--" + some if is_first else ""


def _time(value):
    text = time_text(value)
    number = text.rstrip("ms")
    return f"{number}\\,{text.removeprefix(number)}"


def _number(text):
    """A level as "$10^{-4}$" or "$2 \\cdot 10^{-4}$"."""
    mantissa, e, exponent = text.partition("e")
    if not e:
        return f"${text}$"
    return f"$10^{{{exponent}}}$" if mantissa == "1" else f"${mantissa} \\cdot 10^{{{exponent}}}$"


def _power(value):
    return _number(scientific(value)) if np.isfinite(value) else "--"


def _bold(text, wins):
    if not wins:
        return text
    return f"$\\mathbf{{{text.strip('$')}}}$" if text.startswith("$") else f"\\textbf{{{text}}}"
