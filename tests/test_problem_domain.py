"""Regularizers restricted to a box or a ball by `domain`."""

import math

import cvxpy as cp
import numpy as np
import oracles
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rrmbench import Problem, RrmbenchError
from rrmbench.numerics import lazy
from rrmbench.problem.operators import CSR
from rrmbench.problem.traits import build_regularizer, traits
from rrmbench.regularizers.box import Box

L1 = {"name": "l1", "strength": 0.1}


def built(mapping, **domain):
    return build_regularizer(mapping | {"domain": domain})


def test_a_box_keeps_strengths_and_other_bounds():
    assert built(L1, box=[-1, 2.5]) == (Box(-1.0, 2.5, 0.1), 0.0)
    assert built({"name": "elastic_net", "l1": 0.1, "l2": 0.2}, box=[0, math.inf]) == (Box(0.0, math.inf, 0.1), 0.2)
    assert built({"name": "l2", "strength": 0.2}, box=[-1, 1]) == (Box(-1.0, 1.0), 0.2)
    assert built({"name": "nonneg"}, box=[-1, 1])[0] == Box(0.0, 1.0)


@pytest.mark.parametrize(
    ("mapping", "domain", "found"),
    [
        (L1, {}, r"found \{\}, allowed is \{box: \[a, b\]\} with numbers a <= b, or \{ball: r\} with a number r > 0"),
        (L1, None, "found None, allowed is"),
        (L1, "box", "found 'box', allowed is"),
        (L1, {"bal": 1.0}, "did you mean 'ball'"),
        (L1, {"box": [0, 1], "ball": 1.0}, r"found \{'box'.*allowed is"),
        (L1, {"box": [1, 0]}, r"found \[1, 0\], which leaves no w, allowed is"),
        (L1, {"box": [math.inf, math.inf]}, "leaves no w"),
        (L1, {"box": 1.0}, r"domain\.box: found 1\.0, allowed is"),
        (L1, {"box": [0, 1, 2]}, "found .0, 1, 2., allowed is"),
        (L1, {"box": [0, "1"]}, "found .0, '1'., allowed is"),
        (L1, {"box": [False, True]}, "found .False, True., allowed is"),
        (L1, {"box": [0, math.nan]}, "found .0, nan., allowed is"),
        ({"name": "nonneg"}, {"box": [-2, -1]}, "leaves no w"),
        (L1, {"ball": 0}, r"domain\.ball: found 0, allowed is"),
        (L1, {"ball": -1.0}, "found -1.0, allowed is"),
        (L1, {"ball": math.inf}, "found inf, allowed is"),
        (L1, {"ball": [1]}, r"found \[1\], allowed is"),
        (
            {"name": "l2_norm", "strength": 0.1},
            {"box": [0, 1]},
            r"domain\.box: found .* L2Norm, allowed are multiples of",
        ),
        (
            {"name": "squared_group", "strength": 0.1},
            {"ball": 1},
            r"domain\.ball: found .* SquaredSum, allowed are norms",
        ),
        ({"name": "box", "lower": -1, "upper": 1}, {"ball": 1}, r"domain\.ball: found .* Box, allowed are norms"),
    ],
)
def test_bad_domains(mapping, domain, found):
    with pytest.raises(RrmbenchError, match=found):
        build_regularizer(mapping | {"domain": domain})


def test_methods_that_know_the_regularizer_do_not_take_it_for_the_same_in_a_domain():
    for domain in {"box": [-1, 1]}, {"ball": 1.0}:
        for mapping in {"name": "none"}, L1:
            assert not traits("squared", mapping | {"domain": domain}) & {"L1", "Zero"}
    assert "coordinate" in traits("squared", L1 | {"domain": {"box": [-1, 1]}})
    assert "coordinate" not in traits("squared", L1 | {"domain": {"ball": 1}})
    assert "isotropic" in traits("squared", {"name": "l2", "strength": 1.0, "domain": {"ball": 1}})


@given(seed=st.integers(0, 10**6), t=st.floats(0.0, 50.0))
@pytest.mark.parametrize("bounds", [(-0.5, 1.0), (0.0, math.inf), (0.3, 1.0), (-math.inf, -0.1)])
def test_prox_in_a_box_minimizes(bounds, seed, t):
    psi = built(L1, box=list(bounds))[0]
    w = 2.0 * np.random.default_rng(seed).standard_normal()
    u = psi.prox(w, t)
    grid = np.clip(np.linspace(w - 10.0, w + 10.0, 2001), *bounds)
    assert t * 0.1 * abs(u) + (u - w) ** 2 / 2 <= np.min(t * 0.1 * np.abs(grid) + (grid - w) ** 2 / 2) + 1e-14


@pytest.mark.parametrize("bounds", [(-0.02, 0.05), (0.0, math.inf), (0.01, 0.05)])
@pytest.mark.parametrize("centred", [False, True])
def test_lazy_steps_in_a_box_equal_dense_ones(bounds, centred):
    X, y = oracles.data(30, 25, density=0.1)
    p = Problem(X, y, "squared", {"name": "l1", "strength": 0.05, "domain": {"box": list(bounds)}}, l2=0.1)
    p = p.regularized(0.02, np.linspace(-1.0, 1.0, 25)) if centred else p
    rng, theta = np.random.default_rng(0), np.zeros(30)
    g = rng.standard_normal(25) * 0.3
    for eta in (0.01, 0.3):
        steps = lazy.StochasticSteps(p, eta)
        assert steps.lazy
        order, w = rng.integers(30, size=30), np.full(25, 0.02)
        wanted = oracles.stochastic_steps(p, X, w.copy(), order, eta, g, theta)
        steps.run(order, w, lazy.Snapshot(steps.linear(g), theta))
        np.testing.assert_allclose(w, wanted, atol=1e-12)
        assert len(set(np.round(w, 10))) > 2 or bounds[0] > 0.0


@pytest.mark.parametrize("loss", ["hinge", "absolute", "squared"])
@pytest.mark.parametrize(
    ("name", "domain"),
    [(name, {"ball": 0.3}) for name in ("l1", "elastic_net", "group_lasso", "l2_norm", "none")]
    + [(name, {"box": [-0.1, 0.2]}) for name in ("l1", "elastic_net", "none")],
)
def test_certificates_hold_and_close_at_the_optimum_of_cvxpy(loss, name, domain):
    mapping = oracles.example("regularizer", name) | {"domain": domain}
    X, y = oracles.data(40, 6, loss=loss)
    p = Problem(CSR.of(X), y, loss, mapping)
    w = cp.Variable(6)
    z = cp.Variable(40)
    psi, constraints = oracles.cvxpy_regularizer(mapping, w)
    outputs = z == X @ w
    task = cp.Problem(cp.Minimize(oracles.cvxpy_loss(loss, z, y) / 40 + psi), [*constraints, outputs])
    task.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10, tol_feas=1e-10)
    assert p.primal(p.prox(w.value, 0.0)) == pytest.approx(task.value, abs=1e-7)
    b = outputs.dual_value * 40.0
    assert max(p.dual_value(b * (1.0 - 1e-7)), p.dual_value(-b * (1.0 - 1e-7))) == pytest.approx(task.value, abs=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert p.dual_value(p.loss_dual(rng.standard_normal(40))) <= task.value + 1e-9
