"""Mistakes on the command line: one message, exit code 2."""

import bz2
import gzip

import pytest
from lab import make_lab, odd, rows  # noqa: F401

# mistakes: one message, exit code 2


def good_rows():
    return rows(n=6, d=3)


FILES = {
    "truncated.gz": lambda: gzip.compress(rows().encode())[:-20],
    "corrupt.bz2": lambda: bz2.compress(rows().encode())[:20] + bytes(200),
    "nan.txt": lambda: good_rows().encode() + b"1 1:nan\n",
    "duplicate.txt": lambda: good_rows().encode() + b"1 2:1 2:1\n",
    "unsorted.txt": lambda: good_rows().encode() + b"1 2:1 1:1\n",
    "token.txt": lambda: good_rows().encode() + b"1 2=1\n",
    "empty.txt": lambda: b"",
    "three.txt": lambda: rows(labels=(1, 2, 3)).encode(),
}
CONFIGURATIONS = {
    "unknown key": ({"solvr": "agd"}, (), ["toy.yaml:", "solvr", "did you mean 'solver'"]),
    "unknown solver": ({"solver": "agdd"}, (), ["toy.yaml:", "solver", "'agdd'", "did you mean 'agd'"]),
    "unknown parameter": (
        {"solver": {"name": "agd", "step_scal": 1}},
        (),
        ["solver.step_scal", "did you mean 'step_scale'"],
    ),
    "unknown data": ({"dataset": "rcv1_trainn"}, (), ["dataset", "did you mean 'rcv1_train'"]),
    "missing data": ({"dataset": "./none.txt"}, (), ["dataset", "none.txt"]),
    "list for a number": ({"stop": {"passes": [1, 2]}}, (), ["stop.passes", "[1, 2]", "a finite number"]),
    "text for a number": ({"stop": {"passes": "many"}}, (), ["stop.passes", "'many'"]),
    "negative strength": (
        {"regularizer": {"name": "l2", "strength": -1.0}},
        (),
        ["regularizer.strength", "-1.0"],
    ),
    "empty grid": ({"regularizer": {"name": "l2", "strength": []}}, (), ["regularizer.strength", "empty"]),
    "empty list": ({"solver": []}, (), ["solver", "empty"]),
    "all skipped": (
        {"solver": "agd", "loss": "hinge"},
        (),
        ["every combination is skipped", "agd", "smooth"],
    ),
    "bad set": ({}, ("--set", "stop.pases=3"), ["--set stop.pases=3", "did you mean 'passes'"]),
    "bad only": ({}, ("--only", "solver=gd"), ["--only", "solver=gd"]),
    "backend": ({}, ("--backend", "locall"), ["--backend: found 'locall'", "did you mean 'local'"]),
    "retry": ({}, ("--retry", "time"), ["--retry: found 'time'", "did you mean 'timeout'"]),
    "backend of a plan": ({}, ("--dry-run", "--backend", "locall"), ["--backend: found 'locall'"]),
    "retry of a plan": ({}, ("--dry-run", "--retry", "time"), ["--retry: found 'time'"]),
    "plug-in": ({"solver": {"path": "./mine.py", "name": "mine"}}, (), ["solver.path", "mine.py"]),
}


def assert_one_message(ran, parts):
    assert ran.code == 2, ran
    assert ran.out == ""
    assert ran.err.startswith("rrmbench: ")
    assert "Traceback" not in ran.err
    for part in parts:
        assert part in ran.err


@pytest.mark.parametrize("mistake", CONFIGURATIONS)
def test_mistakes_in_configurations_and_options(lab, mistake):
    keys, options, parts = CONFIGURATIONS[mistake]
    assert_one_message(lab.run(lab.config(**keys), *options), parts)
    assert not lab.out.exists()


@pytest.mark.parametrize("file", FILES)
def test_mistakes_in_data(lab, file):
    (lab.folder / file).write_bytes(FILES[file]())
    loss = "smoothed_hinge" if file == "three.txt" else "squared"
    ran = lab.run(lab.config(dataset=f"./{file}", loss=loss))
    assert_one_message(ran, [str(lab.folder / file)])
    assert not lab.out.exists()


def test_mistakes_elsewhere(lab):
    config = lab.config()
    assert lab.run(config).code == 0
    (lab.folder / "nothing").mkdir()
    for arguments, parts in [
        (("run", lab.folder / "none.yaml"), ["none.yaml: no such file"]),
        (("show", lab.folder / "nothing"), ["no experiment found in", "nothing"]),
        (("export", lab.folder / "none", "--to", "t.csv"), ["none: no such directory of results"]),
        (("export", lab.out, "--to", "t.xls"), ["t.xls", ".csv", ".parquet"]),
        (("plot", lab.out, "--y", "gapp"), ["--y", "gapp", "did you mean 'gap'"]),
        (("plot", lab.out, "--format", "gif"), ["--format", "gif", "png"]),
        (("check", lab.out, "--baseline", lab.folder / "none.json"), ["none.json"]),
        (("list", "solver"), ["found 'solver'", "did you mean 'solvers'"]),
        (("data", "info", "a9b"), ["a9b", "did you mean 'a9a'"]),
        (
            ("data", "info", "breast_cancer_sklearn", "--set", "subset=5"),
            ["found 'subset', which prepares data for a run"],
        ),
        (("data", "get", "a9b"), ["a9b", "did you mean 'a9a'"]),
        (("run", config, config, "-o", lab.out), ["the name 'toy' is that of", "rename one"]),
        (("run", config, config, "--dry-run"), ["the name 'toy' is that of", "rename one"]),
        *(
            (arguments, ["--output: found '', allowed is a path"])
            for arguments in (
                ("run", config, "-o", ""),
                ("plot", lab.out, "-o", ""),
                ("report", lab.out, "--output", ""),
                ("merge", lab.out, "-o", ""),
                ("compare", lab.out, "--profile", "-o", ""),
            )
        ),
        (("validate", config, config), ["the name 'toy' is that of", "rename one"]),
    ]:
        assert_one_message(lab.cli(*arguments), parts)


def test_mistakes_from_outside(lab):
    """The same through a process of its own: nothing but the message is written to the terminal."""
    ran = lab.command("run", lab.config(solver="agdd"))
    assert_one_message(ran, ["did you mean 'agd'"])
    (lab.folder / "broken.py").write_text("import sys\nsys.exit(3)\n")
    ran = lab.command("run", lab.config(solver={"path": "broken.py", "name": "mine"}))
    assert_one_message(ran, ["broken.py", "cannot be imported: broken.py:", "SystemExit"])
    ran = lab.command("rum")
    assert (ran.code, ran.out) == (2, "")
    assert "Did you mean 'run'?" in ran.err


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("patch", "name"),
    [
        ("from rrmbench.losses.hinge import Hinge\nHinge.value = lambda self, z, y: 0.0\n", "losses.hinge.Hinge.value"),
        ("import rrmbench.problem.problem as p\np.over_samples = None\n", "problem.problem.over_samples"),
        ("from rrmbench.numerics import jit\njit.WARM_UP_ROWS = 9\n", "numerics.jit.WARM_UP_ROWS"),
        (
            "from rrmbench.problem.problem import Problem as P\nP.primal = lambda *a: 0.0\n",
            "problem.problem.Problem.primal",
        ),
    ],
)
def test_a_plugin_that_changes_the_package_is_refused(lab, patch, name):
    """Results tell by which code they were made: all runs beside it would not tell of this."""
    (lab.folder / "patch.py").write_text(patch)
    ran = lab.command("validate", lab.config(solver=["agd", {"path": "patch.py", "name": "mine"}]))
    assert_one_message(ran, ["patch.py", f"it replaces rrmbench.{name}"])


def test_a_plugin_that_changes_the_clock_is_refused_where_runs_are(lab):
    (lab.folder / "patch.py").write_text(
        "import rrmbench\nimport rrmbench.bench.trace as t\nt.perf_counter = lambda: 0.0\n"
        "@rrmbench.solver\ndef mine(problem, start, rng):\n    yield rrmbench.Iterate(problem.start(start))\n"
    )
    ran = lab.command("run", lab.config(solver=["agd", {"path": "patch.py", "name": "mine"}]), "-o", lab.out)
    assert ran.code == 1 and "patch.py: it replaces rrmbench.bench.trace.perf_counter" in ran.err
    assert sorted(result.status for result in lab.results()) == ["done", "failed"]


def test_a_plugin_may_solve_a_problem_of_its_own_at_its_import(lab):
    (lab.folder / "calibrated.py").write_text(
        "import numpy as np\nimport rrmbench\n"
        "problem = rrmbench.Problem(np.eye(2), [1.0, -1.0], 'squared', {'name': 'l2', 'strength': 1.0})\n"
        "SHARE = rrmbench.solve(problem, 'direct').w[0]\n"
        "@rrmbench.solver\ndef calibrated(problem, start, rng):\n"
        "    yield rrmbench.Iterate(np.full(problem.shape, SHARE))\n"
    )
    ran = lab.command("validate", lab.config(solver={"path": "calibrated.py", "name": "calibrated"}))
    assert (ran.code, ran.err) == (0, "")


def test_a_data_set_that_cannot_be_had_is_not_a_traceback(lab):
    ran = lab.run(lab.config(dataset="astro_ph", loss="hinge", solver="sgd"))
    assert_one_message(ran, ["astro_ph", "RRMBENCH_DATA"])


def test_the_path_of_data_which_runs_have_where_it_differs_may_be_asked_for(lab):
    assert lab.cli("validate", lab.config(plot={"rows": "dataset.path"})).code == 0


def every_option(command, path=()):
    """Yield (words of a command, one of its options that have one value) of all commands."""
    for name, below in getattr(command, "commands", {}).items():
        yield from every_option(below, (*path, name))
    if not hasattr(command, "commands"):
        for one in command.params:
            if one.param_type_name == "option" and not one.is_flag and not one.multiple:
                yield path, one


def test_an_option_of_one_value_is_given_once(lab):
    from typer.main import get_command

    from rrmbench.cli.app import app

    seen = {(*path, *option.opts): option for path, option in every_option(get_command(app))}
    assert len(seen) > 30 and ("data", "add", "--name") in seen
    for (*words, _), option in seen.items():
        words = [word for word in words if not word.startswith("-")]
        ran = lab.cli(*words, f"{option.opts[0]}=1", option.opts[-1], "2")
        name = max(option.opts, key=len)
        assert (ran.code, ran.err.partition(";")[0].strip()) == (2, f"rrmbench: {name}: found 2 times, allowed is once")
    assert "with commas" not in lab.cli("run", "x", "-o", "a", "-o", "b").err
    assert "several values have commas" in lab.cli("plot", "x", "--format", "png", "--format=pdf").err
    twice = lab.cli("show", "nowhere", "--runs", "--runs")  # which says the same
    assert "nowhere: no such directory" in twice.err


def test_a_working_directory_that_was_removed_is_told(lab, monkeypatch):
    config, gone = lab.config(), lab.folder / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = lab.run(config)
    assert (ran.code, ran.err) == (2, "rrmbench: the working directory has been removed; change to another one\n")
