"""The trace: what the clock sees, which points it has, when it stops, what its certificates are worth."""

import copy
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, count, islice
from typing import NamedTuple

import numpy as np
import oracles
import pytest
from lab import new_cache
from test_solvers_peers import make_clock  # noqa: F401

from rrmbench import Iterate, Problem, registry
from rrmbench.bench import polishing
from rrmbench.bench.contract import Failure
from rrmbench.bench.rules import Schedule, StopRule
from rrmbench.bench.trace import STALLED, Trace
from rrmbench.bench.unseen import Unseen, of_other_threads
from rrmbench.components import lacking
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 5))
Y = np.where(X @ RNG.normal(size=5) + RNG.normal(size=30) > 0.0, 1.0, -1.0)
RIDGE = Problem(X, Y, "squared", {"name": "l2", "strength": 0.1})


def descent(problem, step=1.0, pause=0.0, per_pass=1):
    """Gradient steps, `per_pass` of them (and iterates) in a pass."""
    w = np.zeros(problem.shape)
    for k in count():
        yield Iterate(w, passes=k / per_pass)
        time.sleep(pause)
        w = w - step * problem.prox_gradient(w, problem.X.forward(w)) / problem.L


def traced(iterates, problem=RIDGE, schedule=None, metrics=lambda w, z: {}, **stop):
    trace = Trace(problem, iterates, StopRule(**stop), schedule or Schedule(), metrics)
    return trace, list(trace)


def column(rows, name):
    return [row[name] for row in rows]


# what a solver counts, next to the products that it made


def counting(problem, share, start=None):
    """Gradient steps whose passes are `share` of what their products are."""
    w, passes = np.zeros(problem.shape) if start is None else start, 0.0
    yield Iterate(w)
    while True:
        passes += 1.0 if w.any() else 0.5  # a product with 0 is free
        w = w - problem.prox_gradient(w, problem.X.forward(w)) / problem.L
        yield Iterate(w, passes=share * passes)


def test_passes_are_no_fewer_than_the_products():
    apart = RIDGE.apart()
    trace = Trace(RIDGE, counting(apart, 1.0), StopRule(passes=5), Schedule(), audited=apart.X)
    assert list(trace)[-1]["passes"] == apart.X.passes == 5.5  # the first product is with 0
    for share, start in ((0.9, None), (0.4, np.ones(5))):
        apart = RIDGE.apart()
        trace = Trace(RIDGE, counting(apart, share, start), StopRule(passes=5), Schedule(), audited=apart.X)
        rows = []
        with pytest.raises(Failure, match=r"counted 0.4\d? passes, its products with X and X\^T alone are (0.5|1)"):
            rows.extend(trace)
        assert [row["passes"] for row in rows] == [0.0]


def test_a_call_from_scratch_counts_its_own_products():
    apart = RIDGE.apart()

    def calls():
        w = np.ones(5)
        for products, passes in ((1, 0.5), (2, 1.0), (3, 1.5), (4, 1.5)):
            for _ in range(products):
                apart.X.forward(w)
            yield Iterate(w, passes=passes, restarted=True)

    rows = []
    with pytest.raises(Failure, match=r"counted 1\.5 passes, its products .* are 2"):
        rows.extend(Trace(RIDGE, calls(), StopRule(passes=50), Schedule(0.0), restarts=True, audited=apart.X))
    assert column(rows, "passes") == [0.5, 1.0, 1.5]


# the clock


def test_the_clock_runs_in_the_solver_and_not_in_the_evaluation():
    def slow_metrics(w, z):
        time.sleep(0.1)
        return {"train_error": 0.5}

    trace, rows = traced(descent(RIDGE, pause=0.02), metrics=slow_metrics, passes=5)
    assert 0.1 <= rows[-1]["seconds"] < 0.5
    assert trace.evaluation_seconds >= 0.6
    assert rows[-1]["cpu_seconds"] < 0.1
    assert column(rows, "train_error") == [0.5] * 6
    assert np.all(np.diff(column(rows, "seconds")) >= 0.02)


def test_work_before_the_first_iterate_is_on_the_clock():
    def prepared():
        time.sleep(0.05)
        yield from descent(RIDGE)

    _, rows = traced(prepared(), passes=1)
    assert rows[0]["passes"] == 0.0
    assert rows[0]["seconds"] >= 0.05


def test_what_a_thread_does_while_the_clock_stands_is_known():
    """As that of a solver that goes on beside the evaluation; what a library does in evaluation is none of it."""
    done = threading.Event()

    def busy():
        while not done.is_set():
            sum(range(1000))

    def slow_metrics(w, z):
        end = time.monotonic() + 30.0
        while (
            thread.is_alive() and trace.threads_seconds + of_other_threads() - before < 0.2 and time.monotonic() < end
        ):
            time.sleep(0.01)
        return {}

    thread, before = threading.Thread(target=busy), of_other_threads()
    trace = Trace(RIDGE, descent(RIDGE), StopRule(passes=2), Schedule(), slow_metrics)
    thread.start()
    rows = list(trace)
    done.set()
    thread.join()
    assert trace.threads_seconds >= 0.15
    unseen = Unseen()
    assert "threads of the solver took" in unseen.fault(trace.threads_seconds, 0.0, rows[-1]["cpu_seconds"])
    assert unseen.fault(trace.threads_seconds, 0.0, 10.0 * trace.threads_seconds) is None
    trace, rows = traced(descent(RIDGE), passes=2)
    assert unseen.fault(trace.threads_seconds, trace.processes_seconds, rows[-1]["cpu_seconds"], last=True) is None


def test_of_other_threads_what_is_on_the_clock_and_what_looks_for_bounds_is_not_unseen(monkeypatch):
    seconds = [0.0]  # of other threads, so far

    def spend(more):
        seconds[0] += more

    def threaded():
        for x in islice(descent(RIDGE), 3):
            spend(100.0)  # a library that the solver calls
            yield x

    monkeypatch.setattr("rrmbench.bench.trace.of_other_threads", lambda: seconds[0])
    monkeypatch.setattr(polishing.Polisher, "polish", lambda *_: spend(10.0))
    trace, rows = traced(threaded(), metrics=lambda w, z: spend(1.0) or {}, passes=9)
    assert (len(rows), trace.threads_seconds) == (3, 3.0)


def ticking(clock, iterates, seconds=1.0):
    """The iterates, so many seconds for each, and for knowing that there are no more."""
    for x in iterates:
        clock.work(seconds, seconds)
        yield x
    clock.work(seconds, seconds)


def test_metrics_get_the_outputs_that_P_was_computed_from():
    seen = []
    traced(descent(RIDGE), metrics=lambda w, z: seen.append(np.array_equal(z, RIDGE.X.forward(w))) or {}, passes=5)
    assert len(seen) == 6 and all(seen)


def test_the_seconds_are_those_between_the_solver_s_iterates_to_the_last_digit(clock):

    def measuring(w, z):
        clock.work(100.0, 100.0)
        return {"train_error": 0.5}

    trace, rows = traced(ticking(clock, descent(RIDGE)), metrics=measuring, passes=4)
    assert column(rows, "seconds") == column(rows, "cpu_seconds") == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert trace.evaluation_seconds == 500.0


def test_the_rule_of_seconds_is_looked_at_between_points(clock):
    """A point every ten passes; a run of 3.5 s ends with the iterate that comes at 4 s, which is a point then."""
    trace, rows = traced(ticking(clock, descent(RIDGE, per_pass=10)), schedule=Schedule(10.0), seconds=3.5)
    assert (trace.reason, column(rows, "seconds")) == ("seconds", [1.0, 4.0])


def test_the_last_bound_of_a_black_box_is_at_the_seconds_of_its_last_point(clock):
    """That it ends is known later, and that time is not the solver's."""
    w = np.linalg.solve(X.T @ X / 30 + 0.1 * np.eye(5), X.T @ Y / 30)
    calls = [Iterate(w * t, passes=np.nan, restarted=True) for t in (0.5, 0.999)]
    trace = Trace(RIDGE, ticking(clock, calls, 5.0), StopRule(), Schedule(), counted=False)
    rows = list(trace)
    assert len(rows) == 3 and rows[2]["dual"] > rows[1]["dual"]
    assert column(rows, "seconds") == column(rows, "cpu_seconds") == [5.0, 5.0, 5.0]


# the points


def test_points_are_linear_in_passes_or_geometric():
    def passes(schedule, stop, per_pass=1):
        _, rows = traced(descent(RIDGE, per_pass=per_pass), schedule=schedule, passes=stop)
        return column(rows, "passes")

    assert passes(Schedule(), 4) == [0, 1, 2, 3, 4]
    assert passes(Schedule(), 4, per_pass=10) == pytest.approx([0, 1, 2, 3, 4])
    assert passes(Schedule(0.5), 2, per_pass=4) == [0, 0.5, 1, 1.5, 2]
    assert passes(Schedule(3.0), 7) == [0, 3, 6, 7]  # the last iterate is a point
    assert passes(Schedule(1.0, 2.0), 20) == [0, 1, 2, 4, 8, 16, 20]
    assert passes(Schedule(3.0, 1.5), 20) == [0, 3, 6, 9, 14, 20]
    assert Schedule(0.5).after(1e4) == pytest.approx(1e4 + 0.5, abs=1e-6)
    far = [Iterate(np.zeros(5), passes=p) for p in [0.0, *np.arange(3e7, 3e7 + 1e3)]]  # where 1e-5 of them are 300
    assert column(traced(iter(far))[1], "passes") == pytest.approx([0, *3e7 + np.array([0, 300, 600, 900, 999])], abs=3)
    tenths = [Iterate(np.zeros(5), passes=p) for p in np.cumsum([0.0, *[0.1] * 20])]  # ten of them are less than 1
    assert column(traced(iter(tenths))[1], "passes") == pytest.approx([0, 1, 2])


def test_the_columns_say_what_was_measured():
    w = np.array([1.0, 0.0, 0.0, -2.0, 0.0])
    b = RIDGE.loss_dual(X @ w)
    _, (row,) = traced(iter([Iterate(w, b, passes=0.5, checks=0.25)]))
    assert (row["passes"], row["checks"], row["nonzeros"]) == (0.5, 0.25, 2.0)
    assert row["primal"] == pytest.approx(np.mean((X @ w - Y) ** 2) / 2 + 0.05 * 5.0)
    assert row["gap"] == row["primal"] - row["dual"]
    assert row["dual"] == pytest.approx(max(RIDGE.dual_value(b), RIDGE.dual_value(np.zeros_like(b))))


def test_evaluation_may_spend_as_passes_and_checks_grow(monkeypatch):
    work = []
    monkeypatch.setattr(polishing.Polisher, "polish", lambda self, w, P, spent, target, last: work.append(spent))
    traced((Iterate(np.zeros(5), passes=k, checks=0.5 * k) for k in count()), passes=2)
    assert work == [0.0, 1.5, 3.0]


def test_the_gap_without_bounds_of_evaluation_is_that_before_all_of_them(monkeypatch):
    def halve(self, w, primal, *_):
        self._certifier.dual = 0.5 * (primal + self._certifier.dual)

    monkeypatch.setattr(polishing.Polisher, "polish", lambda *_: None)
    own = traced(descent(RIDGE), passes=0)[1][0]["gap"]
    monkeypatch.setattr(polishing.Polisher, "polish", halve)
    trace, rows = traced(descent(RIDGE), gap=0.6 * own)  # which the first bound meets, so that another is looked for
    assert (len(rows), trace.reason) == (1, "gap")
    assert trace.helped == {0: own} and rows[0]["gap"] == pytest.approx(0.25 * own)


def test_no_bound_is_below_that_of_zero(monkeypatch):
    """D(0) = min phi + min Psi is known before any step, whatever the solver says."""
    monkeypatch.setattr(polishing, "READS", 0.0)  # and evaluation finds no better one
    bad = 100.0 * RIDGE.loss_dual(X @ np.ones(5))
    _, rows = traced(iter([Iterate(np.ones(5), bad), Iterate(np.zeros(5), bad, 1.0)]), passes=1)
    assert RIDGE.dual_value(bad) < 0.0
    assert [row["dual"] for row in rows] == [RIDGE.dual_value(np.zeros_like(Y))] * 2 == [0.0, 0.0]


# the end


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ({"passes": 3}, "passes"),
        ({"gap": 1e-6}, "gap"),
        ({"relative_gap": 1e-6}, "relative_gap"),
        ({"seconds": 0.05}, "seconds"),
        ({"gap": 1e9, "passes": 3}, "gap"),
    ],
)
def test_a_rule_that_is_met_is_done_by_its_name(stop, reason):
    trace, rows = traced(descent(RIDGE, pause=0.001), **stop)
    assert (trace.status, trace.reason) == ("done", reason)
    met = {
        "passes": lambda row: row["passes"] >= 3,
        "gap": lambda row: row["gap"] <= stop["gap"],
        "relative_gap": lambda row: row["gap"] <= 1e-6 * rows[0]["primal"],
        "seconds": lambda row: row["seconds"] >= 0.05,
    }[reason]
    assert [met(row) for row in rows] == [False] * (len(rows) - 1) + [True]


def test_passes_that_rounding_leaves_below_the_rule_meet_it():
    shares = accumulate([0.1] * 20, initial=0.0)  # 8 of them are 0.7999999999999999
    trace, rows = traced((Iterate(np.zeros(5), passes=share) for share in shares), schedule=Schedule(0.1), passes=0.8)
    assert (trace.reason, len(rows)) == ("passes", 9)


@pytest.mark.parametrize("start", [2.0, -2.0])
@pytest.mark.parametrize("gaps", [{"gap": 1e-3}, {"relative_gap": 1e-2}, {"gap": 1e-3, "relative_gap": 1e-2}, {}])
def test_the_wanted_gap_is_the_greatest_that_meets_a_rule(gaps, start):
    rule = StopRule(**gaps, passes=9.0)
    wanted, row = rule.wanted_gap(start), {"primal": start, "passes": 0.0, "seconds": 0.0}
    there, above = (rule.reached(row | {"gap": times * wanted}, start) for times in (1.0, 1.01))
    assert above is None and (there in gaps if gaps else (there, wanted) == (None, -np.inf))


def test_the_results_are_of_the_last_point_also_if_the_solver_goes_on_with_its_arrays():
    w = np.ones(5)

    def in_place():
        for k in range(3):
            yield Iterate(w, passes=k)
            w[:] *= 0.5

    trace, rows = traced(in_place())
    assert (trace.status, trace.reason, len(rows)) == ("done", "ended", 3)
    assert trace.w.tolist() == [0.25] * 5
    assert rows[-1]["primal"] == RIDGE.primal(trace.w)
    assert rows[-1]["dual"] == RIDGE.dual_value(trace.b)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_what_is_not_finite_has_diverged_and_keeps_the_bound_of_before(bad):
    trace, rows = traced(iter([Iterate(np.zeros(5)), Iterate(np.full(5, bad), passes=1.0)]))
    assert trace.status == "diverged"
    assert not np.isfinite(rows[1]["primal"])
    assert rows[1]["dual"] == rows[0]["dual"] == RIDGE.dual_value(trace.b)


def test_a_dual_variable_that_is_not_finite_only_costs_the_certificate():
    b = np.full(30, np.nan)
    trace, rows = traced(iter([Iterate(np.zeros(5), np.zeros(30)), Iterate(np.zeros(5), b, passes=1.0)]))
    assert (trace.status, trace.reason) == ("done", "ended")
    assert rows[0]["dual"] == rows[1]["dual"]


@pytest.mark.parametrize(
    ("iterates", "message"),
    [
        ([], "without yielding"),
        ([Iterate(np.zeros(4))], r"w of shape \(4,\), not \(5,\)"),
        ([np.zeros(5)], "yielded ndarray"),
        ([Iterate(np.zeros(5), np.zeros(29))], r"b of shape \(29,\), not \(30,\)"),
        ([Iterate(np.zeros(5), passes=2.0), Iterate(np.zeros(5), passes=1.0)], "1.0 passes .* after 2.0"),
        (
            [Iterate(np.zeros(5), passes=2.0), Iterate(np.zeros(5), passes=1.0, checks=1.5)],
            "1.0 passes after 2.0: no pass becomes a check afterwards",
        ),
        ([Iterate(np.zeros(5), passes=-1.0)], "counted -1.0 passes"),
        ([Iterate(np.zeros(5), passes=np.inf)], "counted inf passes"),
        ([Iterate(np.zeros(5), checks=np.nan)], "nan checks"),
        ([Iterate(np.zeros(5)), Iterate(np.zeros(5), passes=np.nan)], "nan passes.*counts_passes=False"),
        (
            [Iterate(np.zeros(5)), Iterate(np.zeros(5), passes=1.0, restarted=True)],
            "is `restarted`.*gives={'restarts'}",
        ),
        ([Iterate(np.zeros(5, dtype=np.float32))], "w of float32"),
        ([Iterate(np.zeros(5, dtype=int))], "w of int64"),
        ([Iterate([0.0] * 5)], "list w, not w as a numpy array"),
        ([Iterate(np.zeros(5), np.zeros(30, dtype=np.float32))], "b of float32"),
        ([Iterate(np.zeros(5))] * (STALLED + 1), f"{STALLED} iterates in a row"),
        ([Iterate(np.zeros(5), passes=1.0, checks=2.0)] * (STALLED + 1), f"{STALLED} iterates in a row"),
        ([Iterate(np.zeros(5), checks=float(k)) for k in range(STALLED + 2)], "without a pass, with checks alone"),
        ([Iterate(np.zeros(5), checks=1.0), Iterate(np.zeros(5), checks=0.5)], "0.5 checks after 1.0 in all"),
    ],
)
def test_a_broken_contract_is_told(iterates, message):
    with pytest.raises(Failure, match=message):
        traced(iter(iterates))


def test_what_a_solver_does_after_its_last_iterate_is_not_in_it():
    def late():
        w = np.zeros(5)
        yield Iterate(w)
        yield Iterate(w, passes=0.5)
        w += 1.0

    trace, rows = traced(late())
    assert [row["passes"] for row in rows] == [0.0, 0.5]
    assert not trace.w.any()
    assert rows[1]["primal"] == rows[0]["primal"]


# certificates are promises


class WrongConjugate(NamedTuple):
    """The squared loss with a conjugate that is too small: every bound is too great."""

    conjugate_convexity: float = 1.0
    lipschitz: float = float("inf")

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y)

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b - 0.3

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)


def test_a_bound_above_the_objective_is_no_gap_but_a_failure():
    wrong = replace(RIDGE, loss=WrongConjugate())
    rows = []
    with pytest.raises(Failure, match=r"is below the dual bound.*WrongConjugate' or the regularizer .*conjugate pair"):
        rows.extend(Trace(wrong, descent(wrong), StopRule(passes=50, gap=1e-8), Schedule()))
    assert all(gap > 0.0 for gap in column(rows, "gap"))


def test_a_bound_above_an_objective_of_before_is_a_failure_too(own_bounds):
    def back_and_forth():
        yield Iterate(np.zeros(5), np.zeros(30))
        yield Iterate(optimum, np.zeros(30), passes=1)
        yield Iterate(100.0 * optimum, X @ optimum - Y, passes=2)  # P is far above this D, and was below it

    optimum = np.linalg.solve(X.T @ X / 30 + 0.1 * np.eye(5), X.T @ Y / 30)
    assert len(traced(back_and_forth())[1]) == 3
    wrong = replace(RIDGE, loss=WrongConjugate())
    with pytest.raises(Failure, match="is below the dual bound"):
        traced(back_and_forth(), wrong)


@pytest.mark.exhaustive
@pytest.mark.parametrize("reduction", ["none", "auto"])
def test_a_bound_that_overflows_is_none(reduction):
    """With l2 = 1e-160 the norm of v/l2 has no square in floats; P falls from 1 to nearly 0."""
    from rrmbench import solve

    A = np.array([[1.0, 0.5], [-1.0, 0.25], [0.5, 0.0], [0.0, -1.0]])
    nearly_free = Problem(A, [1.0, -1.0, 1.0, -1.0], "hinge", {"name": "l2", "strength": 1e-160})
    came_through = []
    for name in shipped():
        if not lacking(registry.build_solver(name, reduction).needs, nearly_free.traits):
            with np.errstate(all="ignore"), suppress(RrmbenchError, ArithmeticError, ValueError):
                found = solve(nearly_free, name, reduction=reduction, passes=20)
                assert not (found.trace["dual"] > 1e-12).any(), name
                assert (found.reason == "gap") <= (found.trace["primal"].iloc[-1] < 1e-7), name
                came_through.append(name)
    assert len(came_through) >= 10


def shipped():
    """The solvers of the package, those of other libraries and of other tests aside."""
    modules = {name: registry.lookup("solver", name).build.__module__ for name in registry.names("solver")}
    return [name for name, module in modules.items() if module.startswith("rrmbench.") and "peers" not in module]


# certificates, on the problem that was asked for

HINGE = Problem(X, Y, "hinge", {"name": "l1", "strength": 0.05})


def reductions():
    for name in registry.names("reduction"):
        parameters = registry.lookup("reduction", name).parameters
        chosen = {"accelerate": "kappa", "regularize": "sigma"}.get(name)  # kappa: auto is for smooth losses
        numbers = [p for p in parameters if parameters[p].required or p == chosen]
        inner = {"inner": 3} if name == "accelerate" else {}  # "theory" is for smooth losses and for dual solvers
        reduction = {"name": name} | dict.fromkeys(numbers, 0.01) | inner
        # the dual of a problem needs strong convexity, which another reduction has to give
        yield {"name": "joint_adapt", "inside": reduction} if name == "solve_dual" else reduction


def solvers_for(reduction):
    """Every shipped solver that the reduction makes valid on a problem neither smooth nor strongly convex."""
    for name in registry.names("solver"):
        with suppress(RrmbenchError):  # the reduction refuses the solver
            if not lacking(registry.build_solver(name, reduction).needs, HINGE.traits):
                yield name


@pytest.mark.core(5)
@pytest.mark.parametrize("reduction", list(reductions()), ids=lambda r: r.get("inside", r)["name"])
def test_under_every_reduction_the_gap_bounds_the_distance_to_the_optimum_of_the_original_problem(reduction):
    optimum = oracles.hinge_l1_optimum(X, Y, 0.05)
    names = [n for n in ("prox_sdca", "apcg", "agd", "gd", "svrg", "subgradient") if n in solvers_for(reduction)]
    assert names
    for name in names:
        solve = registry.build_solver(name, reduction)
        trace, rows = traced(solve(HINGE, None, Rng(0)), HINGE, passes=60)
        primal, dual, gap = (np.array(column(rows, c)) for c in ("primal", "dual", "gap"))
        assert np.all(dual <= optimum + 1e-9), name
        assert np.all(primal >= optimum - 1e-9), name
        assert np.all(gap >= primal - optimum - 1e-9), name
        assert np.all(np.diff(dual) >= 0.0), name
        assert rows[0]["passes"] == 0.0, name
        assert primal[-1] == HINGE.primal(trace.w), name
        assert dual[-1] == pytest.approx(HINGE.dual_value(trace.b), abs=1e-12), name
        assert np.isfinite(gap[-1]), name


# the same trace in a notebook


def test_solve_takes_names_mappings_and_ones_own_solver():
    from rrmbench import solve, solver

    @solver(needs={"smooth"})
    def mine_in_a_test(problem, start, rng, *, step: float = 1.0):
        yield from descent(problem, step)

    named = solve(RIDGE, "mine_in_a_test", passes=5)
    assert named.trace["passes"].tolist() == [0, 1, 2, 3, 4, 5]
    assert (named.status, named.reason) == ("done", "passes")
    assert named.gap == RIDGE.primal(named.w) - RIDGE.dual_value(named.b)
    assert np.array_equal(solve(RIDGE, mine_in_a_test, passes=5).w, named.w)
    shorter = solve(RIDGE, {"name": "mine_in_a_test", "step": 0.5}, passes=5)
    assert np.array_equal(shorter.w, next(islice(descent(RIDGE, 0.5), 5, None)).w)
    assert solve(RIDGE, "prox_sdca", gap=1e-8).reason == "gap"
    assert solve(HINGE, "mine_in_a_test", passes=20).gap < solve(HINGE, "mine_in_a_test", passes=1).gap


def test_solve_says_what_is_wrong():
    from rrmbench import solve

    with pytest.raises(RrmbenchError, match=r"unknown solver 'prox_sdcaa'; did you mean 'prox_sdca'"):
        solve(RIDGE, "prox_sdcaa")
    with pytest.raises(RrmbenchError, match=r"a smooth loss and a strongly convex regularizer.*reduction='auto'"):
        solve(HINGE, "agd", reduction="none")
    with pytest.raises(RrmbenchError, match="step_scale"):
        solve(RIDGE, {"name": "gd", "step_scale": -1.0})


def test_a_solver_may_be_defined_again_but_not_elsewhere():
    def define(module):
        def twice(problem, start, rng):
            yield Iterate(np.zeros(problem.shape))

        twice.__module__ = module
        return registry.solver(twice)

    again = define("a_notebook") and define("a_notebook")
    assert registry.lookup("solver", "twice").build is again
    with pytest.raises(RrmbenchError, match="the solver name 'twice' is taken by"):
        define("another_module")


def test_compilation_is_outside_of_the_clock_of_solve(tmp_path):
    script = tmp_path / "first_call.py"
    script.write_text(FIRST_CALL)
    environment = os.environ | {"RRMBENCH_CACHE": str(new_cache(tmp_path / "cache"))}
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environment, check=True)
    compiled_inside, compiled_before = map(int, ran.stdout.split())
    assert compiled_before > 0
    assert compiled_inside == 0


FIRST_CALL = """
import numpy as np, rrmbench
from rrmbench import notebook
from rrmbench.numerics import jit

def compiled():
    return sum(sum(k.stats.cache_misses.values()) + sum(k.stats.cache_hits.values()) for k in jit._kernels)

class Watched(notebook.Trace):
    def __iter__(self):
        global before
        before = compiled()
        yield from super().__iter__()

rng = np.random.default_rng(0)
problem = rrmbench.Problem(rng.normal(size=(40, 3)), rng.normal(size=40), "squared", {"name": "l2", "strength": 0.1})
notebook.Trace, inside = Watched, 0
for passes in (3, 30):
    rrmbench.solve(problem, "prox_sdca", passes=passes)
    inside += compiled() - before
print(inside, before)
"""


def test_a_gap_that_the_rounding_of_p_hides_ends_no_run():
    X = np.random.default_rng(0).normal(size=(40, 3))
    far = Problem(X, 1e8 + X @ [1.0, 2.0, 3.0], "squared", {"name": "l2", "strength": 0.1})
    for level, ended in (2.0, False), (1e3, True):  # P is 4e15: its last digit is .5, the rounding of sums to it 4
        rows = list(
            trace := Trace(
                far, registry.build_solver("newton")(far, None, Rng(0)), StopRule(gap=level, passes=60), Schedule()
            )
        )
        assert rows[-1]["gap"] <= level
        assert (trace.reason == "gap") == ended


def test_products_through_a_copy_of_the_problem_count():
    """A solver, or a reduction, that works on a deep copy works on the same data."""
    problem = Problem(np.eye(3), np.ones(3), "squared", {"name": "l2", "strength": 0.1})
    for copied in (copy.copy, copy.deepcopy):
        apart = problem.apart()
        hidden = copied(apart)
        hidden.X.forward(np.ones(3))
        assert apart.X.passes == 0.5


def test_products_with_copies_of_rows_count_in_their_share_of_the_entries():
    problem = Problem(np.arange(1.0, 25.0).reshape(6, 4), np.ones(6), "squared", {"name": "l2", "strength": 0.1})
    apart = problem.apart()
    some = apart.on(np.array([0, 2, 5]))
    some.X.forward(np.zeros(4))
    assert apart.X.passes == 0.0
    some.prox_gradient(np.ones(4), some.X.forward(np.ones(4)))
    assert (some.X.passes, apart.X.passes) == (1.0, 0.5)
    once_more = some.counted().on(np.array([1]))
    once_more.X.forward(np.ones(4))
    assert apart.X.passes == pytest.approx(0.5 + 0.5 / 6)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_a_view_that_counts_can_be_copied(copied):
    view = Problem(np.eye(3), np.ones(3), "squared", {"name": "l2", "strength": 0.1}).counted().X
    other = copied(view)
    np.testing.assert_array_equal(other.forward(np.arange(3.0)), np.arange(3.0))
    assert (other.passes, view.passes, other.nnz) == (0.5, 0.0, 3)
