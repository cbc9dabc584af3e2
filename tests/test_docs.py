"""README, docs and CONTRIBUTING: their code is executed, their links lead somewhere, citations are in the bibliography.

A fenced block of bash, python or yaml is executed in the order of its file, all blocks of a file in one folder. An HTML
comment on the line before it may say

    <!-- file: NAME -->       write it to NAME first
    <!-- setup: CODE -->      Python that runs before it
    <!-- not run: REASON -->  bash or python that is only checked for its syntax, with a reason
"""

import ast
import gzip
import io
import os
import re
import shutil
import subprocess
import sys
import tokenize
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
import yaml
from lab import make_lab, rows  # noqa: F401

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
Block = namedtuple("Block", "language text marks page line")


def npz(**arrays):
    """The bytes of a .npz file."""
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


FENCE = re.compile(r"((?:^<!-- [^\n]* -->\n)*)^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (file|setup|not run): (.+) -->")
# What completes a block that is part of a configuration.
REST = {"dataset": "breast_cancer_sklearn", "loss": "absolute", "regularizer": "none", "solver": "pdprox_dual"}
DATA = {
    "my.libsvm.gz": gzip.compress(rows().encode()),
    "u.data": b"1 1 3\n1 2 4\n2 1 5\n2 2 1\n",
    "mine.csv": b"a,y\n1,2\n3,4\n",
    "mine.npz": npz(X=np.eye(4), y=np.array(["yes", "no"] * 2)),
}


def lines(page):
    return page.read_text(encoding="utf-8").splitlines()


def blocks(page):
    """The fenced blocks of a page."""
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text[: match.start(2)].count("\n") + 1
        yield Block(match[2], match[3], dict(MARK.findall(match[1])), page, line)


def of(language):
    found = [block for page in PAGES for block in blocks(page) if block.language == language]
    return pytest.mark.parametrize(
        "block", [pytest.param(block, id=f"{block.page.name}:{block.line}") for block in found]
    )


def parts(page):
    """The blocks of a page by its second-level headings: those below one share a folder.

    What the front page says is tested always, the rest with the exhaustive tests.
    """
    marks = [] if page.name == "README.md" else [pytest.mark.exhaustive]
    sections = {}
    headings = {n: line for n, line in enumerate(lines(page), 1) if line.startswith("## ")}
    for block in blocks(page):
        above = max((n for n in headings if n < block.line), default=0)
        sections.setdefault(headings.get(above, page.name), []).append(block)
    for heading, inside in sections.items():
        if any(block.language in ("bash", "python") for block in inside):
            yield pytest.param(inside, id=f"{page.name}: {heading.lstrip('# ')}", marks=marks)


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    """A folder with the checkout's configurations and what the pages call the reader's own data."""
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    for name, content in DATA.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def execute(command, folder, pytestconfig, package=None):
    """Run a command in `folder`, with the package in `package` or the installed one; it must end with exit code 0."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "MPLBACKEND": "agg",
    }
    environment.setdefault("RRMBENCH_CACHE", str(pytestconfig.cache.mkdir("rrmbench")))
    environment.pop("RRMBENCH_DATA", None)
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"
    return ran


def bash(text):
    return ["bash", "-e", "-u", "-o", "pipefail", "-c", text]


def copy_of_package(folder):
    """A copy of the package, to which a recipe may add a file."""
    shutil.copytree(ROOT / "rrmbench", folder / "rrmbench", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "datasets", folder / "rrmbench" / "datasets")
    return folder


@pytest.mark.parametrize("section", [part for page in PAGES for part in parts(page)])
def test_code_runs_as_written(section, folder, pytestconfig):
    """A block that names a folder of the package works on a copy of it."""
    for block in section:
        if "file" in block.marks:
            (folder / block.marks["file"]).write_text(block.text)
        if "not run" in block.marks:
            continue
        if block.language == "bash":
            package = copy_of_package(folder) if "rrmbench/" in block.text else None
            execute(bash(block.text), folder, pytestconfig, package)
        if block.language == "python":
            code = f"{block.marks.get('setup', '')}\n{block.text}"
            execute([sys.executable, "-c", code], folder, pytestconfig)


@of("yaml")
def test_configurations_are_valid(block, folder, lab, monkeypatch):
    """A block of some keys is completed; plug-ins are the files of the same page."""
    for other in blocks(block.page):
        if "file" in other.marks:
            (folder / other.marks["file"]).write_text(other.text)
    keys = yaml.safe_load(block.text)
    missing = {key: value for key, value in REST.items() if key not in keys}
    (folder / "block.yaml").write_text(block.text + (yaml.safe_dump(missing) if missing else ""))
    monkeypatch.chdir(folder)
    ran = lab.cli("validate", "block.yaml")
    assert ran.code == 0, ran.err
    assert int(re.search(r": (\d+) runs", ran.out)[1]) > 0


@of("bash")
def test_bash_parses(block):
    subprocess.run(["bash", "-n", "-c", block.text], check=True, timeout=20)


def test_every_mark_is_known():
    for page in PAGES:
        for comment in re.findall(r"^<!-- .*$", page.read_text(encoding="utf-8"), re.MULTILINE):
            assert MARK.fullmatch(comment), f"{page.name}: {comment}"
        assert 2 * len(list(blocks(page))) == sum(line.startswith("```") for line in lines(page)), page
        for block in blocks(page):
            assert block.language in ("bash", "python", "yaml"), block


def test_readme_is_short():
    assert len(lines(ROOT / "README.md")) <= 220


# links, paths, targets


def anchor(heading):
    """What a hosted page makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if target.startswith("https://"):
            continue
        path, _, place = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        if place:
            headings = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.MULTILINE)
            assert place in map(anchor, headings), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_targets_exist(page):
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`make ([a-z-]+)", text):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"make {target}"
    for path in re.findall(r"`((?:configs|rrmbench|tests|docs|datasets)/[\w./*]*)", text):
        assert list(ROOT.glob(path.rstrip("/"))), path


def test_architecture_names_every_wing():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    wings = {path.parent.name for path in (ROOT / "rrmbench").glob("*/__init__.py")}
    assert wings >= {"problem", "solvers"}
    assert {wing for wing in wings if f"`{wing}/`" not in text} == set()


def test_notation_names_every_trait():
    """The traits that shipped solvers need; those with a capital are names of losses and regularizers."""
    from rrmbench import fingerprint, registry

    solvers = [registry.lookup("solver", name) for name in registry.names("solver")]
    shipped = [solver for solver in solvers if fingerprint.PACKAGE in Path(solver.source).resolve().parents]
    needed = frozenset().union(*(solver.needs for solver in shipped))
    traits = {word for need in needed for word in re.split(" or | and ", need) if word == word.lower()}
    assert traits >= {"smooth", "rows"}
    assert {trait for trait in traits if f"\n| {trait} | " not in NOTATION} == set()


def test_the_reference_is_that_of_the_code(pytestconfig, tmp_path):
    """docs/commands.md and docs/configuration.md are what `make docs` writes."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    ran = execute([sys.executable, "docs/reference.py"], tmp_path, pytestconfig)
    written = [Path(line.removesuffix(" written")) for line in ran.stdout.splitlines()]
    assert {path.name for path in written} == {"commands.md", "configuration.md"}
    for path in written:
        assert (tmp_path / "docs" / path.name).read_text() == (ROOT / "docs" / path.name).read_text(), "run `make docs`"


# citations

NOTATION = (ROOT / "docs" / "notation.md").read_text(encoding="utf-8")
KEYS = re.findall(r"^- \[([^\]]+)\]", NOTATION.partition("## Bibliography")[2], re.MULTILINE)
PLACE = re.compile(
    r"\b(?:Theorem|Lemma|Corollary|Definition|Algorithm|Figure|Table|Remark|Appendix|scheme|[Ss]ections?)s? "
    r"[A-Z0-9(]|^\([A-Z0-9.]+\)$"
)
YEAR = re.compile(r"\b(?:19|20)\d\d[a-z]?\b")


def texts(file):
    """(line, text) of the docstrings and comments of a Python file, each in one line."""
    source = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            yield node.body[0].lineno, " ".join(ast.get_docstring(node).split())
    with file.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def citations(text):
    """The pieces of all brackets of a text that cite: a key, a year or a place such as "Lemma 3"."""
    for bracket in re.findall(r"\[([^\[\]]+)\]", text):
        pieces = [piece.strip() for piece in bracket.split(";")]
        if any(piece.startswith(tuple(KEYS)) or YEAR.search(piece) or PLACE.search(piece) for piece in pieces):
            yield from pieces


def key_of(piece):
    """The key with which a citation begins, perhaps after the name of a method in quotes; None if there is none."""
    piece = re.sub(r'^"[^"]+", ', "", piece)
    return next((key for key in KEYS if re.match(re.escape(key) + r"(, |$)", piece)), None)


def test_the_bibliography_is_sorted_and_each_key_is_there_once():
    assert len(KEYS) > 30
    assert sorted(set(KEYS), key=str.lower) == KEYS


@pytest.mark.parametrize("wrong", ["Lemma 3", "(3.3)", "Accelerated Prox-SDCA, Figure 1", "Xiao and Zhang, Theorem 1"])
def test_what_is_no_citation_is_found(wrong):
    assert list(map(key_of, citations(f"a bound [{wrong}] of it"))) == [None]


@pytest.mark.parametrize("folder", ["rrmbench", "configs"])
def test_citations_are_in_the_bibliography(folder):
    """In brackets, by the one key of the work: no year stands outside of them."""
    found, wrong = set(), []
    for file in sorted((ROOT / folder).rglob("*.py")):
        for line, text in texts(file):
            where = f"{file.relative_to(ROOT)}:{line}"
            for piece in citations(text):
                found.add(key_of(piece))
                if key_of(piece) is None:
                    wrong.append(f"{where}: [{piece}]")
            outside = re.sub(r"\[[^\[\]]*\]", "", text)
            wrong += [f"{where}: {year} outside of brackets" for year in YEAR.findall(outside)]
    assert not wrong, "\n".join(wrong)
    assert folder != "rrmbench" or found >= set(KEYS) - {"AGM"}, set(KEYS) - found
