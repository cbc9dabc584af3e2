"""Which combinations are possible: what a solver needs, the problem has or the reduction gives.

A regularizer may need something of the problem as well, and so do data without coordinates or with one label a sample.
"""

import re
from collections import defaultdict
from pathlib import Path

from rrmbench import registry
from rrmbench.components import alternatives, lacking
from rrmbench.errors import RrmbenchError
from rrmbench.keys import nested

# trait -> (what the solver needs, whose trait it is, how it is said of that part)
_WORDS = {
    "smooth": ("a smooth loss", "loss", "smooth"),
    "strongly_convex": ("a strongly convex regularizer", "regularizer", "strongly convex"),
    "separable": ("a loss that is a sum over samples", "loss", "such a sum"),
    "scalar": ("one output per sample", "loss", "such a loss"),
    "coordinate": ("a regularizer that is a sum over coordinates", "regularizer", "such a sum"),
    "rows": ("data in rows", "dataset", "of that kind"),
    "blocks": ("a regularizer that is a sum of norms of blocks", "regularizer", "one"),
    "row_norms": ("norms of the rows of the model", "regularizer", "such norms"),
    "matrix": ("a model that is a matrix (tasks, ratings, several outputs)", "loss", "for one on these data"),
    "euclidean": ("a loss that is smoothed by a square", "loss", "one"),
    "entropic": ("a loss that is smoothed by an entropy", "loss", "one"),
    "entropy": ("a regularizer with an entropic step, without any square or free bias beside it", "regularizer", "one"),
    "conjugate_prox": ("a loss whose conjugate has a Euclidean proximal step", "loss", "one"),
    "free_bias": ("a free bias", "dataset", "with one"),
    "minimized_bias": ("a minimized bias", "dataset", "with one"),
    "isotropic": ("a regularizer that is a function of ||w||_2", "regularizer", "one"),
    "labellings": ("a maximum over labellings of sequences", "loss", "one"),
    "piecewise_linear": ("a loss of linear pieces", "loss", "one"),
    "slopes": ("multinomial_logistic or soft_max_of_hinge, or another loss with `slopes_row`", "loss", "one of these"),
    "prox_slopes": (
        "max_of_hinge or smoothed_max_of_hinge, or another loss with `prox_slopes_row`",
        "loss",
        "one of these",
    ),
    "conic": ("a regularizer of norms or bounds", "regularizer", "one"),
    "norm": ("a norm with a strength above 0", "regularizer", "one"),
    "one_term": ("a norm or a square alone", "regularizer", "one of them"),
    "polyhedral": ("l1, l1inf, linf_norm or bounds, without a square beside them", "regularizer", "one of these"),
}
_STRENGTHS = {"norm", "one_term"}  # what matters of a regularizer whose kind fits
# Class of a regularizer -> the names that have it. A loss has that of its class, SquaredHinge is squared_hinge, but:
_LOSSES = {"BudgetHinge": "hinge"}
_REGULARIZERS = {"BlockNorm": ("group_lasso", "l21"), "L1": ("elastic_net", "l1"), "Zero": ("l2", "none")}


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
    missing = lacking(needs, has)
    if not missing:
        return solver.endless(stop) or refusal or solver.uninstalled
    alone = registry.build_solver(spec["solver"]).needs
    inner = _needs_inside(spec, alone)
    told = _sentence(missing & inner or missing, spec, has, of_reduction=missing.isdisjoint(inner))
    return told + _advice(missing, spec, () if lacking(alone, has) else ("none",))


def _needs_inside(spec, alone):
    """The needs of what the outermost reduction is around; `alone`, if nothing is between or that is refused."""
    if "inside" not in spec["reduction"]:
        return alone
    try:
        return registry.build_solver(spec["solver"], spec["reduction"]["inside"]).needs
    except RrmbenchError:
        return alone


def _problem_reason(spec, has):
    """Why there is no such problem, or None."""
    needs = {
        f"regularizer {_owner('regularizer', spec)}": registry.lookup("regularizer", spec["regularizer"]["name"]).needs,
        "a kernel": {"isotropic"} if "kernel" in has else set(),
    }
    for part, needed in needs.items():
        for trait in sorted(lacking(needed, has)):
            wanted, of, said = _words(trait)
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
    components = (registry.lookup("reduction", mapping["name"]) for mapping in nested(reduction))
    return frozenset().union(*(component.gives for component in components))


def _sentence(missing, spec, has, of_reduction=False):
    """Why the solver of `spec` lacks the traits `missing`: each cause once.

    of_reduction : the solver needs them inside of its reduction only
    """
    ruled_out = _ruled_out_by_bias(missing, spec, has)
    rest, clauses = frozenset().union(*(_narrowed(need, has) for need in missing - ruled_out)), []
    if ruled_out:
        needed = " and ".join(
            _words(trait)[0] for trait in sorted(ruled_out, key=lambda trait: (trait != "rows", trait))
        )
        clauses.append(f"needs {needed}, which a {spec['dataset']['bias']} bias (dataset.bias) rules out")
    if "separable" not in has and "tasks" not in has and rest & {"rows", "scalar"}:  # both because of the loss
        rest = rest - {"rows", "scalar"} | {"separable"}
    classes = sorted(trait for trait in rest if trait[:1].isupper())  # of losses or of regularizers
    if classes:
        found = f"{_owner('loss', spec)} with {_owner('regularizer', spec)}"
        wanted = " with ".join(sorted(_formulas(trait) for trait in classes))
        clauses.append(f"is for {wanted} only, and not for {found}")
        rest = frozenset(trait for trait in rest if alternatives(trait)[0][0] not in _STRENGTHS)
    for trait in sorted(rest.difference(classes)):
        needed, part, said = _words(trait)
        clauses.append(f"needs {needed}; {_owner(part, spec)} is not {said}")
    solver, reduction = spec["solver"]["name"], spec["reduction"]["name"]
    if of_reduction:
        return f"{solver} in {reduction} {'; it '.join(clauses)}"
    if rest.difference(classes) and reduction != "none":
        clauses[-1] += f" and reduction '{reduction}' does not make it so"
    return f"{solver} {'; it '.join(clauses)}"


def _narrowed(need, has):
    """The needs to tell of a missing one: the strengths alone where the kinds fit, and else the kinds alone."""
    ways = {tuple(name for name in all_of if name not in _STRENGTHS): all_of for all_of in alternatives(need)}
    if () in ways:  # it is about nothing else
        return {need}
    fitting = [frozenset(all_of) - has for kinds, all_of in ways.items() if has.issuperset(kinds)]
    return min(fitting, key=len) if fitting else {" or ".join(map(" and ".join, ways))}


def needed(missing):
    """What a solver needs that lacks the traits `missing`, in words."""
    return " and ".join(_formulas(trait) if trait[:1].isupper() else _words(trait)[0] for trait in sorted(missing))


def _formulas(trait):
    """ "the loss squared with the regularizer l2 or none" of "Squared and Zero"."""
    regularizers, losses = defaultdict(tuple), defaultdict(tuple)  # of a loss; of regularizers; and with what else
    for all_of in alternatives(trait):
        more = tuple(_words_of(name) for name in all_of if not name[:1].isupper())
        regularizers[_names(all_of, "loss"), more] += _names(all_of, "regularizer")
    for (loss, more), psi in regularizers.items():
        losses[psi, more] += tuple(name for name in loss if name not in losses[psi, more])
    found = []
    for (psi, more), loss in losses.items():
        parts = [f"the {part} {_either(names)}" for part, names in (("loss", loss), ("regularizer", psi)) if names]
        found.append(" with ".join(parts + [" and ".join(more)] * bool(more)))
    return ", or ".join(found)


def _names(classes, kind):
    """The names of those of the classes that are of a loss, or of a regularizer."""
    regularizers = {cls: _REGULARIZERS.get(cls) or tuple(registry.names_beside("regularizer", cls)) for cls in classes}
    if kind == "regularizer":
        return sum(regularizers.values(), ())
    losses = [cls for cls in classes if cls[:1].isupper() and not regularizers[cls]]
    return sum((_names_of_loss(cls) for cls in losses), ())


def _names_of_loss(cls):
    known = (_LOSSES[cls],) if cls in _LOSSES else tuple(registry.names_beside("loss", cls))
    return known or (re.sub("(?<=[a-z])(?=[A-Z])", "_", cls).lower(),)


def _either(names):
    """ "a", "a or b", "a, b or c"."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def _words(trait):
    """As in _WORDS; "strongly_convex or free_bias" is said of the first, and needs either."""
    wanted = [" and ".join(_words_of(name) for name in all_of) for all_of in alternatives(trait)]
    first = alternatives(trait)[0][0]
    return " or ".join(wanted), *_WORDS.get(first, ("", "loss", f"'{first}'"))[1:]


def _words_of(name):
    return _formulas(name) if name[:1].isupper() else _WORDS.get(name, (f"the trait '{name}'",))[0]


def _ruled_out_by_bias(missing, spec, has):
    """The `missing` traits that the problem would have without its free or minimized bias."""
    from rrmbench import data
    from rrmbench.problem.traits import traits

    if has.isdisjoint({"free_bias", "minimized_bias"}):
        return frozenset()
    unbiased = traits(spec["loss"], spec["regularizer"], data.traits_of(spec["dataset"] | {"bias": "none"}))
    return missing - lacking(missing, unbiased)


def _owner(part, spec):
    return spec[part].get("name") or Path(spec[part]["path"]).name


def _advice(missing, spec, also=()):
    remedies = [*also, *(name for name in registry.names("reduction") if _helps(name, missing, spec))]
    return f" (try {_either(remedies)})" if remedies else ""


def _helps(name, missing, spec):
    """Whether a reduction gives the solver of `spec` what is missing, with some of its parameters."""
    component, solver = registry.lookup("reduction", name), registry.build_solver(spec["solver"])
    if lacking(missing, component.gives) or component.unfit(solver):
        return False
    try:
        return missing.isdisjoint(registry.reduce_solver(solver, name).needs)
    except RrmbenchError:  # it has no defaults
        return True
