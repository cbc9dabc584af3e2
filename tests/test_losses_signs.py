"""Losses that are convex for positive labels alone."""

import numpy as np
import pytest
from lab import make_lab, rows  # noqa: F401

import rrmbench
from rrmbench.errors import RrmbenchError

pytestmark = pytest.mark.usefixtures("own_bounds")

AMOUNTS = """\"\"\"Positive amounts with the logarithm as link.\"\"\"

from math import exp, inf, log
from typing import NamedTuple

from rrmbench.toolbox import loss


class Amounts(NamedTuple):
    conjugate_convexity: float = 0.0
    lipschitz: float = inf

    def value(self, z, y):
        return z + y * exp(-max(z, -600.0))

    def conjugate(self, b, y):
        u = 1.0 - b
        if u <= 0.0:
            return inf if u < 0.0 else 0.0
        return u * log(u / y) - u

    def dual_point(self, z, y, mu):
        if mu == 0.0:
            return 1.0 - y * exp(-max(z, -600.0))
        c = mu - z + log(y)
        s = c if c < 0.0 else min(c, log(1.0 + c / mu))
        for _ in range(60):
            e = mu * exp(min(s, 600.0))
            s -= (s + e - c) / (1.0 + e)
        return 1.0 - exp(min(s, 600.0))


@loss(needs={"positive"})
def amounts():
    return Amounts()
"""


@pytest.fixture
def folder(lab):
    (lab.folder / "amounts.py").write_text(AMOUNTS)
    return lab.folder


def test_such_a_loss_is_tested_with_labels_that_it_takes(lab, folder):
    ran = lab.cli("test", folder / "amounts.py")
    assert ran.code == 0, ran.out


@pytest.mark.parametrize(("labels", "least"), [((1, 2), None), ((0, 2), "0"), ((-1, 1), "-1")])
def test_other_labels_are_refused(lab, folder, labels, least):
    (folder / "toy.txt").write_text(rows(labels=labels))
    config = lab.config(loss={"path": "amounts.py", "name": "amounts"}, solver="pdprox_dual", stop={"passes": 5})
    ran = lab.cli("run", config, "-o", lab.out)
    if least is None:
        assert ran.code == 0 and lab.cli("verify", lab.out, "--trust").code == 0
    else:
        assert ran.code == 1 and f"y: amounts needs labels greater than 0, found {least}" in " ".join(ran.out.split())
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = np.resize(np.array(labels, dtype=float), 30)
    if least is None:
        assert rrmbench.solve(rrmbench.Problem(X, y, "amounts", "none"), "pdprox_dual", passes=5).status == "done"
    else:
        with pytest.raises(RrmbenchError, match=f"needs labels greater than 0, found {least}"):
            rrmbench.Problem(X, y, "amounts", "none")
