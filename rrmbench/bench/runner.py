"""Running an experiment: what is missing is run, every result is stored as soon as it is there."""

import math
import signal
import threading
from collections import deque
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from rrmbench.bench import identity, reference
from rrmbench.bench.children import Children
from rrmbench.bench.environment import environment
from rrmbench.bench.identity import Identities
from rrmbench.bench.rates import Rates, entries_of
from rrmbench.bench.store import FINAL, Experiment, Result, UnreadableFile, bounds, size_of
from rrmbench.bench.timing import repeated, untimed
from rrmbench.bench.worker import Task, child
from rrmbench.errors import printable
from rrmbench.problem.certificate import suspects


@dataclass
class Report:
    """What a call of `run_experiment` did: the statuses of its runs, and what it found."""

    directory: Path
    statuses: dict = field(default_factory=dict)
    kept: int = 0
    older: int = 0
    skipped: list = field(default_factory=list)
    interrupted: bool = False

    @property
    def ok(self):
        return not self.interrupted and all(status == "done" for status in self.statuses.values())


def run_experiment(
    plan, output, *, jobs, whole=True, retry=(), fresh=False, backend="threading", progress=None, timing=None
):
    """Run what is missing of a Plan under `output`/<name>; return a Report.

    whole : False keeps the manifest's other runs (the plan was cut down by `--only`)
    retry : statuses to run again beside failed, killed and interrupted ones
    fresh : run everything again
    backend : a joblib backend; its workers wait on children of this machine's fork server
    progress : a display as in `rrmbench.report.display`, or None
    timing : a `rrmbench.bench.timing.Timing`; runs with fewer repeats than it asks for are run again
    """
    experiment = Experiment.inside(output, plan.name)
    identities = Identities()
    runs = [identities.run(spec) for spec in plan.runs]
    report = Report(experiment.directory, skipped=plan.skipped)
    with experiment.lock():
        where, facts = environment(jobs)
        experiment.write_manifest(_manifest(experiment, plan, runs, whole, {where: facts}))
        known = {} if fresh else experiment.statuses(run.run for run in runs)
        if timing is not None:
            for run in untimed(experiment, known, timing.repeats):
                del known[run]
        final = FINAL - set(retry)
        missing = [run for run in runs if known.get(run.run) not in final]
        report.statuses = {run.run: known[run.run] for run in runs if known.get(run.run) in final}
        report.kept = len(report.statuses)
        report.older = _older(experiment, missing)
        scheduler = Scheduler(experiment, plan, jobs, backend, where, progress, timing)
        with scheduler.interruptible():
            left = scheduler.extra(runs)
            scheduler.execute(missing, report.statuses, plan.name, left)
            scheduler.refer(runs, identities, left)
        report.interrupted = scheduler.children.interrupted.is_set()
    return report


def _manifest(experiment, plan, runs, whole, environments):
    entries = {run.spec_id: run.entry | {"tuned": plan.tuned_keys(run.spec)} for run in runs}
    try:
        old = experiment.manifest()
    except Exception:  # none yet, or damaged: it is only a list of what was asked for
        old = {}
    if not whole:
        replaced = {_method(entry["spec"]) for entry in entries.values()}
        kept = [entry for entry in old.get("runs", []) if _method(entry["spec"]) not in replaced]
        entries = {entry["spec_id"]: entry for entry in kept} | entries
    return {
        "name": plan.name,
        "config": plan.config,
        "plot": plan.plot,
        "runs": list(entries.values()),
        "skipped": [{"spec": spec, "reason": reason} for spec, reason in plan.skipped],
        "environments": old.get("environments", {}) | environments,
    }


def _method(spec):
    """What a run of a spec replaces in a manifest: the same method and seed, however long it ran, on whatever file."""
    return identity.canonical({key: value for key, value in spec.items() if key not in ("stop", "trace")})


def _older(experiment, missing):
    """How many of the missing runs have a result of other code."""
    ids = experiment.run_ids()
    specs = {run.partition("-")[0] for run in ids}
    return sum(run.spec_id in specs and run.run not in ids for run in missing)


class Scheduler:
    """Runs in parallel by joblib, results written by this one thread."""

    def __init__(self, experiment, plan, jobs, backend, environment_id, progress, timing=None):
        self.experiment, self.plan, self.jobs, self.backend = experiment, plan, jobs, backend
        self.environment = environment_id
        self.progress, self.timing = progress, timing
        self.children = Children()
        self.rates = Rates.here()

    @contextmanager
    def interruptible(self):
        """Ctrl-C and SIGTERM set the flag that ends all children; a second Ctrl-C acts at once."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number, frame):
            self.children.interrupted.set()
            signal.signal(signal.SIGINT, signal.default_int_handler)

        before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def execute(self, runs, statuses, what, extra=()):
        """Run all of `runs`, store each result, and note its status; `what` is said of them on the display.

        extra : (Run, spec) of the extra runs that may follow, for the display
        """
        from joblib import Parallel, delayed, parallel_config

        if not runs:
            return
        self.children.prepare()
        if self.progress:
            self.progress.begin(
                runs, what, self.rates.expected(runs, self.jobs, extra, self.timing.repeats if self.timing else 1)
            )
        with parallel_config(backend=self.backend):
            outcomes = Parallel(n_jobs=self.jobs, batch_size=1, return_as="generator_unordered")(
                delayed(self._one)(run) for run in runs
            )
            try:
                for run, outcome in outcomes:
                    if outcome is not None:
                        statuses[run.run] = self._store(run, outcome)
            except BaseException:  # a full disk, say: end the children, too, and let joblib's threads come home
                self.children.interrupted.set()
                deque(outcomes, maxlen=0)
                raise
            finally:
                self.rates.save()

    def _store(self, run, outcome):
        result = self._result(run, outcome)
        found = *bounds(result.trace), size_of(result.trace)
        self.experiment.withdraw(run.problem, run.run)
        wrong = self.experiment.contradiction(run.problem, run.run, *found)
        if wrong:
            result.status, result.reason = (
                "failed",
                f"{wrong}: {suspects(*(run.spec[kind]['name'] for kind in ('loss', 'regularizer')))}",
            )
        self.experiment.write(result)
        self.rates.learn(run.spec, entries_of(run.prepared), result)
        if not wrong and not outcome.facts.get("contradiction"):  # certificates of other failed runs count as well
            primal, dual, size = found
            self.experiment.improve_reference(run.problem, run.asked, primal, dual, run.run, size)
        if self.progress:
            self.progress.end(run, result)
        return result.status

    def _one(self, run):
        progress = self.progress

        def on_row(row):
            if progress:
                progress.row(run, row)

        if progress and not self.children.interrupted.is_set():
            progress.start(run)
        core = self.timing.core if self.timing else None
        task = Task(run.spec, run.prepared.key, self.plan.plugins, run.files, run.stamp, core)

        def once():
            return self.children.run(child, task, self.plan.limit, on_row)

        return run, repeated(once, self.timing) if self.timing else once()

    def _result(self, run, outcome):
        facts = dict(outcome.facts)
        if "traceback" in facts:
            facts["traceback"] = printable(facts["traceback"])
        w, b = facts.pop("w", None), facts.pop("b", None)
        columns = dict.fromkeys(key for row in outcome.rows for key in row)
        return Result(
            run=run.run,
            spec_id=run.spec_id,
            problem=run.problem,
            data=run.prepared.checksum,
            code=run.code,
            spec=run.spec,
            status=outcome.status,
            reason=printable(outcome.reason),
            created=datetime.now(UTC).isoformat(),
            info=facts
            | {
                "concurrent_runs": outcome.concurrent_runs,
                "environment": self.environment,
                "wall_seconds": outcome.wall_seconds,
            },
            trace={key: np.array([row.get(key, math.nan) for row in outcome.rows]) for key in columns},
            w=w,
            b=b,
        )

    def extra(self, runs):
        """[(one Run, spec of the extra run)] of the problems whose optimum is open."""
        if self.plan.reference is None:
            return []
        problems = {run.problem: run for run in runs}
        left = [run for problem, run in problems.items() if not self._is_pinned(problem)]
        return [(run, reference.spec(run.spec, self.plan.reference["seconds"])) for run in left]

    def _is_pinned(self, problem):
        try:
            return reference.pinned(self.experiment.reference(problem))
        except UnreadableFile:  # a damaged one is made again from the runs
            return False

    def refer(self, runs, identities, left):
        """Pin the optimum of every problem by an extra run where the experiment's own do not.

        left : what `extra` said before these were run
        """
        wanted = self.extra(runs)
        for run, _ in left:
            self.rates.learn_reference(run.spec, any(run.problem == other.problem for other, _ in wanted))
        extra = [identities.run(spec) for _, spec in wanted]
        known = self.experiment.statuses(run.run for run in extra)
        extra = [run for run in extra if known.get(run.run) not in FINAL]
        self.timing = None  # nobody asks how long these take
        self.execute(extra, {}, f"{self.plan.name}, reference optima")
