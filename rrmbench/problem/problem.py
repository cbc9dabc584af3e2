"""The regularized empirical risk problem: what it is made of, and the other problems on the same data.

`objectives` has P, D and what solvers compute with them, `sizes` the constants and traits. Smoothing (mu) and added
strong convexity (kappa, center) are numbers, so that a solver sees a Problem whatever a reduction did to it.
"""

from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rrmbench.building import adopted, check_form, needs_of_loss
from rrmbench.errors import RrmbenchError
from rrmbench.former_names import with_former_names
from rrmbench.plugin_files import load_edited_plugins_of
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.counted import Audited, Counted
from rrmbench.problem.given import (
    check_biases,
    check_component,
    check_numbers,
    check_squares,
    check_strength,
    check_weights,
    copied,
    frozen,
    given_labels,
    is_frozen,
    numbers,
)
from rrmbench.problem.objectives import Objectives
from rrmbench.problem.operators import CSR, check_order, names_of
from rrmbench.problem.samples import outputs_of, over_samples
from rrmbench.problem.shifted import Shifted
from rrmbench.problem.traits import build_loss, build_regularizer
from rrmbench.registry import from_mapping


@with_former_names("problem")
@dataclass(frozen=True, eq=False)
class Problem(Objectives):
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
        weights = self.weights if self.mu > 0.0 else None  # without smoothing they weigh nothing, and S is without them
        self._put("losses", over or over_samples(self.loss, self.X, self.y, weights))
        self._put("regularization", over_coordinates(self.regularizer))
        check_squares(self.X.sqnorms)
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
                check_form(adopted(kind, given), kind, kind)
        if not (hasattr(self.X, "forward") and is_frozen(self.y)):
            check_order(self.X, self.y)
            by_name = isinstance(named, str | dict)
            needs = from_mapping("loss", named)[0].needs if by_name else needs_of_loss(type(named))
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
        if outputs_of(self.loss) != "vector":
            return None
        return int(np.max(self.y)) + 1 if np.ndim(self.y) == 1 else np.shape(self.y)[1]

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

    def prox_gradient(self, w: np.ndarray, z: np.ndarray) -> np.ndarray:
        """The prox-gradient map (w - prox(w - g/L, 1/L)) (L + s) with g the gradient of the losses at z = X w.

        It vanishes at the optimum. The squares of Psi belong to its smooth part: the map is that of the step 1/(L + s)
        on the losses with the squares and of the prox of psi alone, so the gradient of P where psi = 0 and no bias is
        free. Where the losses are not smooth, g is a subgradient, L that of the losses smoothed by 1, and the map need
        not vanish.
        """
        return self.prox_gradient_from(w, self.X.adjoint(self.loss_dual(z)) / self.n)

    def prox_gradient_from(self, w: np.ndarray, g: np.ndarray) -> np.ndarray:
        """As `prox_gradient`, with g = (1/n) X^T phi'(X w) known."""
        L = self.L if np.isfinite(self.L) else self.smoothed(1.0).L
        return (w - self.prox(w - g / L, 1.0 / L)) * (L + self.strong_convexity)


def _copy_of(component: Any) -> Any:
    """A copy of a component with arrays of its own; the component itself where it cannot be copied."""
    try:
        return deepcopy(component)
    except Exception:
        return component
