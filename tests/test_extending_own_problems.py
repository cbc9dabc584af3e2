"""Solvers of losses and regularizers that their own file brings along."""

import pytest
from lab import make_lab  # noqa: F401

from rrmbench import registry
from rrmbench.losses.squared import Squared

BALL = """\"\"\"An l1 ball, and projected gradients on it.\"\"\"

from dataclasses import dataclass

import numpy as np

from rrmbench.toolbox import Iterate, Positive, regularizer, solver


@dataclass(frozen=True)
class L1Ball:
    r: float
    coordinate_separable = False

    def value(self, w):
        return 0.0 if np.abs(w).sum() <= self.r * (1.0 + 1e-12) else float("inf")

    def conjugate(self, v):
        return self.r * float(np.abs(v).max())

    def prox(self, w, t):
        a = np.sort(np.abs(w).ravel())[::-1]
        if a.sum() <= self.r:
            return w
        tau = np.max((np.cumsum(a) - self.r) / np.arange(1, a.size + 1))
        return np.sign(w) * np.maximum(np.abs(w) - tau, 0.0)

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return self.r


@regularizer
def l1_ball(radius: Positive = 2.0):
    return L1Ball(radius)


@solver(needs={"smooth", "L1Ball"}, deterministic=True)
def projected_gradient(problem, start, rng):
    w = problem.start(start)
    yield Iterate(w)
    passes, L = 0.0, problem.L + problem.strong_convexity
    while True:
        passes += 1.0 if w.any() else 0.5
        b = problem.loss_dual(problem.X.forward(w))
        g = problem.X.adjoint(b) / problem.n + PULL * w - CENTER
        w = problem.regularizer.prox(w - g / L, 1.0 / L)
        yield Iterate(w, b, passes)
"""


@pytest.mark.parametrize("knows_the_centre", [True, False])
def test_a_solver_of_a_regularizer_of_its_own_file_is_tested_on_it(lab, knows_the_centre):
    terms = ("problem.kappa", "problem.center_term()") if knows_the_centre else ("0.0", "0.0")
    text = BALL.replace("PULL", terms[0]).replace("CENTER", terms[1])
    (lab.folder / "ball.py").write_text(text.replace("L1Ball", f"L1Ball{knows_the_centre}"))  # a class of its own
    found = lab.cli("test", lab.folder / "ball.py", "--verbose")
    assert "ok     it reaches the optimum: squared, l1_ball, sparse rows" in found.out
    assert found.code == (0 if knows_the_centre else 1), found.out
    wrong = [line for line in found.out.splitlines() if line.lstrip().startswith("WRONG")]
    reduced = "  WRONG  it minimizes what reductions make of a problem: a square around a centre"
    assert wrong == ([] if knows_the_centre else [reduced])
    assert knows_the_centre or "hint: Psi has (kappa/2) ||w - center||^2, too" in found.out


FRANK_WOLFE = """\"\"\"Frank and Wolfe's method on a ball.\"\"\"

import numpy as np

from rrmbench.toolbox import Iterate, solver


@solver(needs={"smooth", "InBall"}, deterministic=True)
def frank_wolfe(problem, start, rng):
    r, w = problem.regularizer.r, problem.start(start)
    yield Iterate(w)
    k = passes = 0
    while True:
        passes += 1.0 if w.any() else 0.5
        b = problem.loss_dual(problem.X.forward(w))
        down, k = problem.v(b) SQUARES, k + 1
        w = w + 2.0 / (k + 1.0) * (r * down / (np.linalg.norm(down) or 1.0) - w)
        yield Iterate(w, b, passes)
"""


@pytest.mark.parametrize("squares", ["", "+ problem.center_term() - (problem.l2 + problem.kappa) * w"])
def test_a_solver_of_models_in_a_ball_is_tested_on_it(lab, squares):
    (lab.folder / "frank_wolfe.py").write_text(FRANK_WOLFE.replace("SQUARES", squares))
    found = lab.cli("test", lab.folder / "frank_wolfe.py", "--verbose")
    assert "ok     it reaches the optimum: squared, none, sparse rows" in found.out
    stands = "a square around a centre\n         squared, none: it stands still"
    assert (stands in found.out, found.code) == ((False, 0) if squares else (True, 1)), found.out


def test_a_solver_of_a_regularizer_of_a_plug_in_is_skipped_with_its_name(lab):
    (lab.folder / "ball.py").write_text(BALL.replace("PULL", "0.0").replace("CENTER", "0.0").replace("L1Ball", "Ball"))
    parts = {"regularizer": [{"path": "ball.py", "name": "l1_ball"}, {"name": "l1", "strength": 0.1}]}
    lab.config(solver={"path": "ball.py", "name": "projected_gradient"}, loss=["squared", "hinge"], **parts)
    ran = lab.cli("run", lab.folder / "toy.yaml", "--dry-run")
    assert "projected_gradient is for the regularizer l1_ball only, and not for squared with l1" in ran.out
    assert "projected_gradient needs a smooth loss; hinge is not smooth (try " in ran.out


def test_what_another_loaded_plug_in_raises_is_no_fault_of_the_file(lab):
    def broken():
        raise TypeError("of another file")

    class FarPair(Squared):  # no conjugate pair, so that P(w) < D(b) where it is taken
        def conjugate(self, b, y):
            return -1e3

    def far_pair():
        return FarPair(1.0)

    registry.regularizer(broken)
    registry.loss(far_pair)
    text = BALL.replace("PULL", "problem.kappa").replace("CENTER", "problem.center_term()")
    (lab.folder / "ball.py").write_text(text.replace("L1Ball", "L1BallAlone"))
    found = lab.cli("test", lab.folder / "ball.py", "--verbose")
    assert found.code == 0, found.out
    assert "far_pair" not in found.out
