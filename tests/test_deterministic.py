"""Solvers that draw no random numbers: the declaration is true of every one, and their runs are made once."""

from dataclasses import replace
from itertools import islice

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from runs import REGULARIZERS

from rrmbench import Iterate, registry
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng


def problem_for(solver):
    """A problem that the solver takes."""
    named = oracles.SOLVERS[solver].oracle.problems
    if named:
        return oracles.problem(*named[0], n=60, d=12)
    some = (
        oracles.problem("smoothed_hinge", REGULARIZERS["elastic_net"], n=500),  # enough for samples per feature
        oracles.problem("logistic", REGULARIZERS["l2"], n=500),
        oracles.words("m3n", REGULARIZERS["l2"]),
        oracles.problem("multinomial_logistic", REGULARIZERS["l2"], n=2000),
        oracles.problem("max_of_hinge", REGULARIZERS["l2"], n=2000),
    )
    needs = registry.lookup("solver", solver).needs
    return next((p for p in some if not lacking(needs, p.traits)), oracles.problem("hinge", REGULARIZERS["l2"], n=500))


def bits(mapping, p, seed, count):
    return [x.w.tobytes() for x in islice(registry.build_solver(mapping)(p, None, Rng(seed)), count)]


@pytest.mark.core(16)
@pytest.mark.parametrize("solver", oracles.SOLVERS)
def test_a_solver_is_deterministic_if_and_only_if_two_seeds_give_the_same_bits(solver):
    if registry.lookup("solver", solver).uninstalled:
        pytest.skip(registry.lookup("solver", solver).uninstalled)
    mapping = {"name": solver, **oracles.SOLVERS[solver].example}
    p, count = (
        problem_for(solver),
        40 if any(late in solver for late in ("pdprox", "newton", "ssnal")) else 4,
    )  # w moves
    same = bits(mapping, p, 0, count) == bits(mapping, p, 1, count)
    declared = registry.build_solver(mapping).deterministic
    assert same if declared else not same or solver not in oracles.OWN_SOLVERS  # cyanure draws on larger data only


@pytest.mark.parametrize("solver", ["pdprox_dual", "pdprox_primal", "pdprox_accelerated", "pdprox_restarted"])
def test_whether_a_solver_draws_may_depend_on_its_parameters(solver):
    build = registry.build_solver
    assert build({"name": solver, "constant": "data"}).deterministic
    assert not build({"name": solver, "constant": "spectral"}).deterministic


def test_pegasos_with_all_samples_draws_nothing():
    build = registry.build_solver
    assert build({"name": "pegasos", "sampling": "all"}).deterministic
    assert not build({"name": "pegasos", "sampling": "uniform"}).deterministic
    p = oracles.problem("hinge", REGULARIZERS["l2"])
    assert len({tuple(bits({"name": "pegasos", "sampling": "all"}, p, seed, 6)) for seed in (0, 1)}) == 1


@pytest.mark.parametrize("reduction", oracles.REDUCTIONS)
def test_the_reductions_of_the_package_draw_nothing_by_themselves(reduction):
    mapping = {"name": reduction, **oracles.REDUCTIONS[reduction].example}
    for solver, expected in (("fista", True), ("svrg", False)):
        if reduction == "solve_dual" and solver == "svrg":
            continue  # takes single rows
        assert registry.build_solver(solver, mapping).deterministic == expected


def test_a_solver_that_draws_against_its_word_fails_its_run():
    def drawing(problem, start, rng):
        yield Iterate(np.zeros(problem.shape))
        rng.integers(3, 1)

    made = replace(registry.lookup("solver", "fista"), build=drawing, name="drawing").solver({})
    with pytest.raises(RrmbenchError, match="drawing draws random numbers though it is declared deterministic"):
        list(made(oracles.problem("squared", oracles.L2), None, Rng(0)))


@settings(max_examples=20, deadline=None)
@given(seeds=st.lists(st.integers(0, 2**40), min_size=1, max_size=4, unique=True))
def test_seeds_multiply_what_draws_and_nothing_else(seeds, tmp_path_factory):
    from rrmbench.config import read, resolve

    folder = tmp_path_factory.mktemp("plan")
    (folder / "toy.txt").write_text("1 1:1 2:2\n-1 1:2 2:1\n")
    text = "name: a\ndataset: toy.txt\nloss: squared\nregularizer: {name: l2, strength: 1}\n"
    methods = "solver: [agd, prox_sdca, {name: pdprox_dual, constant: [data, spectral]}]\n"
    (folder / "a.yaml").write_text(f"{text}{methods}seed: {seeds}\n")
    runs = resolve(read(folder / "a.yaml")).runs
    of = {name: [run["seed"] for run in runs if run["solver"]["name"] == name] for name in ("agd", "prox_sdca")}
    assert of == {"agd": [0], "prox_sdca": seeds}
    assert sorted(run["seed"] for run in runs if run["solver"]["name"] == "pdprox_dual") == sorted([0, *seeds])


def test_deterministic_runs_are_made_once_and_said_to_be(lab):
    config = lab.config(solver=["agd", "prox_sdca"], seed=[3, 4], stop={"passes": 2})
    planned = lab.run(config, "--dry-run").out
    assert planned.count("deterministic: once") == 1
    assert "3 runs" in planned
    assert lab.run(config).code == 0
    shown = lab.cli("show", lab.out).out
    assert shown.count("deterministic: once") == 1
    assert "2 seeds" in shown
    shown = lab.cli("show", lab.out, "--runs").out
    assert "seed 3" in shown and "seed 4" in shown
    found = {(r.spec["solver"]["name"], r.spec["seed"], r.info.get("deterministic", False)) for r in lab.results()}
    assert found == {("agd", 0, True), ("prox_sdca", 3, False), ("prox_sdca", 4, False)}
    drawn = lab.cli("plot", lab.out, "--format", "svg")
    assert drawn.code == 0, drawn.err
    (figure,) = lab.out.rglob("*.svg")
    assert "medians over 2 seeds" in figure.read_text()
    again = lab.run(config, "--set", "seed=[4, 5]")
    assert "2 of 3 runs were done before" in again.out  # agd, and one seed


def test_seeds_of_data_sets_make_runs_of_their_own(lab):
    data = {"path": "toy.txt", "split": 0.5, "split_seed": [0, 1]}
    lab.run(lab.config(dataset=data, solver="agd", seed=[0, 1], stop={"passes": 2}))
    first, second = lab.results()
    assert {first.spec["dataset"]["split_seed"], second.spec["dataset"]["split_seed"]} == {0, 1}
    assert first.trace["primal"][-1] != second.trace["primal"][-1]


@pytest.mark.parametrize(("only", "solvers"), [("seed=4", {"agd", "prox_sdca"}), ("solver=agd", {"agd"})])
def test_only_a_seed_keeps_what_is_the_same_for_every_seed(lab, only, solvers):
    lab.run(lab.config(solver=["agd", "prox_sdca"], seed=[3, 4], stop={"passes": 2}), "--only", only)
    assert {r.spec["solver"]["name"] for r in lab.results()} == solvers
    assert len(lab.results()) == len(solvers)


def test_only_a_seed_that_nobody_has_is_refused(lab):
    ran = lab.run(lab.config(solver=["agd", "prox_sdca"], seed=[3, 4]), "--only", "seed=5")
    assert ran.code == 2
    assert "the values are: 3, 4" in ran.err


@pytest.mark.parametrize("seed", ["hello", "-5", "false", "[]", "1.5", "[3, x]"])
def test_only_what_is_no_seed_is_refused_where_seeds_change_nothing(lab, seed):
    config = lab.config(solver="agd", seed=[3, 4], stop={"passes": 1})
    lab.run(config)
    for ran in (
        lab.run(config, "--only", f"seed={seed}", "--dry-run"),
        lab.cli("show", lab.out, "--only", f"seed={seed}"),
    ):
        assert ran.code == 2
        assert f"--only seed={seed}: found " in ran.err and "allowed is a whole number of at least 0" in ran.err
