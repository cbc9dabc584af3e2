"""Outer loops: a solver that is run on a sequence of problems."""
