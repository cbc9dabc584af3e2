"""`verify --against`: results beside those of the same runs, executed again."""

import copy
import shutil
from itertools import product

import numpy as np
import pytest
import stored
from lab import make_lab  # noqa: F401

from rrmbench.bench.store import Experiment
from rrmbench.report.reruns import reruns


def changed(result, point=None, info=None, **columns):
    """A copy of a Result in which columns have another value at a point, or are the ones given; `gap` follows."""
    _ = result.w, result.b
    other = copy.copy(result)
    other.trace = {name: column.copy() for name, column in result.trace.items()}
    for name, value in columns.items():
        if point is None:
            other.trace[name] = value
        else:
            other.trace[name][point] = value
    other.trace["gap"] = other.trace["primal"] - other.trace["dual"]
    other.info = result.info | (info or {})
    return other


FORGERIES = {
    "primal": lambda r: changed(r, 3, primal=r.trace["primal"][4]),
    "dual": lambda r: changed(r, 3, dual=r.trace["dual"][5]),
    "passes": lambda r: changed(r, 3, passes=r.trace["passes"][3] - 0.25),
    "nonzeros": lambda r: changed(r, 3, nonzeros=1.0),
    "train_error": lambda r: changed(r, train_error=np.zeros(r.points)),
    "7 points": lambda r: changed(r, **{name: np.delete(column, 2) for name, column in r.trace.items()}),
    "helped": lambda r: changed(r, info={"helped": [[2, 1.0]]}),
}


@pytest.fixture(scope="module")
def executions(tmp_path_factory):
    """A folder for the results of two executions of one configuration, which are made once."""
    return tmp_path_factory.mktemp("executions")


@pytest.fixture
def twice(lab, executions):
    """The experiment of a configuration, and the folder of its second execution; copies, to be changed."""
    config = lab.config(solver=["agd", "prox_sdca"], stop={"passes": 7})
    for folder in "results", "again":
        if not (executions / folder).exists():
            assert lab.cli("run", config, "-o", executions / folder).code == 0
        shutil.copytree(executions / folder, lab.folder / folder)
    return Experiment(lab.out / "toy"), lab.folder / "again"


def test_two_executions_are_the_same_to_the_bit(lab, twice):
    ran = lab.cli("verify", lab.out, "--against", twice[1])
    assert ran.code == 0
    assert ran.out.count("same  8 points  ") == 2 and f"beside {twice[1]}: 2 same; seconds " in ran.out


# bounds of evaluation may be found at other points elsewhere, which `helped` tells of
@pytest.mark.parametrize(
    ("name", "elsewhere"), [case for case in product(FORGERIES, (False, True)) if case != ("helped", True)]
)
def test_what_verify_cannot_recompute_is_another_number(lab, twice, name, elsewhere):
    """Points before the last alone; of another machine too."""
    experiment, again = twice
    (original,) = (r for r in lab.results() if r.spec["solver"]["name"] == "agd")
    forged = FORGERIES[name](original)
    if elsewhere:
        forged.info |= {"environment": "another"}
    experiment.write(forged)
    ran = lab.cli("verify", lab.out, "--against", again)
    assert ran.code == 1
    (line,) = (line for line in ran.out.splitlines() if line.startswith("OTHER"))
    assert name in line and line.endswith("agd, seed 0")
    assert ("of other code, machines or versions" in line) is (elsewhere and name != "7 points")
    assert "1 same, 1 OTHER" in ran.out


def test_rounding_is_allowed_of_another_machine_alone(lab, twice):
    experiment, again = twice
    original = lab.results()[0]
    rounded = changed(original, 1, primal=original.trace["primal"][1] + 2e-11 * original.trace["primal"][0])
    experiment.write(rounded)
    ran = lab.cli("verify", lab.out, "--against", again)
    assert ran.code == 1 and "P is up to 2.0e-11 P(0) apart, where one machine gives the same bits" in ran.out
    rounded.info |= {"environment": "another"}
    experiment.write(rounded)
    ran = lab.cli("verify", lab.out, "--against", again)
    assert ran.code == 0 and "near  8 points, P is up to 2.0e-11 P(0) apart" in ran.out


@pytest.mark.parametrize("points", [6, 8])
def test_what_the_clock_ended_is_compared_before_its_last_point(tmp_path, points):
    """It may end elsewhere each time, and on a last point evaluation spends more."""

    def execution(folder, count, nearer):
        columns = {name: column[:count].copy() for name, column in stored.trace().items()}
        columns["dual"][-1] += nearer
        made = changed(stored.result(stored.spec(), reason="seconds"), **columns)
        return stored.experiment(tmp_path / folder / "e", [made]).directory.parent

    (found,) = reruns(execution("here", 8, 0.0), execution("there", points, 1e-3))
    assert (found.state, found.why, found.ratio) == ("same", f"{points - 1} points", 1.0)


def test_runs_that_are_left_out_are_told(lab, twice):
    experiment, again = twice
    manifest = experiment.manifest()
    experiment.write_manifest(manifest | {"runs": manifest["runs"][:1]})
    ran = lab.cli("verify", lab.out, "--against", again)
    assert ran.code == 1 and f"alone it is in {again} only  " in ran.out


def test_folders_that_are_no_second_execution_are_refused(lab, twice):
    ran = lab.cli("verify", lab.out, "--against", lab.out)
    assert ran.code == 2 and "found the folder itself" in ran.err
    inside = lab.cli("verify", lab.out / "toy", "--against", lab.out)
    assert inside.code == 2 and "toy, which is at " in inside.err
    other = lab.config("other.yaml", name="other", stop={"passes": 3})
    assert lab.cli("run", other, "-o", lab.folder / "third").code == 0
    ran = lab.cli("verify", lab.out, "--against", lab.folder / "third")
    assert ran.code == 2 and "no run there is one of" in ran.err
