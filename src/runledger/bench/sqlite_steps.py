"""The same two facts of a step in SQLite: what a careful author would write without a ledger."""

from __future__ import annotations

import json
import sqlite3
import time
from typing import Any

__all__ = ["SqliteSteps"]

SCHEMA = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "CREATE TABLE intents (key TEXT PRIMARY KEY, run TEXT, name TEXT, at REAL, inputs TEXT) WITHOUT ROWID",
    "CREATE TABLE commits (key TEXT PRIMARY KEY, at REAL, result TEXT) WITHOUT ROWID",
)
LOOK = "SELECT i.key, c.result FROM intents i LEFT JOIN commits c ON c.key = i.key WHERE i.key = ?"
RESULT = {"ok": True, "id": "ch_0123456789"}


class SqliteSteps:
    """Steps of one thread: look for the key, insert the intent, insert the commit, each a transaction."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None)
        for statement in SCHEMA:
            self._database.execute(statement)
        self._next = 0

    def step(self, key: str) -> Any:
        """One step; its result, as it was recorded where it was committed already."""
        database = self._database
        known = database.execute(LOOK, (key,)).fetchone()
        if known is not None:
            return json.loads(known[1])
        inputs = '{"amount":1000,"customer":"cus_123"}'
        database.execute(
            "INSERT INTO intents VALUES (?, ?, ?, ?, ?)", (key, "run-1", "charge", time.time(), inputs)
        )
        result = RESULT
        database.execute("INSERT INTO commits VALUES (?, ?, ?)", (key, time.time(), json.dumps(result)))
        return result

    def work(self, times: int) -> int:
        """New steps."""
        for _ in range(times):
            self._next += 1
            self.step(f"k-{self._next}")
        return times

    def close(self) -> None:
        """Let the database go."""
        self._database.close()
