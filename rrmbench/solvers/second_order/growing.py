"""Samples that grow from stage to stage: the optimum of a part of them is a start for more of them."""

import numpy as np

PARTS = 64  # of the samples, one of which is the least stage
GROWTH = 4  # of the parts, from one stage to the next
PER_FEATURE = 8  # samples that a stage has at least: of fewer the optimum says little about that of all


def growing_samples(problem, w, rng):
    """Yield (ascending numbers of samples, whether they are all) for each stage: 1/64, 1/16, 1/4, all, all, ...

    Samples are drawn once; each stage has those of the one before. From a w that is not zero all stages have all.
    """
    n, parts = problem.n, PARTS if w.any() else 1
    number = rng.integers(PARTS, n)
    while parts < PARTS:
        samples = np.flatnonzero(number < parts)
        if samples.size >= PER_FEATURE * w.size:
            yield samples, False
        parts *= GROWTH
    while True:
        yield np.arange(n), True
