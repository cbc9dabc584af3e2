"""Imported once by the fork server, so that every child starts with numba and the components in memory."""

import gc

from rrmbench.bench.children import restore_import_path

restore_import_path()

from rrmbench import fingerprint, syntax  # noqa: E402

IMPORTED = fingerprint.stamps(syntax.package_files())  # before any of them is: what is in memory here

import numpy as np  # noqa: E402

from rrmbench import registry  # noqa: E402
from rrmbench.bench import worker, yardstick  # noqa: E402, F401
from rrmbench.numerics.whole_arrays import is_finite  # noqa: E402
from rrmbench.problem.problem import Problem  # noqa: E402

registry.load()
is_finite(np.zeros(1))  # numba sets its registries up at the first call, 0.2 s that children then inherit
yardstick.matrix()
Problem(np.eye(1), [1.0], "squared", {"name": "l2", "strength": 1.0})  # pydantic and scipy.sparse are imported
gc.freeze()  # children look for cycles in what is theirs alone, which is a tenth of the time of compilation
