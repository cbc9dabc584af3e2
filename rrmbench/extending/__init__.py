"""Extending: templates of components, and the checks of what each kind of component promises.

`checks(path)` are those of all components that a file registers, to be called one by one in a test of one's own.
"""

from rrmbench.extending.contract import checks
from rrmbench.extending.verdicts import Broken, Check, Doubt

__all__ = ["Broken", "Check", "Doubt", "checks"]
