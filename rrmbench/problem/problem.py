"""The regularized empirical risk problem: its two objectives, its constants, and its two transformations.

    P(w) = (1/n) sum_i phi^mu(z_i) + Psi(w),    z = X w
    D(b) = -(1/n) sum_i (phi^mu)*(b_i) - Psi*(v),    v = -(1/n) X^T b
    Psi(w) = psi(w) + (l2/2) ||w||^2 + (kappa/2) ||w - center||^2 + offset
    phi^mu(z) = max_b  b z - phi*(b) - (mu/2) b^2

so P(w) - P(w*) <= P(w) - D(b) for every w and b. Smoothing (mu) and added strong convexity (kappa, center) are
numbers, so that a solver sees a Problem whatever a reduction did to it. With a free bias, psi and l2 leave out the
last entry of w (of a matrix, the last row), and D is finite only where its v vanishes. A minimized bias beta is in no
model: the mean of phi^mu(z_i) becomes min_beta (1/n) sum phi^mu(z_i + beta), and D is finite only where sum b_i = 0.
"""

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from rrmbench.building import adopted, needs_of
from rrmbench.errors import RrmbenchError
from rrmbench.former_names import with_former_names
from rrmbench.plugin_files import load_edited_plugins_of
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.counted import Audited, Counted
from rrmbench.problem.given import (
    check_biases,
    check_component,
    check_numbers,
    check_strength,
    check_weights,
    checked,
    copied,
    frozen,
    given_labels,
    is_frozen,
    numbers,
)
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR, check_order, names_of
from rrmbench.problem.samples import is_entropic, over_samples
from rrmbench.problem.shifted import Shifted
from rrmbench.problem.traits import build_loss, build_regularizer, traits_of
from rrmbench.registry import from_mapping

DUAL_ROUNDING = 1e-13  # of an entry of v, relative to the magnitudes of its terms
LEAST_SQUARE = 1e-305  # of a row, as the greatest: the inverses of smaller ones are infinite


@with_former_names("problem")
@dataclass(frozen=True, eq=False)
class Problem:
    """min over w of (1/n) sum phi^mu(x_i.w; y_i) + psi(w) + (l2/2) ||w||^2 + (kappa/2) ||w - center||^2 + offset.

    Parameters
    ----------
    X : data operator, or a dense or scipy sparse matrix (n, d)
    y : (n,) labels, which are brought to what the loss needs as in a YAML file: the two labels of a binary loss to -1
        and +1, those of k classes to 0 .. k-1; (n, k) targets for vector losses. Classes may be texts, `classes` keeps
        them. Beside a data operator a read-only array of float64 is taken as it is: the labels of another Problem
    loss, regularizer : components, or a name or mapping such as {"name": "l1", "strength": 1e-3}
    l2, mu, kappa : floats >= 0
    center : of the shape of w, or None for the origin
    weights : omega (n,) > 0 with the mean 1, for scalar losses: sample i is smoothed by mu omega_i; None for 1
    free_bias : whether the last entry (row) of w is in neither psi nor l2; the last column of X is then constant
    minimized_bias : whether outputs are z_i + beta with the best beta for each w (losses of one output per sample)

    Raises RrmbenchError for what is none of this, where the squared norms of the samples overflow or all underflow, on
    which every method's steps depend, and for a minimized bias beside a free one or of a loss that is not on single
    outputs.
    """

    X: Any
    y: np.ndarray
    loss: Any
    regularizer: Any = "none"
    l2: float = 0.0
    mu: float = 0.0
    kappa: float = 0.0
    center: np.ndarray | None = None
    offset: float = 0.0
    free_bias: bool = False
    weights: np.ndarray | None = None
    minimized_bias: bool = False
    classes: Any = field(init=False, default=None)  # the labels as they were given, of which y has the numbers
    columns: Any = field(init=False, default=None)  # the names of those of X, if it was a frame
    losses: Any = field(init=False, repr=False)  # the loss over all samples, see `rrmbench.problem.samples`
    regularization: Any = field(init=False, repr=False)  # the regularizer on whole models, see `coordinates`

    def __post_init__(self) -> None:
        check_numbers(self)
        made = self._build()
        self._check_sizes(made)
        check_biases(self, self._outputs(), made)
        over = Shifted(self.loss, self.X, self.y) if self.minimized_bias else None
        self._put("losses", over or over_samples(self.loss, self.X, self.y, self.weights))
        self._put("regularization", over_coordinates(self.regularizer))
        if not np.isfinite(self.X.sqnorms.sum()):
            raise RrmbenchError(
                f"the squared norms of the rows of X overflow, their greatest is {self.X.sqnorms.max():g}: scale the "
                "data, so that entries are below 1e150"
            )
        if 0.0 < (greatest := self.X.sqnorms.max(initial=0.0)) < LEAST_SQUARE:
            raise RrmbenchError(
                f"the squared norms of the rows of X underflow, their greatest is {greatest:g}: scale the data, so "
                "that entries are above 1e-152"
            )
        self.regularization.check(self._body(np.broadcast_to(0.0, self.shape)).shape)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of another process, say, in which other classes have the names of these components."""
        self.__dict__.update(state)
        for kind in "loss", "regularizer":
            adopted(kind, getattr(self, kind))

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _build(self) -> CSR | None:
        """Make components of names, numbers of labels, an operator of a matrix; return the operator if it is new."""
        for kind in "loss", "regularizer":
            given = getattr(self, kind)
            check_component(kind, given)
            load_edited_plugins_of(given)
        named = self.loss
        for kind, build, strength in (("loss", build_loss, "mu"), ("regularizer", build_regularizer, "l2")):
            if isinstance(given := getattr(self, kind), str | dict):
                component, more = build(given)
                self._put(kind, component)
                self._put(strength, getattr(self, strength) + more)
            else:
                adopted(kind, given)
        if not (hasattr(self.X, "forward") and is_frozen(self.y)):
            check_order(self.X, self.y)
            by_name = isinstance(named, str | dict)
            needs = from_mapping("loss", named)[0].needs if by_name else needs_of("loss", type(named))
            y, classes = given_labels(self.y, needs)
            self._put("y", y)
            self._put("classes", classes)
        made = None if hasattr(self.X, "forward") else CSR.of(self.X, self._outputs())
        if made is not None:
            self._put("columns", names_of(self.X))
            self._put("X", made)
        if hasattr(self.loss, "operator") and not hasattr(self.X, "of_loss"):
            self._put("X", self.loss.operator(self.X, self.y))
        return made

    def _check_sizes(self, made: CSR | None) -> None:
        if self.y.shape[0] != (labels := getattr(self.X, "labels", self.n)):
            raise RrmbenchError(f"y has {self.y.shape[0]} entries, X has {labels} rows")
        if self.center is not None and (made is not None or not is_frozen(self.center)):  # a person's own array
            self._put("center", copied("center", self.center))
            if not np.isfinite(self.center).all():
                raise RrmbenchError("center: found entries that are not finite numbers")
        if self.center is not None and self.center.shape != self.shape:
            raise RrmbenchError(f"center: found the shape {self.center.shape}, needed is that of w, {self.shape}")
        if self.weights is not None:
            if made is not None or not is_frozen(self.weights):
                self._put("weights", copied("weights", self.weights))
            check_weights(self.weights, self.n)

    def __repr__(self) -> str:
        loss, psi = type(self.loss).__name__, type(self.regularizer).__name__
        sizes = {"n": self.n, "w": self.shape}
        sizes |= {key: getattr(self, key) for key in ("l2", "mu", "kappa") if getattr(self, key)}
        sizes |= {key: True for key in ("free_bias", "minimized_bias") if getattr(self, key)}
        return f"Problem({loss}, {psi}, {', '.join(f'{key}={value}' for key, value in sizes.items())})"

    def _outputs(self) -> int | None:
        """k for a loss on vectors, whose labels are classes 0 .. k-1 or rows of k targets."""
        if getattr(self.loss, "outputs", "scalar") != "vector":
            return None
        return int(np.max(self.y)) + 1 if np.ndim(self.y) == 1 else np.shape(self.y)[1]

    # sizes, constants, traits

    @property
    def n(self) -> int:
        """The number of samples."""
        return self.X.shape[0]

    @property
    def rank(self) -> int:
        """A bound of the rank of X, so of L over the exact constant."""
        return getattr(self.X, "rank", self.n)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the model w."""
        return self.X.shape[1:]

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of z = X w and of b."""
        return self.losses.shape

    @property
    def strong_convexity(self) -> float:
        """s = l2 + kappa, and what psi has beyond; kappa alone with a free bias."""
        return self.kappa + (0.0 if self.free_bias else self.l2 + self.regularization.convexity)

    @property
    def smoothness(self) -> float:
        """The smoothness of one loss phi^mu as a function of z: 1/(conjugate_convexity + mu) for scalar z.

        It is inf where the loss is not smooth.
        """
        curvature = self.loss.conjugate_convexity + self.mu / self.losses.spread
        return 1.0 / curvature if curvature > 0.0 else np.inf

    @property
    def lipschitz(self) -> float:
        """G, so that smoothing by mu lowers a loss by at most mu G^2/2: for scalar z its Lipschitz constant."""
        return getattr(self.loss, "lipschitz", float(np.sqrt(2.0 * self.diameter)))

    @property
    def diameter(self) -> float:
        """D, so that smoothing by mu lowers P by at most mu D: max d2(b), or G^2/2 for a sum over samples."""
        return self.losses.diameter

    @property
    def has_entropic_losses(self) -> bool:
        """Whether mu multiplies an entropy of b in place of its square."""
        return is_entropic(self.loss)

    @property
    def dual_radius(self) -> float:
        """A bound of every ||b_i|| but a lift, so the Lipschitz constant of one loss as a function of z."""
        return self.losses.dual_radius

    @property
    def R(self) -> float:
        """max_i ||x_i||."""
        return float(np.sqrt(self.X.sqnorms.max(initial=0.0)))

    @property
    def dual_squares(self) -> float:
        """A bound of ||b||^2 over the domain of D, without a lift, D_2 of Pdprox; inf if there is none."""
        if hasattr(self.loss, "dual_squares"):
            return self.loss.dual_squares(self.X, self.y)
        return 2.0 * self.n * self.diameter if self.minimized_bias else self.n * self.dual_radius**2

    @property
    def L(self) -> float:
        """A bound of the smoothness of the mean loss in w: smoothness * S, see `problem.samples`; S = 1 for X = 0."""
        return self.smoothness * (self.losses.S or 1.0)

    @cached_property
    def traits(self) -> frozenset[str]:
        """What this problem has, as in `rrmbench.problem.traits.traits`."""
        tests = {
            "rows": hasattr(self.X, "rows") and not (self.free_bias or self.minimized_bias) and self.weights is None,
            "tasks": len(self.shape) > len(self.output_shape),
            "free_bias": self.free_bias,
            "minimized_bias": self.minimized_bias,
        }
        data = frozenset(name for name, holds in tests.items() if holds)
        return traits_of(self.loss, self.mu, self.regularizer, self.l2, self.kappa, data)

    def start(self, given: Iterate | None = None) -> np.ndarray:
        """Where solvers start, a new array: w of the Iterate `given`, else 0 projected on the domain of Psi."""
        return self.prox(np.zeros(self.shape), 0.0) if given is None else given.w.copy()

    def start_dual(self, given: Iterate | None = None) -> np.ndarray:
        """Where solvers start that keep a dual variable, a new array: b of the Iterate `given`, or 0."""
        return np.zeros(self.output_shape) if given is None or given.b is None else given.b.copy()

    def outputs(self, w: np.ndarray) -> np.ndarray:
        """z = X w, a new array; for w = 0 there is no product."""
        return self.X.forward(w) if w.any() else np.zeros(self.output_shape)

    def counted(self) -> "Problem":
        """This problem with a view of X that counts: `X.passes` are the products made through it so far."""
        view = copy(self)
        object.__setattr__(view, "X", Counted(self.X))
        return view

    # other problems on the same data

    def apart(self) -> "Problem":
        """The problem for a solver: what it changes of its attributes or components, this one does not see.

        Nor what it sets anew of the operator; the arrays of the data, which are read-only, are shared. Its `X.passes`
        are those of the products with what is not 0.
        """
        try:
            X = copy(self.X)
        except RecursionError:  # an operator that passes on what it has not to another
            X = self.X
        return self._with(X=Audited(X), loss=_copy_of(self.loss), regularizer=_copy_of(self.regularizer))

    def on(self, samples: np.ndarray) -> "Problem":
        """The problem on some of the samples, ascending numbers (m,); of one with `rows` and no weights of samples."""
        return self._with(X=self.X.part(samples), y=frozen(self.y[samples]))

    def _with(self, **changes: Any) -> "Problem":
        """The problem with other fields, and the same classes and names of columns."""
        other = replace(self, **changes)
        other._put("classes", self.classes)
        other._put("columns", self.columns)
        return other

    def smoothed(self, mu: float, weights: np.ndarray | None = None) -> "Problem":
        """The problem with every loss smoothed by `mu` more, or by mu omega_i; P falls by at most mu G^2 / 2."""
        check_strength("mu", mu)
        total = self.mu + mu
        if (weights is not None or self.weights is not None) and total > 0.0:
            given = None if weights is None else numbers("weights", weights)
            before, more = (np.ones(self.n) if omega is None else omega for omega in (self.weights, given))
            return self._with(mu=total, weights=(self.mu * before + mu * more) / total)
        return self._with(mu=total)

    def regularized(self, kappa: float, center: np.ndarray | None = None) -> "Problem":
        """The problem plus (kappa/2) ||w - center||^2; a copy of the centre is kept."""
        check_strength("kappa", kappa)
        if kappa == 0.0:
            return self
        if self.kappa == 0.0:
            return self._with(kappa=kappa, center=None if center is None else copied("center", center))
        here = np.zeros(self.shape) if self.center is None else self.center
        there = np.zeros(self.shape) if center is None else numbers("center", center)
        total = self.kappa + kappa
        apart = np.sqrt(self.kappa * (kappa / total)) * (here - there)  # of a size whose square is that of P
        return self._with(
            kappa=total,
            center=frozen((self.kappa * here + kappa * there) / total),
            offset=self.offset + 0.5 * float(np.sum(apart**2)),
        )

    def dualized(self) -> "Problem":
        """The dual as a problem of its own, of the model b: see `rrmbench.problem.dual`. Twice, it is this problem."""
        from rrmbench.problem.dual import dual_of

        return dual_of(self)

    # the primal

    def primal(self, w: np.ndarray, z: np.ndarray | None = None) -> float:
        """P(w); pass z = X w where it is known. Raises RrmbenchError for a w or z of another shape."""
        w = checked("w", w, self.shape)
        z = None if z is None else checked("z", z, self.output_shape)
        return self.mean_loss(self.X.forward(w) if z is None else z) + self.Psi(w)

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
            body = self._body(w)
            value += 0.5 * self.l2 * float(np.vdot(body, body))
        if self.kappa > 0.0:
            away = w if self.center is None else w - self.center
            value += 0.5 * self.kappa * float(np.vdot(away, away))
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

    def prox_gradient(self, w: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The prox-gradient map (w - prox(w - g/L, 1/L)) L with g the gradient of the losses at z = X w.

        It vanishes at the optimum, and is the gradient itself where Psi = 0. Where the losses are not smooth, g is a
        subgradient, L that of the losses smoothed by 1, and the map need not vanish.
        """
        return self.prox_gradient_from(w, self.X.adjoint(self.loss_dual(z)) / self.n)

    def prox_gradient_from(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """As `prox_gradient`, with g = (1/n) X^T phi'(X w) known."""
        L = self.L if np.isfinite(self.L) else self.smoothed(1.0).L
        return (w - self.prox(w - g / L, 1.0 / L)) * L

    def radius(self, w: np.ndarray, z: np.ndarray) -> float:
        """r >= ||w*||, as psi(w*) is at most P(w) less the least value of the losses; inf where psi bounds no w.

        z = X w; w is in the domain of psi.
        """
        if self.free_bias:
            return np.inf
        least = self.offset - self.mean_conjugate(np.zeros(self.output_shape))
        return self.regularization.radius(self.primal(w, z) - least, self.shape)

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


def _copy_of(component: Any) -> Any:
    """A copy of a component with arrays of its own; the component itself where it cannot be copied."""
    try:
        return deepcopy(component)
    except Exception:
        return component
