"""A ledger and the model of the truth side by side, on a computer that may fail at any call."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from runledger import DiskRefused, Ledger, LedgerFailed
from runledger.options import Options
from tests.crash.checks import check_journal, check_snapshot, observe
from tests.crash.computer import Computer, Fault, Fuse, PowerCut, Process
from tests.crash.journal_text import last_lsn
from tests.crash.model import Ident, Step, Truth
from tests.crash.outcomes import outcome

__all__ = ["NAME", "Handle", "Site"]

NAME = "pay"


class Handle:
    """A process with one open ledger."""

    def __init__(self, who: str, process: Process, ledger: Ledger, *, riding: bool) -> None:
        self.who = who
        self.id = f"{who}-{process.start}"
        self.process = process
        self.ledger = ledger
        self.riding = riding


class Site:
    """Processes and what befalls them.

    ``left`` says what the next power cut leaves, ``had_faults`` that the disk failed since the last boot. ``cuts`` and
    ``kills`` count. ``effects`` are the steps whose effect happened. ``words`` are what the state file may say: the last
    word that was acknowledged, and those that were on their way since.
    """

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.computer = Computer(root, seed)
        self.truth = Truth()
        self.handles: dict[str, Handle] = {}
        self.effects: list[Ident] = []
        self.keys: set[tuple[str, str]] = set()
        self.lines: dict[int, bytes] = {}
        self.durable_lsn = 0
        self.words: list[str | None] = []
        self.left: str | int = "nothing"
        self.had_faults = False
        self.cuts = 0
        self.kills = 0
        self.running: set[tuple[Ident, int]] = set()
        self._depth = 0
        self._lsn_written: int | None = None

    # --- processes ------------------------------------------------------------------------------------------------

    def open(
        self, who: str, *, riding: bool = False, segment_bytes: int = 2500, pid: int | None = None
    ) -> None:
        """A new process opens the ledger."""
        process = self.computer.process(pid)
        with self.computer.running(process):
            commit = "riding" if riding else "durable"
            options = Options(segment_bytes=segment_bytes, compact_after=0)
            ledger = Ledger.open(self.computer.root, commit=commit, options=options)
        self.handles[who] = Handle(who, process, ledger, riding=riding)

    def close(self, who: str) -> None:
        """It closes the ledger and ends."""
        handle = self.handles.pop(who)
        upto, before = len(self.truth.entries), last_lsn(self.computer.top)
        with self.doing(handle):
            try:
                handle.ledger.close()
            except DiskRefused:
                self.computer.end(handle.process)
                raise
            if last_lsn(self.computer.top) > before:
                self.acknowledge(upto)
        self.computer.end(handle.process)

    def kill(self, who: str) -> None:
        """SIGKILL between two calls."""
        self.kills += 1
        self.computer.end(self.handles.pop(who).process)
        self.check()

    def kill_at(self, who: str, kind: str, path: str) -> None:
        """SIGKILL at the next call of that kind on a path with that in it; it still takes place."""
        self.computer.fuse = Fuse(1, kill=True, process=self.handles[who].process, kind=kind, path=path)

    def pass_time(self, seconds: float) -> None:
        """Time passes, and what waits for it is done."""
        self.computer.clock.pass_by(seconds)
        for handle in list(self.handles.values()):
            upto = len(self.truth.entries)
            with self.doing(handle):
                if handle.process.due() and len(self.handles) == 1 and not self.faulty:
                    self.acknowledge(upto)

    # --- faults ---------------------------------------------------------------------------------------------------

    @property
    def faulty(self) -> bool:
        """Whether the disk may refuse."""
        return self.had_faults or self.computer.room is not None

    def fault(self, kind: str, *, skip: int = 0, times: int = 1, done: int = 0, path: str = "") -> None:
        """The disk is going to fail."""
        self.had_faults = True
        self.computer.faults.append(Fault(kind, errno.EIO, skip, times, done, path))

    def mend(self) -> None:
        """Nothing more is going to fail."""
        self.computer.fuse = None
        self.computer.room = None
        self.computer.faults.clear()
        self.before_sync(None)

    def before_sync(self, act: Callable[[], None] | None) -> None:
        """Have somebody act between the next record's writing and its sync."""

        def interlude() -> None:
            written = last_lsn(self.computer.top)
            if act is not None:
                act()
            self._lsn_written = written

        self.computer.interlude = None if act is None else interlude

    def evict(self) -> None:
        """The cache drops what it holds to be clean, as ``left`` says."""
        self.computer.evict(outcome(self.left))
        self.check(evicted=True)

    def lose_power(self) -> None:
        """The power is cut between two calls."""
        self.computer.off = True
        self._recover()

    # --- the truth ------------------------------------------------------------------------------------------------

    def acknowledge(self, upto: int, *, durable: bool = True) -> None:
        """A call of somebody who wrote the last record has returned."""
        self.truth.acknowledge(upto, durable=durable)
        if durable:
            written, self._lsn_written = self._lsn_written, None
            last = last_lsn(self.computer.top) if written is None else written
            self.durable_lsn = max(self.durable_lsn, last)

    def is_alive(self, step: Step) -> bool:
        """Whether another process must take the step's holder to be at work."""
        if step.over:
            return False
        if step.until is not None:
            return self.computer.clock.wall < step.until
        return any(h.id == step.owner and not h.process.dead for h in self.handles.values())

    def is_alive_for(self, handle: Handle, ident: Ident, step: Step) -> bool:
        """The same, for the process of ``handle``."""
        if step.owner == handle.id and step.until is None:
            return (ident, 0) in self.running and not step.over
        return self.is_alive(step)

    # --- what happens to a call -----------------------------------------------------------------------------------

    @contextmanager
    def doing(self, handle: Handle) -> Iterator[None]:
        """A call of a handle: it may be cut, killed or refused, and then the truth is asked for."""
        refused = False
        self._depth += 1
        try:
            with self.computer.running(handle.process):
                yield
        except PowerCut:
            pass
        except DiskRefused as error:
            if not self.faulty:
                raise
            refused = True
            if isinstance(error, LedgerFailed):
                with suppress(DiskRefused, PowerCut):
                    handle.ledger.close()
                self.computer.end(handle.process)
        finally:
            self._depth -= 1
        if self.computer.off:
            if self._depth:
                raise PowerCut
            self._recover()
        elif handle.process.dead or refused:
            self._lsn_written = None
            self.kills += handle.process.dead
            self.handles = {who: h for who, h in self.handles.items() if not h.process.dead}
            self.check()

    def _recover(self) -> None:
        self.cuts += 1
        self.computer.reboot(outcome(self.left))
        self.handles.clear()
        self.running.clear()
        self._lsn_written = None
        self.had_faults = False
        self.check(after_cut=True)

    def check(self, *, after_cut: bool = False, evicted: bool = False) -> None:
        """Look at everything from outside."""
        truth = self.truth
        observed = observe(self.computer, sorted(self.keys), thorough=after_cut or not self.running)
        truth.narrow(observed, self.is_alive, truth.durable if after_cut or evicted else truth.acknowledged)
        state = truth.state()
        for ident in self.effects:
            if ident.key is not None and ident.run in {0, state.run}:
                assert (ident.name, ident.key) in observed.known, f"{ident} happened, and is never started"
        text = check_journal(self.computer, self.lines, self.durable_lsn)
        self.lines = text.lines
        if after_cut:
            truth.durable = len(truth.entries)
            self.durable_lsn = text.last
        word = check_snapshot(self.computer, text)
        if self.words:
            assert word in self.words, f"the state file says {word}, acknowledged and since: {self.words}"
