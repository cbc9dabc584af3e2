"""The steps on single rows for kernels of plug-ins are those of the definition, coordinate by coordinate."""

import numpy as np
import oracles
import pytest

from rrmbench.numerics.random import Rng
from rrmbench.toolbox import bring_up, kernel, prefetch_row, row_move, row_output, row_steps

NET = {"name": "elastic_net", "l1": 0.02, "l2": 0.1}
BOX = {"name": "l1", "strength": 0.05, "domain": {"box": [-0.3, 0.2]}}


@kernel
def steps(way, order, w):
    for t in range(order.shape[0]):
        prefetch_row(way, order, t)
        i = order[t]
        b = way.loss.dual_point(row_output(way, i, t, w), way.y[i], way.mu)
        row_move(way, i, t, b if t % 3 > 0 else 0.0, w)  # some steps move along Psi alone
    bring_up(way, order.shape[0], w)


@pytest.mark.parametrize(
    ("regularizer", "density"),
    oracles.core([(NET, 0.1), (NET, 1.0), (BOX, 0.1), (BOX, 1.0)], lambda psi, density: psi is NET),
    ids=str,
)
def test_steps_on_rows_are_those_of_the_definition(regularizer, density):
    p = oracles.problem("logistic", regularizer, n=30, d=25, density=density).regularized(0.2, np.full(25, 0.1))
    X, g, eta = np.stack([p.X.forward(e) for e in np.eye(25)], axis=1), np.linspace(-0.1, 0.1, 25), 0.3
    order = Rng(1).integers(30, 30)
    way = row_steps(p, eta, g)
    assert hasattr(way, "powers") == (density < 0.2)
    w = p.start()
    expected = w.copy()
    for _ in range(2):  # what waited is forgotten between calls
        steps(way, order, w)
        for t, i in enumerate(order):
            delta = p.loss.dual_point(X[i] @ expected, p.y[i], p.mu) if t % 3 > 0 else 0.0
            expected = oracles.prox_Psi(p, expected - eta * (g + delta * X[i]), eta)
    np.testing.assert_allclose(w, expected, rtol=1e-10, atol=1e-13)
