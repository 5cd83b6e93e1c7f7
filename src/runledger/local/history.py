"""The folded history: the outcome of every keyed step that a compaction has dropped from the journal.

An embedded database, in which an outcome is found by a hash of its step's identity. A step that is not found
is run, so a miss has to be proved: a second tree knows every step by a second hash, and only where neither
has it, it was never there. A hit proves itself, by its checksum and its own identity.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from runledger.errors import DiskRefused, LedgerBusy, LedgerError, LedgerFailed
from runledger.local import history_files as files
from runledger.local.history_check import ROWS, check
from runledger.local.history_fold import empty_log, fold
from runledger.local.history_rows import (
    CHECKPOINT_ROW,
    FACTS_ROW,
    SCHEMA,
    Facts,
    corrupt,
    encode_facts,
    entry_of,
    facts_in,
    hashes_of,
    identity_of,
    meta_row,
)
from runledger.local.layout import FORMAT
from runledger.local.pace import Pace
from runledger.view import Identity, Settled

if TYPE_CHECKING:
    import sqlite3

__all__ = ["History", "Meta"]

# One statement is one moment: no fold can come between the two trees.
_LOOK_UP = """
SELECT entry, crc FROM keys LEFT JOIN outcomes ON outcomes.lsn = keys.lsn WHERE id = ?1
UNION ALL SELECT NULL, 0 FROM witness WHERE id = ?2 LIMIT 1
"""
_OVERTAKEN = 20  # times to begin again

_T = TypeVar("_T")


class Meta(NamedTuple):
    """What a history says of itself, and the copy of the checkpoint that was written with it.

    It is folded up to ``lsn``, and knows ``steps`` steps, whose set has the digest.
    """

    ledger: str
    lsn: int
    steps: int
    digest: str
    checkpoint: bytes


class History:
    """An open history, for one thread at a time and never across a fork.

    Every method raises LedgerCorrupt where the file is not what was written, DiskRefused where the disk
    refuses, and LedgerBusy where another process keeps it locked.
    """

    def __init__(self, path: str, *, read_only: bool) -> None:
        self.path = path
        self.read_only = read_only
        self._connection: sqlite3.Connection | None = None
        self._copy: files.Copy | None = None
        self._stamp: files.Stamp | None = None
        self._inode: tuple[int, int] | None = None
        self._covered = 0
        self._rewritten = False
        self._failed = False
        self._proved = False
        self._failures = files.failures()

    # --- open and close -------------------------------------------------------------------------------------

    @classmethod
    def open(cls, path: str, ledger_id: str, *, read_only: bool) -> History | None:
        """The history at ``path``, None where there is none; an empty ``ledger_id`` fits any ledger.

        With ``read_only`` nothing is created or changed beside it.

        Raises:
            NewerVersion: a later version wrote it.
        """
        history = cls(os.path.abspath(path), read_only=read_only)
        if files.stamp_of(history.path) is None:
            return None
        try:
            history._open()
            meta = history.meta()
            if ledger_id and meta.ledger != ledger_id:
                reason = f"it is of ledger {meta.ledger}, and this is ledger {ledger_id}"
                raise corrupt(path, reason)
        except BaseException:
            history.close()
            raise
        return history

    @classmethod
    def create(cls, path: str, ledger_id: str) -> History:
        """A new, empty history, durable under its name; for the holder of the compaction lock alone.

        Raises:
            LedgerCorrupt: there is one already; it is never replaced.
        """
        path = os.path.abspath(path)
        if files.stamp_of(path) is not None:
            raise corrupt(path, "there is a history already, which a new one would replace")
        facts = encode_facts(Facts(FORMAT, ledger_id))
        try:
            files.create(path, SCHEMA, [(FACTS_ROW, *facts), (CHECKPOINT_ROW, b"", 0)])
        except files.failures() as error:
            raise files.translated(path, error) from error
        history = cls.open(path, ledger_id, read_only=False)
        assert history is not None
        return history

    def _open(self) -> None:
        self._proved = False
        try:
            if self.read_only:
                self._connection = self._connect_read_only()
            else:
                files.refuse_links(self.path)
                self._connection = files.connect(self.path, "mode=rw")
                self._inode = files.note_writer(self.path)
                self._prove()
                self._connection.execute("PRAGMA journal_mode=WAL")
                self._connection.execute("PRAGMA synchronous=FULL")
                self._connection.execute("PRAGMA wal_autocheckpoint=0")
            self._cursor = self._connection.cursor()
        except self._failures as error:
            raise files.translated(self.path, error) from error

    def _prove(self) -> None:
        """Nothing is asked of a database that is made otherwise than a history, and nothing is written to it."""
        if not self._proved:
            files.check_schema(self.path, self._open_connection())
            self._proved = True

    def _connect_read_only(self) -> sqlite3.Connection:
        """Without a log the file is all there is, and is read without locks while its stamp stays the same.

        With one, a reader would have to recover the log beside the original: a copy is recovered instead.
        """
        self._stamp = files.settled_stamp(self.path)
        if self._stamp is not None and self._stamp.wal:
            if files.is_written_here(self.path):
                self._stamp = None
                return files.connect(self.path, "mode=ro")
            self._copy = files.copy(self.path)
            if self._copy is not None:
                self._stamp = None
                return files.connect(self._copy.path, "mode=rw")
            self._stamp = files.settled_stamp(self.path)
        return files.connect(self.path, "mode=ro&immutable=1")

    def close(self) -> None:
        """Leave; a copy goes too."""
        connection, self._connection = self._connection, None
        try:
            if connection is not None:
                connection.close()
        except self._failures as error:
            raise files.translated(self.path, error) from error
        finally:
            files.forget_writer(self._inode)
            self._inode = None
            if self._copy is not None:
                self._copy.remove()
                self._copy = None

    # --- read -----------------------------------------------------------------------------------------------

    def get(self, identity: Identity) -> Settled | None:
        """The outcome of a step; None is proof that none was folded."""
        key, other = hashes_of(identity)
        if self._stamp is not None:
            return self._read(lambda: self._look_up(identity, key, other))
        try:
            return self._look_up(identity, key, other)
        except self._failures as error:
            raise files.translated(self.path, error) from error

    def _look_up(self, identity: Identity, key: bytes, other: bytes) -> Settled | None:
        row = self._cursor.execute(_LOOK_UP, (key, other)).fetchone()
        if row is None:
            return None
        entry, crc = row
        if entry is None:
            raise corrupt(self.path, "a step that was folded is not found")
        settled = entry_of(self.path, key, entry, crc)
        if identity_of(settled) != identity:
            raise corrupt(self.path, "a step is stored as another one")
        return settled

    def meta(self) -> Meta:
        """What the history says of itself now."""
        return self._read(self._meta)

    def _meta(self) -> Meta:
        facts = facts_in(self.path, self._cursor)
        self._covered = max(self._covered, facts.lsn)
        checkpoint = meta_row(self.path, self._cursor, CHECKPOINT_ROW)
        return Meta(facts.ledger, facts.lsn, facts.count, facts.digest, checkpoint)

    def covers(self, lsn: int) -> bool:
        """Whether everything up to ``lsn`` is folded; where it was before, the file is not asked again."""
        return self._covered >= lsn or self.meta().lsn >= lsn

    def entries(self) -> Iterator[Settled]:
        """Every outcome, in no order, as of one moment."""
        try:
            for key, entry, crc in self._open_connection().execute(ROWS):
                yield entry_of(self.path, key, entry, crc)
        except self._failures as error:
            raise files.translated(self.path, error) from error

    def verify(self) -> list[str]:
        """What is wrong with it, in words; empty where nothing is. Reads everything, in bounded memory."""
        return self._read(lambda: check(self.path, self._open_connection()))

    def _read(self, query: Callable[[], _T]) -> _T:
        """The answer of ``query``; without locks, of a file that nobody changed meanwhile."""
        for _ in range(_OVERTAKEN):
            try:
                self._prove()
                answer = query()
            except self._failures as error:
                if not self._is_overtaken():
                    raise files.translated(self.path, error) from error
            except LedgerError:
                if not self._is_overtaken():
                    raise
            else:
                if not self._is_overtaken():
                    return answer
            self.close()
            self._open()
        raise LedgerBusy(f"{self.path}: other processes change the history faster than it can be read")

    def _is_overtaken(self) -> bool:
        return self._stamp is not None and files.stamp_of(self.path) != self._stamp

    def _open_connection(self) -> sqlite3.Connection:
        assert self._connection is not None
        return self._connection

    # --- fold -----------------------------------------------------------------------------------------------

    def fold(
        self,
        batch: Iterable[Settled],
        lsn: int,
        checkpoint: bytes,
        pace: Pace | None = None,
    ) -> None:
        """Take in outcomes up to ``lsn``, with a copy of the checkpoint that goes with them.

        All of it is durable on return. Repeating a batch, or an older one, changes nothing; of two outcomes
        of one step the one with the higher LSN stays. A long batch goes in by several transactions, oldest outcomes
        first: whatever ends it in between leaves a history that is folded less far. The batch is held in memory.

        Raises:
            LedgerFailed: an earlier fold of this handle was refused by the disk.
        """
        if self._failed:
            raise LedgerFailed(
                f"cannot write {self.path}: an earlier write failed", path=self.path, errno=None
            )
        connection = self._open_connection()
        try:
            if not self._rewritten:
                # What a process whose sync failed left in the log is in the cache alone: write it anew.
                empty_log(connection)
                self._rewritten = True
            self._covered = fold(self.path, connection, batch, lsn, checkpoint, pace or Pace())
        except self._failures as error:
            failure = files.translated(self.path, error)
            self._failed = isinstance(failure, DiskRefused)
            raise failure from error
        except DiskRefused:
            self._failed = True
            raise
