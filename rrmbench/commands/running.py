"""`rrmbench run`: the experiments one after the other, with their summaries."""

from rrmbench.commands import PLAIN
from rrmbench.errors import RrmbenchError, nearest


def check_options(backend, scheduler, retry):
    """Raise RrmbenchError for a --backend, a --scheduler or a --retry that is not allowed."""
    from rrmbench.bench import backends
    from rrmbench.bench.store import STATUSES

    backends.check(backend, scheduler)
    for status in retry:
        if status not in STATUSES:
            raise RrmbenchError(
                f"--retry: found '{status}', allowed is {', '.join(STATUSES)}{nearest(status, STATUSES)}"
            )


def run(plans, output, *, backend, scheduler, **options):
    """Run all plans on this machine or on a cluster, by options that `check_options` let pass; return the exit code.

    The summary is printed, or given to `events`. timing : a `rrmbench.bench.timing.Timing`, or None
    """
    from rrmbench.bench import backends

    with backends.opened(backend, scheduler) as cluster:
        return _run(plans, output, cluster=cluster, **options)


def timing_of(wanted, repeats, jobs, backend):
    """The Timing of `--timing`, None where it is not `wanted`; RrmbenchError for options that contradict it."""
    from rrmbench.bench.timing import REPEATS, Timing

    if not wanted:
        if repeats is not None:
            raise RrmbenchError(f"--repeats: found {repeats} without --timing, which repeats runs")
        return None
    if (jobs or 1) > 1:
        raise RrmbenchError(f"--timing: runs are timed one at a time, found --jobs {jobs}, allowed is 1")
    if backend != "local":
        raise RrmbenchError(f"--timing: runs are timed on this machine, found --backend {backend}, allowed is local")
    return Timing.of(repeats or REPEATS)


def _run(plans, output, *, cluster, jobs, retry, fresh, whole, console, summary, quiet, timing=None, events=None):
    from rrmbench.bench.backends import jobs_of
    from rrmbench.bench.guarded import Guarded
    from rrmbench.bench.runner import run_experiment
    from rrmbench.report.display import progress_on

    exit_code = 0
    out, aside = Guarded(events or _Summaries(summary, quiet)), Guarded(console)
    for warning in timing.warnings() if timing else ():
        aside.print(f"--timing: {warning}", **PLAIN)
    for plan in plans:
        for spec, reason in plan.skipped:
            out.skipped(plan.name, spec, reason)
        report = run_experiment(
            plan,
            output,
            jobs=1 if timing else jobs_of(plan, jobs, cluster and cluster.threads),
            whole=whole,
            retry=retry,
            fresh=fresh,
            cluster=cluster,
            progress=out if events else progress_on(console, quiet),
            timing=timing,
        )
        for spec, reason in report.skipped[len(plan.skipped) :]:
            out.skipped(plan.name, spec, reason)
        out.summary(plan.name, report)
        if report.interrupted:
            aside.print(
                f"interrupted; finished runs are kept in {report.directory}, the same command runs the rest", **PLAIN
            )
            return 130
        if quiet and report.timed_out:  # for which the exit code is 1
            aside.print(_timed_out(report), **PLAIN)
        if report.lost:
            aside.print(_lost(report), **PLAIN)
        exit_code = max(exit_code, int(not report.ok or out.failed))
    return exit_code


class _Summaries:
    """What is printed of experiments that are over, as `rrmbench.report.events.Events` writes it for programs."""

    def __init__(self, console, quiet):
        self.console, self.quiet = console, quiet

    def skipped(self, experiment, spec, reason):
        """A combination is not run, of which the summary tells."""

    def summary(self, experiment, report):
        """The table, what else there is to say, and the path."""
        from rrmbench.report import show

        if report.interrupted:
            return
        if not self.quiet:
            self.console.print(show.summary(report.directory))
            for line in _closing(report):
                self.console.print(line, **PLAIN)
        print(report.directory, flush=True)

    def close(self):
        """Nothing is left to print."""


def _timed_out(report):
    verb, them = ("was", "it") if report.timed_out == 1 else ("were", "them")
    return f"{report.timed_out} timed out before and {verb} kept (--retry timeout runs {them} again)"


def _lost(report):
    count = len(report.lost)
    what = "1 result of these runs is" if count == 1 else f"{count} results of these runs are"
    first = "It is" if count == 1 else "The first is"
    return (
        f"{what} not there, or cannot be read: was {report.directory} changed meanwhile? "
        f"{first} runs/{report.lost[0]}.npz"
    )


def _they(count):
    return "it is" if count == 1 else "they are"


def _closing(report):
    done = report.kept - report.timed_out
    if done:
        total = len(report.statuses)
        runs, verb, them = "run" if total == 1 else "runs", *(("was", "it") if done == 1 else ("were", "them"))
        yield f"{done} of {total} {runs} {verb} done before and {verb} kept (--fresh runs {them} again)"
    if report.timed_out:
        yield _timed_out(report)
    if report.older:
        what = "1 result belongs" if report.older == 1 else f"{report.older} results belong"
        yield f"{what} to older code; {_they(report.older)} kept, and run again"
    if report.replaced:
        what = "1 result of before is" if report.replaced == 1 else f"{report.replaced} results of before are"
        kept = f"{_they(report.replaced)} kept, and not shown (rrmbench clean --unasked lists what may go)"
        yield f"{what} asked for no longer; {kept}"
    reasons = dict.fromkeys(reason for _, reason in report.skipped)
    for reason in reasons:
        count = sum(reason == other for _, other in report.skipped)
        yield f"skipped {count}: {reason}"
