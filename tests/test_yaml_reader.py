"""YAML made strict and kind."""

import pytest

from rrmbench.errors import RrmbenchError
from rrmbench.yaml_reader import dumped, load, parse


def test_what_is_dumped_is_read_as_the_same_values():
    texts = [
        "1e5",
        "1e-4",
        "-2E3",
        ".5e3",
        "1_000",
        "0x10",
        "null",
        "~",
        "true",
        "no",
        "2020-01-01",
        "<<",
        "",
        " a",
        "=",
        "é",
    ]
    numbers = [1e5, 1e-4, 1e300, 5e-324, 3, -2, True, None, float("inf")]
    values = {"texts": texts, "numbers": numbers, "keys": dict.fromkeys(filter(str.strip, texts), 1)}
    assert parse(dumped(values), "dumped").value == values


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1.e-4", 1e-4),
        ("1E5", 1e5),
        ("-.5", -0.5),
        ("1_000", 1000),
        ("010", 10),
        ("0x10", 16),
        ("true", True),
        ("~", None),
        ("no", "no"),
        ("on", "on"),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
        ("1.2.3", "1.2.3"),
        ("[1e-3, 1e-4]", [1e-3, 1e-4]),
        ("'1'", "1"),
    ],
)
def test_scalars(text, value):
    read = parse(text, "test").value
    assert read == value
    assert type(read) is type(value)


def test_keys_are_text():
    assert parse("{no: 1, 1: 2, true: 3}", "test").value == {"no": 1, "1": 2, "true": 3}


def test_lines_of_keys_and_entries():
    places = parse("a: 1\nb:\n  c:\n    - 1\n    - x: 2\n", "f", has_lines=True).places
    assert places.where(("b", "c", 1, "x")) == "f:5: b.c[1].x"
    assert places.where(("b", "d")) == "f:2: b.d"  # not written: the line of what is around it
    assert places.where(()) == "f"


def test_merge_keys():
    text = "x: &x {p: 1, q: 2}\nz: &z {<<: *x, p: 3}\nw: {<<: *z}\nv: {<<: [*x, *z], r: 0}"
    value = parse(text, "test").value
    assert value["z"] == value["w"] == {"p": 3, "q": 2}
    assert value["v"] == {"p": 1, "q": 2, "r": 0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\nb: 2\na: 3", "f:3:1: duplicate key 'a' (first on line 1)"),
        ("a: {b: 1, b: 2}", "f:1:11: duplicate key 'b'"),
        ("a:\n\t- b", "f:2:1: found a tab"),
        ("a: [1, 2", "f:1:9: expected ',' or ']'"),
        ("a: *x", "f:1:4: found undefined alias 'x'"),
        ("&a [*a]", "f:1:1: an alias stands inside its own anchor"),
        ("a: !!python/name:os.system x", "f:1:4: the tag"),
        ("a: !!int x", "f:1:4: 'x' is not a value"),
        ("a: b: c", "f:1:5: mapping values are not allowed here"),
        ("--- 1\n--- 2", "f:2:1:"),
        ("? [1]\n: 2", "f:1:3: a key must be text"),
        ("a: 1\nb: \x01", "f:2: the character '\\x01' is not allowed"),
        ("a: {<<: 3}", "f:1:9: '<<' merges mappings only"),
        ("[" * 100_000, "f:1:41: nested deeper than 40 levels"),
        ("{a: " * 5000, "f:1:158: nested deeper than 40 levels"),
        ("- " * 5000, "f:1:81: nested deeper than 40 levels"),
        ("a: " + "9" * 301, "f:1:4: found an integer of 301 digits, allowed are at most 300"),
        ("a: 0x" + "f" * 5000, "f:1:4: found an integer of 5002 digits"),
        ("a: -1e309", "f:1:4: found -1e309, allowed are numbers up to 1.7e308, and .inf"),
        ('a: "\\ud800"', "f:1:4: found the character '\\ud800', allowed are texts without it"),
        ('"\\0": 1', "f:1:1: found the character '\\x00'"),
        ('a: "\\e[31m"', "f:1:4: found the character '\\x1b'"),
        ('a: "\\U00110000"', "f:1:"),
        ('a: "\\UFFFFFFFF"', "f:1:"),
        ("%YAML " + "1" * 5000 + ".1\n--- a", "f:1:"),
        ("a: !!bool yes", "f:1:4: 'yes' is not a value of"),
        ("a: !!null 3", "f:1:4: '3' is not a value of"),
    ],
)
def test_bad_yaml_says_where(text, message):
    with pytest.raises(RrmbenchError) as error:
        parse(text, "f", has_lines=True)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_aliases_of_aliases_stay_small():
    bomb = "a0: &a0 [1, 2]\n" + "\n".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 40))
    with pytest.raises(RrmbenchError, match="more than 100000 values"):
        parse(bomb, "f")


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(RrmbenchError, match="no such file"):
        load(tmp_path / "missing.yaml")
    with pytest.raises(RrmbenchError, match="a directory"):
        load(tmp_path)
    (tmp_path / "latin.yaml").write_bytes(b"name: \xe9t\xe9")
    with pytest.raises(RrmbenchError, match=r"latin.yaml: not UTF-8 text \(byte 7\)"):
        load(tmp_path / "latin.yaml")


def test_numbers_at_their_bounds():
    assert parse("9" * 300, "f").value == 10**300 - 1
    assert parse("[1.7976931348623157e308, -.inf, 0e-400, 5e-324]", "f").value == [
        1.7976931348623157e308,
        float("-inf"),
        0.0,
        5e-324,
    ]


def test_as_deep_as_allowed():
    assert parse("[" * 40 + "]" * 40, "f").value


def test_files_that_are_too_long_or_endless_or_utf16(tmp_path):
    (tmp_path / "long.yaml").write_text("#" * 1_000_001)
    for path in (tmp_path / "long.yaml", "/dev/zero"):
        with pytest.raises(RrmbenchError, match=f"{path}: more than 1000000 bytes"):
            load(path)
    (tmp_path / "wide.yaml").write_text("name: a", encoding="utf-16")
    with pytest.raises(RrmbenchError, match=r"wide\.yaml: found UTF-16, allowed is UTF-8"):
        load(tmp_path / "wide.yaml")
    with pytest.raises(RrmbenchError, match="cannot be read: File name too long"):
        load("a" * 300)
    with pytest.raises(RrmbenchError, match="cannot be read: embedded null byte"):
        load("a\0b")


def test_byte_order_mark_and_windows_lines(tmp_path):
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n")
    assert load(tmp_path / "a.yaml").value == {"a": 1, "b": 2}
