"""Solvers that break a promise, each in one place, and what the checks say of them. None has a kernel of its own."""

import threading
from dataclasses import replace
from itertools import count, islice
from typing import Literal

import numba
import numpy as np
import pytest
from scipy.sparse import csc_array
from test_extending import broken, verdict

from rrmbench import Iterate, registry
from rrmbench.errors import RrmbenchError
from rrmbench.extending.contract import checks_of
from rrmbench.extending.touched import Columns
from rrmbench.problem.constants import NoTheorem

ITERATE, PASSES, SEED = "every iterate", "passes are what was touched", "the seed"
ALONE, START, EMPTY = "data and start are left alone", "it goes on from a start", "rows without entries"


def descent(problem, start, rng, w=None, own=None, at_row=1.0, count=1.0, first=0.0, b=True, scale=1.0):
    """Proximal gradient steps with something to be wrong in each argument."""
    w = problem.start(start) if w is None else w
    passes = first
    yield Iterate(w, passes=passes)
    while True:
        passes += count * (1.0 if w.any() else 0.5)
        duals = problem.loss_dual(problem.X.forward(w))
        w = problem.prox(w - scale * problem.X.adjoint(duals) / problem.n / problem.L, at_row / problem.L)
        yield Iterate(w, duals if b else None, passes)


def test_the_right_one_passes():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return descent(problem, start, rng)

    found = {check.name: check.verdict() for check in checks_of(registry.lookup("solver", "mine"))}
    assert {v.state for v in found.values()} == {"ok"}, found
    assert {ITERATE, PASSES, SEED, ALONE, START, EMPTY} <= set(found)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.1, 2.0])
def test_a_miscounted_pass_is_found(factor):
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return descent(problem, start, rng, count=factor)

    assert "where it has touched" in broken("solver", "mine", PASSES)


def from_scratch(problem, start, rng):
    """Each iterate by a call of its own, with one more pass."""
    yield Iterate(problem.start(start))
    for calls in count(1):
        *_, last = islice(descent(problem, start, rng), calls + 1)
        yield last._replace(restarted=True)


@pytest.mark.parametrize("honest", [True, False])
def test_a_restart_that_goes_on_is_found(honest):
    @registry.solver(needs={"smooth"}, gives={"restarts"})
    def mine(problem, start, rng):
        if honest:
            yield from from_scratch(problem, start, rng)
        yield from (x._replace(restarted=True) for x in descent(problem, start, rng))

    if honest:
        assert verdict("solver", "mine", PASSES).state == "ok"
    else:
        assert "since it restarted" in broken("solver", "mine", PASSES)


def test_a_pass_that_is_forgotten_from_a_start_alone_is_found():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return descent(problem, start, rng, count=1.0 if start is None else 0.9)

    assert "where it has touched" in broken("solver", "mine", PASSES)


def single_rows(problem, rng, passes_of_a_pass=1.0, sparse_factor=1.0, draw=None):
    """Stochastic steps in Python, on rows as kernels see them."""
    rows, n = problem.X.rows, problem.n
    factor = sparse_factor if problem.X.nnz < 0.5 * n * problem.shape[0] else 1.0
    w = problem.start()
    L_max = problem.smoothness * problem.R**2
    yield Iterate(w)
    for k in count(1):
        eta = 1.0 / (L_max * np.sqrt(k) + problem.strong_convexity * n * k)
        for i in (draw or rng.integers)(n, n):
            here = slice(rows.indptr[i], rows.indptr[i + 1])
            columns = np.asarray(rows.indices[here], dtype=np.int64)
            b = problem.loss.dual_point(float(rows.data[here] @ w[columns]), problem.y[i], problem.mu)
            w[columns] -= eta * factor * b * rows.data[here]
            w[:] = problem.prox(w, eta)
        yield Iterate(w, passes=passes_of_a_pass * k)


ROWS = {"smooth", "scalar", "coordinate", "rows"}


@pytest.mark.parametrize("passes", [0.5, 1.0, 1.5])
def test_passes_of_single_rows_are_counted(passes):
    @registry.solver(needs=ROWS)
    def mine(problem, start, rng):
        return single_rows(problem, rng, passes)

    if passes == 1.0:
        assert verdict("solver", "mine", PASSES).state == "ok"
    else:
        assert "entries of rows" in broken("solver", "mine", PASSES)


def test_a_factor_on_sparse_rows_alone_is_found():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return descent(problem, start, rng, scale=2.0 if problem.shape[0] == 40 else 1.0)

    sparse = broken("solver", "mine", "it reaches the optimum: logistic, elastic_net, sparse")
    assert "stands still" in sparse
    assert verdict("solver", "mine", "it reaches the optimum: logistic, elastic_net, dense").state == "ok"


def test_random_numbers_of_elsewhere_are_found():
    generator = np.random.default_rng(0)

    @registry.solver(needs=ROWS)
    def mine(problem, start, rng):
        return single_rows(problem, rng, draw=lambda n, size: generator.integers(0, n, size))

    assert "the same seed differ" in broken("solver", "mine", SEED)


def test_random_numbers_that_are_drawn_and_not_used_are_found():
    @registry.solver(needs=ROWS)
    def mine(problem, start, rng):
        def draw(n, size):
            rng.integers(n, size)
            return np.arange(n)

        return single_rows(problem, rng, draw=draw)

    assert "another seed" in broken("solver", "mine", SEED)


def test_a_missing_need_is_found_and_named():
    @registry.solver
    def mine(problem, start, rng):
        return descent(problem, start, rng)

    found = broken("solver", "mine", "it reaches the optimum: hinge, l2, dense")
    assert "is that in needs?" in found and "smooth" in found


def test_a_need_that_is_no_trait_is_found():
    @registry.solver(needs={"smoth"})
    def mine(problem, start, rng):
        return descent(problem, start, rng)

    assert "did you mean 'smooth'?" in broken("solver", "mine", "its form")


def stops(problem, start, rng):
    yield from (x for x, _ in zip(descent(problem, start, rng), range(5), strict=False))


def spoils_the_start(problem, start, rng):
    w = problem.start() if start is None else start.w
    for x in descent(problem, start, rng, w=w):
        w -= 0.1
        yield x


def begins_anew(problem, start, rng):
    return descent(problem, None, rng)


def writes_on_the_labels(problem, start, rng):
    problem.y[0] = 5.0
    return descent(problem, start, rng)


def divides_by_a_norm(problem, start, rng):
    norms = np.sqrt(problem.X.sqnorms)
    for x in descent(problem, start, rng):
        yield x._replace(w=x.w * float(np.min(norms / norms)))


def nan_duals(problem, start, rng):
    return (x._replace(b=np.full(problem.output_shape, np.nan)) for x in descent(problem, start, rng))


def wrong_pair(problem, start, rng):
    return descent(problem, start, rng)


def rarely(problem, start, rng):
    for k, x in enumerate(descent(problem, start, rng)):
        if k % 3 == 0:
            yield x


WRONG = {
    "stops": (stops, ITERATE, "stopped by itself"),
    "first costs": (lambda p, s, rng: descent(p, s, rng, first=1.0), ITERATE, "the first iterate counts 1 passes"),
    "float32": (
        lambda p, s, rng: (x._replace(w=x.w.astype(np.float32)) for x in descent(p, s, rng)),
        ITERATE,
        "float32",
    ),
    "nan": (lambda p, s, rng: descent(p, s, rng, scale=np.nan), ITERATE, "objective is nan"),
    "nan in b": (nan_duals, ITERATE, "b is not finite"),
    "rarely": (rarely, ITERATE, "passes between two iterates"),
    "spoils the start": (spoils_the_start, ALONE, "start"),
    "writes on labels": (writes_on_the_labels, ALONE, "read-only"),
    "begins anew": (begins_anew, START, "away from it"),
    "divides by a norm": (divides_by_a_norm, EMPTY, "not finite"),
    "half of the threshold": (
        lambda p, s, rng: descent(p, s, rng, at_row=0.5),
        "it reaches the optimum: squared, l1, dense",
        "stands still",
    ),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", WRONG)
def test_a_broken_promise_is_told(name):
    solve, check, words = WRONG[name]

    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return solve(problem, start, rng)

    assert words in broken("solver", "mine", check)


@pytest.mark.parametrize(
    "objectives, words", [((1.0, 0.0), "is (1.0, 0.0), not a function"), (lambda: (9.0, 0.0), "(9, 0)")]
)
def test_objectives_that_are_none_are_found(objectives, words):
    @registry.solver(needs={"smooth"}, gives={"gap"})
    def mine(problem, start, rng):
        return (x._replace(objectives=objectives) for x in descent(problem, start, rng))

    assert words in broken("solver", "mine", 'gives "gap"')


def test_a_pair_that_is_none_is_found():
    @registry.solver(needs={"smooth", "strongly_convex"}, gives={"dual"})
    def mine(problem, start, rng):
        return wrong_pair(problem, start, rng)

    assert "promises" in broken("solver", "mine", 'gives "dual"')


def test_duals_that_are_nan_are_no_change_of_the_start():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return nan_duals(problem, start, rng)

    assert verdict("solver", "mine", ALONE).state == "ok"


def test_a_thread_that_works_while_the_clock_stands_is_a_note():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        for x in descent(problem, start, rng):
            seen = threading.Event()
            threading.Thread(target=seen.wait).start()
            try:
                yield x
            finally:
                seen.set()

    found = verdict("solver", "mine", ITERATE)
    assert found.state == "note"
    assert "while a thread of its own runs" in found.text


def test_a_value_that_fails_in_the_run_is_wrong_and_one_that_is_refused_a_note():
    def chosen(mode="a"):
        if mode == "c":
            raise RrmbenchError("mode c is for others")
        return frozenset(), frozenset()

    @registry.solver(needs={"smooth"}, choose=chosen)
    def mine(problem, start, rng, *, mode: Literal["a", "b", "c"] = "a"):
        for x in descent(problem, start, rng):
            if mode == "b" and x.passes > 3.0:
                raise RrmbenchError("a mistake of mode b")
            yield x

    assert "a mistake of mode b" in broken("solver", "mine", ITERATE)
    found = verdict("solver", "mine", "its form")
    assert found.state == "note" and "mine(mode=c) is refused, and not looked at: mode c is for others" in found.text


def test_a_solver_that_ignores_the_smoothing_is_found():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return descent(replace(problem, mu=0.0), start, rng)

    assert "smoothed by problem.mu" in broken("solver", "mine", "it minimizes what reductions make of a problem: smoo")


@pytest.mark.parametrize("share", [1.0, 0.05])
def test_a_bound_that_does_not_hold_is_found(share):
    def bound(constants, passes):
        """L ||w0 - w*||^2 / (2 k) after k steps from w0 = 0, of which the first takes half a pass."""
        steps = np.floor(passes + 0.5)
        return np.where(steps > 0.0, share * constants.L * constants.distance / (2.0 * np.maximum(steps, 1.0)), np.inf)

    @registry.solver(needs={"smooth"}, bound=bound, deterministic=True)
    def mine(problem, start, rng):
        return descent(problem, start, rng)

    if share == 1.0:
        assert verdict("solver", "mine", "its bound").state == "ok"
    else:
        assert "its bound there is" in broken("solver", "mine", "its bound")


@pytest.mark.parametrize("share", [1.0, 0.05])
def test_a_bound_of_some_iterates_is_held_to_the_best_up_to_them(share):
    """Every other iterate is the start again, and the others meet the bound."""

    def bound(constants, passes):
        return share * constants.L * constants.distance / (2.0 * np.floor(passes + 0.5))

    @registry.solver(needs={"smooth"}, bound=bound, bound_at=lambda constants, last: np.arange(0.5, last, 2.0))
    def mine(problem, start, rng):
        for x in descent(problem, start, rng):
            yield x._replace(w=problem.start(None)) if int(x.passes) % 2 else x

    assert verdict("solver", "mine", "its bound").state == ("ok" if share == 1.0 else "WRONG")


def test_a_bound_that_says_nothing_of_small_problems_is_told():
    def bound(constants, passes):
        raise NoTheorem("mine", "the theorem is about larger problems")

    @registry.solver(needs={"smooth"}, bound=bound, deterministic=True)
    def mine(problem, start, rng):
        return descent(problem, start, rng)

    found = verdict("solver", "mine", "its bound")
    assert (found.state, found.text) == ("skipped", "mine: the theorem is about larger problems")


def test_columns_that_are_multiplied_by_others_are_these_products():
    X = np.array([[1.0, 2.0], [0.0, -3.0]])
    reads = np.zeros(1, dtype=np.int64)
    columns = Columns(csc_array(X), reads)
    assert (columns.multiply(columns).toarray() == X * X).all() and reads[0] == 3
    factors = np.array([[5.0, 7.0]])
    assert (columns.multiply(factors).toarray() == X * factors).all() and reads[0] == 6


@pytest.mark.parametrize("count", [1.0, 0.9])
def test_columns_may_be_asked_what_scipy_answers(count):
    @registry.solver(needs={"smooth", "rows"})
    def mine(problem, start, rng):
        columns = problem.X.columns().toarray()  # every entry is read twice, as for two products
        assert columns.shape == problem.X.shape
        for x in descent(problem, start, rng):
            yield x._replace(passes=x.passes + count)

    found = verdict("solver", "mine", PASSES)
    assert found.state == ("ok" if count == 1.0 else "WRONG"), found
    assert verdict("solver", "mine", EMPTY).state == "ok"


def test_a_solver_that_stops_after_the_iterates_that_are_looked_at_one_by_one_is_found():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        return islice(descent(problem, start, rng), 20)

    assert verdict("solver", "mine", ITERATE).state == "ok"
    first = "it reaches the optimum: logistic, elastic_net, dense"
    assert "it stopped by itself after 18.5 passes, P(w) - P(w*) is" in broken("solver", "mine", first)


def test_a_seed_of_the_numbers_that_all_code_shares_is_found():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        np.random.seed(0)  # noqa: NPY002
        return descent(problem, start, rng)

    np.random.seed(0)  # noqa: NPY002 - as a check before this one leaves it
    assert "it seeds the random numbers of numpy.random, which all code shares" in broken("solver", "mine", SEED)


def test_a_library_that_draws_shared_numbers_to_no_effect_is_right():
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        np.random.random()  # noqa: NPY002 - as scikit-learn does for the seed of an order that it does not draw
        return descent(problem, start, rng)

    assert verdict("solver", "mine", SEED).state == "ok"


@numba.njit
def drawn_in_a_kernel(seed):
    if seed >= 0:
        np.random.seed(seed)  # noqa: NPY002
    return np.random.rand()  # noqa: NPY002


@pytest.mark.parametrize("fixed", [True, False])
def test_a_kernel_that_seeds_itself_whatever_the_seed_is_found(fixed):
    @registry.solver(needs={"smooth"})
    def mine(problem, start, rng):
        drawn_in_a_kernel(0 if fixed else int(rng.integers(1000, 1)[0]))
        for x in descent(problem, start, rng):
            yield x._replace(w=x.w + 1e-9 * x.passes * drawn_in_a_kernel(-1))

    found = verdict("solver", "mine", SEED)
    assert found.state == ("WRONG" if fixed else "ok") and ("another seed gives the same" in found.text) == fixed


@pytest.mark.parametrize("change", [lambda b: -b, lambda b: b / len(b), lambda b: 2.0 * b, lambda b: b])
def test_a_b_of_another_sign_or_scale_is_noted(change):
    @registry.solver(needs={"smooth", "strongly_convex"})
    def mine(problem, start, rng):
        for x in descent(problem, start, rng):
            yield x if x.b is None else x._replace(b=change(x.b))

    found = verdict("solver", "mine", "it reaches the optimum: logistic, elastic_net, dense")
    right = np.array_equal(change(np.ones(3)), np.ones(3))
    assert found.state == "ok" if right else "its b is not: their gap is" in found.text
