"""The Problem that the spec of a run describes."""

from rrmbench.problem.labels import check_size_and_signs
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_loss, build_regularizer
from rrmbench.registry import lookup


def problem_of(spec, prepared):
    """The Problem of a resolved spec on prepared data; its plug-ins are loaded already, or RrmbenchError."""
    bias = spec["dataset"].get("bias")
    biases = {"free_bias": bias == "free", "minimized_bias": bias == "minimized"}
    (loss, mu), (regularizer, l2) = build_loss(spec["loss"]), build_regularizer(spec["regularizer"])
    component = lookup("loss", spec["loss"]["name"])
    check_size_and_signs(prepared.y, component.needs, component.name)
    return Problem(prepared.operator(), prepared.y, loss, regularizer, l2=l2, mu=mu, **biases)
