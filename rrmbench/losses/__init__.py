"""Losses phi(z; y), one file each.

A loss is a NamedTuple of floats with three scalar methods, written once and used by every solver:

    value(z, y)        phi(z)
    conjugate(b, y)    phi*(b), +inf outside its domain
    dual(z, y, mu)     argmax_b  b z - phi*(b) - (mu/2) b^2,   for every mu > -convexity

and two fields: `convexity`, the strong convexity of phi* (phi is 1/convexity-smooth; 0 if it is not smooth), and
`lipschitz` (inf if phi is not Lipschitz). For mu = 0 at a kink `dual` is the subgradient of least norm. A name of the
YAML file is a function that returns the NamedTuple, or a pair (NamedTuple, mu) for a smoothed loss.

A loss that does not separate over samples or scalars (multiclass margins, F1, label sequences) has the same three
methods over whole arrays z, y and the attribute `separable = False`; `Problem` then calls them directly.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
