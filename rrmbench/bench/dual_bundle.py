"""Better lower bounds of P where Psi is strongly convex, for any loss: the best mixture of the b's seen so far.

D is concave, and -(1/n) phi*(b) of a mixture b = sum_j a_j b_j is at least that of its parts, so with v_j = v(b_j) and
c_j = (1/n) phi*(b_j)

    D(b) >= -c.a - Psi*(sum_j a_j v_j)        for a >= 0, sum a = 1

Psi* is 1/s-smooth: it lies below the parabola that touches it at the last v, and the best a for this parabola is found
from the products v_i.v_j alone. The model w = grad Psi*(v) of the mixture then gives the next b_j = phi'(X w), as in
the method of cutting planes, of which this is the dual side. A loss needs nothing but values, conjugates and
subgradients, which is all that losses over labellings have. [Joachims 2006; Teo et al. 2010]
"""

import math
from collections.abc import Iterator

import numpy as np

from rrmbench.problem.problem import Problem

MOST = 30  # b's that are kept, each an array like X w
STEPS = 400  # on pairs of weights, for one mixture
CLOSED = 1e-14  # relative difference of two slopes, below which it is rounding


def fits(problem: Problem) -> bool:
    """Whether Psi is strongly convex, and the losses are those that `rrmbench.bench.dual_ascent` has no stage for."""
    return problem.strong_convexity > 0.0 and not {"smooth", "conjugate_prox"} & problem.traits


def ascend(problem: Problem, w: np.ndarray, b: np.ndarray, passes: float) -> Iterator[tuple[np.ndarray, float]]:
    """Yield (mixture, 0.0) for about `passes` passes, all of them products with X, from the model w and b.

    The problem is one that `fits`. It ends before where the bound above does not rise any more.
    """
    problem, bundle, best = problem.counted(), Bundle(problem.strong_convexity), -math.inf
    for start in b, problem.loss_dual(problem.outputs(w)):
        bundle.take(problem, start)
    while bundle.parts and problem.X.passes < passes:
        bundle.mix(problem)
        mixture, v = bundle.mixture()
        w = problem.primal_point(v)
        bound = problem.Psi(w) - float(np.vdot(v, w)) - float(bundle.weights @ bundle.conjugates)
        if not bound > best:
            return
        best = bound
        yield mixture, 0.0
        bundle.take(problem, problem.loss_dual(problem.X.forward(w)))


class Bundle:
    """The b_j with their v_j, their c_j and weights a_j, of which the first b_j has all at first."""

    def __init__(self, convexity: float) -> None:
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []  # of b_j and v_j
        self.conjugates, self.weights, self._products = np.zeros(0), np.zeros(0), np.zeros((0, 0))
        self._convexity = convexity

    def take(self, problem: Problem, b: np.ndarray) -> None:
        """Add b, for a product with X^T, unless it bounds nothing; of too many the one of least weight goes."""
        conjugate = problem.mean_conjugate(b)
        if not math.isfinite(conjugate):
            return
        if len(self.parts) == MOST:
            mixture, v = self.mixture()
            self._put(int(np.argmin(self.weights)), mixture, v, problem.mean_conjugate(mixture), whole=True)
            self._put(int(np.argmin(self.weights)), b, problem.v(b), conjugate)
            return
        v = problem.v(b)
        self.parts.append((b, v))
        self.conjugates, self.weights = np.append(self.conjugates, 0.0), np.append(self.weights, 0.0)
        self._products = np.pad(self._products, (0, 1))
        self._put(len(self.parts) - 1, b, v, conjugate, whole=len(self.parts) == 1)

    def _put(self, j: int, b: np.ndarray, v: np.ndarray, conjugate: float, whole: bool = False) -> None:
        """Let part j be b, with all of the weight or with none."""
        self.parts[j], self.conjugates[j] = (b, v), conjugate
        self._products[j] = self._products[:, j] = [float(np.vdot(v, other)) for _, other in self.parts]
        if whole:
            self.weights = np.zeros(len(self.parts))
        self.weights[j] = float(whole)

    def mixture(self) -> tuple[np.ndarray, np.ndarray]:
        """(sum a_j b_j, sum a_j v_j), new arrays."""
        chosen = [(a, *self.parts[j]) for j, a in enumerate(self.weights) if a > 0.0]
        return sum(a * b for a, b, _ in chosen), sum(a * v for a, _, v in chosen)

    def mix(self, problem: Problem) -> None:
        """Take the weights with the greatest bound that the parabola at the last mixture gives."""
        _, v = self.mixture()
        w = problem.primal_point(v)
        along = np.array([float(np.vdot(other, w)) for _, other in self.parts])
        bends = self._products / self._convexity
        self.weights = lowest(bends, self.conjugates + along - bends @ self.weights, self.weights)


def lowest(bends: np.ndarray, slopes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """argmin slopes.a + (1/2) a.bends a over a >= 0, sum a = 1, by exact steps on pairs of entries from `weights`."""
    a, g = weights.copy(), slopes + bends @ weights
    for _ in range(STEPS):
        up, down = int(np.argmin(g)), int(np.argmax(np.where(a > 0.0, g, -np.inf)))
        fall, bend = g[down] - g[up], bends[up, up] - 2.0 * bends[up, down] + bends[down, down]
        if not fall > CLOSED * (abs(g[up]) + abs(g[down])):
            break
        t = min(a[down], fall / bend) if bend > 0.0 else a[down]
        a[up], a[down] = a[up] + t, a[down] - t
        g += t * (bends[:, up] - bends[:, down])
    return a
