"""Performance profiles: `rrmbench compare RESULTS --profile`."""

import json

import numpy as np
import pytest
import stored
from hypothesis import given
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401

from rrmbench.report.compare.draw_profile import draw
from rrmbench.report.compare.profiles import Profile, profile
from rrmbench.report.levels import Levels

LEVEL = Levels((1e-2,))
# passes to a gap of 1e-2, the first k with 2 exp(-rate k) <= 1e-2, by rate
PASSES = {1.0: 6, 0.5: 11, 0.25: 22, 0.1: 53}
RATES = {
    (1e-3, "apcg"): 1.0, (1e-3, "svrg"): 0.5, (1e-3, "fista"): 0.25,
    (1e-4, "apcg"): 0.25, (1e-4, "svrg"): 0.5, (1e-4, "fista"): 0.1,
    (1e-5, "apcg"): 1.0, (1e-5, "svrg"): 0.001,
    (1e-6, "apcg"): 0.001, (1e-6, "svrg"): 0.001, (1e-6, "fista"): 0.001,
}  # fmt: skip


def experiment(folder):
    runs = [
        stored.result(stored.spec("toy", strength, solver, seed=seed), stored.trace(rate, passes=60), concurrent_runs=2)
        for (strength, solver), rate in RATES.items()
        for seed in (0, 1)
    ]
    black = stored.trace(0.5, passes=60, certified=False) | {"passes": np.full(61, np.nan)}
    runs.append(stored.result(stored.spec("toy", 1e-3, "liblinear"), black))
    return stored.experiment(folder, runs)


def test_the_shares_are_those_of_problems_solved_within_tau_of_the_best(tmp_path):
    made = profile(experiment(tmp_path / "e").directory, LEVEL)
    assert made.labels == ("apcg", "svrg", "fista") and len(made.problems) == 4  # liblinear counts no passes
    never = np.inf
    expected = [[6, 22, 6, never], [11, 11, never, never], [22, 53, never, never]]
    np.testing.assert_array_equal(made.costs, expected)
    assert made.unsolved == 1 and made.missing.tolist() == [0, 0, 1]
    assert made.uncounted == ("liblinear",)
    np.testing.assert_allclose(made.steps(0), [[1.0, 2.0], [0.5, 0.75]])
    np.testing.assert_allclose(made.steps(1), [[1.0, 11 / 6], [0.25, 0.5]])
    np.testing.assert_allclose(made.steps(2), [[22 / 6, 53 / 11], [0.25, 0.5]])


def test_seconds_have_black_boxes_and_a_gap_needs_a_certificate(tmp_path):
    folder = experiment(tmp_path / "e").directory
    made = profile(folder, LEVEL, "seconds")
    assert made.labels[-1] == "liblinear" == made.uncertified[0] and np.isinf(made.costs[-1]).all()
    made = profile(folder, Levels((1e-2,), "suboptimality"), "seconds")
    assert np.isfinite(made.costs[-1]).sum() == 1 and not made.uncertified
    assert made.concurrent == 2


def test_what_is_known_to_be_there_at_its_end_only_is_no_cost(tmp_path):
    """An upper bound of what the level costs makes no ratio, as in `compare`."""
    runs = [
        stored.result(stored.spec(solver=solver), stored.trace(1.0, passes=passes), evaluation_passes=3.0)
        for solver, passes in (("apcg", 6), ("svrg", 20))
    ]
    made = profile(stored.experiment(tmp_path / "e", runs).directory, LEVEL)
    np.testing.assert_array_equal(made.costs, [[np.inf], [6.0]])
    assert made.bounded.tolist() == [1, 0]
    assert any("apcg (1)" in " ".join(text.get_text().split()) for text in draw(made).texts)


def test_the_figure_has_the_steps_a_log2_axis_and_says_what_is_not_in_it(tmp_path):
    made = profile(experiment(tmp_path / "e").directory, LEVEL)
    figure = draw(made)
    (axes,) = figure.axes
    assert axes.get_xscale() == "log" and axes.xaxis.get_transform().base == 2
    assert axes.get_xlim()[0] == 1.0 and axes.get_xlim()[1] > 53 / 11
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == list(made.labels)
    assert all(line.get_drawstyle() == "steps-post" for line in lines)
    assert lines[2].get_xdata().tolist()[:3] == [1.0, 22 / 6, 53 / 11]
    assert lines[2].get_ydata().tolist() == [0.0, 0.25, 0.5, 0.5]  # up to the end of the axis
    styles = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in lines}
    assert len(styles) == 3
    text = " ".join(one.get_text() for one in figure.texts)
    assert "1 of 4 problems: solved by none" in text and "never solved: fista (1)" in text
    ticks = [tick for tick in axes.get_xticks() if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    assert len(ticks) >= 3


def test_other_numbers_of_seeds_are_told_of_the_methods_that_are_shown(tmp_path):
    made = experiment(tmp_path / "e")
    assert profile(made.directory, LEVEL).other_seeds == ()
    (told,) = profile(made.directory, LEVEL, "seconds").other_seeds
    assert told.endswith("(on strength=1e-3): 2 of apcg, svrg, fista; 1 of liblinear")
    assert told[:50] in " ".join(one.get_text() for one in draw(profile(made.directory, LEVEL, "seconds")).texts)


@given(st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5, 1e6, np.inf]), min_size=3, max_size=3), min_size=1))
def test_profiles_rise_end_at_the_share_solved_and_someone_is_best(costs):
    costs = np.array(costs).T
    labels = ("a", "b", "c")
    problems = tuple(map(str, range(costs.shape[1])))
    made = Profile("passes", LEVEL, labels, labels, problems, costs, *np.zeros((2, 3), int), (), (), 1)
    best = 0.0
    for number in range(3):
        tau, rho = made.steps(number)
        assert (tau >= 1.0).all() and (np.diff(tau) > 0).all() and (np.diff(rho) > 0).all()
        within = (np.isfinite(costs[number]) & np.isfinite(made.ratios[number])).mean()
        assert np.isclose(rho[-1] if len(rho) else 0.0, within)
        best += rho[0] if len(tau) and tau[0] == 1.0 else 0.0
    assert best >= np.isfinite(costs).any(axis=0).mean() - 1e-12


def test_costs_that_differ_by_rounding_are_both_the_best():
    costs = np.array([[8.0, np.inf], [8.0 * (1.0 - 2e-16), np.inf], [16.0, 0.0]])
    made = Profile(
        "passes", LEVEL, ("a", "b", "c"), ("a", "b", "c"), ("1", "2"), costs, *np.zeros((2, 3), int), (), (), 1
    )
    assert costs[1, 0] < costs[0, 0]
    assert made.ratios[:2, 0].tolist() == [1.0, 1.0] and made.ratios[:, 1].tolist() == [np.inf, np.inf, 1.0]


def test_the_command_writes_the_figure_and_json(lab):
    experiment(lab.out / "e")
    ran = lab.cli("compare", lab.out, "--profile", "--level", "1e-2", "--format", "png,svg")
    files = ran.out.split()
    assert ran.code == 0 and [file.rpartition("/")[2] for file in files] == [
        "profile_passes_to_gap_1e-2.png", "profile_passes_to_gap_1e-2.svg",
    ]  # fmt: skip
    assert all((lab.out / "e" / "figures" / file.rpartition("/")[2]).stat().st_size > 5000 for file in files)
    ran = lab.cli("compare", lab.out, "--profile", "--level", "1e-2", "--json", "--only", "solver=[apcg,svrg]")
    content = json.loads(ran.out, parse_constant=lambda name: pytest.fail(name))
    assert content["methods"][0] == {
        "method": "apcg", "costs": [6.0, 22.0, 6.0, None], "not_run_on": 0, "bounds_on": 0,
        "tau": [1.0, 2.0], "rho": [0.5, 0.75],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--x", "second"), "--x: found 'second', allowed is passes, work, seconds; did you mean 'seconds'?"),
        (("--level", "0"), "--level: found '0', allowed are positive numbers"),
        (("--level", "1,2"), "--level: found '1,2'"),
        (("--x", ""), "--x: found '', allowed is passes, work, seconds"),
        (("--format", "gif"), "--format: found 'gif', allowed is png, pdf, svg"),
        (("--format", ""), "--format: found '', allowed is png, pdf, svg"),
        (("--a", "solver=apcg"), "--profile: compares all methods of one folder"),
        (("--only", "solver=liblinear"), "no method counts passes; --x seconds compares all"),
    ],
)
def test_mistakes_are_one_message(lab, options, message):
    experiment(lab.out / "e")
    ran = lab.cli("compare", lab.out, "--profile", *options)
    assert ran.code == 2 and message in ran.err


def test_options_of_a_profile_need_one(lab):
    experiment(lab.out / "e")
    ran = lab.cli("compare", lab.out, "--a", "solver=apcg", "--b", "solver=svrg", "--x", "seconds", "--level", "1e-2")
    assert ran.code == 2 and "--x, --level: of a profile; say --profile" in ran.err
    ran = lab.cli("compare", lab.out, "--profile", "--levels", "1e-2")
    assert ran.code == 2 and "found --levels" in ran.err
