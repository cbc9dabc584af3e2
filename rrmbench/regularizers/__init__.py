"""Regularizers psi(w), one file each.

A regularizer is a NamedTuple of floats with three methods:

    value(w)        psi(w)
    conjugate(v)    psi*(v), +inf outside its domain
    prox(w, t)      argmin_u  t psi(u) + (u - w)^2 / 2

and `feasible(v) -> t` in [0, 1], the factor by which v (an array) has to be scaled so that psi* is finite
(1 if it is finite everywhere); where rounding could spoil the test, `conjugate` is not asked again after
scaling. The three methods are scalar, psi being a sum over coordinates. The quadratic (l2/2) ||w||^2 is a
number on the problem, not part of psi: a name of the YAML file is a function that returns the NamedTuple,
or a pair (NamedTuple, l2).

A regularizer strength |w|, on all numbers or on an interval, says so by `soft_threshold = True` and its field
`strength`: stochastic solvers then leave the coordinates that a sparse row does not touch to a closed form.
`prox(w, 0)` projects on the domain.

A regularizer that does not separate over coordinates (groups, rows, singular values) has the same methods
over whole arrays of the model's shape and the attribute `separable = False`; solvers that need single
coordinates then refuse it.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
