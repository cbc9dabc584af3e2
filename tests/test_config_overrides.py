"""What `--set` and `--only` change, and `--only` leaves out."""

import pytest
from plans import (
    BASE,
    CASES,
    CONTRACT,
    make_folder,  # noqa: F401
    make_message,  # noqa: F401
    make_plan,  # noqa: F401
    values,
)

from rrmbench.config import select
from rrmbench.errors import RrmbenchError, RrmbenchWarning


def test_set_a_bare_name_keeps_the_parameters_also_in_cases(plan):
    made = plan(CASES, "dataset=registered")
    assert values(made, "dataset") == [
        {"name": "registered", "scale": "unit_rows"},
        {"name": "registered", "scale": "mean_norm"},
        {"name": "registered"},
    ]


def test_set_a_mapping_replaces_all(plan, folder):
    made = plan(CASES, "dataset={path: other.txt}", "regularizer={name: l2, strength: 3}")
    assert values(made, "dataset") == [{"path": str(folder / "other.txt")}]
    assert values(made, "regularizer") == [{"name": "l2", "strength": 3.0}]


def test_set_reaches_the_top_level_and_the_cases_that_override_it(plan):
    made = plan(CASES, "regularizer.strength=[7, 8]", "stop.passes=2", "seed=[3, 4]", "stop.seconds=null")
    assert values(made, "regularizer", "strength") == [7.0, 8.0]
    assert values(made, "stop") == [{"passes": 2.0}]
    assert values(made, "seed") == [3, 4]


def test_set_inside_a_nested_reduction_and_every_entry_of_a_list(plan):
    text = BASE + "reduction: [{name: adapt_reg, inside: smooth}, {name: auto, inside: {name: smooth, mu: 1}}]\n"
    made = plan(text, "reduction.inside.mu=[1e-2, 1e-3]")
    assert [spec["reduction"]["inside"]["mu"] for spec in made.runs] == [1e-2, 1e-3] * 2
    made = plan(text, "reduction.inside={name: smooth, mu: 5}")
    assert [spec["reduction"]["inside"] for spec in made.runs] == [{"name": "smooth", "mu": 5.0}] * 2
    renamed = plan(text.replace("inside: smooth}", "inside: {name: smooth, mu: 5}}"), "reduction.inside=smooth")
    assert [spec["reduction"]["inside"]["mu"] for spec in renamed.runs] == [5.0, 1.0]


def test_only(plan):
    made = plan(CONTRACT)
    only = ["reduction=adapt_reg", "seed=0", "seed=2", "regularizer.strength=1e-4", "dataset=rcv1_train"]
    [kept] = select([made], only)
    found = [(spec["solver"]["name"], spec["reduction"]["name"], spec["seed"]) for spec in kept.runs]
    assert found == [(solver, "adapt_reg", seed) for solver in ("apcg", "prox_sdca") for seed in (0, 2)]
    assert select([made], []) == [made]


def test_only_finds_files_by_stem_name_and_path(plan, folder):
    made = plan(CASES)
    for spelling in ("tiny", "tiny.txt", folder / "tiny.txt"):
        [kept] = select([made], [f"dataset={spelling}"])
        assert len(kept.runs) == 2


def test_only_looks_at_all_files_and_drops_those_without_runs(plan):
    first, second = plan(BASE, name="a.yaml"), plan(BASE, "seed=5", name="b.yaml")
    with pytest.warns(RrmbenchWarning) as told:
        [kept] = select([first, second], ["seed=5"])
    assert kept.name == "b"
    (line,) = (str(warning.message) for warning in told)
    assert line == f"{first.path}: --only seed=5: nothing matches; none of its runs is made"


def test_only_says_of_a_file_that_what_matches_is_skipped(plan):
    first = plan(BASE, "solver=[prox_sdca, fista]", "loss=hinge", name="a.yaml")
    second = plan(BASE, "solver=fista", name="b.yaml")
    with pytest.warns(RrmbenchWarning, match=r"a.yaml: --only solver=fista: all that matches is skipped: .*smooth"):
        [kept] = select([first, second], ["solver=fista"])
    assert kept.name == "b"


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        (["seed=9"], "--only seed=9: no combination matches (the values are: 0, 1, 2)"),
        (["seed=true"], "--only seed=true: no combination matches"),
        (["reduction=adapt_rg"], "did you mean 'adapt_reg'? (the values are: regularize, adapt_reg)"),
        (["loss.gamma=1"], "--only loss.gamma=1: no combination sets that key"),
        (["solver={name: gd}"], "no combination matches (the values are: apcg, prox_sdca)"),
        (["sed=1"], "--only sed=1: unknown key 'sed'; did you mean 'seed'?"),
        (["seed"], "--only seed: found 'seed', allowed is KEY=VALUE"),
        (["reduction=adapt_reg", "reduction.sigma=1e-3"], "no run is left"),
    ],
)
def test_only_that_matches_nothing(plan, only, expected):
    made = plan(CONTRACT)
    with pytest.raises(RrmbenchError) as error:
        select([made], only)
    assert expected in str(error.value)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("stop.pases=3", "--set stop.pases=3: stop.pases: unknown key; did you mean 'passes'?"),
        (
            "stop.passes=many",
            "--set stop.passes=many: stop.passes: found 'many', allowed is a finite number greater than 0",
        ),
        ("stpo.passes=3", "--set stpo.passes=3: unknown key 'stpo'; did you mean 'stop'?"),
        ("stop", "--set stop: found 'stop', allowed is KEY=VALUE"),
        ("stop.passes=", "--set stop.passes=: found no value, allowed is KEY=VALUE; 'null' takes back"),
        ("=3", "--set =3: found '=3', allowed is KEY=VALUE"),
        ("loss=hing", "--set loss=hing: loss: unknown loss 'hing'; did you mean 'hinge'?"),
        ("regularizer.strength=-1", "--set regularizer.strength=-1: regularizer.strength: found -1"),
        ("seed=[0, 1", "--set seed=[0, 1: expected ',' or ']'"),
        ("limit.x=3", "--set limit.x=3: limit: found {'x': 3}"),
        ("solver.sampling.x=1", "--set solver.sampling.x=1: solver.sampling: found {'x': 1}, allowed is "),
        ("solver.0.T0=1", "--set solver.0.T0=1: solver.0: solver 'prox_sdca' has no such parameter"),
        ("reduction.inside=smooth", "--set reduction.inside=smooth: reduction: found {'inside': 'smooth'}, needed is "),
        (
            "regularizer.strength.x=3",
            "--set regularizer.strength.x=3: regularizer.strength is 0.1 and has no key 'x'",
        ),
        ("a..b=3", "--set a..b=3: found 'a..b=3', allowed is KEY=VALUE"),
        ("seed=" + "1" * 400, "--set seed=" + "1" * 145 + " ... "),
        ("dataset=" + "a" * 300, "--set dataset=" + "a" * 142 + " ... "),
        ('name="\\0"', "--set name=\"\\0\": found the character '\\x00'"),
        ("stop" + ".a" * 100 + "=1", "--set stop.a.a"),
        ("loss.inside=3", "--set loss.inside=3: loss.inside: loss 'squared' has no such parameter"),
        ("cases=[]", "--set cases=[]: cases: found [], allowed is a list of mappings"),
    ],
)
def test_bad_overrides_say_which(message, option, expected):
    assert message(BASE, option).startswith(expected)


def test_a_grid_of_tuning_is_replaced_or_added_by_its_key(plan, message):
    text = BASE.replace("prox_sdca", "svrg") + "tune: {grid: {solver.step_scale: [1, 2, 3]}}\n"
    for tuned in text, text.partition("tune:")[0]:
        made = plan(tuned, "tune.grid.solver.step_scale=[4, 5]")
        assert [spec["solver"]["step_scale"] for spec in made.runs] == [4, 5]
    option = "tune.grid.solver.step_scal=[4, 5]"
    assert message(text, option).startswith(
        f"--set {option}: tune.grid.solver.step_scal: no solver of this file has such a parameter"
    )


def test_only_compares_lists_as_wholes(plan):
    made = plan(BASE, "regularizer={name: l2, strength: [1, 2], domain: [{box: [0, 1]}, {box: [-1, 1.5]}]}")
    [kept] = select([made], ["regularizer.domain.box=[[-1.0, 1.5]]"])
    assert [spec["regularizer"]["domain"] for spec in kept.runs] == [{"box": [-1, 1.5]}] * 2
    with pytest.raises(RrmbenchError, match=r"the values are: \[0, 1\], \[-1, 1.5\]"):
        select([made], ["regularizer.domain.box=[-1, 1.5]"])


@pytest.mark.exhaustive
def test_only_with_many_values_looks_each_up(plan):
    made = plan(BASE, f"seed={list(range(20_000))}")
    [kept] = select([made], [f"seed={list(range(0, 20_000, 2))}"])
    assert len(kept.runs) == 10_000
    with pytest.raises(RrmbenchError) as error:
        select([made], ["seed=-1"])
    assert str(error.value).endswith("17, 18, 19, ... (20000 in all))")


def test_the_place_of_an_override_is_that_of_the_newest(message):
    text = BASE.replace("prox_sdca", "[svrg, {name: svrg, step_scale: -1}]")
    assert message(text, "solver=[{name: svrg, step_scale: -2}]").startswith(
        "--set solver=[{name: svrg, step_scale: -2}]: "
    )
    assert message(text, "solver=[{name: svrg}]", "solver.step_scale=-3").startswith("--set solver.step_scale=-3: ")
    assert message(text, "solver.step_scale=3", "solver=[a]").startswith("--set solver=[a]: ")


def test_a_parameter_that_a_bare_name_keeps_is_told_to_be_kept(message, plan):
    text = f"{BASE}reduction: [auto, {{name: smooth, mu: 0.1}}]\n"
    line = text.count("\n")
    said = message(text, "reduction=auto")
    assert said.startswith("--set reduction=auto, which keeps the mu of ") and f":{line}: reduction[1].mu: " in said
    assert plan(text, "reduction=[auto]")


def test_the_same_key_is_not_set_twice(message, plan):
    said = message(BASE, "stop.passes=5", "stop.passes = 6")
    assert said == "--set stop.passes = 6: stop.passes is set already, by stop.passes=5"
    assert values(plan(BASE, "stop={passes: 5}", "stop.gap=1e-3"), "stop") == [{"passes": 5, "gap": 1e-3}]


@pytest.mark.parametrize(
    ("inner", "outer"),
    [
        ("stop.passes=1", "stop={gap: 1}"),
        ("solver.step_scale=2", "solver=[fista]"),
        ("reduction.inside.mu=2", "reduction={name: auto}"),
        ("reference.seconds=5", "reference=false"),
        ("solver.name=saga", "solver=gd"),
    ],
)
def test_what_is_set_inside_a_key_is_not_replaced_with_it(message, inner, outer):
    key, within = outer.partition("=")[0], inner.partition("=")[0]
    said = message(BASE, inner, outer)
    assert said == f"--set {outer}: {key} replaces {within}, which is set already, by {inner}; set {key} first"


def test_a_bare_name_keeps_what_is_set_inside(plan):
    assert values(plan(BASE, "solver.step_scale=2", "solver=fista"), "solver") == [{"name": "fista", "step_scale": 2}]
