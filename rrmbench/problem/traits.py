"""The loss and the regularizer that a YAML file names, and what can be said of a problem without its data."""

from rrmbench.building import built
from rrmbench.problem.coordinates import over_coordinates
from rrmbench.problem.samples import is_entropic, outputs_of, takes_bias


def build_loss(mapping):
    """Return (loss, mu) of a name or a mapping {"name": ..., parameter: value}."""
    loss = built("loss", mapping)
    return loss if type(loss) is tuple else (loss, 0.0)


def build_regularizer(mapping):
    """Return (regularizer, l2) of a name or a mapping {"name": ..., parameter: value, "domain": ...}."""
    regularizer = built("regularizer", mapping)
    regularizer, l2 = regularizer if type(regularizer) is tuple else (regularizer, 0.0)
    if isinstance(mapping, dict) and "domain" in mapping:
        from rrmbench.problem.domain import within

        regularizer = within(regularizer, mapping["domain"])
    return regularizer, l2


def traits(loss, regularizer, data=frozenset({"rows"})):
    """The traits of the problem that two mappings describe, on data with the traits `data`.

    Of the data: "rows" (they are the rows of a matrix), "tasks" (a matrix model and one output per sample: tasks and
    ratings), "kernel" (no coordinates of their own), "free_bias", "minimized_bias". Of the loss: "smooth", "scalar"
    (one output per sample), "piecewise_linear" (with known kinks or parts), "slopes" (of several outputs per sample,
    it knows the slopes of its derivative), "prox_slopes" (those of proximal steps of phi*), "labellings" (a maximum
    over those of chains), "conjugate_prox" (its conjugate has a proximal step), "euclidean" (mu multiplies a square),
    or else "entropic", "weighs_samples" (the model is weights of the samples), "takes_bias" (a free bias has a place in
    the model), and its class name ("Hinge") where it is not smoothed, for methods that know certain formulas only;
    "separable" (a sum over samples) unless a minimized bias couples them. Of the regularizer: "strongly_convex",
    "coordinate" (a sum over coordinates), "isotropic" (a function of ||w||_2), "polyhedral" (it knows the pieces of
    psi*, and Psi has no square), "blocks" (it is a sum of norms of blocks, and knows the balls in which psi* is 0),
    "row_norms" (these blocks are the rows of a model of several outputs per sample),
    "conic" (it knows these pieces, or these balls), "norm" (it has a strength above 0), "one_term" (it has none, or Psi
    has no square), "entropy" (a step with an entropy for prox-function, on all of the
    model), its class name ("L1", "Zero"). Of both loss and data: "matrix", if the model is one.
    """
    (phi, mu), (psi, l2) = build_loss(loss), build_regularizer(regularizer)
    return traits_of(phi, mu, psi, l2, 0.0, data)


def traits_of(loss, mu, regularizer, l2, kappa, data):
    """As `traits`, of built components and the strengths of the two squares in Psi."""
    outputs, regularization = outputs_of(loss), over_coordinates(regularizer)
    strength = getattr(regularizer, "strength", 0.0)
    strength = strength if isinstance(strength, int | float) else 0.0  # a plug-in may have weights, or a text
    square = kappa + (0.0 if "free_bias" in data else l2)  # that bounds all of w
    tests = {
        type(loss).__name__: mu == 0.0,
        type(regularizer).__name__: True,
        "smooth": loss.conjugate_convexity + mu > 0.0,
        "strongly_convex": square > 0.0 or (regularization.convexity > 0.0 and "free_bias" not in data),
        "separable": outputs != "whole" and "minimized_bias" not in data,
        "scalar": outputs == "scalar",
        "piecewise_linear": (hasattr(loss, "kinks") or hasattr(loss, "parts")) and loss.conjugate_convexity + mu == 0.0,
        "slopes": hasattr(loss, "slopes_row"),
        "prox_slopes": hasattr(loss, "prox_slopes_row"),
        "labellings": getattr(loss, "labellings", False) and mu == 0.0,
        "conjugate_prox": getattr(loss, "conjugate_prox", True),
        "euclidean": not is_entropic(loss),
        "entropic": is_entropic(loss),
        "weighs_samples": getattr(loss, "weighs_samples", False),
        "takes_bias": takes_bias(loss),
        "matrix": outputs == "vector" or getattr(loss, "matrix", False) or "tasks" in data,
        "coordinate": regularization.coordinate_separable and "free_bias" not in data,
        "isotropic": regularization.isotropic,
        "polyhedral": hasattr(regularizer, "conjugate_pieces") and l2 + kappa == 0.0,
        "conic": any(hasattr(regularizer, name) for name in ("conjugate_pieces", "dual_balls", "growing_balls")),
        "norm": strength > 0.0,
        "one_term": strength == 0.0 or l2 + kappa == 0.0,
        "blocks": hasattr(regularizer, "dual_balls") and "free_bias" not in data,
        "row_norms": outputs == "vector" and getattr(regularizer, "of_rows", False) and "free_bias" not in data,
        "entropy": regularization.entropic and square == 0.0 and "free_bias" not in data,
    }
    own = {"rows"} if hasattr(loss, "operator") else set()  # an operator of the loss has no rows for kernels
    return frozenset(name for name, holds in tests.items() if holds) | (data - own)
