"""Lines of any content: they come back as they went in, and no change of them goes unseen."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw

from runledger import record as r
from runledger.local import frame
from runledger.local.frame import BadLine
from tests.support.journals import Journals, intent

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
NUMBER = st.integers(0, 2**53)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBER | TEXT, lambda inner: st.lists(inner, max_size=3), max_leaves=5
)
SEEDS = st.integers(0, 2**32 - 1)


def values(annotation: Any) -> st.SearchStrategy[Any]:
    """Anything that a field of this type can hold."""
    kinds: dict[Any, st.SearchStrategy[Any]] = {
        int: NUMBER,
        str: TEXT,
        bool: st.booleans(),
        int | None: st.none() | NUMBER,
        str | None: st.none() | TEXT,
        list[str]: st.lists(TEXT, max_size=3),
        tuple[str, ...]: st.lists(TEXT, max_size=3).map(tuple),
        Raw: st.just(r.NOTHING) | JSON.map(lambda value: Raw(msgspec.json.encode(value))),
        r.Failure: st.builds(r.Failure, type=TEXT, message=TEXT),
    }
    return kinds[annotation]


def annotations(kind: type) -> dict[str, Any]:
    """The fields of a record kind with their types."""
    found: dict[str, Any] = {}
    for cls in reversed(kind.__mro__):
        found.update(getattr(cls, "__annotations__", {}))
    return {name: found[name] for name in kind.__struct_fields__ if name != "crc"}  # type: ignore[attr-defined]


RECORDS = st.one_of(
    *(
        st.builds(kind, **{name: values(said) for name, said in annotations(kind).items()})
        for kind in r.RECORDS.values()
    )
)


@settings(deadline=None)
@given(RECORDS, SEEDS)
def test_round_trip(record: r.Record, seed: int) -> None:
    """Every field of every kind comes back, and the line has one line feed, at its end."""
    line = frame.encode(record, seed)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    back = frame.decode(line[:-1], seed)
    assert len(back.crc) == 8
    back.crc = ""
    assert type(back) is type(record)
    assert frame.encode(back, seed) == line


@settings(deadline=None)
@given(RECORDS, SEEDS, st.data())
def test_any_flipped_bit_is_detected(record: r.Record, seed: int, data: st.DataObject) -> None:
    """Wherever it is: in the content, in the checksum, in what closes the line."""
    line = bytearray(frame.encode(record, seed)[:-1])
    at = data.draw(st.integers(0, len(line) * 8 - 1))
    line[at // 8] ^= 1 << at % 8
    with pytest.raises(BadLine):
        frame.decode(bytes(line), seed)


def test_every_flipped_bit_of_a_line_is_detected() -> None:
    """The same without chance, for one line."""
    line = frame.encode(intent("k"), 7)[:-1]
    for at in range(len(line) * 8):
        flipped = bytearray(line)
        flipped[at // 8] ^= 1 << at % 8
        with pytest.raises(BadLine):
            frame.decode(bytes(flipped), 7)


@settings(deadline=None)
@given(RECORDS, SEEDS, st.data())
def test_any_cut_line_is_bad_and_no_whole_object(record: r.Record, seed: int, data: st.DataObject) -> None:
    """What a torn write leaves of a line is never taken for a damaged one."""
    line = frame.encode(record, seed)
    with pytest.raises(BadLine) as bad:
        frame.decode(line[: data.draw(st.integers(0, len(line) - 2))], seed)
    assert not bad.value.whole


@settings(deadline=None)
@given(RECORDS, SEEDS, SEEDS)
def test_no_line_passes_with_another_seed(record: r.Record, seed: int, other: int) -> None:
    """A record is bound to its segment."""
    if seed != other:
        with pytest.raises(BadLine):
            frame.decode(frame.encode(record, seed)[:-1], other)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(1, 1500), min_size=1, max_size=5), st.data())
def test_any_cut_of_the_tail_is_torn(sizes: list[int], data: st.DataObject) -> None:
    """Wherever the file ends: whole records before the cut are read, what is left of the next one is torn."""
    with TemporaryDirectory() as folder:
        journals = Journals(Path(folder))
        journals.writer.begin()
        for size in sizes:
            journals.write(intent("k" * size))
        last = len(sizes)
        begin = journals.line(1)[1]
        end = data.draw(st.integers(begin, journals.line(last)[2]))
        ends = [journals.line(n)[2] for n in range(1, last + 1)]
        journals.tail.write_bytes(journals.tail.read_bytes()[:end])
        read = journals.read()
        journals.close()
    whole = [n for n, at in enumerate(ends, start=1) if at <= end]
    assert read.lsns == whole
    assert read.damage == []
    assert (read.torn is None) == (end in {begin, *ends})
