"""Large ledgers, made in seconds: through the store's own transaction, many records under one sync."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from msgspec import Raw

from runledger import Ledger, Options
from runledger import record as r
from runledger.local.known import records
from runledger.local.ordered import Ordered
from runledger.local.store import LocalStore
from runledger.view import Damage

__all__ = ["NAME", "SELECT", "as_sqlite", "fill", "folded", "key_of", "unfolded"]

BATCH = 2000
NAME = "charge"
RESULT = Raw(b'{"ok":true,"id":"ch_0123456789"}')

COLUMNS = "t, lsn INTEGER PRIMARY KEY, at, run, owner, durable, steps, name, key, attempt, intent, result"
CREATE = f"CREATE TABLE log ({COLUMNS})"
INSERT = "INSERT INTO log VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
SELECT = "SELECT * FROM log ORDER BY lsn"


def key_of(number: int) -> str:
    """The key of a filled step."""
    return f"invoice-{number:07d}"


def fill(ledger: Ledger, steps: int, *, first: int = 0) -> None:
    """Put committed steps on record, as if each had been run."""
    store = ledger.store
    assert isinstance(store, LocalStore)
    for begin in range(first, first + steps, BATCH):
        with store.sequencer.io, Ordered(store.sequencer) as tx:
            assert tx.view.run is not None
            run = tx.view.run.id
            for number in range(begin, min(begin + BATCH, first + steps)):
                key = key_of(number)
                intent = r.Intent(lsn=0, at="", run=run, name=NAME, key=key)
                of = tx.write(intent)
                tx.write(r.Commit(lsn=0, at="", run=run, of=of, name=NAME, key=key, result=RESULT))
        store.sequencer.flush()


def folded(directory: Path, steps: int) -> None:
    """A ledger whose history holds so many committed steps, and whose journal holds nearly nothing."""
    with _begun(directory) as ledger:
        for begin in range(0, steps, 100_000):
            fill(ledger, min(100_000, steps - begin), first=begin)
            ledger.compact()
        ledger.compact()


def unfolded(directory: Path, steps: int, *, segment_bytes: int | None = None) -> None:
    """A ledger whose journal holds so many committed steps, all in one segment where that may be so large."""
    with _begun(directory, segment_bytes) as ledger:
        fill(ledger, steps)


def _begun(directory: Path, segment_bytes: int | None = None) -> Ledger:
    directory.mkdir(parents=True, exist_ok=True)
    options = Options(compact_after=0)
    if segment_bytes is not None:
        options = Options(compact_after=0, segment_bytes=segment_bytes)
    ledger = Ledger.open(directory, options=options)
    ledger.start("plan-bench", "main", ["sprint-1"])
    return ledger


def as_sqlite(directory: Path, database: Path) -> int:
    """The records of steps of a ledger, as rows; how many there are."""
    with sqlite3.connect(database) as db:
        db.execute("PRAGMA journal_mode=OFF")
        db.execute(CREATE)
        db.executemany(INSERT, _rows(directory))
        return int(db.execute("SELECT count(*) FROM log").fetchone()[0])


def _rows(directory: Path) -> Iterator[tuple[object, ...]]:
    for item in records(str(directory), 0):
        if isinstance(item, Damage):
            raise TypeError(item)
        if type(item) is r.Intent:
            yield (*_begin("intent", item), item.name, item.key, item.attempt, None, None)
        elif type(item) is r.Commit:
            yield (*_begin("commit", item), item.name, item.key, item.attempt, item.of, bytes(item.result))


def _begin(kind: str, item: r.Intent | r.Commit) -> tuple[object, ...]:
    return kind, item.lsn, item.at, item.run, item.owner, item.durable, item.steps
