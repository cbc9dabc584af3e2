"""Better bounds that evaluation pays for: near the truth, never above it, within their share, no part of the run."""

from itertools import pairwise, product

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab import make_lab  # noqa: F401
from scipy.sparse import csr_array, random_array
from sklearn.linear_model import Lasso

from rrmbench import Iterate, Problem, registry
from rrmbench.bench import ascents, dual_ascent, newton, polishing
from rrmbench.bench.ascents import ascend_by_rows
from rrmbench.bench.polishing import SHARE, Polisher
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.store import Experiment
from rrmbench.bench.trace import Trace
from rrmbench.numerics.random import Rng
from rrmbench.problem.certificate import Certifier

RNG = np.random.default_rng(3)
X = RNG.normal(size=(60, 8)) * np.array([1.0, 1.0, 1.0, 0.3, 0.3, 0.03, 0.03, 0.01])  # badly conditioned
SIGNS = np.where(X @ RNG.normal(size=8) + RNG.normal(size=60) > 0.0, 1.0, -1.0)
L1 = {"name": "l1", "strength": 1e-3}
GROUPS = {"name": "group_lasso", "strength": 1e-2, "groups": 2}
SLACK = 4.0  # passes of the last bound, over the share


@pytest.fixture
def unpolished(monkeypatch):
    """Calling it ends all polishing."""
    return lambda: monkeypatch.setattr(polishing, "methods_for", lambda problem, passes: [])


def traced(problem, name, reduction="none", **stop):
    solve = registry.build_solver(name, reduction)
    trace = Trace(problem, solve(problem, None, Rng(0)), StopRule(**stop), Schedule(), counted=solve.counts_passes)
    return trace, list(trace)


def lasso(strength):
    """(the optimum of the lasso by scikit-learn, the problem)."""
    found = Lasso(alpha=strength, fit_intercept=False, tol=1e-14, max_iter=1_000_000).fit(X, SIGNS).coef_
    problem = Problem(X, SIGNS, "squared", {"name": "l1", "strength": strength})
    return problem.primal(found), problem


# the bounds


@pytest.mark.parametrize("strength", [1e-2, 1e-4])
@pytest.mark.parametrize(("solver", "passes"), [("fista", 40), ("subgradient", 200)])
def test_at_the_end_the_gap_is_near_the_true_distance(solver, passes, strength, unpolished):
    optimum, problem = lasso(strength)
    trace, rows = traced(problem, solver, passes=passes)
    unpolished()
    _, plain = traced(problem, solver, passes=passes)
    distance = rows[-1]["primal"] - optimum
    assert distance > 1e-9
    assert rows[-1]["gap"] <= min(10.0 * distance, 0.5 * plain[-1]["gap"])
    assert rows[-1]["dual"] <= optimum + 1e-12
    assert rows[-1]["dual"] == pytest.approx(problem.dual_value(trace.b), rel=1e-14)


def test_steps_on_single_samples_come_near_where_nothing_is_smooth():
    optimum = oracles.hinge_l1_optimum(X, SIGNS, 1e-3)
    problem = Problem(X, SIGNS, "hinge", L1)
    _, rows = traced(problem, "subgradient", passes=200)
    assert optimum - 1e-9 <= rows[-1]["primal"]
    assert rows[-1]["dual"] <= optimum + 1e-9
    assert rows[-1]["gap"] <= 10.0 * (rows[-1]["primal"] - optimum)


@pytest.mark.parametrize("method", [newton.ascend, ascend_by_rows, dual_ascent.ascend])
@settings(max_examples=15)
@given(data=st.data())
def test_no_bound_is_above_the_optimum_wherever_the_run_is(method, data):
    """From any model and any b; newton also where columns are the same and G is singular."""
    optimum, problem = lasso(1e-2)
    seed, size = data.draw(st.integers(0, 2**32 - 1)), data.draw(st.sampled_from([0.0, 1e-8, 1.0, 1e4, 1e150, 1e300]))
    draws = np.random.default_rng(seed)
    if data.draw(st.booleans()):
        problem = Problem(np.hstack([X, X]), SIGNS, "squared", {"name": "l1", "strength": 1e-2})
    w, b = size * draws.normal(size=problem.shape), size * draws.normal(size=60)
    kept = w.copy(), b.copy()
    with np.errstate(all="ignore"):
        for count, (better, model, steps) in enumerate(method(problem.counted(), w, b, 15.0)):
            value = problem.dual_value(better)
            assert not np.isfinite(value) or value <= optimum + 1e-9
            assert not problem.primal(model) < optimum - 1e-9
            assert steps >= 0.0
            assert count < 100
    assert np.array_equal(w, kept[0])
    assert np.array_equal(b, kept[1])


def one_hot(seed):
    """Two blocks of columns that sum to 1, so that G is singular, some of them rare, and numbers of several scales."""
    rng = np.random.default_rng(seed)
    chances = np.array([1.0, 0.05, 0.4, 0.05]), 2.0 ** -np.arange(30.0)
    blocks = [np.eye(len(p))[rng.choice(len(p), 1000, p=p / p.sum())] for p in chances]
    A = np.hstack([*blocks, rng.random((1000, 10)) * 10.0 ** rng.uniform(-2, 0, 10)])
    return A, np.sign(A @ rng.standard_normal(44) + rng.standard_normal(1000))


@pytest.mark.parametrize(("seed", "strength"), [(2, 1e-5), (3, 1e-7), (3, 1e-6)])
def test_newton_closes_the_gap_where_the_gram_matrix_is_singular_and_the_regularizer_weak(seed, strength):
    problem = Problem(*one_hot(seed), "squared", {"name": "l1", "strength": strength})
    optimum = traced(problem, "working_sets", gap=1e-12, passes=50_000)[1][-1]["dual"]
    trace, rows = traced(problem, "prox_sdca", "proximal_point", passes=100)
    distance = rows[-1]["primal"] - optimum
    start = problem.loss_dual(problem.X.forward(trace.w))
    found = [problem.dual_value(b) for b, *_ in newton.ascend(problem.counted(), trace.w, start, 150.0)]
    assert -1e-12 <= optimum + 1e-12 - max(found) and rows[-1]["primal"] - max(found) <= 1.1 * distance + 1e-11


def test_newton_needs_few_features_the_squared_loss_and_the_passes():
    _, problem = lasso(1e-2)
    assert newton.fits(problem, 50.0)
    assert not newton.fits(problem, 1.0)
    assert not newton.fits(Problem(X, SIGNS, "logistic", L1), 50.0)
    assert not newton.fits(Problem(X, SIGNS, "squared", GROUPS), 50.0)
    wide = Problem(RNG.normal(size=(5, newton.LARGEST + 1)), np.ones(5), "squared", L1)
    assert not newton.fits(wide, 1e9)


def test_newton_is_exact_with_few_passes_where_rows_are_many():
    """A row has 40 of 200 features: X^T X counts 11 passes, a system of all features 1.7."""
    rng = np.random.default_rng(0)
    columns = np.argsort(rng.random((10_000, 200)), axis=1)[:, :40]
    indptr, scales = np.arange(0, 400_001, 40), 10.0 ** rng.uniform(-2, 0, 200)
    A = csr_array((rng.random(400_000) * scales[columns.ravel()], columns.ravel(), indptr), shape=(10_000, 200))
    problem = Problem(
        A, np.sign(A @ rng.normal(size=200) + rng.normal(size=10_000)), "squared", L1 | {"strength": 1e-6}
    )
    optimum = traced(problem, "working_sets", gap=1e-13, passes=50_000)[1][-1]["dual"]
    w = traced(problem, "prox_sdca", "proximal_point", passes=30)[0].w
    assert newton.fits(problem, 25.0) and not newton.fits(problem, 15.0)
    assert newton.ascend in ascents.methods_for(problem, 13.0)  # dense blocks are read so fast
    assert newton.ascend not in ascents.methods_for(problem, 7.0)
    start, spent = problem.loss_dual(problem.X.forward(w)), problem.counted()
    found = [(problem.dual_value(b), steps) for b, _, steps in newton.ascend(spent, w, start, 25.0)]
    best, distance = max(value for value, _ in found), problem.primal(w) - optimum
    assert distance > 1e-9
    assert optimum - best <= 0.1 * distance
    assert best <= optimum + 1e-12
    assert spent.X.passes + sum(steps for _, steps in found) <= 25.0 + SLACK


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
def test_working_sets_bring_the_model_nearer_before_prox_sdca(loss, monkeypatch):
    problem = Problem(X, SIGNS, loss, L1 | {"strength": 1e-5})
    optimum = traced(problem, "working_sets", gap=1e-12, passes=50_000)[1][-1]["dual"]
    w = traced(problem, "apcg", "proximal_point", passes=60)[0].w
    distance = problem.primal(w) - optimum

    def ratio():
        seen, steps, best = problem.counted(), 0.0, -np.inf
        for b, _, more in ascend_by_rows(seen, w.copy(), np.zeros(60), 60.0):
            best, steps = max(best, problem.certificate(b)[0]), steps + more
        assert seen.X.passes + steps <= 60.0
        assert best <= optimum + 1e-12
        return (problem.primal(w) - best) / distance

    assert distance > 1e-9
    nearer = ratio()
    monkeypatch.setattr(ascents, "NEARER", 0.0)
    assert nearer < 0.5 * ratio()


SPARSE = random_array((80, 40), density=0.2, rng=RNG, data_sampler=RNG.normal, format="csr")


@pytest.mark.core(1)
@pytest.mark.parametrize(
    ("name", "loss", "regularizer", "ascend"),
    [
        ("apcg_bias", "absolute", {"name": "l2", "strength": 0.01}, ascents.ascend_by_apcg),
        ("working_sets", "huber", L1, lambda problem, w, b, passes: ascents._nearer(problem, w, passes)),
    ],
)
def test_what_a_method_read_last_is_counted_too(name, loss, regularizer, ascend, monkeypatch):
    """It may be more than a bound that came before says."""
    method, read = getattr(ascents, name), []

    def recorded(*given):
        for x in method(*given):
            read.append(x.passes + x.checks)
            yield x

    monkeypatch.setattr(ascents, name, recorded)
    problem = Problem(SPARSE, 1e3 * SPARSE.sum(axis=1), loss, regularizer)
    for passes, b in product((15.0, 20.0, 30.0, 50.0), (np.zeros(80), problem.loss_dual(np.zeros(80)))):
        read.clear()
        seen = problem.counted()
        steps = sum(more for *_, more in ascend(seen, np.zeros(40), b, passes))
        assert 0.0 < read[-1] == pytest.approx(seen.X.passes + steps)  # and nothing twice


def test_what_brings_the_model_nearer_takes_half_a_pass_for_each_bound():
    seen, returned = Problem(SPARSE, 1e3 * SPARSE.sum(axis=1), "huber", L1).counted(), []

    def nearer():
        returned.append((yield from ascents._nearer(seen, np.zeros(40), 40.0)))

    steps = [more for *_, more in nearer()]
    ((_, taken),) = returned
    assert len(steps) > 2 and taken == pytest.approx(seen.X.passes + sum(steps) + 0.5 * len(steps))
    assert taken > 40.0  # it ends at the first point beyond, and yields none there


def test_what_brings_the_model_nearer_sees_what_sweeps_change_in_place():
    """`working_sets` begins with sweeps, which yield one and the same array b for many passes."""
    wide = np.random.default_rng(1).normal(size=(60, 400))
    problem = Problem(wide, SIGNS, "logistic", L1 | {"strength": 1e-2}).counted()
    found, nearer = [], ascents._nearer(problem, np.zeros(400), 5.0)
    while True:
        try:
            b, model, _ = next(nearer)
        except StopIteration as end:
            w, _ = end.value
            break
        found.append((problem.certificate(b)[0], problem.primal(model)))
    (first, start), (last, end) = found[0], found[-1]
    assert last > first and problem.primal(w) <= end < 0.5 * start
    assert 2 <= len(found) <= 5


# the run itself


@pytest.mark.parametrize("solver", ["fista", "svrg", "subgradient", "pdprox_dual"])
def test_the_run_is_the_same_but_for_its_bounds(solver, unpolished, monkeypatch):
    monkeypatch.setattr(polishing, "READS", 0.0)  # as if the data were not little
    monkeypatch.setattr(polishing, "FAR", np.inf)
    problem = Problem(X, SIGNS, "hinge" if solver == "subgradient" else "logistic", GROUPS if solver == "fista" else L1)
    reduction = "auto" if solver == "svrg" else "none"
    trace, rows = traced(problem, solver, reduction, passes=80)
    unpolished()
    plain, others = traced(problem, solver, reduction, passes=80)
    assert np.array_equal(trace.w, plain.w)
    for row, other in zip(rows, others, strict=True):
        assert all(row[name] == other[name] for name in ("passes", "checks", "primal", "nonzeros"))
        assert row["dual"] >= other["dual"]
    assert rows[-1]["dual"] > others[-1]["dual"]
    assert all(after["dual"] >= before["dual"] for before, after in pairwise(rows))
    assert plain.evaluation_passes == 0.0 < trace.evaluation_passes <= SHARE * 80 + SLACK


def near(gap, problem, w, passes, reads=polishing.READS, far=np.inf):
    """(passes, D) of a Polisher at w, the last point of a run of so many passes; a gap is wide from `gap` over P."""
    certifier = Certifier(problem)
    certifier.update(Iterate(w), problem.X.forward(w))
    polisher = Polisher(problem, certifier)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "WIDE", gap)
        patch.setattr(polishing, "READS", reads)
        patch.setattr(polishing, "FAR", far)
        polisher.polish(w, problem.primal(w), passes, -np.inf, True)
    return polisher.passes, certifier.dual


def test_a_wide_gap_gets_more_passes_on_little_data():
    problem = Problem(X, SIGNS, "smoothed_hinge", L1 | {"strength": 1e-6})
    trace, rows = traced(problem, "subgradient", passes=40)
    share, dual = near(np.inf, problem, trace.w, 40)
    assert share <= SHARE * 40 + SLACK
    assert rows[-1]["primal"] - dual > polishing.WIDE * rows[-1]["primal"]
    passes, better = near(polishing.WIDE, problem, trace.w, 40)
    assert share < passes <= polishing.LITTLE + SLACK
    assert better > dual
    assert near(polishing.WIDE, problem, trace.w, 40, reads=2.0 * problem.X.nnz * 60.0)[0] <= 60.0 + SLACK
    assert near(polishing.WIDE, problem, trace.w, 40, reads=0.0) == (share, dual)
    assert 0.0 < near(polishing.WIDE, problem, trace.w, 8)[0] <= polishing.LITTLE + SLACK  # however short the run
    assert near(polishing.WIDE, problem, trace.w, 8, reads=0.0)[0] == 0.0


def test_a_gap_far_above_what_is_known_of_the_distance_gets_more_passes_on_any_data():
    problem = Problem(X, SIGNS, "smoothed_hinge", L1 | {"strength": 1e-6})
    trace, _ = traced(problem, "subgradient", passes=40)
    share, dual = near(np.inf, problem, trace.w, 40)
    passes, better = near(np.inf, problem, trace.w, 40, far=0.0)
    assert share < passes <= polishing.FURTHER * 40 + SLACK
    assert better > dual
    assert near(np.inf, problem, trace.w, 40, far=1e9)[0] == share  # the models are nearer than w, and that is enough
    assert near(np.inf, problem, trace.w, 8, far=0.0)[0] == 0.0  # nothing was begun


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("loss", "regularizer"), [("squared", L1), ("logistic", L1), ("logistic", GROUPS), ("hinge", GROUPS)]
)
def test_nothing_is_spent_where_the_gap_is_nearly_all_of_the_distance(loss, regularizer, monkeypatch):
    """Far from the optimum D is soon at its best beside the gap, which no bound can close."""
    problem = Problem(X, SIGNS, loss, regularizer)
    best = traced(problem, "pdprox_restarted" if loss == "hinge" else "fista", gap=1e-9, passes=50_000)[1][-1]
    w = np.ones(8)
    passes, dual = near(polishing.WIDE, problem, w, 1000)
    distance = problem.primal(w) - best["primal"]
    assert distance > 0.1 and best["gap"] < 1e-6
    assert distance <= problem.primal(w) - dual <= distance / (1.0 - polishing.PART) + 1e-6
    assert 0.0 < passes < 150.0
    monkeypatch.setattr(polishing, "PART", 0.0)
    assert near(polishing.WIDE, problem, w, 1000)[0] > 2.0 * passes


def test_a_run_without_any_bound_gets_its_first_one():
    optimum, problem = lasso(1e-2)
    certifier, w = Certifier(problem), np.ones(8)
    assert certifier.dual == -np.inf
    Polisher(problem, certifier).polish(w, problem.primal(w), 100.0, -np.inf, True)
    assert optimum - 1e-2 <= certifier.dual <= optimum + 1e-12


def test_before_the_last_point_only_a_gap_that_is_asked_for_is_looked_at():
    _, problem = lasso(1e-2)
    for target, spends in (-np.inf, False), (1e-9, True):
        certifier, w = Certifier(problem), np.ones(8)
        certifier.offer(np.zeros(60))
        polisher = Polisher(problem, certifier)
        for work in 1000.0, 2000.0:  # between which the gap stays
            polisher.polish(w, problem.primal(w), work, target, last=False)
        assert (polisher.passes > 0.0) == spends


def test_a_short_run_on_much_data_is_not_polished(monkeypatch):
    _, problem = lasso(1e-2)
    assert traced(problem, "fista", passes=8)[0].evaluation_passes > 0.0
    monkeypatch.setattr(polishing, "READS", 0.0)
    assert traced(problem, "fista", passes=8)[0].evaluation_passes == 0.0
    assert traced(problem, "fista", passes=40)[0].evaluation_passes > 0.0


def test_a_bound_that_meets_the_rule_ends_the_run_by_its_name(unpolished):
    _, problem = lasso(1e-3)
    trace, rows = traced(problem, "fista", gap=3e-4, passes=2000)
    assert (trace.status, trace.reason) == ("done", "gap")
    assert rows[-1]["gap"] <= 3e-4 < rows[-2]["gap"]
    unpolished()
    _, others = traced(problem, "fista", gap=3e-4, passes=2000)
    assert len(rows) < len(others)


def test_a_run_that_a_bound_of_evaluation_has_ended_gets_a_last_one_too():
    """The first bound that meets the rule is about as far from P as the rule allows, also where P is at its optimum."""
    problem = Problem(X, SIGNS, "logistic", L1)
    optimum = traced(problem, "working_sets", gap=1e-12, passes=20_000)[1][-1]["dual"]
    trace, rows = traced(problem, "subgradient", gap=1e-2, passes=2000)
    last = rows[-1]
    assert trace.reason == "gap" and rows[-2]["gap"] > 1e-2
    assert last["gap"] <= 1.1 * (last["primal"] - optimum)
    assert trace.evaluation_passes <= SHARE * last["passes"] + SLACK


def test_nothing_is_spent_on_a_gap_that_falls_by_itself():
    problem = Problem(X, SIGNS, "logistic", {"name": "l2", "strength": 1.0})
    trace, _ = traced(problem, "prox_sdca", gap=1e-12, passes=1000)
    assert trace.reason == "gap"
    assert trace.evaluation_passes == 0.0


def test_a_run_that_its_gap_has_ended_still_gets_half_of_the_share(unpolished, monkeypatch):
    monkeypatch.setattr(polishing, "READS", 0.0)  # as if the data were not little
    problem = Problem(X, SIGNS, "logistic", {"name": "l2", "strength": 1e-4})
    best = min(row["primal"] for row in traced(problem, "newton_cg", gap=1e-12, passes=1000)[1])
    trace, rows = traced(problem, "fista", gap=1e-2, passes=1000)
    unpolished()
    plain, others = traced(problem, "fista", gap=1e-2, passes=1000)
    assert trace.reason == plain.reason == "gap"
    assert np.array_equal(trace.w, plain.w)
    assert 0.0 < trace.evaluation_passes <= SHARE * polishing.AFTER * rows[-1]["passes"] + SLACK
    assert rows[-1]["gap"] < 0.8 * others[-1]["gap"]
    assert rows[-1]["dual"] <= best + 1e-12


def test_a_short_run_that_its_gap_has_ended_gets_a_near_bound_on_little_data(monkeypatch):
    """Its share is too small to begin anything."""
    optimum, problem = lasso(1e-2)
    trace, rows = traced(problem, "fista", gap=3e-2, passes=1000)
    distance = rows[-1]["primal"] - optimum
    assert trace.reason == "gap"
    assert rows[-1]["gap"] <= 2.0 * distance + polishing.WORTH
    assert trace.evaluation_passes <= polishing.LITTLE + SLACK
    monkeypatch.setattr(polishing, "READS", 0.0)
    plain, others = traced(problem, "fista", gap=3e-2, passes=1000)
    assert np.array_equal(trace.w, plain.w)
    assert others[-1]["gap"] > 2.0 * rows[-1]["gap"]
    assert trace.evaluation_passes > plain.evaluation_passes


def test_the_points_whose_bounds_evaluation_found_are_told_with_the_gap_without_it(unpolished):
    problem = Problem(X, SIGNS, "logistic", {"name": "l2", "strength": 1e-4})
    trace, rows = traced(problem, "fista", gap=1e-9, passes=300)
    assert all(rows[point]["gap"] < gap for point, gap in trace.helped.items())
    unpolished()
    plain, own = traced(problem, "fista", gap=1e-9, passes=300)
    first = min(trace.helped)
    assert trace.helped[first] == own[first]["gap"] and not plain.helped
    assert [row["gap"] for row in rows[:first]] == [row["gap"] for row in own[:first]]


def test_a_last_bound_that_meets_the_gap_does_not_say_that_the_gap_ended_the_run(unpolished):
    """On the last point more is spent than on those before: with more passes, the run would have gone on from there."""
    problem = Problem(X, SIGNS, "hinge", L1)
    _, polished = traced(problem, "subgradient", passes=40)
    gap = 1.1 * polished[-1]["gap"]
    trace, rows = traced(problem, "subgradient", gap=gap, passes=40)
    assert trace.reason == "passes" and rows[-1]["gap"] == polished[-1]["gap"] < gap
    unpolished()
    plain, others = traced(problem, "subgradient", gap=gap, passes=40)
    assert plain.reason == "passes" and others[-1]["gap"] > gap


def test_without_a_regularizer_there_is_no_bound_to_look_for():
    trace, rows = traced(Problem(X, SIGNS, "logistic"), "fista", passes=60)
    assert trace.evaluation_passes == 0.0
    assert rows[-1]["gap"] == np.inf


def test_a_solver_that_counts_no_passes_is_polished_at_its_end():
    optimum, problem = lasso(1e-3)
    w = np.full(8, 0.05)
    calls = (Iterate(w, passes=np.nan, restarted=True) for _ in range(100))
    trace = Trace(problem, calls, StopRule(), Schedule(), counted=False)
    rows = list(trace)
    assert trace.reason == "no more progress"
    assert [row["dual"] for row in rows[:-1]] == [rows[0]["dual"]] * (len(rows) - 1)
    assert rows[0]["dual"] < rows[-1]["dual"] <= optimum
    assert 0.0 < trace.evaluation_passes <= polishing.UNCOUNTED + SLACK


@pytest.mark.parametrize("spoil", [np.nan, np.inf, 1e308, ValueError("of a plug-in")])
def test_a_method_that_fails_costs_its_bound_only(spoil, monkeypatch):
    def method(problem, w, b, passes):
        if isinstance(spoil, Exception):
            raise spoil
        yield np.full(problem.output_shape, spoil), w, 1.0

    monkeypatch.setattr(polishing, "methods_for", lambda problem, passes: [method])
    trace, rows = traced(lasso(1e-2)[1], "fista", passes=60)
    assert (trace.status, trace.reason) == ("done", "passes")
    assert np.isfinite([row["gap"] for row in rows]).all()
    assert trace.evaluation_fault == ("ValueError: of a plug-in" if isinstance(spoil, Exception) else None)


def test_nothing_follows_the_bound_of_a_linear_program_which_is_the_optimum(monkeypatch):
    problem, methods = Problem(X, SIGNS, "hinge", L1), []
    *_, (_, w, _) = ascents.ascend_by_program(problem, np.zeros(8), np.zeros(60), 1000.0)  # P(w) - D is rounding
    w *= 1.0 + 1e-14
    follow = Polisher.follow
    monkeypatch.setattr(
        Polisher, "follow", lambda self, method, *of: (methods.append(method), follow(self, method, *of))[1]
    )
    certifier = Certifier(problem)
    Polisher(problem, certifier).polish(w, problem.primal(w), 1000.0, -np.inf, last=True)
    assert methods == [ascents.ascend_by_program]
    assert certifier.dual == pytest.approx(oracles.hinge_l1_optimum(X, SIGNS, 1e-3), abs=1e-9)


@pytest.mark.parametrize("failure", [ValueError("of HiGHS"), None], ids=["error", "time out"])
def test_where_the_program_fails_the_other_methods_have_their_turn(failure, monkeypatch):
    def fails(problem, start, rng, **options):
        yield Iterate(problem.start(), passes=np.nan)
        if failure is not None:
            raise failure

    problem, optimum = Problem(X, SIGNS, "hinge", L1), oracles.hinge_l1_optimum(X, SIGNS, 1e-3)
    exact, _ = traced(problem, "pdprox_dual", passes=60)
    monkeypatch.setattr(ascents.highs, "highs", fails)
    trace, rows = traced(problem, "pdprox_dual", passes=60)
    assert exact.evaluation_fault is None
    assert trace.evaluation_fault == (None if failure is None else "ValueError: of HiGHS")
    assert trace.evaluation_passes > 10.0
    assert rows[-2]["dual"] < rows[-1]["dual"] <= optimum + 1e-12


def test_a_bound_from_a_view_of_the_problem_is_the_same_and_counted():
    _, problem = lasso(1e-2)
    seen = problem.counted()
    certifier, b = Certifier(problem), problem.loss_dual(X @ np.ones(8))
    certifier.offer(b, seen)
    assert certifier.dual == problem.dual_value(b)
    assert seen.X.passes == 0.5


# through the command line


def test_results_are_the_same_with_two_at_a_time_verified_and_say_what_they_cost(lab):
    config = lab.config(
        regularizer={"name": "l1", "strength": 1e-2}, solver=["fista", "gd"], reduction="none", stop={"passes": 40}
    )
    one, two = lab.folder / "one", lab.folder / "two"
    assert lab.cli("run", config, "-o", one, "-j", "1", "-q").code == 0
    assert lab.cli("run", config, "-o", two, "-j", "2", "-q").code == 0
    pairs = list(zip(Experiment(one / "toy").results(), Experiment(two / "toy").results(), strict=True))
    assert len(pairs) == 2
    for a, b in pairs:
        assert a.trace["dual"].tolist() == b.trace["dual"].tolist()
        assert 0.0 < a.info["evaluation_passes"] == b.info["evaluation_passes"] <= SHARE * 41 + SLACK
        assert a.trace["gap"][-1] < 0.5 * a.trace["gap"][-2]
    verified = lab.cli("verify", one)
    assert verified.code == 0, verified.out


@pytest.mark.core(2)
@pytest.mark.parametrize(("loss", "y"), [("squared", X @ np.ones(8) + 3.0), ("hinge", SIGNS)])
@pytest.mark.parametrize("solver", ["fobos", "subgradient", "fista"])
def test_a_free_bias_beside_a_squared_norm_gets_better_bounds(loss, y, solver):
    ones = np.ones((len(y), 1))
    problem = Problem(np.hstack([X, ones]), y, loss, {"name": "l2", "strength": 1e-2}, free_bias=True)
    assert ascents.methods_for(problem, 50.0)
    _, best = traced(problem, "pdprox_restarted", relative_gap=1e-10, passes=20000)
    reduction = "auto" if solver == "fista" else "none"
    _, rows = traced(problem, solver, reduction, passes=30)
    distance = rows[-1]["primal"] - best[-1]["dual"]
    assert -1e-12 <= distance and rows[-1]["gap"] <= 10.0 * distance + 1e-9


def test_passes_of_evaluation_are_the_products_that_it_made():
    """Half a pass each, those for bounds and for P at the models of a method included."""
    rng = np.random.default_rng(0)
    p = Problem(rng.normal(size=(60, 8)), rng.normal(size=60), "absolute", {"name": "l2_norm", "strength": 0.05})
    products, polisher = [], Polisher(p, Certifier(p))
    for name in "forward", "adjoint":
        product = getattr(p.X, name)
        p.X.__dict__[name] = lambda x, product=product: products.append(0.5) or product(x)
    for calls in 1, 2:
        assert polisher.follow(dual_ascent.ascend, np.ones(8), polishing.Aim(np.inf, np.inf, np.inf, 0.0), 12.0)
        assert polisher.passes == pytest.approx(sum(products))
        assert polisher.passes > 4.0 * calls


def test_what_a_method_reads_beside_products_counts_and_ends_it():
    _, problem = lasso(1e-2)

    def method(problem, w, b, passes):
        while True:
            yield 1e-3 * SIGNS, w, 3.0

    polisher = Polisher(problem, Certifier(problem))
    assert polisher.follow(method, np.ones(8), polishing.Aim(np.inf, np.inf, np.inf, 0.0), 12.0)
    assert polisher.passes == 4 * (3.0 + 0.5 + 0.5)  # half a pass for each bound, and for P at the model
