"""Segments that hold anything: every byte other, or lines whose checksum is right and whose content is hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any
from zlib import crc32

import msgspec
import pytest
from hypothesis import strategies as st

from runledger import record as r
from tests.damage.ledgers import Made
from tests.hostile.judging import Spoilt, fuzz, hostile_texts, judge, members, spliced
from tests.hostile.neighbours import append_line, change_line, line, seed_of

KNOWN = ("x0", "ever0", "x2", "y2", "ever2")
FOR_EVER = ("ever0", "ever2")
MOVING = ("started", "adopted")
"""After these, what was known of the run is of the run before."""


@pytest.fixture(autouse=True)
def _nobody_is_writing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A torn line is not waited for."""
    monkeypatch.setattr("runledger.local.known.SETTLING_S", 0)


Way = Callable[[st.DataObject, Made], Spoilt]


def _segment(data: st.DataObject, one: Made) -> Path:
    return data.draw(st.sampled_from(one.segments))


def any_bytes(data: st.DataObject, one: Made) -> Spoilt:
    """Other bytes in a segment, wherever they are."""
    segment = _segment(data, one)
    segment.write_bytes(spliced(data, segment.read_bytes()))
    return Spoilt(segment)


def any_bytes_behind(data: st.DataObject, one: Made) -> Spoilt:
    """Bytes behind the last record: a torn tail or damage, and all records before it stay known."""
    segment = one.segments[-1]
    old = segment.read_bytes().rstrip(b"\n\0") + b"\n"
    segment.write_bytes(old + spliced(data, old[-300:] + b"\n" * 20))
    return Spoilt(segment, KNOWN)


VALUES: dict[Any, list[str]] = {
    int: ["1", "27", "28", "13"],
    str: ['"x2"', '"pay"', '"run"', '"ledger"', '"a"', '"durable"', '"completed"', '"{}"'],
    bool: ["true", "false"],
    msgspec.Raw: ['{"paid":"x2"}', "1e400"],
    r.Failure: ['{"type":"T","message":"m"}'],
    list[str]: ["[]", '["a","b"]'],
    tuple[str, ...]: ['["a"]'],
}
KINDS = {tag: {**r.Base.__annotations__, **kind.__annotations__} for tag, kind in r.RECORDS.items()}


def _fields(data: st.DataObject, kind: str, last: dict[str, object]) -> dict[str, str]:
    """A record that could follow ``last``, each of its own fields plausible or hostile, as JSON texts."""
    lsn, steps = int(str(last["lsn"])), int(str(last.get("steps", 0)))
    told = {"t": f'"{kind}"', "lsn": str(lsn + 1), "at": '"2026-11-29T14:20:11Z"'}
    told |= {"run": json.dumps(last.get("run", "r")), "owner": json.dumps(last.get("owner", "o"))}
    told["steps"] = str(steps + (kind == "intent"))
    for name, said in KINDS[kind].items():
        if name not in {"crc", "durable", *told} and data.draw(st.booleans() | st.just(value=True)):
            plausible = st.sampled_from(VALUES[said.__args__[0] if isinstance(said, UnionType) else said])
            told[name] = data.draw(plausible if data.draw(st.integers(0, 3)) else hostile_texts())
    return told


def a_line_more(data: st.DataObject, one: Made) -> Spoilt:
    """Records of any kind behind the last one, their checksums right, their members not."""
    keys: tuple[str, ...] = KNOWN
    for _ in range(data.draw(st.integers(1, 3))):
        kind = data.draw(st.sampled_from(sorted(KINDS)))
        keys = FOR_EVER if kind in MOVING else keys

        def make(last: dict[str, object], kind: str = kind) -> bytes:
            return b"{" + members(data, _fields(data, kind, last)).encode("utf-8", "replace")

        try:
            append_line(one.segments[-1], make)
        except (ValueError, KeyError, TypeError, RecursionError):
            break  # the one before it is none to go on from
    return Spoilt(one.segments[-1], keys)


def _record_at(data: st.DataObject, segment: Path) -> tuple[int, dict[str, object]]:
    lines = segment.read_bytes().rstrip(b"\n\0").split(b"\n")
    numbers = [n for n, text in enumerate(lines) if text.startswith(b'{"t":"') and b'"lsn":' in text[:40]]
    number = data.draw(st.sampled_from(numbers))
    return number, json.loads(lines[number])


def another_line(data: st.DataObject, one: Made) -> Spoilt:
    """A record of any kind instead of another; what is folded stays known."""
    segment = _segment(data, one)
    number, was = _record_at(data, segment)
    before = {
        **was,
        "lsn": int(str(was["lsn"])) - 1,
        "steps": int(str(was["steps"])) - (was["t"] == "intent"),
    }
    kind = data.draw(st.sampled_from([str(was["t"]), *sorted(KINDS)]))
    body = "{" + members(data, _fields(data, kind, before))
    change_line(segment, number, lambda _: body.encode("utf-8", "replace"))
    return Spoilt(segment, ["ever0"])


def other_members(data: st.DataObject, one: Made) -> Spoilt:
    """A record with some of its own members changed, twice there, gone or unknown."""
    segment = _segment(data, one)
    number, was = _record_at(data, segment)
    told = {name: json.dumps(value) for name, value in was.items() if name != "crc"}
    body = "{" + members(data, told)
    change_line(segment, number, lambda _: body.encode("utf-8", "replace"))
    return Spoilt(segment, ["ever0"])


def another_header(data: st.DataObject, one: Made) -> Spoilt:
    """A header that says anything, its lines bound to it where it still names a segment."""
    segment = _segment(data, one)
    first, _, rest = segment.read_bytes().partition(b"\n")
    told = {name: json.dumps(value) for name, value in json.loads(first).items() if name != "crc"}
    header = line(b"{" + members(data, told).encode("utf-8", "replace"), 0)
    if data.draw(st.booleans()):
        rest = _bound_anew(rest, crc32(json.loads(first)["segment"].encode()), header)
    segment.write_bytes(header + rest)
    return Spoilt(segment, ["ever0"])


def _bound_anew(rest: bytes, seed: int, header: bytes) -> bytes:
    try:
        named = str(json.loads(header)["segment"])
        seed = crc32(named.encode())
    except (ValueError, KeyError, RecursionError):
        return rest
    lines = [text.rsplit(b',"crc":"', 1)[0] for text in rest.rstrip(b"\n\0").split(b"\n")]
    return b"".join(line(text, seed) for text in lines)


def another_seal(data: st.DataObject, one: Made) -> Spoilt:
    """A seal that says anything of its blocks: it only makes reading quick, so nothing may be lost by it."""
    segment = one.segments[0]
    lines = segment.read_bytes().rstrip(b"\n").split(b"\n")
    (block,) = json.loads(lines[-1])["blocks"]
    size = data.draw(
        st.sampled_from([0, -1, 1, block[0] - 1, block[0], 2**31, 2**63 - 1]) | st.integers(0, 3000)
    )
    checksum = data.draw(st.sampled_from([block[1], "00000000", "", "x" * 5000]))
    blocks = json.dumps([[size, checksum]] * data.draw(st.sampled_from([1, 2, 50])))
    body = "{" + members(data, {"t": '"seal"', "records": "13", "blocks": blocks})
    lines[-1] = line(body.encode("utf-8", "replace"), seed_of(segment))[:-1]
    segment.write_bytes(b"\n".join(lines) + b"\n")
    return Spoilt(segment, KNOWN)


def a_file_more(data: st.DataObject, one: Made) -> Spoilt:
    """Something that is named like a segment, before, between or behind the others."""
    number = data.draw(st.sampled_from([0, 1, 16, 18, 31, 32, 33, 10**19, 10**20 - 1]))
    path = one.ledger / f"{number:020d}.jsonl"
    path.write_bytes(spliced(data, _segment(data, one).read_bytes()))
    return Spoilt(path, KNOWN)


WAYS: list[Way] = [
    any_bytes,
    any_bytes_behind,
    a_line_more,
    another_line,
    other_members,
    another_header,
    another_seal,
    a_file_more,
]


def tried(sound: Made, way: Way, data: st.DataObject) -> None:
    one = sound.copy(sound.root.parent / "one" / "root")
    judge(data, one, way(data, one))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hostile_segment(sound: Made, way: Way) -> None:
    """Every reader answers soundly or refuses by name, and no key that is known becomes new without a word."""
    fuzz(partial(tried, sound, way))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_many_hostile_segments(sound: Made, way: Way, seed: int, request: pytest.FixtureRequest) -> None:
    """The same many times."""
    fuzz(partial(tried, sound, way), examples=request.config.option.histories // 10, seed=seed)
