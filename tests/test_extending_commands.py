"""`rrmbench new` and `rrmbench test`, the place of a crash, and `rrmbench show --traceback`."""

import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import stored
import yaml
from lab import make_lab  # noqa: F401

from rrmbench import building, crashes, fingerprint, plugin_files, registry, toolbox
from rrmbench.extending import verdicts, writing
from rrmbench.kinds import COMPONENTS
from rrmbench.losses.squared import Squared

CASES = [*((kind, ()) for kind in COMPONENTS), ("solver", ("--stochastic",))]


def new(lab, kind, name, *options):
    return lab.cli("new", kind, name, "-o", lab.folder, *options)


@pytest.mark.exhaustive
def test_templates_run_together_in_the_configuration_that_the_closing_lines_name(lab):
    keys = {}
    for kind, options in CASES:
        name = f"first_{'_'.join((kind, *options)).replace('--', '')}"
        ran = new(lab, kind, name, *options)
        assert ran.code == 0
        written, tested, following, line = ran.out.splitlines()
        assert written == f"{lab.folder}/{name}.py written"
        assert tested == f"{lab.folder}/test_{name}.py written"
        assert following == f"next: rrmbench test {lab.folder}/{name}.py"
        for key, mapping in yaml.safe_load(line.partition("configuration: ")[2]).items():
            keys[key] = [keys[key], mapping] if key in keys else mapping
    assert lab.run(lab.config(**keys)).code == 0
    assert [(r.status, r.trace["passes"][-1] >= 5.0) for r in lab.results()] == [("done", True)] * 2
    assert lab.cli("verify", lab.out, "--trust").code == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", [pytest.param("loss", marks=pytest.mark.exhaustive), "dataset"])
def test_the_test_of_a_template_passes_and_names_each_promise(lab, kind):
    new(lab, kind, "second_of_mine")
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "test_second_of_mine.py"]
    ran = subprocess.run(command, cwd=lab.folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout
    assert f"{kind} second_of_mine: " in ran.stdout


@pytest.mark.parametrize(
    ("kind", "options"),
    [pytest.param(*case, marks=[] if case[0] in ("solver", "dataset") and not case[1] else pytest.mark.exhaustive)
     for case in CASES],
)  # fmt: skip
def test_a_template_keeps_its_promises(lab, kind, options):
    new(lab, kind, "third_of_mine", *options)
    ran = lab.cli("test", lab.folder / "third_of_mine.py", "--verbose")
    assert ran.code == 0, ran.out
    lines = ran.out.splitlines()
    assert lines[0] == f"{kind} third_of_mine"
    assert lines[-1].startswith(f"{len(lines) - 2} checks: 0 WRONG, 0 notes")
    assert all(line.startswith("  ok     ") for line in lines[1:-1])


@pytest.mark.parametrize("folder", ["plain", "a b", "a, b: {c} 'd' #e", 'a"b\\c', "[é]", "~x"])
def test_the_line_of_a_configuration_names_the_file_whatever_its_folder(folder):
    line = writing.yaml_line("solver", "mine", Path(folder) / "mine.py")
    assert yaml.safe_load(line) == {"solver": {"path": f"{folder}/mine.py", "name": "mine"}}


def test_new_never_overwrites(lab):
    (lab.folder / "test_fourth_of_mine.py").write_text("keep")
    ran = new(lab, "solver", "fourth_of_mine")
    said = "it exists, and is not overwritten; choose another name or folder (-o)"
    assert (ran.code, ran.err) == (2, f"rrmbench: {lab.folder}/test_fourth_of_mine.py: {said}\n")
    assert not (lab.folder / "fourth_of_mine.py").exists()


@pytest.mark.parametrize(
    ("kind", "name", "words"),
    [
        ("solvers", "mine", "found 'solvers', allowed is dataset, loss, regularizer, solver, reduction; did you mean"),
        ("solver", "my-solver", "did you mean 'my_solver'?"),
        ("solver", "class", "allowed is a Python identifier"),
        ("solver", "../up", "allowed is a Python identifier"),
        ("solver", "fista", "the solver name 'fista' is taken; choose another, such as 'my_fista'"),
        ("solver", "pdexg", "is taken"),
        ("dataset", "mnist", "is taken"),
        ("loss", "numpy", "would hide the module 'numpy'"),
    ],
)
def test_new_refuses(lab, kind, name, words):
    ran = new(lab, kind, name)
    assert ran.code == 2 and words in ran.err, ran.err
    assert ran.err.count("\n") == 1


def test_only_solvers_are_stochastic(lab):
    ran = new(lab, "loss", "mine", "--stochastic")
    assert ran.code == 2 and "--stochastic is for solvers" in ran.err


def test_templates_import_public_names_alone():
    for template in writing.TEMPLATES.glob("*.py"):
        for line in template.read_text().splitlines():
            if line.startswith(("from rrmbench", "import rrmbench")):
                assert line.startswith(("from rrmbench.toolbox import", "from rrmbench.extending import checks")), line


# test

WRONG_LOSS = """
from typing import NamedTuple
import rrmbench

class Mine(NamedTuple):
    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")
    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)
    def conjugate(self, b, y):
        return 0.25 * b * b + y * b
    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)

@rrmbench.loss
def wrong_of_mine():
    return Mine()
"""


def test_a_wrong_plug_in_is_exit_code_1_with_what_was_found_and_a_hint(lab):
    file = lab.folder / "wrong_of_mine.py"
    file.write_text(WRONG_LOSS)
    ran = lab.cli("test", file)
    assert (ran.code, ran.err) == (1, "")
    assert "  WRONG  value and conjugate: Fenchel and Young\n         wrong_of_mine: value + conjugate" in ran.out
    assert "hint: value and conjugate must be a pair" in ran.out.replace("\n         ", " ")
    assert "value is not" not in ran.out
    assert ran.out.splitlines()[-1].startswith("16 checks: ") and " 0 WRONG" not in ran.out


REMEMBERS = """
import rrmbench

known = {{}}


@rrmbench.solver(needs={{"smooth"}}, deterministic=True)
def remembers(problem, start, rng):
    \"\"\"Gradient descent.\"\"\"
    w = problem.start(start)
    yield rrmbench.Iterate(w)
    L = {L}
    passes = 0.0 if w.any() else -0.5
    while True:
        b = problem.loss_dual(problem.X.forward(w))
        w = problem.prox(w - problem.X.adjoint(b) / problem.n / L, 1.0 / L)
        passes += 1.0
        yield rrmbench.Iterate(w, b, passes)
"""


@pytest.mark.parametrize(("L", "code"), [("problem.L", 0), ("known.setdefault(problem.shape, problem.L)", 1)])
def test_what_a_solver_remembers_of_another_problem_is_found(lab, L, code):
    """The few rows on which it is compiled would be one."""
    (lab.folder / f"remembers_{code}.py").write_text(REMEMBERS.format(L=L).replace("remembers(", f"remembers_{code}("))
    ran = lab.cli("test", lab.folder / f"remembers_{code}.py")
    assert (ran.code, "nothing is kept from another problem" in ran.out) == (code, bool(code)), ran.out
    assert registry.lookup("solver", f"remembers_{code}").build.__module__ in sys.modules


def test_random_numbers_of_an_import_are_told_from_what_is_kept_of_another_problem(lab):
    """In one process two runs are the same."""
    text = REMEMBERS.format(L="problem.L * more").replace("known = {}", "more = 1 + np.random.default_rng().random()")
    (lab.folder / "unseeded_import.py").write_text(
        "import numpy as np\n" + text.replace("remembers(", "unseeded_import(")
    )
    said = " ".join(lab.cli("test", lab.folder / "unseeded_import.py").out.split())
    assert "two executions of its file give two runs with the same seed that differ" in said
    assert "draw from rng alone" in said and "those of another problem" not in said


def test_a_component_that_does_not_end_is_told_where_and_left_alone(lab, monkeypatch):
    monkeypatch.setattr(verdicts, "LIMIT", 0.5)
    (lab.folder / "hangs.py").write_text(
        "import time\nimport rrmbench\n\n\n@rrmbench.solver\ndef hangs(problem, start, rng):\n"
        '    """Hangs."""\n    yield rrmbench.Iterate(problem.start(start))\n    while True:\n        time.sleep(9)\n'
    )
    ran = lab.cli("test", lab.folder / "hangs.py")
    assert ran.code == 1
    assert "hangs.py:10 in hangs: no end after 0.5 s" in ran.out
    assert "the other checks of it are left out" in ran.out
    assert ran.out.count("no end after") == 1


ENDINGS = [("loss", "(*, c=1.0)"), ("regularizer", "(*, c=1.0)"), ("reduction", "(solve, *, c=1.0)")]


@pytest.mark.core(4)
@pytest.mark.parametrize("end", ["os._exit(0)", "os._exit(status=0)", "sys.exit(0)"])
@pytest.mark.parametrize(("kind", "signature"), ENDINGS, ids=[kind for kind, _ in ENDINGS])
def test_a_component_that_would_end_the_command_is_one_message(lab, kind, signature, end):
    text = f"import os, sys\nimport rrmbench\n\n\n@rrmbench.{kind}\ndef ending{signature}:\n"
    (lab.folder / "ending.py").write_text(f'{text}    """Ends."""\n    {end}\n')
    ran = lab.cli("run", lab.config(**{kind: {"path": "ending.py", "name": "ending"}}), "-o", lab.out)
    assert ran.code == 2
    assert f"{kind} ending: its function would end the process: SystemExit" in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such plug-in file"),
        ("x = 1\n", "it registers no component; decorate a function with one of @rrmbench.dataset"),
        ("def f(:\n", "cannot be imported: SyntaxError"),
        ("\n\nraise ValueError('no')\n", "cannot be imported: none_of_mine.py:3: ValueError: no"),
        ("raise type('Odd', (BaseException,), {})('no')\n", "cannot be imported: none_of_mine.py:1: Odd: no"),
        ("import os\nos._exit(0)\n", "cannot be imported: none_of_mine.py:2: SystemExit: os._exit(0)"),
    ],
)
def test_a_file_that_is_no_plug_in_is_one_message(lab, text, words):
    file = lab.folder / "none_of_mine.py"
    if text is not None:
        file.write_text(text)
    ran = lab.cli("test", file)
    assert ran.code == 2 and words in ran.err and ran.out == ""
    assert ran.err.count("\n") == 1


def test_a_plug_in_that_leaves_the_folder_when_it_is_imported_takes_no_results_along(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    (lab.folder / "elsewhere").mkdir()
    (lab.folder / "wandering.py").write_text(
        "import os\nimport rrmbench\n\nos.chdir('elsewhere')\n\n\n@rrmbench.dataset\ndef left(*, n: int = 4):\n"
        '    """A line."""\n    return [[float(i)] for i in range(n)], [1.0, -1.0] * (n // 2)\n'
    )
    ran = lab.cli("run", lab.config(dataset={"path": "wandering.py", "name": "left"}), "-o", "here")
    assert ran.code == 0, ran.err
    assert list((lab.folder / "here").rglob("*.npz")) and not list((lab.folder / "elsewhere").iterdir())


STATE = {
    "the output": "sys.stdout = sys.stderr = sys.stdin = None",
    "modules": "sys.path.clear()",
    "depth": "sys.setrecursionlimit(sys.getrecursionlimit() - 1)",
}


@pytest.mark.parametrize("line", STATE.values(), ids=STATE)
def test_what_an_import_takes_from_the_command_comes_back(tmp_path, line):
    (tmp_path / f"taking_{len(line)}.py").write_text(f"import sys\n\nsys.path.append('added')\n{line}\n")
    before = [sys.stdin, sys.stdout, sys.stderr, {*sys.path}, sys.getrecursionlimit()]
    places = list(sys.path)
    try:
        plugin_files.load_plugin(tmp_path / f"taking_{len(line)}.py")
        assert [sys.stdin, sys.stdout, sys.stderr, {*places} & {*sys.path}, sys.getrecursionlimit()] == before
        assert ("added" in sys.path) == ("clear" not in line)
    finally:
        sys.path[:] = places


def test_a_check_starts_no_more_processes_than_a_run():
    def start():
        multiprocessing.Process(target=len, args=("",)).start()

    verdict = verdicts.Check("solver mine", "every iterate", start).verdict()
    assert verdict.state == "WRONG"
    assert "on its clock are threads, and what subprocess starts" in verdict.text
    assert not multiprocessing.current_process().daemon


def test_two_components_of_one_name_in_a_file_are_one_message(lab):
    text = "@rrmbench.solver\ndef mine(problem, start, rng):\n    yield\n\n\n"
    (lab.folder / "two_of_mine.py").write_text(f"import rrmbench\n\n\n{text}{text}")
    ran = lab.cli("test", lab.folder / "two_of_mine.py")
    assert (ran.code, ran.out) == (2, "")
    assert "it defines the solver 'mine' twice; rename one of the two" in ran.err


def test_a_plug_in_that_closes_the_output_is_one_message(lab):
    file = lab.folder / "closing.py"
    file.write_text(
        "import sys\nimport rrmbench\n\n\n@rrmbench.dataset\ndef closing(*, n: int = 2):\n"
        '    """Closes."""\n    sys.stdout.close()\n    return [[1.0]] * n, [1.0, -1.0]\n'
    )
    ran = lab.command("test", file)
    assert ran.code == 2
    assert ran.err.startswith("rrmbench: standard output: the code of a plug-in has closed it: ")
    assert ran.err.count("\n") == 1


def test_a_shipped_file_is_tested_where_it_is(lab):
    ran = lab.cli("test", registry.lookup("loss", "squared").source)
    assert ran.code == 0 and ran.out.splitlines()[0] == "loss squared"


# crashes

CRASHING = """
import numpy as np
import rrmbench
from crashing_helper import share

@rrmbench.solver
def crashing(problem, start, rng, *, how="here"):
    yield rrmbench.Iterate(np.zeros(problem.shape))
    yield rrmbench.Iterate(np.zeros(problem.shape), passes=1)
    if problem.n > 8:
        step(problem, how)

def step(problem, how):
    if how == "here":
        1 / 0
    if how == "helper":
        share(0)
    if how == "package":
        problem.X.forward(np.zeros(3))
"""
HELPER = "def share(n):\n    return 1 / n\n"


PLACES = {
    "here": "crashing.py:15 in step: ZeroDivisionError: division by zero",
    "helper": "crashing_helper.py:2 in share: ZeroDivisionError: division by zero",
    "package": "crashing.py:19 in step: ValueError: ",
}


def test_a_crash_is_told_with_the_line_of_the_plug_in(lab):
    (lab.folder / "crashing.py").write_text(CRASHING)
    (lab.folder / "crashing_helper.py").write_text(HELPER)
    ran = lab.run(lab.config(solver={"path": "crashing.py", "name": "crashing", "how": list(PLACES)}))
    assert ran.code == 1
    for result in lab.results():
        assert result.reason.startswith(PLACES[result.spec["solver"]["how"]])
        assert result.reason in ran.err
    ran = lab.cli("show", lab.out, "--traceback")
    assert ran.code == 0
    lines = ran.out.splitlines()
    heads = [line for line in lines if line.startswith("failed: ")]
    assert len(heads) == 3 and all(any(place in head for head in heads) for place in PLACES.values())
    assert lines.count("Traceback (most recent call last):") == 3
    assert any('crashing.py", line 15, in step' in line for line in lines)


def test_a_loss_that_cannot_be_compiled_is_told_with_its_line(lab):
    (lab.folder / "objects.py").write_text(
        "from typing import NamedTuple\nimport rrmbench\n\nclass Objects(NamedTuple):\n"
        "    conjugate_convexity: float = 1.0\n    def value(self, z, y): return 0.5 * (z - y) ** 2\n"
        "    def conjugate(self, b, y): return y * b + 0.5 * b * b\n"
        "    def dual_point(self, z, y, mu): return {}[z]\n\n"
        "@rrmbench.loss\ndef objects():\n    return Objects()\n"
    )
    assert lab.run(lab.config(loss={"path": "objects.py", "name": "objects"}, solver="fista")).code == 1
    (result,) = lab.results()
    assert result.reason.startswith("objects.py:8: No implementation of function")


def test_runs_of_one_traceback_share_it_and_escapes_are_escaped(tmp_path, lab):
    folder = tmp_path / "toy"
    results = [stored.result(stored.spec(seed=k), {}, "failed", "no", traceback="one\n\x1b[31mred") for k in range(3)]
    results += [
        stored.result(stored.spec(seed=k), {}, "failed", "no", **more) for k, more in ((3, {}), (4, {"traceback": 5}))
    ]
    stored.experiment(folder, [*results, stored.result(stored.spec(seed=5))])
    ran = lab.cli("show", folder, "--traceback")
    assert ran.code == 0
    assert ran.out.count("failed: ") == 5
    assert ran.out.count("one\n\\x1b[31mred\n") == 1
    assert ran.out.count("no traceback was stored") == 1
    assert "Traceback" not in ran.out
    one = lab.cli("show", folder, "--traceback", "--only", "seed=4")
    assert (one.out.count("failed: "), "no traceback was stored" in one.out) == (1, True)
    assert "--only solver=svrg" in lab.cli("show", folder, "--traceback", "--only", "solver=svrg").err
    refused = lab.cli("show", folder, "--traceback", "--json")
    assert (refused.code, "--traceback: found --json too" in refused.err) == (2, True)


def test_no_failed_run_is_said(tmp_path, lab):
    stored.experiment(tmp_path / "toy", [stored.result(stored.spec())])
    assert lab.cli("show", tmp_path / "toy", "--traceback").out == "toy: 0 failed runs\n"


# identity


EDITS = {
    "a comment": ("1 / 0", "1 / 0  # never"),
    "a docstring": ("def step(problem, how):", 'def step(problem, how):\n    """New."""'),
    "layout": ('    if how == "here":', "    if (\n        how\n        == 'here'\n    ):"),
    "a text that nothing reads": ("\ndef step", "\n'about steps'\n\ndef step"),
    "a number in another spelling": ("problem.n > 8", "problem.n > 0x8"),
}
CHANGES = {
    "a number": ("problem.n > 8", "problem.n > 9"),
    "a default": ('how="here"', 'how="there"'),
    "a text that is compared": ('"helper"', '"help"'),
    "a decorator": ("@rrmbench.solver", "@rrmbench.solver(needs={'smooth'})"),
    "a statement less": ("        share(0)\n", "        pass\n"),
}


@pytest.mark.parametrize("name", [*EDITS, *CHANGES])
def test_a_plug_in_is_its_code_without_docstrings_comments_and_layout(tmp_path, name):
    files = tmp_path / "crashing.py", tmp_path / "crashing_helper.py"
    for file, text in zip(files, (CRASHING, HELPER), strict=True):
        file.write_text(text)
    covered = fingerprint.sources_of(files[0])
    assert set(files) <= set(covered)
    before = fingerprint.digest(*covered)
    old, new = (EDITS | CHANGES)[name]
    assert CRASHING.count(old) == 1
    files[0].write_text(CRASHING.replace(old, new))
    assert (fingerprint.digest(*covered) == before) == (name in EDITS)
    files[0].write_text(CRASHING)
    files[1].write_text(f'"""A text."""\n\n\n{HELPER}')
    assert fingerprint.digest(*covered) == before
    files[1].write_text(HELPER.replace("1 / n", "2 / n"))
    assert fingerprint.digest(*covered) != before


# the toolbox


def test_the_names_of_the_toolbox_are_there_and_documented():
    text = (fingerprint.PACKAGE.parent / "docs" / "toolbox.md").read_text(encoding="utf-8")
    missing = [name for name in toolbox.__all__ if f"`{name}" not in text]
    assert not missing
    public = {name for name in vars(toolbox) if not name.startswith("_")}
    assert public == set(toolbox.__all__)


def test_blocks_without_sudden_end_may_overlap_in_threads():
    inside, over, refused = threading.Barrier(2), threading.Event(), []

    def first():
        with crashes.without_sudden_end():
            inside.wait(10)
            over.wait(10)
            with pytest.raises(SystemExit, match="3"):
                os._exit(3)
            refused.append(1)

    def of_the_user():
        with pytest.raises(SystemExit):
            os._exit(7)
        refused.append(2)

    with crashes.without_sudden_end():
        thread = threading.Thread(target=of_the_user)
        thread.start()
        thread.join(10)
    thread = threading.Thread(target=first)
    thread.start()
    with crashes.without_sudden_end():
        inside.wait(10)
    over.set()
    thread.join(10)
    assert refused == [2, 1]


def test_a_parameter_may_have_any_name():
    @registry.loss
    def named(*, component: float = 1.0, values: float = 1.0):
        return Squared(component), values

    assert building.built("loss", {"name": "named", "component": 2.0, "values": 3.0}) == (Squared(2.0), 3.0)
