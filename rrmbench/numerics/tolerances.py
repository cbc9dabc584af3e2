"""Tolerances that several components share."""

# how far rounding may carry a dual variable out of the domain of phi*, or a model out of that of psi, relative to the
# bound
DOMAIN_ROUNDING = 1e-12

# how far the rounding of sums over the samples may part two values of P, of D or of a model of P that are the same,
# relative to the value
SUM_ROUNDING = 1e-14
