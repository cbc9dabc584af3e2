"""Compiled kernels and the numerical methods beneath losses, regularizers and solvers."""
