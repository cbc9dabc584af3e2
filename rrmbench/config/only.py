"""`--only KEY=VALUE`: keep the runs that match."""

import warnings
from dataclasses import replace

from rrmbench.config.plan import is_deterministic
from rrmbench.errors import RrmbenchError, RrmbenchWarning, shortened
from rrmbench.matching import matcher


def select(plans, only):
    """Return the plans with the runs that match the texts KEY=VALUE: same key or, different keys and.

    A deterministic run is one of every seed. Plans without a run left are dropped, with a warning. Raises
    RrmbenchError if a text matches no combination of any plan, or all of them together leave no run.
    """
    specs = [spec for plan in plans for spec in [*plan.runs, *(spec for spec, _ in plan.skipped)]]
    keep = matcher(only, specs, "combination", _is_once)
    kept = [
        replace(
            plan,
            runs=[spec for spec in plan.runs if keep(spec)],
            skipped=[(spec, why) for spec, why in plan.skipped if keep(spec)],
        )
        for plan in plans
    ]
    option = f"--only {shortened(' '.join(only))}"
    if not any(plan.runs for plan in kept):
        reasons = dict.fromkeys(why for plan in kept for _, why in plan.skipped)
        raise RrmbenchError("\n  ".join([f"{option}: no run is left", *list(reasons)[:20]]))
    for plan in kept:
        if not plan.runs:
            why = f"all that matches is skipped: {plan.skipped[0][1]}" if plan.skipped else "nothing matches"
            warnings.warn(f"{plan.path}: {option}: {why}; none of its runs is made", RrmbenchWarning, stacklevel=2)
    return [plan for plan in kept if plan.runs]


def _is_once(spec):
    try:
        return is_deterministic(spec)
    except RrmbenchError:  # a combination that is skipped
        return False
