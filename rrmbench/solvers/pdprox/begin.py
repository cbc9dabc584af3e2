"""How the methods of this folder begin: their first point, their step sizes, and the products known there."""

import numpy as np

from rrmbench.problem.iterate import Iterate
from rrmbench.solvers.pdprox.step_sizes import step_sizes_for


def begun(problem, start, rng, product, constant, **options):
    """Return (problem, at, sizes, product(problem, at)) of the counted problem and the Iterate `at` to start from.

    Yields `at` at once and after each pass or half a pass that is spent.

    product : `z_at` or `v_at`
    constant, options : of `step_sizes_for`
    """
    problem = problem.counted()
    at = origin(problem, start)
    yield at
    sizes = yield from step_sizes_for(problem, at, rng, constant, **options)
    known = yield from product_at(product, problem, at)
    return problem, at, sizes, known


def origin(problem, start):
    """The Iterate that a method starts from: `Problem.start` and `Problem.start_dual`."""
    return Iterate(problem.start(start), problem.start_dual(start))


def product_at(product, problem, at):
    """Return product(problem, at) of a counted problem; yield `at` if that took a product with X or X^T."""
    before = problem.X.passes
    known = product(problem, at)
    if problem.X.passes > before:
        yield at._replace(passes=problem.X.passes)
    return known


def z_at(problem, at):
    """X w of an Iterate."""
    return problem.outputs(at.w)


def v_at(problem, at):
    """-(1/n) X^T b of an Iterate."""
    return free_v(problem, at.b)


def free_v(problem, b):
    """-(1/n) X^T b, as `Problem.v`; for b = 0 there is no product."""
    return problem.v(b) if b.any() else np.zeros(problem.shape)
