"""The one error that is shown to users without a traceback, and texts made fit for a terminal."""

import difflib

LONGEST = 200  # characters of a value that a message quotes
SHORT, SHORTEST = 5, 4  # letters


class RrmbenchError(Exception):
    """Bad input: the message says where, what was found and what is allowed."""


class RrmbenchWarning(UserWarning):
    """What a reader must know of what is shown all the same; one line on the command line."""


def nearest(name, allowed, aliases=None):
    """Return "; did you mean 'x'?" for the allowed name closest to `name` and other than it, or ""; case is no matter.

    aliases : other texts that `name` may be close to -> the allowed names that they stand for
    """
    meant, said = {str(a): str(a) for a in allowed} | (aliases or {}), str(name).lower()
    texts = {text.lower(): other for text, other in meant.items() if other != str(name)}
    if said in texts:
        return f"; did you mean '{texts[said]}'?"
    if longer := [text for text in texts if text.startswith(f"{said}_")]:  # of a name, its first words
        return f"; did you mean '{texts[min(longer, key=len)]}'?"
    if swapped := [text for text in texts if sorted(text) == sorted(said)]:
        return f"; did you mean '{texts[swapped[0]]}'?"
    if len(said) < SHORTEST:  # two letters in common make no misspelling: gif is no pgf
        texts = {text: other for text, other in texts.items() if text[:1] == said[:1]}
    alike = 0.5 if len(said) > SHORT else 0.65  # half of a short word says nothing
    close = difflib.get_close_matches(said, texts, n=1, cutoff=alike)
    return f"; did you mean '{texts[close[0]]}'?" if close else ""


def printable(text):
    """Return `text` with every character that a terminal would obey or cannot show as an escape, but for newlines.

    Texts from data, results and plug-ins may hold escape sequences and lone surrogates.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def shown(value):
    """Return the repr of `value` as messages quote it, without a long middle."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # an integer of more digits than Python prints, lists too deep
        text = f"<{type(value).__name__}>"
    return shortened(text)


def quoted(key):
    """Return a key or a name as messages quote it."""
    return shortened(printable(key)) if isinstance(key, str) else shown(key)


def shortened(text):
    """Return `text` without its middle where it is long."""
    end = LONGEST // 4
    return text if len(text) <= LONGEST else f"{text[: LONGEST - end]} ... {text[-end:]} ({len(text)} characters)"


def listed(values, most=20):
    """Return the values with commas between them, the first of them where they are many."""
    values = list(values)
    more = [f"... ({len(values)} in all)"] if len(values) > most else []
    return ", ".join([*(shortened(str(value)) for value in values[:most]), *more])
