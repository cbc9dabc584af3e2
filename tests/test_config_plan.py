"""Configuration files to runs: the contract's example, grids, cases, plug-ins."""

import json
import re
import subprocess
import sys
from collections import defaultdict

import numpy as np
import oracles
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

from rrmbench import Problem, registry
from rrmbench.components import alternatives, lacking
from rrmbench.config import select, validity
from rrmbench.problem.traits import build_loss, build_regularizer

PLUGIN = '''
from rrmbench import registry
from rrmbench.components import alternatives
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


@pytest.fixture(scope="session")
def plugin(tmp_path_factory):
    """The text of the plug-in file and its path; it can be loaded once per process only."""
    path = tmp_path_factory.mktemp("plugins") / "config_test_plugin.py"
    path.write_text(PLUGIN % {"prefix": "cfg"})
    return path


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
    assert reason.startswith("prox_sdca needs a strongly convex regularizer; l1 is not strongly convex (try ")
    assert "adapt_reg" in reason
    assert "smooth" not in reason.split("(try")[1]


@pytest.mark.parametrize(
    "solver, loss, regularizer, bias, says",
    [
        (
            "svrg",
            "logistic",
            "l2",
            "free",
            "svrg needs data in rows and a regularizer that is",
        ),
        (
            "agd",
            "logistic",
            "l2",
            "free",
            "agd needs a strongly convex regularizer, which",
        ),
        (
            "prox_sdca",
            "hinge",
            "l2",
            "minimized",
            "prox_sdca needs data in rows and a loss that is",
        ),
        (
            "celer",
            "hinge",
            "l2",
            "none",
            "celer is for the loss squared with the regularizer elastic_net, l1, group_lasso or l21, or the loss "
            "logistic with the regularizer elastic_net or l1 only, and",
        ),
        ("highs", "logistic", "l1", "none", "highs needs a loss of linear pieces; logistic is not one"),
        ("highs", "hinge", "l2", "none", "highs needs l1, l1inf, linf_norm or bounds, without a square"),
        (
            "svrg",
            "f1",
            "l2",
            "none",
            "svrg needs a loss that is a sum over samples; f1 is not such a sum; it",
        ),
    ],
)
def test_a_reason_names_each_cause_once(message, solver, loss, regularizer, bias, says):
    text = message(
        f"dataset: {{path: tiny.txt, bias: {bias}}}\nloss: {loss}\n"
        f"regularizer: {{name: {regularizer}, strength: 1}}\nsolver: {solver}\nstop: {{gap: 1e-3}}\n"
    )
    reason = text.split("\n  ")[1]
    assert reason.startswith(says), reason
    assert reason.count("bias") == (bias != "none") * 2
    assert reason.count("does not make it so") <= 1


@pytest.mark.parametrize("reduction", ["adapt_reg", "proximal_point"])
def test_what_a_reduction_needs_is_not_told_as_the_need_of_the_solver(message, plan, reduction):
    """pdprox_dual does without smooth losses, but gives nothing by which an epoch could end."""
    parts = "dataset: tiny.txt\nloss: hinge\nregularizer: {name: l1, strength: 1}\nsolver: pdprox_dual\n"
    head = f"{parts}stop: {{gap: 1e-3}}\n"
    assert len(plan(head).runs) == 1
    reason = message(f"{head}reduction: {reduction}\n").split("\n  ")[1]
    assert reason.startswith(f"pdprox_dual in {reduction} needs a smooth loss; hinge is not smooth (try none, ")


def test_what_the_outer_reduction_needs_is_not_told_as_missing_inside(message):
    """The smoothing inside makes losses smooth for fista, and the epochs around it end by what the hinge lacks."""
    head = "dataset: tiny.txt\nloss: hinge\nregularizer: {name: l1, strength: 1}\nsolver: fista\nstop: {gap: 1e-3}\n"
    reason = message(f"{head}reduction: {{name: adapt_reg, inside: {{name: smooth, mu: 1}}}}\n").split("\n  ")[1]
    assert reason.startswith("fista in adapt_reg needs a smooth loss; hinge is not smooth (try ")


def test_a_class_that_a_solver_needs_is_told_by_the_names_of_its_components():
    named = defaultdict(set)
    for kind, build in ("loss", build_loss), ("regularizer", build_regularizer):
        for name in oracles.names(kind):
            part, mu = build(oracles.example(kind, name))
            if kind == "regularizer" or mu == 0.0:
                named[kind, type(part).__name__].add(name)
    needs = set().union(*(registry.lookup("solver", name).needs for name in oracles.names("solver")))
    classes = [need for need in needs if need[0].isupper()]
    assert len(classes) > 5
    for need in classes:
        kinds = [[name for name in all_of if name[0].isupper()] for all_of in alternatives(need)]
        words = validity.needed({" or ".join(map(" and ".join, kinds))})
        told = set(re.split("[, ]+", words)) - {"the", "loss", "regularizer", "or", "with"}
        classes = [cls for all_of in kinds for cls in all_of]
        assert told == set().union(*(named[kind, cls] for kind in ("loss", "regularizer") for cls in classes))


def test_losses_that_a_solver_takes_with_some_regularizers_only_are_told_with_these():
    assert validity.needed({"Squared and L1 or SquaredMulti and BlockNorm or Logistic and L1"}) == (
        "the loss squared or logistic with the regularizer elastic_net or l1, "
        "or the loss squared_multi with the regularizer group_lasso or l21"
    )
    assert lacking({"Squared and L1 or Logistic and Zero"}, {"Squared", "Zero"})
    assert not lacking({"Squared and L1 or Logistic and Zero"}, {"Logistic", "Zero"})


def test_every_trait_that_a_solver_needs_has_words():
    for name in oracles.names("solver"):
        assert "the trait" not in validity.needed(registry.lookup("solver", name).needs), name


@pytest.mark.parametrize(
    "solver, loss, needs",
    [
        ("ssnal", "hinge", "piecewise_linear"),
        ("pegasos", "hinge", "Hinge"),
        ("direct", "squared", "Squared"),
        ("liblinear", "hinge", "Hinge or SquaredHinge or Logistic or EpsilonInsensitive or MaxOfHinge"),
    ],
)
def test_solvers_of_exact_losses_are_skipped_where_losses_are_smoothed(message, plan, solver, loss, needs):
    head = BASE.replace("squared", loss).replace("prox_sdca", solver) + "stop: {gap: 1e-3, passes: 9}\n"
    reductions = "reduction: [{name: smooth, mu: 0.1}, {name: smooth, mu: 0.1, inside: {name: regularize, sigma: 1}}]\n"
    text = message(head + reductions)
    assert text.count("it smooths losses") == 2
    assert text.count(f"{solver} needs them as they are ({needs})") == 1
    assert len(plan(head + "reduction: [none, auto]\n").runs) == 2


def test_a_reduction_gives_one_of_two_needs(plan):
    head = BASE.replace("prox_sdca", "direct") + "stop: {passes: 9}\n"
    made = plan(head + "reduction: [none, {name: regularize, sigma: 1}]\n", "regularizer={name: none}")
    assert values(made, "reduction", "name") == ["regularize"]
    [(_, reason)] = made.skipped
    assert reason.startswith("direct needs a strongly convex regularizer or a free bias; none is not strongly convex")
    assert "regularize" in reason.split("(try")[1]


def test_tuned_parameters_count_as_given(plan):
    nested = "reduction: {name: adapt_reg, inside: smooth}\ntune: {grid: {reduction.inside.mu: [1, 2]}}\n"
    made = plan(BASE.replace("squared", "hinge") + nested)
    assert [spec["reduction"]["inside"]["mu"] for spec in made.runs] == [1.0, 2.0]
    made = plan(BASE.replace(", strength: 0.1", "") + "tune: {grid: {regularizer.strength: [1, 2]}}\n")
    assert values(made, "regularizer", "strength") == [1.0, 2.0]
    made = plan(BASE + "reduction: regularize\ntune: {grid: {reduction.sigma: [1, 2]}}\n")
    assert values(made, "reduction", "sigma") == [1.0, 2.0]


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


def test_none_around_another_reduction_is_skipped_with_the_reason(plan):
    """It is the other one alone, and would be run twice, by two names."""
    made = plan(BASE + "reduction: {name: [none, adapt_reg], inside: {name: smooth, mu: 1}}\n")
    assert [spec["reduction"]["name"] for spec in made.runs] == ["adapt_reg"]
    [(spec, reason)] = made.skipped
    assert spec["reduction"]["name"] == "none"
    assert reason == "reduction: found none around smooth, allowed is smooth alone, which is the same"


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
    longest = CASES.replace("unit_rows}\n", "unit_rows}\n    stop: {seconds: 400}\n")
    assert plan(longest).limit == 3 * 400 + 60  # of the case that may take longest
    assert plan(CASES.replace("seconds: 10", "seconds: 7200")).limit == 3 * 7200 + 60


def test_extra_runs_have_the_time_that_the_reference_asks_for(plan):
    short = BASE + "stop: {seconds: 1}\n"
    assert (plan(short).limit, plan(short).for_reference().limit) == (63.0, 3 * 60 + 60)
    assert plan(short + "reference: {seconds: 5000}\n").for_reference().limit == 3 * 5000 + 60
    assert plan(short + "limit: 30\n").for_reference().limit == 30.0  # which the file says
    assert plan(BASE).for_reference().limit == plan(BASE).limit == 3600.0


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
    unknown = message(text.replace("{path: ", "{name: cfg_solvr, path: "))
    assert unknown.endswith("registers the solver cfg_odd, cfg_solver; did you mean 'cfg_solver'?"), unknown


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


def test_a_zero_with_a_sign_is_zero(plan):
    text = BASE.replace("strength: 0.1", "strength: [0, -0.0, 0.0]").replace("prox_sdca", "agd_adaptive")
    assert [str(run["regularizer"]["strength"]) for run in plan(text).runs] == ["0.0"]


def test_a_loss_of_ones_own_is_not_taken_for_the_one_of_its_class_name():
    """Methods that know the formula of Squared would solve another problem than that of a class of this name."""

    ours, _ = build_loss("squared")

    class Squared(type(ours)):
        pass

    shipped, own = (Problem(np.eye(2), np.ones(2), loss, "none").traits for loss in (ours, Squared(*ours)))
    assert shipped - own == {"Squared"}
    assert all(trait.startswith("Squared_") for trait in own - shipped)
