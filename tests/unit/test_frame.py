"""A line's bytes: exactly these, for this segment, or it is no line."""

from __future__ import annotations

from zlib import crc32

import pytest
from msgspec import Raw

from runledger import record as r
from runledger.errors import NewerVersion
from runledger.local import frame
from runledger.local.frame import BadLine, Header, Seal

SEGMENT = "8899aabbccddeeff"
SEED = frame.seed_of(SEGMENT)
AT = "2026-11-29T14:20:11.123456Z"

BEAT = (
    b'{"t":"heartbeat","lsn":7,"at":"2026-11-29T14:20:11.123456Z","run":"r-1","owner":"o-1","durable":6,'
    b'"steps":2'
)


def beat() -> r.Heartbeat:
    """The record whose line begins with ``BEAT``."""
    return r.Heartbeat(lsn=7, at=AT, run="r-1", owner="o-1", durable=6, steps=2)


def line(body: bytes, seed: int = SEED) -> bytes:
    """A body closed with the checksum that it should have, made without the module under test."""
    return body + b',"crc":"%08x"}' % crc32(body, seed)


# --- what is written ------------------------------------------------------------------------------------


def test_line_ends_with_its_checksum_and_one_line_feed() -> None:
    """The checksum covers all bytes before its own member, and is seeded with that of the segment's id."""
    assert frame.encode(beat(), SEED) == line(BEAT, crc32(b"8899aabbccddeeff")) + b"\n"


def test_fields_at_their_default_are_left_out() -> None:
    """What says nothing takes no bytes."""
    assert frame.encode(r.Closed(lsn=1, at=AT), SEED).startswith(
        b'{"t":"closed","lsn":1,"at":"' + AT.encode() + b'","crc":'
    )


def test_control_characters_are_escaped() -> None:
    """A line has one line feed, at its end, whatever its texts hold."""
    got = frame.encode(r.Halted(lsn=1, at=AT, reason="a\nb\r\0c\u2028d"), SEED)
    assert got.count(b"\n") == 1
    assert b'"reason":"a\\nb\\r\\u0000c\xe2\x80\xa8d"' in got
    decoded = frame.decode(got[:-1], SEED)
    assert isinstance(decoded, r.Halted)
    assert decoded.reason == "a\nb\r\0c\u2028d"


def test_payload_keeps_its_bytes() -> None:
    """A result is written as it was encoded and read as the same bytes: no number is changed on the way."""
    raw = b'{"b":1.50,"a":[1e400,-0.0]}'
    record = r.Commit(lsn=2, at=AT, of=1, name="pay", key="k", result=Raw(raw))
    got = frame.decode(frame.encode(record, SEED)[:-1], SEED)
    assert isinstance(got, r.Commit)
    assert bytes(got.result) == raw


def test_every_kind_has_its_tag() -> None:
    """The tags that the format names, no more and no less."""
    assert sorted(r.RECORDS) == [
        "abandoned",
        "abort",
        "adopted",
        "checkpoint",
        "closed",
        "commit",
        "compacted",
        "doubt",
        "finished",
        "halted",
        "heartbeat",
        "intent",
        "lost",
        "mark",
        "observed",
        "opened",
        "resolved",
        "resumed",
        "sprint",
        "started",
        "torn",
    ]


# --- what is refused ------------------------------------------------------------------------------------


def test_line_of_another_segment_is_bad() -> None:
    """An old block of another file never passes, though every byte of it is as it was written."""
    with pytest.raises(BadLine, match="checksum"):
        frame.decode(frame.encode(beat(), frame.seed_of("0000000000000000"))[:-1], SEED)


@pytest.mark.parametrize("cut", [1, 2, 10, 17, 18, 19, 60], ids=lambda n: f"without the last {n} bytes")
def test_shortened_line_is_no_whole_object(cut: int) -> None:
    """What a torn write leaves of a line is told from a damaged line."""
    with pytest.raises(BadLine) as bad:
        frame.decode(frame.encode(beat(), SEED)[: -1 - cut], SEED)
    assert not bad.value.whole


def test_changed_value_is_a_whole_object() -> None:
    """A line that still is one JSON object, with another value in it, is no torn write."""
    with pytest.raises(BadLine) as bad:
        frame.decode(frame.encode(beat(), SEED)[:-1].replace(b'"lsn":7', b'"lsn":8'), SEED)
    assert bad.value.whole


def test_upper_case_checksum_is_bad() -> None:
    """There is one way to write a checksum."""
    good = frame.encode(r.Heartbeat(lsn=1, at=AT), SEED)[:-1]
    upper = good[:-10] + good[-10:-2].upper() + good[-2:]
    assert upper != good
    with pytest.raises(BadLine):
        frame.decode(upper, SEED)


def test_white_space_is_not_skipped() -> None:
    """Neither before the line nor behind it: the bytes are the record."""
    good = frame.encode(beat(), SEED)[:-1]
    for odd in (b" " + good, good + b" ", good + b"\r"):
        with pytest.raises(BadLine):
            frame.decode(odd, SEED)


@pytest.mark.parametrize(
    "junk", [b"", b"{}", b"\0" * 40, b"[" * 100_000, b'{"t":' * 50_000, b"\xff\xfe{", b'{"t":NaN}']
)
def test_junk_is_bad(junk: bytes) -> None:
    """Whatever stands there, it is a bad line and nothing else."""
    with pytest.raises(BadLine):
        frame.decode(junk, SEED)


@pytest.mark.parametrize(
    "body",
    [
        BEAT + b',"fenced":true',
        BEAT.replace(b"heartbeat", b"fenced"),
        BEAT.replace(b'"lsn":7', b'"lsn":"7"'),
        BEAT.replace(b'"lsn":7,', b""),
    ],
    ids=["field", "kind", "type", "missing"],
)
def test_sound_line_of_a_later_version_is_refused_by_name(body: bytes) -> None:
    """The checksum is right, so it was written so: by a later version. It is not skipped and no damage."""
    with pytest.raises(NewerVersion):
        frame.decode(line(body), SEED)


def test_block_of_a_later_version_is_refused_by_name() -> None:
    """The same where a block's own checksum stands for those of its lines."""
    with pytest.raises(NewerVersion):
        frame.decode_many(memoryview(line(BEAT + b',"fenced":true') + b"\n"))


# --- the header -----------------------------------------------------------------------------------------

HEAD = (
    b'{"t":"segment","format":1,"ledger":"00112233445566ff","segment":"8899aabbccddeeff","first":12,'
    b'"at":"2026-11-29T14:20:11.123456Z","steps":4,"previous":"0102030405060708"'
)


def test_header_line_is_unseeded() -> None:
    """The header names the seed, so it cannot need it."""
    header = Header(
        format=1,
        ledger="00112233445566ff",
        segment=SEGMENT,
        first=12,
        at=AT,
        steps=4,
        previous="0102030405060708",
    )
    assert frame.line_of(header, 0) == line(HEAD, 0) + b"\n"
    read = frame.header_of(line(HEAD, 0))
    assert (read.first, read.steps, read.previous) == (12, 4, "0102030405060708")


def test_later_format_is_refused_whatever_its_checksum() -> None:
    """A later format may compute its checksum otherwise."""
    with pytest.raises(NewerVersion, match="format 2"):
        frame.header_of(line(HEAD.replace(b'"format":1', b'"format":2'), seed=99))


def test_damaged_header_is_bad() -> None:
    """It is never an empty segment."""
    with pytest.raises(BadLine, match="header"):
        frame.header_of(line(HEAD, 0).replace(b'"first":12', b'"first":13'))


def test_header_with_an_unknown_field_is_of_a_later_version() -> None:
    """As for a record."""
    with pytest.raises(NewerVersion):
        frame.header_of(line(HEAD + b',"codec":"zstd"', 0))


# --- the seal -------------------------------------------------------------------------------------------


def test_seal_line() -> None:
    """It counts the records and has the checksum of each block, and is bound to its segment like a record."""
    seal = Seal(records=3, blocks=[(140, "0badcafe"), (99, "00000001")])
    body = b'{"t":"seal","records":3,"blocks":[[140,"0badcafe"],[99,"00000001"]]'
    assert frame.line_of(seal, SEED) == line(body) + b"\n"
    read = frame.seal_of(line(body), SEED)
    assert read is not None
    assert read.blocks == [(140, "0badcafe"), (99, "00000001")]
    assert frame.seal_of(line(body), SEED + 1) is None
    assert frame.seal_of(line(BEAT), SEED) is None


def test_seal_of_a_later_version_is_refused_by_name() -> None:
    """As for a record."""
    with pytest.raises(NewerVersion):
        frame.seal_of(line(b'{"t":"seal","records":3,"blocks":[],"root":"00"'), SEED)
