"""Other libraries as solvers, and the clock and the trace of methods that start afresh at every point."""

import importlib.util
import io
import itertools
import sys
import time
from itertools import islice
from types import SimpleNamespace

import numpy as np
import oracles
import pytest
from lab import make_lab  # noqa: F401
from oracles import L1, L2, NET
from rich.console import Console

import rrmbench
from rrmbench import Iterate, registry
from rrmbench.bench import trace
from rrmbench.bench.contract import Failure
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import Trace
from rrmbench.bench.warming import warm_up
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng
from rrmbench.problem.problem import Problem
from rrmbench.report.display import progress_on
from rrmbench.solvers.peers import black_box

PEERS = [name for name in oracles.SOLVERS if name not in oracles.OWN_SOLVERS]
CASES = [(name, *problem) for name in PEERS for problem in oracles.SOLVERS[name].oracle.problems]
TOY = Problem(np.eye(3), np.ones(3), "squared", L2)


def needs_library(solver):
    library = "sklearn" if solver.startswith(("sklearn", "liblinear")) else {"highs": "scipy"}.get(solver, solver)
    if importlib.util.find_spec(library) is None:
        pytest.skip(f"{library} is not installed")


def our_solver(traits):
    if "smooth" in traits:
        return "working_sets" if "scalar" in traits else {"name": "fista", "restart": "gradient"}
    return "prox_sdca" if "strongly_convex" in traits else "pdprox_restarted"


@pytest.mark.core(6)
@pytest.mark.parametrize(("solver", "loss", "psi"), CASES)
def test_reaches_the_optimum_that_we_certify(solver, loss, psi):
    needs_library(solver)
    p, accuracy = oracles.problem(loss, psi, n=60, d=12), oracles.SOLVERS[solver].oracle.accuracy
    ours = rrmbench.solve(p, our_solver(p.traits), gap=1e-10, passes=20_000)
    assert ours.gap <= 1e-9
    theirs = list(islice(registry.build_solver(solver)(p, None, Rng(0)), 30))
    suboptimality = [p.primal(x.w) - ours.trace["dual"].max() for x in theirs]
    assert suboptimality[-1] <= accuracy
    assert min(suboptimality) >= -1e-12
    assert suboptimality[0] > 1e-3
    assert [x.restarted for x in theirs] == [False] + [True] * (len(theirs) - 1)
    counts = registry.lookup("solver", solver).counts_passes
    assert counts == (solver == "sklearn_saga")
    assert all(np.isnan(x.passes) != counts for x in theirs)


@pytest.mark.parametrize("solver, loss", [("sklearn_lbfgs", "multinomial_logistic"), ("liblinear", "max_of_hinge")])
def test_two_classes_are_refused_where_a_library_has_one_output_for_them(solver, loss):
    p = Problem(np.eye(4), np.array([0.0, 1.0, 0.0, 1.0]), loss, L2)
    with pytest.raises(RrmbenchError, match="use a binary loss"):
        list(islice(registry.build_solver(solver)(p, None, Rng(0)), 3))


@pytest.mark.parametrize(("loss", "made"), [("squared", "Regression"), ("logistic", "Classifier")])
def test_cyanure_has_one_thread_as_all_others(loss, made, monkeypatch):
    estimators, given = pytest.importorskip("cyanure.estimators"), {}
    as_it_is = getattr(estimators, made)

    def recorded(**options):
        given.update(options)
        return as_it_is(**options)

    monkeypatch.setattr(estimators, made, recorded)
    list(islice(registry.build_solver("cyanure")(oracles.problem(loss, L2), None, Rng(0)), 2))
    assert given["n_threads"] == 1


@pytest.mark.parametrize("solver", ["sklearn_lbfgs", "liblinear"])
def test_a_warm_up_has_as_many_classes_as_rows(solver):
    loss = "max_of_hinge" if solver == "liblinear" else "multinomial_logistic"
    p = Problem(np.random.default_rng(0).standard_normal((60, 4)), np.repeat(np.arange(12.0), 5), loss, L2)
    _, fault = warm_up(p, registry.build_solver(solver))
    assert fault is None


class Clock:
    """Time that passes where a test says so: `work` takes wall time, and of that CPU time."""

    wall = cpu = 0.0

    def work(self, wall, cpu):
        self.wall += wall
        self.cpu += cpu

    def perf_counter(self):
        return self.wall

    def process_time(self):
        return self.cpu


@pytest.fixture(name="clock")
def make_clock(monkeypatch):
    clock = Clock()
    for name in "perf_counter", "process_time":
        monkeypatch.setattr(trace, name, getattr(clock, name))
    return clock


def worker(clock, yields):
    """A solver that works and yields, for each (seconds, passes, restarted) of `yields`; a quarter on this CPU."""
    for seconds, passes, restarted in yields:
        clock.work(seconds, seconds / 4)
        yield Iterate(np.zeros(3), passes=passes, restarted=restarted)


def traced(clock, yields, stop=None, every=1.0):
    """(rows, Trace); a metric that takes an hour at every row is in no clock."""

    def slow(w, z):
        clock.work(3600.0, 3600.0)
        return {}

    measured = Trace(TOY, worker(clock, yields), stop or StopRule(), Schedule(every), metrics=slow, counted=False)
    rows = list(measured)
    if measured.reason == "ended":  # the last point is there once more, with the bound of the end
        *rows, again = rows
        assert (again["seconds"], again["primal"]) == (rows[-1]["seconds"], rows[-1]["primal"])
        assert again["gap"] < 0.9 * rows[-1]["gap"]
    return rows, measured


def test_the_time_of_a_restart_is_that_of_the_one_call(clock):
    rows, _ = traced(clock, [(0.0, np.nan, False), (0.1, np.nan, True), (0.2, np.nan, True), (0.3, np.nan, True)])
    assert [row["seconds"] for row in rows] == pytest.approx([0.0, 0.1, 0.2, 0.3], abs=1e-9)
    assert [row["cpu_seconds"] for row in rows] == pytest.approx([0.0, 0.025, 0.05, 0.075], abs=1e-9)


def test_without_a_restart_times_add_up_also_after_one(clock):
    yields = [(0.1, np.nan, False), (0.2, np.nan, False), (0.05, np.nan, True), (0.1, np.nan, False)]
    rows, _ = traced(clock, yields)
    assert [row["seconds"] for row in rows] == pytest.approx([0.1, 0.3, 0.05, 0.15], abs=1e-9)


def test_time_is_taken_from_the_clock_of_the_machine():
    def sleeping():
        time.sleep(0.05)
        yield Iterate(np.zeros(3), passes=0.0)

    (row,) = Trace(TOY, sleeping(), StopRule(), Schedule())
    assert row["seconds"] >= 0.05
    assert row["cpu_seconds"] < row["seconds"]


def test_the_seconds_of_a_stop_rule_are_those_of_one_call(clock):
    yields = [(0.05, np.nan, True)] * 6 + [(0.3, np.nan, True)] * 2
    rows, measured = traced(clock, yields, StopRule(seconds=0.2))
    assert (len(rows), measured.reason) == (7, "seconds")


def test_where_passes_are_not_counted_every_iterate_is_a_point_and_no_number_of_passes_ends_the_run(clock):
    rows, measured = traced(clock, [(0.0, np.nan, False)] * 5, StopRule(passes=2), every=100.0)
    assert len(rows) == 5
    assert np.isnan([row["passes"] for row in rows]).all()
    assert measured.reason == "ended"


def test_negative_passes_are_still_refused(clock):
    with pytest.raises(Failure, match="counted -1"):
        traced(clock, [(0.0, -1.0, False)])


def test_uncounted_work_that_diverges_is_reported_in_seconds():
    diverging = iter([Iterate(np.full(3, np.nan), passes=np.nan)])
    measured = Trace(TOY, diverging, StopRule(), Schedule(), counted=False)
    list(measured)
    assert measured.status == "diverged"
    assert measured.reason.startswith("the objective is nan after ")
    assert measured.reason.endswith(" s")


@pytest.mark.filterwarnings("ignore:the warm-up failed")
def test_a_missing_library_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "celer", None)
    with pytest.raises(RrmbenchError, match=r"celer cannot be imported .*pip install 'rrmbench\[peers\]'"):
        rrmbench.solve(oracles.problem("squared", L1), "celer", gap=1e-3)


def test_a_missing_library_fails_its_run_and_no_other(lab):
    plugin = lab.folder / "absent.py"
    plugin.write_text(
        "import rrmbench\n"
        "from rrmbench.solvers.peers.black_box import imported, iterations, restarts\n"
        "@rrmbench.solver(counts_passes=False)\n"
        "def absent(problem, start, rng):\n"
        "    return restarts(problem, (), lambda budget: imported('no_such_library'), iterations())\n"
    )
    ran = lab.run(
        lab.config(solver=["agd", {"path": str(plugin), "name": "absent"}], stop={"passes": 5, "seconds": 60})
    )
    assert ran.code == 1
    absent, agd = sorted(lab.results(), key=lambda result: result.status == "done")
    assert agd.status == "done"
    assert absent.status == "failed"
    assert absent.reason.startswith("no_such_library cannot be imported")
    assert absent.reason.endswith("pip install 'rrmbench[peers]'")
    assert "traceback" not in absent.info


def test_results_of_a_black_box_are_read_over_seconds(lab):
    ran = lab.run(lab.config(loss="logistic", solver=["sklearn_lbfgs", "agd"], stop={"passes": 20, "seconds": 2}))
    assert ran.code == 0, ran.err
    table = rrmbench.load_results(lab.out)
    theirs = table[table["solver"] == "sklearn_lbfgs"]
    assert theirs["passes"].isna().all()
    assert theirs["gap"].min() < 1e-8
    for reader in (("show", lab.out), ("export", lab.out, "--to", lab.folder / "t.csv"), ("verify", lab.out)):
        assert lab.cli(*reader).code == 0, reader
    assert lab.cli("plot", lab.out, "--x", "seconds").code == 0


@pytest.mark.parametrize(
    ("loss", "psi", "solver", "words"),
    [
        (
            "squared",
            "l1",
            "liblinear",
            "is for the loss hinge, squared_hinge, logistic, epsilon_insensitive or max_of_hinge with the",
        ),
        ("smoothed_hinge", "l2", "liblinear", "not for smoothed_hinge with l2"),
        (
            "hinge",
            "l1",
            "sklearn_cd",
            "or the loss squared_multi with norms of the rows of the model only, and not for hinge with l1",
        ),
        ("squared", "elastic_net", "cyanure", "cyanure needs a norm or a square alone; elastic_net is not one of them"),
        ("logistic", "elastic_net", "liblinear_l1", "needs a norm or a square alone; elastic_net is not one of them"),
    ],
)
def test_what_a_library_does_not_solve_is_skipped_with_the_reason(lab, loss, psi, solver, words):
    psi = {"name": psi} | ({"l1": 0.1, "l2": 0.1} if psi == "elastic_net" else {"strength": 0.1})
    ran = lab.run(lab.config(loss=loss, regularizer=psi, solver=solver), "--dry-run")
    assert ran.code == 2
    assert words in " ".join(ran.err.split())


STRENGTHS = [
    *({"name": name, "strength": strength} for name in ("l1", "l2", "l21") for strength in (0.0, 0.1)),
    *({"name": "group_lasso", "groups": size, "strength": strength} for size in (3, 5) for strength in (0.0, 0.1)),
    *({"name": "elastic_net", "l1": l1, "l2": l2} for l1 in (0.0, 0.1) for l2 in (0.0, 0.1)),
    {"name": "none"},
]
LOSSES = "squared", "logistic", "squared_hinge", "hinge", "max_of_hinge", "multinomial_logistic", "squared_multi"


@pytest.mark.core(5)
@pytest.mark.parametrize("solver", PEERS)
@pytest.mark.parametrize("reduction", ["none", {"name": "regularize", "sigma": 0.1}])
def test_a_library_takes_what_the_plan_lets_through(solver, reduction):
    """Norms of strength 0, blocks that are no rows, and squares that a reduction adds were refused in runs."""
    needs_library(solver)
    taken = 0
    for loss, psi in itertools.product(LOSSES, STRENGTHS):
        if psi["name"] == "l21" and loss not in ("squared_multi", "max_of_hinge", "multinomial_logistic"):
            continue
        p = oracles.problem(loss, psi, n=20, d=6)
        try:
            method = registry.build_solver(solver, reduction)
        except RrmbenchError as error:
            assert "cannot have" in str(error) or "smooth" in str(error)
            return
        if not lacking(method.needs, p.traits):
            taken += len(list(islice(method(p, None, Rng(0)), 2))) == 2
    assert taken > 0 or reduction != "none"


@pytest.mark.parametrize(
    ("solver", "loss", "psi"),
    [
        ("celer", "squared", {"name": "elastic_net", "l1": 0.0, "l2": 0.1}),
        ("celer", "logistic", {"name": "elastic_net", "l1": 0.1, "l2": 0.1}),
        ("liblinear_l1", "squared_hinge", {"name": "l1", "strength": 0.0}),
        ("sklearn_saga", "logistic", {"name": "none"}),
        ("sklearn_cd", "squared", {"name": "l1", "strength": 0.0}),
        ("skglm", "squared", {"name": "group_lasso", "groups": 3, "strength": 0.0}),
        ("cyanure", "squared", {"name": "elastic_net", "l1": 0.1, "l2": 0.1}),
        ("cyanure", "squared_multi", {"name": "group_lasso", "groups": 5, "strength": 0.1}),
    ],
)
def test_what_a_library_refuses_is_known_before_a_run(solver, loss, psi):
    assert lacking(registry.lookup("solver", solver).needs, oracles.problem(loss, psi).traits)


def test_a_square_of_a_reduction_leaves_those_needs_that_allow_one():
    method = registry.build_solver("celer", {"name": "regularize", "sigma": 0.1})
    assert not lacking(method.needs, oracles.problem("squared", L1).traits)
    assert lacking(method.needs, oracles.problem("logistic", L1).traits)
    with pytest.raises(RrmbenchError, match=r"it adds a square, which liblinear_l1 cannot have \(one_term\)"):
        registry.build_solver("liblinear_l1", {"name": "regularize", "sigma": 0.1})


BLACK_BOX = """
import numpy as np, rrmbench
@rrmbench.solver(counts_passes=False)
def uncounted(problem, start, rng):
    while True:
        yield rrmbench.Iterate(np.zeros(problem.shape), passes=np.nan, restarted=True)
"""


@pytest.mark.exhaustive
def test_what_no_rule_would_end_is_skipped_with_what_to_give_instead(lab):
    (lab.folder / "uncounted.py").write_text(BLACK_BOX)
    uncounted = {"path": "uncounted.py", "name": "uncounted"}
    box = {"loss": "logistic", "solver": ["liblinear", uncounted, "sklearn_saga", "agd"], "stop": {"passes": 3}}
    advice = "counts no passes: give stop.gap, stop.relative_gap or stop.seconds"
    ran = lab.cli("validate", lab.config(**box))
    assert (ran.code, "2 runs, 2 skipped" in ran.out) == (0, True)
    ran = lab.run(lab.config(**box), "--dry-run")
    said = " ".join(ran.out.split())
    assert f"liblinear: liblinear {advice}" in said
    assert f"uncounted: uncounted {advice}" in said
    ran = lab.run(lab.config(**box))
    assert ran.code == 0
    assert f"skipped 1: liblinear {advice}" in " ".join(ran.out.split())
    assert {result.spec["solver"]["name"] for result in lab.results()} == {"agd", "sklearn_saga"}
    for alone in ("liblinear", uncounted):
        for arguments in (("validate",), ("run", "-o", lab.out)):
            ran = lab.cli(*arguments, lab.config(**box | {"solver": alone}))
            assert ran.code == 2
            assert advice in ran.err
    ran = lab.run(lab.config(**box), "--only", "solver=liblinear")
    assert ran.code == 2
    assert advice in ran.err


@pytest.mark.parametrize("rule", [{"gap": 1e-3}, {"relative_gap": 1e-3}, {"seconds": 1}])
def test_any_rule_but_passes_lets_a_black_box_run(lab, rule):
    ran = lab.cli("validate", lab.config(loss="logistic", solver="liblinear", stop={"passes": 3} | rule))
    assert (ran.code, "1 run, 0 skipped" in ran.out) == (0, True)


def test_a_library_refuses_what_a_reduction_changed():
    with pytest.raises(RrmbenchError, match="it smooths losses, liblinear needs them as they are"):
        rrmbench.solve(oracles.problem("hinge", L2), "liblinear", reduction={"name": "smooth", "mu": 0.1}, gap=1e-3)
    shifted = oracles.problem("hinge", L2).regularized(0.1, np.ones(oracles.problem("hinge", L2).shape))
    with pytest.raises(RrmbenchError, match="the library does not know this problem"):
        next(registry.build_solver("liblinear")(shifted, None, Rng(0)))


@pytest.mark.parametrize("solver", ["clarabel", "sklearn_cd"])
@pytest.mark.parametrize("reduction", ["adapt_reg", "adapt_smooth", "joint_proximal_point", "accelerate"])
def test_no_epochs_go_around_a_black_box(solver, reduction):
    """They failed, and `accelerate` went on for ever."""
    with pytest.raises(RrmbenchError, match=f"reduction {reduction}: it continues its solver .* {solver} counts none"):
        rrmbench.solve(oracles.problem("squared", L1), solver, reduction=reduction, seconds=2)


def test_epochs_around_a_black_box_are_skipped_with_the_reason_and_auto_adds_nothing(lab):
    box = {"regularizer": "none", "solver": "sklearn_lbfgs", "loss": "logistic", "stop": {"seconds": 1}}
    ran = lab.cli("validate", lab.config(**box | {"reduction": ["auto", {"name": "regularize", "sigma": 0.1}]}))
    assert (ran.code, "1 run, 1 skipped" in ran.out) == (0, True)
    ran = lab.run(lab.config(**box | {"reduction": "auto"}), "--dry-run")
    assert ran.code == 2
    assert "reduction 'auto' does not make it so (try regularize)" in " ".join(ran.err.split())
    ran = lab.run(lab.config(**box | {"reduction": "proximal_point"}), "--dry-run")
    assert ran.code == 2
    assert "sklearn_lbfgs counts none, or begins from scratch" in " ".join(ran.err.split())


@pytest.mark.filterwarnings("ignore:the warm-up failed")
@pytest.mark.parametrize("solver", ["liblinear", "liblinear_newton", "sklearn_lbfgs"])
def test_constant_labels_are_one_message(solver):
    p = rrmbench.Problem(np.eye(3), -np.ones(3), "logistic", L2)
    with pytest.raises(RrmbenchError, match="y: found the label -1 alone, the library needs two classes"):
        rrmbench.solve(p, solver, seconds=1)


def test_added_strong_convexity_around_0_is_an_elastic_net():
    p = oracles.problem("squared", L1, n=60)
    found = rrmbench.solve(p, "sklearn_cd", reduction={"name": "regularize", "sigma": 0.05}, seconds=10)
    net = rrmbench.solve(oracles.problem("squared", NET, n=60), "prox_sdca", gap=1e-12, passes=10_000)
    np.testing.assert_allclose(found.w, net.w, atol=1e-6)


def test_needs_may_name_alternatives():
    has = frozenset({"Hinge", "rows"})
    assert lacking({"Hinge or Logistic", "rows"}, has) == set()
    assert lacking({"Squared or Logistic", "rows"}, has) == {"Squared or Logistic"}


def test_class_names_are_traits_unless_the_loss_is_smoothed():
    hinge = oracles.problem("hinge", L1)
    assert {"Hinge", "L1"} <= hinge.traits
    assert "Hinge" not in hinge.smoothed(0.1).traits
    assert "Hinge" not in oracles.problem("smoothed_hinge", L2).traits


def test_the_live_display_takes_passes_that_nobody_counts():
    screen = io.StringIO()
    live = progress_on(Console(file=screen, force_terminal=True, width=200), quiet=False)
    spec = {
        "dataset": "toy",
        "loss": "squared",
        "regularizer": "l2",
        "solver": "celer",
        "stop": {},
        "seed": 0,
    }
    run = SimpleNamespace(run="a", spec=spec)
    live.begin([run], "an experiment")
    live.start(run)
    live.row(run, {"passes": np.nan, "seconds": 0.5, "gap": 1e-3})
    trace = {"passes": [np.nan], "gap": [1e-3], "seconds": [0.5]}
    live.end(run, SimpleNamespace(points=1, trace=trace, status="done", reason="ended"))
    live.close()
    assert "done: gap 1.0e-03 after 0.5 s" in screen.getvalue()


def test_passes_of_a_library_are_the_iterations_that_it_made_and_not_those_that_it_was_allowed():
    fitted = iter([3, 10, 4])

    def build(budget):
        return SimpleNamespace(fit=lambda X, y: SimpleNamespace(coef_=np.zeros(3), n_iter_=np.array([next(fitted)])))

    toy = Problem(np.eye(3), np.arange(1.0, 4.0), "squared", {"name": "l2", "strength": 0.1})
    its = list(black_box.restarts(toy, (), build, [5, 10, 20, 40], per_iteration=2.0))
    assert [it.passes for it in its] == [0.0, 6.0, 20.0, 8.0]  # the last call has left more than half of its budget


@pytest.mark.exhaustive
@pytest.mark.parametrize("scale", [1e-9, 1e6])
def test_no_unit_of_measurement_matters_to_tolerances(scale):
    """skglm's own tolerance is that of a gradient, which has the units of X."""
    pytest.importorskip("skglm")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    y = np.sign(X[:, 0] + 0.1 * rng.normal(size=40))
    points = []
    for unit in 1.0, scale:
        problem = rrmbench.Problem(unit * X, y, "logistic", {"name": "l1", "strength": 1e-3 * unit})
        found = rrmbench.solve(problem, "skglm", relative_gap=1e-6, seconds=20)
        assert found.reason == "relative_gap"
        points.append(len(found.trace))
    assert abs(points[0] - points[1]) <= 1
