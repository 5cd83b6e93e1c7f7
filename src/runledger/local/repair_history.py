"""A damaged history: every outcome that still has its checksum can be read out of it."""

from __future__ import annotations

import errno
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from runledger.errors import DiskRefused, LedgerCorrupt
from runledger.local import history_files as files
from runledger.local.directory import Directory, is_misshapen
from runledger.local.history import History, Meta
from runledger.local.history_rows import (
    CHECKPOINT_ROW,
    Facts,
    crc_of,
    facts_in,
    hashes_of,
    identity_of,
    meta_row,
)
from runledger.local.layout import HISTORY
from runledger.view import Settled

__all__ = ["Damaged", "Verdict", "verdict_on"]

AT_ONCE = 20_000
"""LSNs that are asked for together."""

ASKED = 20_000
"""Times that a damaged file is asked before the rest of it counts as lost."""

_ROWS = "SELECT entry, crc FROM outcomes WHERE lsn BETWEEN ? AND ?"
_UNREADABLE = (OSError, sqlite3.Error, UnicodeError)
_decode = msgspec.json.Decoder(Settled).decode


class Verdict(NamedTuple):
    """What a history is worth: ``spoiled`` says why it cannot go on as it is, "" where it can; ``meta`` is what it says
    of itself, where that is sound."""

    spoiled: str
    meta: Meta | None = None


def verdict_on(ledger_directory: Directory, ledger: str) -> Verdict | None:
    """The verdict on the history, None where there is none; an empty ``ledger`` fits any.

    Raises:
        NewerVersion: a later version wrote it.
    """
    path = f"{ledger_directory.path}/{HISTORY}"
    prefix = f"{path} is damaged: "
    if ledger_directory.stat(HISTORY) is None:
        return None
    try:
        history = History.open(path, ledger, read_only=True)
        assert history is not None
        try:
            wrong = history.verify()
            meta = history.meta()
        finally:
            history.close()
    except LedgerCorrupt as error:
        return Verdict(error.message.removeprefix(prefix))
    except DiskRefused as error:
        if error.__dict__.get("errno") == errno.EIO or is_misshapen(error):
            return Verdict(error.message)
        raise
    return Verdict(wrong[0].removeprefix(prefix) if wrong else "", meta)


class Damaged:
    """A private copy of a damaged history, to read what is left in it; close it.

    ``facts`` and ``checkpoint`` are what it says of itself, None and empty where that is lost too.
    """

    def __init__(self, ledger_directory: Directory) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="runledger-"))
        self._connection: sqlite3.Connection | None = None
        self.facts: Facts | None = None
        self.checkpoint = b""
        path = Path(ledger_directory.path, HISTORY)
        try:
            for suffix in ("", "-wal"):
                if Path(f"{path}{suffix}").is_file():
                    shutil.copyfile(
                        f"{path}{suffix}", self._folder / f"{HISTORY}{suffix}", follow_symlinks=False
                    )
            self._connection = files.connect(str(self._folder / HISTORY), "mode=rw")
            self.facts = facts_in(str(path), self._connection.cursor())
            self.checkpoint = meta_row(str(path), self._connection.cursor(), CHECKPOINT_ROW)
        except (LedgerCorrupt, *_UNREADABLE):
            pass  # it tells that much and no more

    def outcomes(self, highest: int) -> Iterator[list[Settled]]:
        """Every outcome up to the LSN ``highest`` that still has its checksum, some at a time."""
        asked = 0
        for low in range(1, highest + 1, AT_ONCE):
            ranges = [(low, low + AT_ONCE - 1)]
            while ranges and asked < ASKED:
                first, last = ranges.pop()
                asked += 1
                rows = self._rows(first, last)
                if rows is None and first < last:
                    middle = (first + last) // 2
                    ranges += [(middle + 1, last), (first, middle)]
                steps = [step for entry, crc in rows or () if (step := _step(entry, crc)) is not None]
                if steps:
                    yield steps
            if asked >= ASKED:
                return

    def _rows(self, first: int, last: int) -> list[tuple[object, object]] | None:
        if self._connection is None:
            return []
        try:
            return self._connection.execute(_ROWS, (first, last)).fetchall()
        except _UNREADABLE:
            return None

    def close(self) -> None:
        """Remove the copy."""
        if self._connection is not None:
            self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _step(entry: object, crc: object) -> Settled | None:
    """The outcome of a row, None where it is not what was written."""
    if type(entry) is not bytes:
        return None
    try:
        step = _decode(entry)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    return step if crc_of(hashes_of(identity_of(step))[0], entry) == crc else None
