"""What losses and regularizers say of themselves, held against the functions that they are.

Traits, step sizes and theorems rest on these numbers: a hinge that says that it is smooth is taken by methods for
smooth losses, and their bounds are drawn.
"""

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from rrmbench.problem.samples import is_entropic, outputs_of

SLACK = 1e-6  # relative to what is claimed
ROUNDING = 1e-9  # relative to slopes, which a method may find by iterations
MOVES = 1e-3, 0.1, 1.0  # from where phi may bend
FAR = 1.0, 1e2, 1e4


def fault_of_loss(problem: Any, rng: np.random.Generator) -> str | None:
    """Which of the constants of the loss of a problem without smoothing does not hold, in words, or None."""
    if hasattr(problem.loss, "operator"):  # whose outputs have a structure of their own
        return None
    for z, other in _pairs_of_outputs(problem, rng):
        if fault := fault_of_constants(problem, z, other):
            return fault
    return None


def _pairs_of_outputs(problem: Any, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Outputs near each other around the labels and 0, where most losses bend, and far from each other."""
    shape = problem.output_shape
    bends = [np.zeros(shape), *([problem.y] if problem.y.shape == shape else [])]
    for at in bends:
        for move in MOVES:
            yield at + move * rng.normal(size=shape), at + move * rng.normal(size=shape)
    for scale in FAR:
        yield scale * rng.normal(size=shape), scale * rng.normal(size=shape)


def fault_of_constants(problem: Any, z: np.ndarray, other: np.ndarray) -> str | None:
    """Whether the slopes b of phi at outputs z, and at others, are longer or change more than phi says.

    Of a loss over all samples at once, whether they change more together: ||b - b'|| <= ||z - z'|| / gamma.
    """
    loss, whole = problem.loss, outputs_of(problem.loss) == "whole"
    b, c = (problem.losses.dual_point(0.0, at) for at in (z, other))
    longest = 0.0 if whole else float(_lengths(b, whole).max(initial=0.0))
    if longest > problem.dual_radius * (1.0 + SLACK) + ROUNDING:
        return f"says that its slopes are of length {problem.dual_radius:.6g} at most (lipschitz), found {longest:.6g}"
    gamma = loss.conjugate_convexity
    if not gamma > 0.0 or is_entropic(loss):
        return None
    change, move = _lengths(b - c, whole), _lengths(z - other, whole)
    rounding = ROUNDING * (_lengths(b, whole) + _lengths(c, whole) + 1e-3)
    beyond = np.flatnonzero(change > move / gamma * (1.0 + SLACK) + rounding)
    if not beyond.size:
        return None
    worst = beyond[np.argmax(change[beyond] / np.maximum(move[beyond], 1e-300))]
    return (
        f"says that its slopes change by |z - z'| / {gamma:.6g} at most (conjugate_convexity), found "
        f"{change[worst]:.6g} from z to z', {move[worst]:.6g} away"
    )


def _lengths(rows: np.ndarray, whole: bool) -> np.ndarray:
    """||.|| of the rows, or of all of them as one, (1,)."""
    return np.linalg.norm(rows.reshape(1 if whole else rows.shape[0], -1), axis=1)


def fault_of_regularizer(psi: Any, w: np.ndarray, other: np.ndarray) -> str | None:
    """Which of its attributes psi on whole models is not true to at two models of its domain, in words, or None."""
    return fault_of_convexity(psi, w, other) or (
        fault_of_soft_threshold(psi.psi, w.ravel().tolist()) if psi.soft_threshold else None
    )


def fault_of_soft_threshold(psi: Any, numbers: Iterable[float]) -> str | None:
    """Whether psi of one coordinate, which says that it is strength |w| where it is finite, is something else."""
    for w in numbers:
        value, expected = psi.value(w), psi.strength * abs(w)
        if math.isfinite(value) and not math.isclose(value, expected, rel_tol=ROUNDING, abs_tol=1e-300):
            return (
                f"says that it is strength |w| (soft_threshold), found {value:.8g} for w = {w:.8g}, not {expected:.8g}"
            )
    return None


def fault_of_convexity(psi: Any, w: np.ndarray, other: np.ndarray) -> str | None:
    """Whether psi on whole models is less convex between two models of its domain than it says."""
    if not psi.convexity > 0.0:
        return None
    values = psi.value(w), psi.value(other)
    above = 0.5 * sum(values) - psi.value(0.5 * (w + other))
    least = psi.convexity / 8.0 * float(np.sum((w - other) ** 2))
    if above < least * (1.0 - SLACK) - ROUNDING * (abs(values[0]) + abs(values[1])):
        return (
            f"says that it is {psi.convexity:.6g}-strongly convex (convexity), found a middle of two models that is "
            f"{above:.6g} below the mean of psi, at least {least:.6g} is said"
        )
    return None
