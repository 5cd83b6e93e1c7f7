"""Whatever value: it comes back the same to the last type, or is refused before anything is recorded."""

from __future__ import annotations

import enum
import json
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass
from datetime import timedelta, timezone
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from runledger.values import Unresolvable, Unstorable, decode, encode, fingerprint

QUICK = settings(max_examples=100, derandomize=True, deadline=None)


class Flags(enum.Flag):
    A = 1
    B = 2
    C = 4


class Pair(NamedTuple):
    one: Any
    two: Any


class Struct(msgspec.Struct, frozen=True):
    one: Any
    two: Any = None


@dataclass(frozen=True)
class Data:
    one: Any
    two: Any = None


ZONES = (
    st.none()
    | st.timezones()
    | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)))
    | st.builds(timezone, st.timedeltas(timedelta(hours=-23), timedelta(hours=23)), st.text(max_size=3))
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["$tuple", "$", "$dict"]
)
PLAIN_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
HASHABLE_ATOMS = (
    PLAIN_ATOMS
    | st.integers()
    | st.builds(pow, st.integers(-9, 9), st.integers(600, 700))
    | st.binary(max_size=6)
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | st.datetimes(timezones=ZONES)
    | st.times(timezones=ZONES)
    | st.dates()
    | st.timedeltas()
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.uuids()
    | TEXTS.map(PurePosixPath)
    | TEXTS.map(PureWindowsPath)
    | st.integers(0, 7).map(Flags)
)
HASHABLE: st.SearchStrategy[Any] = st.deferred(
    lambda: HASHABLE_TREES
)  # deferred, so that a report names it and does not spell it out
HASHABLE_TREES: st.SearchStrategy[Any] = st.recursive(
    HASHABLE_ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3).map(tuple)
        | st.frozensets(inner, max_size=3)
        | st.builds(Pair, inner, inner)
        | st.builds(Struct, inner, inner)
        | st.builds(Data, inner, inner)
    ),
    max_leaves=5,
)
VALUES: st.SearchStrategy[Any] = st.deferred(lambda: TREES)
TREES: st.SearchStrategy[Any] = st.recursive(
    HASHABLE | st.binary(max_size=6).map(bytearray) | st.sets(HASHABLE, max_size=4),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(TEXTS, inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4)
        | st.dictionaries(HASHABLE, inner, max_size=4).map(OrderedDict)
        | st.dictionaries(HASHABLE, st.integers(), max_size=4).map(Counter)
        | st.builds(deque, st.lists(inner, max_size=3), st.none() | st.integers(3, 9))
        | st.builds(Data, inner, inner)
    ),
    max_leaves=12,
)
PLAIN = st.recursive(
    PLAIN_ATOMS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def exact(value: Any) -> Any:
    """The value as nested tuples of types and texts: told in another way than the code under test does."""
    kind = type(value)
    if isinstance(value, OrderedDict | dict):
        return kind, [(exact(key), exact(item)) for key, item in value.items()]
    if isinstance(value, set | frozenset):
        return kind, sorted((exact(item) for item in value), key=repr)
    if isinstance(value, Pair | Data | Struct):
        return kind, exact(value.one), exact(value.two)
    if isinstance(value, list | tuple | deque):
        return kind, getattr(value, "maxlen", None), [exact(item) for item in value]
    return kind, hex(value) if kind is int else repr(value)


@QUICK
@given(VALUES)
def test_values_come_back_the_same(value: Any) -> None:
    """Same value, same types, same order at every level, and what was written is strict JSON."""
    stored = encode(value)
    assert exact(decode(stored.json, stored.typed)) == exact(value)
    assert encode(value) == stored
    json.loads(stored.json)


@QUICK
@given(PLAIN)
def test_plain_values_are_plain_json(value: Any) -> None:
    """What JSON can say is written without tags and read by any reader."""
    stored = encode(value)
    assert not stored.typed
    assert exact(json.loads(stored.json)) == exact(value)
    assert exact(decode(stored.json, typed=False)) == exact(value)


@QUICK
@given(VALUES, VALUES)
def test_fingerprints_differ_where_values_do(one: Any, other: Any) -> None:
    """Two values have one digest only where nothing but the order of dicts and sets tells them apart."""
    assert fingerprint(one) == fingerprint(decode(*encode(one)))
    if fingerprint(one) == fingerprint(other):
        assert type(one) is type(other)
        assert one == other


@QUICK
@given(st.dictionaries(HASHABLE, VALUES, max_size=5), st.randoms(use_true_random=False))
def test_fingerprints_ignore_the_order_of_filling(value: dict[Any, Any], chance: Any) -> None:
    """A dict filled in another order has the same digest."""
    names = list(value)
    chance.shuffle(names)
    assert fingerprint({name: value[name] for name in names}) == fingerprint(value)


TAGS = st.sampled_from(
    [
        *(
            "$tuple",
            "$set",
            "$dict",
            "$counter",
            "$deque",
            "$int",
            "$bytes",
            "$complex",
            "$datetime",
            "$time",
        ),
        *(
            "$timedelta",
            "$decimal",
            "$uuid",
            "$PosixPath",
            "$enum",
            "$dataclass",
            "$struct",
            "$namedtuple",
            "$no",
        ),
    ]
)
FORGED = st.recursive(
    PLAIN_ATOMS | st.just(f"{Data.__module__}:Data") | st.just("os:system"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(TEXTS | st.sampled_from(["one", "two", "at", "zone", "offset"]), inner, max_size=3)
        | st.builds(lambda tag, body: {tag: body}, TAGS, inner)
    ),
    max_leaves=10,
)


@QUICK
@given(FORGED)
def test_any_json_is_read_or_refused(tree: Any) -> None:
    """Tags where nobody put them give a value that can be stored again, or one kind of error."""
    try:
        value = decode(msgspec.json.encode(tree), typed=True)
    except Unresolvable:
        return
    encode(value)


@QUICK
@given(st.binary(max_size=40))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    """Bytes of any kind give a value or one kind of error."""
    for typed in (False, True):
        try:
            decode(data, typed)
        except Unresolvable:
            continue


@QUICK
@given(
    st.recursive(
        st.floats() | st.text() | st.just(object()), lambda inner: st.lists(inner) | st.tuples(inner)
    )
)
def test_refusals_are_of_one_kind(value: Any) -> None:
    """NaN, lone surrogates and foreign types are refused as Unstorable, everything else comes back."""
    try:
        stored = encode(value)
    except Unstorable:
        return
    assert exact(decode(stored.json, stored.typed)) == exact(value)
