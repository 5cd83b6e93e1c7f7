"""JSON edited in place: what is set changes, in the style around it, and nothing else."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pytest

from runledger.document import Document, DocumentDamaged


def edited(text: str, path: tuple[str | int, ...], value: Any) -> str:
    """The text after one ``set``."""
    document = Document(text)
    document.set(path, value)
    return document.text


@pytest.mark.parametrize(
    ("text", "path", "value", "expected"),
    [
        ('{"a":1}', ("a",), 2, '{"a":2}'),
        ('{"a" : 0.9470 , "b":1}', ("b",), 2, '{"a" : 0.9470 , "b":2}'),
        ('{"a":1}', ("b",), 2, '{"a":1,"b":2}'),
        ('{"a": 1}', ("b",), 2, '{"a": 1, "b": 2}'),
        ('{ "a": 1 }', ("b",), "x", '{ "a": 1, "b": "x" }'),
        ("{}", ("b",), 2, '{\n  "b": 2\n}'),
        ('{\n\t"a": {}\n}\n', ("a", "b"), 2, '{\n\t"a": {\n\t\t"b": 2\n\t}\n}\n'),
        ('{\r\n  "a": 1\r\n}', ("b",), 2, '{\r\n  "a": 1,\r\n  "b": 2\r\n}'),
        ('{\n    "a": 1\n}', ("b",), {"c": 1}, '{\n    "a": 1,\n    "b": {\n        "c": 1\n    }\n}'),
        ('{\n  "a": {"x": 1}\n}', ("a", "y"), 2, '{\n  "a": {"x": 1, "y": 2}\n}'),
        ('{\n  "a": {"x": 1}\n}', ("a", "y"), {"z": 2}, '{\n  "a": {"x": 1, "y": {"z": 2}}\n}'),
        ('{"a": [1, 2e400]}', ("a", 0), None, '{"a": [null, 2e400]}'),
        ('{"\\u0061": 1}', ("a",), 2, '{"\\u0061": 2}'),
        ('{"a": "\\u0041"}', ("a",), "A", '{"a": "\\u0041"}'),
        ('{"a": 1.0}', ("a",), 1, '{"a": 1}'),
        ('{"a": true}', ("a",), 1, '{"a": 1}'),
        ('{"a": "é"}', ("b",), "ü\n", '{"a": "é", "b": "ü\\n"}'),
        ("{\n}", ("a",), 1, '{\n  "a": 1\n}'),
    ],
)
def test_set(text: str, path: tuple[str | int, ...], value: Any, expected: str) -> None:
    """A value is replaced, or appended in the style of its surroundings; an equal one keeps its text."""
    assert edited(text, path, value) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"l": []}', '{"l": [{"id": "x", "n": 0}]}'),
        ('{\n  "l": []\n}', '{\n  "l": [\n    {"id": "x", "n": 0}\n  ]\n}'),
        (
            '{\n  "l": [\n    { "id": "a" }\n  ]\n}',
            '{\n  "l": [\n    { "id": "a" },\n    { "id": "x", "n": 0 }\n  ]\n}',
        ),
        (
            '{\n "l": [\n  {\n   "id": "a"\n  }\n ]\n}',
            '{\n "l": [\n  {\n   "id": "a"\n  },\n  {\n   "id": "x",\n   "n": 0\n  }\n ]\n}',
        ),
        ('{"l":[{"id":"a"}]}', '{"l":[{"id":"a"},{"id":"x","n":0}]}'),
        ('{"l": [{}]}', '{"l": [{}, {"id": "x", "n": 0}]}'),
    ],
)
def test_append_writes_like_its_neighbours(text: str, expected: str) -> None:
    """An item takes the lines, the colon and the padding of the item before it."""
    document = Document(text)
    document.append(("l",), {"id": "x", "n": 0})
    assert document.text == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("a",), '{\n  "b": 2,\n  "c": 3\n}'),
        (("b",), '{\n  "a": 1,\n  "c": 3\n}'),
        (("c",), '{\n  "a": 1,\n  "b": 2\n}'),
    ],
)
def test_remove_takes_its_comma_and_white_space(path: tuple[str, ...], expected: str) -> None:
    """First, middle or last: the rest looks as if the member had never been there."""
    document = Document('{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}')
    assert document.remove(path)
    assert document.text == expected


def test_remove_of_the_only_member_and_of_none() -> None:
    """The last member leaves an empty object; what is not there cannot be removed."""
    document = Document('{"a": {\n  "b": 1\n}, "c": 5}')
    assert document.remove(("a", "b"))
    assert not document.remove(("a", "b"))
    assert not document.remove(("c", "d"))
    assert not document.remove(())
    assert document.text == '{"a": {}, "c": 5}'


def test_what_is_read() -> None:
    """Kinds, lengths, raw texts and values of what is there, None for what is not."""
    document = Document(
        '{"s": "\\ud83d\\ude00", "n": 1e400, "i": -7, "o": {"x": [1]}, "t": true, "f": false, "z": null}'
    )
    assert [document.kind((name,)) for name in "sniotfzq"] == [
        "string", "number", "number", "object", "true", "false", "null", None,
    ]  # fmt: skip
    assert document.kind(()) == "object"
    assert document.kind(("o", "x", 0)) == "number"
    assert document.kind(("o", "x", 1)) is None
    assert document.kind(("s", "x")) is None
    assert document.length(("o", "x")) == 1
    assert document.length(("s",)) == 0
    assert document.raw(("n",)) == "1e400"
    assert document.get(("n",)) == float("inf")
    assert document.get(("s",)) == "😀"
    assert document.get(("i",)) == -7
    assert document.get(("o",)) == {"x": [1]}
    assert document.scalar(("o",)) is None
    assert document.scalar(("t",)) is True
    assert document.get(("q",)) is None


@pytest.mark.parametrize("path", [("q", "x"), ("a", "x"), ("l", 5), ("l", "x"), ("a", 0)])
def test_what_has_no_place_cannot_be_set(path: tuple[str | int, ...]) -> None:
    """A missing parent, or one of another kind, is refused and changes nothing."""
    document = Document('{"a": 1, "l": [1]}')
    with pytest.raises(KeyError):
        document.set(path, 1)
    with pytest.raises(KeyError):
        document.append(("a",), 1)
    assert document.text == '{"a": 1, "l": [1]}'


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "[]",
        "1",
        "null",
        "{",
        '{"a"',
        '{"a":',
        '{"a":1',
        '{"a":1,}',
        '{"a":[1,]}',
        '{"a":[1}',
        "{a:1}",
        "{'a':1}",
        '{"a":1}{"b":2}',
        '{"a":1} x',
        '{"a":1}\x00',
        '{"a":NaN}',
        '{"a":-Infinity}',
        '{"a":01}',
        '{"a":1.}',
        '{"a":.5}',
        '{"a":+1}',
        '{"a":1e}',
        '{"a":tru}',
        '{"a":"\t"}',
        '{"a":"\\x41"}',
        '{"a":"\\u12"}',
        '{"a":"\\ud800"}',
        '{"a":"\\ud800\\u0041"}',
        '{"a":"\\udc00"}',
        '{"\\udc00":1}',
        '{"a":"\ud800"}',
        '{"a":"open}',
        '{"a":1,"a":2}',
        '{"a":1,"\\u0061":2}',
        '{"timestamps":{"a":1,"a":2}}',
        '{"sprints":{"list":[{"id":1,"id":2}]}}',
        '{"ledger":{"a":1,"a":2}}',
        '{"failure":{"a":1,"a":2}}',
        "{//\n}",
        "\ufeff{}",
    ],
)
def test_damage_is_refused(text: str) -> None:
    """What strict JSON does not allow, and what would leave open which value is meant."""
    with pytest.raises(DocumentDamaged) as caught:
        Document(text)
    assert caught.value.reason in str(caught.value)
    assert 0 <= caught.value.offset <= len(text)


def test_twins_at_a_foreign_level_stay() -> None:
    """A name said twice where only others write is kept; the last one counts, as for every parser."""
    text = '{"x": {"a": 1, "a": 2}}'
    document = Document(text)
    assert document.get(("x", "a")) == 2
    assert document.text == text


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_depth_is_bounded(opening: str, closing: str) -> None:
    """200 levels are data; more are damage, never a RecursionError, however many there are."""
    Document('{"a":' + opening * 199 + "1" + closing * 199 + "}")
    for levels in (200, 300_000):
        with pytest.raises(DocumentDamaged, match="nests deeper"):
            Document('{"a":' + opening * levels + "1" + closing * levels + "}")


def test_no_stack_is_needed() -> None:
    """A deep document opens, changes and is written where the caller has used up nearly all of the stack."""
    deep = '{"a":' + "[" * 199 + "]" * 199 + "}"

    def down(levels: int) -> str:
        return down(levels - 1) if levels else edited(deep, ("b",), 1)

    used, frame = 0, sys._getframe()
    while frame.f_back is not None:
        used, frame = used + 1, frame.f_back
    assert down(sys.getrecursionlimit() - used - 60).endswith(',"b":1}')


@pytest.mark.parametrize(
    "text",
    [
        '{"a":"' + "\\n" * 400_000 + '"}',
        '{"a":[' + "1," * 300_000 + "1]}",
        '{"a":"' + "\\" * 400_000 + '"}',
        "{" + ",".join(f'"k{n}":{n}' for n in range(60_000)) + "}",
        '{"a":' + " " * 900_000 + "1}",
        '{"a":' + "1" * 900_000 + "}",
        '{"a":"' + "\\u0061" * 140_000,
    ],
    ids=["escapes", "array", "backslashes", "members", "space", "digits", "unclosed"],
)
def test_time_is_linear(text: str) -> None:
    """The largest state files are read in a moment, whatever is in them."""
    begin = time.perf_counter()
    try:
        Document(text).set(("new",), 1)
    except DocumentDamaged:
        assert text.endswith("\\u0061")
    assert time.perf_counter() - begin < 5


def test_a_fresh_document() -> None:
    """Two spaces a level; objects of plain values in a list on one line; parsed it is what went in."""
    value = {
        "a": "x",
        "b": {},
        "l": [{"id": "s", "n": 1}, {"id": "t", "n": {"m": [1, 2]}}],
        "n": None,
        "e": [],
    }
    text = Document.new(value).text
    assert json.loads(text) == value
    assert text == (
        '{\n  "a": "x",\n  "b": {},\n  "l": [\n    {"id": "s", "n": 1},\n    {\n      "id": "t",\n'
        '      "n": {\n'
        '        "m": [1, 2]\n      }\n    }\n  ],\n  "n": null,\n  "e": []\n}\n'
    )


def test_exactly_one_newline_at_the_end() -> None:
    """Whatever white space followed the document before."""
    for foot in ("", "\n", "\n\n", " \r\n"):
        document = Document("{}" + foot)
        document.end_with_newline()
        assert document.text == "{}\n"
