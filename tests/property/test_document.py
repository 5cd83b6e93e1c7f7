"""Whatever document and whatever edits: nothing foreign changes and the output always parses."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runledger.document import Document, DocumentDamaged

NUMBERS = st.sampled_from(
    ["0", "-0", "0.9470", "1e400", "1E+2", str(2**70), "-12.50e-3"]
) | st.integers().map(str)
STRINGS = st.text(alphabet='ab"\\/\n\x00\x7fé\u2028😀', max_size=6)
SPACE = st.sampled_from(["", " ", "\n", "\n  ", "\n\t", "\r\n    ", "  "])


@st.composite
def strings(draw: st.DrawFn) -> str:
    """The JSON text of a string, escaped in one of the ways that others write."""
    return json.dumps(draw(STRINGS), ensure_ascii=draw(st.booleans()))


@st.composite
def containers(draw: st.DrawFn, inner: st.SearchStrategy[str], *, named: bool | None = None) -> str:
    """The JSON text of an object or an array with arbitrary white space."""
    parts = draw(st.lists(inner, max_size=4))
    named = draw(st.booleans()) if named is None else named
    if named:
        names = draw(st.lists(strings(), min_size=len(parts), max_size=len(parts), unique_by=json.loads))
        parts = [f"{name}{draw(SPACE)}:{draw(SPACE)}{part}" for name, part in zip(names, parts, strict=True)]
    body = ",".join(f"{draw(SPACE)}{part}{draw(SPACE)}" for part in parts) or draw(SPACE)
    return f"{{{body}}}" if named else f"[{body}]"


VALUES = st.recursive(
    NUMBERS | strings() | st.sampled_from(["true", "false", "null"]), containers, max_leaves=20
)
OBJECTS = containers(VALUES, named=True)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | STRINGS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(STRINGS, inner, max_size=3),
    max_leaves=8,
)


def exact(text: str) -> Any:
    """The document with order, twins and the text of numbers kept; an object is a tuple of pairs."""
    return json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=tuple)


def paths(value: Any) -> list[tuple[str | int, ...]]:
    """The paths of everything in a document."""
    found: list[tuple[str | int, ...]] = [()]
    children = value if isinstance(value, tuple) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        found += [(name, *path) for path in paths(child)]
    return found


def without(value: Any, path: tuple[str | int, ...]) -> Any:
    """The document with whatever is at ``path`` taken out."""
    step, rest = path[0], path[1:]
    if isinstance(value, tuple):
        pairs = ((name, without(child, rest) if name == step and rest else child) for name, child in value)
        return tuple((name, child) for name, child in pairs if rest or name != step)
    if isinstance(value, list):
        items = [without(child, rest) if at == step and rest else child for at, child in enumerate(value)]
        return items if rest else [child for at, child in enumerate(items) if at != step]
    return value


@given(OBJECTS)
def test_untouched_text_is_untouched(text: str) -> None:
    """Opening a document, at any depth, changes no byte."""
    document = Document(text)
    for path in paths(exact(text)):
        assert document.kind(path) is not None
        document.length(path)
    assert document.text == text


@given(OBJECTS, PLAIN, st.data())
def test_replacing_changes_one_value(text: str, value: Any, data: st.DataObject) -> None:
    """After a set, the value is there and everything else is as it was."""
    path = data.draw(
        st.sampled_from(paths(exact(text))).filter(bool) if len(paths(exact(text))) > 1 else st.none()
    )
    if path is None:
        return
    document = Document(text)
    document.set(path, value)
    after = document.text
    assert without(exact(after), path) == without(exact(text), path)
    assert Document(after).get(path) == value
    document.set(path, value)
    assert document.text == after


@given(OBJECTS, STRINGS, PLAIN, st.data())
def test_adding_and_removing_leaves_the_text(text: str, name: str, value: Any, data: st.DataObject) -> None:
    """A new member is the last one of its parent, and taking it out again gives the old text back."""
    document = Document(text)
    inside = [
        path for path in paths(exact(text)) if document.kind(path) == "object" and document.length(path)
    ]
    if not inside:
        return
    path = data.draw(st.sampled_from(inside))
    if document.kind((*path, name)) is not None:
        return
    document.set((*path, name), value)
    assert Document(document.text).get((*path, name)) == value
    assert without(exact(document.text), (*path, name)) == exact(text)
    assert document.remove((*path, name))
    assert document.text == text


@given(OBJECTS, st.data())
def test_removing_changes_nothing_else(text: str, data: st.DataObject) -> None:
    """After a remove, one value is gone and the rest is as it was."""
    every = [path for path in paths(exact(text)) if path]
    if not every:
        return
    path = data.draw(st.sampled_from(every))
    document = Document(text)
    assert document.remove(path)
    assert exact(document.text) == without(exact(text), path)


@given(OBJECTS, PLAIN, st.data())
def test_appending_adds_a_last_item(text: str, value: Any, data: st.DataObject) -> None:
    """After an append, the array has one more item and nothing else changed."""
    document = Document(text)
    arrays = [path for path in paths(exact(text)) if document.kind(path) == "array"]
    if not arrays:
        return
    path = data.draw(st.sampled_from(arrays))
    end = (*path, document.length(path))
    document.append(path, value)
    assert Document(document.text).get(end) == value
    assert without(exact(document.text), end) == exact(text)


@given(st.text() | st.text(alphabet='{}[]":,\\u0d8e1-.n \n', max_size=40))
def test_any_text_is_a_document_or_damaged(text: str) -> None:
    """No text raises anything but DocumentDamaged, and what is accepted is JSON to other parsers too."""
    try:
        document = Document(text)
    except DocumentDamaged:
        return
    assert isinstance(json.loads(text), dict)
    assert document.text == text
