"""YAML made strict and kind: `1e-4` is a number, `no` is text, duplicate keys are errors, keys have lines.

PyYAML parses; only the meaning of plain scalars and the building of values are ours: the scalars are those of
the YAML 1.2 core schema (without octal numbers), and merge keys (`<<`) work as in YAML 1.1. What is read is fit to
be used: files, depths, texts and numbers have bounds, and no text has characters that are not to be seen.
"""

import codecs
import math
import re
import unicodedata
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath

import yaml

from rrmbench.errors import RrmbenchError, shown

MAX_SIZE = 1_000_000  # bytes of a file
MAX_VALUES = 100_000  # aliases of aliases can stand for more values than fit in memory
MAX_DEPTH = 40  # far below the depth at which Python's own stack ends
MAX_KEY = 200  # characters
MAX_TEXT = 4096  # characters; the longest path there is
PLAIN = "allowed are texts, numbers, lists and dicts"
MAX_DIGITS = 300  # of an integer; all of these are floats, too

_TAG = "tag:yaml.org,2002:"
_MERGE = _TAG + "merge"


def _integer(text):
    if len(text) > MAX_DIGITS:
        raise _Unfit(f"an integer of {len(text)} digits", f"at most {MAX_DIGITS}")
    return int(text, 16 if "x" in text else 10)


def _number(text):
    value = float(re.sub(r"\.(inf|nan)$", r"\1", text.lower()))
    if math.isinf(value) and "inf" not in text.lower():
        raise _Unfit(f"{shown(text)[1:-1]}", "numbers up to 1.7e308, and .inf")
    if value == 0.0 and re.search("[1-9]", re.split("[eE]", text)[0]):
        raise _Unfit(f"{shown(text)[1:-1]}", "0, and numbers from 5e-324")
    return value


def _text(text):
    if len(text) > MAX_TEXT:
        raise _Unfit(f"a text of {len(text)} characters", f"at most {MAX_TEXT}")
    for c in text:
        # unassigned and private characters are no harm; those that a terminal obeys, NUL and halves of pairs are
        if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n":
            raise _Unfit(f"the character {c!r}", "texts without it")
    return text


class _Unfit(Exception):
    """A scalar that is refused: (what was found, what is allowed)."""


_SCALARS = {
    _TAG + "null": lambda text: {"": None, "~": None, "null": None}[text.lower()],
    _TAG + "bool": lambda text: {"true": True, "false": False}[text.lower()],
    _TAG + "int": _integer,
    _TAG + "float": _number,
    _TAG + "str": _text,
}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012  (PyYAML's own name; emptied: none of YAML 1.1's readings of text)
    depth = 0

    def compose_node(self, parent, index):
        self.depth += 1
        if self.depth > MAX_DEPTH:
            mark = self.peek_event().start_mark
            raise yaml.composer.ComposerError(None, None, f"nested deeper than {MAX_DEPTH} levels", mark)
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


for _name, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+(_[0-9]+)*|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(_[0-9]+)*(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)", "-+."),
    ("merge", "<<", "<"),
):
    _Loader.add_implicit_resolver(_TAG + _name, re.compile(rf"^(?:{_pattern})$"), list(_first))


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers  # a text that the loader takes for a number gets quotes


def dotted(path):
    """Return the key path ("solver", 1, "step_scale") as `solver[1].step_scale`."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).removeprefix(".")


class Places(dict):
    """Key path (tuple of keys and positions) -> where it is written: "FILE:LINE" or "--set KEY=VALUE"."""

    def __init__(self):
        super().__init__()
        self.replaced = {}  # key path -> the number of the replacement that it comes from

    def place(self, path):
        """Return "FILE:LINE" of the closest part of `path` that is written, or was put in place of what was."""
        newest = 0
        for length in range(len(path) + 1):
            part = path[:length]
            if part in self and self.replaced.get(part, 0) >= newest:
                found, newest = self[part], self.replaced.get(part, 0)
        return found

    def where(self, path):
        """Return "FILE:LINE: key.path"."""
        return f"{self.place(path)}: {dotted(path)}" if path else self.place(path)

    @contextmanager
    def located(self, path, inner=()):
        """Put "FILE:LINE: " before a message raised inside: the line of the key that it starts with.

        inner : by key of the mapping at `path`, the key path of the value
        """
        try:
            yield dotted(path)
        except RrmbenchError as error:
            named = [key for key in inner if re.match(re.escape(f"{dotted(path)}.{key}") + r"[:.\[]", str(error))]
            at = inner[max(named, key=len)] if named else path
            raise RrmbenchError(f"{self.place(at)}: {error}") from error.__cause__

    def replace(self, path, place):
        """Say that the value at `path` now comes from `place`, with everything inside it."""
        self[path] = place
        self.replaced[path] = len(self.replaced) + 1


@dataclass(frozen=True)
class Document:
    """A value of dicts, lists and scalars, and the place of each of its keys."""

    value: object
    places: Places


def load(path):
    """Read one YAML file into a Document; RrmbenchError "FILE:LINE:COLUMN: ..." if it is not proper YAML."""
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_SIZE + 1)
        if len(content) > MAX_SIZE:
            raise RrmbenchError(f"{path}: more than {MAX_SIZE} bytes, allowed is a YAML file of at most so many")
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        raise RrmbenchError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise RrmbenchError(f"{path}: found a directory, allowed is a YAML file") from None
    except UnicodeDecodeError as error:
        utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        found = "found UTF-16, allowed is UTF-8" if utf16 else f"not UTF-8 text (byte {error.start + 1})"
        raise RrmbenchError(f"{path}: {found}") from None
    except (OSError, ValueError) as error:  # a ValueError for a NUL in the path
        raise RrmbenchError(f"{shown(str(path))}: cannot be read: {getattr(error, 'strerror', error)}") from None
    return parse(text, str(path), has_lines=True)


def parse(text, source, has_lines=False):
    """Read YAML text from `source` into a Document; with `has_lines` the places are "SOURCE:LINE"."""
    builder = _Builder(source, has_lines)
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        value = None if node is None else builder.build(node, ())
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise RrmbenchError(f"{builder.place(mark, column=True)}: {_explain(error, mark)}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        at = f"{source}:{line}" if has_lines else source
        raise RrmbenchError(f"{at}: the character {chr(error.character)!r} is not allowed") from None
    except (ValueError, OverflowError):  # PyYAML has no check of the numbers after \\U and %YAML
        raise RrmbenchError(f"{builder.place(loader.get_mark(), column=True)}: no such character or version") from None
    builder.places[()] = source
    return Document(value, builder.places)


def dumped(value, where=""):
    """The YAML text of values, which `parse` reads as the same plain ones; RrmbenchError, with `where`, for others.

    Numbers and arrays of numpy are plain numbers and lists, paths are texts.
    """
    try:
        return yaml.dump(_plain(value, where), Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as error:
        raise RrmbenchError(f"{where}found {shown(value)}, {PLAIN}: {error}") from None


def _plain(value, where, key=""):
    if isinstance(value, Mapping):
        return {
            name.item() if hasattr(name, "dtype") else name: _plain(inner, where, f"{key}.{name}" if key else f"{name}")
            for name, inner in value.items()
        }
    if isinstance(value, list | tuple | range):
        return [_plain(inner, where, f"{key}[{place}]") for place, inner in enumerate(value)]
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        value = value.tolist()
    if value is not None and not isinstance(value, str | int | float | list):
        raise RrmbenchError(f"{where}{key + ': ' if key else ''}found {shown(value)}, {PLAIN}")
    return value


def _explain(error, mark):
    if mark.buffer is not None and mark.buffer[mark.pointer : mark.pointer + 1] == "\t":
        return "found a tab, allowed for indentation are spaces"
    context = f" ({error.context})" if error.context else ""
    return f"{error.problem}{context}"


class _Builder:
    """Builds plain values from PyYAML's nodes and keeps the place of every key and list entry."""

    def __init__(self, source, has_lines):
        self.source, self.has_lines = source, has_lines
        self.places = Places()
        self.count = 0
        self.open = set()  # the nodes around the present one

    def place(self, mark, column=False):
        if not self.has_lines:
            return self.source
        return f"{self.source}:{mark.line + 1}" + (f":{mark.column + 1}" if column else "")

    def fail(self, node, message):
        raise RrmbenchError(f"{self.place(node.start_mark, column=True)}: {message}")

    def build(self, node, path):
        self.count += 1
        if self.count > MAX_VALUES:
            self.fail(node, f"more than {MAX_VALUES} values")
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != _TAG + kind:
            self.fail(node, f"the tag {node.tag} is not supported")
        if id(node) in self.open:
            self.fail(node, "an alias stands inside its own anchor")
        self.open.add(id(node))
        value = self.mapping(node, path) if kind == "map" else self.sequence(node, path)
        self.open.discard(id(node))
        return value

    def scalar(self, node):
        if node.tag not in _SCALARS:
            self.fail(node, f"the tag {node.tag} is not supported")
        try:
            return _SCALARS[node.tag](node.value)
        except (ValueError, KeyError):
            return self.fail(node, f"{shown(node.value)} is not a value of {node.tag}")
        except _Unfit as unfit:
            return self.fail(node, "found {}, allowed are {}".format(*unfit.args))

    def sequence(self, node, path):
        values = []
        for index, item in enumerate(node.value):
            self.places[(*path, index)] = self.place(item.start_mark)
            values.append(self.build(item, (*path, index)))
        return values

    def mapping(self, node, path):
        keys = self.keys(node)
        value = {}
        for key, value_node in node.value:
            if key.tag == _MERGE:
                value.update(self.merged(value_node, path))
        for key, value_node in node.value:
            if key.tag != _MERGE:
                self.places[(*path, key.value)] = self.place(keys[key.value])
                value[key.value] = self.build(value_node, (*path, key.value))
        return value

    def keys(self, node):
        """Return the mark of every key; a key that is not text or is written twice is an error."""
        marks = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self.fail(key, "a key must be text")
            if len(key.value) > MAX_KEY:
                self.fail(key, f"found a key of {len(key.value)} characters, allowed are at most {MAX_KEY}")
            self.scalar(yaml.ScalarNode(_TAG + "str", key.value, key.start_mark))
            if key.value in marks:
                self.fail(key, f"duplicate key '{key.value}' (first on line {marks[key.value].line + 1})")
            marks[key.value] = key.start_mark
        return marks

    def merged(self, node, path):
        """Return what `<<: *alias` or `<<: [*one, *two]` adds; earlier mappings win."""
        sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
        value = {}
        for source in reversed(sources):
            if not isinstance(source, yaml.MappingNode):
                self.fail(source, "'<<' merges mappings only")
            value.update(self.build(source, path))
        return value
