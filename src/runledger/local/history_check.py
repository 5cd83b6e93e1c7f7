"""Whether a history is what was written: every row, both trees, and the set as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from runledger.errors import LedgerCorrupt
from runledger.local.history_files import failures, translated
from runledger.local.history_rows import (
    CHECKPOINT_ROW,
    DIGESTS,
    corrupt,
    digest_of,
    entry_of,
    facts_in,
    hashes_of,
    identity_of,
    meta_row,
)

if TYPE_CHECKING:
    import sqlite3

__all__ = ["ROWS", "check"]

ROWS = "SELECT id, entry, crc FROM keys LEFT JOIN outcomes ON outcomes.lsn = keys.lsn"


def check(path: str, connection: sqlite3.Connection) -> list[str]:
    """What is wrong, in words; empty where nothing is. Bounded memory, one moment for all of it."""
    findings: list[str] = []
    try:
        connection.execute("BEGIN")
        findings.extend(_check_rows(path, connection.cursor(), connection.cursor()))
        lines = [row[0] for row in connection.execute("PRAGMA integrity_check")]
        findings += [corrupt(path, repr(line)).message for line in lines if line != b"ok"]
    except failures() as error:
        findings.append(translated(path, error).message)
    except LedgerCorrupt as error:
        findings.append(error.message)
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    return findings


def _check_rows(path: str, rows: sqlite3.Cursor, witness: sqlite3.Cursor) -> Iterator[str]:
    facts = facts_in(path, rows)
    meta_row(path, rows, CHECKPOINT_ROW)
    count = digest = 0
    for key, entry, crc in rows.execute(ROWS):
        count += 1
        try:
            step = entry_of(path, key, entry, crc)
        except LedgerCorrupt as error:
            yield error.message
            continue
        digest += digest_of(key, entry)
        where, other = hashes_of(identity_of(step))
        if where != key:
            yield corrupt(path, f"LSN {step.lsn} is stored as another step").message
        if witness.execute("SELECT 1 FROM witness WHERE id = ?", (other,)).fetchone() is None:
            yield corrupt(path, f"the witness does not know LSN {step.lsn}").message
    witnesses, outcomes = rows.execute(
        "SELECT (SELECT count(*) FROM witness), (SELECT count(*) FROM outcomes)"
    ).fetchone()
    if not count == witnesses == outcomes == facts.count:
        counts = f"{count} steps, {witnesses} witnessed, {outcomes} outcomes, where there were {facts.count}"
        yield corrupt(path, counts).message
    if digest % DIGESTS != int(facts.digest, 16):
        yield corrupt(path, "its steps are not the set that was written").message
