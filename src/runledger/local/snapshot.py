"""The state file on disk: what others did to it is seen before anything is decided, and what we write replaces
it whole.

The file has other writers. A version that we did not write is never overwritten unseen: it becomes an ``observed``
record, or a copy aside where it cannot be read, before the next snapshot replaces it.
"""

from __future__ import annotations

import os
import re
import time
from zlib import crc32

from runledger.clock import to_second
from runledger.errors import (
    AdoptionRequired,
    DiskRefused,
    LedgerError,
    RunFinished,
    RunHalted,
    RunStateInvalid,
)
from runledger.local.directory import Directory, Stat
from runledger.local.files import write_new
from runledger.local.layout import STATE
from runledger.record import Observed
from runledger.run_state import HALTED, INVALID, JACKED_OUT, RUNNING
from runledger.state_file import Edit, observe, render
from runledger.state_reading import LARGEST, Reading, Unreadable, read
from runledger.text import escape
from runledger.view import View

__all__ = ["Snapshot"]

RACY_NS = 20_000_000
"""File times tick in steps of some milliseconds: a file younger than this may change again without its stamp moving."""

_TEMPORARY = re.compile(rf"\.{re.escape(STATE)}\.[0-9]+\.[0-9a-f]{{12}}\.tmp", re.ASCII)
LEFTOVER_NS = 10_000_000_000
"""A temporary file this old has no writer any more."""

NEW_MODE = 0o644
"""The state file has readers of its own: an existing one keeps its mode, a new one is as open as the umask lets it."""

OFTEN_S = 1.0
"""``last_activity`` alone moves the file at most once in so many seconds."""


class Snapshot:
    """What is known of one state file. ``text`` and ``problem`` are as ``decisions.StateFile`` says."""

    def __init__(self, run_directory: Directory) -> None:
        self.directory = run_directory
        self.text: str | None = None
        self.problem: LedgerError | None = None
        self.unclaimed: Reading | None = None
        self.lsn = 0
        self.missing = True
        self._seen: Stat | None = None
        self._base: Stat | None = None
        self._data: bytes | None = None
        self._racy = False
        self._cleared = False

    # --- what others did ----------------------------------------------------------------------------------------

    def look(self, view: View, *, keep: bool) -> list[Observed]:
        """What stands in the file that no record says yet, as records to be written (``keep``) or only folded.

        Raises:
            DiskRefused: the file cannot be read, or is no regular file.
        """
        stat = self.directory.stat(STATE)
        if stat == self._seen and not self._racy:
            return []
        data = self.read()
        self._seen = stat
        self._racy = stat is not None and abs(time.time_ns() - stat.mtime_ns) < RACY_NS
        self.missing = data is None
        if data is None:
            self.text, self.problem, self.unclaimed, self._data = None, None, None, None
            return []
        if data == self._data:
            return []
        self._data = data
        if view.run is None:
            self._unclaimed(data)
            return []
        self.text, self.problem, self.unclaimed = None, None, None
        return self._compare(view, data, keep=keep)

    def changed(self) -> bool:
        """Whether ``look`` may find something new."""
        return self._racy or self.directory.stat(STATE) != self._seen

    def fingerprint(self) -> str | None:
        """The crc32 of the file as it was last seen, None where there is none."""
        return None if self._data is None else f"{crc32(self._data):08x}"

    def claimed(self) -> None:
        """The file as it lies there belongs to a run of this journal from now on."""
        self.text, self.problem, self.unclaimed = None, None, None

    def forget(self) -> None:
        """Look at the file afresh next time: the view was replaced, or the run has changed hands."""
        self._seen, self._data = None, None

    def read(self) -> bytes | None:
        """The file as it is, None where it is missing; of one that is too large only as much as shows that."""
        file = self.directory.open(STATE)
        if file is None:
            return None
        try:
            return file.pread(LARGEST + 1, 0)
        finally:
            file.close()

    def _unclaimed(self, data: bytes) -> None:
        """A file that no journal speaks for: what it says binds, and it is not ours to change until it is adopted."""
        try:
            reading = read(data)
        except Unreadable as error:
            self.text = None
            self.problem = RunStateInvalid(
                f"{self.directory.path}/{STATE} cannot be read: {error}",
                hint="Set it right by hand or move it away; nothing was changed.",
            )
            return
        self.text, self.unclaimed = reading.document, reading
        self.problem = self._of_unclaimed(reading)

    def _of_unclaimed(self, reading: Reading) -> LedgerError:
        plan = escape(reading.plan_id or "no plan id")
        if reading.state == RUNNING:
            return AdoptionRequired(
                f"the state file says RUNNING ({plan}), and no journal here knows of that run"
            )
        if reading.state == HALTED:
            return RunHalted(
                f"the state file says {escape(str(reading.word))} ({plan}), and no journal here knows of that run",
                hint="To take it over, halted as it is: runledger adopt",
            )
        if reading.state == JACKED_OUT:
            return RunFinished(f"the state file says {escape(str(reading.word))} ({plan}): that run is done")
        return RunStateInvalid(
            f"the state file says {escape(str(reading.word))}, which is none of RUNNING, HALTED, JACKED_OUT",
            hint="Set its state right by hand; it is kept as it is.",
        )

    def _compare(self, view: View, data: bytes, *, keep: bool) -> list[Observed]:
        run = view.run
        assert run is not None
        if run.document is not None and data == run.document.encode():
            return []
        if run.replaces is not None and run.replaces == self.fingerprint():
            return []
        edit = observe(view, data, self.lsn, moved_lsn=run.moved)
        if edit is None and run.state == INVALID:
            # We never write over a word that is invalid: even our own earlier text was put back by somebody.
            edit = Edit("edit", read(data).document, "the word was set right")
        if edit is None:
            self.lsn = max(self.lsn, _lsn_of(data))
            return []
        if edit.kind == "other-plan":
            self.text, self.unclaimed = edit.document, read(data)
            self.problem = AdoptionRequired(
                f"the state file is of another plan than this ledger's run {escape(run.plan_id)}: {edit.reason}"
            )
            return []
        if edit.kind == "unreadable" and not keep:
            self.problem = RunStateInvalid(
                f"{self.directory.path}/{STATE} cannot be read: {edit.reason}",
                hint="Set it right by hand. The next step or move keeps it aside as it is, "
                f"and goes on with what the journal says: {run.state}.",
            )
            return []
        observed = Observed(lsn=view.lsn, at=view.at, run=run.id)
        if edit.kind == "edit":
            self.lsn = max(self.lsn, min(_lsn_of(data), view.lsn))
            observed.document, observed.ignored = edit.document, edit.ignored
            return [observed]
        copy, new = self._aside(data) if keep else ("", True)
        observed.rejected, observed.ignored = copy, edit.reason
        return [observed] if new else []

    def _aside(self, data: bytes) -> tuple[str, bool]:
        """Keep ``data`` as the next free ``.rejected-N``, synced; False with the name where the last one is
        the same."""
        prefix = f"{STATE}.rejected-"
        numbers = [
            int(n[len(prefix) :])
            for n in self.directory.names()
            if n.startswith(prefix) and n[len(prefix) :].isdigit()
        ]
        last = max(numbers, default=0)
        if last:
            try:
                if self.directory.read(f"{prefix}{last}", len(data)) == data:
                    return f"{prefix}{last}", False
            except DiskRefused:
                pass
        name = f"{prefix}{last + 1}"
        if len(data) > LARGEST:
            self.directory.link(STATE, name)
        else:
            self._write_new(name, data, None)
        self.directory.sync()
        return name, True

    # --- what we write ------------------------------------------------------------------------------------------

    def due(self) -> bool:
        """Whether activity alone may move the file: the last version is old enough, whoever wrote it."""
        stat = self.directory.stat(STATE)
        return stat is None or not -OFTEN_S < (time.time_ns() - stat.mtime_ns) / 1e9 < OFTEN_S

    def is_behind(self, view: View) -> bool:
        """Whether the file does not show the second of the last activity."""
        return view.run is not None and to_second(view.run.last_activity).encode() not in (self._data or b"")

    def prepare(self, view: View, in_doubt: list[dict[str, object]]) -> tuple[str, bytes] | None:
        """The next version under a temporary name, synced; None where nothing changed, the file is not ours, or it may
        know more of the run than we do."""
        self._base = self._seen
        if self.problem is not None or view.run is None or view.run.state == INVALID or not view.run.known:
            return None
        text = render(view, in_doubt)
        if text is None or text.encode() == self._data:
            return None
        data = text.encode()
        self._remove_leftovers()
        name = f".{STATE}.{os.getpid()}.{os.urandom(6).hex()}.tmp"
        self._write_new(name, data, self._seen)
        return name, data

    def _write_new(self, name: str, data: bytes, like: Stat | None) -> None:
        write_new(self.directory, name, data, like.mode if like is not None else NEW_MODE)

    def _remove_leftovers(self) -> None:
        """Once: temporary files of writers that were killed. A live one is done with its own in far less time."""
        if self._cleared:
            return
        self._cleared = True
        for name in self.directory.names():
            if _TEMPORARY.fullmatch(name):
                stat = self.directory.stat(name)
                if stat is not None and abs(time.time_ns() - stat.mtime_ns) > LEFTOVER_NS:
                    self.directory.unlink(name)

    def replace(self, prepared: tuple[str, bytes], lsn: int) -> bool:
        """Under the append lock: put the prepared version in place unless the file changed since it was prepared, seen
        by another thread's ``look`` or not; durable after the directory's sync, which may wait until the lock is
        free."""
        name, data = prepared
        if self._base != self._seen or self.directory.stat(STATE) != self._seen:
            self.directory.unlink(name)
            return False
        try:
            self.directory.rename(name, STATE)
        except BaseException:
            self.directory.unlink(name)
            raise
        self._seen = self.directory.stat(STATE)
        self._data, self._racy, self.missing = data, True, False
        self.lsn = max(self.lsn, lsn)
        return True


def _lsn_of(data: bytes) -> int:
    ledger = read(data).ledger
    return ledger.lsn if ledger is not None and ledger.lsn is not None else 0
