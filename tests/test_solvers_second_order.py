"""Newton's method with conjugate gradients, and ridge regression by a direct solver."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import after, until
from scipy.sparse import csr_array, random_array

from rrmbench import registry, solve
from rrmbench.bench import reference
from rrmbench.data.layout import kernelized
from rrmbench.errors import RrmbenchError
from rrmbench.losses.squared import Squared
from rrmbench.numerics.random import Rng
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR, Flattened
from rrmbench.problem.problem import Problem
from rrmbench.solvers.second_order import gram, newton_cg, newton_pcg
from rrmbench.solvers.second_order.curvature import (
    Curvature,
    DirectionalCurvature,
    curvatures,
    greatest_diagonal,
    squares_of,
)
from rrmbench.solvers.second_order.growing import on_growing_samples
from rrmbench.subproblems.units import outcome

pytestmark = pytest.mark.usefixtures("own_bounds")

L2 = {"name": "l2", "strength": 0.03}


def sparse(n, d, seed=0, density=0.4):
    X = random_array((n, d), density=density, rng=np.random.default_rng(seed), format="csr")
    return csr_array(X - 0.3 * (X > 0))


def labels(n, loss, seed=1):
    y = np.random.default_rng(seed).normal(size=n)
    return y if loss in ("squared", "huber") else np.where(np.arange(n) % 3 == 0, 1.0, -1.0)


def biased(X, loss, kind, **options):
    if kind == "free":
        X = csr_array(np.hstack([X.toarray(), np.full((X.shape[0], 1), 2.0)]))
    biases = {"free_bias": kind == "free", "minimized_bias": kind == "minimized"}
    return Problem(X, labels(X.shape[0], loss), loss, L2, **biases, **options)


def least_gap(p, solver, passes=400, start=None):
    its = islice(registry.build_solver(solver)(p, start, Rng(0)), 4000)
    least = np.inf
    for it in its:
        if it.b is not None:
            least = min(least, p.primal(it.w) - p.certificate(it.b)[0])
        if it.passes > passes:
            break
    return least


def around_a_center(n, d, bias, kappa):
    """The squared loss with the square that a reduction adds around a centre."""
    p = biased(sparse(n, d), "squared", bias)
    return p.regularized(kappa, np.linspace(-1.0, 1.0, p.shape[0]))


@pytest.mark.core(3)
@pytest.mark.parametrize("bias", ["none", "free", "minimized"])
@pytest.mark.parametrize(("n", "d"), [(60, 9), (9, 40)])
@pytest.mark.parametrize("kappa", [0.0, 0.2])
def test_both_certify_to_rounding(bias, n, d, kappa):
    """Whatever the bias, the smaller dimension and what a reduction added; from 0 and from a start."""
    p = around_a_center(n, d, bias, kappa)
    w = np.random.default_rng(3).normal(size=p.shape)
    P0 = p.primal(np.zeros(p.shape))
    assert least_gap(p, "direct", 30) <= 1e-13 * P0
    assert least_gap(p, "direct", 30, Iterate(w)) <= 1e-13 * P0
    assert least_gap(p, "newton_cg", 400, Iterate(w)) <= 1e-13 * P0


@pytest.mark.core(2)
@pytest.mark.parametrize(
    ("loss", "bias"),
    [(loss, bias) for loss in ("logistic", "squared_hinge", "smoothed_hinge", "huber") for bias in ("none", "free")]
    + [("logistic", "minimized")],
)
def test_newton_certifies_to_rounding(loss, bias):
    p = biased(sparse(60, 9), loss, bias)
    assert least_gap(p, "newton_cg") <= 1e-13 * p.primal(np.zeros(p.shape))


@pytest.mark.core(2)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "squared"])
@pytest.mark.parametrize("bias", ["none", "free", "minimized"])
@pytest.mark.parametrize("kappa", [0.0, 0.2])
def test_lbfgs_certifies_to_rounding(loss, bias, kappa):
    """From 0 and from a start; its iterations are passes, and where w is optimal it stays there.

    The sum of b, which a free bias asks to be 0, is the gradient's, and is in the gap at once; values of P, by which
    steps are searched, tell it from 0 only to about the root of rounding.
    """
    p = biased(sparse(60, 9), loss, bias)
    p = p.regularized(kappa, np.linspace(-1.0, 1.0, p.shape[0])) if kappa else p
    P0 = p.primal(np.zeros(p.shape))
    for start in None, Iterate(np.random.default_rng(3).normal(size=p.shape)):
        its = [
            (it.w.copy(), it.b, it.passes) for it in islice(registry.build_solver("lbfgs")(p, start, Rng(0)), 1, 200)
        ]
        assert p.primal(its[-1][0]) - p.certificate(its[-1][1])[0] <= (1e-8 if bias == "free" else 1e-12) * P0
        assert np.diff([passes for *_, passes in its]).max() == 1.0
        values = [p.primal(w) for w, *_ in its]
        assert np.diff(values).max() <= 1e-14 * P0


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge", "huber", "squared"])
def test_newton_on_growing_samples(loss):
    """To rounding from 0, by stages, and from far away, where whole steps would make P rise."""
    p = biased(sparse(800, 9), loss, "none").regularized(0.02, np.linspace(-1.0, 1.0, 9))
    for start in None, Iterate(np.full(9, 50.0)):
        w = end(p, start)
        assert p.gap(w, p.loss_dual(p.X.forward(w))) <= 1e-13 * p.primal(np.zeros(9))


def end(p, start):
    return [it.w for it in islice(registry.build_solver("newton")(p, start, Rng(0)), 400)][-1]


def test_newton_comes_near_before_it_has_read_half_of_the_samples():
    """To 1e-2 of P(0); rows of m entries count m (m + 3)/2 for the second derivative and 2 m beside it."""
    p = Problem(np.random.default_rng(0).normal(size=(4000, 6)), labels(4000, "logistic"), "logistic", L2)
    its = [(it.passes, p.primal(it.w)) for it in islice(registry.build_solver("newton")(p, None, Rng(0)), 60)]
    assert min(P for passes, P in its if passes <= 0.5 * (2.25 + 1.0)) <= its[-1][1] + 1e-2 * its[0][1]
    steps = [passes for (passes, P), (_, before) in zip(its[1:], its, strict=False) if P != before]
    assert np.isclose(np.diff(steps), 2.25 + 1.0).any() and np.diff(steps).max() <= 2.25 + 1.0 + 1e-9


@pytest.mark.parametrize("solver", ["newton", "newton_cg", "newton_pcg"])
def test_no_step_overshoots_where_there_is_no_curvature_at_the_start(solver):
    """Features of any units and a hinge that is hardly smoothed: a step of Newton's is a gradient step of 1/l2."""
    X = sparse(200, 9)
    p = Problem(1e3 * X, labels(200, "hinge"), "hinge", L2).smoothed(0.1)
    start = Iterate(np.full(9, 1e-12))  # newton then begins with all samples
    values = [p.primal(it.w) for it in islice(registry.build_solver(solver)(p, start, Rng(0)), 200)]
    assert max(np.diff(values)) <= 1e-3 * values[0]  # newton yields small steps before it knows their P
    assert values[-1] < 0.85 * values[0]


def test_steps_for_the_squared_loss_are_all_conjugate():
    """d products end at the optimum of a quadratic of d eigenvalues, however the steps are cut into stages."""
    d = 12
    X = sparse(400, d) * np.geomspace(1.0, 30.0, d)
    p = Problem(X, labels(400, "squared"), "squared", L2)
    optimum, values = p.primal(solve(p, "direct", gap=1e-14).w), []
    for it in registry.build_solver("newton_cg")(p, None, Rng(0)):
        values.append(p.primal(it.w))
        if values[-1] - optimum <= 1e-10:
            break
    stages = 8  # at most, of half a pass for the gradient each, beside X w and the diagonal at the start
    assert it.passes <= d + 1 + 0.5 * stages
    assert max(np.diff(values)) <= 1e-14


@pytest.mark.parametrize(("seed", "loss"), [(5, "squared_hinge"), (50, {"name": "smoothed_hinge", "gamma": 1.0})])
def test_steps_that_go_on_never_raise_the_objective(seed, loss):
    """Where phi' has kinks, P is quadratic up to the next one, whatever the gradients before have foreseen."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 8)) * 10.0 ** rng.uniform(-1.0, 1.0, 8)
    y = np.where(X @ rng.normal(size=8) + rng.normal(size=12) > 0.0, 1.0, -1.0)
    p = Problem(X, y, loss, {"name": "l2", "strength": 1e-3})
    values = [p.primal(it.w) for it in until("newton_cg", p, 40)]
    assert max(np.diff(values)) <= 1e-12 * values[0]


@pytest.mark.parametrize(("rises", "made"), [([0.0], 7), ([0.0, 5e-15], 7), ([0.0, 8e-15, 1.6e-14], 1)])
def test_steps_that_go_on_end_where_the_objective_rises_beyond_rounding(rises, made):
    """Above its least value, not above the last one; where it stays, they go on to the minimum."""
    p = biased(sparse(60, 7), "squared", "none").counted()
    w, z = np.zeros(7), np.zeros(60)
    g, told = p.X.adjoint(p.loss_dual(z)) / 60, iter(rises)
    system = newton_cg.ConjugateGradients(Curvature(p, z, squares_of(p)), g, np.copy)
    ended = outcome(system.solve(1e-13, Iterate(w), lambda *_: 1.0 + next(told, rises[-1])))[0]
    same = newton_cg.ConjugateGradients(Curvature(p, z, squares_of(p)), g, np.copy)
    found = [it.w.copy() for it in islice(same.solve(1e-13, Iterate(w), lambda *_: 1.0), made)]
    np.testing.assert_array_equal(ended, found[-1])
    assert system.may_go_on == (made == 7)


def test_steps_end_where_squares_of_the_gradient_underflow():
    X = 10.0 * np.random.default_rng(0).normal(size=(8, 20))
    p = Problem(X, 1e-151 * np.random.default_rng(1).normal(size=8), "squared", "none")
    assert solve(p, "newton_cg", passes=60).trace["primal"].iloc[-1] == 0.0


def test_newton_steps_are_as_exact_as_the_gradient_has_fallen(monkeypatch):
    """Conjugate gradients end at the first residual of at most min(0.5, sqrt(|g|/|g_0|)) |g|."""
    found, unchanged = [], newton_cg.ConjugateGradients.solve

    def solved(self, goal, at, objective=None):
        norm, norms = np.linalg.norm(self.r), []
        iterates = unchanged(self, goal, at, objective)
        while True:
            norms.append(np.linalg.norm(self.r))
            try:
                yield next(iterates)
            except StopIteration as end:
                found.append((norm, goal, norms))
                return end.value

    monkeypatch.setattr(newton_cg.ConjugateGradients, "solve", solved)
    p = Problem(30.0 * sparse(80, 12), labels(80, "logistic"), "logistic", {"name": "l2", "strength": 1e-3})
    after("newton_cg", p, 60)
    first = found[0][0]
    assert first > 1.2 and found[2][0] < 0.1 * first
    for norm, goal, (*before, last) in found:
        assert goal == pytest.approx(min(0.5, (norm / first) ** 0.5) * norm)
        assert last <= goal < min(before)


@pytest.mark.parametrize("loss", ["huber", "logistic", {"name": "smoothed_hinge", "gamma": 0.5}])
def test_columns_of_any_units_without_a_square(loss):
    """What is added to H is of the units of each column, and there where no sample has curvature at the start."""
    X = sparse(60, 6) * np.geomspace(1e-2, 1e4, 6)
    y = labels(60, loss) + (30.0 if loss == "huber" else 0.0)
    p = Problem(X, y, loss)
    best = solve(p, "lbfgs", passes=3000).trace["primal"].min()
    P = solve(p, "newton_cg", passes=400).trace["primal"].iloc[-1]
    assert P <= best + 1e-6 * (p.primal(np.zeros(6)) - best)


@pytest.mark.parametrize("loss, passes", [("squared", 60), ("huber", 200), ("logistic", 200)])
def test_columns_of_any_units_beside_a_minimized_bias(loss, passes):
    """The preconditioner is the diagonal of H, of which the best bias takes the means of the columns."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(200, 20)) + 3.0) * np.geomspace(1e-2, 1e2, 20)
    p = Problem(X, labels(200, loss), loss, {"name": "l2", "strength": 1e-5}, minimized_bias=True)
    assert least_gap(p, "newton_cg", passes) <= 1e-9 * p.primal(np.zeros(20))


def test_steps_from_flat_parts_without_a_square_get_longer():
    """The bias goes from 0 to 1 where every loss has the slope -1, beside its greatest curvature of 1e8."""
    X = np.column_stack([np.random.default_rng(0).normal(size=(6, 2)), np.ones(6)])
    p = Problem(
        X, np.ones(6), {"name": "smoothed_hinge", "gamma": 1e-8}, {"name": "l2", "strength": 1e-3}, free_bias=True
    )
    assert least_gap(p, "newton_cg", passes=60) <= 1e-9


def test_the_first_step_of_lbfgs_is_as_long_as_P_falls():
    """The slope is the same up to the label, 1e15 times as far as the first trial."""
    X = np.array([[1.0, 1.5, -0.5, 1.2, 1.5]])
    p = Problem(X, np.array([1e6]), {"name": "huber", "mu": 1e-8}, {"name": "l2", "strength": 1e-8})
    P = solve(p, "lbfgs", passes=60).trace["primal"]
    assert P.iloc[-1] <= 0.01 * P.iloc[0]


def test_newton_refuses_many_features(monkeypatch):
    monkeypatch.setattr("rrmbench.solvers.second_order.growing.LARGEST", 8)
    with pytest.raises(RrmbenchError, match="newton: found 9 features, allowed are at most 8"):
        end(biased(sparse(60, 9), "logistic", "none"), None)


SEVERAL = ["multinomial_logistic", "squared_multi", {"name": "soft_max_of_hinge", "gamma": 0.5}]


def of_several(loss, n=300, d=7, k=4, units=1.0):
    """A problem on k outputs, to which a reduction has added a square around a centre of no equal columns."""
    rng = np.random.default_rng(0)
    X = csr_array(sparse(n, d) * units)
    y = rng.normal(size=(n, k)) if loss == "squared_multi" else np.arange(n) % k
    return Problem(X, y, loss, L2).regularized(0.01, rng.normal(size=(d, k)))


@pytest.mark.core(1)
@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "smoothed_hinge", "huber", "squared", *SEVERAL])
def test_preconditioned_newton_on_growing_samples(loss):
    """To rounding from 0, by stages, and from far away, in columns of any units; `newton_cg` finds the same P."""
    for units in 1.0, np.geomspace(1e-3, 1e2, 7):
        if loss in SEVERAL:
            p = of_several(loss, 3000, units=units)
        else:
            p = biased(csr_array(sparse(800, 7) * units), loss, "none").regularized(0.02, np.linspace(-1.0, 1.0, 7))
        P0 = p.primal(np.zeros(p.shape))
        assert least_gap(p, "newton_pcg", 400) <= 1e-13 * P0
        assert least_gap(p, "newton_pcg", 400, Iterate(np.full(p.shape, 5.0))) <= 1e-13 * P0
        ends = [p.primal(after(solver, p, 300).w) for solver in ("newton_cg", "newton_pcg")]
        assert abs(ends[1] - ends[0]) <= 1e-10 * P0


class SquaredBelowZero(Squared):
    """As a loss with a linear term may be."""

    def value(self, z, y):
        return 0.5 * (z - y) * (z - y) - 10.0

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b + 10.0


@pytest.mark.core(1)
@pytest.mark.parametrize(("solver", "psi"), [("newton", "l2"), ("newton_pcg", "l2"), ("prox_newton", "l1")])
def test_stages_of_a_loss_below_zero_end(solver, psi):
    X = np.random.default_rng(0).normal(size=(3000, 5))
    regularizer = {"name": psi, "strength": 0.01}
    below, squared = (Problem(X, X[:, 0], loss, regularizer) for loss in (SquaredBelowZero(), "squared"))
    w = after(solver, below, 12).w
    assert below.primal(w) == pytest.approx(squared.primal(w) - 10.0)
    assert squared.primal(w) <= squared.primal(after(solver, squared, 12).w) + 1e-12


@pytest.mark.parametrize("solver", ["newton", "newton_pcg", "prox_newton"])
def test_stages_that_a_model_fits_exactly_end(solver):
    """P is rounding there, and no slope a small part of it; two samples that the first stages lack are not fit."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 5))
    y = X @ np.abs(rng.normal(size=5))
    y[np.flatnonzero(Rng(0).integers(64, 4000) >= 16)[:2]] += 10.0
    p = Problem(X, y, "squared", "none" if solver == "prox_newton" else {"name": "l2", "strength": 1e-40})
    assert p.primal(after(solver, p, 12).w) <= p.primal(np.linalg.lstsq(X, y)[0]) * (1.0 + 1e-10)


def preconditioner(p, w):
    z = p.X.forward(w)
    return outcome(newton_pcg._preconditioner(p.counted(), z, p.loss_dual(z), Rng(0), Iterate(w)))


def second_derivative(p, w):
    """H as a matrix on vec(w), by products."""
    z = p.X.forward(w)
    if w.ndim == 1:
        curvature = Curvature(p, z, squares_of(p))
    else:
        curvature = DirectionalCurvature(p, z, p.loss_dual(z), squares_of(p), 0.0)
    return np.array([curvature.product(e.reshape(w.shape))[0].reshape(-1) for e in np.eye(w.size)])


@pytest.mark.parametrize("loss", ["logistic", "squared_multi"])
def test_the_preconditioner_of_all_samples_is_the_inverse(loss):
    """Of one output and of outputs that do not meet in a loss; 4 d samples are all."""
    p = biased(sparse(28, 7), loss, "none") if loss == "logistic" else of_several(loss, 28)
    w = np.random.default_rng(1).normal(size=p.shape)
    H, M = second_derivative(p.counted(), w), preconditioner(p, w)
    found = np.array([M(column.reshape(w.shape)).reshape(-1) for column in H])
    assert np.abs(found - np.eye(w.size)).max() <= 1e-8  # curvatures are quotients of differences


@pytest.mark.parametrize("loss", ["multinomial_logistic", SEVERAL[2]])
def test_the_preconditioner_of_losses_that_equal_changes_do_not_change(loss):
    """It is positive definite, and the condition of M^-1 H is far below those of H and of blocks alone."""
    p = of_several(loss, 28, units=10.0)
    w = np.random.default_rng(1).normal(size=p.shape)
    H, M = second_derivative(p.counted(), w), preconditioner(p, w)
    inverse = np.array([M(e.reshape(w.shape)).reshape(-1) for e in np.eye(w.size)])
    assert np.allclose(inverse, inverse.T, atol=1e-9) and np.linalg.eigvalsh(inverse).min() > 0.0
    equal = np.ones((1, 4)) * np.arange(1.0, 8.0)[:, np.newaxis]
    assert np.allclose(M(equal), equal / p.strong_convexity)
    of_an_output = np.arange(w.size) % 4
    blocks = np.where(of_an_output[:, np.newaxis] == of_an_output, H, 0.0)

    def condition(M):
        values = np.linalg.eigvals(M @ H).real
        return values.max() / values.min()

    assert 10.0 * condition(inverse) <= condition(np.linalg.inv(blocks)) <= condition(np.eye(w.size))


@pytest.mark.parametrize(("epsilon", "is_invariant"), [(0.0, True), (7e-7, False)])
def test_equal_changes_that_lower_a_derivative_change_the_losses(epsilon, is_invariant, monkeypatch):
    """D = I - 1 1^T/4 + epsilon c c^T, by which a derivative falls by more than rounding, and none grows by as much."""
    c = np.array([1.0, 1.0, 1.0, -2.9])
    D = np.eye(4) - 0.25 + epsilon * np.outer(c, c)
    limit = newton_pcg.ROUNDING * D.max()
    assert (D @ np.ones(4)).max() < limit and ((D @ np.ones(4)).min() > -limit) == is_invariant
    monkeypatch.setattr(DirectionalCurvature, "slopes", lambda self, outputs: outputs @ D)
    monkeypatch.setattr(DirectionalCurvature, "diagonals", lambda self: np.tile(np.diag(D), (len(self.b), 1)))
    p, equal = of_several("multinomial_logistic", 28), np.ones((7, 4))
    found = preconditioner(p, np.zeros(p.shape))(equal)
    assert np.allclose(found, equal / p.strong_convexity) == is_invariant


def test_preconditioned_newton_refuses_many_features(monkeypatch):
    monkeypatch.setattr("rrmbench.solvers.second_order.growing.LARGEST", 8)
    with pytest.raises(RrmbenchError, match="newton_pcg: found 9 features, allowed are at most 8"):
        least_gap(biased(sparse(60, 9), "logistic", "none"), "newton_pcg")


def tasks():
    rng = np.random.default_rng(0)
    X = CSR.of(sparse(30, 12))
    return Problem(Flattened(*(getattr(X.rows, a) for a in ("data", "indices", "indptr")), (30, 12), (4, 3)),
                   rng.normal(size=30), "squared", L2)  # fmt: skip


def kernel():
    return Problem(
        kernelized(sparse(20, 5), {"name": "rbf", "gamma": 0.3}, "here")[0], labels(20, "squared"), "squared", L2
    )


@pytest.mark.parametrize("make", [tasks, kernel])
@pytest.mark.parametrize("solver", ["direct", "newton_cg"])
def test_other_operators(make, solver):
    p = make()
    assert least_gap(p, solver) <= 1e-13 * p.primal(np.zeros(p.shape))


def test_direct_without_strong_convexity():
    """A free bias and no regularizer: of a singular Gram matrix the pseudoinverse, whose model is as good as any."""
    X = np.ones((6, 3))
    X[:, 0] = X[:, 1] = np.arange(6.0)
    y = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 7.0])
    p = Problem(X, y, "squared", "none", free_bias=True)
    w = list(islice(registry.build_solver("direct")(p, None, Rng(0)), 8))[-1].w
    best = np.linalg.lstsq(X, y, rcond=None)[0]
    assert p.primal(w) == pytest.approx(p.primal(best), rel=1e-12)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 1000), st.booleans(), st.booleans())
def test_gram_matrices(n, d, seed, of_columns, dense):
    """The products of pairs, of sparse rows and in dense blocks, with empty rows; counted as said."""
    X = sparse(n, d, seed)
    A = X.toarray() if of_columns else X.toarray().T
    view = Problem(X, np.zeros(n), "squared", L2).counted().X
    G = np.zeros((A.shape[1], A.shape[1]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gram, "LEAST", 1 if dense else 1000)
        patch.setattr(gram, "DENSE", 0.0)
        patch.setattr(gram, "BLOCK", 30)
        before = 0.0
        for _ in gram.add_gram(view, of_columns, G):
            assert view.passes >= before
            before = view.passes
        chosen = np.flatnonzero(np.random.default_rng(seed).integers(2, size=A.shape[0]))
        weights, some = 1.0 + np.arange(chosen.size) % 3, np.zeros(G.shape)
        for _ in gram.add_gram(view, of_columns, some, chosen, weights):
            pass
    np.testing.assert_allclose(G, A.T @ A, atol=1e-13)
    np.testing.assert_allclose(some, A[chosen].T @ (weights[:, None] * A[chosen]), atol=1e-13)
    m, copy = np.count_nonzero(A, axis=1), 0.0 if of_columns else 0.5  # by columns
    assert before == pytest.approx(copy + np.sum(m * (m + 3) / 2) / (2 * max(X.nnz, 1)))
    of_chosen = np.sum(m[chosen] * (m[chosen] + 3) / 2) / (2 * max(X.nnz, 1))
    assert view.passes - before == pytest.approx(copy + of_chosen)


@given(st.integers(1, 12), st.integers(1, 6), st.integers(0, 1000))
def test_gram_matrices_are_renewed_in_the_rows_whose_weights_changed(n, d, seed):
    X, rng = sparse(n, d, seed), np.random.default_rng(seed)
    A, view = X.toarray(), Problem(X, np.zeros(n), "squared", L2).counted().X
    m = np.count_nonzero(A, axis=1)
    reads = m * (m + 3) // 2
    G, of = np.zeros((d, d)), np.zeros(n)
    for _ in range(5):
        known = np.round(of)
        weights = np.where(rng.random(n) < rng.random(), rng.integers(0, 3, n), known)
        before, few, all_of_them = view.passes, reads @ (weights != known), reads @ (weights > 0.0)
        for _ in gram.renew_gram(view, G, of, weights + 1e-9 * rng.random(n) * weights):  # rounding is no change
            pass
        np.testing.assert_allclose(G, A.T @ (weights[:, None] * A), atol=1e-6)
        np.testing.assert_allclose(of, weights, atol=1e-8)
        assert view.passes - before == pytest.approx(min(few, all_of_them) / (2 * max(X.nnz, 1)))


def test_a_table_is_cheap():
    """Dense rows of d entries count (d + 3)/4 passes for X^T X, and yield about once a pass."""
    p = Problem(np.random.default_rng(0).normal(size=(300, 20)), labels(300, "squared"), "squared", L2)
    its = list(islice(registry.build_solver("direct")(p, None, Rng(0)), 10))
    solved = next(i for i, it in enumerate(its) if it.w.any())
    assert its[solved - 1].passes == pytest.approx(23 / 4) and its[solved].passes == pytest.approx(23 / 4 + 1)
    assert np.diff([it.passes for it in its]).max() <= 1.1


def test_direct_refuses_what_is_large(monkeypatch):
    monkeypatch.setattr("rrmbench.solvers.second_order.direct.LARGEST", 4)
    with pytest.raises(RrmbenchError, match="found 60 samples of 9 features, allowed are at most 4 of either"):
        least_gap(biased(sparse(60, 9), "squared", "none"), "direct")


CURVATURES = {
    "squared": lambda z, y: np.ones(z.shape),
    "logistic": lambda z, y: 0.25 / np.cosh(0.5 * z) ** 2,
    "squared_hinge": lambda z, y: (y * z < 1.0).astype(float),
    "smoothed_hinge": lambda z, y: ((y * z < 1.0) & (y * z > 0.0)).astype(float),
}


@pytest.mark.core(4)
@pytest.mark.parametrize("loss", CURVATURES)
def test_curvatures_are_second_derivatives(loss):
    z = np.random.default_rng(5).normal(scale=3.0, size=200)
    p = Problem(np.ones((200, 1)), labels(200, loss), loss, L2)
    np.testing.assert_allclose(curvatures(p, z), CURVATURES[loss](z, p.y), atol=1e-9)
    smoothed = p.smoothed(0.5)
    point = z - 0.5 * smoothed.loss_dual(z)  # phi^mu has the derivative of phi there
    before = CURVATURES[loss](point, p.y)
    np.testing.assert_allclose(curvatures(smoothed, z), before / (1.0 + 0.5 * before), atol=1e-8)


@pytest.mark.parametrize("bias", ["none", "free", "minimized"])
def test_products_with_the_second_derivative(bias):
    """By differences of the gradient of P, whose third derivative is bounded."""
    p = biased(sparse(40, 7), "logistic", bias).regularized(0.1)

    def gradient(w):
        g = p.X.adjoint(p.loss_dual(p.X.forward(w))) / p.n + p.kappa * w
        g[: 7 if bias == "free" else None] += p.l2 * w[: 7 if bias == "free" else None]
        return g

    rng = np.random.default_rng(0)
    w, q = rng.normal(size=(2, *p.shape))
    curvature = Curvature(p.counted(), p.X.forward(w), squares_of(p))
    product, outputs = curvature.product(q)
    slope = (gradient(w + 1e-5 * q) - gradient(w - 1e-5 * q)) / 2e-5
    np.testing.assert_allclose(product, slope, atol=1e-8)
    np.testing.assert_allclose(outputs, p.X.forward(q), atol=1e-13)
    columns = [curvature.product(e)[0] for e in np.eye(p.shape[0])]
    np.testing.assert_allclose(curvature.diagonal(), np.diag(columns), atol=1e-13)


def test_rows_without_curvature_are_not_read():
    """Of the squared hinge, those beyond the kink; X p is whole all the same."""
    p = biased(sparse(60, 9, density=1.0), "squared_hinge", "none").counted()
    z = 2.0 * p.y * (np.arange(60) < 45)
    curvature, q = Curvature(p, z, squares_of(p)), np.linspace(-1.0, 1.0, 9)
    _, outputs = curvature.product(q)
    assert p.X.passes == pytest.approx(0.25)
    curvature.complete(q, outputs)
    assert p.X.passes == pytest.approx(0.25 + 0.375)
    np.testing.assert_allclose(outputs, p.X.forward(q), atol=1e-13)


def test_a_diagonal_is_half_a_pass_of_the_rows_with_curvature():
    p = biased(sparse(60, 9, density=1.0), "squared_hinge", "none").counted()
    Curvature(p, 2.0 * p.y * (np.arange(60) < 45), squares_of(p)).diagonal()
    assert p.X.passes == pytest.approx(0.125)
    greatest_diagonal(p)
    assert p.X.passes == pytest.approx(0.125 + 0.5)


GROUPS = {"group_lasso": {"groups": 3}}


def spec(loss="logistic", regularizer="l2", **data):
    return {"dataset": {"name": "a9a", **data}, "loss": {"name": loss},
            "regularizer": {"name": regularizer, "strength": 0.1, **GROUPS.get(regularizer, {})}}  # fmt: skip


@pytest.mark.parametrize(
    ("of", "shape", "solver"),
    [
        (spec(), (9, 9), "newton_cg"),
        (spec(bias="free"), (9, 9), "newton_cg"),
        (spec("multinomial_logistic"), (9, 3000), "newton_pcg"),
        (spec("multinomial_logistic"), (9, 3001), "newton_cg"),
        (spec("multinomial_logistic"), None, "newton_cg"),
        (spec("multinomial_logistic", "l1"), (2000, 3000), "prox_newton"),
        (spec("multinomial_logistic", "l1"), (9, 3001), "pdprox_restarted"),
        (spec("multinomial_logistic", "l21"), (3 * 10**6, 100), "pdprox_restarted"),
        (spec("soft_max_of_hinge"), (9, 9), "prox_newton"),
        (spec("squared"), (10**6, 3000), "direct"),
        (spec("squared", bias="minimized"), (3000, 10**6), "direct"),
        (spec("squared"), (3001, 3001), "newton_cg"),
        (spec("squared"), None, "newton_cg"),
        (spec("squared", "l1"), (9, 9), "working_sets"),
        (spec("logistic", "group_lasso"), (9, 9), "working_sets"),
        (spec("logistic", "l2_norm"), (9, 9), "prox_newton"),
        (spec("logistic", "l2_norm"), (9, 3001), "pdprox_restarted"),
        (spec("hinge"), (10**6, 1000), "ssnal"),
        (spec("hinge"), (9, 10), "apcg_shrinking"),
        (spec("max_of_hinge"), (4000, 1000), "ssnal_multiclass"),
        (spec("max_of_hinge"), (3999, 1000), "apcg_shrinking"),
        (spec("hinge"), None, "apcg_shrinking"),
        (spec("hinge", bias="minimized"), (9, 9), "apcg_bias"),
        (spec("hinge", bias="free"), (9, 9), "clarabel"),
        (spec("hinge", bias="free"), None, "pdprox_restarted"),
        (spec("crf"), (9, 9), "lbfgs"),
        (spec("m3n"), (9, 9), "bcfw"),
    ],
)
def test_the_solver_of_a_reference(of, shape, solver):
    limit = {"time_limit": 60.0} if solver == "clarabel" else {}
    assert reference.specs(of, 60.0, shape)[0]["solver"] == {"name": solver, **limit}


def test_the_methods_of_a_reference_where_the_first_leaves_it_open():
    for shape, names in (
        ((9, 9), ["ssnal", "clarabel", "apcg_shrinking"]),
        ((6000, 5001), ["apcg_shrinking"]),
        (None, ["apcg_shrinking"]),
    ):
        assert [found["solver"]["name"] for found in reference.specs(spec("hinge"), 60.0, shape)] == names
    for shape, names in ((2000, 3000), ["working_sets", "prox_newton"]), ((9, 3001), ["working_sets"]):
        found = reference.specs(spec("logistic", "l1"), 60.0, shape)
        assert [of["solver"]["name"] for of in found] == names
    several = reference.specs(spec("max_of_hinge"), 60.0, (90, 9))
    assert [found["solver"]["name"] for found in several] == ["ssnal_multiclass", "clarabel", "apcg_shrinking"]


def test_fewer_passes_than_first_order_methods():
    """Where features have very different scales, to 1e-9 in a tenth of the passes of FISTA."""
    X = csr_array(sparse(200, 30) * np.logspace(0.0, -2.0, 30))
    p = Problem(X, labels(200, "logistic"), "logistic", {"name": "l2", "strength": 1e-6})
    ours = solve(p, "newton_cg", relative_gap=1e-9, passes=500)
    assert ours.reason == "relative_gap"
    passes = 10.0 * float(ours.trace["passes"].iloc[-1])
    assert solve(p, "fista", relative_gap=1e-9, passes=passes, growth=1.2).reason == "passes"


@pytest.mark.parametrize("solver", ["newton", "newton_cg", "newton_pcg"])
def test_losses_that_bend_over_very_short_lengths_have_last_digits(solver):
    """Differences as wide as the bend would not know the curvature of samples on it."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(200, 8)) / 3.0
    y = np.where(X @ rng.normal(size=8) + 0.5 * rng.normal(size=200) > 0.0, 1.0, -1.0)
    p = Problem(X, y, {"name": "smoothed_hinge", "gamma": 1e-6}, {"name": "l2", "strength": 0.05})
    assert solve(p, solver, passes=100, gap=1e-12).reason == "gap"


def test_a_stage_counts_half_a_pass_of_its_rows_for_their_copy_and_its_share_of_what_it_reads():
    rng = np.random.default_rng(0)
    p = Problem(rng.normal(size=(4000, 3)), rng.normal(size=4000), "squared", L2)

    def steps(part, w, is_last):
        sizes.append(part.n)
        for _ in range(2):
            part.X.forward(w)
            part.X.adjoint(part.X.forward(w))
            yield Iterate(w, passes=part.X.passes)

    sizes = []
    its = list(islice(on_growing_samples(p, np.zeros(3), Rng(0), steps), 8))
    assert len(sizes) == 4 and sizes[-1] == 4000 and sizes[0] == pytest.approx(4000 / 64, rel=0.3)
    expected, before = [], 0.0
    for size in sizes:
        share = size / 4000
        before += 0.5 * share * (size < 4000)
        expected += [before + 1.5 * share, before + 3.0 * share]
        before = expected[-1]
    assert [it.passes for it in its] == pytest.approx(expected)


def test_the_rows_of_a_preconditioner_count_half_a_pass_of_theirs_for_their_copy():
    """And m (m + 3)/2 for the products of a row of m entries, of which a pass has 2 m."""
    rng = np.random.default_rng(0)
    p = Problem(rng.normal(size=(4000, 5)), np.sign(rng.normal(size=4000)), "logistic", L2).counted()
    few = int(max(newton_pcg.PER_FEATURE * 5, 4 * 4000 / 5))
    made = newton_pcg._preconditioner(p, np.zeros(4000), np.zeros(4000), Rng(0), Iterate(np.zeros(5)))
    passes = [it.passes for it in made]
    assert few < 4000 and passes[0] == pytest.approx(0.5 * few / 4000)
    assert passes[-1] == pytest.approx((0.5 + 5 * 8 / 2 / 10) * few / 4000)


@pytest.mark.parametrize("bias", ["none", "free", "minimized"])
@pytest.mark.parametrize(("n", "d"), [(40, 9), (9, 40)])
@pytest.mark.parametrize("kappa", [0.0, 0.2])
def test_the_direct_solver_is_exact_with_its_first_step(bias, n, d, kappa):
    """Steps of refinement would make up for a wrong system."""
    p = around_a_center(n, d, bias, kappa)
    x = next(x for x in registry.build_solver("direct")(p, None, Rng(0)) if x.b is not None)
    assert p.gap(x.w, x.b) <= 1e-12
