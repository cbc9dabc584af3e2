"""Data sets that a function makes, registered with `@rrmbench.dataset`: made twice, compared, and kept in the cache.

What names the data is the checksum of the arrays. The file in the cache is found by the function's code, with all that
it imports, and its parameters; a function that draws without a seed gives other arrays the second time, and is refused.
"""

import contextlib
import hashlib
import json
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from rrmbench import crashes, fingerprint, loaded_code
from rrmbench.atomic import fresh_path
from rrmbench.data import arrays, checksums, fetch, places
from rrmbench.errors import RrmbenchError, printable
from rrmbench.folders import cache_root, writing_to


@dataclass(frozen=True)
class Generated:
    """A data set that the function of a Component makes with these parameters."""

    component: object
    values: dict

    @property
    def where(self):
        return f"data set '{self.component.name}'"

    def obtain(self):
        """The path of its file of arrays, made if it is not in the cache."""
        if self._has_file():
            return fetch.made(self.component.name, self._recipe(), self._write_checked)
        # of the code of a notebook's function and what it uses no file tells: it is made anew, and its arrays name it
        with self._temporary() as path:
            self._write_checked(path)
            checksum = checksums.checksum_of(path, anew=True)
            return fetch.made(self.component.name, checksum, lambda fresh: shutil.copyfile(path, fresh))

    def is_here(self):
        """Whether `obtain` needs no network."""
        return not self.component.network or fetch.made_file(self.component.name, self._recipe()).is_file()

    def checksum_anew(self):
        """The checksum of the arrays, made now."""
        with self._temporary() as path:
            self._write(path)
            return checksums.checksum_of(path, anew=True)

    @contextlib.contextmanager
    def _temporary(self):
        with writing_to(cache_root() / "made") as folder:
            path = fresh_path(folder)
        try:
            yield path
        finally:
            Path(path).unlink(missing_ok=True)

    def _has_file(self):
        return places.is_file(Path(self.component.source))

    def _code(self):
        """The files of its code, as far as there are any."""
        if not self._has_file():
            return []
        return [*fingerprint.sources_of(self.component.source), *sorted(loaded_code.unforeseen)]

    def _recipe(self):
        values = {key: self.values.get(key, p.default) for key, p in self.component.parameters.items()}
        files = [checksums.checksum_of(v) for k, v in values.items() if self.component.parameters[k].is_path(v)]
        recipe = [self.component.name, values, files, fingerprint.digest(*self._code(), arrays.__file__)]
        try:
            return hashlib.sha256(json.dumps(recipe, sort_keys=True).encode()).hexdigest()
        except (TypeError, ValueError):
            source = printable(self.component.source)
            raise RrmbenchError(f"{source}: the defaults of '{self.component.name}' are no plain values") from None

    def _write_checked(self, path):
        self._write(path)
        if not self.component.network and checksums.checksum_of(path, anew=True) != self.checksum_anew():
            raise RrmbenchError(
                f"{self.where}: {printable(self.component.source)} made other arrays the second time; draw all random "
                "numbers from np.random.default_rng(seed) with a parameter 'seed'"
            )

    def _write(self, path):
        values = {key: self.component.parameters[key].read(value) for key, value in self.values.items()}
        imported, code = set(sys.modules), fingerprint.stamps(self._code())
        loaded_code.check_loaded(code)
        try:
            with (
                contextlib.redirect_stdout(sys.stderr),
                crashes.in_the_same_process(),
                crashes.without_sudden_end(),
            ):
                made = self.component.build(**values)
        except RrmbenchError as error:
            raise RrmbenchError(f"{self.where}: {error}") from error
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            raise RrmbenchError(f"{self.where}: its function failed: {crashes.text_of(error)}") from error
        loaded_code.check_imports(imported, code)
        arrays.write(path, arrays.checked(made, self.where))
