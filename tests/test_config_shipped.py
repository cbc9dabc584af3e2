"""Every configuration that is shipped is valid, with no data at hand, and the papers' figures are complete."""

from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from rrmbench import registry
from rrmbench.config import read, resolve

CONFIGS = Path(__file__).parents[1] / "configs"
SHIPPED = sorted(CONFIGS.rglob("*.yaml"))
COMPARISONS = "bench.yaml", "bench_others.yaml"  # each library knows some of their problems only


@pytest.fixture(autouse=True)
def no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: str(path.relative_to(CONFIGS)))
def test_is_valid_and_skips_nothing(path):
    plan = resolve(read(path))
    assert plan.runs
    assert not plan.skipped or path.name in COMPARISONS


def test_the_regression_check_runs_every_solver_and_every_reduction():
    """Solvers of other libraries have seconds and no passes, which are not those of another machine."""
    runs = resolve(read(CONFIGS / "ci.yaml")).runs
    modules = {name: registry.lookup("solver", name).build.__module__ for name in registry.names("solver")}
    solvers = {name for name, module in modules.items() if ".peers." not in module}
    assert {run["solver"]["name"] for run in runs} >= solvers
    assert {run["reduction"]["name"] for run in runs} == {*registry.names("reduction")}


@pytest.mark.exhaustive
def test_no_two_have_one_name():
    names = [resolve(read(path)).name for path in SHIPPED]
    assert len(names) == len(set(names))


TWINS = ["pdprox/table1", *(f"pdprox/figure{k}" for k in range(2, 9))]
AGM = ["svm_bias", "l1_svm", "f1", "crf_ocr", "m3n_ocr", "lpboost", "elastic_net_ball", "adaptive_L"]


def test_every_configuration_of_agm_has_its_twin():
    names = {path.stem for path in (CONFIGS / "agm").glob("*.yaml")}
    assert names == {*AGM, *(f"{name}_small" for name in AGM)}


@pytest.mark.parametrize("figure", [*TWINS, *(f"agm/{name}" for name in AGM)])
def test_a_small_twin_asks_for_less(figure):
    full, small = (resolve(read(CONFIGS / f"{figure}{suffix}.yaml")) for suffix in ("", "_small"))
    assert (full.name, small.name) == (figure.replace("/", "_"), figure.replace("/", "_") + "_small")
    assert {run["solver"]["name"] for run in small.runs} == {run["solver"]["name"] for run in full.runs}
    assert {run["reduction"]["name"] for run in small.runs} == {run["reduction"]["name"] for run in full.runs}
    assert len(small.runs) <= len(full.runs)


@pytest.mark.parametrize(
    "name", ["accelerated_sdca/figure3", "accelerated_sdca/figure3_small", "reproduction/accelerated_sdca"]
)
def test_acceleration_is_compared_with_the_same_draws(name):
    methods = [run["solver"] for run in resolve(read(CONFIGS / f"{name}.yaml")).runs]
    dual = [solver for solver in methods if solver["name"] != "fista"]
    assert {solver["name"] for solver in dual} == {"prox_sdca", "accelerated_prox_sdca"}
    assert {solver.get("sampling") for solver in dual} == {"uniform"}  # Figure 1 of the paper: "Randomly pick i"


@pytest.mark.parametrize("name", ["agm", "agm_boosting", "agm_weights", "pdprox_budget", "proximal_point"])
def test_no_gap_ends_the_runs_whose_passes_to_gaps_are_counted(name):
    """Where a gap is to end a run, evaluation looks for bounds on the way, and the gaps after them are not its own."""
    runs = resolve(read(CONFIGS / "reproduction" / f"{name}.yaml")).runs
    assert runs and not any({"gap", "relative_gap"} & set(run["stop"]) for run in runs)


def test_own_gaps_are_without_the_bounds_of_evaluation(monkeypatch):
    monkeypatch.syspath_prepend(CONFIGS / "reproduction")
    from measures import own_gaps

    gaps = np.array([3.0, 1.0, 0.1])
    for helped, last in ([[2, 0.7]], 0.7), ([[2, None]], np.inf), ([], 0.1):
        run = SimpleNamespace(column={"gap": gaps}.get, result=SimpleNamespace(info={"helped": helped}))
        assert own_gaps(run).tolist() == [3.0, 1.0, last]
    assert gaps[2] == 0.1


def test_groups_of_the_memset_features():
    sizes = [4**k for k in (1, 2, 3) for _ in combinations(range(7), k)]  # positions, pairs and triples of 4 letters
    assert [int(size) for size in (CONFIGS / "pdprox" / "memset_groups.txt").read_text().split()] == sizes
    assert (len(sizes), sum(sizes)) == (63, 2604)
