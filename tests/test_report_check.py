"""The regression gate: slower, unreached, failed and missing fail it; faster and new never do."""

import json

import numpy as np
import pytest
import stored
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from rich.console import Console

from rrmbench.errors import RrmbenchError
from rrmbench.report.check import check, update


def verdicts(path, baseline):
    return [row.verdict for row in check(path, baseline).rows]


@pytest.fixture
def baseline(tmp_path):
    stored.experiment(tmp_path / "before" / "e", [stored.result(stored.spec(), stored.trace(rate=0.7, passes=40))])
    assert update(tmp_path / "before", tmp_path / "baseline.json") == []
    return tmp_path / "baseline.json"


def now(tmp_path, *runs):
    stored.experiment(tmp_path / "now" / "e", runs)
    return tmp_path / "now"


@pytest.mark.parametrize(
    ("rate", "verdict"),
    # a tenth is no change: 0.7/1.08 and 0.7/1.2 lie on both sides of it; a point is a pass, the gap 1e-8 takes 28
    [
        (0.7, "ok"),
        (0.68, "ok"),
        (0.7 / 1.08, "ok"),
        (0.7 / 1.2, "regression"),
        (0.5, "regression"),
        (0.1, "regression"),
        (1.4, "faster"),
    ],
)
def test_the_verdict_follows_the_passes(tmp_path, baseline, rate, verdict):
    report = check(now(tmp_path, stored.result(stored.spec(), stored.trace(rate=rate, passes=40))), baseline)
    assert [row.verdict for row in report.rows] == [verdict]
    assert report.regressed == (verdict == "regression")


def test_one_trace_point_later_is_no_regression_even_if_it_is_more_than_a_tenth(tmp_path):
    coarse = {name: column[::5] for name, column in stored.trace(rate=0.7, passes=40).items()}
    stored.experiment(tmp_path / "a" / "e", [stored.result(stored.spec(), coarse)])
    update(tmp_path / "a", tmp_path / "b.json")
    for shift, verdict in (1, "ok"), (2, "regression"):
        later = dict(coarse)
        for name in "primal", "dual", "gap":
            column = coarse[name]
            later[name] = [*[column[0]] * shift, *column[:-shift]]
        path = now(tmp_path, stored.result(stored.spec(), {k: np.asarray(v) for k, v in later.items()}))
        report = check(path, tmp_path / "b.json")
        assert "not reached" not in report.rows[0].detail
        assert report.rows[0].verdict == verdict


@pytest.mark.parametrize("is_counted_before", [True, False])
def test_passes_that_one_side_does_not_count_are_not_compared(tmp_path, is_counted_before):
    sides = [stored.trace(), stored.trace(rate=0.1)]
    sides[is_counted_before]["passes"][:] = np.nan
    sides[1]["gap"] = sides[0]["gap"]
    stored.experiment(tmp_path / "before" / "e", [stored.result(stored.spec(), sides[0])])
    update(tmp_path / "before", tmp_path / "baseline.json")
    assert verdicts(now(tmp_path, stored.result(stored.spec(), sides[1])), tmp_path / "baseline.json") == ["ok"]


def met(gap, at, helped=None):
    """A run that meets a gap at one point; `helped` is the gap without evaluation there, None for its own bound."""
    columns = stored.trace(0.7, passes=40)
    columns["gap"] = np.where(columns["passes"] < at, 2.0, gap)
    looked = {} if helped is None else {"evaluation_passes": 3.0, "helped": [[at, helped]]}
    return stored.result(stored.spec(), columns, **looked)


BOUND = "reached only by a bound of evaluation"


@pytest.mark.parametrize(
    "before, after, verdict, detail",
    [
        (met(5e-3, 10, 1.0), met(5e-3, 30, 1.0), "ok", ""),  # evaluation looked elsewhere
        (met(5e-3, 10), met(5e-3, 8, 1.0), "unclear", f"{BOUND}, was 10 passes"),
        (met(5e-3, 10), met(5e-3, 30, 1.0), "regression", "more than 30 passes by its own bounds, was 10 passes"),
        (met(5e-3, 10, 1.0), met(0.5, 10), "unclear", f"not reached, was {BOUND}"),
        (met(0.5, 10), met(5e-3, 10, 1.0), "ok", ""),
        (met(5e-3, 10, 1.0), met(5e-3, 30), "ok", ""),
        (met(5e-3, 10), met(5e-3, 30), "regression", "10 -> 30 passes"),
    ],
)
def test_a_gap_that_a_bound_of_evaluation_met_is_no_measure(tmp_path, before, after, verdict, detail):
    stored.experiment(tmp_path / "before" / "e", [before])
    update(tmp_path / "before", tmp_path / "baseline.json")
    report = check(now(tmp_path, after), tmp_path / "baseline.json")
    assert [(row.verdict, row.detail) for row in report.rows] == [(verdict, detail and f"gap 1e-2: {detail}")]
    assert report.regressed == (verdict == "regression")


def test_seconds_do_not_matter(tmp_path, baseline):
    slow = stored.trace(rate=0.7, passes=40, seconds_per_pass=1e6)
    assert verdicts(now(tmp_path, stored.result(stored.spec(), slow)), baseline) == ["ok"]


@pytest.mark.parametrize("status", ["failed", "killed", "interrupted", "timeout", "diverged"])
def test_a_run_that_ends_worse_has_regressed_whatever_its_curve(tmp_path, baseline, status):
    same = stored.result(stored.spec(), stored.trace(rate=0.7, passes=40), status=status, reason="because")
    report = check(now(tmp_path, same), baseline)
    assert report.regressed
    assert f"{status}: because" in report.rows[0].detail


def test_a_level_that_is_not_reached_any_more_is_named(tmp_path, baseline):
    short = stored.result(stored.spec(), stored.trace(rate=0.7, passes=21))
    (row,) = check(now(tmp_path, short), baseline).rows
    assert row.verdict == "regression"
    assert row.detail == "gap 1e-7: not reached, was 25 passes; gap 1e-8: not reached, was 28 passes"


def test_of_a_black_box_the_gaps_are_compared_without_passes(tmp_path):
    def uncounted(passes):
        columns = stored.trace(rate=0.7, passes=passes)
        return stored.result(stored.spec(), columns | {"passes": np.full(passes + 1, np.nan)})

    stored.experiment(tmp_path / "before" / "e", [uncounted(40)])
    update(tmp_path / "before", tmp_path / "b.json")
    (row,) = check(now(tmp_path, uncounted(21)), tmp_path / "b.json").rows
    assert (row.verdict, row.detail) == (
        "regression",
        "gap 1e-7: not reached, was before; gap 1e-8: not reached, was before",
    )
    (row,) = check(tmp_path / "before", tmp_path / "b.json").rows
    assert row.verdict == "ok"


def test_missing_fails_and_new_does_not(tmp_path, baseline):
    assert verdicts(now(tmp_path, stored.result(stored.spec(seed=1))), baseline) == ["new", "missing"]
    assert check(tmp_path / "now", baseline).regressed
    both = [
        stored.result(stored.spec(), stored.trace(rate=0.7, passes=40)),
        stored.result(stored.spec(seed=1)),
    ]
    report = check(now(tmp_path, *both), baseline)
    assert ([row.verdict for row in report.rows], report.regressed) == (["ok", "new"], False)


def test_an_experiment_that_is_missing_as_a_whole_fails(tmp_path, baseline):
    stored.experiment(tmp_path / "other" / "f", [stored.result(stored.spec())])
    report = check(tmp_path / "other", baseline)
    assert [(row.experiment, row.verdict) for row in report.rows] == [("f", "new"), ("e", "missing")]


def test_a_gap_reached_for_the_first_time_is_faster(tmp_path):
    stored.experiment(tmp_path / "a" / "e", [stored.result(stored.spec(), stored.trace(passes=5))])
    update(tmp_path / "a", tmp_path / "b.json")
    (row,) = check(now(tmp_path, stored.result(stored.spec(), stored.trace(passes=15))), tmp_path / "b.json").rows
    assert row.verdict == "faster"
    assert "gap 1e-2: reached in 11 passes, was not" in row.detail


@settings(max_examples=20, deadline=None)
@given(rates=st.lists(st.floats(0.05, 3), min_size=1, max_size=4), uncounted=st.booleans())
def test_what_was_just_written_as_the_baseline_passes(tmp_path_factory, rates, uncounted):
    path = tmp_path_factory.mktemp("e")
    runs = [stored.result(stored.spec(seed=k), stored.trace(rate=rate)) for k, rate in enumerate(rates)]
    if uncounted:  # a peer without counted passes
        runs[0].trace["passes"] = runs[0].trace["passes"] * np.nan
    stored.experiment(path / "e", runs)
    update(path, path / "baseline.json")
    assert set(verdicts(path, path / "baseline.json")) == {"ok"}


def test_the_baseline_does_not_depend_on_machine_code_or_time(tmp_path, baseline):
    text = baseline.read_text()
    again = stored.result(stored.spec(), stored.trace(rate=0.7, passes=40, seconds_per_pass=3))
    again.run, again.code, again.created = (
        again.spec_id + "-12345678",
        "12345678",
        "2027-01-01T00:00:00+00:00",
    )
    update(now(tmp_path, again), baseline)
    assert baseline.read_text() == text
    assert list(json.loads(text)["experiments"]["e"]) == [
        "toy(scale=mean_norm), squared, l1(strength=1e-4), apcg, seed 0"
    ]


def test_runs_that_differ_in_their_stopping_rule_only_are_told_apart(tmp_path):
    runs = [stored.result(stored.spec() | {"stop": {"passes": p}}, stored.trace(passes=p)) for p in (10, 20)]
    path = now(tmp_path, *runs)
    assert update(path, tmp_path / "b.json") == []
    assert verdicts(path, tmp_path / "b.json") == ["ok", "ok"]


def test_other_stopping_rules_are_not_compared(tmp_path, baseline):
    """The last point has a bound that those before have not, and is another one."""
    run = stored.result(stored.spec() | {"stop": {"passes": 41.0}}, stored.trace(rate=0.7, passes=41))
    (row,) = check(now(tmp_path, run), baseline).rows
    assert row.verdict == "regression" and row.detail.startswith("other stopping rules: passes=41.0, in the baseline ")
    older = json.loads(baseline.read_text())
    for record in older["experiments"]["e"].values():
        del record["stop"]  # as baselines were written
    baseline.write_text(json.dumps(older))
    assert verdicts(tmp_path / "now", baseline) == ["ok"]


@pytest.mark.parametrize(("rate", "verdict"), [(0.7, "unclear"), (1.4, "unclear"), (0.5, "regression")])
def test_passes_on_other_data_are_told(tmp_path, baseline, rate, verdict):
    run = stored.result(stored.spec(), stored.trace(rate=rate, passes=40))
    run.data = "1" * 64  # a file that was edited in its place
    (row,) = check(now(tmp_path, run), baseline).rows
    assert row.verdict == verdict and row.detail.startswith("other data than in the baseline")
    older = json.loads(baseline.read_text())
    for record in older["experiments"]["e"].values():
        del record["data"]
    baseline.write_text(json.dumps(older))
    assert "other data" not in check(tmp_path / "now", baseline).rows[0].detail


def test_a_new_baseline_names_the_runs_that_will_be_regressions(lab):
    runs = [stored.result(stored.spec(seed=seed), status=status) for seed, status in ((0, "done"), (1, "failed"))]
    stored.experiment(lab.out / "e", runs)
    asked = ("check", lab.out, "--baseline", lab.folder / "b.json")
    written = " ".join(lab.cli(*asked, "--update").out.split())
    assert "WARNING: check will call 1 of its runs a regression until done: e: toy" in written
    assert written.endswith("seed 1 (failed)")
    assert lab.cli(*asked).code == 1


@pytest.mark.parametrize("what", ["a configuration", "a manifest", "a folder", "a baseline of a newer version"])
def test_a_new_baseline_replaces_nothing_but_a_baseline(tmp_path, baseline, what):
    path = now(tmp_path, stored.result(stored.spec()))
    taken = {"a manifest": next(path.rglob("manifest.json")), "a folder": path}.get(what, tmp_path / "other")
    if what == "a configuration":
        taken.write_text("name: mine\nseed: 1\n")
    if what == "a baseline of a newer version":
        taken.write_text('{"schema_version": 99, "experiments": {}}')
    before = None if taken.is_dir() else taken.read_bytes()
    with pytest.raises(RrmbenchError, match=rf"^{taken}: .*; --update "):
        update(path, taken)
    assert before is None or taken.read_bytes() == before
    update(path, baseline)
    assert verdicts(path, baseline) == ["ok"]


def test_a_missing_or_damaged_baseline_is_one_clear_message(tmp_path, baseline):
    path = now(tmp_path, stored.result(stored.spec()))
    with pytest.raises(RrmbenchError, match=r"absent.json: no such baseline; write one with .*--update"):
        check(path, tmp_path / "absent.json")
    for text in "", "[]", "{}", '{"schema_version": 1, "experiments": {"e": {"x": {}}}}', "\xff":
        baseline.write_text(text, encoding="latin-1")
        with pytest.raises(RrmbenchError, match=r"baseline.json: not a baseline of rrmbench"):
            check(path, baseline)
    baseline.write_text('{"schema_version": 99, "experiments": {}}')
    with pytest.raises(RrmbenchError, match="upgrade"):
        check(path, baseline)


def test_the_table_lists_what_is_not_ok_and_counts_the_rest(tmp_path, baseline):
    runs = [stored.result(stored.spec(), stored.trace(rate=0.1)), stored.result(stored.spec(seed=1))]
    console = Console(width=120)
    with console.capture() as capture:
        console.print(check(now(tmp_path, *runs), baseline))
    text = capture.get()
    assert "regression  e: toy(scale=mean_norm), squared," in text
    assert "gap 1e-2: not reached, was 8 passes" in " ".join(text.split())
    assert "1 regression, 1 new" in text
