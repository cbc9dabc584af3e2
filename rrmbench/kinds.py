"""The kinds of components, and the parts of a run, by the keys of a configuration."""

KINDS = {"loss": "losses", "regularizer": "regularizers", "solver": "solvers", "reduction": "reductions"}
PROBLEM = ("dataset", "loss", "regularizer")  # what makes a problem
COMPONENTS = ("dataset", *KINDS)
PARTS = (*COMPONENTS, "seed", "stop", "trace")  # of a run
