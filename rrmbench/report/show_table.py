"""The table of `rrmbench show`, which fits the width of the terminal: the gap stays, columns of levels go."""

from dataclasses import dataclass, replace

import numpy as np

_COLOURS = {"done": "green", "diverged": "yellow", "timeout": "yellow", "interrupted": "yellow"}
_NAME = 20  # characters of a method's name, beyond which it is folded before a level is left out
_LEAST_NAME = 6
_BETWEEN = 2  # characters from column to column
_UNITS = "s", "ms"
_WINNER = "»", "!"  # and what stands for it where the terminal has ASCII only; not ">", which says greater
_AT_MOST = "≤", "<"


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
        columns = self._fitted(kept, options.max_width)
        for number, (heading, rows) in enumerate(self.sections):
            made = self._part(kept, columns, rows, options.ascii_only, heads=number == 0)
            if number == 0 and heading:  # under the heads of the columns, which stand once, and as wide as the table
                yield self._part(kept, columns, [], options.ascii_only, heads=True)
                made.show_header = False
            yield from ([Text("")] if number else [])
            yield from ([Text(heading, style="bold")] if heading else [])
            yield made
        yield from (Text(line) for line in self._legend(kept, options))

    def _kept(self, width):
        """The numbers of the level columns that fit: evenly taken of those that are reached, then of the rest."""
        widths, room = self._widths()[3:], width - self._least()
        rows = [row for _, rows in self.sections for row in rows]
        reached = [k for k in range(len(widths)) if any(row.levels[k] != _NEVER for row in rows)]

        def fit(kept):
            return sum(widths[k] + _BETWEEN for k in kept) <= room

        counts = range(len(reached), 0, -1)
        places = (np.linspace(len(reached) - 1, 0, count).round().astype(int) for count in counts)
        kept = next((some for at in places if fit(some := [reached[i] for i in at])), [])
        for k in sorted(set(range(len(widths))) - set(reached)) if len(kept) == len(reached) else ():
            kept += [k] if fit([*kept, k]) else []
        return sorted(kept)

    def _least(self):
        """The width of the table without columns of levels, names folded."""
        name, status, gap = self._widths()[:3]
        return min(name, _NAME) + status + gap + 2 * _BETWEEN

    def _widths(self):
        """The widths of the columns: method, status, gap, and all levels."""
        every = range(len(self.levels.texts))
        columns = zip(*(row.cells(every) for _, rows in self.sections for row in rows), strict=True)
        found = [max(line.width for cell in column for line in cell) for column in columns]
        return [max(have, *map(len, head)) for have, head in zip(found, self._headings(), strict=True)]

    def _headings(self):
        below = "P(w)" if self.levels.quantity == "gap" else "P(w)-D*"
        return [("method",), ("status", "rule"), ("gap", below), *((text,) for text in self.levels.texts)]

    def _fitted(self, kept, width):
        """The columns that are shown, (heading, width) each: the names have what the others leave."""
        (name, *rest), heads = self._widths(), self._headings()
        shown = [(heads[number], rest[number - 1]) for number in (1, 2, *(3 + k for k in kept))]
        left = width - sum(wide + _BETWEEN for _, wide in shown)
        return [(heads[0], min(name, max(left, _LEAST_NAME))), *shown]

    def _part(self, kept, columns, rows, ascii_only, heads):
        from rich import box
        from rich.table import Table
        from rich.text import Text

        made = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False, show_header=heads)
        made.header_style = "bold"
        for number, (head, width) in enumerate(columns):
            right = {"justify": "right", "no_wrap": True, "min_width": width} if number > 1 else {"overflow": "fold"}
            made.add_column("\n".join(head), width=width, **right)
        for row in rows:
            made.add_row(*(Text("\n").join(_text(line, ascii_only) for line in cell) for cell in row.cells(kept)))
        return made

    def _legend(self, kept, options):
        rows = [row for _, rows in self.sections for row in rows]
        of = "the certified duality gap" if self.levels.quantity == "gap" else "the suboptimality P(w) - D*"
        of += ", relative to P(w) at the start," if self.levels.relative else ""
        parts = [f"passes, and below them seconds, until {of} is at most ..."]
        parts += ["median over seeds, a..b its quartiles"] * any(row.several for row in rows)
        parts += ["k of n: only k seeds come there"] * any(row.partial for row in rows)
        parts += [f"{_WINNER[options.ascii_only]} is the least"] * any(row.wins for row in rows)
        bound = "known when evaluation looked for a bound, the run may have been there long before"
        parts += [f"{_AT_MOST[options.ascii_only]}: {bound}"] * any(row.bounds for row in rows)
        yield "; ".join(parts)
        left = [text for k, text in enumerate(self.levels.texts) if k not in kept]
        if left:
            whole = self._least() + sum(width + _BETWEEN for width in self._widths()[3:])
            yield (
                f"{len(left)} of {len(self.levels.texts)} levels left out at {options.max_width} columns"
                f" ({', '.join(left)}); {whole} columns show all"
            )


def _text(line, ascii_only):
    from rich.text import Text

    text = line.text
    for mark in (_WINNER,) * (line.style == "bold") + (_AT_MOST,):
        text = text.replace(mark[0], mark[ascii_only])
    return Text(text, line.style)


@dataclass(frozen=True)
class _Row:
    """The cells of method, status and gap, each a list of Lines; and the parts of each level, see `_reached`."""

    first: list
    levels: list
    several: bool
    wins: bool
    bounds: bool

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
    seeded = len({seed for method in problem.methods for seed in method.seeds}) > 1
    if per_run:
        return [_row(replace(m, runs=(run,)), False, set(), True, seeded) for m in problem.methods for run in m.runs]
    won = problem.level_winners.items()
    return [
        _row(method, method in problem.gap_winners, {at for at, found in won if method in found}, False, seeded)
        for method in problem.methods
    ]


def _row(method, wins_gap, wins, per_run, seeded):
    several = len(method.runs) > 1
    name = [Line(method.name + ("" if method.certified else "*"))]
    if method.runs[0].result.info.get("restarts"):
        name.append(Line("  seconds of one call", "dim"))
    if method.runs[0].result.info.get("deterministic"):
        name += [Line("  deterministic: once", "dim")] * seeded
    elif per_run:
        name.append(Line(f"  seed {method.seeds[0]}", "dim"))
    elif several:
        name.append(Line(f"  {len(method.runs)} seeds", "dim"))
    levels = [_reached(one, {cost for at, cost in wins if at == k}) for k, one in enumerate(method.reached)]
    bounds = any(one.is_bound for one in method.reached)
    return _Row([name, _status(method), _gap(method, wins_gap)], levels, several, wins_gap or bool(wins), bounds)


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
    is_common = unit in _UNITS and low.lstrip("0123456789.") == unit
    return Line(f"{low.removesuffix(unit) if is_common else low}..{high}", "dim") if low != high else None


def _reached(reached, wins):
    """(passes, their quartiles, seconds, their quartiles, how many runs come there): a Line or None each."""
    count = Line(f"{reached.count} of {reached.runs}", "dim") if reached.is_partial else None
    if not np.isfinite(reached.seconds.median):
        return *_NEVER[:4], count
    passes, time = reached.passes, reached.seconds
    bound = _AT_MOST[0] * reached.is_bound
    above = None if np.isnan(passes.median) else _marked(f"{bound}{passes.median:.4g}", "passes" in wins)
    below = _marked(bound + seconds(time.median), "seconds" in wins)
    return above, _range(passes, lambda value: f"{value:.3g}"), below, _range(time, seconds), count


_NEVER = Line("-"), None, None, None, None


def seconds(value):
    """Return a time with two digits or more: "3.1ms", "42ms", "1.3s", "130s"."""
    unit, value = ("s", value) if round(value, 4) >= 0.9995 or value == 0.0 else ("ms", 1e3 * value)
    return f"{value:.0f}{unit}" if value >= 99.5 else f"{value:.2g}{unit}"
