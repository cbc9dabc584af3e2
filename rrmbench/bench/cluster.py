"""Runs on a Dask cluster through joblib's Dask backend: a task is a run, in a child process on a worker's machine.

Data and plug-ins are sent to caches of machines that lack them, before tasks and when a worker joins later. Tasks hold
no data, so that Dask may run those of a worker that dies on another one.
"""

import json
import logging
import socket
import threading
import uuid
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path

from distributed import Client
from distributed.comm import get_address_host_port
from joblib import Parallel, delayed, parallel_config, register_parallel_backend
from joblib._dask import DaskDistributedBackend

from rrmbench.bench import goods, identity, remote, shipped
from rrmbench.bench.backends import drained
from rrmbench.bench.children import Outcome
from rrmbench.errors import RrmbenchError, printable

CONNECTING = 10.0  # seconds for a scheduler to answer
FIRST_WORKER = 60.0  # seconds for the first worker to be there
ENDING = 10.0  # seconds for workers to end their runs after an interrupt
TRIES = 3  # to send goods to a worker


class Backend(DaskDistributedBackend):
    """joblib's, for clusters of one thread too, and for tasks that Dask gives up because their workers died."""

    def effective_n_jobs(self, n_jobs):
        return max(2, super().effective_n_jobs(n_jobs))  # for 1 joblib would run everything in this process

    def submit(self, func, callback=None):
        future = super().submit(func, callback)
        (_, (_, order), _), *_ = func.items

        def given_up(future):
            error = future.exception()
            if error is not None:  # of which joblib does not hear otherwise
                reason = f"given up by the cluster ({type(error).__name__}: {error})"
                callback([(order.run, Outcome("killed", reason))])

        future.add_done_callback(given_up)
        return future


def _address(scheduler):
    """The address that is meant: itself, or what the scheduler's file says. A client of another never gives up."""
    if not Path(scheduler).is_file():
        try:
            get_address_host_port(scheduler)
        except ValueError as error:
            allowed = "an address like tcp://host:8786, or the scheduler's file"
            raise RrmbenchError(
                f"--scheduler: found '{scheduler}', no file and no address ({error}); allowed is {allowed}"
            ) from None
        return scheduler
    address = None
    with suppress(OSError, ValueError, LookupError, TypeError):
        address = json.loads(Path(scheduler).read_text())["address"]
    if not isinstance(address, str):
        written = "found no file of a Dask scheduler (dask scheduler --scheduler-file)"
        raise RrmbenchError(f"--scheduler {scheduler}: {written}")
    return address


class Cluster:
    """A connection to a Dask scheduler at an address, or in the file that it writes (--scheduler-file).

    The backend of `rrmbench.bench.runner`; `jobs` is set before use.
    """

    environment = None

    def __init__(self, scheduler):
        if scheduler is None:
            raise RrmbenchError(
                "--backend dask needs --scheduler ADDRESS, like tcp://host:8786, or the scheduler's file"
            )
        self.scheduler, self.session = scheduler, f"{socket.gethostname()}-{uuid.uuid4().hex[:12]}"
        logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is one message of this command
        address = _address(scheduler)
        try:
            self.client = Client(address, timeout=CONNECTING, set_as_default=False, name="rrmbench")
            self.client.wait_for_workers(1, timeout=FIRST_WORKER)
        except (OSError, ValueError, TimeoutError) as error:
            if hasattr(self, "client"):
                self.client.close(timeout=1)
                raise RrmbenchError(f"--scheduler {scheduler}: no worker within {FIRST_WORKER:g} s") from None
            raise RrmbenchError(f"--scheduler {scheduler}: {str(error) or type(error).__name__}") from None
        self.jobs = self.threads
        self.interrupted = threading.Event()
        self.environments = {}
        self._station = None
        self._asked = {}  # (worker, goods): how often a task lacked them

    @property
    def threads(self):
        """The threads of all workers."""
        return sum(self.client.nthreads().values())

    def close(self):
        """Leave the cluster as it was before, and nothing running there."""
        with suppress(Exception):
            if self._station is not None:
                self.client.unregister_worker_plugin(self._station)
        self.client.close(timeout=ENDING)

    def prepare(self):
        """Nothing: workers have imported everything when they answer."""

    def outcomes(self, runs, plan, progress):
        """Yield (run, Outcome) of all runs as they end, without those that an interrupt left out."""
        parcel = goods.plugins(plan.plugins, [run.spec for run in runs])
        orders = {run.run: self._order(run, plan, parcel) for run in runs}
        self._register()
        self._prepare(list(orders.values()))
        watch = _Watch(runs, progress)
        self.client.subscribe_topic(self._station, watch.event)
        over = threading.Event()
        threading.Thread(target=self._end_when_interrupted, args=(over,), daemon=True).start()
        try:
            while orders and not self.interrupted.is_set():
                before = len(orders)
                for name, outcome in self._executed(list(orders.values())):
                    if isinstance(outcome, remote.Lacking):
                        self._send_to(outcome.worker, outcome.goods)
                    elif outcome.status != "interrupted" or self.interrupted.is_set():
                        del orders[name]
                        yield watch.ended(name, outcome), outcome
                if len(orders) == before and not self.client.nthreads():
                    raise RrmbenchError(f"--scheduler {self.scheduler}: its workers are gone")
        finally:
            over.set()
            self.client.unsubscribe_topic(self._station)

    def _order(self, run, plan, parcel):
        plugins, own = tuple(map(str, plan.plugins)), tuple(map(str, identity.plugins_of(run.spec, plan.plugins)))
        data = goods.prepared(run.prepared.key)
        return remote.Order(run.run, run.spec, run.code, data, parcel, plugins, own, plan.limit, self.jobs)

    def _executed(self, orders):
        """Yield (id of a run, Outcome or Lacking) of one round of tasks."""
        register_parallel_backend("rrmbench_dask", Backend)
        with parallel_config("rrmbench_dask", client=self.client, pure=False):
            parallel = Parallel(n_jobs=self.jobs, pre_dispatch=self.jobs, batch_size=1, return_as="generator_unordered")
            ended = parallel(delayed(remote.execute)(self._station, order) for order in orders)
        try:
            yield from drained(ended, self.interrupted)
        except CancelledError:
            what = "a task was cancelled there" if self.client.status == "running" else "lost the scheduler"
            raise RrmbenchError(
                f"--scheduler {self.scheduler}: {what}; finished runs are kept, the same command runs the rest"
            ) from None

    def _register(self):
        """Have a station on every worker, also on those that come later."""
        if self._station is not None:
            return
        for worker, found in self.client.run(remote.introduced, on_error="return").items():
            if isinstance(found, Exception):
                raise RrmbenchError(f"worker {worker}: has no rrmbench like this one ({type(found).__name__}: {found})")
            if found[0] != shipped.PROTOCOL:
                raise RrmbenchError(f"worker {worker} on {found[1]}: runs another version of rrmbench; start it again")
        station = remote.Station(self.session)
        self.client.register_plugin(station)
        self._station = station.name

    def _prepare(self, orders):
        """Send what workers lack, and hear from all whether they have the same code."""
        asked = list({(order.code, order.data): order for order in orders}.values())
        for _ in range(TRIES):
            found = self._ask(asked)
            lacking = {worker: missing for worker, (missing, _, _) in found.items() if missing}
            if not lacking:
                return
            for needed in dict.fromkeys(one for missing in lacking.values() for one in missing):
                self._send(needed, [worker for worker, missing in lacking.items() if needed in missing])
        raise RrmbenchError(f"worker {next(iter(lacking))}: what it is sent does not stay in its cache")

    def _ask(self, orders):
        """{worker: (goods that it lacks, None, environment)}; RrmbenchError where one refuses the code."""
        found = self.client.run(remote.ready, self._station, orders, on_error="return")
        found = {worker: answer for worker, answer in found.items() if not isinstance(answer, OSError)}  # it died
        for worker, answer in found.items():
            if isinstance(answer, Exception):
                raise RrmbenchError(f"worker {worker}: {printable(str(answer))}")
            _, refused, (name, facts) = answer
            if refused:
                raise RrmbenchError(f"worker {worker} on {facts['host']}: refused: {refused}")
            self.environments[name] = facts
        return found

    def _send(self, needed, workers):
        """Send goods to one worker of each cache among `workers`."""
        places = self.client.run(remote.introduced, workers=workers, on_error="ignore")
        chosen = list({place: worker for worker, place in places.items()}.values())
        for name, offset, piece in needed.pieces():
            self.client.run(remote.receive, self.session, needed, name, offset, piece, workers=chosen)
        self.client.run(remote.complete, self.session, needed, workers=chosen)

    def _send_to(self, worker, missing):
        """Send goods to a worker that came after `_prepare`."""
        for needed in missing:
            asked = self._asked.get((worker, needed), 0)
            self._asked[worker, needed] = asked + 1
            tries, beside = divmod(asked, self.jobs + 1)
            if tries == TRIES:
                raise RrmbenchError(f"worker {worker}: what it is sent does not stay in its cache")
            if beside == 0:  # others of its tasks may ask at the same time
                with suppress(OSError):  # it is gone again
                    self._send(needed, [worker])

    def environment_of(self, name):
        """The facts of an environment, asked for where a worker came later; {} where it is gone."""
        if name not in self.environments:
            answers = self.client.run(remote.described, self._station, on_error="ignore")
            for answer in answers.values():
                self.environments |= answer
        return self.environments.get(name, {})

    def _end_when_interrupted(self, over):
        while not over.is_set():
            if self.interrupted.wait(0.1):
                with suppress(Exception):
                    self.client.run(remote.interrupt, self._station, on_error="ignore")
                if not over.wait(ENDING):
                    self.client.close(timeout=1)
                return


class _Watch:
    """What workers tell of runs, for the display, and how many runs a machine had at a time."""

    def __init__(self, runs, progress):
        self.runs = {run.run: run for run in runs}
        self.progress = progress
        self._active, self._started, self._together = {}, set(), {}
        self._lock = threading.Lock()

    def event(self, event):
        """A worker has started a run, or has a row of it; what comes after its end is dropped."""
        _, told = event
        with self._lock:
            run = self.runs.get(told["run"])
            if run is None:
                return
            if told["what"] == "start":
                self._start(run)
                self._active[run.run] = told["host"]
                beside = [name for name, host in self._active.items() if host == told["host"]]
                for name in beside:
                    self._together[name] = max(self._together.get(name, 1), len(beside))
            elif run.run in self._started:
                self.progress.row(run, told["row"])

    def ended(self, name, outcome):
        """The run of this id, whose Outcome is here."""
        with self._lock:
            run = self.runs.pop(name)
            self._start(run)
            self._active.pop(name, None)
            outcome.concurrent_runs = max(outcome.concurrent_runs, self._together.get(name, 1))
        return run

    def _start(self, run):
        if run.run not in self._started:
            self._started.add(run.run)
            self.progress.start(run)
