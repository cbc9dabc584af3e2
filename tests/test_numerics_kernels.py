"""Compiled code equals the Python it comes from, and its cache is neither stale nor fragile."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import oracles
import pytest
from lab import new_cache
from numba import njit, types

from rrmbench import fingerprint, syntax
from rrmbench.numerics import clipping, jit, jit_cache, prefetch, random, sparse_rows, whole_arrays
from rrmbench.numerics.random import Rng
from rrmbench.problem.operators import CSR
from rrmbench.problem.problem import Problem
from rrmbench.problem.traits import build_regularizer

REGULARIZERS = {m["name"]: m for m in oracles.coordinate_regularizers()}
REPORT = """
import numpy as np
from rrmbench.numerics import jit
from rrmbench.problem.problem import Problem
p = Problem(np.ones((1, 1)), [1.0], "hinge", "none")
print(rrmbench.__file__, p.loss_dual(np.array([0.5]))[0], p.loss.dual_point(0.5, 1.0, 0.0))
stats = [k.stats for k in jit._kernels]
print(sum(sum(s.cache_hits.values()) for s in stats), sum(sum(s.cache_misses.values()) for s in stats))
"""


def python(script, cache, package=None, plugins=(), said=None):
    """The words that a new Python process prints; its kernel cache is under `cache`. `said` gets its stderr."""
    environment = os.environ | {"RRMBENCH_CACHE": str(new_cache(cache)), "RRMBENCH_PLUGINS": "[]"}
    environment.pop("NUMBA_CACHE_DIR", None)
    if package is not None:
        environment["PYTHONPATH"] = str(package)
    load = "from rrmbench import fingerprint, folders, kernel_cache, plugin_files\n"
    load += f"kernel_cache.use({list(map(str, plugins))!r})\n"
    load += "".join(f"plugin_files.load_plugin({str(p)!r})\n" for p in plugins)
    done = subprocess.run(
        [sys.executable, "-c", "import rrmbench\n" + load + script],
        env=environment,
        cwd=cache.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    if said is not None:
        said.append(done.stderr)
    return done.stdout.split()


def copied(folder):
    """A folder for PYTHONPATH that has a copy of the package, to be edited."""
    package = folder / "package"
    shutil.copytree(fingerprint.PACKAGE, package / "rrmbench", ignore=shutil.ignore_patterns("__pycache__"))
    return package


# the cache


def test_code_that_was_made_with_other_settings_of_numba_is_not_taken(tmp_path, monkeypatch):
    """What numba compiled without optimization would be as slow in every later run."""
    script = "import numpy\nfrom rrmbench.numerics.whole_arrays import is_finite as f\nf(numpy.zeros(1))\n"
    script += "print(*(sum(counts.values()) for counts in (f.stats.cache_hits, f.stats.cache_misses)))"
    for setting, is_known in ("0", False), ("3", False), ("0", True), ("3", True):
        monkeypatch.setenv("NUMBA_OPT", setting)
        assert python(script, tmp_path / "cache") == (["1", "0"] if is_known else ["0", "1"])


@pytest.mark.exhaustive
def test_cache_is_hit_by_a_second_process_and_missed_after_an_edit(tmp_path):
    package, cache = copied(tmp_path), tmp_path / "cache"
    home, compiled, plain, hits, misses = python(REPORT, cache, package)
    assert Path(home).parent == package / "rrmbench"
    assert (compiled, plain) == ("-1.0", "-1.0")
    assert int(misses) > 0
    assert int(hits) == 0
    before = {f: f.stat().st_mtime_ns for f in cache.rglob("*.nb*")}
    assert python(REPORT, cache, package)[3:] == [misses, "0"]
    assert {f: f.stat().st_mtime_ns for f in cache.rglob("*.nb*")} == before

    hinge = package / "rrmbench" / "losses" / "hinge.py"
    source = hinge.read_text()
    edited = source.replace("-y * clipped_ratio(", "-7.0 * y * clipped_ratio(")
    assert edited != source
    hinge.write_text(edited)
    _, compiled, plain, hits, _ = python(REPORT, cache, package)
    assert (compiled, plain, hits) == ("-7.0", "-7.0", "0")


def damage(content, how):
    if how == "truncated":
        return content[: len(content) // 2]
    if how == "empty":
        return b""
    place = {"checksum": 3, "first": 20, "last": -5}[how]
    return content[:place] + bytes([content[place] ^ 4]) + content[place + 1 :]


DAMAGES = ["truncated", "empty", "checksum", "first", "last"]


def test_what_texts_mean_is_kept_by_their_content_and_a_damaged_file_of_it_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path))
    some = syntax.package_files()[:30]
    monkeypatch.setattr(syntax, "package_files", lambda: some)
    modules, kept = syntax.of_package(), tmp_path / "syntax.json"
    whole = kept.read_bytes()
    for how in DAMAGES:
        kept.write_bytes(damage(whole, how))
        assert syntax.of_package() == modules
        assert kept.read_bytes() == whole
    edited = tmp_path / "edited.py"
    edited.write_text("import this")
    some.append(edited)
    read, parsed = [], syntax.parsed
    monkeypatch.setattr(syntax, "parsed", lambda source: read.append(source) or parsed(source))
    assert len(syntax.of_package()) == len(modules) + 1
    assert syntax.of_package().keys() > modules.keys()
    assert read == [b"import this"]  # the others are not parsed again


def test_what_texts_mean_is_read_anew_where_it_cannot_be_kept(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr(syntax, "package_files", lambda: [Path(syntax.__file__)])
    assert [*syntax.of_package().values()] == [syntax.parsed(Path(syntax.__file__).read_bytes())]


@pytest.mark.parametrize("how", DAMAGES)
def test_what_a_damaged_file_holds_is_never_used(tmp_path, how):
    path = str(tmp_path / "kernel.nbc")
    jit_cache.save(path, "key", b"machine code")
    assert jit_cache.load(path, "key") == b"machine code"
    Path(path).write_bytes(damage(Path(path).read_bytes(), how))
    assert jit_cache.load(path, "key") is None
    assert not Path(path).exists()


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", oracles.core([("truncated",), ("checksum",)], lambda how: how == "truncated"))
def test_a_damaged_file_of_the_cache_is_dropped_and_made_again(tmp_path, how):
    cache = tmp_path / "cache"
    _, compiled, _, _, misses = python(REPORT, cache)
    files = sorted(cache.rglob("*.nb*"))
    assert len(files) >= int(misses) > 0
    for file in files:
        file.write_bytes(damage(file.read_bytes(), how))
    said = []
    _, again, _, hits, made = python(REPORT, cache, said=said)
    assert (again, hits, made) == (compiled, "0", misses)
    assert "".join(said).count("dropped from the kernel cache and compiled again") == int(misses)
    assert python(REPORT, cache)[3:] == [misses, "0"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", ["a file in the way", pytest.param("no room", marks=pytest.mark.exhaustive)])
def test_a_cache_that_cannot_be_written_costs_compilation_and_no_run(tmp_path, how):
    cache, said = tmp_path / "cache", []
    if how == "no room":
        small = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        small += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
    else:
        small = ""
        cache.mkdir()
        (cache / "kernels").write_text("")
    words = python(small + REPORT, cache, said=said)
    assert words[1] == "-1.0"
    assert int(words[4]) > 0
    assert said[0].count("machine code cannot be kept, every process compiles it again") == 1
    assert not [*cache.rglob("*.tmp"), *cache.rglob("*.nbc")]


@pytest.mark.exhaustive
def test_a_file_of_another_kernel_is_not_taken_for_this_one(tmp_path):
    """As after a file system mixed two files up: each is whole, and of another key."""
    cache = tmp_path / "cache"
    _, compiled, *_ = python(REPORT, cache)
    files = sorted(cache.rglob("*.nbc"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, contents[1:] + contents[:1], strict=True):
        file.write_bytes(content)
    assert python(REPORT, cache)[1:4] == [compiled, compiled, "0"]


def test_digest_sees_formulas_and_not_docstrings(tmp_path):
    package = copied(tmp_path)
    hinge = package / "rrmbench" / "losses" / "hinge.py"
    script = """
print(fingerprint.digest(*fingerprint.mathematics_files()))
print(fingerprint.digest(*fingerprint.sources_of(fingerprint.PACKAGE / "losses" / "hinge.py")))
"""

    def digests(old, new):
        source = hinge.read_text()
        assert old in source
        hinge.write_text(source.replace(old, new))
        return python(script, tmp_path / "cache", package)

    first = digests("", "")
    assert digests('"""The hinge loss', '"""Another text about the hinge loss') == first
    assert digests("class Hinge", "# a comment\nclass Hinge") == first
    assert not set(digests("1.0 - y * z", "2.0 - y * z")) & set(first)


@pytest.mark.parametrize(
    "read",
    [
        "rows = __doc__",
        "rows = inspect.getdoc(f)",
        "text = inspect.getsource(f)",
        "f.__doc__",
        "from inspect import getdoc as g",
        "vars()['__doc__']",
    ],
)
def test_docstrings_count_where_the_module_reads_them(read):
    rest = f"import inspect\ndef f(): pass\n{read}\n"
    with_text, with_another = (syntax.parsed(f'"""{text}"""\n{rest}'.encode()) for text in ("1 2", "1 3"))
    assert with_text != with_another
    written = 'def f(): pass\nf.__doc__ = "new"\n'
    assert syntax.parsed(f'"""1 2"""\n{written}'.encode()) == syntax.parsed(f'"""1 3"""\n{written}'.encode())


def test_every_module_with_kernels_is_in_the_digest():
    keyed = {f.resolve() for f in fingerprint.mathematics_files()}
    for compiled in jit._kernels:
        file = Path(sys.modules[compiled.py_func.__module__].__file__).resolve()
        assert file in keyed or fingerprint.PACKAGE not in file.parents


PLUGIN = """
from typing import NamedTuple
from rrmbench import loss

class Tripled(NamedTuple):
    conjugate_convexity: float = 0.0
    lipschitz: float = 1.0
    def value(self, z, y):
        return 3.0
    def conjugate(self, b, y):
        return 0.0
    def dual_point(self, z, y, mu):
        return 3.0 * z

@loss
def tripled():
    return Tripled()
"""
USE_PLUGIN = REPORT.replace('"hinge"', '"tripled"')


def test_plugin_loss_is_compiled_cached_and_harmless_when_gone(tmp_path):
    """Kernels without code of the plug-in are those of the package alone, before and after an edit."""
    cache, plugin = tmp_path / "cache", tmp_path / "mine.py"
    _, _, _, _, misses = python(REPORT, cache)
    plugin.write_text(PLUGIN)
    _, compiled, plain, hits, _ = python(USE_PLUGIN, cache, plugins=[plugin])
    without = "1"  # the squared norms of the rows
    assert (compiled, plain, hits) == ("1.5", "1.5", without)
    _, compiled, _, hits, again = python(USE_PLUGIN, cache, plugins=[plugin])
    assert (compiled, hits, again) == ("1.5", misses, "0")
    plugin.write_text(PLUGIN.replace("3.0 * z", "5.0 * z"))
    _, compiled, _, hits, made = python(USE_PLUGIN, cache, plugins=[plugin])
    assert (compiled, hits, int(made)) == ("2.5", without, int(misses) - 1)
    plugin.unlink()
    assert python(REPORT, cache)[3:] == [misses, "0"]


@pytest.mark.exhaustive
def test_class_of_an_unknown_file_stays_out_of_the_cache(tmp_path):
    # as in a notebook: the class is in __main__, and the cache's directory is that of the shipped components
    script = """
from itertools import islice
import numpy as np
from rrmbench import registry
from rrmbench.problem.problem import Problem
from rrmbench.numerics.random import Rng
from rrmbench.regularizers.zero import Zero
p = Problem(np.ones((1, 1)), [1.0], Tripled(), Zero(), l2=1.0)
b = [it.b[0] for it in islice(registry.build_solver("prox_sdca")(p, None, Rng(0)), 4)]
print(p.loss_dual(np.array([0.5]))[0])
"""
    assert python(PLUGIN + script, tmp_path / "cache") == ["1.5"]
    written = {f.name.split("-")[0] for f in tmp_path.rglob("*.nb*")}
    assert not any(name in file for file in written for name in ("loss_dual", "steps"))
    assert "whole_arrays.psi_prox" in written  # of Zero alone, a shipped class
    assert python(REPORT, tmp_path / "cache")[1] == "-1.0"


@pytest.mark.exhaustive
def test_a_kernel_with_an_address_of_this_process_in_it_is_not_kept(tmp_path):
    plugin = tmp_path / "mine.py"
    plugin.write_text(
        "import ctypes\nfrom rrmbench.numerics.jit import kernel\n"
        "absolute = ctypes.CDLL(None).labs\nabsolute.argtypes, absolute.restype = [ctypes.c_long], ctypes.c_long\n"
        "@kernel\ndef through_c(x):\n    return absolute(x)\n"
    )
    script = "import rrmbench_plugin_mine\nprint(rrmbench_plugin_mine.through_c(-3))"
    assert python(script, tmp_path / "cache", plugins=[plugin]) == ["3"]
    assert not any("through_c" in file.name for file in (tmp_path / "cache").rglob("*.nbc"))


@pytest.mark.exhaustive
def test_the_folder_may_be_chosen_after_the_import_and_changed(tmp_path):
    script = """
import os
first = folders.cache_root() / "kernels"
os.environ["RRMBENCH_CACHE"] += "_another"
from rrmbench.numerics import random, whole_arrays
import numpy as np
x = np.ones(1)
whole_arrays.is_finite(x)
print(len(list(first.rglob("*.nbc"))), len(list((folders.cache_root() / "kernels").rglob("*.nbc"))))
kernel_cache.use()
random.draw_integers(np.zeros(1, dtype=np.uint64), 3, np.empty(1, dtype=np.int64))
print(sorted({f.name.split("-")[0] for f in (folders.cache_root() / "kernels").rglob("*.nbc")}))
"""
    first, then, *names = python(script, tmp_path / "cache")
    assert (first, then) == ("1", "0")
    assert "".join(names) == "['random.below','random.draw_integers','random.splitmix64']"


@pytest.mark.exhaustive
def test_a_plugin_in_memory_before_the_folder_was_chosen_is_compiled_again(tmp_path):
    cache, plugin = tmp_path / "cache", tmp_path / "mine.py"
    plugin.write_text(PLUGIN)
    edit = f"""
from pathlib import Path
file = Path({str(plugin)!r})
file.write_text(file.read_text().replace("3.0 * z", "5.0 * z"))
kernel_cache.use([file])
"""
    assert python(f"plugin_files.load_plugin({str(plugin)!r})" + edit + USE_PLUGIN, cache)[1] == "1.5"
    assert python(USE_PLUGIN, cache, plugins=[plugin])[1] == "2.5"
    plugin.write_text(PLUGIN)
    assert python(edit.replace("kernel_cache.use", "#") + USE_PLUGIN, cache, plugins=[plugin])[1] == "1.5"
    assert python(USE_PLUGIN, cache, plugins=[plugin])[1] == "2.5"


# compiled methods


@pytest.mark.parametrize("name", oracles.scalar_losses())
def test_compiled_losses_equal_python(name):
    loss = oracles.loss_of(name)
    rng = np.random.default_rng(0)
    z = np.concatenate((3.0 * rng.standard_normal(50), [0.0, 1.0, -1.0, 800.0, -800.0]))
    y = oracles.labels(name, rng.standard_normal(len(z)))
    for mu in [-0.5 * loss.conjugate_convexity, 0.0, 0.7]:
        b = np.empty_like(z)
        whole_arrays.loss_dual(loss, mu, z, y, b)
        expected = [loss.dual_point(t, label, mu) for t, label in zip(z, y, strict=True)]
        np.testing.assert_allclose(b, expected, rtol=1e-14, atol=0.0)
        conjugates = [loss.conjugate(t, label) + mu / 2 * t * t for t, label in zip(b, y, strict=True)]
        assert whole_arrays.mean_conjugate(loss, mu, b, y) == pytest.approx(np.mean(conjugates), rel=1e-12)
    values = [loss.value(t, label) for t, label in zip(z, y, strict=True)]
    assert whole_arrays.mean_loss(loss, 0.0, z, y) == pytest.approx(np.mean(values), rel=1e-12)


@pytest.mark.parametrize("mapping", REGULARIZERS.values(), ids=list(REGULARIZERS))
def test_compiled_regularizers_equal_python(mapping):
    psi, _ = build_regularizer(mapping)
    x = np.concatenate((np.random.default_rng(0).standard_normal(50), [0.0, 0.05, -0.05]))
    w = np.empty_like(x)
    for t in 0.0, 0.3, 10.0:
        whole_arrays.psi_prox(psi, x, t, w)
        assert w.tolist() == [psi.prox(u, t) for u in x]
        assert whole_arrays.psi_value(psi, w) == pytest.approx(sum(map(psi.value, w)))
    assert whole_arrays.psi_conjugate(psi, x) == pytest.approx(sum(map(psi.conjugate, x)))


@pytest.mark.parametrize(
    ("t", "mu", "expected"),
    [
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 2.0),
        (-1.0, 0.0, -0.5),
        (0.5, 1.0, 0.5),
        (9.0, 1.0, 2.0),
        (-9.0, 1.0, -0.5),
        (0.0, 1e-310, 0.0),
        (1.0, 1e-310, 2.0),
        (-1.0, 5e-324, -0.5),
        (1e300, 1e-300, 2.0),
        (float("nan"), 0.0, float("nan")),
        (float("nan"), 1.0, float("nan")),
    ],
)
def test_clipped_ratio(t, mu, expected):
    np.testing.assert_equal(clipping.clipped_ratio(t, mu, -0.5, 2.0), expected)
    np.testing.assert_equal(jit.kernel(clipping.clipped_ratio)(t, mu, -0.5, 2.0), expected)


def test_prefetch_changes_nothing():
    X = CSR.of(oracles.data(50, 30, density=0.3)[0])
    order, y = Rng(1).permutation(50), np.arange(50.0)
    before = [a.copy() for a in (*X.rows, order, y)]
    for k in range(50):
        prefetch.prefetch_rows(X.rows, y, order, k)
    assert all(np.array_equal(a, b) for a, b in zip(before, (*X.rows, order, y), strict=True))


def test_places_in_kernels_are_unsigned_and_the_numbers_that_they_were():
    """Signed ones are tested for being negative in each access, which a third of the time of a step goes into."""

    @njit
    def places(begin, end):
        return list(sparse_rows.entries(begin, end))

    @njit
    def sample(order, k):
        return sparse_rows.sample_at(order, k)

    assert places(np.int32(3), np.int32(6)) == list(sparse_rows.entries(3, 6)) == [3, 4, 5]
    assert places.nopython_signatures[0].return_type.dtype == types.uint64
    assert sample(np.array([7, 5], dtype=np.int32), 1) == sparse_rows.sample_at([7, 5], 1) == 5
    assert sample.nopython_signatures[0].return_type == types.uint32


def test_rows_of_an_operator_are_those_of_the_matrix():
    dense, _ = oracles.data(20, 9, density=0.4)
    X = CSR.of(dense)
    rng = np.random.default_rng(0)
    w, b = rng.standard_normal(9), rng.standard_normal(20)
    np.testing.assert_allclose(X.forward(w), dense @ w)
    np.testing.assert_allclose(X.adjoint(b), dense.T @ b)
    np.testing.assert_allclose(X.rows.sqnorms, (dense**2).sum(axis=1))
    for i in range(20):
        begin, end = X.rows.indptr[i : i + 2]
        assert sparse_rows.dot(X.rows.indices, X.rows.data, begin, end, w) == pytest.approx(dense[i] @ w)
        added = w.copy()
        sparse_rows.axpy(X.rows.indices, X.rows.data, begin, end, 0.5, added)
        np.testing.assert_allclose(added, w + 0.5 * dense[i])
    with pytest.raises(ValueError, match="read-only"):
        X.rows.data[0] = 1.0


# random numbers


def splitmix64(state):
    """Steele, Lea and Flood's generator with Python's integers: (new state, 64 bits)."""
    mask = 2**64 - 1
    state = (state + 0x9E3779B97F4A7C15) & mask
    x = state
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & mask
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & mask
    return state, x ^ (x >> 31)


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 5])
def test_random_integers_are_splitmix64(seed):
    draws, state = [], seed
    for _ in range(100):
        state, bits = splitmix64(state)
        draws.append((bits >> 32) * 1000 >> 32)
    assert Rng(seed).integers(1000, 100).tolist() == draws


def test_first_number_of_the_published_generator():
    assert random.splitmix64(np.zeros(1, dtype=np.uint64)) == 0xE220A8397B1DCDAF


def test_permutations_are_uniform():
    rng = Rng(0)
    counts = Counter(tuple(rng.permutation(3).tolist()) for _ in range(6000))
    assert set(counts) == set(permutations(range(3)))
    assert max(abs(c - 1000) for c in counts.values()) < 150
    for n in 1, 2, 50:
        assert sorted(rng.permutation(n).tolist()) == list(range(n))
        assert sorted(rng.epoch(n).tolist()) == list(range(n))


def test_a_permutation_is_the_shuffle_of_what_is_in_order():
    """And a shuffle moves what is there, whatever it is: rows that are due, say."""
    for seed in range(5):
        shuffled, rows = np.arange(50, dtype=np.int32), np.arange(0, 500, 10, dtype=np.int32)
        for order in shuffled, rows:
            random.shuffle(np.array([seed], dtype=np.uint64), order)
        assert np.array_equal(shuffled, Rng(seed).permutation(50))
        assert np.array_equal(rows, 10 * shuffled)
        some = np.arange(0, 500, 10, dtype=np.int32)
        first, second = Rng(seed).orders(some, 2).reshape(2, 50)
        assert np.array_equal(first, rows) and sorted(second) == sorted(rows) and not np.array_equal(first, second)


def test_problem_of_a_dense_and_of_a_sparse_matrix_are_one():
    from scipy.sparse import coo_array, csc_matrix

    X, y = oracles.data(20, 9, density=0.4)
    w = np.linspace(-1.0, 1.0, 9)
    values = {Problem(m, y, "squared", "none").primal(w) for m in (X, coo_array(X), csc_matrix(X))}
    assert len(values) == 1
