"""Every kernel of working sets called once, so that none is compiled or loaded while the clock runs."""

from itertools import product

import numpy as np

from rrmbench.problem.operators import CSR
from rrmbench.solvers.coordinate.chosen import Chosen
from rrmbench.subproblems.units import BlockUnits, CoordinateUnits, RowUnits, outcome


def rehearse(problem):
    """Call on two rows, dense and sparse, what only some problems need: all forms, growth, conjugate gradients."""
    for d, is_cheap in product((2, 5), (True, False)):
        indptr = np.array([0, 2, 4], dtype=problem.X.rows.indptr.dtype)
        indices = np.array([0, 1, 0, 1], dtype=np.uint32)
        k = None if "scalar" in problem.traits else 2
        X = CSR(np.array([1.0, 2.0, 3.0, 5.0]), indices, indptr, (2, d), k)
        chosen, ones = Chosen(X, np.bincount(indices, minlength=d)), np.ones(d)
        zeros, slopes = np.zeros(d * (k or 1)), -np.ones(d * (k or 1))
        if k:
            units = RowUnits((np.repeat(np.arange(d), k), 0.1 * ones), 1.0, zeros.reshape(d, k), ones)
        elif "coordinate" in problem.traits:
            units = CoordinateUnits(problem.regularizer, 1.0, zeros, ones)
        else:
            units = BlockUnits((np.arange(d), 0.1 * ones), 1.0, zeros, ones)
        for numbers in np.arange(1), np.arange(2):
            chosen.grow(numbers)
            if not is_cheap:
                chosen.make_dear()
            form = outcome(chosen.form(np.ones(2), True))
            model = outcome(units.model(form, numbers, units.columns(numbers), zeros, slopes, True, 1.0))
            for _ in model.descend(0.0):
                pass
            for _ in model.extrapolate(numbers):
                pass
            chosen.outputs(model)
