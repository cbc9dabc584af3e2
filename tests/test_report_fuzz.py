"""Damaged and forged results, whatever the damage: every reader ends with exit code 0, 1 or 2, never in a traceback.

RRMBENCH_FUZZ multiplies the number of examples.
"""

import copy
import json
import os
import shutil
import warnings
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import make_lab, odd  # noqa: F401

FACTOR = int(os.environ.get("RRMBENCH_FUZZ", 1))
FUZZ = settings(max_examples=6 * FACTOR, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

ODD_TEXTS = ["", "../../x", "\ud800", "\x1b[2J", "$", "nan", "1e400", "a/b", "."]
ODD_NUMBERS = [10**299, -1, 0, 2**63, 1e308]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(ODD_TEXTS + ODD_NUMBERS)
)
KEYS = st.sampled_from(["name", "path", "x", "$"])
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=5
)


@pytest.fixture(name="small")
def make_small(lab):
    """A Lab with a small experiment, its baseline, and a pristine copy of both."""
    lab.run(
        lab.config(
            dataset={"path": "toy.txt", "split": 0.8},
            loss="smoothed_hinge",
            regularizer={"name": "l2", "strength": 0.1},
            solver=["prox_sdca", "apcg", odd("raise")],
            seed=[0, 1],
            stop={"passes": 3},
            plot={"rows": "regularizer.strength", "xlim": [0, 3], "title": "small"},
        )
    )
    lab.cli("check", lab.out, "--baseline", lab.folder / "baseline.json", "--update")
    shutil.copytree(lab.out, lab.folder / "pristine")
    shutil.copy(lab.folder / "baseline.json", lab.folder / "pristine.json")
    return lab


def restore(lab):
    shutil.rmtree(lab.out)
    shutil.copytree(lab.folder / "pristine", lab.out)
    shutil.copy(lab.folder / "pristine.json", lab.folder / "baseline.json")


def read_by_all(lab, figures=False):
    """Run every reader; each must end with one message at most."""
    commands = [
        ("show", lab.out),
        ("show", lab.out, "--json"),
        ("compare", lab.folder / "pristine", lab.out),
        ("export", lab.out, "--to", lab.folder / "t.csv"),
        ("check", lab.out, "--baseline", lab.folder / "baseline.json"),
        ("verify", lab.out),
    ]
    commands += [("plot", lab.out, "--format", "svg", "-o", lab.folder / "figures")] if figures else []
    commands += [("report", lab.out, "-o", lab.folder / "report.html")] if figures else []
    for command in commands:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # matplotlib's, of glyphs and limits
            ran = lab.cli(*command)
        assert ran.code in (0, 1, 2), (command[0], ran)
        assert "Traceback" not in ran.err
        assert ran.code != 2 or ran.err.startswith("rrmbench: ")
        assert not [c for c in ran.out + ran.err if not c.isprintable() and c != "\n"], (command[0], ran)


def files(lab):
    folder = lab.out / "toy"
    return sorted([folder / "manifest.json", *(folder / "runs").iterdir(), *(folder / "references").iterdir()])


@FUZZ
@given(data=st.data())
def test_mutated_bytes(small, data):
    restore(small)
    file = data.draw(st.sampled_from([*files(small), small.folder / "baseline.json"]))
    content = bytearray(file.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        noise = data.draw(st.binary(max_size=8))
        how = data.draw(st.sampled_from(["replace", "insert", "delete", "cut"]))
        end = {"replace": at + len(noise), "insert": at, "delete": at + data.draw(st.integers(1, 40)), "cut": None}[how]
        content[at:end] = noise if how in ("replace", "insert") else b""
    file.write_bytes(content)
    read_by_all(small, figures=True)


def places(value, path=()):
    """Every path into a JSON value."""
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield from places(one, (*path, key))


def changed(value, path, how, new):
    """A JSON value with what is at `path` replaced, removed, or doubled by a new neighbour."""
    if not path:
        return new
    value = copy.deepcopy(value)
    part = value
    for key in path[:-1]:
        part = part[key]
    if how == "remove":
        del part[path[-1]]
    elif how == "rename" and isinstance(part, dict):
        part[new if isinstance(new, str) else "x"] = part.pop(path[-1])
    else:
        part[path[-1]] = new
    return value


def mutated(data, value):
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(list(places(value))))
        how = data.draw(st.sampled_from(["replace", "replace", "remove", "rename"]))
        value = changed(value, path, how, data.draw(VALUES))
    return value


@FUZZ
@given(data=st.data())
def test_mutated_values_of_manifest_reference_and_baseline(small, data):
    restore(small)
    json_files = [file for file in files(small) if file.suffix == ".json"] + [small.folder / "baseline.json"]
    file = data.draw(st.sampled_from(json_files))
    file.write_text(json.dumps(mutated(data, json.loads(file.read_text()))))
    read_by_all(small, figures=file.name == "manifest.json")


def opened(file):
    with np.load(file) as archive:
        return {name: archive[name] for name in archive.files}


NUMBERS = st.floats() | st.sampled_from([1e308, -1e308, 5e-324, 0.5, 0.0, -1.0])


@FUZZ
@given(data=st.data())
def test_mutated_headers_and_arrays(small, data):
    restore(small)
    file = data.draw(st.sampled_from([file for file in files(small) if file.suffix == ".npz"]))
    entries = opened(file)
    name = data.draw(st.sampled_from(["header", *entries]))
    if name == "header":
        header = mutated(data, json.loads(entries["header"].tobytes()))
        entries["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    else:
        column = entries[name]
        how = data.draw(st.sampled_from(["value", "values", "shape", "dtype", "length", "none", "scalar"]))
        if how == "value" and column.size:
            column = column.copy()
            column.flat[data.draw(st.integers(0, column.size - 1))] = data.draw(NUMBERS)
        elif how == "values":
            column = np.full(column.shape, data.draw(NUMBERS))
        elif how == "shape":
            column = column.reshape(data.draw(st.sampled_from([(-1, 1), (1, -1), (1, 1, -1)])))
        elif how == "dtype":
            column = column.astype(data.draw(st.sampled_from(["f4", "i8", "c16", "S8", "U8", "?", "m8[s]", ">f8"])))
        elif how == "length":
            column = np.resize(column, data.draw(st.integers(0, 9)))
        elif how == "scalar":
            column = np.float64(data.draw(NUMBERS))
        entries |= {name: column}
        if how == "none":
            del entries[name]
    np.savez(file, **entries)
    read_by_all(small, figures=True)


BOMBS = {
    "nested": lambda: b"[" * 100_000,
    "nested keys": lambda: b'{"a":' * 100_000,
    "deep": lambda: b'{"schema_version": 1, "runs": ' + b"[" * 500 + b"]" * 500 + b"}",
    "long number": lambda: b'{"schema_version": 1' + b"0" * 4000 + b"}",
    "longer number": lambda: b'{"schema_version": ' + b"9" * 100_000 + b"}",
    "text version": lambda: b'{"schema_version": "1"}',
    "null": lambda: b"null",
    "empty": lambda: b"",
    "utf-16": lambda: '{"schema_version": 1}'.encode("utf-16"),
}


@pytest.mark.core(1)
@pytest.mark.parametrize("what", BOMBS)
def test_texts_that_are_no_records(small, what):
    for file in [*files(small), small.folder / "baseline.json"]:
        restore(small)
        if file.suffix == ".npz":
            np.savez(file, **opened(file) | {"header": np.frombuffer(BOMBS[what](), dtype=np.uint8)})
        else:
            file.write_bytes(BOMBS[what]())
        read_by_all(small)


SIZES = [("header", 2**27), ("trace.gap", 2**27), ("w", 2**27), ("w", 2**30 + 2**24)]


@pytest.mark.core(1)
@pytest.mark.parametrize(("member", "size"), SIZES)
def test_a_zip_bomb_is_refused_by_its_size(small, member, size):
    file = next(file for file in files(small) if file.suffix == ".npz" and member in opened(file))
    entries = opened(file)
    file.unlink()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for name, column in entries.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as out:
                if name != member:
                    np.lib.format.write_array(out, column)
                    continue
                kind = "|u1" if name == "header" else "<f8"
                shape = (size // np.dtype(kind).itemsize,)
                np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": False, "shape": shape})
                block = bytes(2**24)
                for _ in range(size // len(block)):
                    out.write(block)
    ran = small.cli("show", small.out)
    assert ran.code == 0
    if (member, size) != ("w", 2**27):
        assert "bytes, more than" in " ".join(ran.out.split())
    assert small.cli("verify", small.out).code == 1
