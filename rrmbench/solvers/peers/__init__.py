"""Other libraries as solvers, one file each, for comparison on the same clock and the same certificates.

A library is imported when its solver runs, not before: `pip install 'rrmbench[peers]'` has those beside scikit-learn.
Runs of a library that is not installed are skipped, with the reason.
"""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
