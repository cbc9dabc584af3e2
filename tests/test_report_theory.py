"""Measured curves stay below the theorems, and parameters that these are not about have none."""

from contextlib import suppress
from itertools import product
from types import SimpleNamespace

import numpy as np
import oracles
import pytest

from rrmbench import registry
from rrmbench.components import lacking
from rrmbench.numerics.random import Rng
from rrmbench.problem.constants import Constants, NoTheorem, constants
from rrmbench.report.theory import bound_curve, proven
from rrmbench.solvers.stochastic.svrg import rate

# What a theorem is about, where it is not the default.
SPEC = {"prox_sdca": {"sampling": "uniform"}, "svrg": {"snapshot": "random"}}
SPEC |= {name: {"output": "average"} for name in ("pdprox_dual", "pdprox_primal")}
SPEC |= {"accelerated_prox_sdca": {"sampling": "uniform"}}
SCALES = [0.01, 0.3, 1.0, 2.0, 30.0]
STEPS = {"step": ["bound", "backtracking"], "step_scale": SCALES}
PDPROX = {"output": ["last", "average"], "constant": ["data", "spectral"], "step_scale": SCALES, "ratio": [None, 0.1]}
AGM = {"step": ["bound", "adaptive"], "convexity": ["psi", "loss"], "down": [1.1, 2.0], "prox": ["auto", "entropy"]}
# Values of the parameters, whose product is tried.
GRIDS = {
    "gd": STEPS,
    "agd": STEPS,
    "fista": STEPS | {"restart": ["none", "gradient"]},
    "agm_ef": AGM,
    "agm_ef_1": AGM,
    "pdprox_dual": PDPROX | {"beta": ["step", "prox"]},
    "pdprox_primal": PDPROX,
    "prox_sdca": {"option": ["I", "III", "V"], "sampling": ["uniform", "permutation"], "output": ["last", "average"]},
    "accelerated_prox_sdca": {"inner": ["theory", 2], "sampling": ["uniform", "permutation"]},
    "svrg": {"step_scale": [0.02, 0.1, 0.2, 0.5], "snapshot": ["random", "last"]},
    "excessive_gap": {"radius": ["auto", 0.1, 10.0], "step_scale": SCALES},
}
# How many of these a theorem covers, on a problem that meets what it needs.
COVERAGE = {"gd": 6, "agd": 3, "fista": 6, "agm_ef": 8, "agm_ef_1": 8, "pdprox_dual": 6, "pdprox_primal": 3}
COVERAGE |= {"prox_sdca": 3, "accelerated_prox_sdca": 2, "svrg": 2, "excessive_gap": 9}
# Theorems about some iterates only.
COVERED = {"svrg": lambda it: it.gradient_norm is not None}
STOCHASTIC = ["prox_sdca", "accelerated_prox_sdca", "svrg"]
SEEDS = 12
SIGMAS = 3.0  # how many standard errors the mean over the seeds may exceed the bound of the expectation
PASSES = 60


def well_conditioned(loss, regularizer):
    """As `oracles.problem`, with so much of l2 that R^2/(s gamma) is a fiftieth of n, as SVRG's theorem wants."""
    p = oracles.problem(loss, regularizer, n=60, d=8)
    return p.regularized(50.0 * p.R**2 * p.smoothness / p.n - p.l2)


PROBLEMS = {
    "lasso": lambda: oracles.problem("squared", {"name": "l1", "strength": 0.05}),
    "logistic": lambda: oracles.problem("logistic", oracles.example("regularizer", "elastic_net")),
    "ridge": lambda: oracles.problem("squared", {"name": "l2", "strength": 0.1}),
    "easy logistic": lambda: well_conditioned("logistic", {"name": "l1", "strength": 0.02}),
    "hinge": lambda: oracles.problem("hinge", {"name": "l2", "strength": 0.1}),
    "box": lambda: oracles.problem(
        "squared", oracles.example("regularizer", "elastic_net") | {"domain": {"box": [0.1, 0.6]}}
    ),
    "easy ridge": lambda: well_conditioned("squared", {"name": "l2", "strength": 0.1}),
}
WITH_BOUND = [name for name in registry.names("solver") if registry.lookup("solver", name).bound is not None]


def minimizer(p):
    """w* to rounding."""
    solver = "coordinate_descent" if "smooth" in p.traits else "prox_sdca"
    for it in registry.build_solver(solver)(p, None, Rng(0)):
        if it.passes > 3000 or (it.b is not None and p.gap(it.w, it.b) < 1e-15):
            return it.w.copy()
    raise AssertionError("the solver ended")


def curve(solver, p, seed):
    """(passes, P(w)) of the iterates that the theorem covers."""
    covered, points = COVERED.get(solver["name"], lambda it: True), []
    for it in registry.build_solver(solver)(p, None, Rng(seed)):
        if it.passes > PASSES:
            return np.array(points).T
        if covered(it):
            points.append((it.passes, p.primal(it.w)))
    raise AssertionError("the solver ended")


def mean_at(passes, curves):
    """The mean and its standard error over the curves, each at its last point up to `passes`."""
    values = [[c[1][np.searchsorted(c[0], k, side="right") - 1] for k in passes] for c in curves]
    return np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(len(curves))


def grid(solver):
    """All settings of a solver's grid."""
    values = GRIDS[solver]
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


@pytest.mark.core(15)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("solver", WITH_BOUND)
def test_curves_stay_below_the_bound_wherever_there_is_one(solver, problem):
    p, component = PROBLEMS[problem](), registry.lookup("solver", solver)
    if lacking(component.needs, p.traits):
        pytest.skip("the solver does not take this problem")
    w = minimizer(p)
    c, optimum, passes = constants(p, w), p.primal(w), np.arange(1.0, PASSES)
    for setting in grid(solver):
        try:
            bound = proven(component, c, passes, setting)
        except NoTheorem:
            continue
        spec = {"name": solver, **setting}
        curves = [curve(spec, p, seed) for seed in range(SEEDS if solver in STOCHASTIC else 1)]
        mean, error = mean_at(passes, curves)
        assert np.all(mean - optimum <= bound + SIGMAS * error + 1e-13), setting
        assert np.all(np.diff(bound[np.isfinite(bound)]) <= 0.0)


@pytest.mark.parametrize("solver", WITH_BOUND)
def test_settings_outside_of_the_theorem_have_no_bound(solver):
    """And the reason names the first parameter at fault; the settings are those of GRIDS."""
    component, covered = registry.lookup("solver", solver), 0
    p = PROBLEMS["hinge" if "pdprox" in solver else "easy ridge"]()
    c = constants(p, p.start())
    for setting in grid(solver):
        try:
            proven(component, c, np.arange(3.0), setting)
            covered += 1
        except NoTheorem as error:
            name, _, rest = str(error).partition("(")
            key = rest.partition("=")[0]
            assert solver.endswith(name) or solver.startswith(name)
            assert (
                f"{key}={setting[key]:g}" in rest
                if isinstance(setting[key], float)
                else f"{key}={setting[key]}" in rest
            )
    assert covered == COVERAGE[solver]


@pytest.mark.parametrize("solver", WITH_BOUND)
def test_a_bound_says_something(solver):
    """On its best problem it falls below a tenth of the initial suboptimality within 10,000 passes."""
    component, least = registry.lookup("solver", solver), np.inf
    for make in PROBLEMS.values():
        p = make()
        if not lacking(component.needs, p.traits):
            c = constants(p, minimizer(p))
            with suppress(NoTheorem):
                bound = proven(component, c, np.array([1e4]), SPEC.get(solver, {}))
                least = min(least, bound[0] / c.initial_suboptimality)
    assert least < 0.1


GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0


def root_of(c):
    """The tau with tau^2/(1 - tau) = c."""
    return (np.sqrt(c**2 + 4.0 * c) - c) / 2.0


# (solver, parameters, constants, passes, bound), from the formulas of the papers; backtracking for n = 100 takes
# 0.5 + 12/2 passes beside the steps, as 1.5^12 is the first power of 1.5 above 100
BY_HAND = {
    "gd, sublinear": ("gd", {}, {"s": 0.0}, 16.5, 4.0 * 7.0 / (2 * 10)),
    "gd, linear": ("gd", {"step_scale": 0.5}, {}, 46.9, 2.0 * (1 + 0.5 / 8.0) ** -40),
    "agd": ("agd", {}, {}, 10.0, 2.0 * 2.0 * (1 - 1 / 3) ** 10),
    "fista": ("fista", {}, {}, 15.5, 2.0 * 4.0 * 7.0 / 10.0**2),
    "gd, no search": ("gd", {"step": "bound"}, {"s": 0.0}, 10.0, 4.0 * 7.0 / (2 * 10)),
    "fista, no search": ("fista", {"step": "bound"}, {}, 9.0, 2.0 * 4.0 * 7.0 / 10.0**2),
    "agm_ef, sublinear": ("agm_ef", {"step": "bound"}, {"s": 0.0}, 9.0, 0.5 * 7.0 * 4 * 4.0 / 10.0**2),
    "agm_ef, linear": ("agm_ef", {"step": "bound"}, {"s": 0.64}, 11.0, 0.5 * 7.0 * 4.0 * 1.2**-20),
    "agm_ef, loss": (
        "agm_ef",
        {"step": "bound", "convexity": "loss"},
        {"s": 0.84, "l2": 0.5},  # L + l2 = 4.5 less l2, and 1 + sqrt(0.84/18)
        21.0,
        0.5 * 7.0 * 4.0 * (1 + np.sqrt(0.84 / 18)) ** -40,
    ),
    "agm_ef, adaptive": ("agm_ef", {"up": 2.0, "down": 2.0}, {"s": 0.0}, 1 + np.log2(1000.0) + 18, 3.5 * 16.0 / 100.0),
    # tau^2/(1 - tau) = 1 in the first step, so 1 - tau is the square of the golden section; mu1 = 4, or mu2 = 0.08
    "excessive_gap, smooth": ("excessive_gap", {}, {"s": 0.0}, 1.5, 0.5 * 7.0 * 4.0 * GOLDEN**2),
    "excessive_gap, strong": ("excessive_gap", {}, {"gamma": 0.0, "D2": 90.0}, 1.5, 0.5 * 90.0 * 0.08 * GOLDEN**2),
    "excessive_gap, alternating": (  # D1 = 2, D2 = 50: mu1 = 1, mu2 = 0.04, and after 3 passes both have fallen
        "excessive_gap",
        {"radius": 2.0},
        {"gamma": 0.0, "s": 0.0, "D2": 100.0},
        3.0,
        3.5 * (1.0 - root_of(GOLDEN**2)) + 50.0 * 0.04 * GOLDEN**2,
    ),
    "excessive_gap, alternating, by psi": (  # the same with the reach 2, after one step
        "excessive_gap",
        {},
        {"gamma": 0.0, "s": 0.0, "D2": 100.0, "reach": 2.0},
        2.9,
        3.5 + 50.0 * 0.04 * GOLDEN**2,
    ),
    "svrg": ("svrg", {"snapshot": "random"}, {"n": 1000}, 8.9, 2.0 * (8 / (0.06 * 2000) + 0.4 * 2001 / 1200) ** 2),
}


@pytest.mark.parametrize("case", BY_HAND)
def test_bounds_of_solvers_by_hand(case):
    """A curve below a bound does not tell that the bound is the theorem's and not half or twice of it."""
    solver, setting, changed, passes, bound = BY_HAND[case]
    c = Constants(100, 2.0, 4.0, 3.0, 0.5, 1.0, 1.0, initial_gap=3.0, initial_suboptimality=2.0, distance=7.0, S=4.0)
    found = proven(registry.lookup("solver", solver), c._replace(**changed), np.array([passes]), setting)
    assert found == pytest.approx([bound], rel=1e-12)
    c = c._replace(**changed, initial_suboptimality=4.0)  # the gap, where it is less
    later = proven(registry.lookup("solver", solver), c, np.array([passes]), setting)
    assert later == pytest.approx([bound * 1.5 if case in ("gd, linear", "agd", "svrg") else bound], rel=1e-12)


@pytest.mark.parametrize("solver", STOCHASTIC)
def test_no_bound_without_smoothness(solver):
    p = PROBLEMS["hinge"]()
    with pytest.raises(NoTheorem, match=f"{solver}: .* smooth loss"):
        proven(registry.lookup("solver", solver), constants(p), np.arange(3.0), SPEC.get(solver, {}))


@pytest.mark.parametrize(
    ("solver", "changed", "expected"),
    [
        ("svrg", {}, [0.0, 3.0, 6.0, 9.0]),
        ("accelerated_prox_sdca", {"s": 1e-6}, 2.0 * (np.log(200.0) + 7.0 + 2.5 * np.log(4e4)) * np.arange(2)),
        ("accelerated_prox_sdca", {}, None),
        ("agd", {}, None),
    ],
)
def test_bounds_of_some_iterates_are_drawn_where_these_are(solver, changed, expected):
    trace, spec = np.arange(10.0 if solver == "svrg" else 80.0), {"name": solver, **SPEC.get(solver, {})}
    run = SimpleNamespace(reference={"primal_run": "best"}, column=lambda name: trace)
    run.result = SimpleNamespace(spec={"solver": spec, "reduction": "none"})
    c = Constants(100, 2.0, 4.0, 3.0, 0.5, 1.0, 1.0, initial_gap=3.0, initial_suboptimality=2.0, distance=7.0)
    c = c._replace(**changed, n=1000 if solver == "svrg" else 100)
    passes, bound, joined = bound_curve(run, lambda best: (None, c))
    assert joined == (expected is None)
    np.testing.assert_allclose(passes, trace if joined else expected)
    assert np.all(np.diff(bound) < 0.0)
    if expected is not None:
        with pytest.raises(NoTheorem, match="smooth loss"):
            bound_curve(run, lambda best: (None, c._replace(gamma=0.0)))


# the oracles of the reductions

QUARTERING = [
    name for name in registry.names("solver") if registry.lookup("solver", name).passes_to_quarter is not None
]


@pytest.mark.core(8)
@pytest.mark.parametrize("problem", ["logistic", "ridge", "easy logistic"])
@pytest.mark.parametrize("solver", QUARTERING)
def test_quartering_quarters(solver, problem):
    """The mean over the seeds, from a start that is not zero; P's distance where the theorem is about the dual."""
    p = PROBLEMS[problem]()
    optimum = p.primal(minimizer(p))
    spec = {"name": solver, **SPEC.get(solver, {})}
    solve, ratios = registry.build_solver(spec), []
    for seed in range(SEEDS):
        begin = next(it for it in registry.build_solver(spec)(p, None, Rng(100 + seed)) if it.passes >= 2.0)
        begin = begin._replace(w=begin.w.copy(), b=None if begin.b is None else begin.b.copy())
        first = p.primal(begin.w) - optimum
        end = next(it for it in solve(p, begin, Rng(seed)) if it.passes >= solve.passes_to_quarter(p))
        ratios.append((p.primal(end.w) - optimum) / first)
    assert np.mean(ratios) <= 0.25


@pytest.mark.parametrize(
    ("solver", "setting", "changed", "passes"),
    [
        ("gd", {"step": "bound"}, {}, 12 + 0.5),  # 1.125^12 is the first power above 4
        ("gd", {"step": "bound", "step_scale": 0.5}, {}, 23 + 0.5),
        ("gd", {"step": "bound", "step_scale": 2.0}, {}, 12 + 0.5),
        ("gd", {}, {}, 12 + 0.5 + 6.5),
        ("agd", {}, {}, 6 + 0.5),  # 2 (2/3)^6 is the first below 1/4
        ("agd", {"step": "backtracking"}, {}, 6 + 0.5 + 6.5),
        ("agm_ef", {"step": "bound"}, {"strong_convexity": 0.6}, 10 + 0.5),  # 16/11^2 is the first below 0.15
        ("svrg", {}, {"n": 1000}, 5 * 3),  # a stage of 2n steps leaves 0.7337
        ("svrg", {}, {}, 8 * (1 + 804 / 100)),  # one of 100 L_max/s + 4 steps leaves 5/6
        ("svrg", {}, {"n": 1, "strong_convexity": 400.0}, 8 * (1 + 5 / 1)),  # so does one of 100/100 + 4
        ("prox_sdca", {}, {}, (1 + 8 / 100) * np.log(4.0)),
    ],
)
def test_quartering_by_hand(solver, setting, changed, passes):
    """As early as the theorem promises: an epoch that lasts longer than that would quarter the distance as well."""
    given = {"n": 100, "rank": 100, "L": 4.0, "L_max": 4.0, "strong_convexity": 0.5, "l2": 0.0}
    problem = SimpleNamespace(**given | {"free_bias": False} | changed)
    solve = registry.build_solver({"name": solver, **setting})
    assert solve.passes_to_quarter(problem) == pytest.approx(passes, rel=1e-12)


def test_the_rate_of_svrg_is_that_of_its_paper():
    """rho = 1/(mu eta (1 - 4 L eta) m) + 4 L eta (m + 1)/((1 - 4 L eta) m). [Xiao and Zhang 2014, Theorem 1]"""
    mu, L, eta, m = 0.25, 5.0, 0.02, 3000
    expected = 1 / (mu * eta * (1 - 4 * L * eta) * m) + 4 * L * eta * (m + 1) / ((1 - 4 * L * eta) * m)
    assert rate(L / mu, m, L * eta) == pytest.approx(expected, rel=1e-14)
    assert rate(L / mu, 2, L * eta) == pytest.approx(1 / (mu * eta * 0.6 * 2) + 0.4 * 3 / 1.2, rel=1e-14)


CASES = {
    "adapt_reg": ("squared", "l1", {"sigma": 0.5}),
    "adapt_smooth": ("hinge", "l2", {"mu": 0.5}),
    "joint_adapt": ("absolute", "l1", {"sigma": 0.5, "mu": 0.5}),
}


@pytest.mark.core(3)
@pytest.mark.parametrize("solver", ["gd", "agd"])
@pytest.mark.parametrize("reduction", CASES)
def test_reductions_stay_below_their_bound(reduction, solver):
    loss, regularizer, values = CASES[reduction]
    p = oracles.problem(loss, oracles.example("regularizer", regularizer))
    optimum, w = oracles.cvxpy_optimum(loss, regularizer)
    c = constants(p)._replace(initial_suboptimality=p.primal(np.zeros(p.shape)) - optimum, distance=float(np.sum(w**2)))
    for epochs in 1, 2, 4, 6:
        spec = {"name": reduction, **values, "epochs": epochs, "inner": "theory"}
        *_, last = registry.build_solver(solver, spec)(p, None, Rng(0))
        bound = registry.lookup("reduction", reduction).bound(c, epochs, **values)
        assert -1e-8 <= p.primal(last.w) - optimum <= bound


@pytest.mark.parametrize(("reduction", "values"), [("adapt_reg", {"sigma": 0.5}), ("adapt_smooth", {"mu": 0.5})])
def test_epochs_of_theory_end_with_the_first_pass_after_their_time(reduction, values):
    """At the least whole number of passes that is no less, and half a pass more where a stage starts with X^T b."""
    loss, regularizer = ("squared", "l1") if reduction == "adapt_reg" else ("hinge", "l2")
    p, solve = oracles.problem(loss, oracles.example("regularizer", regularizer)), registry.build_solver("agd")
    component = registry.lookup("reduction", reduction)
    trace = {"passes": np.arange(300.0), "primal": np.zeros(300)}
    given = {"name": reduction, **values, "inner": "theory", "output": "epoch"}
    ends, T = component.told(component.epochs_over, given)(solve, p, trace)
    kind, (strength,) = ("regularized" if reduction == "adapt_reg" else "smoothed"), values.values()
    times = [np.ceil(solve.passes_to_quarter(getattr(p, kind)(0.5**t * strength)) + 0.5) for t in range(len(T))]
    assert len(T) > 2 and list(T) == list(range(1, len(T) + 1))
    np.testing.assert_array_equal(ends, np.cumsum(times))


def test_a_reduction_inside_of_another_has_no_curve():
    spec = {"solver": {"name": "gd"}, "reduction": {"name": "adapt_reg", "sigma": 0.1, "inside": {"name": "none"}}}
    p = oracles.problem("squared", oracles.example("regularizer", "l1"))
    run = SimpleNamespace(reference={"primal_run": "best"}, result=SimpleNamespace(spec=spec), column=lambda name: None)
    with pytest.raises(NoTheorem, match="adapt_reg: no theorem is about nested reductions"):
        bound_curve(run, lambda best: (p, constants(p)))


def test_bounds_of_reductions_by_hand():
    c = constants(oracles.problem("hinge", {"name": "l2", "strength": 0.1}))
    c = c._replace(D=4.5, initial_suboptimality=0.5, distance=7.0)
    bounds = {name: registry.lookup("reduction", name).bound for name in CASES}
    assert bounds["adapt_reg"](c, 2, sigma=0.1) == pytest.approx(0.5 / 16 + 4.5 * 0.025 * 7)
    assert bounds["adapt_smooth"](c, 2, mu=0.2) == pytest.approx(0.5 / 16 + 2.5 * 0.05 * 9)
    assert bounds["joint_adapt"](c, 2, sigma=0.1, mu=0.2) == pytest.approx(0.5 / 16 + 4.5 * (0.05 * 9 + 0.025 * 7))
