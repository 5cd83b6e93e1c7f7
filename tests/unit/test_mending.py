"""One flipped bit of a line is found and turned back, wherever it is; nothing else is made sound."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from runledger import record as r
from runledger.local import frame
from runledger.local.mending import LONGEST, is_sound, mended, mended_run, seed_in, unglued

SEED = frame.seed_of("00112233445566ff")
AT = "2026-11-29T14:20:11.123456Z"


def lines(*keys: str) -> bytes:
    """Some records' lines."""
    return b"".join(
        frame.encode(r.Intent(lsn=n, at=AT, name="pay", key=key, run="r-1", durable=n - 1, steps=n), SEED)
        for n, key in enumerate(keys, 1)
    )


def flipped(data: bytes, offset: int, bit: int) -> bytes:
    """The same bytes with one bit flipped."""
    return data[:offset] + bytes([data[offset] ^ 1 << bit]) + data[offset + 1 :]


def test_every_bit_of_some_lines_is_turned_back() -> None:
    """Those of the line feeds too, and those that make one: a `J`, a `*` or a byte of a letter becomes a line feed."""
    whole = lines("a*J", "\u00cab", "c")
    for offset in range(len(whole)):
        for bit in range(8):
            better = mended_run(flipped(whole, offset, bit) + b"\n", SEED)
            assert better is not None, (offset, bit)
            assert better.rstrip(b"\n") == whole.rstrip(b"\n"), (offset, bit)
            assert len(better) == len(whole) + 1


def test_a_last_line_without_its_line_feed() -> None:
    """Its last byte is what became of the line feed."""
    whole = lines("a")
    for bit in range(8):
        assert mended_run(flipped(whole, len(whole) - 1, bit), SEED) == whole


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_more_flipped_bits_are_not_turned_back(choice: int, count: int) -> None:
    """What several bits are wrong in stays as it is."""
    rng = random.Random(choice)
    whole = lines("some key")[:-1]
    bad = whole
    for place in rng.sample(range(8 * (len(whole) - 18)), count):
        bad = flipped(bad, place // 8, place % 8)
    assert mended(bad, SEED) is None


def test_another_seed_makes_nothing_sound() -> None:
    """A line of another segment stays one."""
    assert mended(lines("a")[:-1], frame.seed_of("ffffffffffffffff")) is None


def test_what_is_too_long_is_left_alone() -> None:
    """The work is bounded."""
    body = b'{"t":"x","y":"%s"' % (b"z" * LONGEST)
    line = body + b',"crc":"%08x"}' % (frame.crc32(body, SEED) ^ 1)
    assert mended(line, SEED) is None
    assert seed_in(line) is None


def test_a_seed_is_reckoned_backwards() -> None:
    """From any sound line, and from no other."""
    line = lines("a")[:-1]
    assert seed_in(line) == SEED
    assert seed_in(flipped(line, 40, 1)) not in {SEED, None}
    assert seed_in(b"no line") is None
    assert seed_in(line[:-3] + b'g"}') is None


def test_a_header_that_a_record_is_glued_to() -> None:
    """Each has a seed of its own."""
    header = frame.line_of(frame.Header(1, "a" * 16, "b" * 16, 1, AT), 0)
    glued = header[:-1] + b"\x0b" + lines("a")[:-1]
    assert unglued(glued, 0) == header[:-1]
    assert unglued(lines("a"), 0) is None
    assert is_sound(header[:-1], 0)
