"""`--only KEY=VALUE`: keep the runs that match."""

from dataclasses import replace

from rrmbench.errors import RrmbenchError, shortened
from rrmbench.matching import matcher


def select(plans, only):
    """Return the plans with the runs that match the texts KEY=VALUE: same key or, different keys and.

    Plans without a run left are dropped. Raises RrmbenchError if a text matches no combination of any plan,
    or all of them together leave no run.
    """
    specs = [spec for plan in plans for spec in [*plan.runs, *(spec for spec, _ in plan.skipped)]]
    keep = matcher(only, specs, "combination")
    kept = [
        replace(
            plan,
            runs=[spec for spec in plan.runs if keep(spec)],
            skipped=[(spec, why) for spec, why in plan.skipped if keep(spec)],
        )
        for plan in plans
    ]
    if not any(plan.runs for plan in kept):
        reasons = dict.fromkeys(why for plan in kept for _, why in plan.skipped)
        raise RrmbenchError("\n  ".join([f"--only {shortened(' '.join(only))}: no run is left", *list(reasons)[:20]]))
    return [plan for plan in kept if plan.runs]
