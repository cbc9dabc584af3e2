"""Tolerances that several components share."""

# how far rounding may carry a dual variable out of the domain of phi*, or a model out of that of psi, relative to the
# bound
DOMAIN_ROUNDING = 1e-12
