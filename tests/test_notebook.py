"""What notebooks call: solve, Solutions with their labels and predictions, figures, and whole experiments."""

import importlib
import json
import subprocess
import sys
import textwrap
import threading
import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from lab import TOY, make_lab  # noqa: F401, a fixture
from scipy.sparse import coo_array, csr_array
from sklearn.datasets import load_breast_cancer, load_iris
from threadpoolctl import threadpool_info

import rrmbench
from rrmbench import registry
from rrmbench.bench.rules import StopRule
from rrmbench.bench.trace import Trace
from rrmbench.bench.warming import warm_up
from rrmbench.errors import RrmbenchError, RrmbenchWarning
from rrmbench.notebook import bar, warming
from rrmbench.numerics import jit

L2 = {"name": "l2", "strength": 1e-3}


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return X / abs(X).max(0), y


@pytest.fixture(scope="module")
def fitted(cancer):
    X, y = cancer
    names = np.array(["malignant", "benign"])[y]
    problem = rrmbench.Problem(X, names, "logistic", L2)
    return [rrmbench.solve(problem, solver, passes=30) for solver in ("fista", {"name": "gd", "step_scale": 0.5})]


@pytest.mark.parametrize("solver", ["clarabel", "liblinear", "fista"])
def test_without_a_rule_a_solver_ends_also_if_it_counts_no_passes(cancer, solver):
    X, y = cancer
    found = rrmbench.solve(rrmbench.Problem(X, y, "squared_hinge" if solver == "fista" else "hinge", L2), solver)
    assert found.status == "done"
    if solver == "fista":
        assert found.reason == "passes"
    else:
        assert found.gap <= 1e-4 * found.trace["primal"].iloc[-1]


def test_labels_may_be_texts_and_come_back_in_predictions(cancer, fitted):
    X, y = cancer
    assert fitted[0].classes_.tolist() == ["benign", "malignant"]
    guess = fitted[0].predict(X)
    assert set(guess) == {"benign", "malignant"}
    assert (guess == np.array(["malignant", "benign"])[y]).mean() > 0.9
    nearby = fitted[0].problem.regularized(0.1).smoothed(0.1).regularized(0.1, np.ones(30))
    assert set(rrmbench.solve(nearby, "fista", passes=30).predict(X)) == {"benign", "malignant"}
    same = rrmbench.solve(rrmbench.Problem(X, y, "logistic", L2), "fista", passes=30)
    np.testing.assert_allclose(same.w, -fitted[0].w)  # benign is 1 here, and the first of the texts
    assert same.classes_.tolist() == [0, 1]
    assert (same.predict(X) == y).mean() == (guess == np.array(["malignant", "benign"])[y]).mean()


def test_none_around_another_reduction_is_refused(fitted):
    inside = {"name": "adapt_reg", "inside": {"name": "none", "inside": "auto"}}
    with pytest.raises(
        rrmbench.RrmbenchError, match=r"^reduction\.inside: found none around auto, allowed is auto alone"
    ):
        rrmbench.solve(fitted[0].problem, "agd", reduction=inside, passes=1)


@pytest.mark.exhaustive
def test_predictions_from_a_frame_take_the_columns_that_the_model_is_of():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 0.0]})
    problem = rrmbench.Problem(X, [1.0, 2.0, 3.0], "squared", L2)
    found = rrmbench.solve(problem.regularized(0.1), "fista", passes=3)
    with pytest.raises(RrmbenchError, match="X: found the column 'b' where the training part has 'a'"):
        found.predict(X[["b", "a"]])
    np.testing.assert_array_equal(found.predict(X), found.predict(X.to_numpy()))


def test_predictions_of_several_targets_are_numbers():
    rng = np.random.default_rng(0)
    rows, targets = rng.normal(size=(30, 4)), rng.normal(size=(30, 3))
    problem = rrmbench.Problem(rows, targets, loss="l2_multi", regularizer={"name": "l2", "strength": 0.1})
    found = rrmbench.solve(problem, "pdprox_dual", passes=5)
    np.testing.assert_array_equal(found.predict(rows[:2]), problem.X.forward(found.w)[:2])


@pytest.mark.parametrize("label", [-1, 1])
def test_predictions_after_constant_labels_are_labels(label):
    rows = np.random.default_rng(0).normal(size=(12, 3)) + 3.0
    found = rrmbench.solve(rrmbench.Problem(rows, np.full(12, label), "logistic", L2), "agd", passes=50)
    assert found.classes_.tolist() == [label]
    assert found.predict(rows).tolist() == [label] * 12
    assert found.predict(-rows).tolist() == [-label] * 12


@pytest.mark.exhaustive
def test_classes_of_a_loss_of_targets_are_predicted():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    found = rrmbench.solve(rrmbench.Problem(X, names, "l2_multi", L2), "pdprox_dual", passes=100)
    assert (found.predict(X) == names).mean() > 0.6


@pytest.mark.exhaustive
def test_f1_predicts_its_two_classes(cancer):
    X, y = cancer
    names = np.array(["malignant", "benign"])[y]
    found = rrmbench.solve(rrmbench.Problem(X, names, "f1", L2), "cutting_planes", passes=60)
    assert found.outputs(X).shape == y.shape
    assert (found.predict(X) == names).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"foo": 1}, "plot: found the option 'foo', allowed is x, xscale, y"),
        ({"style": "paper"}, "plot: found the option 'style'"),
        ({"xscal": "log"}, "did you mean 'xscale'"),
    ],
)
def test_options_of_figures_that_are_not_there(fitted, options, message):
    with pytest.raises(rrmbench.RrmbenchError, match=message):
        rrmbench.plot(fitted[0], **options)
    if "style" not in options:
        with pytest.raises(rrmbench.RrmbenchError, match="plot: found the option"):
            rrmbench.plot("nowhere", **options)


def test_one_text_is_a_list_of_one(lab):
    config = {"dataset": "toy.txt", "loss": "squared", "regularizer": "none", "solver": ["gd", "agd"]}
    (lab.folder / "c.yaml").write_text(json.dumps(config | {"stop": {"passes": 2}, "reference": False}))
    for jobs in (-3, 0, "x"):
        with pytest.raises(rrmbench.RrmbenchError, match="jobs: found"):
            rrmbench.run(lab.folder / "c.yaml", lab.out, jobs=jobs)
    rrmbench.run(lab.folder / "c.yaml", lab.out, only="solver=gd", sets="stop.passes=3", quiet=True, jobs=1)
    assert [(r.spec["solver"]["name"], r.spec["stop"]["passes"]) for r in lab.results("c")] == [("gd", 3)]


@pytest.mark.parametrize("given", [None, 5, [1]])
def test_what_names_no_file_and_no_folder_is_one_message(given):
    with pytest.raises(rrmbench.RrmbenchError, match=r"run: found .*, allowed is a YAML file"):
        rrmbench.run(given)
    with pytest.raises(rrmbench.RrmbenchError, match=r"load_results: found .*, needed is the path of a folder"):
        rrmbench.load_results(given)


@pytest.mark.exhaustive
def test_predictions_of_classes_targets_and_numbers():
    X, y = load_iris(return_X_y=True)
    names = load_iris().target_names[y]
    solution = rrmbench.solve(rrmbench.Problem(X, names, "max_of_hinge", L2), "prox_sdca", passes=30)
    assert (solution.predict(X) == names).mean() > 0.9
    assert (solution.predict(X[:1].tolist()) == names[:1]).all()
    numbers = rrmbench.solve(rrmbench.Problem(X[:, :3], X[:, 3], "squared", L2), "fista", passes=50)
    assert numbers.classes_ is None
    np.testing.assert_array_equal(numbers.predict(X[:, :3]), numbers.problem.X.forward(numbers.w))
    biased = rrmbench.Problem(X[:, :3], X[:, 3], "squared", L2, minimized_bias=True)
    found = rrmbench.solve(biased, "fista", passes=200)
    z = found.predict(X[:, :3])
    assert np.mean(z) == pytest.approx(np.mean(X[:, 3]))  # the best bias of squares
    with pytest.raises(rrmbench.RrmbenchError, match="found 4 columns, the model has 3"):
        numbers.predict(X)


def test_solutions_and_problems_have_a_short_repr(fitted):
    problem = fitted[0].problem
    assert repr(problem) == "Problem(Logistic, Zero, n=569, w=(30,), l2=0.001)"
    text = repr(fitted[1])
    assert text.startswith("Solution(method: gd(step_scale=0.5), status: done (passes) after 30.5 passes")
    assert len(text) < 200
    assert "gd(step_scale=0.5)" in fitted[1]._repr_html_()
    assert "<table>" in fitted[0]._repr_html_()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1.0, 2.0]] * 4, [0, 1, 0, 1], None),
        (pd.DataFrame(np.eye(4)), pd.Series([0, 1, 0, 1]), None),
        (np.eye(4).astype(object), np.array([0, 1, 0, 1], dtype=object), None),
        (np.eye(4).astype(str), [0, 1, 0, 1], "X: found <U32 of the shape"),
        (np.arange(4.0), [0, 1, 0, 1], r"X: found float64 of the shape \(4,\)"),
        (np.eye(3), [0, 1, 0, 1], "y has 4 entries, X has 3 rows"),
        (np.eye(4), ["a", "b", "c", "a"], "a binary loss needs two label values"),
        (np.eye(4), ["a", "b", None, "a"], "y: found an array of object"),
        (np.eye(4), np.array([10**400, 1, 2, 1], dtype=object), "y: found an array of object"),
        (None, [0, 1], "X: found object of the shape"),
    ],
)
def test_input_is_taken_as_by_scikit_learn_or_refused_clearly(X, y, message):
    if message is None:
        assert rrmbench.Problem(X, y, "hinge", L2).n == 4
        return
    with pytest.raises(rrmbench.RrmbenchError, match=message):
        rrmbench.Problem(X, y, "hinge", L2)


def test_solve_wants_a_problem(cancer):
    with pytest.raises(rrmbench.RrmbenchError, match=r"found tuple, needed is rrmbench\.Problem"):
        rrmbench.solve(cancer, "fista")


# figures


def test_what_was_made_before_the_package_was_imported_anew_is_told(fitted):
    for cls, ask in (rrmbench.Problem, lambda old: rrmbench.solve(old, "agd")), (type(fitted[0]), rrmbench.plot):
        old = type(cls.__name__, (), {"__module__": cls.__module__})()
        with pytest.raises(RrmbenchError, match=f"found {cls.__name__} of an earlier import of rrmbench: make it anew"):
            ask(old)


def test_solves_in_threads_take_turns(cancer):
    """So that no clock has the work of another, and BLAS is left with as many threads as it had."""
    X, y = cancer
    problem, spans = rrmbench.Problem(X, y, "logistic", L2), []

    @registry.solver(needs={"smooth"})
    def slow(problem, start, rng):
        begun = time.monotonic()
        rrmbench.solve(rrmbench.Problem(X, y, "logistic", L2), "gd", passes=2)  # one inside waits for nobody
        yield rrmbench.Iterate(problem.start(start))
        yield rrmbench.Iterate(problem.start(start) + 1.0, passes=1.0)
        spans.append((begun, time.monotonic()))

    before = [pool["num_threads"] for pool in threadpool_info()]
    threads = [threading.Thread(target=rrmbench.solve, args=(problem, slow), kwargs={"passes": 2}) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    spans.sort()
    assert len(spans) >= 4
    assert all(end <= begun for (_, end), (begun, _) in pairwise(spans))


def test_solutions_are_drawn_in_one_figure(fitted):
    figure = rrmbench.plot(fitted, y="gap")
    (axes,) = figure.axes
    drawn = [line for line in axes.lines if len(line.get_xdata()) > 2]
    assert len(drawn) == 2
    np.testing.assert_allclose(drawn[0].get_ydata(), fitted[0].trace["gap"])
    named = rrmbench.plot({"ours": fitted[0], "theirs": fitted[1]}, x="seconds")
    texts = {text.get_text() for legend in named.legends for text in legend.get_texts()}
    assert {"ours", "theirs"} <= texts
    assert len(rrmbench.plot(fitted[0]).axes) == 1


def test_a_solution_that_diverged_does_not_hide_the_others(cancer):
    problem = rrmbench.Problem(*cancer, "squared", L2)
    with np.errstate(over="ignore", invalid="ignore"):
        near, far = (rrmbench.solve(problem, {"name": "gd", "step_scale": s}, passes=5) for s in (1.0, 1e300))
    assert far.status == "diverged"
    for solutions in {"far": far, "near": near}, {"near": near, "far": far}:
        (axes,) = rrmbench.plot(solutions).axes
        assert any(len(line.get_xdata()) > 2 for line in axes.lines)


def test_a_warm_up_that_fails_is_told(cancer):
    def many_rows(problem, start, rng):
        if problem.n < 100:
            raise ValueError("too few rows")
        yield rrmbench.Iterate(problem.start(start))

    rrmbench.solver(many_rows)
    X, y = cancer
    with pytest.warns(UserWarning, match="the warm-up failed.*too few rows"):
        assert rrmbench.solve(rrmbench.Problem(X, y, "logistic", L2), "many_rows", passes=1).status == "done"


def test_solutions_that_differ_in_more_than_the_seed_have_a_curve_each(cancer):
    """A mean of a short and a long run is the curve of neither; equal ones are told apart by their number."""
    X, y = cancer
    problem = rrmbench.Problem(X, y, "squared_hinge", L2)

    def legend(solutions):
        figure = rrmbench.plot(solutions, y="objective")
        assert not any("quartiles" in text.get_text() for text in figure.texts)
        return {text.get_text() for legend in figure.legends for text in legend.get_texts()}

    short, long = (rrmbench.solve(problem, "fista", passes=passes) for passes in (3, 6))
    sparse = rrmbench.solve(problem, "fista", passes=6, every=2)
    assert legend([short, long]) == {"fista [stop.passes=3]", "fista [stop.passes=6]"}
    assert legend({3: short, 6: long}) == {"3", "6"}
    assert legend([long, sparse]) == {"fista [trace.every=1]", "fista [trace.every=2]"}
    assert legend([long, long]) == {"fista [solution=1]", "fista [solution=2]"}
    with pytest.raises(rrmbench.RrmbenchError, match="labels that read the same"):
        rrmbench.plot({1: short, "1": long})
    seeds = rrmbench.plot([rrmbench.solve(problem, "svrg", passes=3, seed=seed) for seed in (0, 1)], y="objective")
    assert any("medians over 2 seeds" in text.get_text() for text in seeds.texts)


def test_solutions_of_several_problems_have_a_panel_each(cancer, fitted):
    X, y = cancer
    other = rrmbench.solve(rrmbench.Problem(X, y, "squared_hinge", L2), "fista", passes=5)
    assert len([axes for axes in rrmbench.plot([*fitted, other]).axes if axes.lines]) == 2


@pytest.mark.parametrize(
    ("what", "options", "message"),
    [
        ([], {}, "found no Solution"),
        (3, {}, "found int, allowed is a folder of results, or Solutions"),
        (["x"], {}, "found str"),
        (None, {"y": "gapp"}, "did you mean 'gap'"),
    ],
)
def test_what_cannot_be_drawn_is_refused(fitted, what, options, message):
    with pytest.raises(rrmbench.RrmbenchError, match=message):
        rrmbench.plot(fitted if what is None else what, **options)


# whole experiments


def test_a_dict_may_have_numbers_of_numpy_and_paths(lab):
    config = {"name": "numpy", "dataset": lab.folder / "toy.txt", "loss": "squared", "solver": "agd"}
    config |= {"regularizer": {"name": "l2", "strength": np.logspace(-3, -2, 2)}, "seed": range(np.int64(1))}
    stop = {"passes": np.float64(3)}
    folder = rrmbench.run(config | {"stop": stop, "reference": np.bool_(False)}, lab.out, quiet=True, jobs=1)
    assert sorted(rrmbench.load_results(folder)["regularizer.strength"].unique()) == [1e-3, 1e-2]


def test_run_takes_a_dict_and_gives_the_folder_of_results(lab, monkeypatch):
    monkeypatch.chdir(lab.folder)
    config = TOY | {"solver": ["agd", "gd"]}
    folder = rrmbench.run(config, lab.out, quiet=True)
    assert folder == lab.out / "toy"
    assert set(rrmbench.load_results(folder)["solver"]) == {"agd", "gd"}
    before = lab.files()
    assert rrmbench.run(config, lab.out, only=["solver=gd"], quiet=True) == folder and lab.files() == before
    assert rrmbench.plot(folder, y="gap").axes
    with pytest.raises(rrmbench.RrmbenchError, match=r"configuration: solver.*; did you mean"):
        rrmbench.run(TOY | {"solver": "agdd"}, lab.out)
    with pytest.raises(rrmbench.RrmbenchError, match=r"configuration: solver: found .*, allowed are texts, num"):
        rrmbench.run(TOY | {"solver": object()}, lab.out)


# progress


def test_a_bar_shows_after_a_while_only_and_never_where_nobody_looks(monkeypatch):
    made = []

    class Bar:
        def __getattr__(self, name):
            return lambda *args, **keys: made.append((name, keys)) or 0

    monkeypatch.setattr(bar, "_bar", Bar)
    rows = [{"passes": float(p), "gap": 1.0} for p in range(3)]
    stop = StopRule(passes=2.0)
    assert list(bar.with_bar(rows, "s", stop, True)) == rows and not made
    monkeypatch.setattr(bar, "PATIENCE", -1.0)
    assert list(bar.with_bar(rows, "s", stop, None)) == rows and not made  # stderr is no terminal here
    assert list(bar.with_bar(rows, "s", stop, True)) == rows
    assert [name for name, _ in made] == ["add_task", "start", *["update"] * 3, "stop"]
    assert made[-2][1]["completed"] == 2.0 and made[0][1]["total"] == 2.0


def test_a_bar_that_cannot_be_drawn_ends_no_run(monkeypatch):
    def broken():
        raise OSError("no device")

    monkeypatch.setattr(bar, "_bar", broken)
    monkeypatch.setattr(bar, "PATIENCE", -1.0)
    rows = [{"passes": float(p), "gap": 1.0} for p in range(3)]
    with pytest.warns(RrmbenchWarning, match="cannot be shown any longer .*no device"):
        assert list(bar.with_bar(rows, "s", StopRule(passes=2.0), True)) == rows


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (name, bad)
        for name in ("passes", "gap", "relative_gap", "seconds", "every")
        for bad in (-1.0, 0, np.nan, "5", None)
    ]
    + [
        ("growth", 0.5),
        ("growth", np.nan),
        ("seed", -1),
        ("seed", 1.5),
        ("seed", "a"),
        ("seed", 2**64),
        ("seed", True),
    ],
)
def test_a_rule_or_a_seed_that_is_none_is_refused_before_anything_runs(name, value):
    problem = rrmbench.Problem(np.eye(3), [0, 1, 1], "logistic", L2)
    with pytest.raises(rrmbench.RrmbenchError, match=rf"^{name}: found .*, allowed is a"):
        rrmbench.solve(problem, "svrg", **{name: value})


def test_what_names_no_component_is_refused():
    X, y = np.eye(3), [0, 1, 1]
    for wrong in None, ["logistic"], 3, {"gamma": 1}:
        with pytest.raises(rrmbench.RrmbenchError, match=r"^(loss|loss.name): "):
            rrmbench.Problem(X, y, wrong, L2)
    problem = rrmbench.Problem(X, y, "logistic", L2)
    for wrong in None, ["fista", "gd"], 3, {"step_scale": 1}:
        with pytest.raises(rrmbench.RrmbenchError, match=r"^solver: found "):
            rrmbench.solve(problem, wrong)
        with pytest.raises(rrmbench.RrmbenchError, match=r"^reduction: found "):
            rrmbench.solve(problem, "fista", reduction=wrong)


def test_auto_is_advised_where_it_helps():
    problem = rrmbench.Problem(np.eye(3), [0, 1, 1], "logistic", {"name": "l1", "strength": 1e-3})
    with pytest.raises(rrmbench.RrmbenchError, match="a strongly convex regularizer; try reduction='auto'"):
        rrmbench.solve(problem, "prox_sdca", reduction="none")
    problem = rrmbench.Problem(np.eye(3), [0, 1, 1], "logistic", L2)
    for reduction in "auto", "none":
        with pytest.raises(rrmbench.RrmbenchError, match=r"needs the loss squared$"):
            rrmbench.solve(problem, "direct", reduction=reduction)


def test_whole_numbers_that_no_float_holds_are_refused():
    X, y = np.eye(4), np.array([0, 1, 1, 0])
    huge = np.where(X > 0, np.array(10**400, dtype=object), 0)
    with pytest.raises(rrmbench.RrmbenchError, match=r"^X: found a whole number above"):
        rrmbench.Problem(huge, y, "logistic", L2)
    with pytest.raises(rrmbench.RrmbenchError, match=r"^w: found"):
        rrmbench.Problem(X, y, "logistic", L2).primal([10**400, 0, 0, 0])


def test_masked_entries_are_no_data():
    X, y = np.eye(4), np.array([0, 1, 1, 0])
    for masked in ([[True, *[False] * 3], *[[False] * 4] * 3], np.eye(4) > 0):
        with pytest.raises(rrmbench.RrmbenchError, match=r"^X: found masked"):
            rrmbench.Problem(np.ma.array(X, mask=masked), y, "logistic", L2)
    for sparse in csr_array(X), coo_array(X):
        sparse.data = np.ma.array(sparse.data, mask=[1, 0, 0, 0])
        with pytest.raises(rrmbench.RrmbenchError, match=r"^X: found masked"):
            rrmbench.Problem(sparse, y, "logistic", L2)
    with pytest.raises(rrmbench.RrmbenchError, match=r"^y: found masked"):
        rrmbench.Problem(X, np.ma.array(y, mask=[1, 0, 0, 0]), "logistic", L2)
    whole = rrmbench.Problem(np.ma.array(X), np.ma.array(y), "logistic", L2)
    assert whole.primal(np.ones(4)) == rrmbench.Problem(X, y, "logistic", L2).primal(np.ones(4))


def test_labels_are_named_as_they_were_given():
    with pytest.raises(rrmbench.RrmbenchError, match=r"two label values, found a, b, c$"):
        rrmbench.Problem(np.eye(3), ["a", "b", "c"], "hinge", L2)


@pytest.mark.exhaustive
def test_a_script_runs_once_however_many_children_it_has(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import rrmbench\n"
        "print('begun', flush=True)\n"
        "asked = {'name': 'two', 'dataset': 'breast_cancer_sklearn', 'loss': 'logistic', 'solver': ['agd', 'gd'],\n"
        "         'regularizer': {'name': 'l2', 'strength': 1e-3}, 'stop': {'passes': 3}, 'reference': False}\n"
        "print(rrmbench.load_results(rrmbench.run(asked, 'results', quiet=True)).status.unique().tolist())\n"
    )
    ran = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "begun\n['done']\n"), ran.stderr


def test_labels_are_those_of_the_loss_and_not_of_others_in_its_file(tmp_path):
    """Two losses of one file, of which one is binary; and a class from a module beside it."""
    (tmp_path / "margins_beside.py").write_text(
        "from rrmbench.losses.squared_hinge import SquaredHinge\nclass Margin(SquaredHinge):\n    pass\n"
    )
    (tmp_path / "margins.py").write_text(
        textwrap.dedent("""
        import rrmbench
        from margins_beside import Margin
        from rrmbench.losses.squared import Squared

        class Numbers(Squared):
            pass

        @rrmbench.loss
        def my_numbers():
            return Numbers()

        @rrmbench.loss(needs={"binary"})
        def my_margin():
            return Margin()
        """)
    )
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 2.0

    def labels_for(loss):
        return np.unique(rrmbench.Problem(X, y, loss, L2).y).tolist()

    path = str(tmp_path / "margins.py")
    assert labels_for({"path": path, "name": "my_numbers"}) == labels_for("my_numbers") == [0.0, 1.0]
    assert labels_for("my_margin") == [-1.0, 1.0]
    plugin = sys.modules["rrmbench_plugin_margins"]
    assert labels_for(plugin.Numbers()) == [0.0, 1.0]
    assert labels_for(plugin.Margin()) == [-1.0, 1.0]


def test_a_plug_in_that_was_imported_is_not_loaded_by_its_path(tmp_path, monkeypatch):
    (tmp_path / "imported_before.py").write_text(
        "import rrmbench\nfrom rrmbench.losses.squared import Squared\n"
        "@rrmbench.loss\ndef squared_before():\n    return Squared()\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("imported_before")
    mapping = {"path": str(tmp_path / "imported_before.py"), "name": "squared_before"}
    with pytest.raises(RrmbenchError, match="imported already, as the module 'imported_before'; name 'squared_before'"):
        rrmbench.Problem(np.eye(3), [1.0, 2.0, 3.0], mapping, L2)
    assert rrmbench.Problem(np.eye(3), [1.0, 2.0, 3.0], "squared_before", L2).n == 3


def test_solves_of_one_kind_are_warmed_up_once_and_no_clock_has_a_kernel(cancer, monkeypatch):
    """A great strength leaves w at 0, in the warm-up too; a small one needs kernels that this one did not."""
    warm_ups, compiled = [], []
    monkeypatch.setattr(warming, "_warm", set())
    monkeypatch.setattr(warming, "warm_up", lambda *given: warm_ups.append(given) or warm_up(*given))

    class Watched(Trace):
        def __iter__(self):
            yield from super().__iter__()
            compiled.append(self.compiled)

    monkeypatch.setattr(rrmbench.notebook, "Trace", Watched)
    for kernel in jit._kernels:
        kernel._reset_overloads()
    found = []
    for strength in 100.0, 100.0, 1e-3, 1e-3, 1e-4:
        problem = rrmbench.Problem(*cancer, "logistic", {"name": "l1", "strength": strength})
        found.append(rrmbench.solve(problem, "apcg", passes=5))
    assert len(warm_ups) <= 2 and not any(compiled)
    pd.testing.assert_frame_equal(*(one.trace.drop(columns=["seconds", "cpu_seconds"]) for one in found[2:4]))
    assert found[2].trace["passes"].iloc[-1] == 5.0


def test_an_import_on_the_clock_is_told(cancer, monkeypatch, tmp_path):
    """Of a solver from elsewhere, in more passes than the warm-up has."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_late_module.py").write_text("")

    @rrmbench.solver(needs={"smooth"})
    def imports_late(problem, start, rng):
        for x in registry.build_solver("agd")(problem, start, rng):
            if x.passes > 8.0:
                importlib.import_module("a_late_module")
            yield x

    with pytest.warns(UserWarning, match="a module imported, on the clock"):
        rrmbench.solve(rrmbench.Problem(*cancer, "logistic", L2), "imports_late", passes=12)


def test_code_from_elsewhere_is_warmed_up_each_time(cancer, monkeypatch):
    warm_ups = []
    monkeypatch.setattr(warming, "warm_up", lambda *given: warm_ups.append(given) or warm_up(*given))

    def from_elsewhere(problem, start, rng):
        yield rrmbench.Iterate(problem.start(start))

    rrmbench.solver(from_elsewhere)
    problem = rrmbench.Problem(*cancer, "logistic", L2)
    for _ in range(2):
        rrmbench.solve(problem, "from_elsewhere")
    assert len(warm_ups) == 2


HUGE = 10**400


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda p: rrmbench.solve(p, "gd", passes=HUGE), "passes: found 1000"),
        (lambda p: rrmbench.solve(p, "gd", gap=HUGE), "gap: found 1000"),
        (lambda p: rrmbench.solve(p, "gd", growth=HUGE), "growth: found 1000"),
        (lambda p: rrmbench.solve(p, "gd", progress=np.ones(2)), "progress: found array"),
        (lambda p: rrmbench.solve(p, {"path": 5}), "path: found 5, allowed is the path of a plug-in file"),
        (lambda p: rrmbench.Problem(p.X, p.y, {"path": None}, "none"), "path: found None"),
        (lambda p: rrmbench.Problem(p.X, p.y, "logistic", "none", l2=HUGE), "l2: found 1000"),
        (lambda p: rrmbench.Problem(p.X, p.y, "logistic", "none", offset=-HUGE), "offset: found -1000"),
        (lambda p: p.smoothed(HUGE), "mu: found 1000"),
        (lambda p: p.regularized(np.ones(2)), "kappa: found array"),
        (lambda p: rrmbench.run(5), "run: found int"),
        (lambda p: rrmbench.run("quickstart", only=5), "only: found 5, allowed is a text KEY=VALUE"),
        (lambda p: rrmbench.run("quickstart", sets=[None]), "sets: found .None., allowed is a text KEY=VALUE"),
        (lambda p: rrmbench.plot(rrmbench.solve(p, "gd", passes=1), x=np.ones(2)), "--x: found array"),
        (lambda p: rrmbench.plot("nowhere", theory="yes"), "theory: found 'yes', allowed is True or False"),
    ],
)
def test_arguments_of_another_kind_or_size_are_one_message(cancer, call, says):
    problem = rrmbench.Problem(*cancer, "logistic", L2)
    with pytest.raises(RrmbenchError, match=says):
        call(problem)
