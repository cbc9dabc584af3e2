"""`rrmbench run`: the experiments one after the other, with their summaries."""

from rrmbench.commands import PLAIN
from rrmbench.errors import RrmbenchError, nearest


def run(plans, output, *, backend, scheduler, **options):
    """Run all plans on this machine or on a cluster and print the summary; return the exit code."""
    from rrmbench.bench import backends

    with backends.opened(backend, scheduler) as cluster:
        return _run(plans, output, cluster=cluster, **options)


def _run(plans, output, *, cluster, jobs, retry, fresh, whole, console, summary, quiet):
    from joblib import cpu_count

    from rrmbench.bench.runner import run_experiment
    from rrmbench.bench.store import STATUSES
    from rrmbench.report import show
    from rrmbench.report.display import progress_on

    _check_names(plans)
    for status in retry:
        if status not in STATUSES:
            raise RrmbenchError(
                f"--retry: found '{status}', allowed is {', '.join(STATUSES)}{nearest(status, STATUSES)}"
            )
    exit_code = 0
    threads = cluster.threads if cluster else cpu_count(only_physical_cores=True)
    for plan in plans:
        progress = progress_on(console, quiet)
        try:
            report = run_experiment(
                plan,
                output,
                jobs=min(jobs or (1 if plan.serial else threads), len(plan.runs)),
                whole=whole,
                retry=retry,
                fresh=fresh,
                cluster=cluster,
                progress=progress,
            )
        finally:
            if progress:
                progress.close()
        if report.interrupted:
            console.print(
                f"interrupted; finished runs are kept in {report.directory}, the same command runs the rest", **PLAIN
            )
            return 130
        summary.print(show.summary(report.directory))
        for line in _closing(report):
            summary.print(line, **PLAIN)
        print(report.directory)
        exit_code = max(exit_code, int(not report.ok))
    return exit_code


def _check_names(plans):
    """An experiment's name is its folder: two files of one name would replace each other's manifest."""
    first = {}
    for plan in plans:
        if plan.name in first:
            raise RrmbenchError(f"{plan.path}: the name '{plan.name}' is that of {first[plan.name]} too; rename one")
        first[plan.name] = plan.path


def _closing(report):
    if report.kept:
        yield f"{report.kept} of {len(report.statuses)} runs were done before and were kept (--fresh runs them again)"
    if report.older:
        yield f"{report.older} results belong to older code; they are kept, and run again"
    reasons = dict.fromkeys(reason for _, reason in report.skipped)
    for reason in reasons:
        count = sum(reason == other for _, other in report.skipped)
        yield f"skipped {count}: {reason}"
