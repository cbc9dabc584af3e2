"""An experiment as readers see it: of one manifest, though runs may go on while it is read."""

from functools import cached_property

from rrmbench.bench.store import Experiment


class Snapshot(Experiment):
    """An Experiment whose manifest is read at its first use and kept.

    Runs that end between the reading of the manifest and that of the results are in it.
    """

    @cached_property
    def _manifest(self):
        return super().manifest()

    def manifest(self):
        return self._manifest
