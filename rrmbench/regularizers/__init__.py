"""Regularizers psi(w).

A regularizer has five methods:

    value(w)              psi(w)
    conjugate(v)          psi*(v), +inf outside its domain
    prox(w, t)            argmin_u  t psi(u) + ||u - w||^2 / 2; prox(w, 0) projects on the domain
    dual_scaling(v)       t in [0, 1], the factor by which v has to be scaled so that psi* is finite
    radius(value, shape)  the greatest ||w||_2 of a model of this shape with psi(w) <= value; inf if there is none

The quadratic (l2/2) ||w||^2 is a number on the problem, not part of psi: a name of the YAML file is a function that
returns the regularizer, or a pair (regularizer, l2).

`dual_scaling` gets arrays. It is 1 if psi* is finite everywhere, or if no scaling helps. Where it is less than 1, and
psi is homogeneous, psi* is 0 after scaling, and is not asked again. A dual norm must not be underestimated.

A sum over coordinates is a NamedTuple of floats whose `value`, `conjugate` and `prox` are scalar, so that compiled
kernels can call them. If it is a multiple of |w|, on all numbers or on an interval, it says so by `soft_threshold =
True` and its field `strength`: stochastic solvers then leave the coordinates that a sparse row does not touch to a
closed form, and it may be restricted to a box.

Any other (groups, rows, singular values) has the same methods on arrays of the model's shape and the attribute
`coordinate_separable = False`; solvers that need single coordinates refuse it. See `norms.Norm` for what norms have in
common. Two more things it may have: `check(shape)`, which raises RrmbenchError where the model's shape does not fit,
and `@regularizer(needs={"matrix"})` where only matrices do. One whose proximal step reads more numbers than w has says
so by `reads(shape)`, and evaluation spends fewer of them.

A regularizer on arrays that is strongly convex beyond its l2 says so by `convexity`, the constant in ||.||_2, and has
`conjugate_point(v)`, the gradient of psi*. With `entropy_step(g, A, c)`, the logarithms of the x that minimizes
A psi(x) + c d(x) - g.x for the relative entropy d(x) = sum x_j log(n x_j) of n entries, accelerated gradient methods
take steps in the entropy; `convexity` then holds in ||.||_1 too.

A polyhedral regularizer of either kind may have `conjugate_pieces(shape)`, psi* for linear programs:
`rrmbench.numerics.pieces.Pieces`. A sum of Euclidean norms may have `dual_balls(shape)`, for programs with cones: the
number of the block of each entry of v, row by row, and the radii (blocks,) of the balls in which psi* is 0. The square
of such a sum may have `growing_balls(shape)`, these two and c: psi*(v) = (c/2) t^2 for the least t that brings v into
the balls of t times these radii.

Attributes of both kinds: `isotropic = True` where psi depends on ||w||_2 only; `homogeneous = True` where psi(c w) =
c psi(w) for all c >= 0, as for norms, so that it may be restricted to a ball. `problem.domain.within` makes these
restrictions; `problem.coordinates.over_coordinates` has what is left out, and both kinds on whole models.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
