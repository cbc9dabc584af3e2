"""Which combinations are possible: what a solver needs, the problem has or the reduction gives."""

from rrmbench import registry

# trait -> (what the solver needs, whose trait it is, how it is said of that part)
_WORDS = {
    "smooth": ("a smooth loss", "loss", "smooth"),
    "strongly_convex": ("a strongly convex regularizer", "regularizer", "strongly convex"),
    "separable": ("a loss that is a sum over samples", "loss", "such a sum"),
    "scalar": ("one output per sample", "loss", "such a loss"),
    "coordinate": ("a regularizer that is a sum over coordinates", "regularizer", "such a sum"),
    "rows": ("data stored in rows", "dataset", "stored in rows"),
}


def reason(spec, has):
    """Return why the solver of `spec` cannot run on a problem that `has` those traits, or None if it can."""
    solver = registry.lookup("solver", spec["solver"]["name"])
    missing = registry.lacking(solver.needs, has | _gives(spec["reduction"]))
    if not missing:
        return None
    return "; ".join(_sentence(trait, spec) for trait in sorted(missing)) + _advice(missing)


def _gives(reduction):
    inside = reduction.get("inside")
    given = registry.lookup("reduction", reduction["name"]).gives
    return given if inside is None else given | _gives(inside)


def _sentence(trait, spec):
    solver = spec["solver"]["name"]
    if trait[:1].isupper():  # classes of losses or of regularizers
        return f"{solver} is for {trait} only, and not for {_owner('loss', spec)} with {_owner('regularizer', spec)}"
    needed, part, said = _WORDS.get(trait, (f"the trait '{trait}'", "loss", f"'{trait}'"))
    return (
        f"{solver} needs {needed}; {_owner(part, spec)} is not {said} "
        f"and reduction '{spec['reduction']['name']}' does not make it so"
    )


def _owner(part, spec):
    return spec[part].get("name") or spec[part]["path"]


def _advice(missing):
    remedies = [n for n in registry.names("reduction") if missing <= registry.lookup("reduction", n).gives]
    if not remedies:
        return ""
    *others, last = remedies
    return f" (try {', '.join(others)} or {last})" if others else f" (try {last})"
