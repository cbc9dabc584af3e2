"""Strict parsers of data files, one character after the other where it matters; the grammar is the README's."""

import math
import re
from codecs import BOM_UTF8

from rrmbench.data import libsvm, ratings

# strict reference parsers: the grammar of the README, one character after the other where it matters

NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
DIGITS = re.compile(r"[0-9]+", re.ASCII)


class Refused(Exception):
    pass


def need(condition):
    if not condition:
        raise Refused


def number(text):
    need(NUMBER.fullmatch(text) and math.isfinite(float(text)))
    return float(text)


def whole(text, most):
    need(DIGITS.fullmatch(text) and len(text.lstrip("0")) < 20 and int(text) <= most)
    return int(text)


def tokens_of(raw):
    """The tokens of every line that has one; bytes are taken as Latin-1, whose further spaces are no spaces here."""
    for line in raw.removeprefix(BOM_UTF8).decode("latin-1").split("\n"):
        need("\r" not in line.rstrip(" \t\r\v\f"))
        tokens = re.split(r"[ \t\r\v\f]+", line.split("#")[0].strip(" \t\r\v\f"))
        if tokens != [""]:
            yield tokens


def reference_libsvm(raw):
    """(labels, qids or None, rows of {column: value}, zero_based) of valid LibSVM text."""
    labels, qids, rows = [], [], []
    for label, *features in tokens_of(raw):
        labels.append(tuple(number(part) for part in label.split(",")))
        if features and features[0].startswith("qid:"):
            qids.append(whole(features.pop(0)[4:], 2**63 - 1))
        row, last = {}, -1
        for feature in features:
            index, colon, value = feature.partition(":")
            need(colon)
            column = whole(index, 2**31 - 1)
            need(column > last)
            row[column] = number(value)
            last = column
        rows.append(row)
    need(any(rows))
    zero_based = any(0 in row for row in rows)
    if all(len(label) == 1 for label in labels):
        labels = [label[0] for label in labels]
    return labels, qids if len(qids) == len(rows) else None, rows, zero_based


def reference_ratings(raw):
    """[(row, column, value)] of valid text of ratings."""
    found, separator = [], None
    need(not any("\r" in line.strip(" \t\r\v\f") for line in raw.removeprefix(BOM_UTF8).decode("latin-1").split("\n")))
    lines = [line.split("#")[0].strip(" \t\r\v\f") for line in raw.removeprefix(BOM_UTF8).decode("latin-1").split("\n")]
    for place, line in enumerate(line for line in lines if line):
        if place == 0:
            separator = next((sign for sign in ("::", ",") if sign in line), None)
        cells = re.split(r"[ \t\r\v\f]+", line) if separator is None else line.split(separator)
        tokens = [cell.strip(" \t\r\v\f") for cell in cells]
        names = [re.match("[\"']?[A-Za-z_\x80-\xff]", token) for token in tokens[:3]]
        if place == 0 and separator == "," and len(names) == 3 and all(names):
            continue
        need(len(tokens) >= 3)
        found.append((whole(tokens[0], 2**63 - 1), whole(tokens[1], 2**63 - 1), number(tokens[2])))
    need(found and len({entry[:2] for entry in found}) == len(found))
    return found


def parsed_libsvm(path):
    parsed = libsvm.read(path)
    X = parsed.X
    shift = 0 if parsed.zero_based else 1
    rows = [
        dict(zip((X.indices[a:b] + shift).tolist(), X.data[a:b].tolist(), strict=True))
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]
    labels = parsed.labels if parsed.multilabel else parsed.labels.tolist()
    return labels, None if parsed.qid is None else parsed.qid.tolist(), rows, parsed.zero_based


def parsed_ratings(path):
    found = ratings.read(path)
    return list(zip(found.rows.tolist(), found.columns.tolist(), found.values.tolist(), strict=True))
