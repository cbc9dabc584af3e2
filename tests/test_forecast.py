"""Estimates: rates learnt from runs, the time left by a clock of the test's own, and the events of `run --json`."""

import json
import math
import threading
import time

import pytest
import stored
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lab import make_lab, odd  # noqa: F401

from rrmbench.bench.costs import Cost, cost_of, points
from rrmbench.bench.rates import Rates
from rrmbench.bench.rules import Schedule
from rrmbench.files import locked
from rrmbench.report.forecast import Forecast

ENTRIES = 1_000_000


@pytest.fixture(autouse=True)
def kernels_from_before(monkeypatch, tmp_path):
    """Nobody knows what was compiled before the rates began: estimates do not depend on the cache of the tests."""
    monkeypatch.setattr("rrmbench.bench.rates._kernel_folder", lambda: tmp_path)


def result(asked, passes=20, step=1e-8, fixed=0.5, look=0.01):
    """A Result that took `step` seconds per pass and stored entry, and `look` in all for its evaluations."""
    columns = stored.trace(passes=passes, seconds_per_pass=step * ENTRIES)
    wall = fixed + passes * step * ENTRIES + look
    return stored.result(asked, columns, wall_seconds=wall, evaluation_seconds=look)


def learnt(path, *asked, **cost):
    rates = Rates(path)
    for spec in asked:
        rates.learn(spec, ENTRIES, result(spec, **cost))
    rates.save()
    return Rates(path)


def seconds(rates, spec, entries=ENTRIES):
    ((found, measured),) = rates.batch([spec], [entries])
    return found, measured


def test_a_method_that_was_measured_is_estimated_by_its_own_rate(tmp_path):
    file = tmp_path / "rates.json"
    spec = stored.spec(seed=0)
    assert seconds(Rates(file), spec)[1] is False
    rates = learnt(file, spec, spec)
    assert seconds(rates, stored.spec(seed=7)) == (pytest.approx(0.5 + 20 * 0.01 + 0.01, rel=0.06), True)
    longer = stored.spec(seed=0) | {"stop": {"passes": 2000}}
    assert seconds(rates, longer) == (pytest.approx(0.5 + 2000 * 0.01 + 1.0, rel=0.1), True)
    assert seconds(rates, stored.spec(dataset="other", solver="prox_sdca"))[1] is False


def test_costs_of_several_runs_are_geometric_means_of_the_last_five_or_so():
    """The k-th run weighs 1/k, from the fifth on 1/5."""
    steps, cost = [1e-9, 4e-9, 2e-9, 8e-9, 1e-9, 32e-9, 1e-9], None
    before = math.nan
    for k, step in enumerate(steps, start=1):
        new = Cost(1, fixed=1.0, cold=None, step=step, look=step, share=1.0 / k, passes=None)
        cost = new if cost is None else cost.joined(new)
        if k <= 5:
            assert cost.step == pytest.approx(math.prod(steps[:k]) ** (1 / k), rel=1e-12)
            assert cost.share == pytest.approx(sum(1.0 / i for i in range(1, k + 1)) / k)
        else:
            assert cost.step == pytest.approx(before**0.8 * step**0.2, rel=1e-12)
        before = cost.step
    assert (cost.count, cost.fixed, cost.cold, cost.passes) == (7, pytest.approx(1.0), None, None)


@pytest.mark.parametrize(
    "schedule", [Schedule(), Schedule(2.5), Schedule(1.0, 1.1), Schedule(1.0, 1.5), Schedule(4.0, 1.2)]
)
def test_the_expected_points_of_a_run_are_those_that_its_schedule_makes(schedule):
    for end in 3.0, 40.0, 5000.0, 4e5:
        made, due = 0, 0.0
        while due <= end:
            made, due = made + 1, schedule.after(due)
        assert points(end, schedule.every, schedule.growth) == pytest.approx(made, rel=0.15, abs=2.0)


def test_on_little_data_passes_and_points_have_a_price_of_their_own(tmp_path):
    """What was never measured is not taken for free where X has a hundred entries."""
    spec = stored.spec() | {"stop": {"passes": 100_000}}
    assert 5.0 < seconds(Rates(tmp_path / "none.json"), spec, entries=100)[0] < 50.0


def test_what_a_rule_other_than_passes_ended_early_is_expected_to_end_early_again(tmp_path):
    spec = stored.spec() | {"stop": {"passes": 80, "gap": 1e-3}}
    rates = learnt(tmp_path / "r.json", spec)
    assert seconds(rates, spec)[0] == pytest.approx(0.5 + 20 * 0.01, rel=0.1)


def test_an_estimate_is_at_most_the_seconds_of_the_rule_and_unknown_without_any_bound(tmp_path):
    rates = learnt(tmp_path / "r.json", stored.spec())
    slow = stored.spec() | {"stop": {"passes": 10**9, "seconds": 2.0}, "trace": {"every": 10**8}}
    assert seconds(rates, slow)[0] == pytest.approx(2.5, rel=0.1)
    unknown = stored.spec(solver="celer") | {"stop": {"gap": 1e-3}}
    assert math.isnan(seconds(Rates(tmp_path / "none.json"), unknown)[0])
    assert seconds(rates, slow, entries=None) == (2.0, False)


DAMAGED = ["", "[]", "{}", '{"version": 1, "costs": {"a": {"count": 1}}}', "\xff" * 9, "[" * 9999]


@pytest.mark.parametrize("text", DAMAGED)
def test_a_damaged_file_of_rates_is_as_good_as_none(tmp_path, text):
    file = tmp_path / "rates.json"
    file.write_bytes(text.encode("latin-1"))
    assert Rates(file).costs == {}
    assert learnt(file, stored.spec()).costs


def test_processes_add_to_what_others_have_learnt_meanwhile(tmp_path):
    file = tmp_path / "rates.json"
    first, second = Rates(file), Rates(file)
    first.learn(stored.spec(solver="svrg"), ENTRIES, result(stored.spec(solver="svrg")))
    second.learn(stored.spec(solver="saga"), ENTRIES, result(stored.spec(solver="saga")))
    first.save()
    second.save()
    assert {"svrg", "saga"} <= set(Rates(file).costs)


def test_processes_that_save_at_the_same_time_lose_nothing(tmp_path, monkeypatch):
    """The second one reads what the first has written, however long that takes."""
    from rrmbench.bench import rates

    file, begun = tmp_path / "rates.json", threading.Event()

    def slowly(path, read=rates._read):
        found = read(path)
        begun.set()
        time.sleep(0.3)
        return found

    first, second = Rates(file), Rates(file)
    first.learn_reference(stored.spec(loss="squared"), False)
    second.learn_reference(stored.spec(loss="hinge"), False)
    monkeypatch.setattr(rates, "_read", slowly)
    saving = threading.Thread(target=first.save)
    saving.start()
    assert begun.wait(10)
    second.save()
    saving.join()
    assert len(Rates(file).referred) == 2


def test_what_could_not_be_written_is_written_by_the_next_call(tmp_path, monkeypatch):
    file = tmp_path / "rates.json"
    known = Rates(file)
    known.learn(stored.spec(), ENTRIES, result(stored.spec()))
    with monkeypatch.context() as patched, locked(tmp_path):
        patched.setattr("rrmbench.files._LOCK_PATIENCE", 0.1)
        known.save()
        assert not file.exists()
    known.save()
    assert Rates(file).costs


def test_a_run_that_waited_for_kernels_beside_the_one_that_compiled_them_is_cold_too(tmp_path, monkeypatch):
    monkeypatch.setattr("rrmbench.bench.rates._kernel_folder", lambda: tmp_path / "new")  # nothing is compiled
    clock = Clock()
    monkeypatch.setattr("rrmbench.bench.rates.monotonic", clock)
    file, spec = tmp_path / "rates.json", stored.spec()
    rates = Rates(file)
    (tmp_path / "new").mkdir()  # by the first run
    for clock.now, fixed in (10.0, 9.0), (10.1, 9.0), (11.0, 0.5):
        rates.learn(spec, ENTRIES, result(spec, fixed=fixed))
    rates.save()
    assert seconds(Rates(file), spec)[0] == pytest.approx(0.5 + 20 * 0.01 + 0.01, rel=0.06)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def play(walls, estimates, jobs=1, passes=10):
    """Run a batch on a clock; yield (time, forecast.left(), what is really left) at every row."""
    clock, runs = Clock(), [str(i) for i in range(len(walls))]
    forecast = Forecast(dict(zip(runs, estimates, strict=True)), dict.fromkeys(runs, "m"), jobs, clock=clock)
    total = sum(walls)
    for run, wall in zip(runs, walls, strict=True):
        forecast.start(run)
        for p in range(passes + 1):
            clock.now += wall / (passes + 1)
            row = {"passes": p, "seconds": 0.0, "gap": math.exp(-p), "primal": 1.0}
            forecast.row(run, row, {"passes": passes})
            yield clock.now, forecast.left(), total - clock.now
        forecast.end(run)
    assert forecast.left() == 0.0


@settings(max_examples=60, deadline=None)
@given(
    walls=st.lists(st.floats(1.0, 1.5), min_size=1, max_size=20),
    wrong=st.floats(0.01, 100.0),
)
@example(walls=[1.0, 1.5], wrong=1 / 16)  # the second run is late by its estimate, and not by what the first one took
@example(walls=[1.0, 1.5, 1.25], wrong=0.05)
def test_the_time_left_is_within_a_factor_of_two_after_a_tenth_however_wrong_the_estimates(walls, wrong):
    slack = 0.1 * max(walls)  # a point of the trace
    for now, left, true in play(walls, [wrong] * len(walls)):
        if now >= 0.1 * sum(walls) and now >= 0.2 * walls[0]:
            assert left <= 2.0 * true + slack and true <= 2.0 * left + slack, (now, left, true)


def test_of_a_run_that_a_gap_ends_the_gap_says_how_far_it_is():
    clock = Clock()
    forecast = Forecast({"a": 1000.0}, {"a": "m"}, 1, clock=clock)
    forecast.start("a")
    for k in range(6):
        clock.now += 1.0
        row = {"passes": math.nan, "seconds": math.nan, "gap": 10.0**-k, "primal": 1.0}
        forecast.row("a", row, {"gap": 1e-10})
    assert forecast.left() == pytest.approx(5.0, rel=0.2)


@pytest.mark.parametrize("first", (1e-300, 1.0))
@pytest.mark.parametrize("gap", (math.inf, 1e300, math.nan, 0.0, -1.0))
@pytest.mark.parametrize("rules", ({"gap": 1e-310}, {"relative_gap": 1e-310}))
def test_a_gap_without_a_logarithm_or_far_from_the_first_says_nothing_of_how_far_a_run_is(rules, gap, first):
    forecast = Forecast({"a": 1000.0}, {"a": "m"}, 1, clock=Clock())
    forecast.start("a")
    for one in (first, gap):
        forecast.row("a", {"passes": math.nan, "seconds": math.nan, "gap": one, "primal": 1.0}, rules)
    assert forecast.left() == pytest.approx(1000.0)


@pytest.mark.parametrize("method", ["same", "other"])
def test_what_a_run_compiles_before_its_first_point_is_not_expected_of_others(method):
    clock = Clock()
    methods = {"a": "same", "b": method}
    forecast = Forecast({"a": 1.0, "b": 1.0}, methods, 1, clock=clock)
    forecast.start("a")
    clock.now = 20.0
    assert forecast.left() == pytest.approx(0.25 * 20.0 + 1.0)  # the running one, and the estimate of the other
    for p in range(11):
        clock.now += 0.1
        forecast.row("a", {"passes": p, "seconds": 0.0, "gap": 1.0, "primal": 1.0}, {"passes": 10})
    forecast.end("a")
    assert 1.0 <= forecast.left() <= 2.5


def test_runs_side_by_side_share_the_time_and_what_follows_is_added():
    forecast = Forecast(dict.fromkeys("abcd", 3.0), dict.fromkeys("abcd", "m"), 2, after=4.0, clock=Clock())
    assert forecast.left() == pytest.approx(8.0)
    unknown = Forecast({"a": math.nan, "b": 2.0}, dict.fromkeys("ab", "m"), 1, clock=Clock())
    assert unknown.left() == pytest.approx(4.0)


def events(text):
    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    return [json.loads(line, parse_constant=refuse) for line in text.splitlines()]


def test_json_is_one_event_per_line_and_nothing_else_on_stdout(lab):
    config = lab.config(solver=["agd", "sgd", odd("raise"), "liblinear"], reference={"seconds": 5}, stop={"passes": 3})
    ran = lab.run(config, "--json")
    assert ran.code == 1
    found = events(ran.out)
    kinds = [event["event"] for event in found]
    assert kinds[0] == "skipped" and kinds[1] == "begin" and kinds[-1] == "summary"
    assert "liblinear" in found[0]["method"] and found[0]["reason"]
    assert found[1]["runs"] == 3
    ends = [event for event in found if event["event"] == "end"]
    started = {event["run"]: event for event in found if event["event"] == "start"}
    assert {event["run"] for event in ends} == set(started)
    stored_runs = {result.run: result for result in lab.results()}
    for end in ends[:3]:
        result = stored_runs[end["run"]]
        rows = [event for event in found if event["event"] == "row" and event["run"] == end["run"]]
        assert (end["status"], end["points"], len(rows)) == (result.status, result.points, result.points)
        assert [row["primal"] for row in rows] == list(result.trace["primal"])
        assert started[end["run"]]["spec"] == result.spec
    assert [event["time"] for event in found] == sorted(event["time"] for event in found)
    assert found[-1]["statuses"] == {"done": 2, "failed": 1}
    assert (found[-1]["ok"], found[-1]["kept"]) == (False, 0)


def test_infinite_and_missing_numbers_are_null_in_events(lab):
    ran = lab.run(lab.config(loss="logistic", solver="sklearn_lbfgs", stop={"gap": 1e-3}), "--json")
    rows = [event for event in events(ran.out) if event["event"] == "row"]
    assert rows and all(row["passes"] is None for row in rows)


def test_rows_of_timed_repeats_have_their_number(lab):
    ran = lab.run(lab.config(solver="agd"), "--json", "--timing", "--repeats", 2)
    rows = [event for event in events(ran.out) if event["event"] == "row"]
    (result,) = lab.results()
    assert [row["repeat"] for row in rows] == [1] * result.points + [2] * result.points
    assert "repeat" not in result.trace


def test_the_reader_of_events_may_go_away_the_runs_are_kept(lab):
    config = lab.config(solver=["agd", "gd", "apcg"], stop={"passes": 300})
    process = lab.start("run", config, "--json", "-o", lab.out)
    assert json.loads(process.stdout.readline())["event"] == "begin"
    process.stdout.close()
    said = process.stderr.read()
    assert process.wait(timeout=100) == 1  # not everything was told
    assert said.count("rrmbench: ") == said.count("\n") == 1
    assert "cannot be shown any longer (BrokenPipeError: [Errno 32] Broken pipe)" in said
    assert [result.status for result in lab.results()] == ["done"] * 3


def test_json_of_a_dry_run_is_its_plan(lab):
    found = events(lab.run(lab.config(solver=["agd", "liblinear"], seed=[0, 1]), "--json", "--dry-run").out)
    assert [event["event"] for event in found] == ["planned", "skipped", "skipped"]
    assert found[0]["estimate"] > 0.0
    assert not lab.out.exists()


def test_a_dry_run_knows_what_was_measured_here(lab, monkeypatch):
    from rrmbench.bench import rates

    monkeypatch.setattr(rates, "cache_root", lambda: lab.folder / "cache")  # the file alone: kernels stay
    config = lab.config(solver=["agd", "gd"])
    assert "estimates: none from runs of their kind on this machine" in lab.run(config, "--dry-run").out
    lab.run(config, "--only", "solver=agd")
    assert "estimates: 1 of 2 from runs of their kind" in lab.run(config, "--dry-run").out
    lab.run(config)
    assert "estimates: all from runs of their kind" in lab.run(config, "--dry-run", "--set", "seed=1").out


def test_a_black_box_is_expected_to_take_what_it_took_and_says_nothing_of_other_data(tmp_path):
    columns = stored.trace(passes=5)
    columns["passes"] = columns["passes"] * math.nan
    asked = stored.spec(solver="celer") | {"stop": {"passes": 60, "gap": 1e-6}}
    done = stored.result(asked, columns, wall_seconds=2.0, load_seconds=0.5)
    rates = Rates(tmp_path / "r.json")
    rates.learn(asked, ENTRIES, done)
    rates.learn(asked, ENTRIES, stored.result(asked, columns, status="timeout", wall_seconds=3600.0))
    rates.save()
    assert seconds(rates, asked) == (pytest.approx(2.0, rel=0.01), True)
    other = asked | {"dataset": {"name": "other"}}
    assert seconds(rates, other, entries=100 * ENTRIES)[1] is False


def test_runs_with_another_regularizer_are_not_of_the_same_kind(tmp_path):
    asked = stored.spec(solver="fobos") | {"stop": {"passes": 5}}
    rates = Rates(tmp_path / "r.json")
    rates.learn(asked, ENTRIES, stored.result(asked, stored.trace(passes=5), wall_seconds=2.0))
    rates.save()
    assert seconds(rates, asked | {"seed": 7})[1]
    assert not seconds(rates, asked | {"regularizer": {"name": "trace_norm"}})[1]


def test_of_a_run_that_restarts_all_calls_are_work(tmp_path):
    """Its trace has the clock of the last call alone, and the others are no fixed cost."""
    spec = stored.spec()
    columns = stored.trace(passes=32, seconds_per_pass=1.0)
    facts = {"wall_seconds": 63.5, "load_seconds": 0.3, "warmup_seconds": 0.2, "restarts": True}
    cost = cost_of(spec, ENTRIES, stored.result(spec, columns, **facts), cold=False)
    assert cost.fixed == pytest.approx(0.5) and cost.step == pytest.approx(63.0 / 32 / ENTRIES)


@pytest.mark.parametrize(("bounds", "fixed", "step"), [(0.4, 0.9, 0.1), (5.0, 1.5, 0.5)])
def test_better_bounds_are_no_look_at_each_point(bounds, fixed, step):
    """Those of a short run on little data take what those of a long one take; others grow with its passes."""
    facts = {"evaluation_seconds": bounds + 0.11, "bound_seconds": bounds, "wall_seconds": 0.5 + 1.0 + bounds + 0.11}
    columns = stored.trace(passes=10, seconds_per_pass=0.1)
    cost = cost_of(stored.spec(), ENTRIES, stored.result(stored.spec(), columns, **facts), cold=False)
    assert cost.fixed == pytest.approx(fixed) and cost.step * ENTRIES == pytest.approx(step)
    assert cost.look * ENTRIES == pytest.approx(0.01)


def test_a_reference_that_needed_no_extra_run_is_remembered(lab):
    config = lab.config(reference={"seconds": 5}, solver="direct")
    assert "reference optima of" in lab.run(config, "--dry-run").out
    lab.run(config)
    assert "reference optima of" not in lab.run(config, "--fresh", "--dry-run").out
