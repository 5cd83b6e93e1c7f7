"""Names and sizes of the files of a ledger; docs/reference/format-v1.md is their contract."""

from __future__ import annotations

__all__ = [
    "APPEND_LOCK",
    "BLOCK_BYTES",
    "BRIEF",
    "BROKEN",
    "CHECKPOINT",
    "COMPACT_LOCK",
    "EXTENT",
    "FIRST_EXTENT",
    "FORMAT",
    "HISTORY",
    "LEDGER",
    "LONGEST_LINE",
    "OWNERS",
    "REPAIRED",
    "RESERVE",
    "RESULTS",
    "RUN",
    "SEGMENT_BYTES",
    "STATE",
    "segment_first",
    "segment_name",
]

FORMAT = 1

RUN = ".run"
STATE = "sprint-plan-state.json"
LEDGER = "ledger"
REPAIRED = "ledger.repaired"
BROKEN = "ledger.broken-"
OWNERS = "owners"
RESULTS = "results"
APPEND_LOCK = "lock"
COMPACT_LOCK = "compact.lock"
BRIEF = "brief"
CHECKPOINT = "checkpoint.json"
HISTORY = "history.db"

SEGMENT_BYTES = 8 << 20
"""A segment is rolled at the first record that ends beyond this."""

FIRST_EXTENT = 32 << 10
"""Filler in a new segment, in bytes: small, since most runs are."""

EXTENT = 256 << 10
"""Filler that a segment grows by, in bytes."""

RESERVE = 16 << 10
"""Filler that an intent leaves for the outcomes of open steps when the disk is full, in bytes."""

LONGEST_LINE = 64 << 20
"""Of one record, in bytes: what a reader takes into memory at once."""

BLOCK_BYTES = 64 << 10
"""A block checksum of a sealed segment covers the whole lines that begin within so many bytes."""

_DIGITS = 20
_SUFFIX = ".jsonl"


def segment_name(first: int) -> str:
    """The name of the segment whose first record is ``first``; names sort in LSN order."""
    return f"{first:0{_DIGITS}d}{_SUFFIX}"


def segment_first(name: str) -> int | None:
    """The first LSN of a segment by its name, None for any other file."""
    stem = name[: -len(_SUFFIX)]
    if name.endswith(_SUFFIX) and len(stem) == _DIGITS and stem.isascii() and stem.isdigit():
        return int(stem)
    return None
