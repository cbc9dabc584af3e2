"""Primal-dual methods, for which nothing needs to be smooth."""
