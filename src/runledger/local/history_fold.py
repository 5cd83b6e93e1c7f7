"""The history's only writer: one transaction for a batch of outcomes, and what makes it durable."""

from __future__ import annotations

import os
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
)
from runledger.local.layout import FORMAT

if TYPE_CHECKING:
    import sqlite3

__all__ = ["empty_log", "fold"]

_SLICE = 900  # variables that any SQLite takes in one statement
_EMPTY_LOG_MS = 200
_KNOWN = "SELECT id, entry, crc FROM keys LEFT JOIN outcomes ON outcomes.lsn = keys.lsn WHERE id IN (%s)"


def fold(path: str, connection: sqlite3.Connection, rows: list[Row], lsn: int, checkpoint: bytes) -> int:
    """Take in ``rows``, sorted by id; durable on return. Returns the LSN that the history is folded up to.

    The commit syncs the log; then the directory is synced, since the log's name may be as new as its content.
    Moving the log into the file comes last, for the readers' sake: all is durable before.
    """
    cursor = connection.cursor()
    cursor.execute("BEGIN IMMEDIATE")
    try:
        before = facts_in(path, cursor)
        added, change = _upsert(path, cursor, rows)
        digest = int(before.digest, 16) + change
        after = Facts(
            format=FORMAT,
            ledger=before.ledger,
            lsn=max(lsn, before.lsn),
            count=before.count + added,
            digest=f"{digest % DIGESTS:032x}",
            # A repeated fold would otherwise write nothing, and so sync nothing of what it relies on.
            folds=before.folds + 1,
        )
        meta = [(*encode_facts(after), FACTS_ROW)]
        if lsn >= before.lsn:
            meta.append((checkpoint, crc32(checkpoint), CHECKPOINT_ROW))
        cursor.executemany("UPDATE meta SET body = ?, crc = ? WHERE id = ?", meta)
        cursor.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            cursor.execute("ROLLBACK")
        raise
    _sync_names(path)
    empty_log(connection)
    return after.lsn


def _upsert(path: str, cursor: sqlite3.Cursor, rows: list[Row]) -> tuple[int, int]:
    """Store what is newer than what is there; how many steps are new, and what the digest changes by."""
    known: dict[bytes, tuple[int, int]] = {}
    for at in range(0, len(rows), _SLICE):
        keys = [row.id for row in rows[at : at + _SLICE]]
        for key, entry, crc in cursor.execute(_KNOWN % ",".join("?" * len(keys)), keys):
            known[key] = entry_of(path, key, entry, crc).lsn, digest_of(key, entry)
    change = 0
    fresh, replaced = [], []
    for row in rows:
        lsn, digest = known.get(row.id, (0, 0))
        if row.lsn > lsn:
            change += digest_of(row.id, row.entry) - digest
            fresh.append(row)
            if lsn:
                replaced.append((lsn,))
    # Each tree in its own order, so that each of its pages is written once.
    cursor.executemany("DELETE FROM outcomes WHERE lsn = ?", replaced)
    cursor.executemany(
        "INSERT INTO outcomes VALUES (?, ?, ?)",
        sorted((row.lsn, row.entry, crc_of(row.id, row.entry)) for row in fresh),
    )
    cursor.executemany("INSERT OR REPLACE INTO keys VALUES (?, ?)", [(row.id, row.lsn) for row in fresh])
    cursor.executemany("INSERT OR IGNORE INTO witness VALUES (?)", sorted((row.other,) for row in fresh))
    return len(rows) - len(known), change


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
