"""Benchmark first-order solvers on regularized empirical risk minimization, with certified duality gaps."""

from typing import TYPE_CHECKING, Any

from rrmbench import kernel_folder
from rrmbench.version import __version__ as __version__

if TYPE_CHECKING:
    from rrmbench.errors import RrmbenchError
    from rrmbench.notebook import plot, run, solve
    from rrmbench.problem.iterate import Iterate
    from rrmbench.problem.problem import Problem
    from rrmbench.registry import dataset, loss, reduction, regularizer, solver
    from rrmbench.report.tidy import load_results

_HOMES = {
    "solver": "registry",
    "reduction": "registry",
    "loss": "registry",
    "regularizer": "registry",
    "dataset": "registry",
    "Iterate": "problem.iterate",
    "solve": "notebook",
    "run": "notebook",
    "plot": "notebook",
    "Problem": "problem.problem",
    "load_results": "report.tidy",
    "RrmbenchError": "errors",
}
__all__ = [
    "Iterate",
    "Problem",
    "RrmbenchError",
    "dataset",
    "load_results",
    "loss",
    "plot",
    "reduction",
    "regularizer",
    "run",
    "solve",
    "solver",
]


def __getattr__(name: str) -> Any:
    """Import public names at their first use: `rrmbench --help` needs none of them."""
    if name not in _HOMES:
        raise AttributeError(f"module 'rrmbench' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(f"rrmbench.{_HOMES[name]}"), name)


@kernel_folder.use_by_default
def _by_the_code() -> None:
    """Machine code of kernels is kept by the code that it comes from, in notebooks and scripts too."""
    from rrmbench import kernel_cache

    kernel_cache.use()


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
