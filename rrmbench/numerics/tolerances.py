"""Tolerances that several components share."""

DOMAIN_ROUNDING = 1e-12  # how far rounding may carry a dual variable out of the domain of phi*, relative to its bound
