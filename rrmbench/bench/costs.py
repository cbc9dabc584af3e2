"""What a run costs on a machine, in parts that carry over to other runs.

The wall-clock seconds of a run are

    fixed (or cold) + passes * stored entries * step + points * stored entries * look

fixed, cold : starting the process, loading the data and the kernels, the set-up of the solver, and the first second of
    better bounds, which a short run on little data gets as a long one does; cold where the kernels are compiled first
step, look : seconds per stored entry, of a pass of the solver, with the rest of its better bounds, and of an evaluation
    at a trace point
"""

import math
from dataclasses import dataclass, replace

from rrmbench.bench.rules import LEAST_GROWTH

LITTLE = 1.0  # seconds of better bounds that a run on little data may take, however short it is
MEMORY = 5  # runs that an average is about
TINY = 1e-12


@dataclass(frozen=True)
class Cost:
    """The averages of one key, None where nothing was measured.

    share : of the passes that were allowed; passes : where none were given
    A black box has no passes: its whole work is one `step`.
    """

    count: int
    fixed: float | None
    cold: float | None
    step: float
    look: float
    share: float
    passes: float | None

    def joined(self, new):
        """The average after one more run, geometric for what varies by factors."""
        weight = 1.0 / min(self.count + 1, MEMORY)

        def between(name):
            a, b = getattr(self, name), getattr(new, name)
            if a is None or b is None:
                return b if a is None else a
            return math.exp((1.0 - weight) * math.log(max(a, TINY)) + weight * math.log(max(b, TINY)))

        means = {name: between(name) for name in ("fixed", "cold", "step", "look", "passes")}
        return Cost(self.count + 1, **means, share=(1.0 - weight) * self.share + weight * new.share)


# what a run of a kind that was never measured is taken for
TYPICAL = Cost(0, fixed=0.3, cold=3.0, step=6e-9, look=4e-9, share=1.0, passes=100.0)
PASS, LOOK = 3e-5, 1e-4  # seconds that it takes beside, for a pass and a point on any data: on little data nearly all


def typical(entries):
    """TYPICAL on data of so many stored entries."""
    many = max(entries, 1)
    return replace(TYPICAL, step=TYPICAL.step + PASS / many, look=TYPICAL.look + LOOK / many)


def cost_of(spec, entries, result, cold):
    """What one run cost, or None where it says nothing."""
    wall, trace = result.info.get("wall_seconds"), result.trace
    if not wall or result.status not in ("done", "timeout") or result.points < 2 or entries < 1:
        return None
    passes = float(trace["passes"][-1])
    bounds = result.info.get("bound_seconds", 0.0)
    looks = result.info.get("evaluation_seconds", 0.0) - bounds
    if math.isnan(passes) and result.status == "timeout":  # nobody knows how much more it would have taken
        return None
    if math.isnan(passes) or result.info.get("restarts"):  # the trace has the clock of the last call alone
        fixed = min(result.info.get("load_seconds", 0.0) + result.info.get("warmup_seconds", 0.0), wall)
        work, looks = wall - fixed, 0.0
    else:
        work = float(trace["seconds"][-1] - trace["seconds"][0]) + max(bounds - LITTLE, 0.0)
        fixed = wall - work - looks
    fixed, work, looks = (max(part, 0.0) for part in (fixed, work, looks))
    return Cost(
        count=1,
        fixed=None if cold else fixed,
        cold=fixed if cold else None,
        step=work / (entries if math.isnan(passes) else max(passes, 1.0) * entries),
        look=looks / (result.points * entries),
        share=1.0 if math.isnan(passes) else min(passes / spec["stop"].get("passes", passes or 1.0), 1.0),
        passes=None if math.isnan(passes) else passes,
    )


def points(passes, every=1.0, growth=1.0):
    """About how many trace points the passes of a run have."""
    growth = max(growth, LEAST_GROWTH)
    turn = max(1.0 / (growth - 1.0), 1.0) * every  # from here on points are a factor apart
    if passes <= turn:
        return passes / every
    return turn / every + (math.log(passes) - math.log(turn)) / math.log(growth)
