"""`plot --format pgf`: commands for LaTeX, which are made with LaTeX; here with a program that answers as it does."""

import os
import re
import sys

import pytest
import stored
from lab import make_lab  # noqa: F401
from matplotlib.backends.backend_pgf import LatexManager

from rrmbench.report.plots.files import escaped

# answers each question of matplotlib about the size of a text, and writes the text down
ANSWERS = r"""
import sys
for line in sys.stdin:
    if "pgf_backend_query_start" in line:
        print("*pgf_backend_query_start\n*", end="", flush=True)
    elif r"\the\wd0" in line:
        with open({log!r}, "a") as log:
            log.write(line)
        print("30.0pt,6.0pt,1.5pt\n\n*", end="", flush=True)
"""
HOSTILE = r"\input{passwd} a_b 50% $x$ & # ~ ^"


@pytest.fixture(name="latex")
def make_latex(tmp_path, monkeypatch):
    """A folder with a program called xelatex, first in the search path."""
    folder, log = tmp_path / "bin", tmp_path / "log.txt"
    folder.mkdir()
    (folder / "xelatex").write_text(f"#!{sys.executable}\n" + ANSWERS.format(log=str(log)))
    (folder / "xelatex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    yield log
    LatexManager._get_cached_or_new_impl.cache_clear()  # the process that answers would serve the next test


def test_texts_of_files_are_no_commands(lab, latex):
    runs = [stored.result(stored.spec(dataset=name, strength=0.5)) for name in (HOSTILE, "plain_name")]
    stored.experiment(lab.out / "e", runs, {"columns": ["dataset", "regularizer.strength"]})
    ran = lab.cli("plot", lab.out, "--format", "pgf", "--style", "paper", "-o", lab.folder)
    assert (ran.code, ran.err) == (0, "")
    written = (lab.folder / "e_suboptimality_over_passes.pgf").read_text()
    for text in written, latex.read_text():
        assert r"\textbackslash{}input\{passwd\}" in text and r"\input{passwd" not in text
        assert r"\$x\$ \& \# \textasciitilde{}" in text
        assert r"\ensuremath{\lambda} = 0.5" in text
    assert r"\begin{pgfpicture}" in written and r"\rmfamily" in written


def test_without_latex_one_message_says_what_to_install(lab, monkeypatch):
    stored.experiment(lab.out / "e", [stored.result(stored.spec())])
    monkeypatch.setenv("PATH", str(lab.folder))
    ran = lab.cli("plot", lab.out, "--format", "pgf")
    assert ran.code == 2 and "Traceback" not in ran.err
    assert re.search("--format pgf: LaTeX measures .* none of xelatex, lualatex, pdflatex is installed", ran.err)
    assert not list(lab.out.rglob("*.pgf"))


def test_latex_that_stops_is_one_message(lab, latex):
    (latex.parent / "bin" / "xelatex").write_text("#!/bin/sh\necho '! no fonts'\nexit 1\n")
    stored.experiment(lab.out / "e", [stored.result(stored.spec())])
    ran = lab.cli("plot", lab.out, "--format", "pgf")
    assert ran.code == 2 and "--format pgf: xelatex stopped: " in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize(("text", "expected"), [("a{b}", r"a\{b\}"), ("σ=1", r"\ensuremath{\sigma}=1"), ("a_b", "a_b")])
def test_what_latex_would_obey_is_escaped(text, expected):
    assert escaped(text) == expected
