"""P, D and the maps between w and b, of a problem of any smoothing and any added square.

    P(w) = (1/n) sum_i phi^mu(z_i) + Psi(w),    z = X w
    D(b) = -(1/n) sum_i (phi^mu)*(b_i) - Psi*(v),    v = -(1/n) X^T b
    Psi(w) = psi(w) + (l2/2) ||w||^2 + (kappa/2) ||w - center||^2 + offset
    phi^mu(z) = max_b  b z - phi*(b) - (mu/2) b^2

so P(w) - P(w*) <= P(w) - D(b) for every w and b. With a free bias, psi and l2 leave out the last entry of w (of a
matrix, the last row), and D is finite only where its v vanishes. A minimized bias beta is in no model: the mean of
phi^mu(z_i) becomes min_beta (1/n) sum phi^mu(z_i + beta), and D is finite only where sum b_i = 0.
"""

import numpy as np

from rrmbench.problem.given import checked
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.sizes import Sizes

DUAL_ROUNDING = 1e-13  # of an entry of v, relative to the magnitudes of its terms


class Objectives(Sizes):
    """P and D as functions of w and b, with the steps and points that solvers need of them."""

    center: np.ndarray | None
    offset: float

    # the primal

    def start(self, given: Iterate | None = None) -> np.ndarray:
        """Where solvers start, a new array: w of the Iterate `given`, else 0 projected on the domain of Psi."""
        return self.prox(np.zeros(self.shape), 0.0) if given is None else given.w.copy()

    def start_dual(self, given: Iterate | None = None) -> np.ndarray:
        """Where solvers start that keep a dual variable, a new array: b of the Iterate `given`, or 0."""
        return np.zeros(self.output_shape) if given is None or given.b is None else given.b.copy()

    def outputs(self, w: np.ndarray) -> np.ndarray:
        """z = X w, a new array; for w = 0 there is no product."""
        return self.X.forward(w) if w.any() else np.zeros(self.output_shape)

    def primal(self, w: np.ndarray, z: np.ndarray | None = None) -> float:
        """P(w); pass z = X w where it is known. Raises RrmbenchError for a w or z of another shape."""
        w = checked("w", w, self.shape)
        z = None if z is None else checked("z", z, self.output_shape)
        return self.mean_loss(self.outputs(w) if z is None else z) + self.Psi(w)

    def mean_loss(self, z: np.ndarray) -> float:
        """(1/n) sum phi^mu(z_i)."""
        return self.losses.mean_loss(self.mu, z)

    def loss_dual(self, z: np.ndarray, mu: float | None = None) -> np.ndarray:
        """The b of all samples that attain phi^mu(z_i), so the derivatives of the smoothed losses; shaped like z."""
        return self.losses.dual_point(self.mu if mu is None else mu, z)

    def beta(self, z: np.ndarray) -> float:
        """The bias that minimizes (1/n) sum phi^mu(z_i + beta), of many the middle; of a problem that minimizes one."""
        return self.losses.beta(self.mu, z)

    def loss_prox(self, u: np.ndarray, t: float) -> np.ndarray:
        """argmin_b  t sum (phi^mu)*(b_i) + ||b - u||^2 / 2, for t > 0; shaped like z."""
        return self.losses.dual_point(self.mu, u / t, 1.0 / t)

    def _body(self, w: np.ndarray) -> np.ndarray:
        """The part of w (a view) that psi and l2 see."""
        return w[:-1] if self.free_bias else w

    def psi(self, w: np.ndarray) -> float:
        """psi(w), the part of Psi that is not quadratic."""
        return self.regularization.value(self._body(w))

    def Psi(self, w: np.ndarray) -> float:
        """psi(w) + (l2/2) ||w||^2 + (kappa/2) ||w - center||^2 + offset."""
        return self.psi(w) + self._quadratic(w)

    def _quadratic(self, w: np.ndarray) -> float:
        value = self.offset
        if self.l2 > 0.0:  # 0 times a square that overflows is NaN
            value += _half_square(self.l2, self._body(w))
        if self.kappa > 0.0:
            value += _half_square(self.kappa, w if self.center is None else w - self.center)
        return value

    def prox(self, x: np.ndarray, t: float) -> np.ndarray:
        """argmin_u  t Psi(u) + ||u - x||^2 / 2, a new array."""
        if self.kappa > 0.0 and self.center is not None:
            x = x + (t * self.kappa) * self.center
        scale = 1.0 + t * (self.l2 + self.kappa)
        w = self._psi_prox(x / scale if scale != 1.0 else x, t / scale)
        if self.free_bias:
            w[-1] = x[-1] / (1.0 + t * self.kappa)
        return w

    def _psi_prox(self, x: np.ndarray, t: float) -> np.ndarray:
        """The prox of t psi; what a free bias becomes is left to the caller."""
        if not self.free_bias:
            return self.regularization.prox(x, t)
        w = np.empty(x.shape)
        w[:-1] = self.regularization.prox(x[:-1], t)
        return w

    def radius(self, w: np.ndarray, z: np.ndarray) -> float:
        """r >= ||w*||, as psi(w*) is at most P(w) less the least value of the losses; inf where psi bounds no w.

        z = X w; w is in the domain of psi.
        """
        if self.free_bias:
            return np.inf
        least = self.offset - self.mean_conjugate(np.zeros(self.output_shape))
        return self.regularization.radius(self.primal(w, z) - least, self.shape)

    def reach(self, w0: np.ndarray) -> float:
        """A bound of ||w* - w0|| by `radius` and ||w0||; inf where psi bounds no w. A product for w0 != 0."""
        w = self.prox(w0, 0.0)
        return self.radius(w, self.outputs(w)) + float(np.linalg.norm(w0))

    # the dual

    def mean_conjugate(self, b: np.ndarray) -> float:
        """(1/n) sum (phi^mu)*(b_i)."""
        return self.losses.mean_conjugate(self.mu, b)

    def v(self, b: np.ndarray) -> np.ndarray:
        """-(1/n) X^T b."""
        return self.X.adjoint(b) / -self.n

    def center_term(self) -> np.ndarray:
        """kappa center, what the centre subtracts from the gradient of (kappa/2) ||w||^2; an array shaped like w."""
        if self.kappa == 0.0 or self.center is None:
            return np.zeros(self.shape)
        return self.kappa * self.center

    def shift(self, c: float = 0.0) -> np.ndarray:
        """kappa center / (l2 + kappa + c), what the centre adds in the map from the dual to the primal; an array."""
        if self.kappa == 0.0 or self.center is None:
            return np.zeros(self.shape)
        return (self.kappa / (self.l2 + self.kappa + c)) * self.center

    def primal_point(self, v: np.ndarray, c: float = 0.0) -> np.ndarray:
        """argmin_w  Psi(w) + (c/2) ||w||^2 - v.w, for c = 0 grad Psi*(v); a bias that nothing bounds is 0.

        prox_{psi/s}((v + kappa center)/s) where s = l2 + kappa + c > 0, else what psi knows.
        """
        s = self.l2 + self.kappa + c
        if s == 0.0:
            return self.regularization.conjugate_point(v)
        w = self._psi_prox(v / s + self.shift(c), 1.0 / s)
        if self.free_bias:
            center, pull = 0.0 if self.center is None else self.center[-1], self.kappa + c
            w[-1] = v[-1] / pull + (self.kappa / pull) * center if pull > 0.0 else 0.0
        return w

    def conjugate_of_Psi(self, v: np.ndarray) -> float:
        """Psi*(v), of a problem without a free bias."""
        if self.l2 + self.kappa == 0.0:
            return self.regularization.conjugate(v) - self.offset
        w = self.primal_point(v)
        return float(np.vdot(v, w)) - self.Psi(w)

    def certificate(self, b: np.ndarray) -> tuple[float, np.ndarray]:
        """Return (D(b'), b') with b' = b scaled into the domain of D where Psi* is an indicator.

        D = -inf where no scaling helps. Without strong convexity a norm's conjugate is 0 on its dual ball and infinite
        elsewhere. Where psi* is finite for v_j <= 0 alone, an entry of v within 1e-13 of its terms is 0: at the optimum
        many are, and no scaling mends what rounding did. With a free or a minimized bias, b is scaled down until its
        columns sum to 0.

        Raises RrmbenchError for a b of another shape.
        """
        b = checked("b", b, self.output_shape)
        if self.minimized_bias or (self.free_bias and self.kappa == 0.0):
            b = self.losses.balanced(b)
        return self.certificate_at(self.v(b), b)

    def certificate_at(self, v: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        """As `certificate`, with v = -(1/n) X^T b known, 0 for a free bias; half a pass where psi*(v) is infinite."""
        dual, scaled = self.dual_at(v, b)
        if dual == -np.inf and not self.is_unregularized and hasattr(self.X, "magnitudes"):
            edge = np.abs(v) <= DUAL_ROUNDING * self.X.magnitudes(b) / self.n
            return self.dual_at(np.where(edge, 0.0, v), b)
        return dual, scaled

    def dual_at(self, v: np.ndarray, b: np.ndarray) -> tuple[float, np.ndarray]:
        """As `certificate_at`, without a product: where psi*(v) is infinite by rounding alone, so is -D."""
        if self.l2 + self.kappa > 0.0:
            return -self.conjugate_of_Psi(v) - self.mean_conjugate(b), b
        t, conjugate = self.regularization.scaled_conjugate(self._body(v))
        b = t * b if t < 1.0 else b
        return self.offset - conjugate - self.mean_conjugate(b), b

    @property
    def is_unregularized(self) -> bool:
        """Whether Psi is a constant: Psi* is infinite but at 0, so that almost no b gives a bound."""
        return "Zero" in self.traits and self.l2 + self.kappa == 0.0

    def dual_value(self, b: np.ndarray) -> float:
        """D(b), b scaled into the domain first; a lower bound of P for every b."""
        return self.certificate(b)[0]

    def gap(self, w: np.ndarray, b: np.ndarray) -> float:
        """P(w) - D(b) >= P(w) - P(w*). Raises RrmbenchError for a w or b of another shape."""
        return self.primal(w) - self.dual_value(b)

    def consistent_gap(self, z: np.ndarray, b: np.ndarray) -> float:
        """P(w) - D(b) for w = primal_point(v(b)) and z = X w: (1/n) sum phi(z_i) + phi*(b_i) - b_i z_i.

        By Fenchel and Young, Psi(w) + Psi*(v) = v.w = -(1/n) b.z, so one product with X is enough.
        """
        return self.mean_loss(z) + self.mean_conjugate(b) - float(np.vdot(b, z)) / self.n


def _half_square(c: float, x: np.ndarray) -> float:
    """(c/2) ||x||^2 for c > 0, which may be a float where ||x||^2 is none."""
    square = float(np.vdot(x, x))
    if square < np.inf:
        return 0.5 * c * square
    with np.errstate(over="ignore"):
        x = np.sqrt(c) * x
    return 0.5 * float(np.vdot(x, x))
