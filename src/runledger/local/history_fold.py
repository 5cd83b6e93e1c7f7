"""The history's only writer: outcomes are taken in by short transactions, each of them durable when the next begins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING
from zlib import crc32

from runledger.local.directory import Directory
from runledger.local.history_files import BUSY_S
from runledger.local.history_rows import (
    CHECKPOINT_ROW,
    DIGESTS,
    FACTS_ROW,
    Facts,
    Row,
    corrupt,
    crc_of,
    digest_of,
    encode_facts,
    entry_of,
    facts_in,
    row_of,
)
from runledger.local.layout import FORMAT
from runledger.local.pace import Pace
from runledger.view import Settled

if TYPE_CHECKING:
    import sqlite3

__all__ = ["empty_log", "fold"]

SLICE = 4_000
"""Outcomes of one transaction. Whoever syncs at the same time waits for what it wrote; many small ones write the trees'
upper pages again and again."""

_CHUNK = 120
"""Outcomes of one statement: not so many that the objects made for them set off the garbage collector, which looks at
all that the process has. Any SQLite takes 999 variables."""

_EMPTY_LOG_MS = 200
_KNOWN = "SELECT id, entry, crc FROM keys LEFT JOIN outcomes ON outcomes.lsn = keys.lsn WHERE id IN (%s)"

_lsn_of = attrgetter("lsn")


def fold(
    path: str,
    connection: sqlite3.Connection,
    batch: Iterable[Settled],
    lsn: int,
    checkpoint: bytes,
    pace: Pace,
) -> int:
    """Take in ``batch`` in slices; durable on return. Returns the LSN that the history is folded up to.

    Each slice is a transaction of its own, oldest outcomes first, and says of itself how far it came: a crash between
    two leaves a history that is whole, up to an LSN below ``lsn``. The checkpoint comes with the last one.
    """
    steps = _by_lsn(batch, pace)
    part = list(islice(steps, SLICE))
    named = False
    while True:
        following = list(islice(steps, SLICE))
        upto = min(part[-1].lsn, lsn) if following else lsn
        reached = _transact(path, connection, part, upto, None if following else checkpoint, pace)
        if not named:
            # The log's name may be as new as its content, which is not to be moved before it is found again.
            _sync_names(path)
            named = True
        if not following:
            break
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        part = following
    empty_log(connection)
    return reached


def _by_lsn(batch: Iterable[Settled], pace: Pace) -> Iterator[Settled]:
    """The outcomes of a batch, oldest first. It mostly has them in that order: what is late is sorted alone."""
    ordered: list[Settled] = []
    late: list[Settled] = []
    last = 0
    for settled in batch:
        if settled.lsn < last:
            late.append(settled)
        else:
            ordered.append(settled)
            last = settled.lsn
        pace.turn()
    late.sort(key=_lsn_of)
    return merge(ordered, late, key=_lsn_of) if late else iter(ordered)


def _transact(
    path: str,
    connection: sqlite3.Connection,
    part: list[Settled],
    lsn: int,
    checkpoint: bytes | None,
    pace: Pace,
) -> int:
    """One transaction, which is durable on return: its commit syncs the log."""
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    try:
        before = facts_in(path, cursor)
        count, digest = before.count, int(before.digest, 16)
        for at in range(0, len(part), _CHUNK):
            added, change = _upsert(path, cursor, _rows(part[at : at + _CHUNK], pace), pace)
            count += added
            digest += change
        after = Facts(
            format=FORMAT,
            ledger=before.ledger,
            lsn=max(lsn, before.lsn),
            count=count,
            digest=f"{digest % DIGESTS:032x}",
            # A repeated fold would otherwise write nothing, and so sync nothing of what it relies on.
            folds=before.folds + 1,
        )
        meta = [(*encode_facts(after), FACTS_ROW)]
        if checkpoint is not None and lsn >= before.lsn:
            meta.append((checkpoint, crc32(checkpoint), CHECKPOINT_ROW))
        cursor.executemany("UPDATE meta SET body = ?, crc = ? WHERE id = ?", meta)
        cursor.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise
    return after.lsn


def _rows(part: list[Settled], pace: Pace) -> list[Row]:
    """The rows of outcomes, oldest first: of two of one step the newer one alone."""
    rows: dict[bytes, Row] = {}
    for settled in part:
        row = row_of(settled)
        rows.pop(row.id, None)
        rows[row.id] = row
        pace.turn()
    return list(rows.values())


def _upsert(path: str, cursor: sqlite3.Cursor, rows: list[Row], pace: Pace) -> tuple[int, int]:
    """Store what is newer than what is there; how many steps are new, and what the digest changes by."""
    known: dict[bytes, tuple[int, int]] = {}
    keys = [row.id for row in rows]
    for key, entry, crc in cursor.execute(_KNOWN % ",".join("?" * len(keys)), keys):
        known[key] = entry_of(path, key, entry, crc).lsn, digest_of(key, entry)
        pace.turn()
    change = 0
    fresh, replaced = [], []
    for row in rows:
        lsn, digest = known.get(row.id, (0, 0))
        if row.lsn > lsn:
            change += digest_of(row.id, row.entry) - digest
            fresh.append(row)
            if lsn:
                replaced.append((lsn,))
        pace.turn()
    cursor.executemany("DELETE FROM outcomes WHERE lsn = ?", replaced)
    _insert(
        cursor,
        "INSERT INTO outcomes",
        [(row.lsn, row.entry, crc_of(row.id, row.entry)) for row in fresh],
        pace,
    )
    _insert(cursor, "INSERT OR REPLACE INTO keys", sorted((row.id, row.lsn) for row in fresh), pace)
    _insert(cursor, "INSERT OR IGNORE INTO witness", sorted((row.other,) for row in fresh), pace)
    return len(rows) - len(known), change


def _insert(cursor: sqlite3.Cursor, into: str, rows: Sequence[tuple[object, ...]], pace: Pace) -> None:
    """All rows in one statement: SQLite then works on them without the interpreter's lock, in one go."""
    if rows:
        row = f"({','.join('?' * len(rows[0]))})"
        cursor.execute(f"{into} VALUES {','.join([row] * len(rows))}", [value for r in rows for value in r])
        pace.turn()


def _sync_names(path: str) -> None:
    directory = Directory.at(path.rpartition(os.sep)[0])
    if directory is None:
        raise corrupt(path, "its directory is gone")
    try:
        directory.sync()
    finally:
        directory.close()


def empty_log(connection: sqlite3.Connection) -> None:
    """Move the log into the file, as far as readers let it: what they keep in the log is as durable there."""
    connection.execute(f"PRAGMA busy_timeout={_EMPTY_LOG_MS}")
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1000)}")
