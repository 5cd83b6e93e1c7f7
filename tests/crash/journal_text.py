"""The journal's text, read by its published format alone: no help from the package's own reader."""

from __future__ import annotations

import json
from typing import NamedTuple
from zlib import crc32

from tests.crash.memory_directory import Folder, Node

__all__ = ["Text", "last_lsn", "read_journal"]


class Text(NamedTuple):
    """Each record's line by its LSN, the LSN that the last segment ends with, how many bytes a crash left there, and the
    ledger's id."""

    lines: dict[int, bytes]
    last: int
    torn: int
    ledger: str


def _files(top: Folder) -> dict[str, bytes]:
    folder = top
    for name in (".run", "ledger"):
        found = folder.names.get(name)
        if not isinstance(found, Folder):
            return {}
        folder = found
    return {name: bytes(n.pages.live) for name, n in sorted(folder.names.items()) if isinstance(n, Node)}


def _segments(files: dict[str, bytes]) -> list[tuple[str, bytes]]:
    return [(name, data) for name, data in files.items() if name.endswith(".jsonl")]


def read_journal(top: Folder) -> Text:
    """All records of the segments that are there.

    Raises:
        AssertionError: a header is damaged, numbers do not follow one another, or a sealed segment has a bad line.
    """
    lines: dict[int, bytes] = {}
    files = _files(top)
    segments = _segments(files)
    folded = json.loads(files.get("checkpoint.json", b'{"view":{}}'))["view"].get("lsn", 0)
    lsn = torn = 0
    ledger = ""
    for at, (name, data) in enumerate(segments):
        head, _, rest = data.partition(b"\n")
        assert _sound(head, 0), f"the header of {name} is damaged: {head[:80]!r}"
        header = json.loads(head)
        ledger = header["ledger"]
        seed = crc32(header["segment"].encode())
        lsn, last = header["first"] - 1, lsn
        if at and lsn != last:
            # A compaction's unlinks may reach the disk in any order.
            assert last < lsn <= folded, f"{name} begins with {lsn + 1} after {last}, folded up to {folded}"
            lines.clear()
        begin = len(head) + 1
        for line in rest.split(b"\n"):
            if not _sound(line, seed):
                break
            begin += len(line) + 1
            record = json.loads(line)
            if record["t"] == "seal":
                break
            lsn += 1
            assert record["lsn"] == lsn, f"LSN {record['lsn']} in {name} where {lsn} is due"
            lines[lsn] = line
        torn = len(data[begin:].rstrip(b"\n\0"))
        assert not torn or at == len(segments) - 1, (
            f"{name} is not the last, and {data[begin:][:80]!r} is in it"
        )
    return Text(lines, lsn, torn, ledger)


def last_lsn(top: Folder) -> int:
    """The LSN of the last record that is there."""
    for _, data in _segments(_files(top))[-1:]:
        lines = data.rstrip(b"\n\0").split(b"\n")
        seed = crc32(json.loads(lines[0])["segment"].encode())
        for line in reversed(lines[1:]):
            if line.startswith(b'{"t":') and not line.startswith(b'{"t":"seal"') and _sound(line, seed):
                return int(json.loads(line)["lsn"])
        return int(json.loads(lines[0])["first"]) - 1
    return 0


def _sound(line: bytes, seed: int) -> bool:
    body, found, crc = line.rpartition(b',"crc":"')
    return bool(found) and crc == b'%08x"}' % crc32(body, seed)
