"""One flipped bit: a line's checksum tells not only that it is damaged, but which bit to turn back.

A checksum of this kind is linear: what a flipped bit adds to it depends on its distance from the end alone, and no two
distances add the same. So at most one bit explains a wrong checksum, and a line that several bits are wrong in passes
for one of these with a chance of one in some million. A reader never guesses; a repair does, and says so.
"""

from __future__ import annotations

import re
from zlib import crc32

__all__ = ["is_sound", "mended", "mended_run", "seed_in", "unglued"]

LONGEST = 1 << 20
"""In bytes; what is longer is not tried."""

_ALL = 0xFFFFFFFF
_STEP = [crc32(bytes([i]), _ALL) ^ _ALL for i in range(256)]
_BACK = {value >> 24: i for i, value in enumerate(_STEP)}
_SINGLE = {_STEP[1 << bit]: bit for bit in range(8)}
"""What one wrong bit in the last byte adds to the checksum."""

_TAIL = 18  # ,"crc":"01234567"}
_NEAR_LINE_FEED = bytes(0x0A ^ 1 << bit for bit in range(8))
_GLUED = rb'"\}([%s])(?=\{"t":")' % re.escape(_NEAR_LINE_FEED)


def _tail_of(body: bytes, seed: int) -> bytes:
    return b',"crc":"%08x"}' % crc32(body, seed)


def is_sound(line: bytes, seed: int) -> bool:
    """Whether a line without its line feed has the checksum that its bytes give."""
    return len(line) > _TAIL and line[-_TAIL:] == _tail_of(line[:-_TAIL], seed)


def mended(line: bytes, seed: int) -> bytes | None:
    """The line as it was written, where one flipped bit explains all that is wrong with it; None for any other."""
    if not _TAIL < len(line) <= LONGEST:
        return None
    body, tail = line[:-_TAIL], line[-_TAIL:]
    due = _tail_of(body, seed)
    if sum((a ^ b).bit_count() for a, b in zip(tail, due, strict=True)) == 1:
        return body + due
    said = _said(tail)
    return None if said is None else _turned_back(body, tail, crc32(body, seed) ^ said)


def _said(tail: bytes) -> int | None:
    """The checksum that a line's end says."""
    if tail[:8] != b',"crc":"' or tail[16:] != b'"}' or not re.fullmatch(rb"[0-9a-f]{8}", tail[8:16]):
        return None
    return int(tail[8:16], 16)


def _turned_back(body: bytes, tail: bytes, added: int) -> bytes | None:
    for at in range(len(body) - 1, -1, -1):
        bit = _SINGLE.get(added)
        if bit is not None:
            was = bytes([body[at] ^ 1 << bit])
            return None if was == b"\n" else body[:at] + was + body[at + 1 :] + tail
        index = _BACK[added >> 24]
        added = (added ^ _STEP[index]) << 8 & _ALL | index
    return None


def mended_run(data: bytes, seed: int) -> bytes | None:
    """A stretch of bad lines, each with its line feed, where turning back one bit makes at least one of them sound; the
    bit may also be one that made two lines of one, or one of two. None where it makes none."""
    lines = data.split(b"\n")
    changed = False
    at = 0
    while at < len(lines):
        better = _better(lines[at], lines[at + 1] if at + 1 < len(lines) else None, seed)
        if better is not None:
            text, taken = better
            lines[at : at + taken] = text.split(b"\n")
            changed = True
            at += text.count(b"\n")
        at += 1
    return b"\n".join(lines) if changed else None


def _better(line: bytes, following: bytes | None, seed: int) -> tuple[bytes, int] | None:
    """Sound text in the place of a line, or of it and the following one."""
    one = mended(line, seed)
    if one is not None:
        return one, 1
    for found in re.finditer(_GLUED, line):
        first, second = line[: found.start(1)], line[found.end(1) :]
        if is_sound(first, seed) and is_sound(second, seed):
            return first + b"\n" + second, 1
    if line[-1:] in {bytes([b]) for b in _NEAR_LINE_FEED} and is_sound(line[:-1], seed):
        return line[:-1] + b"\n", 1
    if following is not None:
        for byte in _NEAR_LINE_FEED:
            joined = line + bytes([byte]) + following
            if is_sound(joined, seed):
                return joined, 2
    return None


def unglued(line: bytes, seed: int) -> bytes | None:
    """The sound line that another one was glued to by a flipped bit of its line feed."""
    for found in re.finditer(_GLUED, line):
        if is_sound(line[: found.start(1)], seed):
            return line[: found.start(1)]
    return None


def seed_in(line: bytes) -> int | None:
    """The seed that a sound line's checksum was begun with: it can be reckoned backwards."""
    said = _said(line[-_TAIL:]) if _TAIL < len(line) <= LONGEST else None
    if said is None:
        return None
    register = said ^ _ALL
    for byte in reversed(line[:-_TAIL]):
        index = _BACK[register >> 24]
        register = (register ^ _STEP[index]) << 8 & _ALL | index ^ byte
    return register ^ _ALL
