"""The array cache: shared, read-only, made again where it is damaged, and light to import."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from four_rows import (
    FOUR,
    X,
    load,
    make_folder,  # noqa: F401
)

from rrmbench.data import cache, checksums, libsvm, streams
from rrmbench.errors import RrmbenchError

# the cache


def test_arrays_are_read_only_and_shared(folder):
    first, second = load(), cache.open_cached(load().key)
    assert second.X_parts[0].tolist() == first.X_parts[0].tolist()
    assert type(first.X_parts[0]) is np.ndarray
    assert isinstance(first.X_parts[0].base, np.memmap)
    with pytest.raises(ValueError, match="read-only"):
        first.X_parts[0][0] = 1


def test_the_key_follows_content_and_preparation_and_not_spelling(folder):
    keys = {load().key, load(scale="max_abs").key, load("any").key, load(subset=2).key}
    assert len(keys) == 4
    assert load(scale="none", bias="none").key == load().key
    (folder / "copy.svm").write_text(FOUR)
    assert load(path="copy.svm").checksum == load().checksum
    (folder / "four.svm").write_text(FOUR + "1 1:1\n")
    assert load().key not in keys
    assert load().shape == (5, 3)


def test_a_second_load_reads_no_text(folder, monkeypatch):
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    load()
    monkeypatch.setattr(libsvm, "read", lambda *_: pytest.fail("parsed again"))
    monkeypatch.setattr(streams, "checksum", lambda *_: pytest.fail("hashed again"))
    assert load().shape == (4, 3)


@pytest.mark.parametrize("damage", ["truncate", "remove", "header", "data.npy is a pipe", "header.json is a pipe"])
def test_a_damaged_cache_is_made_again(folder, damage):
    stored = folder / "cache" / "data" / load().key
    if damage == "truncate":
        (stored / "data.npy").write_bytes((stored / "data.npy").read_bytes()[:-4])
    elif damage == "remove":
        (stored / "y.npy").unlink()
    elif damage == "header":
        (stored / "header.json").write_text("{")
    else:
        into_pipe(stored / damage.partition(" ")[0])
    with pytest.raises(RrmbenchError, match="missing or damaged"):
        cache.open_cached(stored.name)
    assert load().y.tolist() == [-1, 1, -1, 1]
    assert cache.open_cached(stored.name).shape == (4, 3)
    assert [f.name for f in stored.parent.iterdir()] == [stored.name]


def into_pipe(path):
    """Put a pipe, whose readers wait for a writer, in the place of a file."""
    path.unlink()
    os.mkfifo(path)


def test_the_code_of_prepared_data_is_not_waited_for(folder):
    stored = folder / "cache" / "data" / load().key
    assert cache.code_of(stored)
    into_pipe(stored / "header.json")
    assert cache.code_of(stored) is None


@pytest.mark.parametrize("damage", ["pipe", "wrong type", "another checksum", "another file", "no text"])
def test_a_damaged_checksum_index_is_made_again(folder, monkeypatch, damage):
    monkeypatch.setattr(checksums, "SETTLED", 0.0)
    first, index = load(), folder / "cache" / "checksums.json"
    whole = index.read_text()
    if damage == "pipe":
        into_pipe(index)
    elif damage == "wrong type":
        index.write_text("[]")
    elif damage == "another checksum":
        index.write_text(whole.replace(first.checksum, first.checksum[::-1]))
    elif damage == "another file":
        index.write_text(whole.replace("four.svm", "five.svm"))
    else:
        index.write_bytes(b"\xff" + whole.encode())
    assert load().key == first.key
    assert index.read_text() == whole


def test_loading_at_the_same_time_is_safe(folder):
    with ThreadPoolExecutor(8) as pool:
        loaded = list(pool.map(lambda _: load(scale="mean_norm"), range(16)))
    assert {prepared.key for prepared in loaded} == {loaded[0].key}
    assert all(X(prepared).tolist() == X(loaded[0]).tolist() for prepared in loaded)
    assert len(list((folder / "cache" / "data").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_named(folder, monkeypatch):
    (folder / "taken").write_text("a file, not a folder")
    monkeypatch.setenv("RRMBENCH_CACHE", str(folder / "taken"))
    with pytest.raises(RrmbenchError, match=r"taken.*cannot write.*RRMBENCH_CACHE"):
        load()


def run_python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_light_modules_import_no_heavy_ones():
    code = "import sys, rrmbench.data, rrmbench.data.spec, rrmbench.data.catalogue; print(*sys.modules)"
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pooch", "numba", "matplotlib"}
    assert not heavy & set(run_python(code))


def test_a_worker_opens_the_cache_with_numpy_alone():
    opening = f"from rrmbench.data.cache import open_cached; open_cached('{load().key}')"
    code = f"import sys; {opening}; print(*sys.modules)"
    assert not {"scipy", "sklearn", "pandas", "pooch", "pydantic"} & set(run_python(code))
