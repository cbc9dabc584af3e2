"""What the text of a module means: a digest of its syntax tree without docstrings, and the modules that it may import.

Of a module that reads docstrings or sources, as data or as a recipe, every letter counts.

To parse the whole package takes longer than most commands, so what its files mean is kept from one process to the next,
by their content: a file of the cache with its own checksum, which says nothing of a text that is not there.
"""

import ast
import hashlib
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root, read_sealed, sealed, write_text

PACKAGE = Path(__file__).resolve().parent
LARGEST = 2**24  # bytes of the file
READERS = {"__doc__", "getdoc", "getcomments", "getsource", "getsourcelines"}  # of texts that else mean nothing


class Module(NamedTuple):
    """digest: 64 hex digits; imports: (0, absolute name) or (folders to go up from the file, name below)."""

    digest: str
    imports: list


def package_files():
    """Every Python file of this package."""
    return sorted(PACKAGE.rglob("*.py"))


def module_of(source):
    """The Module of a text, in bytes."""
    return _in_memory().get(_key(source)) or parsed(source)


@cache
def _in_memory():
    return of_package()


def of_package():
    """{the key of its text: the Module} of each file of the package, from the cache if that has all of them."""
    sources = {_key(source): source for source in (file.read_bytes() for file in package_files())}
    path = cache_root() / "syntax.json"
    known = _kept(path)
    if sources.keys() <= known.keys():
        return known
    modules = {key: known.get(key) or parsed(source) for key, source in sources.items()}
    with suppress(RrmbenchError):  # who cannot keep it parses again
        write_text(path, sealed(modules))
    return modules


def _kept(path):
    try:
        facts = read_sealed(path).items() if path.stat().st_size <= LARGEST else ()
        return {key: Module(digest, [tuple(name) for name in imports]) for key, (digest, imports) in facts}
    except (OSError, ValueError, TypeError, AttributeError):  # all but the first of what another version has kept
        return {}


def _key(source):
    return hashlib.sha256(_reader() + source).hexdigest()


@cache
def _reader():
    """What else the Module of a text depends on: the version of Python, and this file."""
    return hashlib.sha256(sys.version.encode() + Path(__file__).read_bytes()).digest()


def parsed(source):
    """The Module of a text that nobody knows."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the import of the file says what is wrong with it
        tree = ast.parse("")
    imports, is_read = [], False
    for node in ast.walk(tree):
        imports += _imports(node)
        is_read = is_read or _reads_texts(node)
        for block in ("body", "orelse", "finalbody"):
            statements = getattr(node, block, None)
            if isinstance(statements, list) and any(map(_is_text, statements)):
                kept = [statement for statement in statements if not _is_text(statement)]
                setattr(node, block, kept or [ast.Pass()] * (block == "body"))
    return Module(hashlib.sha256(source if is_read else ast.dump(tree).encode()).hexdigest(), imports)


def _is_text(statement):
    """Whether a statement is a text that nothing reads: a docstring, of a module, class, function or attribute."""
    return isinstance(statement, ast.Expr) and isinstance(getattr(statement.value, "value", None), str)


def _reads_texts(node):
    """Whether a node of a syntax tree names a reader of texts, other than to write a docstring."""
    if isinstance(node, ast.Attribute | ast.Name):
        return (node.attr if isinstance(node, ast.Attribute) else node.id) in READERS and isinstance(node.ctx, ast.Load)
    if isinstance(node, ast.alias):
        return node.name in READERS
    return isinstance(node, ast.Constant) and node.value == "__doc__"


def _imports(node):
    """The modules that a node of a syntax tree imports."""
    if isinstance(node, ast.Import):
        return [(0, alias.name) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        start = [node.module] if node.module else []
        names = [(node.level, ".".join([*start, alias.name])) for alias in node.names]
        return [*names, (node.level, "__init__")] if node.level else names
    if isinstance(node, ast.Call) and _called(node) in ("import_module", "__import__"):
        return [(0, arg.value) for arg in node.args[:1] if isinstance(getattr(arg, "value", None), str)]
    return []


def _called(call):
    return getattr(call.func, "attr", getattr(call.func, "id", None))
