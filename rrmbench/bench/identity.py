"""What a result is the result of: the data, the resolved spec, and the code that computes it."""

import hashlib
import json
from pathlib import Path

from rrmbench import data, fingerprint, registry
from rrmbench.bench.store import SCHEMA_VERSION
from rrmbench.problem.labels import mode_of


def canonical(value):
    """The JSON text of plain values that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def data_of(spec):
    """The prepared data of a run spec, labels as its loss wants them; RrmbenchError if they cannot be had."""
    loss, _ = registry.from_mapping("loss", spec["loss"])
    return data.load(spec["dataset"], mode_of(loss.needs))


def spec_id(spec, checksum):
    """16 hex digits that name a run spec on data with this checksum."""
    return _short(canonical({"spec": spec, "data": checksum, "schema_version": SCHEMA_VERSION} | _files(spec)))


def problem_id(spec, checksum):
    """The id of the problem that a spec minimizes: data, preparation, loss and regularizer with their code."""
    parts = {kind: spec[kind] for kind in ("dataset", "loss", "regularizer")}
    sources = [_source(kind, spec[kind]) for kind in ("loss", "regularizer")]
    digest = fingerprint.digest(*_files_behind(fingerprint.EVERY_PROBLEM, sources))
    return _short(canonical({"parts": parts, "data": checksum, "code": digest} | _files(spec)))


def _files(spec):
    """{"files": checksums} of the files that parameters of the problem name, {} if there are none."""
    found = []
    for kind in ("loss", "regularizer"):
        component, values = registry.from_mapping(kind, spec[kind])
        found += [v for key, v in values.items() if component.parameters[key].is_path(v)]
    return {"files": [data.checksum_of(file) for file in found]} if found else {}


def code_of(spec):
    """The digest of the code that computes a run, docstrings left out."""
    return fingerprint.digest(*files_of(spec))


def files_of(spec):
    """The files of the code that computes a run: see `rrmbench.fingerprint`."""
    sources = [_source(kind, spec[kind]) for kind in ("loss", "regularizer", "solver")]
    reduction = spec["reduction"]
    while reduction is not None:
        sources.append(_source("reduction", reduction))
        reduction = reduction.get("inside")
    return _files_behind(fingerprint.EVERY_RUN, sources)


def _files_behind(common, sources):
    from_plugins = any(fingerprint.PACKAGE not in Path(source).resolve().parents for source in sources)
    return [*fingerprint.sources_of(*common, *sources), *(sorted(fingerprint.unforeseen) if from_plugins else ())]


def _source(kind, mapping):
    return registry.from_mapping(kind, mapping)[0].source


def _short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
