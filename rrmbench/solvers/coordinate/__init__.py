"""Coordinate descent on the primal: all coordinates in cyclic order, and working sets."""
