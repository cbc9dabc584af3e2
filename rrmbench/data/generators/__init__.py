"""Functions that make data sets, one file each: keyword parameters to (X, y), see docs/data.md."""

import importlib
import pkgutil

for _module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_module.name}")
