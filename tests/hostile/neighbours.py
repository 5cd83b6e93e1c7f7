"""What a neighbour can do who may write in ``.run`` and knows the format: every checksum of theirs holds."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

from runledger.local.history_rows import DIGESTS, crc_of, digest_of

__all__ = [
    "append_line",
    "change_checkpoint",
    "change_facts",
    "change_line",
    "change_outcomes",
    "line",
    "seed_of",
    "standing",
]


def line(body: bytes, seed: int) -> bytes:
    """A line of a segment with a checksum that holds; ``body`` is an object without its end."""
    return b'%s,"crc":"%08x"}\n' % (body, crc32(body, seed))


def seed_of(segment: Path) -> int:
    """What the checksums of a segment begin with."""
    header = json.loads(segment.read_bytes().split(b"\n", 1)[0])
    return crc32(header["segment"].encode())


def change_line(segment: Path, number: int, change: Callable[[bytes], bytes]) -> None:
    """Let the line ``number`` of a segment, its header being 0, say what ``change`` makes of it."""
    lines = segment.read_bytes().split(b"\n")
    end = lines[number].rindex(b',"crc":"')
    body = change(lines[number][:end])
    lines[number] = line(body, 0 if number == 0 else seed_of(segment))[:-1]
    segment.write_bytes(b"\n".join(lines))


def append_line(segment: Path, make: Callable[[dict[str, Any]], bytes]) -> None:
    """Put one more line behind the last record of a segment; ``make`` is told that record."""
    data = segment.read_bytes()
    end = len(data.rstrip(b"\n\0")) + 1
    last = json.loads(data[:end].rstrip(b"\n").rsplit(b"\n", 1)[-1])
    segment.write_bytes(data[:end] + line(make(last), seed_of(segment)) + data[end:])


def change_checkpoint(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Let the checkpoint say something else."""
    body = change(path.read_bytes().rsplit(b',"crc":"', 1)[0])
    path.write_bytes(line(body, 0))


def change_facts(path: Path, row: int, change: Callable[[bytes], bytes]) -> None:
    """Let the history say something else of itself (row 1), or keep another checkpoint (row 2)."""
    with sqlite3.connect(path) as history:
        (body,) = history.execute("SELECT body FROM meta WHERE id = ?", (row,)).fetchone()
        body = change(body)
        history.execute("UPDATE meta SET body = ?, crc = ? WHERE id = ?", (body, crc32(body), row))
    history.close()


def change_outcomes(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Let every step of the history say something else; its digest holds."""
    with sqlite3.connect(path) as history:
        rows = history.execute(
            "SELECT id, k.lsn, entry FROM keys k JOIN outcomes o ON k.lsn = o.lsn"
        ).fetchall()
        digest = 0
        for key, lsn, entry in rows:
            changed = change(entry)
            digest += digest_of(key, changed)
            history.execute(
                "UPDATE outcomes SET entry = ?, crc = ? WHERE lsn = ?", (changed, crc_of(key, changed), lsn)
            )
        (body,) = history.execute("SELECT body FROM meta WHERE id = 1").fetchone()
        facts = {**json.loads(body), "digest": f"{digest % DIGESTS:032x}"}
        body = json.dumps(facts).encode()
        history.execute("UPDATE meta SET body = ?, crc = ? WHERE id = 1", (body, crc32(body)))
    history.close()


def standing(top: Path) -> dict[str, tuple[object, ...]]:
    """Everything below ``top``, with what is in it: for links where they lead, for the rest what it is."""
    found: dict[str, tuple[object, ...]] = {}
    for folder, folders, names in os.walk(top):
        for name in (*folders, *names):
            path = f"{folder}/{name}"
            here = os.lstat(path)
            what: object = None
            if stat.S_ISLNK(here.st_mode):
                what = str(Path(path).readlink())
            elif stat.S_ISREG(here.st_mode):
                what = hashlib.sha256(Path(path).read_bytes()).hexdigest(), here.st_mtime_ns
            found[path] = stat.S_IFMT(here.st_mode), here.st_mode, here.st_uid, what
    return found
