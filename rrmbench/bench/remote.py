"""A worker of a Dask cluster: its tasks wait on child processes of its machine, as threads of joblib do locally.

The worker's own process imports no component and no plug-in. It may be days old, so it refuses callers whose modules
that talk to it are others, and its children are asked which code is on disk.
"""

import asyncio
import multiprocessing
import socket
import sys
import threading
import time
from dataclasses import dataclass
from functools import cache

from distributed import get_worker
from distributed.diagnostics.plugin import WorkerPlugin

from rrmbench import fingerprint
from rrmbench.bench import shipped
from rrmbench.bench.children import IMPORTING, Children, Outcome
from rrmbench.bench.environment import environment
from rrmbench.bench.goods import Goods, localized
from rrmbench.errors import RrmbenchError
from rrmbench.folders import cache_root

LIVE = 0.5  # seconds between rows of a run that are shown live
UNWANTED = ("cancelled", "released", "forgotten", "error")


@dataclass(frozen=True)
class Order:
    """A run as a task of the cluster: the caller's spec and the digest of its code, and what the run needs.

    goods : Goods of its prepared data, and of plug-ins where there are any
    plugins, own : the caller's paths of plug-in files, of all runs and of this one
    jobs : the tasks at a time of the caller, for the record of the environment
    protocol : `shipped.PROTOCOL` of the caller
    """

    run: str
    spec: dict
    code: str
    data: Goods
    parcel: Goods | None
    plugins: tuple
    own: tuple
    limit: float
    jobs: int
    protocol: str = shipped.PROTOCOL

    @property
    def goods(self):
        return [goods for goods in (self.data, self.parcel) if goods is not None]


@dataclass(frozen=True)
class Lacking:
    """What a task returns whose worker lacks goods: the address of the worker, and the goods."""

    worker: str
    goods: list


class Station(WorkerPlugin):
    """What a worker keeps of one call of the command. It exists while the command does.

    session : names the call
    """

    def __init__(self, session):
        self.name = f"rrmbench-{session}"

    def setup(self, worker):
        self.worker, self.interrupted = worker, threading.Event()
        self.environments, self._places = {}, {}
        self._unwanted, self._answers, self._found = {}, {}, set()
        self._asking = threading.Lock()

    def teardown(self, worker):
        self.interrupt()

    def transition(self, key, start, finish, **more):
        """Dask says here that a task is cancelled, whose client is gone, say: nobody wants its run any more."""
        flag = self._unwanted.get(key)
        if flag is not None and finish in UNWANTED:
            flag.set()

    def interrupt(self):
        """End all runs of the call, and start no other."""
        self.interrupted.set()
        for flag in list(self._unwanted.values()):
            flag.set()

    def run(self, order):
        """The Outcome of an order, Lacking, or None where the call was interrupted before."""
        key = self.worker.get_current_task()
        unwanted = self._unwanted[key] = threading.Event()
        try:
            if self.interrupted.is_set():
                return None
            if order.protocol != shipped.PROTOCOL:
                raise RrmbenchError("refused: this worker runs another version of rrmbench; start it again")
            if lacking := self.lacking(order):
                return Lacking(self.worker.address, lacking)
            task = self._task(order)
            self._tell(order, "start", {})
            outcome = children().run(shipped.child, task, order.limit, self._rows(order), unwanted)
        except Exception as error:  # anything else than an outcome would end the whole command
            why = str(error) if isinstance(error, RrmbenchError) else f"{type(error).__name__}: {error}"
            outcome = Outcome("failed", f"worker {self.worker.address} on {socket.gethostname()}: {why}")
        finally:
            del self._unwanted[key]
        if outcome is not None:
            outcome.origin = {"environment": self.environment(order)[0], "worker": self.worker.address}
        return outcome

    def environment(self, order):
        """(id, facts) of this machine as it runs an order."""
        if order.jobs not in self._places:
            self._places[order.jobs] = environment(order.jobs, host=socket.gethostname(), backend="dask")
        name, facts = self._places[order.jobs]
        self.environments[name] = facts
        return name, facts

    def lacking(self, order):
        """The goods of an order that are not in the cache of this machine."""
        missing = []
        for goods in order.goods:
            if goods not in self._found and goods.here():
                self._found.add(goods)
            if goods not in self._found or not goods.folder.is_dir():
                self._found.discard(goods)
                missing.append(goods)
        return missing

    def survey(self, orders):
        """Ask a child for the code of orders whose code is not known yet; RrmbenchError if it cannot tell."""
        with self._asking:
            asked = {o.code: localized(o.spec, o.parcel) for o in orders if o.code not in self._answers}
            if not asked:
                return
            plugins, folder = _of_parcel(orders[0].plugins, orders[0])
            for _ in range(2):
                outcome = children().run(shipped.survey, (asked, plugins, folder), IMPORTING)
                if outcome.reason != shipped.STALE:
                    break
                children().renew()
            if outcome.status != "done":
                raise RrmbenchError(outcome.reason)
            self._answers |= outcome.facts["answers"]

    def refusal(self, order):
        """Why the code of an order cannot be run here, or None; RrmbenchError where that cannot be told."""
        self.survey([order])
        answer = self._answers[order.code]
        if isinstance(answer, str):
            return answer
        if answer[0] == order.code:
            return None
        python = ".".join(map(str, sys.version_info[:3]))
        return (
            f"other code than the caller's (digest {answer[0][:8]} here, {order.code[:8]} there; Python {python},"
            f" {fingerprint.PACKAGE}): a number of it would carry the wrong name"
        )

    def _task(self, order):
        """The (fields of a Task, folder of plug-ins) of an order; RrmbenchError where this worker must not run it."""
        if refused := self.refusal(order):
            raise RrmbenchError(f"refused: {refused}")
        _, stamps = self._answers[order.code]
        plugins, folder = _of_parcel(order.own, order)
        spec = localized(order.spec, order.parcel)
        fields = {"spec": spec, "data_key": order.data.key, "plugins": plugins, "stamps": stamps}
        return fields, folder

    def _rows(self, order):
        shown = -LIVE

        def on_row(row):
            nonlocal shown
            if time.monotonic() - shown >= LIVE:
                shown = time.monotonic()
                self._tell(order, "row", {name: float(value) for name, value in row.items()})

        return on_row

    def _tell(self, order, what, row):
        place = {"run": order.run, "what": what, "row": row, "worker": self.worker.address, "host": self.worker.ip}
        self.worker.log_event(self.name, place)


def _of_parcel(plugins, order):
    """(plug-in files here, the folder of those of all runs or None) of the caller's paths of an order."""
    if order.parcel is None:
        return (), None
    return localized(plugins, order.parcel), order.parcel.folder


@cache
def children():
    """The Children of this process, whoever calls."""
    main = sys.modules["__main__"]
    main.__spec__ = main.__file__ = None  # children would import Dask's command line
    multiprocessing.current_process().daemon = False  # a nanny's process may have no children otherwise
    return Children()


def execute(name, order):
    """A task: (id of the run, what `Station.run` says)."""
    worker = get_worker()
    if name not in worker.plugins:
        return order.run, Outcome("failed", f"worker {worker.address}: has no station for this command; see its log")
    return order.run, worker.plugins[name].run(order)


# what the caller has each worker do, outside of its tasks


def introduced():
    """(digest of the modules that talk to the caller, machine, folder of its cache)."""
    return shipped.PROTOCOL, socket.gethostname(), str(cache_root())


async def ready(name, orders, dask_worker):
    """(goods that this worker lacks for orders, why it refuses their code or None, its environment)."""
    return await asyncio.to_thread(_ready, dask_worker.plugins[name], orders)


def _ready(station, orders):
    missing = dict.fromkeys(goods for order in orders for goods in station.lacking(order))
    refused = None
    if not any(order.parcel in missing for order in orders):
        try:
            station.survey(orders)
            refused = next(filter(None, map(station.refusal, orders)), None)
        except RrmbenchError as error:
            refused = str(error)
    return list(missing), refused, station.environment(orders[0])


def described(name, dask_worker):
    """The environments that results of this worker name, {id: facts}."""
    return dask_worker.plugins[name].environments


async def receive(sender, goods, name, offset, piece):
    """Take a piece of goods."""
    await asyncio.to_thread(goods.receive, sender, name, offset, piece)


async def complete(sender, goods):
    """Put goods into their place that have arrived whole."""
    await asyncio.to_thread(goods.complete, sender)


def interrupt(name, dask_worker):
    """End all runs of a call."""
    if name in dask_worker.plugins:
        dask_worker.plugins[name].interrupt()
