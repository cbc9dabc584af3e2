"""The table of `rrmbench show`, which fits the width of the terminal: the gap stays, columns of levels go."""

from dataclasses import dataclass, replace

import numpy as np

_COLOURS = {"done": "green", "diverged": "yellow", "timeout": "yellow", "interrupted": "yellow"}
_NAME = 20  # characters of a method's name, beyond which it is folded before a level is left out
_LEAST_NAME = 12
_UNITS = "s", "ms"
_WINNER = "»", ">"  # and what stands for it where the terminal has ASCII only


@dataclass(frozen=True)
class Line:
    """One line of a cell, and how it looks."""

    text: str
    style: str = ""

    @property
    def width(self):
        return len(self.text)


def table(standings, levels, per_run=False):
    """Return the rich renderable of the methods (or, with `per_run`, of the single runs) of an experiment."""
    return _Table([(p.heading, _rows(p, per_run)) for p in standings.problems], levels)


@dataclass(frozen=True)
class _Table:
    """`sections` are (heading, rows)."""

    sections: list
    levels: object

    def __rich_console__(self, console, options):
        from rich.text import Text

        kept = self._kept(options.max_width)
        yield self._table(kept, _WINNER[options.ascii_only], options.max_width)
        yield from (Text(line) for line in self._legend(kept, options))

    def _kept(self, width):
        """The numbers of the level columns that fit, evenly taken of those that any method reaches."""
        name, *fixed, least = self._widths()
        levels, room = least, width - min(name, _NAME) - sum(fixed) - 1 - len(fixed)
        if sum(levels) + len(levels) <= room:
            return list(range(len(levels)))
        rows = [row for _, rows in self.sections for row in rows]
        wanted = [k for k in range(len(levels)) if any(row.levels[k] != _NEVER for row in rows)]
        for count in range(len(wanted), 0, -1):
            even = [wanted[i] for i in np.linspace(0, len(wanted) - 1, count).round().astype(int)]
            if count == 1:
                even = wanted[-1:]
            if sum(levels[k] + 1 for k in even) <= room:
                return even
        return []

    def _widths(self):
        """The widths of the columns of method, status and gap, and a list of those of the levels."""
        cells = [row.cells(range(len(self.levels.texts))) for _, rows in self.sections for row in rows]
        widths = [
            max((line.width for row in cells for line in row[k]), default=0) for k in range(3 + len(self.levels.texts))
        ]
        widths = [max(have, *map(len, head)) for have, head in zip(widths, self._headings(), strict=True)]
        return [*widths[:3], widths[3:]]

    def _headings(self):
        below = "P(w)" if self.levels.quantity == "gap" else "P(w)-D*"
        return [("method",), ("status",), ("gap", below), *((text,) for text in self.levels.texts)]

    def _table(self, kept, winner, width):
        from rich import box
        from rich.table import Table
        from rich.text import Text

        name, _, gap, levels = self._widths()
        made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), show_edge=False, header_style="bold")
        headings = ["\n".join(heading) for heading in self._headings()]
        made.add_column(headings[0], overflow="fold", min_width=min(name, _LEAST_NAME))
        made.add_column(headings[1], overflow="fold")
        made.add_column(headings[2], justify="right", no_wrap=True, min_width=gap)
        for k in kept:
            made.add_column(headings[3 + k], justify="right", no_wrap=True, min_width=levels[k])
        for heading, rows in self.sections:
            made.add_section()
            if heading:
                made.add_row(Text(heading, style="bold"))
            for row in rows:
                cells = row.cells(kept)
                made.add_row(*(Text("\n").join(_text(line, winner) for line in cell) for cell in cells))
        return made

    def _legend(self, kept, options):
        rows = [row for _, rows in self.sections for row in rows]
        of = "the certified duality gap" if self.levels.quantity == "gap" else "the suboptimality P(w) - D*"
        of += ", relative to P(w) at the start," if self.levels.relative else ""
        parts = [f"passes, and seconds, until {of} is at most ..."]
        parts += ["median over seeds, a..b its quartiles"] * any(row.several for row in rows)
        parts += ["k of n: only k seeds come there"] * any(row.partial for row in rows)
        parts += [f"{_WINNER[options.ascii_only]} is the least"] * any(row.wins for row in rows)
        yield "; ".join(parts)
        left = [text for k, text in enumerate(self.levels.texts) if k not in kept]
        if left:
            name, *fixed, levels = self._widths()
            whole = min(name, _NAME) + sum(fixed) + sum(levels) + 3 + len(levels)
            yield (
                f"{len(left)} of {len(self.levels.texts)} levels left out at {options.max_width} columns"
                f" ({', '.join(left)}); {whole} columns show all"
            )


def _text(line, winner):
    from rich.text import Text

    return Text(line.text.replace(_WINNER[0], winner) if line.style == "bold" else line.text, line.style)


@dataclass(frozen=True)
class _Row:
    """The cells of method, status and gap, each a list of Lines; and the parts of each level, see `_reached`."""

    first: list
    levels: list
    several: bool
    wins: bool

    def cells(self, kept):
        """All cells, of the levels those numbered in `kept`; what any of these has a line for, all leave a line for."""
        levels = [self.levels[k] for k in kept]
        needed = [any(parts[number] for parts in levels) for number in range(5)]
        return [*self.first, *([parts[n] or Line("") for n in range(5) if needed[n]] for parts in levels)]

    @property
    def partial(self):
        """Whether some of the seeds come to a level, and others do not."""
        return any(parts[4] for parts in self.levels)


def _rows(problem, per_run):
    """The rows of one problem; those of methods have what they win marked."""
    if per_run:
        return [_row(replace(m, runs=(run,)), False, set(), True) for m in problem.methods for run in m.runs]
    won = problem.level_winners.items()
    return [
        _row(method, method in problem.gap_winners, {at for at, found in won if method in found}, False)
        for method in problem.methods
    ]


def _row(method, wins_gap, wins, per_run):
    several = len(method.runs) > 1
    name = [Line(method.name + ("" if method.certified else "*"))]
    if per_run:
        name.append(Line(f"  seed {method.seeds[0]}", "dim"))
    elif several:
        name.append(Line(f"  {len(method.runs)} seeds", "dim"))
    levels = [_reached(one, {cost for at, cost in wins if at == k}) for k, one in enumerate(method.reached)]
    return _Row([name, _status(method), _gap(method, wins_gap)], levels, several, wins_gap or bool(wins))


def _status(method):
    statuses = method.statuses
    if len(statuses) == 1:
        (status,) = statuses
        rules = [Line(", ".join(method.reasons), "dim")] if method.reasons else []
        return [Line(status, _COLOURS.get(status, "red")), *rules]
    return [Line(f"{count} {status}", _COLOURS.get(status, "red")) for status, count in statuses.items()]


def _gap(method, wins):
    if not any(run.result.points for run in method.runs):
        return [Line("")]
    gap = method.final("gap")
    quartiles = _range(gap, lambda value: scientific(value, 0))
    lines = [_marked(scientific(gap.median), wins), *([quartiles] if quartiles else [])]
    if method.levels.quantity == "suboptimality":
        lower = method.final("suboptimality").median
        return [*lines, Line("" if np.isnan(lower) else scientific(lower), "dim")]
    return [*lines, Line(f"{method.final('objective').median:#.5g}", "dim")]


def scientific(value, digits=1):
    """Return "2.4e-8", or "none" for what is not finite."""
    if not np.isfinite(value):
        return "none"
    mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
    return f"{mantissa}e{int(exponent)}"


def _marked(text, wins):
    return Line(_WINNER[0] + text, "bold") if wins else Line(text)


def _range(spread, text):
    """The Line of the quartiles, or None where they do not differ as they are written; a common unit comes once."""
    if not np.isfinite(spread.median):
        return None
    low, high = text(spread.low), text(spread.high) if np.isfinite(spread.high) else "never"
    unit = high.lstrip("0123456789.")
    return Line(f"{low.removesuffix(unit) if unit in _UNITS else low}..{high}", "dim") if low != high else None


def _reached(reached, wins):
    """(passes, their quartiles, seconds, their quartiles, how many runs come there): a Line or None each."""
    count = Line(f"{reached.count} of {reached.runs}", "dim") if 0 < reached.count < reached.runs else None
    if not np.isfinite(reached.seconds.median):
        return *_NEVER[:4], count
    passes, time = reached.passes, reached.seconds
    above = None if np.isnan(passes.median) else _marked(f"{passes.median:.4g}", "passes" in wins)
    below = _marked(seconds(time.median), "seconds" in wins)
    return above, _range(passes, lambda value: f"{value:.3g}"), below, _range(time, seconds), count


_NEVER = Line("-"), None, None, None, None


def seconds(value):
    """Return a time with two digits or more: "3.1ms", "42ms", "1.3s", "130s"."""
    unit, value = ("s", value) if round(value, 4) >= 0.9995 or value == 0.0 else ("ms", 1e3 * value)
    return f"{value:.0f}{unit}" if value >= 99.5 else f"{value:.2g}{unit}"
