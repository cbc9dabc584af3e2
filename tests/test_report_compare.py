"""`rrmbench compare`: known ratios are found, intervals cover, nothing is dropped silently."""

import json
import re

import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401

from rrmbench.errors import RrmbenchError
from rrmbench.report.compare import Side, compare
from rrmbench.report.compare.noise import noise
from rrmbench.report.compare.ratios import FEW, basis, ratio
from rrmbench.report.levels import Levels
from rrmbench.report.results import runs_of

STRENGTHS = tuple(10.0**-k for k in range(3, 9))


def experiment(folder, factor, seeds=3, strengths=STRENGTHS, noise=0.05, solvers=("apcg",), seconds=0.01, **kinds):
    """Runs that need `factor` times the passes of rate 1 on each problem, but for noise of their own; finely traced."""
    rng = np.random.default_rng(int(1000 * factor))
    found = []
    for strength in strengths:
        for solver in solvers:
            for seed in range(seeds):
                chance = np.exp(noise * rng.normal())
                columns = stored.trace(rate=0.05 / (factor * chance), passes=400, seconds_per_pass=seconds)
                found.append(stored.result(stored.spec("toy", strength, solver, seed=seed), columns, **kinds))
    return stored.experiment(folder, found)


def both(tmp_path, factor=0.5, **options):
    experiment(tmp_path / "a", factor, **options)
    experiment(tmp_path / "b", 1.0, **options)
    return Side(tmp_path / "a"), Side(tmp_path / "b")


def test_a_known_ratio_is_found_with_its_interval_in_passes_and_seconds(tmp_path):
    experiment(tmp_path / "a", 0.5, seconds=0.02)
    experiment(tmp_path / "b", 1.0)
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-2, 1e-4)))
    assert len(found.pairing.pairs) == 18 and len(found.pairing.cases) == 6
    for one in found.outcomes:
        passes, seconds = one.ratios["passes"], one.ratios["seconds"]
        assert one.both == passes.pairs == 18 and passes.over == "cases"
        assert passes.low <= 0.5 <= passes.high and 1.0 < passes.high / passes.low < 1.3 and passes.differs
        assert np.isclose(seconds.estimate, 2.0 * passes.estimate)
    passes = found.outcomes[-1].ratios["passes"]
    interval = f"95 % interval {passes.low:.3g} to {passes.high:.3g}, 18 pairs"
    assert found.verdicts[0] == f"A needs {passes.estimate:.3g}x the passes of B to gap 1e-4 ({interval})"


def test_exchange_gives_the_reciprocal(tmp_path):
    a, b = both(tmp_path, 0.7)
    for one, other in zip(compare(a, b).outcomes, compare(b, a).outcomes, strict=True):
        assert (one.both, one.only_a, one.only_b, one.neither) == (
            other.both, other.only_b, other.only_a, other.neither,
        )  # fmt: skip
        for cost, found in one.ratios.items():
            back = other.ratios[cost]
            np.testing.assert_allclose(
                [found.estimate, found.low, found.high],
                1.0 / np.array([back.estimate, back.high, back.low]), rtol=1e-12,
            )  # fmt: skip


def test_without_a_difference_none_is_shown(tmp_path):
    rng = np.random.default_rng(3)
    for side in "ab":
        runs = [
            stored.result(stored.spec(seed=s), stored.trace(rate=0.1 * np.exp(0.3 * rng.normal()), passes=200))
            for s in range(6)
        ]
        stored.experiment(tmp_path / side, runs)
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-3,)))
    assert found.verdicts[0].startswith("no difference in passes is shown: A needs ")
    assert found.outcomes[0].ratios["passes"].over == "seeds"


@pytest.mark.parametrize(("cases", "seeds"), [(1, 4), (3, 3), (6, 3), (8, 1)])
def test_intervals_cover_the_truth_in_95_of_100(cases, seeds):
    """With effects of the case where the interval claims to speak of other cases, without where it does not."""
    rng = np.random.default_rng(cases)
    labels = np.repeat(np.arange(cases), seeds)
    over = basis(labels.tolist())
    assert over == ("cases" if cases >= FEW else "seeds")
    trials, held = 1500, 0
    for _ in range(trials):
        effect = 0.3 * rng.normal(size=cases) * (over == "cases")
        logs = np.log(0.62) + effect[labels] + 0.1 * rng.normal(size=len(labels))
        b = np.exp(rng.normal(size=len(labels)))
        found = ratio(b * np.exp(logs), b, labels.tolist(), over)
        held += found.low <= 0.62 <= found.high
    assert abs(held / trials - 0.95) < 4.0 * np.sqrt(0.95 * 0.05 / trials)


@given(st.lists(st.tuples(st.floats(1e-3, 1e3), st.floats(1e-3, 1e3), st.integers(0, 6)), min_size=1, max_size=30))
def test_a_ratio_is_inside_its_interval_and_weighs_each_case_the_same(rows):
    a, b, cases = zip(*rows, strict=True)
    found = ratio(a, b, cases, basis(cases))
    logs = {case: np.mean([np.log(x / y) for x, y, c in rows if c == case]) for case in cases}
    assert np.isclose(found.estimate, np.exp(np.mean(list(logs.values()))))
    assert np.isnan(found.low) == np.isnan(found.high)
    if not np.isnan(found.low):
        assert found.low <= found.estimate * (1 + 1e-12) and found.estimate <= found.high * (1 + 1e-12)


def test_what_one_side_alone_reaches_is_counted(tmp_path):
    for side, rates in (("a", (1.0, 1.0, 0.1, 1.0)), ("b", (1.0, 0.1, 1.0, 0.1))):
        runs = [stored.result(stored.spec(seed=s), stored.trace(rate=r)) for s, r in enumerate(rates)]
        if side == "b":
            runs[3] = stored.result(stored.spec(seed=3), {}, "killed", "out of memory")
        stored.experiment(tmp_path / side, runs)
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-4,)))
    (one,) = found.outcomes
    assert (one.both, one.only_a, one.only_b, one.neither) == (1, 2, 1, 0)
    text = "\n".join(found.sentences)
    assert "gap 1e-4 is reached by both in 1, by A alone in 2, by B alone in 1 of 4 pairs" in text
    assert "in the one pair, too few for an interval" in text
    assert "B: not done: 1 killed" in text


def test_runs_without_counterpart_and_other_data_are_told(tmp_path):
    a, b = both(tmp_path, seeds=2, strengths=(1e-3, 1e-4))
    extra = stored.result(stored.spec("toy", 1e-3, "svrg"))
    other = [stored.result(stored.spec("changed", seed=s)) for s in (0, 1)]
    kept = stored.standings(stored.Experiment(a.path)).runs
    stored.experiment(tmp_path / "a", [run.result for run in kept] + [extra, *other])
    for one in other:
        one.data = "1" * 64
    kept = stored.standings(stored.Experiment(b.path)).runs
    stored.experiment(tmp_path / "b", [run.result for run in kept] + other)
    found = compare(a, b)
    assert len(found.pairing.pairs) == 4
    assert [name for name in found.pairing.alone["A"] if "svrg" in name and "seed 0" in name]
    assert len(found.pairing.other_data) == 1 and "changed" in found.pairing.other_data[0]
    assert "their data are not the same in A and B: changed" in "\n".join(found.sentences)


def test_a_folder_in_which_no_run_has_ended_is_told(tmp_path):
    experiment(tmp_path / "a", 1.0, seeds=1, strengths=(1e-3,))
    stored.experiment(tmp_path / "b", [])
    with pytest.raises(RrmbenchError, match=r"^nothing to compare: no run of B has ended yet$"):
        compare(Side(tmp_path / "a"), Side(tmp_path / "b"))
    with pytest.raises(RrmbenchError, match="no run of A and of B has ended yet"):
        compare(Side(tmp_path / "b"), Side(tmp_path / "b"))


def test_timing_is_judged(tmp_path):
    a, b = both(tmp_path, concurrent_runs=4)
    text = "\n".join(compare(a, b).sentences)
    assert "CAUTION: A: runs were timed with up to 4 at the same time" in text
    timing = {"repeats": 3, "pinned": 0, "spread": 0.07}
    experiment(tmp_path / "c", 1.0, timing=timing, environment="other")
    text = "\n".join(compare(a, Side(tmp_path / "c")).sentences)
    assert "B: repeats of one run vary by up to 7%" in text
    assert "A and B are of different environments" in text


def test_seconds_per_pass_vary_by_their_quartiles_over_the_seeds_of_a_case(tmp_path):
    """Of 10 and 20 ms the quartiles are 12.5 and 17.5; one seed of a case says nothing."""
    runs = [stored.result(stored.spec(seed=k), stored.trace(seconds_per_pass=0.01 * (k + 1))) for k in range(2)]
    found = runs_of(stored.experiment(tmp_path / "e", runs))
    assert noise(found, ["one", "one"]).spread == pytest.approx(5.0 / 15.0)
    assert np.isnan(noise(found, ["one", "other"]).spread)


def test_a_coarse_trace_is_told(tmp_path):
    for side, rate in (("a", 1.0), ("b", 0.5)):
        runs = [stored.result(stored.spec(seed=s), stored.trace(rate, passes=20)) for s in range(3)]
        stored.experiment(tmp_path / side, runs)
    sides = Side(tmp_path / "a"), Side(tmp_path / "b")
    assert "ratios are rough: from one trace point to the next are 17% of the passes" in "\n".join(
        compare(*sides, Levels((1e-2,))).sentences
    )
    assert "rough" not in "\n".join(compare(*sides, Levels((1e-4,))).sentences)


def test_suboptimalities_are_measured_against_the_better_bound(tmp_path):
    """B knows the optimum to 1e-6; A alone knows it to 0.1 only, and would come nowhere."""
    experiment(tmp_path / "b", 1.0, strengths=(1e-3,))
    loose = [stored.result(stored.spec("toy", 1e-3, seed=s), stored.trace(0.1, passes=400)) for s in range(3)]
    made = stored.experiment(tmp_path / "a", loose)
    for file in (made.directory / "references").iterdir():
        content = json.loads(file.read_text())
        file.write_text(json.dumps(content | {"dual": stored.OPTIMUM - 0.1}))
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-4,), "suboptimality"))
    assert found.outcomes[0].both == 3 and abs(found.outcomes[0].ratios["passes"].estimate - 0.5) < 0.03


def test_two_methods_of_one_folder_and_a_deterministic_run_for_all_seeds(lab):
    experiment(lab.out / "e", 1.0, seeds=3, strengths=(1e-3,), solvers=("apcg", "svrg"))
    once = stored.result(stored.spec("toy", 1e-3, "fista"), stored.trace(0.1, passes=400), deterministic=True)
    runs = [run.result for run in stored.standings(stored.Experiment(lab.out / "e")).runs]
    stored.experiment(lab.out / "e", [*runs, once])
    text = lab.cli("compare", lab.out, "--a", "solver=fista", "--b", "solver=apcg").out
    assert "3 pairs of runs" in text and re.search(r"A needs 0\.(4[5-9]|5[0-4])\d*x the passes of B", text)
    for wrong, message in (
        ((), "found one folder, allowed are two, or --a KEY=VALUE and --b KEY=VALUE"),
        (("--a", "solver=apgc", "--b", "solver=svrg"), "--a solver=apgc: no run matches; did you mean 'apcg'"),
        (("--a", "solver=[apcg,svrg]", "--b", "solver=fista"), "A has several methods on toy"),
        (("--a", "solver=apcg", "--b", "loss=squared"), "B has several methods"),
        (("--a", "solver=apcg", "--b", "solver=apcg"), "nothing is compared with itself"),
        (("--a", "solver=apcg", "--b", "solver=svrg", "--y", "gpa"), "did you mean 'gap'"),
    ):
        ran = lab.cli("compare", lab.out, *wrong)
        assert ran.code == 2 and message in ran.err, ran.err


def test_the_command_prints_within_the_width_and_json_parses(lab, monkeypatch):
    for side, factor in (("a", 0.5), ("b", 1.0)):
        experiment(lab.out / side, factor, solvers=("apcg", "svrg"))
    monkeypatch.setenv("COLUMNS", "80")
    ran = lab.cli("compare", lab.out / "a", lab.out / "b", "--levels", "1e-2,1e-4", "--only", "seed=[0,1]")
    assert ran.code == 0 and max(map(len, ran.out.splitlines())) <= 80
    assert "24 pairs of runs of the same problem and seed" in ran.out
    assert sum(line.startswith(("apcg ", "svrg ")) for line in ran.out.splitlines()) == 2
    ran = lab.cli("compare", lab.out / "a", lab.out / "b", "--json")
    content = json.loads(ran.out, parse_constant=lambda name: pytest.fail(name))
    assert content["schema_version"] == 1 and content["pairs"] == 36 and len(content["outcomes"]) == 7
    best = content["outcomes"][0]["ratios"]["passes"]
    assert best["low"] < 0.5 < best["high"] and best["differs"] is True
    assert {one["method"] for one in content["methods"]} == {"apcg", "svrg"}
    ran = lab.cli("compare", lab.out / "a", lab.out / "nowhere")
    assert ran.code == 2 and "no such directory" in ran.err


@pytest.mark.parametrize(
    ("late", "said"), [("a", "A is at gap 1e-2"), ("b", "B is at gap 1e-2"), ("ab", "both sides are at gap 1e-2")]
)
def test_a_side_that_is_at_the_level_before_any_work_is_named(tmp_path, late, said):
    for side in "ab":
        whole = stored.trace(rate=0.5, passes=20)
        columns = {name: column[15:] for name, column in whole.items()} if side in late else whole
        stored.experiment(tmp_path / side, [stored.result(stored.spec(), columns)])
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-2,)))
    assert found.verdicts == [f"no ratio: {said} before any work"]


def test_levels_that_both_reach_and_that_have_no_ratio_say_why(tmp_path):
    for name in "ab":
        columns = stored.trace(1.0, passes=10)
        columns["gap"][10] = 1e-7  # by a bound of evaluation
        run = stored.result(stored.spec(), columns, evaluation_passes=3.0, helped=[[10, 1e-4]])
        stored.experiment(tmp_path / name, [run])
    found = compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-2, 1e-3, 1e-5, 1e-6)))
    (why,) = (line for line in found.sentences if line.startswith("no ratio"))
    assert why == "no ratio to gap 1e-5, 1e-6: a side is known to be there only by a bound of evaluation"
    assert "no ratio" not in " ".join(compare(Side(tmp_path / "a"), Side(tmp_path / "b"), Levels((1e-2,))).sentences)


# code


def test_what_is_of_other_code_is_named(lab):
    solver = lab.folder / "stepping.py"
    asked = {"solver": [{"path": str(solver), "name": "stepping"}, "agd"], "seed": [0]}
    other = lab.folder / "b"
    for step, folder in ("1.0", lab.out), ("0.5", other), ("0.5", lab.folder / "c"):
        solver.write_text(MINE.replace("STEP", step))
        assert lab.cli("run", lab.config(**asked), "-o", folder).code == 0
    same = lab.cli("compare", other, lab.folder / "c")
    assert same.code == 0 and "same code" not in same.out
    ran = lab.cli("compare", lab.out, other)
    assert "A and B are not of the same code: solver stepping (stepping.py) in 1 of 2 pairs\n" in ran.out
    ran = lab.cli("compare", lab.out, other, "--a", "solver=stepping", "--b", "solver=agd")
    assert ran.code == 0 and "same code" not in ran.out  # of two methods it never is


MINE = """
import rrmbench

@rrmbench.solver(needs={"smooth"}, deterministic=True)
def stepping(problem, start, rng):
    w, passes = problem.start(start), 0.0
    yield rrmbench.Iterate(w)
    while True:
        g = problem.X.adjoint(problem.loss_dual(problem.X.forward(w))) / problem.n
        w, passes = problem.prox(w - STEP / problem.L * g, STEP / problem.L), passes + 1.0
        yield rrmbench.Iterate(w, passes=passes)
"""


@pytest.mark.parametrize(
    "ours, theirs, said",
    [
        ({"solver": "1"}, {"solver": "2"}, "solver apcg"),
        ({"loss": "1", "solver": "1"}, {"loss": "2", "solver": "2"}, "loss squared, solver apcg"),
        ({"shared": "1"}, {"shared": "2"}, "what all runs of rrmbench share"),
        ({"solver": "1"}, None, "the records do not say what"),
        ({"solver": "1"}, {"solver": "1"}, "the records do not say what"),
    ],
)
def test_other_code_is_told_by_component(tmp_path, ours, theirs, said):
    for name, codes in ("a", ours), ("b", theirs):
        made = experiment(tmp_path / name, 1.0, strengths=(1e-3,), **({"codes": codes} if codes else {}))
        for one in made.results():
            one.code = name * 16
            made.write(one)
    sentences = compare(Side(tmp_path / "a"), Side(tmp_path / "b")).sentences
    assert [s for s in sentences if "code" in s] == [f"A and B are not of the same code: {said}"]
