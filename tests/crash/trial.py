"""Runs a ledger and the model of the truth side by side, on a computer that may fail at any call."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from runledger import (
    NOT_HAPPENED,
    DiskRefused,
    Happened,
    Ledger,
    LedgerError,
    LedgerFailed,
    ResolveRefused,
    ResultNotStored,
    StepAborted,
    StepCommitted,
)
from runledger.options import Options
from tests.crash.checks import UNSTORED, check_journal, check_snapshot, observe
from tests.crash.computer import Computer, Fault, Fuse, PowerCut, Process
from tests.crash.journal_text import last_lsn
from tests.crash.model import (
    Doubted,
    Entry,
    Ident,
    Intended,
    Marked,
    Moved,
    Settled,
    Started,
    State,
    Step,
    Truth,
    shown,
)
from tests.crash.outcomes import outcome

__all__ = ["Boom", "Declared", "Handle", "Trial"]

NAME = "pay"
LARGE = 40_000


class Boom(Exception):
    """What a body raises that nobody declared."""


class Declared(Exception):
    """An exception that says that nothing happened."""


class Handle:
    """A process with one open ledger."""

    def __init__(self, who: str, process: Process, ledger: Ledger, *, riding: bool) -> None:
        self.who = who
        self.id = f"{who}-{process.start}"
        self.process = process
        self.ledger = ledger
        self.riding = riding


class Trial:
    """``left`` says what the next power cut leaves. ``had_faults``: the disk failed since the last boot."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        self.computer = Computer(root, seed)
        self.truth = Truth()
        self.handles: dict[str, Handle] = {}
        self.effects: list[Ident] = []
        self.keys: set[tuple[str, str]] = set()
        self.lines: dict[int, bytes] = {}
        self.durable_lsn = 0
        self.left: str | int = "nothing"
        self.had_faults = False
        self.cuts = 0
        self.killed = 0
        self._running: set[tuple[Ident, int]] = set()
        self._numbers = 0
        self._values = 0
        self._depth = 0
        self._lsn_written: int | None = None

    # --- processes ------------------------------------------------------------------------------------------------

    def open(
        self, who: str, *, riding: bool = False, segment_bytes: int = 2500, pid: int | None = None
    ) -> None:
        process = self.computer.process(pid)
        with self.computer.running(process):
            commit = "riding" if riding else "durable"
            options = Options(segment_bytes=segment_bytes, compact_after=0)
            ledger = Ledger.open(self.computer.root, commit=commit, options=options)
        self.handles[who] = Handle(who, process, ledger, riding=riding)

    def close(self, who: str) -> None:
        handle = self.handles.pop(who)
        upto, before = len(self.truth.entries), last_lsn(self.computer.top)
        with self._doing(handle):
            handle.ledger.close()
            if last_lsn(self.computer.top) > before:
                self.acknowledge(upto)
        self.computer.end(handle.process)

    def kill(self, who: str) -> None:
        """SIGKILL between two calls."""
        self.computer.end(self.handles.pop(who).process)
        self.check()

    def lose_power(self) -> None:
        self.computer.cut()
        self._recover()

    def kill_at(self, who: str, kind: str) -> None:
        """SIGKILL at the next call of that kind, which still takes place."""
        self.computer.fuse = Fuse(1, kill=True, process=self.handles[who].process, kind=kind)

    # --- faults ---------------------------------------------------------------------------------------------------

    def fault(self, kind: str, *, skip: int = 0, times: int = 1, done: int = 0, path: str = "") -> None:
        """The disk is going to fail."""
        self.had_faults = True
        self.computer.faults.append(Fault(kind, errno.EIO, skip, times, done, path))

    def fresh(self) -> None:
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

    # --- steps ----------------------------------------------------------------------------------------------------

    def step(
        self,
        who: str,
        key: str | None,
        *,
        ends: str = "returns",
        scope: str = "run",
        idempotent: bool = False,
        inputs: int | None = None,
        probe: str | None = None,
        marks: tuple[str, ...] = (),
        inside: Callable[[], None] | None = None,
    ) -> None:
        """Enter a step by ``with``; what comes must be what the truth allows."""
        handle = self.handles[who]
        state = self.truth.state()
        ident = Ident(0 if scope == "ledger" else max(1, state.run), NAME, key)
        if key is not None:
            self.keys.add((NAME, key))
        number = 0
        if key is None:
            self._numbers += 1
            number = self._numbers
        expected = self._expected(handle, state, ident, inputs, idempotent=idempotent, probe=probe)
        intended = Intended(ident, number, Step("open", 0, 0, handle.id, None, idempotent, inputs))
        entries: list[Entry] = [intended] if state.word != "ABSENT" else [Started(), intended]
        upto = [self.truth.attempt(*entries) if expected == "run" else 0]
        raised: BaseException | None = None

        def ask(_: object) -> Any:
            if probe == "happened":
                self.truth.attempt(Settled(ident, 0, "committed", "probed"))
                return Happened("probed")
            if probe == "not happened":
                upto[0] = self.truth.attempt(Settled(ident, 0, "aborted"), intended)
                return NOT_HAPPENED
            return None

        with self._doing(handle):
            try:
                with handle.ledger.step(
                    NAME,
                    key=key,
                    scope=scope,
                    idempotent=idempotent,
                    aborts_on=Declared,
                    probe=ask if probe else None,
                    inputs=... if inputs is None else inputs,
                ) as step:
                    assert expected in {"run", "probe"}, f"the body of {ident} runs: {expected}"
                    self._running.add((ident, number))
                    try:
                        self._body(step, ident, number, upto, ends, marks, inside, idempotent=idempotent)
                    finally:
                        self._running.discard((ident, number))
            except (Boom, Declared, StepAborted, KeyboardInterrupt, ResultNotStored) as error:
                raised = error
                assert expected in {"run", "probe"}
                if getattr(error, "__notes__", ()):
                    self.computer.reach(handle.process)
                    raise DiskRefused("the outcome could not be recorded") from error
            except DiskRefused:
                raise
            except LedgerError as error:
                self._refused(error, expected, state, ident)
                return
            riding = (handle.riding and ends in {"returns", "unstorable"}) or idempotent
            self.acknowledge(upto[0], durable=not riding)
            wanted = {
                "raises": Boom,
                "declared": Declared,
                "aborts": StepAborted,
                "interrupted": KeyboardInterrupt,
            }
            wanted["unstorable"] = ResultNotStored
            assert type(raised) is wanted.get(ends, type(None)), f"{ends} gave {raised!r}"

    def _body(
        self,
        step: Any,
        ident: Ident,
        number: int,
        upto: list[int],
        ends: str,
        marks: tuple[str, ...],
        inside: Callable[[], None] | None,
        *,
        idempotent: bool,
    ) -> None:
        self.acknowledge(upto[0], durable=not idempotent)
        attempt = self.truth.state().steps[ident, number].attempt
        assert step.attempt == attempt, f"attempt {step.attempt} of {ident} is {attempt}"
        for label in marks:
            upto[0] = self.truth.attempt(Marked(ident, number, label))
            step.mark(label)
            self.acknowledge(upto[0], durable=not idempotent)
        if inside is not None:
            inside()
        if ends in {"aborts", "declared"}:
            upto[0] = self.truth.attempt(Settled(ident, number, "aborted"))
            raise step.abort("not now") if ends == "aborts" else Declared
        if not idempotent:
            self.effects.append(ident)
        if ends in {"raises", "interrupted"}:
            kind = Boom if ends == "raises" else KeyboardInterrupt
            name = "KeyboardInterrupt" if kind is KeyboardInterrupt else f"{Boom.__module__}.Boom"
            upto[0] = self.truth.attempt(Doubted(ident, number, name))
            raise kind
        self._values += 1
        value: Any = {"large": "x" * LARGE, "unstorable": object()}.get(ends, self._values)
        step.result = value
        kept = UNSTORED if ends == "unstorable" else shown(value)
        upto[0] = self.truth.attempt(Settled(ident, number, "committed", kept))

    def _expected(
        self,
        handle: Handle,
        state: State,
        ident: Ident,
        inputs: int | None,
        *,
        idempotent: bool,
        probe: str | None,
    ) -> str:
        """``run``, ``probe``, or the name of the refusal."""
        if state.word == "HALTED":
            return "RunHalted"
        if state.word == "JACKED_OUT":
            return "RunFinished"
        before = state.find(ident) if ident.key is not None else None
        if before is None or before.status == "aborted":
            return "run"
        if before.inputs is not None and inputs is not None and before.inputs != inputs:
            return "InputsMismatch"
        if before.status == "committed":
            return "StepCommitted"
        mine = before.owner == handle.id and before.until is None
        alive = (ident, 0) in self._running if mine else self.is_alive(before)
        if alive and not before.over:
            return "StepInFlight"
        if idempotent:
            return "run"
        if probe == "not happened":
            return "probe"
        return "StepCommitted" if probe == "happened" else "StepInDoubt"

    def _refused(self, error: LedgerError, expected: str, state: State, ident: Ident) -> None:
        assert type(error).__name__ == expected, f"{ident}: {expected} expected, not {error!r}"
        if isinstance(error, StepCommitted):
            before = state.find(ident)
            assert before is not None
            result = before.result if before.status == "committed" else "probed"
            assert shown(error.result) == (None if result == UNSTORED else result)
            settled = [
                at
                for at, e in enumerate(self.truth.entries, 1)
                if isinstance(e, Settled) and e.ident == ident
            ]
            self.truth.acknowledge(settled[-1])

    # --- the rest of the interface --------------------------------------------------------------------------------

    def resolve(self, who: str, key: str, *, happened: bool) -> None:
        handle = self.handles[who]
        state = self.truth.state()
        ident = next((i for i in (Ident(state.run, NAME, key), Ident(0, NAME, key)) if state.find(i)), None)
        step = state.find(ident) if ident is not None else None
        doubtful = step is not None and step.status == "open" and not self._is_alive_for(handle, ident, step)
        upto = 0
        if doubtful and ident is not None:
            settled = Settled(ident, 0, "committed", "resolved") if happened else Settled(ident, 0, "aborted")
            upto = self.truth.attempt(settled)
        with self._doing(handle):
            try:
                handle.ledger.resolve(
                    NAME, key, Happened("resolved") if happened else NOT_HAPPENED, reason="looked"
                )
            except ResolveRefused:
                assert not doubtful
                return
            assert doubtful
            self.acknowledge(upto)

    def move(self, who: str, what: str) -> None:
        """``start``, ``halt``, ``resume``, ``finish`` (forced) or ``heartbeat``."""
        handle = self.handles[who]
        word = self.truth.state().word
        legal = {
            "start": {"ABSENT", "JACKED_OUT"},
            "halt": {"RUNNING", "HALTED"},
            "resume": {"HALTED"},
            "finish": {"RUNNING"},
            "heartbeat": {"RUNNING"},
        }[what]
        entries: list[Entry] = {
            "start": [Started()],
            "halt": [Moved("HALTED")] if word == "RUNNING" else [],
            "resume": [Moved("RUNNING")],
            "finish": [Moved("JACKED_OUT")],
            "heartbeat": [],
        }[what]
        upto = self.truth.attempt(*entries) if word in legal else 0
        calls: dict[str, Callable[[], None]] = {
            "start": lambda: handle.ledger.start("plan", sprints=["one", "two"]),
            "halt": lambda: handle.ledger.halt("a blocker"),
            "resume": lambda: handle.ledger.resume("somebody"),
            "finish": lambda: handle.ledger.finish(force=True, reason="enough"),
            "heartbeat": handle.ledger.heartbeat,
        }
        with self._doing(handle):
            try:
                calls[what]()
            except DiskRefused:
                raise
            except LedgerError as error:
                assert word not in legal, f"{what} of a run that is {word}: {error!r}"
                return
            assert word in legal, f"{what} of a run that is {word} was taken"
            self.acknowledge(upto, durable=bool(entries) or what == "halt")

    def compact(self, who: str) -> None:
        handle = self.handles[who]
        upto = len(self.truth.entries)
        with self._doing(handle):
            handle.ledger.compact()
            self.acknowledge(upto)

    def look(self, who: str, key: str) -> None:
        """A handle's own look-up agrees with the truth."""
        handle = self.handles[who]
        state = self.truth.state()
        with self._doing(handle):
            held = handle.ledger.lookup(NAME, key)
            step = state.find(Ident(state.run, NAME, key)) or state.find(Ident(0, NAME, key))
            status = None if held is None else held.status
            if step is None or step.status != "open":
                assert status == (None if step is None else step.status)
            else:
                assert status in {"in_flight", "in_doubt"}

    def pass_time(self, seconds: float) -> None:
        """Time passes, and what waits for it is done."""
        self.computer.clock.pass_by(seconds)
        for handle in list(self.handles.values()):
            upto = len(self.truth.entries)
            with self._doing(handle):
                if handle.process.due() and len(self.handles) == 1 and not self.faulty:
                    self.acknowledge(upto)

    @property
    def faulty(self) -> bool:
        """Whether the disk may refuse."""
        return self.had_faults or self.computer.room is not None

    # --- acknowledgements -----------------------------------------------------------------------------------------

    def acknowledge(self, upto: int, *, durable: bool = True) -> None:
        self.truth.acknowledge(upto, durable=durable)
        if durable:
            written, self._lsn_written = self._lsn_written, None
            self.durable_lsn = max(
                self.durable_lsn, last_lsn(self.computer.top) if written is None else written
            )

    def is_alive(self, step: Step) -> bool:
        """Whether another process must take the step's holder to be at work."""
        if step.over:
            return False
        if step.until is not None:
            return self.computer.clock.wall < step.until
        return any(h.id == step.owner and not h.process.dead for h in self.handles.values())

    def _is_alive_for(self, handle: Handle, ident: Ident | None, step: Step) -> bool:
        if step.owner == handle.id and step.until is None:
            return (ident, 0) in self._running and not step.over
        return self.is_alive(step)

    # --- what happens to a call -----------------------------------------------------------------------------------

    @contextmanager
    def _doing(self, handle: Handle) -> Iterator[None]:
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
            self.killed += handle.process.dead
            self.handles = {who: h for who, h in self.handles.items() if not h.process.dead}
            self.check()
            if handle.process.dead and self._running and self._depth:
                return

    def _recover(self) -> None:
        self.cuts += 1
        self.computer.reboot(outcome(self.left))
        self._gone()
        self.check(after_cut=True)

    def _gone(self) -> None:
        self.handles.clear()
        self._running.clear()
        self._lsn_written = None
        self.had_faults = False

    def check(self, *, after_cut: bool = False, evicted: bool = False) -> None:
        """Look at everything from outside."""
        truth = self.truth
        observed = observe(self.computer, sorted(self.keys))
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
        check_snapshot(self.computer, text.last)
