"""Whatever stands in a configuration or an option: it is valid, or one message and exit code 2, in bounded time.

RRMBENCH_FUZZ multiplies the number of examples.
"""

import json
import os
import re
import signal
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lab import make_lab, rows  # noqa: F401

FACTOR = int(os.environ.get("RRMBENCH_FUZZ", 1))
SECONDS = 100  # a guard against hanging and no measure of speed
CONFIGS = Path(__file__).parents[1] / "configs"
SHIPPED = sorted(CONFIGS.rglob("*.yaml"))

PLUGIN = """
import rrmbench
@rrmbench.solver
def fuzz_solver(problem, start, rng, *, step_scale=1.0, anything=None):
    '''Never run here.'''
    yield
"""

# small and valid; between them they have every key and every kind of value
VALID = [
    {
        "name": "a",
        "dataset": "toy.txt",
        "loss": ["squared", {"name": "huber", "mu": [0.5, 1]}],
        "regularizer": {"name": "elastic_net", "l1": [0.1, 0.01], "l2": 0.1},
        "solver": ["apcg", {"name": "svrg", "step_scale": [0.1, 1.0]}],
        "seed": [0, 1],
        "stop": {"passes": 10, "gap": 1e-6, "relative_gap": 1e-6, "seconds": 5},
        "trace": {"every": 1, "growth": 1.1},
        "plot": {
            "rows": "regularizer.l1",
            "columns": "dataset",
            "figure": ["loss"],
            "x": "seconds",
            "y": "gap",
            "title": "a title",
            "xlim": [0, 1],
            "ylim": [1e-8, 1],
        },
        "limit": 100,
        "reference": {"seconds": 5},
    },
    {
        "dataset": {"path": "toy.txt", "scale": "unit_rows", "positive": 1, "test": "toy.txt", "subset": 10},
        "loss": {"name": "hinge", "budget": None},
        "regularizer": {"name": "l1", "strength": 0.1, "domain": {"box": [-1, 1.5]}},
        "solver": "svrg",
        "reduction": {"name": "adapt_reg", "inside": {"name": "smooth", "mu": [0.1, 1e-2]}},
        "tune": {"grid": {"solver.step_scale": [1, 2.5], "reduction.sigma": "{1,3}*10^[-2..0]"}, "by": "objective"},
        "reference": False,
    },
    {
        "solver": {"path": "fuzzed.py", "name": "fuzz_solver", "anything": [1, 2]},
        "tune": {"grid": {"solver.step_scale": "2^[-2..2]"}, "keep": "best", "by": "passes_to_gap", "gap": 1e-3},
        "cases": [
            {
                "dataset": {"path": "toy.txt", "kernel": {"name": "rbf", "gamma": 0.5}},
                "loss": "logistic",
                "regularizer": {"name": "l2", "strength": 0.1, "domain": {"ball": 2}},
            },
            {
                "dataset": {"path": "toy.txt", "bias": "free", "split": 0.5, "split_seed": 1, "flip": 0.1},
                "loss": {"name": "quantile", "a": 0.3},
                "regularizer": {"name": "group_lasso", "strength": 0.1, "groups": "groups.txt"},
                "seed": 3,
            },
        ],
    },
]


class Verbatim(str):
    """YAML that is written as it stands."""

    __repr__ = str.__str__


HUGE = [
    *("1" * 400, "-" + "1" * 400, "9" * 5000, "1e400", "-1e400", "1e-400", "0." + "3" * 5000, "0x" + "f" * 2000),
    *("9223372036854775808", "18446744073709551616", "1" + "0" * 30, ".nan", ".inf", "-.inf", "-0.0", "1e308"),
]
YAML = [
    *("[" * 100_000, "{a: " * 5000, "[" * 60 + "]" * 60, "*x", "&x [*x]", "!!int x", "!!float ''", "!!bool x"),
    *('"\\0"', '"\\ud800"', '"\\udcff"', '"\\U00110000"', '"\\UFFFFFFFF"', '"\\e[31m"', '"\\x9b"', "!!python/none x"),
    *("? [1]\n: 2", "{<<: 3}", "<<", "'", '"', "|", "%", "@", "`", "- - -", "\t", "\x00", "\ufeff", "\u2028", "{a, a}"),
]
GRIDS = [
    *("10^[0..400]", "10^[-400..0]", "2^[-1000000..1000000]", "0^[-5..5]", "1.2.3^[0..2]", ".^[0..1]", "2^[5..-5]"),
    *(f"2^[0..{'9' * 5000}]", f"2^[-{'9' * 50}..{'9' * 50}]", f"{'9' * 400}^[0..2]", "{nan,inf}*2^[0..1]"),
    *("{1e400}*2^[0..1]", "{}*2^[0..1]", "{,}*2^[0..1]", "{0}*2^[0..1]", "{-1}*2^[0..1]", "{1_0}*2^[0..1]"),
]
TEXTS = [
    *("", " ", ".", "..", "/", "~", "~nobody/x", "a" * 300, "/" + "a" * 300, "a/" * 3000, "x" * 100_000, "./toy.txt"),
    *("nan", "inf", "None", "auto", "toy.txt:toy.txt", "a:b.py", "fuzzed.txt", "/dev/null", "/proc/self/mem", "[/x]"),
    *(
        "$\\frac{",
        "é",
        "日本",
        "\\",
        "%s",
        "{0}",
        "none",
        "name",
        "__class__",
        "regularizer.strength",
        "dataset",
        "seed",
    ),
]
scalars = (
    st.sampled_from([None, True, False, 0, -1, 1, 2, 0.5, 1e-300, 1e300])
    | st.sampled_from([Verbatim(text) for text in [*HUGE, *YAML]])
    | st.sampled_from([*GRIDS, *TEXTS])
    | st.text(max_size=8)
    | st.integers()
    | st.floats()
)
values = (
    scalars
    | st.lists(scalars, max_size=3)
    | st.sampled_from([[], {}, [[]], [{}], {"name": []}, {"name": {}}, {"path": []}, {"inside": None}, {"": ""}])
    | st.sampled_from([list(range(1000)), [0.5] * 2000, [list(range(300))] * 3, {"name": ["apcg"] * 400}])
    | st.dictionaries(st.sampled_from(["name", "path", "inside", "domain", "x"]), scalars, max_size=3)
)
KEYS = [
    *("name", "path", "inside", "domain", "test", "groups", "strength", "sigma", "box", "ball", "kernel", "tune"),
    *("cases", "plot", "seed", "solver", "reduction", "<<", "", "a" * 300, "\x00", "positive", "subset", "limit"),
]


def paths(value, path=()):
    """The key paths of all values inside."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*path, key)
        yield from paths(item, (*path, key))


@st.composite
def mutated(draw):
    """A valid configuration with one to three changes: values replaced, swapped, moved, wrapped, removed, added."""
    tree = deepcopy(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        places = list(paths(tree))
        if not places:
            break
        *way, key = draw(st.sampled_from(places) | st.sampled_from([p for p in places if "grid" in p] or places))
        holder = at(tree, way)
        how = draw(st.sampled_from([*["replace"] * 4, "add", "remove", "wrap", "nest", "swap", "rename"]))
        if how == "replace":
            fitting = st.sampled_from(GRIDS) | values if "grid" in way else values
            holder[key] = deepcopy(draw(fitting))
        elif how == "add" and isinstance(holder, dict):
            holder[draw(st.sampled_from(KEYS))] = deepcopy(draw(values))
        elif how == "remove":
            del holder[key]
        elif how == "wrap":
            holder[key] = [holder[key], holder[key]]
        elif how == "nest":
            holder[key] = {draw(st.sampled_from(KEYS)): holder[key]}
        elif how == "swap":
            other = draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
            holder[key], holder[other] = holder[other], holder[key]
        elif how == "rename" and isinstance(holder, dict):
            holder[draw(st.sampled_from(KEYS))] = holder.pop(key)
    return written(tree)


def written(value):
    """The value as YAML in flow style, texts in double quotes."""
    if isinstance(value, Verbatim):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)}: {written(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(written, value)) + "]"
    if isinstance(value, float) and value != value:
        return ".nan"
    return json.dumps(value, ensure_ascii=False).replace("Infinity", ".inf")


@st.composite
def damaged(draw):
    """The bytes of a shipped or a valid configuration with pieces overwritten, removed, repeated or put in."""
    whole = [path.read_bytes() for path in SHIPPED] + [written(tree).encode() for tree in VALID]
    data = bytearray(draw(st.sampled_from(whole)))
    pieces = st.binary(max_size=4) | st.sampled_from(
        [*b"[]{}:,-#&*!|>'\"%@`\t\n 0e.", *(f"{t}".encode("utf-8", "replace") for t in [*HUGE, *YAML, *TEXTS])]
    ).map(lambda piece: bytes([piece]) if isinstance(piece, int) else piece)
    for _ in range(draw(st.integers(1, 5))):
        at = draw(st.integers(0, len(data)))
        until = draw(st.integers(at, min(len(data), at + 12)))
        how = draw(st.sampled_from(["put", "over", "cut", "repeat"]))
        if how == "repeat":
            data[until:until] = data[at:until] * draw(st.integers(1, 20))
        else:
            data[at : at if how == "put" else until] = b"" if how == "cut" else draw(pieces)
    return bytes(data)


@st.composite
def overridden(draw):
    """A valid configuration with one or two options `--set` or `--only`: keys of it or not, with values as above."""
    tree = draw(st.sampled_from(VALID))
    known = {".".join(k for k in path if isinstance(k, str)): at(tree, path) for path in paths(tree)}
    options = []
    for _ in range(draw(st.integers(1, 2))):
        key = draw(
            st.sampled_from([*known, *known, *KEYS, "reduction.inside.inside.mu", "solver.inside", "a.b", "tune."])
        )
        value = known[key] if key in known and draw(st.booleans()) else draw(values)
        text = str(value) if isinstance(value, str) and draw(st.booleans()) else written(value)
        form = draw(st.sampled_from([*["{}={}"] * 9, "{}", "={}", "{}.={}", ".{}={}"]))
        options += [draw(st.sampled_from(["--set", "--only"])), form.format(key, text).replace("\0", "")[:120_000]]
    return written(tree).encode(), options


def at(tree, path):
    """The value at a key path."""
    for key in path:
        tree = tree[key]
    return tree


@contextmanager
def guard():
    def late(number, frame):
        raise AssertionError(f"not done after {SECONDS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session", name="folder")
def make_folder(tmp_path_factory):
    """The files that configurations name; one folder for all, since a process loads a plug-in once."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "toy.txt").write_text(rows())
    (folder / "groups.txt").write_text("2 4\n")
    for name in ("fuzzed.py", "fuzzed.txt", "a:b.py"):
        (folder / name).write_text(PLUGIN)
    return folder


@pytest.fixture(name="judge")
def make_judge(lab, folder):
    """A function that runs the command line and holds what it says against the rules."""

    def judge(content, *arguments):
        (folder / "c.yaml").write_bytes(content)
        with guard():
            ran = lab.cli(*arguments[:1], folder / "c.yaml", *arguments[1:])
        assert ran.code in (0, 2)
        assert "Traceback" not in ran.err
        if ran.code == 2:
            assert ran.out == ""
            assert re.match(r"rrmbench: .+|Usage: ", ran.err)
            assert len(ran.err) < 20_000
            assert ran.err.replace("\n", "").isprintable()
        else:
            assert ran.out
        return ran

    return judge


fuzz = settings(
    max_examples=40 * FACTOR,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
)


def test_the_configurations_that_are_changed_are_valid(judge):
    for tree in VALID:
        assert judge(written(tree).encode(), "validate").code == 0, tree


@fuzz
@given(content=mutated())
def test_changed_configurations_are_valid_or_one_message(judge, content):
    judge(content.encode("utf-8", "surrogatepass"), "validate")


@fuzz
@given(content=damaged())
def test_damaged_files_are_valid_or_one_message(judge, content):
    judge(content, "validate")


@fuzz
@given(content=st.binary(max_size=200) | st.text(max_size=200).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_arbitrary_files_are_one_message(judge, content):
    assert judge(content, "validate").code == 2


@fuzz
@given(asked=overridden())
def test_options_are_followed_or_one_message(judge, asked):
    content, options = asked
    judge(content, "run", "--dry-run", *options)
