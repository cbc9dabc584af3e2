"""`run --timing`, the gate of seconds, the environment, and black boxes that come to rest or are not installed."""

import itertools
import json
import os
import time
from importlib import metadata
from types import SimpleNamespace

import numpy as np
import pytest
import stored
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import make_lab, odd  # noqa: F401
from numba import config
from test_solvers_peers import make_clock, traced  # noqa: F401

from rrmbench import Iterate, components, solve
from rrmbench.bench import pinning, timing, yardstick
from rrmbench.bench import trace as trace_module
from rrmbench.bench.children import Outcome
from rrmbench.bench.environment import environment
from rrmbench.bench.rules import OWN_ENDS, Schedule, StopRule
from rrmbench.bench.timing import Timing, repeated
from rrmbench.bench.trace import AT_REST, UNMOVED, Trace
from rrmbench.columns import METRICS
from rrmbench.errors import RrmbenchError
from rrmbench.problem.problem import Problem
from rrmbench.report import check_seconds, claims
from rrmbench.report.check import check, update
from rrmbench.report.results import runs_of
from rrmbench.solvers.peers import black_box

COLUMNS_OF_METRICS = {name: np.full(21, np.nan) for name in METRICS}

NO_PINS = Timing(3, None)


def outcome(seconds, primal=(2.0, 1.0, 0.5), reason="passes", w=1.0, status="done", concurrent=1, **facts):
    rows = [
        {"passes": float(k), "seconds": s, "cpu_seconds": s, "primal": p}
        for k, (s, p) in enumerate(zip(seconds, primal, strict=False))
    ]
    facts = {"w": np.array([w]), "yardstick_cpu_seconds": [1e-4]} | facts
    return Outcome(status, reason, rows, facts, concurrent, 1.0)


def once(*outcomes):
    left = iter(outcomes)
    return lambda repeat: next(left)


@settings(max_examples=50, deadline=None)
@given(seconds=st.lists(st.lists(st.floats(0.0, 10.0), min_size=3, max_size=3).map(sorted), min_size=3, max_size=3))
def test_the_seconds_of_repeats_are_their_medians_between_least_and_greatest(seconds):
    made = repeated(once(*map(outcome, seconds)), NO_PINS)
    clocks = np.array([[row["seconds_min"], row["seconds"], row["seconds_max"]] for row in made.rows])
    assert np.array_equal(clocks[:, 1], np.median(np.array(seconds), axis=0))
    assert (np.diff(clocks, axis=1) >= 0.0).all()
    assert (np.diff(clocks[:, 1]) >= 0.0).all()
    ends = [one[-1] for one in seconds]
    assert made.facts["timing"]["seconds"] == ends
    spread = (max(ends) - min(ends)) / np.median(ends) if np.median(ends) > 0.0 else 0.0  # over the median
    assert made.facts["timing"]["spread"] == pytest.approx(spread, rel=1e-14)
    assert made.wall_seconds == 1.0  # of one repeat, on which estimates of others rest
    assert len(made.facts["yardstick_cpu_seconds"]) == 3


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"primal": (2.0, 1.0, 0.5000001)}, "primal at point 2 is 0.5000001, was 0.5"),
        ({"primal": (2.0, 1.0)}, "after 2 points, was done"),
        ({"w": 2.0}, "the final w"),
        ({"b": np.ones(2)}, "the final b"),
        ({"primal": (2.0, 1.0, float("nan"))}, "primal at point 2 is nan, was 0.5"),
        ({"reason": "gap"}, "done (gap)"),
    ],
)
def test_a_repeat_with_other_numbers_fails_the_run(other, words):
    made = repeated(once(outcome([1, 2, 3]), outcome([1, 2, 3], **other)), NO_PINS)
    assert made.status == "failed"
    assert "repeat 2 gave other numbers than repeat 1" in made.reason and words in made.reason


def test_numbers_that_no_repeat_has_are_the_same():
    made = repeated(once(*(outcome([1, 2], (2.0, float("nan")), "inf", status="diverged") for _ in range(3))), NO_PINS)
    assert (made.status, len(made.rows)) == ("diverged", 2)


@pytest.mark.parametrize("others", [(1, 3, 2), (3, 1, 2)])
def test_repeats_ran_beside_as_many_as_any_of_them(others):
    assert repeated(once(*(outcome([1, 2, 3], concurrent=k) for k in others)), NO_PINS).concurrent_runs == 3


def test_what_was_cut_short_is_not_timed_again(tmp_path):
    found = [stored.result(stored.spec(seed=seed), status=status) for seed, status in enumerate(["done", "timeout"])]
    done, cut = (one.run for one in found)
    experiment = stored.experiment(tmp_path / "e", found)
    assert timing.untimed(experiment, [done, cut], 3) == {done}
    assert timing.untimed(experiment, [done, cut], 1) == set()


def test_repeats_that_seconds_end_elsewhere_are_cut_to_the_shortest():
    short, long = outcome([1.0, 2.0], (2.0, 1.0), "seconds", w=7.0), outcome([1.5, 1.8, 2.1], reason="seconds")
    made = repeated(once(long, short, long), NO_PINS)
    assert [row["seconds"] for row in made.rows] == [1.5, 2.0]  # the last point is of the shortest alone
    assert [(row["seconds_min"], row["seconds_max"]) for row in made.rows] == [(1.0, 1.5), (2.0, 2.0)]
    assert made.facts["w"] == [7.0]
    assert made.facts["timing"]["seconds"] == [1.5, 1.0, 1.5]


def test_the_point_at_which_the_clock_ends_a_repeat_is_its_own():
    """It is off the schedule, and better bounds were looked for there."""
    short = outcome([1.0, 2.0], (2.0, 0.9), "seconds", w=7.0)
    short.rows[-1] |= {"passes": 0.7, "cpu_seconds": 0.1}
    made = repeated(once(outcome([1.5, 1.8, 2.1], reason="seconds"), short, outcome([1, 1.2, 1.3])), NO_PINS)
    assert (made.status, made.reason) == ("done", "seconds")
    assert [(row["passes"], row["primal"]) for row in made.rows] == [(0.0, 2.0), (0.7, 0.9)]
    assert [row["cpu_seconds"] for row in made.rows] == [1.0, 1.0]
    made = repeated(once(outcome([1, 1.2, 1.3]), short, outcome([1, 1.2, 1.3])), NO_PINS)  # whichever comes first
    assert (made.status, made.reason, len(made.rows)) == ("done", "seconds", 2)


def test_runs_that_seconds_end_can_be_timed_and_verified(lab):
    config = lab.config(solver=["prox_sdca", "agd"], regularizer={"name": "l2", "strength": 1e-7})
    ran = lab.run(config, "--timing", "--set", "stop={seconds: 0.02}")
    assert ran.code == 0, ran.err
    assert [result.reason for result in lab.results()] == ["seconds"] * 2
    assert lab.cli("verify", lab.out).code == 0


def test_a_repeat_that_is_killed_ends_the_repeats_with_its_own_status():
    made = repeated(once(outcome([1, 2, 3]), outcome([1], status="killed", reason="by signal 9")), NO_PINS)
    assert (made.status, made.reason) == ("killed", "repeat 2 of 3: by signal 9")
    assert repeated(once(None), NO_PINS) is None


def test_timing_repeats_on_one_core_and_replaces_what_was_measured_once(lab):
    config = lab.config(solver=["prox_sdca", "agd"], stop={"passes": 3})
    lab.run(config)
    before = {result.run: result for result in lab.results()}
    ran = lab.run(config, "--timing", "--repeats", 2)
    assert ran.code == 0, ran.err
    for result in lab.results():
        facts = result.info["timing"]
        assert facts["repeats"] == 2 and len(facts["seconds"]) == 2
        assert (result.trace["seconds_min"] <= result.trace["seconds"]).all()
        assert (result.trace["seconds"] <= result.trace["seconds_max"]).all()
        assert result.info["concurrent_runs"] == 1
        if hasattr(os, "sched_getaffinity"):
            assert facts["pinned"] in os.sched_getaffinity(0)
        same = before[result.run]
        assert "timing" not in same.info
        assert np.array_equal(same.trace["primal"], result.trace["primal"])
        assert np.array_equal(same.w, result.w)
    shown = " ".join(lab.cli("show", lab.out).out.split())
    assert "seconds: medians of 2 repeats" in shown
    for again in ((), ("--timing", "--repeats", 2)):
        assert "2 of 2 runs were done before" in lab.run(config, *again).out  # as good as what is asked for
    assert "were done before" not in lab.run(config, "--timing", "--repeats", 3).out
    for reader in (("export", lab.out, "--to", lab.folder / "t.csv"), ("verify", lab.out), ("plot", lab.out)):
        assert lab.cli(*reader).code == 0, reader


def test_the_process_of_a_timed_run_has_one_core(lab):
    plugin = lab.folder / "cores.py"
    plugin.write_text(
        "import os, numpy as np, rrmbench\n"
        "@rrmbench.solver(deterministic=True)\n"
        "def cores(problem, start, rng):\n"
        "    for passes in range(9):\n"
        "        yield rrmbench.Iterate(np.full(problem.shape, float(len(os.sched_getaffinity(0)))), passes=passes)\n"
    )
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("no pins here")
    before = os.sched_getaffinity(0)
    config = lab.config(solver={"path": str(plugin), "name": "cores"}, stop={"passes": 2})
    assert lab.run(config, "--timing").code == 0
    assert set(lab.results()[0].w) == {1.0}
    assert os.sched_getaffinity(0) == before


def test_a_solver_that_is_not_reproducible_cannot_be_timed(lab):
    plugin = lab.folder / "dice.py"
    plugin.write_text(
        "import os, numpy as np, rrmbench\n"
        "@rrmbench.solver\n"
        "def dice(problem, start, rng):\n"
        "    for passes in range(9):\n"
        "        yield rrmbench.Iterate(np.full(problem.shape, passes * os.getpid() * 1e-9), passes=passes)\n"
    )
    ran = lab.run(lab.config(solver=["agd", {"path": str(plugin), "name": "dice"}]), "--timing", "--repeats", 2)
    assert ran.code == 1
    by_name = {result.spec["solver"]["name"]: result for result in lab.results()}
    assert by_name["agd"].status == "done"
    assert by_name["dice"].status == "failed"
    assert "repeat 2 gave other numbers than repeat 1: primal at point 1" in by_name["dice"].reason


def test_options_that_contradict_timing_are_refused(lab):
    ran = lab.run(lab.config(), "--timing", "-j", 2)
    assert ran.code == 2
    assert "--timing: runs are timed one at a time, found --jobs 2, allowed is 1" in ran.err
    ran = lab.run(lab.config(), "--repeats", 2)
    assert (ran.code, "--repeats: found 2 without --timing" in ran.err) == (2, True)


def test_what_makes_seconds_doubtful_is_said(monkeypatch):
    monkeypatch.setattr(os, "getloadavg", lambda: (50.0, 0.0, 0.0))
    monkeypatch.setattr(timing, "governor", lambda: "powersave")
    load, governor, pins = NO_PINS.warnings()
    assert "load average is 50" in load and "'powersave'" in governor and "cannot pin" in pins
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(timing, "governor", lambda: None)
    assert list(Timing(3, 0).warnings()) == []
    name, facts = environment(1)
    assert "numba_settings" not in facts
    monkeypatch.setattr(config, "BOUNDSCHECK", 1)
    assert list(Timing(3, 0).warnings()) == ["numba is set to BOUNDSCHECK=1: kernels may take many times as long"]
    changed, facts = environment(1)
    assert (changed != name, facts["numba_settings"]) == (True, "BOUNDSCHECK=1")


def test_timed_and_untimed_seeds_are_not_one_curve(tmp_path):
    facts = {"repeats": 3, "pinned": 1, "spread": 0.01, "seconds": [1.0, 1.1, 1.0]}
    runs = [stored.result(stored.spec(seed=0), timing=facts), stored.result(stored.spec(seed=1))]
    written = stored.experiment(tmp_path / "e", runs)
    from rrmbench.report.plots import sheets
    from rrmbench.report.tidy import load_results

    assert [run.keys["timing"] for run in runs_of(written)] == [3, None]
    (sheet,) = [sheet for _, _, sheet in sheets(written.directory, x="seconds")]
    assert "CAUTION: 1 of 2 runs were timed once, without repeats" in sheet.notes
    table = load_results(tmp_path / "e").groupby("seed")["timing"].first()
    assert [*table.isna()] == [False, True] and table[0] == 3
    update(tmp_path / "e", tmp_path / "b.json")
    assert all("timing" not in name for name in json.loads((tmp_path / "b.json").read_text())["experiments"]["e"])


# the gate of seconds


def gated(folder, factor, unit=1e-4, **info):
    """Results whose CPU time per pass is `factor` hundredths of a second, on a machine of this unit."""
    columns = stored.trace(rate=0.7, passes=40, seconds_per_pass=0.01 * factor)
    written = stored.result(stored.spec(), columns, yardstick_cpu_seconds=[unit, unit], **info)
    stored.experiment(folder / "e", [written])
    return folder


@pytest.mark.parametrize(
    ("factor", "unit", "verdict"),
    [(1.0, 1e-4, "ok"), (1.4, 1e-4, "ok"), (2.0, 1e-4, "regression"), (2.0, 2e-4, "ok"), (0.4, 1e-4, "faster")],
)
def test_seconds_are_compared_in_units_of_the_kernel(tmp_path, factor, unit, verdict):
    baseline = tmp_path / "b.json"
    update(gated(tmp_path / "a", 1.0), baseline, seconds=True)
    now = gated(tmp_path / "b", factor, unit)
    assert [row.verdict for row in check(now, baseline, 1.5).rows] == [verdict]
    assert [row.verdict for row in check(now, baseline).rows] == ["ok"]  # not asked for


@pytest.mark.parametrize(
    ("units", "factor", "found"),  # of what a gap takes, and times that what it took before
    [
        (1000.0, 1.4, "neither"),
        (1000.0, 1.6, "worse"),
        (1000.0, 1.0 / 1.4, "neither"),
        (1000.0, 1.0 / 1.6, "better"),
        (10.0, 3.0, "neither"),  # a few units are noise
        (10.0, 0.4, "neither"),
    ],
)
def test_seconds_change_by_more_than_the_tolerance_and_the_noise(tmp_path, units, factor, found):
    columns = stored.trace(rate=0.7, seconds_per_pass=units / 8)
    made = stored.result(stored.spec(), columns, yardstick_cpu_seconds=[1.0])
    (run,) = runs_of(stored.experiment(tmp_path / "e", [made]))
    now = check_seconds.ratios(run)["1e-2"]
    assert now == pytest.approx(units)
    worse, better = check_seconds.changes(run, {"1e-2": now / factor}, 1.5)
    assert ("worse" if worse else "better" if better else "neither") == found


def test_a_tolerance_is_a_factor_of_at_least_1():
    assert [check_seconds.tolerated(True, factor) for factor in (1.0, 3.0)] == [1.0, 3.0]
    for wrong in (0.9, np.inf, np.nan):
        with pytest.raises(RrmbenchError, match=r"--tolerance: found .*, allowed is a number of at least 1"):
            check_seconds.tolerated(True, wrong)


def test_a_measurement_of_the_kernel_that_something_disturbed_is_no_unit(tmp_path):
    def ratios(*units):
        found = stored.result(stored.spec(), stored.trace(rate=0.7), yardstick_cpu_seconds=list(units))
        (run,) = runs_of(stored.experiment(tmp_path / "e", [found]))
        return check_seconds.ratios(run)

    assert ratios(1e-4, 9e-4, 1e-4) == ratios(1e-4) != {}


def test_a_unit_is_one_product_with_X_and_one_with_its_transpose_the_median_of_the_rounds(monkeypatch):
    times = iter([0.0, 8.0, 10.0, 14.0, 20.0, 60.0])  # rounds of 8, 4 and 40 seconds, of four units each
    monkeypatch.setattr(yardstick, "thread_time", lambda: next(times))
    assert yardstick.measure() == 2.0


def test_the_gate_of_seconds_by_the_command_line(lab):
    config = lab.config(solver="prox_sdca", stop={"passes": 20, "gap": 1e-3})
    assert lab.run(config).code == 0
    units = lab.results()[0].info["yardstick_cpu_seconds"]
    assert len(units) == 2 and min(units) > 0  # before the clock starts and after it stops
    baseline = lab.folder / "b.json"
    lab.cli("check", lab.out, "--baseline", baseline, "--update")
    old = lab.cli("check", lab.out, "--baseline", baseline, "--seconds")
    assert old.code == 2
    assert "has no seconds; write them with 'rrmbench check ... --seconds --update'" in old.err
    assert lab.cli("check", lab.out, "--baseline", baseline).code == 0
    lab.cli("check", lab.out, "--baseline", baseline, "--update", "--seconds")
    assert lab.cli("check", lab.out, "--baseline", baseline, "--seconds").code == 0
    for options, words in (
        (("--tolerance", 2), "without --seconds"),
        (("--seconds", "--tolerance", "nan"), "at least 1"),
    ):
        ran = lab.cli("check", lab.out, "--baseline", baseline, *options)
        assert (ran.code, words in ran.err) == (2, True)
    content = json.loads(baseline.read_text())
    for record in content["experiments"]["toy"].values():
        record["seconds"] = {level: ratio / 1e6 for level, ratio in record["seconds"].items()}
    baseline.write_text(json.dumps(content))
    assert lab.cli("check", lab.out, "--baseline", baseline).code == 0


def test_results_without_the_kernel_cannot_be_gated_by_seconds(tmp_path):
    update(gated(tmp_path / "a", 1.0), tmp_path / "b.json", seconds=True)
    stored.experiment(tmp_path / "c" / "e", [stored.result(stored.spec())])
    with pytest.raises(RrmbenchError, match="no reference kernel was measured next to"):
        check(tmp_path / "c", tmp_path / "b.json", 1.5)


# black boxes


def box(points):
    """A black box whose calls end at these values of w_0 (of P(w) = that of the toy problem)."""
    for point in points:
        yield Iterate(np.array([point, 0.0, 0.0]), passes=np.nan, restarted=True)


def ended(points):
    toy = Problem(np.eye(3), np.ones(3), "squared", {"name": "l2", "strength": 0.1})
    trace = Trace(toy, box(points), StopRule(gap=1e-30), Schedule(), counted=False)
    rows = len(list(trace))
    # that a solver ends by itself is known after its last point, which is there again with the bound of the end
    return rows - (trace.reason == "ended"), trace.status, trace.reason


def test_a_black_box_that_does_not_move_beyond_rounding_is_done():
    P_at_rest = [0.3 * (1.0 + 1e-15 * (-1) ** k) for k in range(50)]
    assert ended([0.1, 0.2, *P_at_rest]) == (2 + AT_REST, "done", "no more progress")
    assert ended([0.1, 0.2, *[0.3] * 50]) == (3 + UNMOVED, "done", "no more progress")
    slow = [0.3 - 1e-6 * 0.9**k for k in range(50)]
    assert ended(slow) == (50, "done", "ended")


def test_a_black_box_that_returns_to_0_has_no_six_calls_in_a_row():
    assert ended([0.0, 0.1] * 30) == (60, "done", "ended")
    assert ended([0.1, *[0.0] * 100])[1:] == ("done", "no more progress")


def test_a_black_box_whose_budgets_do_not_grow_ends(monkeypatch):
    """Each call is far from the seconds of the rule, and moves w: together they end the run."""
    monkeypatch.setattr(trace_module, "ALL_CALLS", 1e-4)

    def calls():
        for call in itertools.count(1):
            time.sleep(1e-3)
            yield Iterate(np.array([1.0 / call, 0.0, 0.0]), passes=np.nan, restarted=True)

    toy = Problem(np.eye(3), np.ones(3), "squared", {"name": "l2", "strength": 0.1})
    trace = Trace(toy, calls(), StopRule(seconds=1000.0), Schedule(), counted=False)
    assert len(list(trace)) > 1 and (trace.status, trace.reason) == ("done", "no more progress")


def test_a_last_bound_below_the_rounding_of_p_leaves_the_end_of_a_run():
    """The rule takes no gap below 1e-15 P for met; what ended the run stays."""
    gaps = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((80, 30))
        y = np.where(X[:, 0] + rng.standard_normal(80) > 0.0, 1.0, -1.0)
        p = Problem(X, y, "logistic", {"name": "l2", "strength": 1e-2})
        exact = solve(p, "newton_cg", gap=1e-15, passes=1000).w
        trace = Trace(p, [Iterate(exact, passes=np.nan)], StopRule(gap=1e-16), Schedule(), counted=False)
        gaps.append(list(trace)[-1]["gap"])
        assert (trace.status, trace.reason) == ("done", "ended")
    assert min(gaps) <= 1e-16


def test_tolerances_that_a_library_meets_at_once_are_no_rest():
    """Each is a point with the time of its call, and one that makes a difference may come after many."""
    same, better = np.array([0.3, 0.0, 0.0]), np.array([0.4, 0.4, 0.4])
    fitted = iter([same] * 10 + [better] * 20)

    def build(tol):
        return SimpleNamespace(fit=lambda X, y: SimpleNamespace(coef_=next(fitted).copy()))

    toy = Problem(np.eye(3), np.arange(1.0, 4.0), "squared", {"name": "l2", "strength": 0.1})
    trace = Trace(
        toy, black_box.restarts(toy, (), build, black_box.tolerances()), StopRule(), Schedule(), counted=False
    )
    P = [row["primal"] for row in trace]
    assert len(P) == 12 + UNMOVED and P[11] < P[10] == P[1] and trace.reason == "no more progress"


def test_a_black_box_that_stays_at_0_at_first_is_not_done():
    assert ended([0.0] * 20 + [0.5]) == (21, "done", "ended")


def test_liblinear_ends_by_itself_where_no_gap_can_be_reached(lab):
    config = lab.config(loss="squared_hinge", regularizer={"name": "l2", "strength": 1.0}, solver="liblinear", limit=60)
    ran = lab.run(config, "--set", "stop={gap: 1e-300}")
    assert ran.code == 0, ran.err
    assert lab.results()[0].reason in ("no more progress", "ended", "gap")
    assert lab.cli("verify", lab.out).code == 0


@pytest.mark.parametrize("reason", ["no more progress", "ended", "passes", "seconds"])
def test_a_box_at_rest_has_ended_by_itself_and_met_no_rule(reason):
    asked = stored.spec() | {"stop": {"gap": 1e-30}}
    columns = stored.trace() | {"passes": np.full(21, np.nan), "checks": np.full(21, np.nan)}
    found = claims.faults(stored.result(asked, columns | COLUMNS_OF_METRICS, reason=reason))
    assert [text for text in found if "done because" in text] == (
        [] if reason in OWN_ENDS else [f"done because of '{reason}', but the last point meets no rule"]
    )


def test_a_library_that_is_not_installed_is_listed_and_its_runs_skipped(lab, monkeypatch):
    monkeypatch.setattr(components, "_is_installed", lambda library: library != "celer")
    said = "celer is not installed: pip install 'rrmbench[peers]'"
    assert said in " ".join(lab.cli("list", "solvers").out.split())
    stop = {"passes": 3, "gap": 1e-9}
    config = lab.config(regularizer={"name": "l1", "strength": 0.1}, solver=["fista", "celer"], stop=stop)
    assert said in lab.run(config, "--dry-run").out
    ran = lab.run(config)
    assert ran.code == 0
    assert f"skipped 1: {said}" in ran.out
    assert [result.spec["solver"]["name"] for result in lab.results()] == ["fista"]


def test_the_library_of_a_plug_in_is_looked_for_too(lab):
    plugin = lab.folder / "uninstalled.py"
    plugin.write_text(
        "import rrmbench\n\n\n@rrmbench.solver(library='no_such_library')\n"
        "def uninstalled(problem, start, rng):\n    yield\n"
    )
    ran = lab.run(lab.config(solver=["agd", {"path": str(plugin), "name": "uninstalled"}], stop={"passes": 3}))
    assert ran.code == 0
    assert "skipped 1: no_such_library is not installed: pip install no_such_library" in ran.out


# the environment


def test_the_environment_of_a_result_names_machine_libraries_and_versions(lab):
    lab.run(lab.config(stop={"passes": 2}))
    manifest = json.loads((lab.out / "toy" / "manifest.json").read_text())
    (facts,) = manifest["environments"].values()
    assert {"rrmbench", "numpy", "scipy", "numba", "celer", "skglm", "cyanure"} <= set(facts["versions"])
    assert facts["versions"]["numpy"] == np.__version__
    assert facts["blas"] and all(isinstance(name, str) for name in facts["blas"])
    assert {"processor", "governor", "physical_cores", "platform"} <= set(facts)


def test_the_version_of_a_library_that_a_plug_in_calls_is_in_the_environment(lab):
    plugin = lab.folder / "of_a_library.py"
    plugin.write_text(
        "import rrmbench\nfrom rrmbench import Iterate\n\n\n@rrmbench.solver(library='yaml')\n"
        "def of_a_library(problem, start, rng):\n    yield Iterate(problem.start(start))\n"
    )
    assert lab.run(lab.config(solver={"path": str(plugin)}, stop={"passes": 3})).code == 0
    (facts,) = json.loads((lab.out / "toy" / "manifest.json").read_text())["environments"].values()
    assert facts["versions"]["yaml"] == metadata.version("PyYAML")


@pytest.mark.parametrize("more", [0, 1, 2])
def test_a_run_that_went_on_after_a_point_that_meets_its_rule_is_told(more):
    """Of the gaps 2 e^-k the seventh is the first below 0.01."""
    asked = stored.spec() | {"stop": {"passes": 20.0, "gap": 0.01}}
    columns = stored.trace(rate=1.0) | COLUMNS_OF_METRICS
    if more == 2:  # and came back to where the rule is not met
        columns["primal"][7:], columns["gap"][7:] = 1.0, 1.0 - columns["dual"][7:]
    found = claims.faults(
        stored.result(asked, {name: column[: 7 + more] for name, column in columns.items()}, reason="gap")
    )
    assert ("went on after a point that meets gap" in found) == (more > 0)
    assert any("done because" in text for text in found) == (more == 2)


def test_an_accuracy_that_is_not_what_the_error_leaves_is_told():
    errors = {"train_error": np.linspace(0.5, 0.1, 21), "test_error": np.linspace(0.5, 0.2, 21)}
    columns = stored.trace(passes=20) | COLUMNS_OF_METRICS | errors
    for wrong in 0.0, 1e-3:
        accuracy = 1.0 - errors["test_error"] + wrong * (np.arange(21) == 7)
        found = claims.faults(stored.result(stored.spec(), columns | {"test_accuracy": accuracy}))
        assert found == (["test_accuracy is not 1 - test_error"] if wrong else [])


@pytest.mark.parametrize(("reason", "right"), [("passes", True), ("gap", True), ("ended", False), ("seconds", False)])
def test_a_run_that_passes_ended_may_meet_the_gap_by_the_bound_of_its_last_point(reason, right):
    columns = stored.trace(passes=20)
    asked = stored.spec() | {"stop": {"passes": 20.0, "gap": float(columns["gap"][-1])}}
    found = claims.faults(stored.result(asked, columns | COLUMNS_OF_METRICS, reason=reason))
    assert right != any("done because" in text for text in found)


def test_a_solver_keeps_its_core_and_its_priority(monkeypatch):
    monkeypatch.setattr(pinning.os, "sched_getaffinity", lambda pid: {0, 1})
    assert pinning.fault(None, pinning.priority()) is None
    assert pinning.fault(1, pinning.priority()) == "the solver left core 1, which its process was pinned to"
    assert "its niceness is" in pinning.fault(None, pinning.priority() + 1)


LATE = """
import rrmbench

@rrmbench.solver(needs={"smooth"})
def late(problem, start, rng, *, at: float):
    w, passes = problem.start(start), 0.0
    yield rrmbench.Iterate(w)
    while True:
        problem.X.forward(w)
        passes += 1.0
        if passes > at:
            import this_late_module
        yield rrmbench.Iterate(w, None, passes)
"""


def test_a_run_whose_clock_has_an_import_says_so(lab):
    """After more passes than the warm-up has; a run that imports it there has nothing to tell."""
    (lab.folder / "this_late_module.py").write_text("")
    (lab.folder / "late.py").write_text(LATE)
    solver = [{"path": str(lab.folder / "late.py"), "name": "late", "at": at} for at in (1.0, 60.0)]
    assert lab.run(lab.config(solver=solver, stop={"passes": 64})).code == 0
    assert [result.info.get("compiled") for result in lab.results()] == [None, True]
    assert "1 of 2 runs compiled a kernel, or imported a module, on their clock" in lab.cli("show", lab.out).out
