"""Models of P in some coordinates or blocks of w, which solvers of several kinds minimize in their steps."""
