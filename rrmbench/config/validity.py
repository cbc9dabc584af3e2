"""Which combinations are possible: what a solver needs, the problem has or the reduction gives.

A regularizer may need something of the problem as well, and so do data without coordinates or with one label a sample.
"""

from pathlib import Path

from rrmbench import registry
from rrmbench.errors import RrmbenchError

# trait -> (what the solver needs, whose trait it is, how it is said of that part)
_WORDS = {
    "smooth": ("a smooth loss", "loss", "smooth"),
    "strongly_convex": ("a strongly convex regularizer", "regularizer", "strongly convex"),
    "separable": ("a loss that is a sum over samples", "loss", "such a sum"),
    "scalar": ("one output per sample", "loss", "such a loss"),
    "coordinate": ("a regularizer that is a sum over coordinates", "regularizer", "such a sum"),
    "rows": ("data in rows and no free bias", "dataset", "of that kind"),
    "matrix": ("a model that is a matrix (tasks, ratings, several outputs)", "loss", "for one on these data"),
    "euclidean": ("a loss that is smoothed by a square", "loss", "one"),
    "entropic": ("a loss that is smoothed by an entropy", "loss", "one"),
    "entropy": ("a regularizer with an entropic step, without any square or free bias beside it", "regularizer", "one"),
    "conjugate_prox": ("a loss whose conjugate has a Euclidean proximal step", "loss", "one"),
    "isotropic": ("a regularizer that is a function of ||w||_2", "regularizer", "one"),
}


def reason(spec, has, stop):
    """Return why the parts of `spec`, whose problem `has` those traits, do not go together, or None if they do.

    They do not, too, if none of the rules `stop` ends the solver, or its library is not installed.
    """
    if why := _problem_reason(spec, has):
        return why
    solver, refusal = registry.lookup("solver", spec["solver"]["name"]), None
    try:
        needs = registry.build_solver(spec["solver"], spec["reduction"]).needs
    except RrmbenchError as error:  # the reduction refuses this solver or its own parameters
        needs, refusal = solver.needs - _gives(spec["reduction"]), str(error)
    missing = registry.lacking(needs, has)
    if not missing:
        return solver.endless(stop) or refusal or solver.uninstalled
    return "; ".join(dict.fromkeys(_sentence(trait, spec, has) for trait in sorted(missing))) + _advice(missing)


def _problem_reason(spec, has):
    """Why there is no such problem, or None."""
    needs = {
        f"regularizer {_owner('regularizer', spec)}": registry.lookup("regularizer", spec["regularizer"]["name"]).needs,
        "a kernel": {"isotropic"} if "kernel" in has else set(),
    }
    for part, needed in needs.items():
        for trait in sorted(registry.lacking(needed, has)):
            wanted, of, said = _WORDS[trait]
            return f"{part} needs {wanted}; {_owner(of, spec)} is not {said}"
    if "minimized_bias" in has and "scalar" not in has:
        return f"a bias is minimized for losses of one output per sample; {_owner('loss', spec)} is not such a loss"
    if "free_bias" in has and "takes_bias" not in has:
        return f"a free bias (dataset.bias) has no place in the model of {_owner('loss', spec)}"
    if "weighs_samples" in has and "tasks" in has:
        return f"{_owner('loss', spec)} weighs samples by their features; {_owner('dataset', spec)} has several tasks"
    if "tasks" in has and "scalar" not in has and "separable" in has:
        return f"{_owner('loss', spec)} is for several outputs per sample, {_owner('dataset', spec)} has one label"
    return None


def _gives(reduction):
    inside = reduction.get("inside")
    given = registry.lookup("reduction", reduction["name"]).gives
    return given if inside is None else given | _gives(inside)


def _sentence(trait, spec, has):
    solver = spec["solver"]["name"]
    if trait in ("rows", "separable") and "minimized_bias" in has:
        return f"{solver} takes single samples, which a minimized bias (dataset.bias) makes depend on each other"
    if trait[:1].isupper():  # classes of losses or of regularizers
        return f"{solver} is for {trait} only, and not for {_owner('loss', spec)} with {_owner('regularizer', spec)}"
    needed, part, said = _WORDS.get(trait, (f"the trait '{trait}'", "loss", f"'{trait}'"))
    return (
        f"{solver} needs {needed}; {_owner(part, spec)} is not {said} "
        f"and reduction '{spec['reduction']['name']}' does not make it so"
    )


def _owner(part, spec):
    return spec[part].get("name") or Path(spec[part]["path"]).name


def _advice(missing):
    remedies = [n for n in registry.names("reduction") if missing <= registry.lookup("reduction", n).gives]
    if not remedies:
        return ""
    *others, last = remedies
    return f" (try {', '.join(others)} or {last})" if others else f" (try {last})"
