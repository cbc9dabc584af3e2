"""Prepared data are those of their files: damaged caches, edited files, damaged compression."""

import bz2
import gzip
import json
import lzma
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from lab import make_lab, rows  # noqa: F401

from rrmbench import data
from rrmbench.data import cache, catalogue, checksums, libsvm, places, prepare
from rrmbench.errors import RrmbenchError

FOUR = "1 1:3 2:4\n2 2:2\n1 1:1\n2 3:8\n"
ARRAYS = ("data", "indices", "indptr")


@pytest.fixture
def folder(own_folder):
    (own_folder / "four.svm").write_text(FOUR)
    return own_folder


def same(a, b):
    """Whether two Prepared hold the same bits and facts."""
    for parts in ("X_parts", "test_X_parts"):
        for one, other in zip(getattr(a, parts) or (), getattr(b, parts) or (), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
    for name in ("y", "test_y"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    for name in ("shape", "test_shape", "checksum", "key", "info"):
        assert getattr(a, name) == getattr(b, name)
    return True


# damaged caches

PARTS = [part + name for part in ("", "test_") for name in (*ARRAYS, "y")]


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.name == "rrmbench.data"]


def flip(file, place, bit=1):
    """Change one bit of a file; its size and time of change stay."""
    status, raw = file.stat(), bytearray(file.read_bytes())
    raw[place] ^= bit
    file.write_bytes(raw)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


def stored(lab):
    """The folder of the arrays of the only results of `lab`."""
    (result,) = lab.results()
    wanted = prepare.load(result.spec["dataset"], "any")
    return places.cache_root() / "data" / wanted.key


def numbers(lab):
    """What a run of `lab` found: the columns of its trace that are no times, and w."""
    (result,) = lab.results()
    return [*(result.trace[name].tolist() for name in ("passes", "primal", "dual", "gap")), result.w.tolist()]


@pytest.mark.core(3)
@pytest.mark.parametrize(("name", "place"), [*((n, -1 - i) for i, n in enumerate(PARTS)), ("data", 20), ("header", 90)])
def test_a_run_on_a_damaged_cache_is_that_on_a_sound_one(lab, caplog, name, place):
    (lab.folder / "toy.txt").write_text(rows(seed=200 + place))  # of no other test, which would mend it
    config = lab.config(dataset={"path": "toy.txt", "split": 0.75})
    assert lab.run(config).code == 0
    clean, cached = numbers(lab), stored(lab)
    flip(cached / ("header.json" if name == "header" else f"{name}.npy"), place, 4)
    caplog.clear()
    assert lab.run(config, "--fresh").code == 0
    assert warnings(caplog) == [f"{cached}: the prepared data are damaged; they are made again"]
    assert numbers(lab) == clean
    caplog.clear()
    assert lab.run(config, "--fresh").code == 0
    assert not warnings(caplog)


@pytest.mark.exhaustive
def test_a_damaged_cache_is_told_of_in_one_line(lab):
    (lab.folder / "toy.txt").write_text(rows(seed=95))  # of no other test, which would mend it
    config = lab.config(regularizer={"name": "l2", "strength": [0.1, 0.01]})
    assert lab.command("run", config, "-o", lab.out).code == 0
    flip(places.cache_root() / "data" / prepare.load({"path": str(lab.folder / "toy.txt")}, "any").key / "y.npy", -1)
    ran = lab.command("run", config, "-o", lab.out, "--fresh")
    assert ran.code == 0
    assert [line for line in ran.err.splitlines() if line.endswith("data are damaged; they are made again")]
    assert (ran.out + ran.err).count("data are damaged") == 1


@pytest.mark.core(1)
@pytest.mark.parametrize("name", [*PARTS, "header"])
def test_every_byte_of_the_cache_is_covered(folder, caplog, name):
    (folder / "test.svm").write_text(FOUR.replace("8", "7"))
    block = {"path": "four.svm", "test": "test.svm"}
    clean = data.from_source(block)
    file = places.cache_root() / "data" / data.load(block).key / ("header.json" if name == "header" else f"{name}.npy")
    size = file.stat().st_size
    for place in range(0, size, max(1, size // 40)):
        for bit in (1, 32):
            flip(file, place, bit)
            assert same(data.load(block), clean)
    raw = file.read_bytes()
    for damaged in (b"", raw[:-1], raw + b"x", raw[::-1], b"[" * 100_000):
        caplog.clear()
        file.write_bytes(damaged)
        assert same(data.load(block), clean)
        assert len(warnings(caplog)) == 1
    file.unlink()
    assert same(data.load(block), clean)
    assert len(list(file.parent.parent.iterdir())) == 1


def test_arrays_are_checked_once_in_a_process_and_not_by_children(folder, monkeypatch):
    key = data.load({"path": "four.svm"}).key
    checks = []
    real = cache._file_checksum
    monkeypatch.setattr(cache, "_file_checksum", lambda *which: checks.append(which[1]) or real(*which))
    data.load({"path": "four.svm"})
    assert checks == ["data", "indices", "indptr", "y"]
    data.load({"path": "four.svm"})
    cache.open_cached(key)
    assert len(checks) == 4


def test_a_damaged_file_that_was_made_is_made_again(folder, caplog):
    clean = data.load({"name": "breast_cancer_sklearn"})
    (made,) = [file for file in (folder / "cache" / "made").iterdir() if file.suffix != ".sha256"]
    flip(made, 1000)
    assert same(data.load({"name": "breast_cancer_sklearn"}), clean)
    assert warnings(caplog) == [f"{made}: the file is damaged; it is made again"]
    made.with_name(made.name + ".sha256").unlink()
    assert same(data.load({"name": "breast_cancer_sklearn"}), clean)
    caplog.clear()
    data.load({"name": "breast_cancer_sklearn"})
    assert not warnings(caplog)


# edited code


@pytest.mark.exhaustive
def test_an_edit_of_preparation_makes_new_arrays(folder):
    """In a copy of the package: all its files can be edited while the cache stays."""
    shutil.copytree(places.PACKAGE, folder / "edited" / "rrmbench", ignore=shutil.ignore_patterns("__pycache__"))
    source = folder / "edited" / "rrmbench" / "data" / "transform.py"
    code = "from rrmbench import data; print(data.load({'path': 'four.svm', 'scale': 'max_abs'}).X_parts[0].tolist())"

    def values():
        environment = os.environ | {"PYTHONPATH": str(folder / "edited")}
        return subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
        ).stdout

    before = values()
    source.write_text(source.read_text().replace("np.divide(1.0, sizes", "np.divide(2.0, sizes"))
    after = values()
    assert json.loads(after) == [2.0 * value for value in json.loads(before)]
    source.write_text(source.read_text().replace('"""The norms', '"""The sizes'))
    assert values() == after
    assert len(list((folder / "cache" / "data").iterdir())) == 2


# edited files


def replaced(file, text):
    """Write `text` to a new file and put it in the place of `file`, with its time of change."""
    status = file.stat()
    new = file.with_name("new.txt")
    new.write_text(text)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))
    os.replace(new, file)


def rewritten(file, text):
    """Write `text` to `file` itself, with its time of change."""
    status = file.stat()
    file.write_text(text)
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))


@pytest.mark.parametrize("edit", [rewritten, replaced])
@pytest.mark.parametrize("settled", [0.0, 2.0])
def test_a_file_edited_with_its_size_and_time_kept_is_another_one(lab, monkeypatch, edit, settled):
    monkeypatch.setattr(checksums, "SETTLED", settled)
    config, file = lab.config(), lab.folder / "toy.txt"
    assert lab.run(config).code == 0
    before, text = numbers(lab), file.read_text()
    edit(file, text.replace(":0.", ":1."))
    assert lab.run(config).code == 0
    assert numbers(lab) != before
    edit(file, text)
    assert lab.run(config).code == 0
    assert numbers(lab) == before


def test_a_checksum_is_remembered_of_settled_files_only(folder, monkeypatch):
    data.load({"path": "four.svm"})
    assert not (folder / "cache" / "checksums.json").exists()
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    data.load({"path": "four.svm"})
    assert str(folder / "four.svm") in (folder / "cache" / "checksums.json").read_text()


def test_an_edited_registry_entry_is_read_again(folder):
    own = places.own_registry()
    own.mkdir(parents=True)
    for n in (4, 5):
        (own / "mine.yaml").write_text(f"title: t\ntask: binary\nn: {n}\nd: 3\nfile: {{name: four.svm}}\n")
        os.utime(own / "mine.yaml", ns=(10**18, 10**18))
        assert catalogue.get("mine").n == n


# read from the source


@pytest.mark.parametrize(
    ("block", "labels"),
    [
        ({"path": "four.svm", "split": 0.75, "scale": "max_abs", "bias": "regularized"}, "binary"),
        ({"path": "four.svm", "test": "four.svm"}, "classes"),
        ({"path": "four.svm"}, "targets"),
        ({"path": "four.svm", "kernel": "linear"}, "any"),
    ],
)
def test_data_from_the_source_are_those_of_the_cache(folder, block, labels):
    fresh = data.from_source(block, labels)
    assert not (places.cache_root() / "data").exists()
    assert same(fresh, data.load(block, labels))
    assert same(data.from_source(block, labels), fresh)
    with pytest.raises(ValueError, match="read-only"):
        fresh.y[0] = 1


def test_data_from_the_source_do_not_see_the_cached_arrays(folder):
    clean = prepare.load({"path": "four.svm"})
    values = clean.X_parts[0].tolist()
    stored = folder / "cache" / "data" / clean.key / "data.npy"
    raw = bytearray(stored.read_bytes())
    raw[-3] ^= 1
    stored.write_bytes(raw)
    assert data.from_source({"path": "four.svm"}).X_parts[0].tolist() == values


# compressed files

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
HALVES = "".join(f"1 1:{i}.5\n" for i in range(6)).encode(), "".join(f"-1 2:{i}.25\n" for i in range(6)).encode()


def packed(suffix, after=b"", between=b""):
    first, second = map(PACK[suffix], HALVES)
    return first + between + second + after


def read(folder, suffix, raw):
    path = folder / f"rows.svm{suffix}"
    path.write_bytes(raw)
    return libsvm.read(path).X.data.tolist()


WHOLE = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 0.25, 1.25, 2.25, 3.25, 4.25, 5.25]


@pytest.mark.parametrize("suffix", PACK)
def test_files_of_several_streams_are_read_whole(folder, suffix):
    assert read(folder, suffix, packed(suffix)) == WHOLE
    empty = PACK[suffix](b"")
    assert read(folder, suffix, empty + packed(suffix, empty, empty)) == WHOLE


@pytest.mark.parametrize("suffix", PACK)
def test_whatever_follows_that_is_no_whole_stream_is_refused(folder, suffix):
    second = PACK[suffix](HALVES[1])
    damaged = second[:4] + bytes([second[4] ^ 1]) + second[5:]
    wrong = [b"x", b"garbage", b"1 1:7\n" * 30_000, second[:3], second[:-1], bytes([second[0] ^ 1]) + second[1:]]
    if suffix != ".gz":  # there, it is the time of the file, which is no content
        wrong.append(damaged)
    for raw in wrong:
        with pytest.raises(RrmbenchError, match=rf"rows\.svm\{suffix}: .*truncated or corrupt"):
            read(folder, suffix, PACK[suffix](HALVES[0]) + raw)


@pytest.mark.parametrize(("suffix", "allowed"), [(".gz", {1, 4, 100_000}), (".bz2", set()), (".xz", {4, 8, 100_000})])
def test_padding_of_zeros_is_that_of_the_format(folder, suffix, allowed):
    for zeros in (1, 2, 4, 8, 65_537, 100_000):
        for raw in (packed(suffix, after=bytes(zeros)), packed(suffix, between=bytes(zeros))):
            if zeros in allowed:
                assert read(folder, suffix, raw) == WHOLE
            elif suffix != ".gz":
                with pytest.raises(RrmbenchError, match="truncated or corrupt"):
                    read(folder, suffix, raw)


@pytest.mark.parametrize("suffix", PACK)
def test_a_flipped_bit_anywhere_gives_the_same_rows_or_an_error(folder, suffix):
    clean, refused = packed(suffix), 0
    for place in range(len(clean)):
        raw = bytearray(clean)
        raw[place] ^= 1 << (place % 8)
        try:
            assert read(folder, suffix, bytes(raw)) == WHOLE
        except RrmbenchError:
            refused += 1
    assert refused > 0.8 * len(clean)


# what the command line says

REFUSED = {
    "no number": ("1 1:1\n1 +3:1\n", {}, "rows.txt:2: found '+3:1': expected index:value"),
    "query id": ("1 qid3:5 1:2\n-1 1:1\n", {}, "rows.txt:1: found 'qid3:5': expected index:value"),
    "escape": ("1 1:1\n\x1b[31m 1:1\n", {}, "rows.txt:2: found '\\x1b[31m': the label is not a number"),
    "overflow": ("1 1:1e308\n-1 1:1e308\n", {"scale": "mean_norm"}, "rows.txt: 'scale: mean_norm' gives values"),
    "kernel": ("1 1:1e308\n-1 1:1e308\n", {"kernel": "linear"}, "rows.txt: values of the kernel"),
    "label": ("1 1:1\n-1 1:2\n", {"positive": 10**400}, "found an integer of 401 digits"),
    "inside": ("1 1:1\n-1 1:2\n", {"inside": {"name": "a9a"}}, "dataset.inside: unknown key 'inside'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_are_one_message(lab, case):
    text, keys, message = REFUSED[case]
    (lab.folder / "rows.txt").write_text(text)
    ran = lab.run(lab.config(dataset={"path": "rows.txt", **keys}))
    assert ran.code == 2
    assert message in ran.err and ran.err.startswith("rrmbench: ") and ran.err.count("\n") == 1
    assert "Traceback" not in ran.err and "Warning" not in ran.err


def test_prepared_data_can_be_read_by_whom_the_umask_lets(lab, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(lab.folder / "cache"))
    before = os.umask(0o022)
    try:
        prepare.load({"name": "simulated", "n": 20, "d": 3}, "any")
    finally:
        os.umask(before)
    made = [*(places.cache_root() / "made").glob("simulated-*"), *(places.cache_root() / "data").rglob("*")]
    assert len(made) > 3
    assert all(path.stat().st_mode & 0o044 == 0o044 for path in made)
