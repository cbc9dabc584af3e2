"""Rows of LibSVM text, `label[,label...] [qid:q] index:value ... [# comment]`, as numbers.

The grammar is that of `rrmbench.data.libsvm`, whose own reading says what is wrong with a line. Here a line is right or
the whole text is left to it.
"""

import numpy as np

from rrmbench.numerics.decimal_floats import nearest_float
from rrmbench.numerics.jit import kernel

INDEX_LIMIT = np.uint64(2**31 - 1)
ID_LIMIT = np.uint64(2**63 - 1)
TAB, LINE, VERTICAL_TAB, RETURN, SPACE, HASH, COMMA, COLON = b"\t\n\v\r #,:"
PLUS, MINUS, POINT, DIGIT_0, DIGIT_9, SMALL_E, LARGE_E = b"+-.09eE"
Q, I, D = b"qid"
TEN, MOST_DIGITS = np.uint64(10), 19  # 10^19 < 2^64
LARGEST_EXPONENT = 100_000  # beyond it a further digit changes nothing


@kernel
def _is_digit(text, at):
    return at < len(text) and DIGIT_0 <= text[at] <= DIGIT_9


@kernel
def _skip_spaces(text, at):
    while at < len(text) and (text[at] == SPACE or (TAB <= text[at] <= RETURN and text[at] != LINE)):
        at += 1
    return at


@kernel
def _ends(text, at):
    """Whether a token ends before `at`."""
    return at == len(text) or text[at] == SPACE or TAB <= text[at] <= RETURN or text[at] == HASH


@kernel
def _digits(text, at, m):
    """(m with the digits from `at` on after its own, modulo 2^64, where they end)."""
    while at < len(text):
        digit = text[at] - DIGIT_0
        if digit < 0 or digit > 9:
            break
        m = m * TEN + np.uint64(digit)
        at += 1
    return m, at


@kernel
def _whole(text, at):
    """(the number of the digits from `at` on, where they end); the end is -1 for none of them or too many."""
    start = at
    while at < len(text) and text[at] == DIGIT_0:
        at += 1
    number, end = _digits(text, at, np.uint64(0))
    return number, (end if start < end <= at + MOST_DIGITS else -1)


@kernel
def _number(text, at):
    """(value, where the number from `at` on ends, is the value known); the end is -1 where there is no number."""
    negative = at < len(text) and text[at] == MINUS
    if at < len(text) and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    start = at
    m, at = _digits(text, at, np.uint64(0))
    digits, q = at - start, 0
    if at < len(text) and text[at] == POINT:
        m, end = _digits(text, at + 1, m)
        q = at + 1 - end
        digits, at = digits - q, end
    if digits == 0:
        return 0.0, -1, True
    if digits > MOST_DIGITS:  # but for leading zeros
        while text[start] == DIGIT_0 or text[start] == POINT:
            digits -= text[start] == DIGIT_0
            start += 1
            if start == at:
                break
    if at < len(text) and (text[at] == SMALL_E or text[at] == LARGE_E):
        exponent, at = _exponent(text, at + 1)
        if at < 0:
            return 0.0, -1, True
        q += exponent
    if digits > MOST_DIGITS:
        return 0.0, at, False
    value, is_known = nearest_float(m, q)
    return (-value if negative else value), at, is_known


@kernel
def _exponent(text, at):
    """(the whole number with or without a sign from `at` on, its end); the end is -1 where there is none."""
    minus = at < len(text) and text[at] == MINUS
    if at < len(text) and (text[at] == MINUS or text[at] == PLUS):
        at += 1
    start, exponent = at, 0
    while _is_digit(text, at):
        exponent = min(10 * exponent + (text[at] - DIGIT_0), LARGEST_EXPONENT)
        at += 1
    return (-exponent if minus else exponent), (at if at > start else -1)


@kernel
def parse(text, values, columns, row_ends, labels, label_ends, qids, unknown):
    """Read whole lines; return the counts (rows, entries, labels, unknown numbers).

    text (bytes) uint8. values and columns (entries,), labels (labels,), row_ends, label_ends and qids (rows,): written
    from their start on; a qid that is not there is -1. unknown (m, 3): (k, begin, end) of a number of the text whose
    float is not known yet, k >= 0 for values[k], else for labels[-1 - k]. The count of rows is -1 where any line is
    wrong.
    """
    rows = entries = count = open_numbers = at = 0
    wrong = (-1, 0, 0, 0)
    while True:
        at = _skip_spaces(text, at)
        if at == len(text):
            break
        if text[at] == LINE:
            at += 1
            continue
        if text[at] != HASH:
            while True:
                begin = at
                labels[count], at, is_known = _number(text, begin)
                if at < 0:
                    return wrong
                if not is_known:
                    unknown[open_numbers] = -1 - count, begin, at
                    open_numbers += 1
                count += 1
                if at == len(text) or text[at] != COMMA:
                    break
                at += 1
            if not _ends(text, at):
                return wrong
            at = _skip_spaces(text, at)
            qids[rows] = -1
            if (
                at + 3 < len(text)
                and text[at] == Q
                and text[at + 1] == I
                and text[at + 2] == D
                and text[at + 3] == COLON
            ):
                number, at = _whole(text, at + 4)
                if at < 0 or number > ID_LIMIT or not _ends(text, at):
                    return wrong
                qids[rows] = np.int64(number)
                at = _skip_spaces(text, at)
            previous = -1
            while at < len(text) and text[at] != LINE and text[at] != HASH:
                number, at = _whole(text, at)
                if at < 0 or at == len(text) or text[at] != COLON or number > INDEX_LIMIT:
                    return wrong
                column = np.int64(number)
                if column <= previous:
                    return wrong
                previous = column
                begin = at + 1
                values[entries], at, is_known = _number(text, begin)
                if at < 0 or not _ends(text, at):
                    return wrong
                if not is_known:
                    unknown[open_numbers] = entries, begin, at
                    open_numbers += 1
                columns[entries] = column
                entries += 1
                at = _skip_spaces(text, at)
            row_ends[rows], label_ends[rows] = entries, count
            rows += 1
        while at < len(text) and text[at] != LINE:  # a comment
            at += 1
    return rows, entries, count, open_numbers
