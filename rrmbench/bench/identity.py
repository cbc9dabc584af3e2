"""What a result is the result of: the data, the resolved spec, and the code that computes it."""

import hashlib
import json
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from rrmbench import data, fingerprint, loaded_code, plugin_files, registry
from rrmbench.bench.store import SCHEMA_VERSION
from rrmbench.data import spec as blocks
from rrmbench.keys import nested, unplaced
from rrmbench.kinds import KINDS, PROBLEM
from rrmbench.problem.labels import mode_of


def canonical(value):
    """The JSON text of plain values that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True)
class Run:
    """One run of an experiment: its spec, its ids, and its prepared data.

    codes : {kind: the digest of the code and the files that a component alone has; "shared": of what all runs have}
    """

    spec: dict
    run: str
    spec_id: str
    problem: str
    code: str
    codes: dict
    prepared: object = field(repr=False)
    stamps: dict = field(repr=False)

    @property
    def entry(self):
        """Its line in the manifest."""
        return {"run": self.run, "spec_id": self.spec_id, "problem": self.problem, "spec": self.spec}

    @property
    def asked(self):
        """The part of the spec that names the problem."""
        return {kind: self.spec[kind] for kind in PROBLEM}


class Identities:
    """The Runs of specs, for which data are prepared and files digested once, when they are first needed.

    So the runs of one `Identities` are of one state of the data and of the code; a child refuses code that has changed.
    """

    def __init__(self):
        self._prepared, self._digests, self._problems, self._sources, self._codes = {}, {}, {}, {}, {}

    def run(self, spec):
        """The Run of a spec, its data prepared; RrmbenchError where the data cannot be had."""
        prepared, problem, behind = self._problem(spec)
        code, digest = self._code_with(tuple(_sources(spec)))
        files = registry.parameter_files(spec)
        stamps = code | fingerprint.stamps(map(Path, files))
        name = spec_id(spec, prepared.checksum, files, behind=behind)
        return Run(spec, f"{name}-{digest[:8]}", name, problem, digest, self.codes(spec), prepared, stamps)

    def codes(self, spec):
        """The `codes` of a Run of a spec, which need no data."""
        return {kind: self._code_of(kind, spec[kind]) for kind in KINDS} | {"shared": self._shared_digest}

    def dimensions(self, spec):
        """(samples, features, outputs) of the data of a spec, which are prepared; as `run`."""
        return self._problem(spec)[0].dimensions

    def _problem(self, spec):
        """(the prepared data, the id, the files behind the data) of the problem of a spec; many runs have the same."""
        key = problem_key(spec)
        if key not in self._problems:
            prepared = data_of(spec, self._load)
            name = problem_id(spec, prepared.checksum, self._code_behind)
            self._problems[key] = prepared, name, blocks.files(spec["dataset"])
        return self._problems[key]

    def _code_behind(self, common, sources):
        return self._stamped(tuple(_files_behind(common, sources)))[1]

    def _code_with(self, sources):
        """(the stamps, the digest) of the code of a run with components of these files; many runs have the same."""
        if sources not in self._sources:
            self._sources[sources] = self._stamped(tuple(_files_behind(fingerprint.EVERY_RUN, sources)))
        return self._sources[sources]

    @cached_property
    def _shared(self):
        """The files of the code that all runs have."""
        return fingerprint.sources_of(*fingerprint.EVERY_RUN)

    @cached_property
    def _shared_digest(self):
        return self._stamped(self._shared)[1]

    def _code_of(self, kind, mapping):
        """The digest of a component: of the files that it brings beside those of every run, and that it names."""
        key = kind, canonical(mapping)
        if key not in self._codes:
            sources = [_source(kind, one) for one in nested(mapping)]
            own = {*fingerprint.sources_of(*sources)}.difference(self._shared)
            files = registry.parameter_files({kind: mapping}, (kind,))
            self._codes[key] = id_of(canonical({"code": fingerprint.digest(*own)} | _checksums(files)))
        return self._codes[key]

    def _load(self, block, labels):
        key = canonical(block), labels
        if key not in self._prepared:
            self._prepared[key] = data.load(block, labels)
        return self._prepared[key]

    def _stamped(self, files):
        """(their stamps, their digest) of files."""
        if files not in self._digests:
            before = fingerprint.stamps(files)  # before they are read
            self._digests[files] = before, fingerprint.digest(*files)
        return self._digests[files]


def load_plugins(spec):
    """Import the plug-in files that a spec names; only of a configuration, or of results that the user trusts."""
    for kind in KINDS:
        plugin_files.load_plugins_of(spec.get(kind))
    data.load_plugin_of(spec.get("dataset"))


def data_of(spec, load=data.load):
    """The prepared data of a run spec, labels as its loss wants them; RrmbenchError if they cannot be had."""
    loss, _ = registry.from_mapping("loss", spec["loss"])
    return load(spec["dataset"], mode_of(loss.needs))


def spec_id(spec, checksum, files=None, placed=False, behind=None):
    """16 hex digits that name a run spec on data with this checksum, wherever its files lie.

    files : those that its parameters name, where they are known
    placed : with the folders of its files, which counted once
    behind : the files that its data set names, where they are known
    """
    files = registry.parameter_files(spec) if files is None else files
    asked = spec if placed else _unplaced(spec, files, behind)
    content = {"spec": asked, "data": checksum, "schema_version": SCHEMA_VERSION}
    return id_of(canonical(content | _checksums(files)))


def code_behind(common, sources):
    """The digest of the files in `common`, of those of components, and of all that they import; both are tuples."""
    return fingerprint.digest(*_files_behind(common, sources))


def problem_id(spec, checksum, code_behind=code_behind):
    """The id of the problem that a spec minimizes: data, preparation, loss and regularizer with their code."""
    files = registry.parameter_files(spec, PROBLEM[1:])
    parts = _unplaced({kind: spec[kind] for kind in PROBLEM}, files)
    sources = tuple(_source(kind, spec[kind]) for kind in ("loss", "regularizer"))
    code = code_behind(fingerprint.EVERY_PROBLEM, sources)
    return id_of(canonical({"parts": parts, "data": checksum, "code": code} | _checksums(files)))


def _unplaced(parts, files, behind=None):
    """Components with the names of their files in place of the paths; checksums and digests say what these hold.

    files : those that parameters of loss, regularizer, solver and reduction name
    behind : those that the data set names, where they are known
    """
    behind = blocks.files(parts["dataset"]) if behind is None else behind
    known = {*files, *behind, *registry.plugin_files(parts)}
    return unplaced(parts, known.__contains__)


def _checksums(files):
    """{"files": checksums}, {} if there are none."""
    return {"files": [data.checksum_of(file) for file in files]} if files else {}


def code_of(spec, code_behind=code_behind):
    """The digest of the code that computes a run, docstrings left out."""
    return code_behind(fingerprint.EVERY_RUN, tuple(_sources(spec)))


def files_of(spec):
    """The files of the code that computes a run: see `rrmbench.fingerprint`."""
    return _files_behind(fingerprint.EVERY_RUN, tuple(_sources(spec)))


def _sources(spec):
    """The files of the components of a run."""
    yield from (_source(kind, spec[kind]) for kind in ("loss", "regularizer", "solver"))
    yield from (_source("reduction", mapping) for mapping in nested(spec["reduction"]))


def _files_behind(common, sources):
    from_plugins = not all(_is_shipped(source) for source in sources)
    return [*fingerprint.sources_of(*common, *sources), *(sorted(loaded_code.unforeseen) if from_plugins else ())]


@cache
def _is_shipped(source):
    return fingerprint.is_shipped(Path(source).resolve())


def _source(kind, mapping):
    return registry.from_mapping(kind, mapping)[0].source


def plugins_of(spec, plugins):
    """Those of the plug-in files `plugins` that a spec names or has components of: no run of it executes the others."""
    sources = {Path(source).resolve() for source in _sources(spec) if not _is_shipped(source)}
    named = {Path(file).resolve() for file in registry.plugin_files(spec)}
    return tuple(
        file
        for file in plugins
        if Path(file).resolve() in named or sources & {*fingerprint.sources_of(file), *loaded_code.unforeseen}
    )


def problem_key(spec):
    """A text that is the same for run specs of one problem."""
    return canonical([spec[kind] for kind in PROBLEM])


def id_of(text):
    """16 hex digits that stand for a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
