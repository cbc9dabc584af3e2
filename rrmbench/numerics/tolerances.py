"""Tolerances that several components share, and how long sums are made."""

import sys

# how far rounding may carry a dual variable out of the domain of phi*, or a model out of that of psi, relative to the
# bound
DOMAIN_ROUNDING = 1e-12

# how far the rounding of sums over the samples may part two values of P, of D or of a model of P that are the same,
# relative to the value
SUM_ROUNDING = 1e-14

# what a sum may be off by, relative to the sum of the magnitudes of its terms
TERMS_ROUNDING = 4.0 * sys.float_info.epsilon

# the terms of one partial sum, which keeps the rounding errors of a long sum small
PARTIAL_SUM = 1024
