"""Every kernel of working sets called once, so that none is compiled or loaded while the clock runs."""

import numpy as np

from rrmbench.problem.operators import Rows
from rrmbench.solvers.coordinate.chosen import Chosen
from rrmbench.solvers.coordinate.quadratic import Quadratic


def rehearse(problem):
    """Call on a row of two entries what only some problems need: both forms, growth, conjugate gradients."""
    x = np.array([1.0, 2.0])
    indptr = np.array([0, 2], dtype=problem.X.rows.indptr.dtype)
    rows = Rows(indptr, np.arange(2, dtype=np.uint32), x, np.array([5.0]))
    for array in rows:
        array.flags.writeable = False
    for is_cheap in True, False:
        chosen = Chosen(rows, 1, np.ones(2, dtype=np.int64))
        for numbers in np.arange(1), np.arange(2):
            chosen.grow(numbers)
            if not is_cheap:
                chosen.make_dear()
            H, curvatures, state = outcome(chosen.form(np.ones(1), True))
            zeros = np.zeros(numbers.size)
            model = Quadratic(H, curvatures, state, problem.regularizer, 1.0, zeros, zeros - 1.0, zeros)
            for _ in model.descend(0.0):
                pass
            for _ in model.extrapolate(numbers):
                pass
            chosen.outputs(model)


def outcome(generator):
    """What a generator returns in the end."""
    while True:
        try:
            next(generator)
        except StopIteration as end:
            return end.value
