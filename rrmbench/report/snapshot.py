"""An experiment as it is at one moment, read once: what several readers then say of it agrees, while runs go on."""

from functools import cache, cached_property

from rrmbench.bench.store import Experiment


class Snapshot(Experiment):
    """An Experiment whose manifest, results and references are each read at their first use and kept.

    Runs that end between the reading of the manifest and that of the results are in it, as in any reader.
    """

    @cached_property
    def _manifest(self):
        return super().manifest()

    @cached_property
    def _results(self):
        return super().results()

    @cached_property
    def _reference(self):
        return cache(super().reference)

    def manifest(self):
        return self._manifest

    def results(self):
        return self._results

    def reference(self, problem):
        return self._reference(problem)
