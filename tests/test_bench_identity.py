"""What a result's id stands for: all code that can change a number, and nothing else is run."""

import json
import os
import subprocess
import sys
import textwrap
import zipfile

import oracles
import pytest
from lab import make_lab, rows  # noqa: F401

from rrmbench import data, fingerprint, registry
from rrmbench.bench import identity
from rrmbench.config import read, resolve
from rrmbench.kinds import KINDS


def modules_of(kind):
    """The module that defines each registered component of a kind, by the component's name."""
    return {name: registry.lookup(kind, name).build.__module__ for name in registry.names(kind)}


def test_ids_are_those_of_results_that_are_stored():
    """Another form of them would make every result a new one."""
    assert identity.id_of("") == "e3b0c44298fc1c14"
    assert identity.canonical({"b": 1e-4, "a": [1, None]}) == '{"a":[1,null],"b":0.0001}'


LOADING = """
import importlib, json, os, sys, types
import distributed, numba, numpy, pydantic, scipy.optimize, scipy.sparse.linalg, yaml  # once for all
for module in sys.stdin:
    if os.fork():
        os.wait()
        continue
    import rrmbench
    for folder in ("losses", "regularizers", "solvers", "reductions", "solvers.peers"):  # packages that import nothing
        name = "rrmbench." + folder
        package = types.ModuleType(name)
        package.__path__ = [rrmbench.__path__[0] + "/" + folder.replace(".", "/")]
        sys.modules[name] = package
    importlib.import_module(module.strip())
    import rrmbench.bench.worker, rrmbench.data.prepare
    files = [getattr(m, "__file__", None) for n, m in sys.modules.items() if n.startswith("rrmbench.")]
    print(json.dumps([f for f in files if f]), flush=True)
    os._exit(0)
"""


@pytest.fixture(scope="module")
def loader():
    """A process that has libraries in memory and nothing of the package: told a module, its child loads that."""
    command = [sys.executable, "-c", LOADING]
    fingerprint.mathematics()  # once, too: children are told it
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.stdin.close()


def loaded_by(module, loader):
    """The package's files that a fresh process loads for a module, without the lists of all components."""
    loader.stdin.write(module + "\n")
    loader.stdin.flush()
    return set(json.loads(loader.stdout.readline()))


@pytest.mark.core(4)
@pytest.mark.parametrize("module", sorted({m for kind in KINDS for m in modules_of(kind).values()}))
def test_the_digest_covers_every_file_that_a_fresh_process_loads(module, loader):
    kind, name = next((k, n) for k in KINDS for n, m in modules_of(k).items() if m == module)
    mappings = {"loss": "squared", "regularizer": "none", "solver": "gd", "reduction": "none"}
    spec = {k: {"name": n} for k, n in mappings.items()} | {kind: oracles.example(kind, name)}
    covered = {str(file) for file in identity.files_of(spec)}
    with_the_package = {str(fingerprint.PACKAGE / name) for name in ("__init__.py", "version.py")}  # and no mathematics
    assert loaded_by(module, loader) - covered <= with_the_package


def test_runs_of_one_call_share_their_data_and_have_the_ids_that_they_have_alone(monkeypatch):
    blocks, load = [], data.load
    monkeypatch.setattr(data, "load", lambda block, labels: blocks.append((str(block), labels)) or load(block, labels))
    specs = [
        {"dataset": {"name": "synthetic_sparse"}, "loss": {"name": loss}, "regularizer": {"name": "l1", "strength": s}}
        | {"solver": {"name": "fista"}, "reduction": None, "seed": seed}
        for loss in ("logistic", "squared")
        for s in (0.1, 0.2)
        for seed in range(3)
    ]
    named, files = [], identity.blocks.files
    monkeypatch.setattr(identity.blocks, "files", lambda block: named.append(block) or files(block))
    stamped, of = [], identity.Identities._stamped
    monkeypatch.setattr(identity.Identities, "_stamped", lambda self, files: stamped.append(files) or of(self, files))
    identities = identity.Identities()
    runs = [identities.run(spec) for spec in specs]
    assert len(set(blocks)) == len(blocks) == 2  # binary labels, and as they are
    assert len(named) == 2 * 4  # for the id of a problem and for those of its runs, whose files are looked for once
    assert len(stamped) == 1 + 2 + 4  # of all runs, of those with each loss, of problems: none of them run by run
    for spec, run in zip(specs, runs, strict=True):
        checksum = identity.data_of(spec).checksum
        assert (run.spec_id, run.problem) == (identity.spec_id(spec, checksum), identity.problem_id(spec, checksum))
        assert (run.code, run.stamps) == (identity.code_of(spec), fingerprint.stamps(identity.files_of(spec)))
        assert run.run == f"{run.spec_id}-{run.code[:8]}"
    assert len({run.run for run in runs}) == 12 and len({run.problem for run in runs}) == 4


# plug-ins

HELPED = """
from typing import NamedTuple
import rrmbench
{imports}

class Mine(NamedTuple):
    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        return 0.5 * {factor} * (z - y) * (z - y)

    def conjugate(self, b, y):
        return 0.5 * b * b / {factor} + y * b

    def dual_point(self, z, y, mu):
        return {factor} * (z - y) / (1.0 + {factor} * mu)

@rrmbench.loss
def mine():
    return Mine(conjugate_convexity=1.0 / {factor})
"""
# how the plug-in gets `factor`, and what it is then called
FORMS = {
    "import": ("import helper", "helper.FACTOR"),
    "from": ("from helper import FACTOR", "FACTOR"),
    "package": ("import pack.helper", "pack.helper.FACTOR"),
    "from package": ("from pack import helper", "helper.FACTOR"),
    "package's init": ("from pack import FACTOR", "FACTOR"),
    "relative in package": ("from pack.chain import FACTOR", "FACTOR"),
    "literal": ("import importlib\nhelper = importlib.import_module('helper')", "helper.FACTOR"),
    "spelt": ("import importlib\nhelper = importlib.import_module('hel' + 'per')", "helper.FACTOR"),
    "function": ("def get():\n    from helper import FACTOR\n    return FACTOR\nFACTOR = get()", "FACTOR"),
    "compiled": ("from helper import factor", "factor()"),
    "try": ("try:\n    import helper as h\nexcept ImportError:\n    h = None", "h.FACTOR"),
}
HELPER = """
from numba import njit
FACTOR = {factor}

@njit
def factor():
    return {factor}
"""


def write_helpers(folder, factor):
    (folder / "pack").mkdir(exist_ok=True)
    for file in ("helper.py", "pack/helper.py", "pack/__init__.py"):
        (folder / file).write_text(HELPER.format(factor=factor))
        os.utime(folder / file, (1e9, 1e9))  # bytecode of the text before has the same size and time, too
    (folder / "pack" / "chain.py").write_text("from .helper import FACTOR\nfrom . import helper\n")


@pytest.mark.parametrize("forms", [["import", "spelt"], pytest.param([*FORMS], marks=pytest.mark.exhaustive)], ids=len)
def test_an_edited_helper_of_a_plugin_makes_another_run_with_fresh_machine_code(lab, forms):
    losses = []
    for number, form in enumerate(forms):
        imports, factor = FORMS[form]
        text = HELPED.format(imports=imports, factor=factor).replace("def mine", f"def mine{number}")
        (lab.folder / f"mine{number}.py").write_text(text)
        losses.append({"path": f"mine{number}.py", "name": f"mine{number}"})
    config = lab.config(loss=losses, stop={"passes": 2, "gap": 100.0})  # no passes for bounds, whose kernels are many
    found = []
    for number in (1.0, 4.0, 4.0):
        write_helpers(lab.folder, number)
        ran = lab.command("run", config, "-o", lab.out, PYTHONSAFEPATH="1", PYTHONDONTWRITEBYTECODE="")
        assert ran.code == 0, ran.err
        found.append({r.spec["loss"]["name"]: r.trace["primal"][0] for r in lab.results()})
    for loss, form in zip(losses, forms, strict=True):
        assert [values[loss["name"]] for values in found] == [0.5, 2.0, 2.0], form  # mean y^2 = 1
    assert len(lab.files()) == 2 * len(forms)
    assert f"{len(forms)} of {len(forms)} runs were done before" in ran.out


COUNTED = """import rrmbench
with open(__file__ + ".log", "a") as file:
    file.write("x")

@rrmbench.solver()
def {name}(problem, start, rng):
    w = problem.start(start)
    yield rrmbench.Iterate(w)
    w = w - 0.01 * problem.X.adjoint(problem.loss_dual(problem.X.forward(w))) / problem.n
    yield rrmbench.Iterate(w, passes=1.0)
"""


def test_a_run_executes_the_plugins_that_it_has_components_of_and_no_others(lab):
    """What a plug-in does at its import, to libraries say, changes no run of which the id does not tell."""
    for name in ("one", "whole", "part"):
        (lab.folder / f"{name}.py").write_text(COUNTED.format(name=name) + "import part\n" * (name == "whole"))
    solvers = ["agd", *({"path": f"{name}.py", "name": name} for name in ("one", "whole")), "part"]
    assert lab.run(lab.config(solver=solvers, stop={"passes": 1})).code == 0
    executed = {name: (lab.folder / f"{name}.py.log").read_text() for name in ("one", "whole", "part")}
    assert executed == {"one": "xx", "whole": "xxx", "part": "xxx"}  # here, and in each run of its own


@pytest.mark.exhaustive
def test_a_plugin_may_import_from_an_archive_beside_it(lab):
    with zipfile.ZipFile(lab.folder / "packed.zip", "w") as archive:
        archive.writestr("packed.py", "FACTOR = 4.0\n")
    imports = "import sys\nsys.path.append(__file__.replace('mine.py', 'packed.zip'))\nfrom packed import FACTOR"
    (lab.folder / "mine.py").write_text(HELPED.format(imports=imports, factor="FACTOR"))
    ran = lab.command("run", lab.config(loss={"path": "mine.py", "name": "mine"}, stop={"passes": 2}), "-o", lab.out)
    assert ran.code == 0, ran.err
    assert [result.trace["primal"][0] for result in lab.results()] == [2.0]


@pytest.mark.exhaustive
def test_comments_and_docstrings_of_a_plugin_change_nothing(lab):
    plugin = lab.folder / "mine.py"
    plugin.write_text(HELPED.format(imports="", factor="1.0"))
    config = lab.config(loss={"path": "mine.py", "name": "mine"}, stop={"passes": 2})
    assert lab.command("run", config, "-o", lab.out).code == 0
    plugin.write_text('"""A text."""\n# a comment\n' + plugin.read_text().replace("def value", "\n\n    def value"))
    assert "1 of 1 run was done before" in lab.command("run", config, "-o", lab.out).out


@pytest.mark.exhaustive
def test_two_helpers_of_one_name_are_not_mistaken_for_each_other(lab):
    for name, number in (("one", 1.0), ("two", 2.0)):
        (lab.folder / name).mkdir()
        text = HELPED.format(imports="from helper import FACTOR", factor="FACTOR").replace("def mine", f"def {name}")
        (lab.folder / name / f"{name}.py").write_text(text)
        (lab.folder / name / "helper.py").write_text(f"FACTOR = {number}")
    losses = [{"path": f"{name}/{name}.py", "name": name} for name in ("one", "two")]
    ran = lab.command("run", lab.config(loss=losses), "-o", lab.out, PYTHONSAFEPATH="1")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert "imports 'helper'" in ran.err
    assert "rename one" in ran.err


def test_code_that_changes_while_runs_wait_is_not_taken_for_the_old(lab):
    """The first run edits the loss of all."""
    (lab.folder / "mine.py").write_text(HELPED.format(imports="", factor="1.0"))
    (lab.folder / "edits.py").write_text(
        textwrap.dedent(f"""
        import numpy as np
        import rrmbench
        from pathlib import Path

        @rrmbench.solver
        def edits(problem, start, rng):
            loss = Path({str(lab.folder / "mine.py")!r})
            yield rrmbench.Iterate(np.zeros(problem.shape))
            if problem.n > 8:
                loss.write_text(loss.read_text().replace("0.5 * 1.0", "0.5 * 5.0"))
            yield rrmbench.Iterate(np.zeros(problem.shape), passes=5.0)
        """)
    )
    solver, loss = {"path": "edits.py", "name": "edits"}, {"path": "mine.py", "name": "mine"}
    ran = lab.command("run", lab.config(solver=solver, loss=loss, seed=[0, 1]), "-o", lab.out, "-j", 1)
    assert ran.code == 1
    first, second = sorted(lab.results(), key=lambda result: result.spec["seed"])
    assert first.trace["primal"][0] == 0.5
    assert (second.status, second.points) == ("failed", 0)
    assert "has changed since the command was started" in second.reason


LATE = """
import importlib
from importlib import import_module as fetch
import numpy as np
import rrmbench

@rrmbench.solver
def late{number}(problem, start, rng):
    yield rrmbench.Iterate(np.zeros(problem.shape))
    if problem.n > 8:
        {imports}
    yield rrmbench.Iterate(np.full(problem.shape, {factor} / 10), passes=5.0)
"""
# imports in a function, and whether the text of the plug-in tells of them
IN_FUNCTION = {
    "from house.deep.helper import FACTOR": True,
    "from house.deep import helper as found; FACTOR = found.FACTOR": True,
    "FACTOR = importlib.import_module('house.deep.helper').FACTOR": True,
    "FACTOR = fetch('house.deep.helper').FACTOR": False,
    "FACTOR = importlib.import_module('.helper', 'house.deep').FACTOR": False,
    "FACTOR = importlib.import_module(name='house.deep' + '.helper').FACTOR": False,
}


def test_an_import_in_a_function_is_of_the_code_or_fails_the_run(lab):
    (lab.folder / "house" / "deep").mkdir(parents=True)  # packages without __init__.py
    helper = lab.folder / "house" / "deep" / "helper.py"
    for number, imports in enumerate(IN_FUNCTION):
        text = LATE.format(number=number, imports=imports, factor="FACTOR")
        (lab.folder / f"late{number}.py").write_text(text)
    solvers = [{"path": f"late{number}.py", "name": f"late{number}"} for number in range(len(IN_FUNCTION))]
    config, found = lab.config(solver=solvers), []
    for factor in (1.0, 2.0):
        helper.write_text(f"FACTOR = {factor}")
        assert lab.run(config, "-j", 2).code == 1
        found.append({r.spec["solver"]["name"]: r for r in lab.results()})
    for number, is_told in enumerate(IN_FUNCTION.values()):
        first, second = (results[f"late{number}"] for results in found)
        if is_told:
            assert (first.w[0], second.w[0]) == (0.1, 0.2)
            assert first.run != second.run
        else:
            assert (first.status, second.status) == ("failed", "failed")
            assert f"{helper} is imported inside a function" in second.reason
            assert not second.certifies


def test_libraries_on_the_import_path_are_not_followed(lab, monkeypatch):
    """As computing centres install them: their versions count, and what they import in functions is theirs."""
    library = lab.folder / "python3" / "site-packages" / "lazily"
    library.mkdir(parents=True)
    (library / "__init__.py").write_text("def factor():\n    from importlib import import_module as fetch\n")
    with (library / "__init__.py").open("a") as file:
        file.write("    return fetch('lazily.inner').FACTOR\n")
    (library / "inner.py").write_text("FACTOR = 3.0")
    text = LATE.format(number=6, imports="import lazily; FACTOR = lazily.factor()", factor="FACTOR")
    (lab.folder / "late6.py").write_text(text)
    config = lab.config(solver={"path": "late6.py", "name": "late6"})
    monkeypatch.syspath_prepend(library.parent)
    assert lab.run(config).code == 0
    assert lab.results()[0].w[0] == pytest.approx(0.3)


def test_helpers_that_change_places_are_other_code_and_folders_that_do_are_not(tmp_path):
    def digest(folder, one, two):
        (tmp_path / folder / "pack").mkdir(parents=True, exist_ok=True)
        files = [tmp_path / folder / name for name in ("one.py", "two.py", "pack/__init__.py", "pack/one.py")]
        for file, text in zip(files, (f"FACTOR = {one}", f"FACTOR = {two}", "", f"FACTOR = {two}"), strict=True):
            file.write_text(text)
        return fingerprint.digest(*files)

    assert digest("here", 1.0, 2.0) != digest("here", 2.0, 1.0)
    assert digest("here", 1.0, 2.0) == digest("there", 1.0, 2.0)


def test_after_an_edit_is_taken_back_readers_show_the_results_of_before(lab):
    config, found = lab.config(solver={"path": "late7.py", "name": "late7"}), []
    for factor in (1.0, 2.0, 1.0):
        (lab.folder / "late7.py").write_text(LATE.format(number=7, imports="pass", factor=factor))
        ran = lab.run(config)
        found.append(lab.results()[0].w[0])
    assert "1 of 1 run was done before" in ran.out
    assert found == [0.1, 0.2, 0.1]


def test_a_run_is_what_its_files_hold_and_not_where_they_lie(lab):
    def of(folder, sizes):
        (lab.folder / folder).mkdir()
        (lab.folder / folder / "toy.txt").write_text(rows())
        (lab.folder / folder / "sizes.txt").write_text(sizes)
        config = lab.config(
            f"{folder}/c.yaml",
            solver="fista",
            regularizer={"name": "group_lasso", "strength": 1, "groups": "sizes.txt"},
        )
        (spec,) = resolve(read(config)).runs
        return identity.Identities().run(spec)

    one, two, other = of("one", "4 2"), of("two", "4 2"), of("three", "2 4")
    assert one.spec != two.spec
    assert (one.run, one.problem) == (two.run, two.problem)
    assert one.spec_id != other.spec_id and one.problem != other.problem


def test_a_copy_of_the_data_is_no_other_run_and_other_data_of_its_name_are_told_by_their_folder(lab):
    for folder in "one", "two":
        (lab.folder / folder).mkdir()
        (lab.folder / folder / "toy.txt").write_text(rows())
    lab.run(lab.config(dataset="one/toy.txt"))
    config = lab.config(dataset=["one/toy.txt", "two/toy.txt"])
    assert "1 of 1 run was done before" in lab.run(config).out
    assert "toy.txt" not in lab.cli("show", lab.out).out
    (lab.folder / "two" / "toy.txt").write_text(rows(seed=1))
    assert "1 of 2 runs was done before" in lab.run(config).out
    shown = lab.cli("show", lab.out).out.splitlines()
    assert [line for line in shown if line in ("path=one/toy.txt", "path=two/toy.txt")] == [
        "path=one/toy.txt",
        "path=two/toy.txt",
    ]


def test_a_file_of_a_parameter_that_changes_while_runs_wait_is_not_taken_for_the_old(lab):
    """The first run edits the groups of all."""
    groups = lab.folder / "groups.txt"
    groups.write_text("2 4")
    change = f"__import__('pathlib').Path({str(groups)!r}).write_text('4 2')"
    (lab.folder / "late8.py").write_text(LATE.format(number=8, imports=change, factor=1.0))
    regularizer = {"name": "group_lasso", "strength": 0.1, "groups": "groups.txt"}
    solver = {"path": "late8.py", "name": "late8"}
    config = lab.config(solver=solver, regularizer=regularizer, seed=[0, 1])
    assert lab.run(config, "-j", 1).code == 1
    first, second = sorted(lab.results(), key=lambda result: result.spec["seed"])
    assert (first.status, second.status) == ("done", "failed")
    assert f"{groups} has changed since the command was started" in second.reason


def test_the_file_of_a_solvers_parameter_counts_with_its_content(lab):
    (lab.folder / "steps.py").write_text(
        textwrap.dedent("""
        from pathlib import Path
        from typing import Annotated
        import numpy as np
        import rrmbench
        from rrmbench.parameters import File

        @rrmbench.solver
        def steps(problem, start, rng, *, lengths: Annotated[str, File()] = "none.txt"):
            yield rrmbench.Iterate(np.full(problem.shape, float(Path(lengths).read_text())), passes=5.0)
        """)
    )
    config, found = lab.config(solver={"path": "steps.py", "name": "steps", "lengths": "lengths.txt"}), []
    for length in (0.25, 0.5):
        (lab.folder / "lengths.txt").write_text(str(length))
        assert lab.run(config).code == 0
        found.append(lab.results()[0].w[0])
    assert found == [0.25, 0.5]


# the fork server imports what the command imports, wherever the command is called


def test_children_run_the_package_of_the_command_and_nothing_of_the_working_directory(lab):
    elsewhere, here = lab.folder / "elsewhere", lab.folder / "here"
    elsewhere.mkdir()
    start = elsewhere / "start.py"
    start.write_text("if __name__ == '__main__':\n    from rrmbench.__main__ import main\n    main()\n")
    checkout = here / "rrmbench"
    checkout.mkdir(parents=True)
    for name in ("rrmbench/__init__.py", "numba.py", "numpy.py", "signal.py", "socket.py"):
        (here / name).write_text(f"open({str(here / 'executed')!r}, 'a').write({name!r} + '\\n')\n")
    environment = os.environ | {"PYTHONPATH": str(fingerprint.PACKAGE.parent)}
    command = [sys.executable, start, "run", lab.config(), "-o", lab.out]
    ran = subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert not (here / "executed").exists()
    (result,) = lab.results()
    assert result.trace["primal"][0] == 0.5


@pytest.mark.exhaustive
def test_a_solver_sees_the_environment_of_the_command(lab):
    (lab.folder / "sees.py").write_text(
        textwrap.dedent("""
        import os
        import numpy as np
        import rrmbench

        @rrmbench.solver
        def sees(problem, start, rng):
            if (os.environ.get("PYTHONPATH"), os.environ.get("PYTHONSAFEPATH")) != ("/somewhere", None):
                raise ValueError(os.environ.get("PYTHONPATH"))
            yield rrmbench.Iterate(np.zeros(problem.shape), passes=5.0)
        """)
    )
    config = lab.config(solver={"path": "sees.py", "name": "sees"})
    start = lab.folder / "start.py"
    start.write_text(
        f"import sys\nsys.path.insert(0, {str(fingerprint.PACKAGE.parent)!r})\n"
        "if __name__ == '__main__':\n    from rrmbench.__main__ import main\n    main()\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"} | {"PYTHONPATH": "/somewhere"}
    command = [sys.executable, start, "run", config, "-o", lab.out]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=lab.folder)
    assert ran.returncode == 0, ran.stderr
