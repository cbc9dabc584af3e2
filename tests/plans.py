"""Configurations written in tests: a base, a folder of data, the plan or the message that they give."""

import textwrap

import pytest

from rrmbench.config import read, resolve
from rrmbench.errors import RrmbenchError

BASE = """\
dataset: tiny.txt
loss: squared
regularizer: {name: l2, strength: 0.1}
solver: prox_sdca
"""


@pytest.fixture(name="folder")
def make_folder(tmp_path, monkeypatch):
    """A folder with a data file and one with a registered data set, away from the user's own registry."""
    registered = tmp_path / "cache" / "datasets"
    registered.mkdir(parents=True)
    for name in ("registered", "registered_test"):
        (registered / f"{name}.yaml").write_text(f"{{title: t, task: binary, n: 2, d: 2, file: {{name: {name}}}}}")
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    for name in ("tiny.txt", "other.txt", "no"):
        (tmp_path / name).write_text("1 1:1 2:1\n-1 1:0.5\n")
    return tmp_path


@pytest.fixture(name="plan")
def make_plan(folder):
    """Write a configuration, read it with `--set` texts and resolve it."""

    def make(text, *sets, name="config.yaml"):
        (folder / name).write_text(textwrap.dedent(text))
        return resolve(read(folder / name, sets))

    return make


@pytest.fixture(name="message")
def make_message(folder):
    """The error message of a configuration, without the folder."""

    def make(text, *sets):
        (folder / "config.yaml").write_text(textwrap.dedent(text))
        with pytest.raises(RrmbenchError) as error:
            resolve(read(folder / "config.yaml", sets))
        return str(error.value).replace(f"{folder}/", "")

    return make


def values(plan, *keys):
    """The distinct values of one key over the runs, in order."""
    found = []
    for spec in plan.runs:
        for key in keys:
            spec = spec.get(key, {})
        found.append(spec)
    return [value for i, value in enumerate(found) if value not in found[:i]]


CONTRACT = """\
name: lasso_rcv1
dataset: {name: rcv1_train, scale: mean_norm}
loss: squared
regularizer: {name: l1, strength: [1.0e-4, 1.0e-5, 1.0e-6]}
solver: [apcg, prox_sdca]
reduction:
  - {name: regularize, sigma: [1.0e-3, 1.0e-4, 1.0e-5]}
  - {name: adapt_reg, sigma: auto}
seed: [0, 1, 2]
stop: {passes: 100, gap: 1.0e-10, seconds: 600}
trace: {every: 1}
plot: {rows: regularizer.strength, columns: dataset, x: seconds, y: suboptimality, ylim: [1e-8, 1]}
"""


CASES = """\
loss: squared
solver: prox_sdca
regularizer: {name: l2, strength: 1}
cases:
  - dataset: {path: tiny.txt, scale: unit_rows}
    regularizer: {name: l2, strength: [1e-1, 1e-2]}
  - dataset: [{path: other.txt, scale: mean_norm}, registered]
    stop: {passes: 5, seconds: 10}
"""
