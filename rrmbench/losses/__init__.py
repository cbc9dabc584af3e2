"""Losses phi(z; y), one file for each family.

A loss is a NamedTuple of floats with methods that are written once and used by every solver, and two fields:
`conjugate_convexity`, the strong convexity of phi* (phi is 1/conjugate_convexity-smooth; 0 if it is not smooth), and
`lipschitz`, the Lipschitz constant of phi (inf if there is none). A name of the YAML file is a function that returns
the NamedTuple, or a pair (NamedTuple, mu) for a smoothed loss. The class attribute `outputs` says what z is.

"scalar", where it is not given: one number per sample, three scalar methods

    value(z, y)             phi(z)
    conjugate(b, y)         phi*(b), +inf outside its domain
    dual_point(z, y, mu)    argmax_b  b z - phi*(b) - (mu/2) b^2,   for every mu > -conjugate_convexity

With `needs={"binary"}` y is -1 or 1; with {"positive"} or {"nonnegative"} other labels are refused.

"vector": k numbers per sample, z and b rows (k,), y a class index (`needs={"classes"}`) or a row of targets
(`needs={"targets"}`); compiled kernels call

    value_row(z, y)                   phi(z)
    conjugate_row(b, y)               phi*(b)
    penalty_row(b, y)                 what mu/2 multiplies: ||b||^2, or that of a linear map of b
    dual_point_row(z, y, mu, q, b)    writes to b the argmax of  b.z - phi*(b) - (mu/2) penalty(b) - (q/2) ||b||^2
    slopes_row(b, y, mu, s)           writes to s (k,) that for which that b, for q = 0, has the slopes
                                      diag(s) - s s^T / sum(s) in z; without it Newton's method takes differences,
                                      which cost evaluations
    value_rows(z, y, values)          phi of several samples, z (m, k), and
    dual_point_rows(z, y, b)          their b for mu = q = 0: what is faster for several at once than one by one; may be
                                      left out
    spread(k)                         for k outputs, ||A||^2 of the map A from z to where mu penalizes; 1 for ||b||^2
    dual_radius                       the greatest ||b||; where it is left out, its bound lipschitz sqrt(spread(k))
    balanced(b, y)                    of all samples: b (n, k) scaled down within the domain until its columns sum to
                                      0; only where scaling single entries down leaves the domain, see
                                      `problem.samples.balanced`

"whole": not a sum over samples; methods on the arrays of all samples, for Phi(z), which stands for (1/n) sum phi(z_i).
mu multiplies d2(b) >= 0: ||b||^2/(2n), or an entropy of b in a loss with `conjugate_prox = False`, whose conjugate has
no Euclidean proximal step, or with `entropic = True`, which has one; `conjugate_convexity` is that of Phi* with respect
to d2

    shape(X, y)             the shape of z and b
    value(z, y)             Phi(z)
    smooth_value(z, y, mu)  max_b  b.z/n - Phi*(b) - mu d2(b) for mu > 0; may be left out
    plain_terms(z, y, mu)   the terms whose sum it is, without compiled kernels: of a loss whose `value` calls them
    conjugate(b, y)         Phi*(b), or a bound of it from above that is exact at dual points
    d2(b, y)                the prox-function, likewise
    dual_point(z, y, mu)    argmax_b  b.z/n - Phi*(b) - mu d2(b); of an entropic loss, dual_point(z, y, mu, q) subtracts
                            (q/(2n)) ||b||^2 too
    diameter(X, y)          max d2; lipschitz^2/2 where it is left out
    dual_squares(X, y)      max ||b||^2, D_2 of Pdprox; n dual_radius^2 where it is left out
    S(X, y)                 Phi^mu(X w) is S/(conjugate_convexity + mu)-smooth in w; the mean of X.sqnorms without it
    S1(X, y)                the same where the model is measured in ||w||_1
    operator(X, y)          the data operator that the loss needs, made of that of the data, with an attribute `of_loss`
    balanced(b, y)          b within the domain, with entries that sum to 0; where scaling single ones down leaves it
    necessary(b, y)         where conjugate or d2 are bounds that b itself gives: what is not true of b in words or None
    unproven                what of b that leaves open, in words: `rrmbench verify` says so
    predictor(b)            the model that predicts labels, where w does not: `weighs_samples = True`

With `needs={"sequences"}` y is (N, 2), the class and the number of the sequence of every position: see `chains`.

For mu = 0 (and q = 0) at a kink, `dual_point` is the subgradient of least norm; of losses on labellings (`f1`, `m3n`)
it is any subgradient. A loss whose outputs are not on the scale of its labels has `predict(z)`, the labels that an
array of outputs stands for. A piecewise linear scalar loss that linear programs shall take has `kinks(y)`: the z where
phi(z; y_i) bends, (n, K) for the array y, in increasing order in each row. Any other, on k outputs per sample or on
whole arrays, has `parts(y, k)`: `rrmbench.numerics.pieces.Parts`.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
