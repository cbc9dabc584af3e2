"""The configuration: YAML files to the list of runs, in two phases.

`read` needs no component and tells which plug-in files there are: machine code of kernels is kept by them, so that they
must be known before the components are imported. `resolve` imports the components and makes the runs, `select` keeps
those that `--only` asks for.
"""

from rrmbench.config.only import select
from rrmbench.config.plan import Plan, check_names, is_deterministic, resolve
from rrmbench.config.raw import Raw, read

__all__ = ["Plan", "Raw", "check_names", "is_deterministic", "read", "resolve", "select"]
