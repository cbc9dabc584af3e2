"""What a component of one's own may import: the public names, with their modules.

Everything here keeps its name and its meaning; docs/toolbox.md lists it by use. Other modules of the package may change
without a word.
"""

from rrmbench.components import Solver
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.clipping import clipped_ratio
from rrmbench.numerics.jit import kernel
from rrmbench.numerics.lazy import GradientTable, Samples, Snapshot, StochasticSteps
from rrmbench.numerics.prefetch import prefetch, prefetch_rows
from rrmbench.numerics.random import Rng, below, shuffle, splitmix64
from rrmbench.numerics.row_steps import bring_up, prefetch_row, row_move, row_output, row_steps
from rrmbench.numerics.sparse_rows import axpy, dot, entries, sample_at
from rrmbench.parameters import (
    AboveOne,
    Auto,
    Fraction,
    FromOne,
    InputFile,
    NonNegative,
    Positive,
    PositiveInt,
    SizesFile,
)
from rrmbench.problem.constants import Constants, NoTheorem
from rrmbench.problem.iterate import Iterate
from rrmbench.problem.operators import CSR, Rows
from rrmbench.problem.problem import Problem
from rrmbench.registry import dataset, loss, reduction, regularizer, solver
from rrmbench.regularizers.norms import Norm, longest_within, scale_into
from rrmbench.solvers.pdprox.step_sizes import StepSizes

__all__ = [
    "CSR",
    "AboveOne",
    "Auto",
    "Constants",
    "Fraction",
    "FromOne",
    "GradientTable",
    "InputFile",
    "Iterate",
    "NoTheorem",
    "NonNegative",
    "Norm",
    "Positive",
    "PositiveInt",
    "Problem",
    "Rng",
    "Rows",
    "RrmbenchError",
    "Samples",
    "SizesFile",
    "Snapshot",
    "Solver",
    "StepSizes",
    "StochasticSteps",
    "axpy",
    "below",
    "bring_up",
    "clipped_ratio",
    "dataset",
    "dot",
    "entries",
    "kernel",
    "longest_within",
    "loss",
    "prefetch",
    "prefetch_row",
    "prefetch_rows",
    "reduction",
    "regularizer",
    "row_move",
    "row_output",
    "row_steps",
    "sample_at",
    "scale_into",
    "shuffle",
    "solver",
    "splitmix64",
]
