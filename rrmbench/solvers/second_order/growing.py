"""Samples that grow from stage to stage: the optimum of a part of them is a start for more of them."""

import numpy as np

from rrmbench.numerics.tolerances import SUM_ROUNDING
from rrmbench.problem.iterate import Iterate

LARGEST = 3000  # features, for matrices of them
PARTS = 64  # of the samples, one of which is the least stage
GROWTH = 4  # of the parts, from one stage to the next
SETTLED = 0.05  # of |P|, the slope of a step from which on one step ends a stage
PER_FEATURE = 8  # samples that a stage has at least: of fewer the optimum says little about that of all


def too_many_features(n, d, k):
    """What is found and allowed of d features, or None: a solver that makes a matrix of them takes 3000."""
    return None if d <= LARGEST else f"found {d} features, allowed are at most {LARGEST}"


def too_many_entries(n, d, k):
    """What is found and allowed of the d k entries of a model, or None: the matrix is one of them."""
    return None if d * k <= LARGEST else f"found a model of {d} x {k} entries, allowed are at most {LARGEST}"


def growing_samples(problem, w, rng, least=None):
    """Yield (ascending numbers of samples, whether they are all) for each stage: 1/64, 1/16, 1/4, all, all, ...

    Samples are drawn once; each stage has those of the one before, and so many at least, by default 8 for each number
    of the model. From a w that is not zero all stages have all.
    """
    least = PER_FEATURE * w.size if least is None else least
    n, parts = problem.n, PARTS if w.any() else 1
    number = rng.integers(PARTS, n)
    while parts < PARTS:
        samples = np.flatnonzero(number < parts)
        if samples.size >= least:
            yield samples, False
        parts *= GROWTH
    while True:
        yield np.arange(n), True


def is_settled(slope, P):
    """Whether so small a slope of P along a step says that the optimum of the samples is near; P may be below 0."""
    return -slope <= SETTLED * abs(P)


def end_of_stage(problem, is_last):
    """Return ends(slope, P, t): whether a stage of these samples ends with a step t p that leads to P; all never do.

    It ends with a step without a cut that is settled, or with one that is none. slope is that of P along p, at the
    beginning of the step. Where the samples are fit exactly P is its rounding, of which no slope is a small part, and
    which cuts steps: so it also ends with a slope that the rounding of P(0) hides. There is no product with X.
    """
    if is_last:
        return lambda slope, P, t: False
    hidden = SUM_ROUNDING * abs(problem.primal(np.zeros(problem.shape), np.zeros(problem.output_shape)))

    def ends(slope, P, t):
        return t == 0.0 or -slope <= hidden or (t == 1.0 and is_settled(slope, P))

    return ends


def on_growing_samples(problem, w, rng, steps, least=None):
    """Yield the iterates of `steps(part, w, is_last)` for one stage after the other, from the end of the one before.

    steps : a generator of iterates of a problem with a counting view of X. The last of a stage is its end; that of all
        samples goes on
    least : as in `growing_samples`

    The copy of a stage's rows counts half a pass of them. An iterate has w alone before the last stage.
    """
    passes = 0.0
    for samples, is_last in growing_samples(problem, w, rng, least):
        part, share = problem.counted(), 1.0
        if not is_last:
            part = problem.on(samples).counted()
            share = part.X.nnz / max(problem.X.nnz, 1)
            passes += 0.5 * share
        for at in steps(part, w, is_last):
            yield (at if is_last else Iterate(at.w))._replace(passes=passes + share * at.passes)
        w, passes = at.w, passes + share * part.X.passes
