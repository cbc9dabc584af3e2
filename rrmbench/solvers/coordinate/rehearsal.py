"""Every kernel of working sets called once, so that none is compiled or loaded while the clock runs."""

from itertools import product

import numpy as np

from rrmbench.problem.operators import CSR
from rrmbench.solvers.coordinate.chosen import Chosen
from rrmbench.solvers.coordinate.early_sweeps import EarlySweeps
from rrmbench.solvers.coordinate.weights import Weights
from rrmbench.subproblems.units import BlockUnits, CoordinateUnits, RowUnits, outcome


def rehearse(problem):
    """Call on few rows, dense and sparse, what only some problems need: all forms, growth, conjugate gradients."""
    n = problem.n
    z = problem.X.forward(np.ones(problem.shape))
    always = Weights(problem, z, problem.loss_dual(z)).is_quadratic  # then all weights are one number
    for d, is_cheap in product((2, 5), (True, False)):
        indptr = np.arange(0, 2 * n + 1, 2, dtype=problem.X.rows.indptr.dtype)
        indices = np.tile(np.arange(2, dtype=np.uint32), n)
        k = None if "scalar" in problem.traits else 2
        data, ones = 1.0 + np.arange(2.0 * n), np.ones(d)
        X, sqnorms = CSR(data, indices, indptr, (n, d), k), np.bincount(indices, data**2, d)
        chosen = Chosen(X, np.bincount(indices, minlength=d), sqnorms)
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
            for h in (np.full(n, 4.0),) if always else (np.full(n, 4.0), np.linspace(1.0, 2.0, n)):
                form = outcome(chosen.form(h, always))
                model = outcome(units.model(form, numbers, units.columns(numbers), zeros, slopes, always, 1.0))
                for _ in model.descend(0.0):
                    pass
                for _ in model.extrapolate(numbers):
                    pass
                chosen.outputs(model)
        if not k and "coordinate" in problem.traits:
            w, z, b = np.zeros(d), np.zeros(n), np.zeros(n)
            EarlySweeps(problem, units).sweep(chosen.unweighted(), np.arange(1), 1.0, w, z, b)
