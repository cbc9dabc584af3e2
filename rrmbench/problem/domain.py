"""A regularizer restricted to a box or a ball: `domain: {box: [a, b]}` or `{ball: r}` of a regularizer in YAML."""

import math
from dataclasses import dataclass

import numpy as np

from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.problem.claims import fault_of_soft_threshold
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.regularizers.box import Box

ALLOWED = "allowed is {box: [a, b]} with numbers a <= b, or {ball: r} with a number r > 0"
SIZES = 1e-3, 0.1, 1.0, 10.0, 1e3  # of coordinates at which psi is looked at, since a box has its strength alone


def within(regularizer, domain):
    """psi plus the indicator of the domain {"box": [a, b]} (of every coordinate) or {"ball": r} (||w||_2 <= r)."""
    if not isinstance(domain, dict) or len(domain) != 1:
        raise RrmbenchError(f"regularizer.domain: found {shown(domain)}, {ALLOWED}")
    ((kind, bounds),) = domain.items()
    if kind == "box":
        return _in_box(regularizer, bounds)
    if kind == "ball":
        return _in_ball(regularizer, bounds)
    raise RrmbenchError(f"regularizer.domain: found {shown(domain)}, {ALLOWED}{nearest(kind, ['box', 'ball'])}")


def _in_box(psi, bounds):
    if not (isinstance(bounds, list | tuple) and len(bounds) == 2 and all(map(_is_number, bounds))):
        raise RrmbenchError(f"regularizer.domain.box: found {shown(bounds)}, {ALLOWED}")
    if not over_coordinates(psi).soft_threshold:
        raise RrmbenchError(
            f"regularizer.domain.box: found a regularizer of the kind {type(psi).__name__}, allowed are multiples of "
            "||w||_1, with bounds or without (none, l2, l1, elastic_net, box, nonneg)"
        )
    if fault := fault_of_soft_threshold(psi, (sign * size for size in SIZES for sign in (-1.0, 1.0))):
        raise RrmbenchError(f"regularizer.domain.box: {type(psi).__name__} {fault}")
    lower = max(float(bounds[0]), psi.prox(-math.inf, 0.0))  # psi may have bounds of its own
    upper = min(float(bounds[1]), psi.prox(math.inf, 0.0))
    if not lower <= upper or lower == math.inf or upper == -math.inf:
        raise RrmbenchError(f"regularizer.domain.box: found {shown(bounds)}, which leaves no w, {ALLOWED}")
    return Box(lower, upper, psi.strength)


def _in_ball(psi, r):
    if not (_is_number(r) and 0.0 < r < math.inf):
        raise RrmbenchError(f"regularizer.domain.ball: found {shown(r)}, {ALLOWED}")
    regularization = over_coordinates(psi)
    if not regularization.homogeneous:
        raise RrmbenchError(
            f"regularizer.domain.ball: found a regularizer of the kind {type(psi).__name__}, allowed are norms, nonneg "
            "and no regularizer but l2: psi(c w) = c psi(w) for c >= 0"
        )
    return InBall(regularization, float(r))


def _is_number(x):
    """Whether x is a float or an integer that has one, and not NaN."""
    if isinstance(x, bool) or not isinstance(x, int | float):
        return False
    try:
        return not math.isnan(x)
    except OverflowError:
        return False


@dataclass(frozen=True)
class InBall:
    """psi(w) for ||w||_2 <= r and +inf elsewhere, where psi(c w) = c psi(w) for c >= 0.

    prox: that of psi, then scaled into the ball [Yu 2013, Theorem 4].
    psi*(v) = max over ||w|| <= r of v.w - psi(w) = r ||prox of psi with step 1 at v||_2, finite everywhere.

    psi : as of `over_coordinates`
    """

    psi: object
    r: float
    coordinate_separable = False

    @property
    def isotropic(self):
        return self.psi.isotropic

    def value(self, w):
        if np.linalg.norm(w) > self.r * (1.0 + 1e-12):  # the prox ends on the sphere up to rounding
            return math.inf
        return self.psi.value(w)

    def conjugate(self, v):
        return self.r * float(np.linalg.norm(self.psi.prox(v, 1.0)))

    def prox(self, w, t):
        u = self.psi.prox(w, t)
        return u * min(1.0, self.r / max(np.linalg.norm(u), self.r))

    def dual_scaling(self, v):
        return 1.0

    def radius(self, value, shape):
        return min(self.r, self.psi.radius(value, shape))

    def check(self, shape):
        self.psi.check(shape)
