"""Configuration files to runs: the contract's example, grids, cases, overrides, filters, and mistakes."""

import json
import subprocess
import sys
import textwrap

import pytest

from rrmbench.config import read, resolve, select, validate
from rrmbench.errors import RrmbenchError

BASE = """\
dataset: tiny.txt
loss: squared
regularizer: {name: l2, strength: 0.1}
solver: prox_sdca
"""

MANY = list(range(1, 1001))

PLUGIN = '''
from rrmbench import registry
from rrmbench.parameters import Positive

@registry.solver(needs={"smooth"}, aliases=("%(prefix)s_alias",))
def %(prefix)s_solver(problem, start, rng, *, step_scale: Positive = 1.0):
    """A solver for smooth losses."""
    yield

@registry.solver(needs={"%(prefix)s_trait"})
def %(prefix)s_odd(problem, start, rng):
    """A solver that needs what nothing gives."""
    yield

@registry.regularizer
def %(prefix)s_regularizer(*, strength: Positive):
    """Never built here."""
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a data file and one with a registered data set, away from the user's own registry."""
    registered = tmp_path / "cache" / "datasets"
    registered.mkdir(parents=True)
    for name in ("registered", "registered_test"):
        (registered / f"{name}.yaml").write_text(f"{{title: t, task: binary, n: 2, d: 2, file: {{name: {name}}}}}")
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("tiny.txt", "other.txt", "no"):
        (tmp_path / name).write_text("1 1:1 2:1\n-1 1:0.5\n")
    return tmp_path


@pytest.fixture
def plan(folder):
    """Write a configuration, read it with `--set` texts and resolve it."""

    def make(text, *sets, name="config.yaml"):
        (folder / name).write_text(textwrap.dedent(text))
        return resolve(read(folder / name, sets))

    return make


@pytest.fixture
def message(folder):
    """The error message of a configuration, without the folder."""

    def make(text, *sets):
        (folder / "config.yaml").write_text(textwrap.dedent(text))
        with pytest.raises(RrmbenchError) as error:
            resolve(read(folder / "config.yaml", sets))
        return str(error.value).replace(f"{folder}/", "")

    return make


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    """The text of the plug-in file and its path; it can be loaded once per process only."""
    path = tmp_path_factory.mktemp("plugins") / "config_test_plugin.py"
    path.write_text(PLUGIN % {"prefix": "cfg"})
    return path


def values(plan, *keys):
    """The distinct values of one key over the runs, in order."""
    found = []
    for spec in plan.runs:
        for key in keys:
            spec = spec.get(key, {})
        found.append(spec)
    return [value for i, value in enumerate(found) if value not in found[:i]]


def test_defaults(plan, folder):
    made = plan(BASE, name="my file.yaml")
    assert made.runs == [
        {
            "dataset": {"path": str(folder / "tiny.txt")},
            "loss": {"name": "squared"},
            "regularizer": {"name": "l2", "strength": 0.1},
            "solver": {"name": "prox_sdca"},
            "reduction": {"name": "none"},
            "seed": 0,
            "stop": {"passes": 100.0},
            "trace": {"every": 1.0, "growth": 1.0},
        }
    ]
    assert made.skipped == []
    assert made.name == "my_file"
    assert made.reference == {"seconds": 60.0}
    assert made.limit == 3600.0
    assert made.plot == {"x": "passes", "y": "suboptimality"}
    assert not made.serial


CONTRACT = """\
name: lasso_rcv1
dataset: {name: rcv1_train, scale: mean_norm}
loss: squared
regularizer: {name: l1, strength: [1.0e-4, 1.0e-5, 1.0e-6]}
solver: [apcg, prox_sdca]
reduction:
  - {name: regularize, sigma: [1.0e-3, 1.0e-4, 1.0e-5]}
  - {name: adapt_reg, sigma: auto}
seed: [0, 1, 2]
stop: {passes: 100, gap: 1.0e-10, seconds: 600}
trace: {every: 1}
plot: {rows: regularizer.strength, columns: dataset, x: seconds, y: suboptimality, ylim: [1e-8, 1]}
"""


def test_product_of_the_contract(plan):
    made = plan(CONTRACT)
    assert len(made.runs) == 3 * 2 * 4 * 3
    assert made.skipped == []
    assert [spec["seed"] for spec in made.runs[:4]] == [
        0,
        1,
        2,
        0,
    ]  # the seed runs fastest, the data set slowest
    assert values(made, "regularizer", "strength") == [1e-4, 1e-5, 1e-6]
    assert values(made, "reduction", "sigma") == [1e-3, 1e-4, 1e-5, "auto"]
    assert made.limit == 3 * 600 + 60
    assert made.serial
    assert json.loads(json.dumps(made.config)) == made.config


def test_skipped_combinations_say_why_and_what_would_help(plan):
    made = plan(BASE + "reduction: [none, {name: regularize, sigma: 1e-3}]\n", "regularizer={name: l1, strength: 1}")
    assert values(made, "reduction", "name") == ["regularize"]
    [(spec, reason)] = made.skipped
    assert spec["reduction"] == {"name": "none"}
    assert reason.startswith(
        "prox_sdca needs a strongly convex regularizer; l1 is not strongly convex "
        "and reduction 'none' does not make it so (try "
    )
    assert "adapt_reg" in reason
    assert "smooth" not in reason.split("(try")[1]


def test_every_combination_skipped(message):
    text = message(BASE + "reduction: none\n", "regularizer={name: l1, strength: [1, 2]}")
    assert text.startswith("config.yaml: every combination is skipped:\n  prox_sdca needs")
    assert text.count("prox_sdca needs") == 1


def test_nested_reductions_are_grids_and_give_together(plan):
    made = plan(
        BASE + "reduction: {name: adapt_reg, inside: {name: smooth, mu: [1e-2, 1e-3]}}\n",
        "regularizer={name: l1, strength: 1}",
    )
    assert [spec["reduction"] for spec in made.runs] == [
        {"name": "adapt_reg", "inside": {"name": "smooth", "mu": mu}} for mu in (1e-2, 1e-3)
    ]
    swapped = plan(
        BASE + "reduction: {name: smooth, mu: 1, inside: adapt_reg}\n", "regularizer={name: l1, strength: 1}"
    )
    assert len(swapped.runs) == 1  # what the inner one gives counts


def test_duplicates_are_removed(plan):
    made = plan(BASE + "seed: [0, 1, 0]\n", "loss=[squared, {name: squared}]", "regularizer.strength=[0.1, 1e-1]")
    assert [spec["seed"] for spec in made.runs] == [0, 1]


def test_an_int_and_a_float_are_one_run(plan):
    assert plan(BASE, "stop.passes=20", "regularizer.strength=1").runs == (
        plan(BASE, "stop.passes=2e1", "regularizer.strength=1.0").runs
    )


def test_a_data_set_called_no(plan, folder):
    assert values(plan(BASE, "dataset=no"), "dataset") == [{"path": str(folder / "no")}]


def test_files_are_sought_beside_the_configuration_then_in_the_working_directory(plan, folder, monkeypatch):
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name in ("tiny.txt", "mine.txt"):
        (elsewhere / name).write_text("1 1:1\n-1 1:2\n")
    monkeypatch.chdir(elsewhere)
    made = plan(
        BASE,
        "dataset=[tiny.txt, {path: mine.txt, test: tiny.txt}, {name: registered, test: registered_test}]",
    )
    assert values(made, "dataset") == [
        {"path": str(folder / "tiny.txt")},
        {"path": str(elsewhere / "mine.txt"), "test": str(folder / "tiny.txt")},
        {"name": "registered", "test": "registered_test"},
    ]


CASES = """\
loss: squared
solver: prox_sdca
regularizer: {name: l2, strength: 1}
cases:
  - dataset: {path: tiny.txt, scale: unit_rows}
    regularizer: {name: l2, strength: [1e-1, 1e-2]}
  - dataset: [{path: other.txt, scale: mean_norm}, registered]
    stop: {passes: 5, seconds: 10}
"""


def test_cases_are_a_union_of_overrides(plan):
    made = plan(CASES)
    found = [(list(s["dataset"].values())[-1], s["regularizer"]["strength"], s["stop"]) for s in made.runs]
    assert found == [
        ("unit_rows", 0.1, {"passes": 100.0}),
        ("unit_rows", 0.01, {"passes": 100.0}),
        ("mean_norm", 1.0, {"passes": 5.0, "seconds": 10.0}),
        ("registered", 1.0, {"passes": 5.0, "seconds": 10.0}),
    ]
    assert made.limit == 3600.0  # one case has no limit in seconds


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
    renamed = plan(text, "reduction.inside=none", "reduction.inside={name: smooth, mu: 5}", "reduction.inside=smooth")
    assert [spec["reduction"]["inside"] for spec in renamed.runs] == [{"name": "smooth", "mu": 5.0}] * 2


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
    [kept] = select([first, second], ["seed=5"])
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


MISTAKES = {
    "unknown_key": (
        "sovler: gd\n" + BASE,
        "config.yaml:1: sovler: unknown key; did you mean 'solver'? (allowed: name,",
    ),
    "unknown_name": (
        BASE.replace("squared", "sqared"),
        "config.yaml:2: loss: unknown loss 'sqared'; did you mean 'squared'?",
    ),
    "unknown_name_in_a_list": (
        BASE.replace("solver: prox_sdca", "solver:\n  - prox_sdca\n  - prox_sdcaa"),
        "config.yaml:6: solver[1]: unknown solver 'prox_sdcaa'; did you mean 'prox_sdca'?",
    ),
    "unknown_parameter": (
        BASE.replace("{name: l2, strength: 0.1}", "\n  name: l2\n  stregth: 0.1"),
        "config.yaml:5: regularizer.stregth: regularizer 'l2' has no such parameter (it has: strength); "
        "did you mean 'strength'?",
    ),
    "missing_parameter": (
        BASE.replace(", strength: 0.1", ""),
        "config.yaml:3: regularizer: regularizer 'l2' needs the parameter 'strength'",
    ),
    "negative": (
        BASE.replace("0.1", "[0.1, -1]"),
        "config.yaml:3: regularizer.strength: found -1, allowed is greater than ",
    ),
    "not_a_number": (
        BASE.replace("0.1", "much"),
        "config.yaml:3: regularizer.strength: found 'much', allowed is",
    ),
    "boolean": (BASE.replace("0.1", "true"), "config.yaml:3: regularizer.strength: found True, allowed is"),
    "nan": (BASE.replace("0.1", ".nan"), "config.yaml:3: regularizer.strength: found nan, allowed is"),
    "nested_list": (
        BASE.replace("0.1", "[[0.1, 1]]"),
        "config.yaml:3: regularizer.strength: found [0.1, 1], allowed is",
    ),
    "empty_grid": (BASE.replace("0.1", "[]"), "config.yaml:3: regularizer.strength: the grid is empty"),
    "empty_list": (BASE.replace("prox_sdca", "[]"), "config.yaml:4: solver: the list is empty"),
    "no_name": (
        BASE.replace("name: l2, ", ""),
        "config.yaml:3: regularizer: found {'strength': 0.1}, needed is a name",
    ),
    "number_for_name": (
        BASE.replace("squared", "3"),
        "config.yaml:2: loss: found 3, allowed is a name, a mapping",
    ),
    "null": (BASE.replace("squared", "~"), "config.yaml:2: loss: found None, allowed is a name, a mapping"),
    "missing_key": ("dataset: tiny.txt\nloss: squared\n", "config.yaml: the key 'solver' is missing"),
    "missing_in_case": (
        BASE.replace("dataset: tiny.txt\n", "") + "cases:\n  - dataset: no\n  - seed: 1\n",
        "config.yaml:6: cases[1]: the key 'dataset' is missing",
    ),
    "case_key": (
        BASE + "cases:\n  - {plot: {}}\n",
        "config.yaml:6: cases[0].plot: this key is for the whole file",
    ),
    "case_unknown_key": (
        BASE + "cases:\n  - {lss: hinge}\n",
        "config.yaml:6: cases[0].lss: unknown key; did you mean 'loss'",
    ),
    "case_number": (
        BASE + "cases: [3]\n",
        "config.yaml:5: cases[0]: found 3, allowed is a mapping of the keys dataset",
    ),
    "empty_cases": (BASE + "cases: []\n", "config.yaml:5: cases: found [], allowed is a list of mappings"),
    "case_value": (
        BASE + "cases:\n  - seed: 1\n  - regularizer: {name: l2, strength: -1}\n",
        "config.yaml:7: cases[1].regularizer.strength: found -1",
    ),
    "duplicate_key": (BASE + "loss: hinge\n", "config.yaml:5:1: duplicate key 'loss' (first on line 2)"),
    "empty_file": ("# nothing\n", "config.yaml: the file is empty"),
    "list_file": (
        "- a\n- b\n",
        "config.yaml: found ['a', 'b'], allowed is a mapping of the keys name, dataset",
    ),
    "stop_word": (
        BASE + "stop: {passes: many}\n",
        "config.yaml:5: stop.passes: found 'many', allowed is a number greater than 0",
    ),
    "stop_list": (
        BASE + "stop:\n  gap: 1e-3\n  passes: [1, 2]\n",
        "config.yaml:7: stop.passes: found [1, 2], allowed",
    ),
    "stop_zero": (
        BASE + "stop: {gap: 0}\n",
        "config.yaml:5: stop.gap: found 0, allowed is a number greater than 0",
    ),
    "stop_infinite": (BASE + "stop: {gap: .inf}\n", "config.yaml:5: stop.gap: found inf, allowed"),
    "stop_empty": (
        BASE + "stop: {}\n",
        "config.yaml:5: stop: found no rule, needed is at least one of passes, gap,",
    ),
    "stop_number": (
        BASE + "stop: 100\n",
        "config.yaml:5: stop: found 100, allowed is a mapping of the keys passes,",
    ),
    "stop_key": (
        BASE + "stop: {passses: 3}\n",
        "config.yaml:5: stop.passses: unknown key; did you mean 'passes'? (allowed: passes, gap,",
    ),
    "trace": (
        BASE + "trace: {growth: 0.5}\n",
        "config.yaml:5: trace.growth: found 0.5, allowed is a number of at least 1",
    ),
    "seed_negative": (
        BASE + "seed: [0, -1]\n",
        "config.yaml:5: seed: found [0, -1], allowed is a whole number of",
    ),
    "seed_float": (BASE + "seed: 1.5\n", "config.yaml:5: seed: found [1.5], allowed is a whole number"),
    "seed_empty": (BASE + "seed: []\n", "config.yaml:5: seed: the list is empty"),
    "limit": (BASE + "limit: -3\n", "config.yaml:5: limit: found -3, allowed is a number greater than 0"),
    "reference": (
        BASE + "reference: {seconds: no}\n",
        "config.yaml:5: reference.seconds: found 'no', allowed is a number",
    ),
    "name": (BASE + "name: ../up\n", "config.yaml:5: name: found '../up', allowed are letters"),
    "plot_y": (
        BASE + "plot: {y: gpa}\n",
        "config.yaml:5: plot.y: found 'gpa', allowed is one of suboptimality, gap,",
    ),
    "plot_rows": (
        BASE + "plot: {rows: regulariser}\n",
        "config.yaml:5: plot.rows: found 'regulariser', allowed is a",
    ),
    "plot_ylim": (
        BASE + "plot: {ylim: [1]}\n",
        "config.yaml:5: plot.ylim: found [1], allowed is two numbers",
    ),
    "tune": (
        BASE + "tune: {grid: {solver.step_scal: '2^[-10..10]'}}\n",
        "config.yaml:5: tune.grid.solver.step_scal: no solver of this file has such a parameter; did you mean 'solver.",
    ),
    "tune_text": (
        BASE + "tune: {grid: {solver.step_scale: '2^[-10,10]'}}\n",
        "config.yaml:5: tune.grid.solver.step_scale: found '2^[-10,10]', allowed is a list of numbers or a text like",
    ),
    "tune_keep": (
        BASE + "tune: {grid: {}, keep: worst}\n",
        "config.yaml:5: tune.keep: found 'worst', allowed is best",
    ),
    "tune_grid": (BASE + "tune: {keep: best}\n", "config.yaml:5: tune.grid: missing"),
    "dataset_key": (
        BASE.replace("tiny.txt", "\n  path: tiny.txt\n  scael: none"),
        "config.yaml:3: dataset.scael: unknown key 'scael'; did you mean 'scale'?",
    ),
    "dataset_name": (
        BASE.replace("tiny.txt", "registred"),
        "config.yaml:1: dataset.name: unknown data set 'registred'; did",
    ),
    "dataset_path": (
        BASE.replace("tiny.txt", "./none.txt"),
        "config.yaml:1: dataset.path: no such file: ./none.txt",
    ),
    "plugin_path": (
        BASE.replace("prox_sdca", "{path: none.py, name: a}"),
        "config.yaml:4: solver.path: no such file: none.py",
    ),
    "box": (
        BASE.replace("{name: l2, strength: 0.1}", "{name: box, lower: 2, upper: 1}"),
        "config.yaml:3: regularizer box: found lower = 2.0, upper = 1.0",
    ),
    "tune_overflow": (
        BASE + "tune: {grid: {solver.output: '10^[0..400]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 10^309, allowed are values from 5e-324 to 1.7e308",
    ),
    "tune_underflow": (
        BASE + "tune: {grid: {solver.output: '{2,3}*10^[-400..0]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 2 * 10^-400, allowed are values from",
    ),
    "tune_of_zero": (
        BASE + "tune: {grid: {solver.output: '0^[-5..5]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 0^-5, allowed are values from",
    ),
    **{
        f"tune_{name}": (
            BASE + f"tune:\n  grid:\n    solver.output: '{grid}'\n",
            f"config.yaml:7: tune.grid.solver.output: found '{grid[:100]}",
        )
        for name, grid in {
            "exponents": "2^[-1000000..1000000]",
            "long_exponents": f"2^[0..{'9' * 5000}]"[:4000],
            "two_points": "1.2.3^[0..2]",
            "point": ".^[0..2]",
            "nan": "{1,nan}*2^[0..2]",
            "infinite": "{inf}*2^[0..2]",
            "no_factor": "{1,}*2^[0..2]",
        }.items()
    },
    "tune_long_base": (
        BASE + f"tune: {{grid: {{solver.output: '{'9' * 400}^[0..2]'}}}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 9999999999",
    ),
    "tune_value": (
        BASE.replace("prox_sdca", "svrg") + "tune:\n  grid:\n    solver.step_scale: [1, -1]\n",
        "config.yaml:7: tune.grid.solver.step_scale: found -1.0, allowed is greater than 0",
    ),
    "inside_a_data_set": (
        BASE.replace("tiny.txt", "{path: tiny.txt, inside: smooth}"),
        "config.yaml:1: dataset.inside: unknown key 'inside'",
    ),
    "inside_a_loss": (
        BASE.replace("squared", "{name: squared, inside: [1, 2]}"),
        "config.yaml:2: loss.inside: loss 'squared' has no such parameter (it has: none)",
    ),
    "inside_a_solver": (
        BASE.replace("prox_sdca", "{name: prox_sdca, inside: {path: none.py}}"),
        "config.yaml:4: solver.inside: solver 'prox_sdca' has no such parameter",
    ),
    "long_name": (
        BASE + f"name: {'a' * 101}\n",
        f"config.yaml:5: name: found '{'a' * 101}', allowed are letters",
    ),
    "long_data_set": (
        BASE.replace("tiny.txt", "a" * 300),
        f"config.yaml:1: dataset: found '{'a' * 149} ... {'a' * 49}' (302 characters), which cannot be a file: ",
    ),
    "long_path": (
        BASE.replace("tiny.txt", f"{{path: {'a' * 300}}}"),
        f"config.yaml:1: dataset.path: found '{'a' * 149} ... ",
    ),
    "long_test": (
        BASE.replace("tiny.txt", f"{{path: tiny.txt, test: /{'a' * 300}}}"),
        f"config.yaml:1: dataset.test: found '/{'a' * 148} ... ",
    ),
    "long_plugin": (
        BASE.replace("prox_sdca", f"{{path: {'a' * 300}.py}}"),
        f"config.yaml:4: solver.path: found '{'a' * 149} ... ",
    ),
    "long_groups": (
        BASE.replace("{name: l2, strength: 0.1}", f"{{name: group_lasso, strength: 1, groups: {'a' * 300}}}"),
        f"config.yaml:3: regularizer.groups: found '{'a' * 149} ... ",
    ),
    "long_key": (BASE + f"{'a' * 300}: 1\n", "config.yaml:5:1: found a key of 300 characters, allowed are at most 200"),
    "long_text": (
        BASE + f"plot: {{title: '{'a' * 5000}'}}\n",
        "config.yaml:5:15: found a text of 5000 characters, allowed are at most 4096",
    ),
    "nul": (BASE.replace("tiny.txt", '"a\\0b"'), "config.yaml:1:10: found the character '\\x00', allowed are texts"),
    "half_a_pair": (BASE.replace("tiny.txt", '"\\ud800"'), "config.yaml:1:10: found the character '\\ud800'"),
    "no_home": (BASE.replace("tiny.txt", "~nobody_there/x"), "config.yaml:1: dataset: found '~nobody_there/x'"),
    "plugin_that_is_not_there": (
        BASE.replace("prox_sdca", "{path: /nowhere/a.py, name: a}"),
        "config.yaml:4: solver.path: no such file: /nowhere/a.py",
    ),
    "plugin_that_is_a_directory": (
        BASE.replace("prox_sdca", "{path: /usr, name: a}"),
        "config.yaml:4: solver.path: no such file: /usr",
    ),
    "long_integer": (
        BASE.replace("0.1", "1" * 400),
        "config.yaml:3:35: found an integer of 400 digits, allowed are at most 300",
    ),
    "longer_integer": (
        BASE.replace("tiny.txt", f"{{path: tiny.txt, positive: {'1' * 5000}}}"),
        "config.yaml:1:37: found an integer of 5000 digits",
    ),
    "seed_integer": (BASE + f"seed: -{'1' * 400}\n", "config.yaml:5:7: found an integer of 401 digits"),
    "radius": (
        BASE.replace("0.1}", f"0.1, domain: {{ball: {'1' * 400}}}}}"),
        "config.yaml:3:55: found an integer of 400 digits",
    ),
    "beyond_float": (BASE.replace("0.1", "1e400"), "config.yaml:3:35: found 1e400, allowed are numbers up to 1.7e308"),
    "beyond_64_bits": (
        BASE.replace("tiny.txt", "{path: tiny.txt, subset: 9223372036854775808}"),
        "config.yaml:1: dataset.subset: found 9223372036854775808, allowed is a whole number of at most 64 bits",
    ),
    "nan_without_bounds": (
        BASE.replace("squared", "{name: ordinal_hinge, theta_1: .nan}"),
        "config.yaml:2: loss.theta_1: found nan, allowed is a number",
    ),
    "limit_of_no_clock": (BASE + "limit: 1e10\n", "config.yaml:5: limit: found 10000000000.0, allowed is a number"),
    "plot_nan": (
        BASE + "plot: {xlim: [.nan, 1]}\n",
        "config.yaml:5: plot.xlim: found nan, allowed is two numbers [low, high] with low < high",
    ),
    "plot_infinite": (BASE + "plot: {ylim: [1, .inf]}\n", "config.yaml:5: plot.ylim: found inf, allowed is two"),
    "plot_reversed": (BASE + "plot: {ylim: [2, 1]}\n", "config.yaml:5: plot.ylim: found [2, 1], allowed is two"),
    "plot_equal": (BASE + "plot: {ylim: [1, 1]}\n", "config.yaml:5: plot.ylim: found [1, 1], allowed is two"),
    "plot_title": (BASE + "plot: {title: [a]}\n", "config.yaml:5: plot.title: found ['a'], allowed is text"),
    "too_many_runs": (
        BASE.replace("0.1}", f"{list(range(1, 1001))}}}") + f"\nseed: {list(range(2000))}\n",
        "config.yaml:6: seed: found 2,000,000 combinations (here 1,000 regularizer x 2,000 seed), "
        "allowed are 100,000 in a file",
    ),
    "too_many_nested": (
        BASE + "reduction: " + "{name: smooth, mu: [1, 2, 3, 4, 5, 6, 7, 8], inside: " * 20 + "none" + "}" * 20 + "\n",
        "config.yaml:5: reduction: found more than 1e15 combinations (here 1,152,921,504,606,846,976 reduction)",
    ),
    "too_many_in_all": (
        BASE
        + f"seed: {list(range(300))}\ncases:\n"
        + f"  - {{regularizer: {{name: l2, strength: {list(range(1, 301))}}}}}\n" * 2,
        "config.yaml:8: cases[1].regularizer: found 180,000 combinations (here 300 regularizer x 300 seed)",
    ),
    "too_many_beside_none": (
        BASE.replace(
            "prox_sdca", f"{{name: svrg, step_scale: {list(range(1, 1001))}, snapshot: {list(range(1, 1001))}}}"
        )
        + "reduction: {name: smooth, mu: []}\n",
        "config.yaml:4: solver: found 1,000,000 combinations (here 1,000,000 solver)",
    ),
    "too_many_tuned": (
        BASE.replace("prox_sdca", "svrg").replace("squared", "huber")
        + "tune: {grid: {solver.step_scale: '{1,3}*2^[-200..200]', loss.mu: '{1,3}*2^[-200..200]'}}\n",
        "config.yaml:2: loss: found 643,204 combinations (here 802 loss x 802 solver)",
    ),
    "inside": (
        BASE + "reduction:\n  name: adapt_reg\n  inside:\n    name: smooth\n    mu: -1\n",
        "config.yaml:9: reduction.inside.mu: found -1, allowed is",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_say_file_line_key_and_what_is_allowed(message, mistake):
    text, expected = MISTAKES[mistake]
    found = message(text)
    assert found.startswith(expected)
    assert "pydantic" not in found
    assert "\n" not in found


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("stop.pases=3", "--set stop.pases=3: stop.pases: unknown key; did you mean 'passes'?"),
        (
            "stop.passes=many",
            "--set stop.passes=many: stop.passes: found 'many', allowed is a number greater than 0",
        ),
        ("stpo.passes=3", "--set stpo.passes=3: unknown key 'stpo'; did you mean 'stop'?"),
        ("stop", "--set stop: found 'stop', allowed is KEY=VALUE"),
        ("=3", "--set =3: found '=3', allowed is KEY=VALUE"),
        ("loss=hing", "--set loss=hing: loss: unknown loss 'hing'; did you mean 'hinge'?"),
        ("regularizer.strength=-1", "--set regularizer.strength=-1: regularizer.strength: found -1"),
        ("seed=[0, 1", "--set seed=[0, 1: expected ',' or ']'"),
        ("limit.x=3", "config.yaml: limit: found {'x': 3}"),
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


def test_a_plugin_is_a_python_file_without_a_colon_in_its_path(message, folder):
    (folder / "a:b.py").write_text("")
    for name in ("tiny.txt", "a:b.py"):
        text = message(BASE.replace("prox_sdca", f"{{path: '{name}', name: a}}"))
        assert (
            text
            == f"config.yaml:4: solver.path: found '{name}', allowed is a Python file (.py) without ':' in its path"
        )


def test_a_great_label_stays_one(plan):
    made = plan(BASE, "dataset={path: tiny.txt, positive: [1e300, 1e18, 1.0, 1]}")
    assert [repr(value) for value in values(made, "dataset", "positive")] == ["1e+300", "1e+18", "1"]


def test_a_grid_of_test_parts_is_sought_like_one(plan, folder):
    made = plan(BASE, "dataset={path: tiny.txt, test: [other.txt, no]}")
    assert values(made, "dataset", "test") == [str(folder / "other.txt"), str(folder / "no")]


def test_only_compares_lists_as_wholes(plan):
    made = plan(BASE, "regularizer={name: l2, strength: [1, 2], domain: [{box: [0, 1]}, {box: [-1, 1.5]}]}")
    [kept] = select([made], ["regularizer.domain.box=[[-1.0, 1.5]]"])
    assert [spec["regularizer"]["domain"] for spec in kept.runs] == [{"box": [-1, 1.5]}] * 2
    with pytest.raises(RrmbenchError, match=r"the values are: \[0, 1\], \[-1, 1.5\]"):
        select([made], ["regularizer.domain.box=[-1, 1.5]"])


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


def test_several_faults_of_one_part_are_all_told(message):
    assert message(BASE + "stop: {passes: -1, gap: x}\n").splitlines() == [
        "config.yaml:5: stop.passes: found -1, allowed is a number greater than 0",
        "config.yaml:5: stop.gap: found 'x', allowed is a number greater than 0",
    ]


@pytest.mark.parametrize("off", ["false", "none", "~"])
def test_no_reference(plan, off):
    assert plan(BASE + f"reference: {off}\n").reference is None


def test_plugin_in_a_list_by_path_and_by_name(plan, message, plugin):
    text = BASE.replace("prox_sdca", f"[{{path: {plugin}, name: cfg_alias, step_scale: [1, 2]}}, cfg_odd]")
    made = plan(text)
    assert [spec["solver"] for spec in made.runs] == [
        {"name": "cfg_solver", "path": str(plugin), "step_scale": scale} for scale in (1.0, 2.0)
    ]
    assert made.plugins == (str(plugin),)
    [(spec, reason)] = made.skipped
    assert spec["solver"] == {"name": "cfg_odd", "path": str(plugin)}  # a worker must know the file here too
    assert "needs the trait 'cfg_trait'" in reason
    assert "try" not in reason
    [kept] = select([made], ["solver=cfg_alias"])
    assert len(kept.runs) == 2


def test_plugin_name_may_be_left_out_if_it_is_the_only_one(plugin, message):
    text = BASE.replace("{name: l2, strength: 0.1}", f"{{path: {plugin}, strengt: 1}}")
    assert "regularizer 'cfg_regularizer' has no such parameter" in message(text)
    text = BASE.replace("prox_sdca", f"{{path: {plugin}}}")
    assert message(text).endswith("registers the solver cfg_odd, cfg_solver; needed is the name of one")
    assert "registers no loss" in message(BASE.replace("squared", f"{{path: {plugin}, name: hinge}}"))


def test_reading_tells_the_plugins_without_importing_the_mathematics(folder):
    (folder / "mine.py").write_text("raise SystemError('must not be imported')")
    (folder / "config.yaml").write_text(
        "dataset: tiny.txt\nloss: squared\nsolver: a\ncases:\n"
        "  - reduction: {name: b, inside: [{path: mine.py}]}\n  - solver: {path: ./mine.py}\n"
    )
    code = (
        "import sys; from rrmbench.config import read; print(read('config.yaml').plugins, "
        "[m for m in ('numpy', 'numba', 'scipy', 'sklearn', 'pandas') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True).stdout
    assert out.strip() == f"({str(folder / 'mine.py')!r},) []"


def test_validate_counts(folder):
    (folder / "a.yaml").write_text(BASE)
    (folder / "b.yaml").write_text(
        CASES + "  - {dataset: no, regularizer: [{name: l1, strength: 1}, {name: l2, strength: 9}]}\n"
    )
    assert [
        (count.path.name, count.runs, count.skipped) for count in validate([folder / "a.yaml", folder / "b.yaml"])
    ] == [
        ("a.yaml", 1, 0),
        ("b.yaml", 5, 1),
    ]
