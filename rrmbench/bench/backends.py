"""Where runs are executed: in child processes of this machine, or on a Dask cluster. Either way by joblib.

A backend has `jobs` (runs at a time), `interrupted` (a flag that ends all runs), `environment` (id and facts of the
machine, None for a cluster, whose outcomes say where they are from), `prepare` and `outcomes`.
"""

from contextlib import contextmanager

from rrmbench.bench.children import Children
from rrmbench.bench.environment import environment, physical_cores
from rrmbench.errors import RrmbenchError, nearest

NAMES = ("local", "dask")


def jobs_of(plan, jobs, threads=None):
    """The runs at a time: `jobs`, else the threads of a cluster or the physical cores, or 1 to plot seconds."""
    return min(jobs or (1 if plan.serial else threads or physical_cores()), len(plan.runs))


class Local:
    """joblib's threads wait on children of this machine's fork server.

    timing : a `rrmbench.bench.timing.Timing` by which every run is repeated, or None
    """

    def __init__(self, jobs, timing=None):
        self.jobs, self.timing = jobs, timing
        self.environment = environment(jobs)
        self._children = Children()
        self.interrupted = self._children.interrupted

    def prepare(self):
        """Import what every run needs, which no run is to be charged with."""
        self._children.prepare()

    def outcomes(self, runs, plan, progress):
        """Yield (run, Outcome) of all runs as they end, without those that an interrupt left out."""
        from joblib import Parallel, delayed

        from rrmbench.bench.identity import plugins_of
        from rrmbench.bench.timing import repeated
        from rrmbench.bench.worker import Task, child

        timing = self.timing
        core = timing.core if timing else None
        own = {run.run: plugins_of(run.spec, plan.plugins) for run in runs}

        def one(run):
            if not self.interrupted.is_set():
                progress.start(run)
            task = Task(run.spec, run.prepared.key, own[run.run], run.stamps, core)

            def once(repeat=None):
                told = {} if repeat is None else {"repeat": repeat}
                return self._children.run(child, task, plan.limit, lambda row: progress.row(run, row | told))

            return run, repeated(once, timing) if timing else once()

        parallel = Parallel(n_jobs=self.jobs, backend="threading", batch_size=1, return_as="generator_unordered")
        try:
            ended = parallel(delayed(one)(run) for run in runs)
        except RuntimeError as error:  # of the system, which gives no more threads
            raise RrmbenchError(f"-j {self.jobs}: {error}; how many there may be is told by `ulimit -u`") from error
        yield from drained(ended, self.interrupted)


def drained(ended, interrupted):
    """Yield the (run, Outcome) of joblib; where the caller stops early, end the others, and let joblib's threads go."""
    try:
        for run, outcome in ended:
            if outcome is not None:
                yield run, outcome
    except BaseException:  # a full disk, say, of which the generator hears by being closed
        interrupted.set()
        for _ in ended:
            pass
        raise


def check(name, scheduler):
    """Raise RrmbenchError for a --backend or --scheduler that is not allowed."""
    if name not in NAMES:
        raise RrmbenchError(f"--backend: found '{name}', allowed is {', '.join(NAMES)}{nearest(name, NAMES)}")
    if name == "local" and scheduler is not None:
        raise RrmbenchError("--scheduler: has no effect without --backend dask")


@contextmanager
def opened(name, scheduler):
    """The Cluster of the options --backend and --scheduler, checked before, or None for this machine."""
    if name == "local":
        yield None
        return
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise RrmbenchError("--backend dask needs the extra 'dask': pip install 'rrmbench[dask]'") from None
    from rrmbench.bench.cluster import Cluster

    cluster = Cluster(scheduler)
    try:
        yield cluster
    finally:
        cluster.close()
