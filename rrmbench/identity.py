"""What a result is the result of: the data, the resolved spec, and the code that computes it."""

import hashlib
import json

from rrmbench import data, registry
from rrmbench.code import digest, sources_of
from rrmbench.store import SCHEMA_VERSION


def canonical(value):
    """The JSON text of plain values that is the same for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def data_of(spec):
    """The prepared data of a run spec, labels as its loss wants them; RrmbenchError if they cannot be had."""
    loss, _ = registry.from_mapping("loss", spec["loss"])
    return data.load(spec["dataset"], data.labels_for(loss.needs))


def spec_id(spec, checksum):
    """16 hex digits that name a run spec on data with this checksum."""
    return _short(canonical({"spec": spec, "data": checksum, "schema_version": SCHEMA_VERSION} | _files(spec)))


def problem_id(spec, checksum):
    """The id of the problem that a spec minimizes: data, preparation, loss and regularizer with their code."""
    parts = {kind: spec[kind] for kind in ("dataset", "loss", "regularizer")}
    code = digest(*sources_of(*(_source(kind, spec[kind]) for kind in ("loss", "regularizer"))))
    return _short(canonical({"parts": parts, "data": checksum, "code": code} | _files(spec)))


def _files(spec):
    """{"files": checksums} of the files that parameters of the problem name, {} if there are none."""
    found = []
    for kind in ("loss", "regularizer"):
        component, values = registry.from_mapping(kind, spec[kind])
        found += [v for key, v in values.items() if component.parameters[key].is_file and isinstance(v, str)]
    return {"files": [data.checksum_of(file) for file in found]} if found else {}


def code_of(spec):
    """The digest of the code that computes a run: the core and the file of each component, docstrings left out."""
    files = [_source(kind, spec[kind]) for kind in ("loss", "regularizer", "solver")]
    reduction = spec["reduction"]
    while reduction is not None:
        files.append(_source("reduction", reduction))
        reduction = reduction.get("inside")
    return digest(*sources_of(*files))


def _source(kind, mapping):
    return registry.from_mapping(kind, mapping)[0].source


def _short(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
