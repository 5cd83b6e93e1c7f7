"""What programs do with a ledger; each act says beforehand what the truth allows it to come to."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from runledger import (
    NOT_HAPPENED,
    DiskRefused,
    Happened,
    LedgerError,
    ResolveRefused,
    ResultNotStored,
    StepAborted,
    StepCommitted,
)
from tests.crash.checks import UNSTORED
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
    shown,
)
from tests.crash.site import NAME, Handle, Site

__all__ = ["Boom", "Call", "Declared", "Trial"]

LARGE = 40_000


class Boom(Exception):
    """What a body raises that nobody declared."""


class Declared(Exception):
    """An exception that says that nothing happened."""


RAISED: dict[str, type[BaseException]] = {
    "raises": Boom,
    "declared": Declared,
    "aborts": StepAborted,
    "interrupted": KeyboardInterrupt,
    "unstorable": ResultNotStored,
}
FAILURES = {"raises": f"{Boom.__module__}.Boom", "interrupted": "KeyboardInterrupt"}


class Call(NamedTuple):
    """One entry into a step: how its body ``ends``, and what it does before."""

    ident: Ident
    number: int = 0
    ends: str = "returns"
    idempotent: bool = False
    inputs: int | None = None
    probe: str | None = None
    marks: tuple[str, ...] = ()
    inside: Callable[[], None] | None = None


class Trial(Site):
    """A site with the acts of programs."""

    def __init__(self, root: Path, seed: int = 0) -> None:
        super().__init__(root, seed)
        self._numbers = 0
        self._values = 0

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
        """Enter a step by ``with``. ``probe``: ``happened``, ``not happened`` or ``unknown``."""
        handle, state = self.handles[who], self.truth.state()
        ident = self.ident(state, key, scope)
        call = Call(ident, self._number(key), ends, idempotent, inputs, probe, marks, inside)
        expected = self.expected(handle, state, call)
        intended = Intended(ident, call.number, Step("open", 0, 0, handle.id, None, idempotent, inputs))
        upto = [self.truth.attempt(*self.starting(state), intended) if expected == "run" else 0]

        def ask(_: object) -> Any:
            if probe == "happened":
                self.truth.attempt(Settled(ident, 0, "committed", "probed"))
                return Happened("probed")
            if probe == "not happened":
                upto[0] = self.truth.attempt(Settled(ident, 0, "aborted"), intended)
                return NOT_HAPPENED
            return None

        with self.doing(handle):
            raised: BaseException | None = None
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
                    self.running.add((ident, call.number))
                    try:
                        self._body(step, call, upto)
                    finally:
                        self.running.discard((ident, call.number))
            except tuple(RAISED.values()) as error:
                raised = error
                if getattr(error, "__notes__", ()):
                    self.computer.reach(handle.process)
                    raise DiskRefused("the outcome could not be recorded") from error
            except DiskRefused:
                raise
            except LedgerError as error:
                self._refused(error, expected, state, call)
                return
            riding = idempotent or (handle.riding and ends in {"returns", "large", "unstorable"})
            self.acknowledge(upto[0], durable=not riding)
            assert type(raised) is RAISED.get(ends, type(None)), f"{ends} gave {raised!r}"

    def ident(self, state: State, key: str | None, scope: str = "run") -> Ident:
        """The step of that key, from now on looked up by every check."""
        if key is not None:
            self.keys.add((NAME, key))
        return Ident(0 if scope == "ledger" else max(1, state.run), NAME, key)

    def starting(self, state: State) -> list[Entry]:
        """What goes before the first step of a ledger without a run."""
        return [] if state.run else [Started()]

    def _number(self, key: str | None) -> int:
        self._numbers += key is None
        return self._numbers if key is None else 0

    def _body(self, step: Any, call: Call, upto: list[int]) -> None:
        ident, number, ends = call.ident, call.number, call.ends
        self.acknowledge(upto[0], durable=not call.idempotent)
        attempt = self.truth.state().steps[ident, number].attempt
        assert step.attempt == attempt, f"attempt {step.attempt} of {ident} is {attempt}"
        for label in call.marks:
            upto[0] = self.truth.attempt(Marked(ident, number, label))
            try:
                step.mark(label)
            except DiskRefused as error:
                self.check()
                kind = type(error)
                self.truth.attempt(Doubted(ident, number, f"{kind.__module__}.{kind.__qualname__}"))
                raise
            self.acknowledge(upto[0], durable=not call.idempotent)
        if call.inside is not None:
            call.inside()
        if ends in {"aborts", "declared"}:
            upto[0] = self.truth.attempt(Settled(ident, number, "aborted"))
            raise step.abort("not now") if ends == "aborts" else Declared
        if not call.idempotent:
            self.effects.append(ident)
        if ends in FAILURES:
            upto[0] = self.truth.attempt(Doubted(ident, number, FAILURES[ends]))
            raise RAISED[ends]
        self._values += 1
        step.result = {"large": "x" * LARGE, "unstorable": object()}.get(ends, self._values)
        kept = UNSTORED if ends == "unstorable" else shown(step.result)
        upto[0] = self.truth.attempt(Settled(ident, number, "committed", kept))

    def expected(self, handle: Handle, state: State, call: Call) -> str:
        """``run``, ``probe``, or the name of the refusal."""
        if state.word in {"HALTED", "JACKED_OUT"}:
            return "RunHalted" if state.word == "HALTED" else "RunFinished"
        before = state.find(call.ident) if call.ident.key is not None else None
        if before is None or before.status == "aborted":
            return "run"
        if before.inputs is not None and call.inputs is not None and before.inputs != call.inputs:
            return "InputsMismatch"
        if before.status == "committed":
            return "StepCommitted"
        if self.is_alive_for(handle, call.ident, before):
            return "StepInFlight"
        if call.idempotent:
            return "run"
        asked = {"happened": "StepCommitted", "not happened": "probe"}
        return asked.get(call.probe or "", "StepInDoubt")

    def _refused(self, error: LedgerError, expected: str, state: State, call: Call) -> None:
        ident = call.ident
        assert type(error).__name__ == expected, f"{ident}: {expected} expected, not {error!r}"
        if isinstance(error, StepCommitted):
            before = state.find(ident)
            assert before is not None
            result = before.result if before.status == "committed" else "probed"
            assert shown(error.result) == (None if result == UNSTORED else result)
            # What an idempotent call is told may ride as its own records do.
            self.truth.acknowledge(self.truth.settled_by(ident), durable=not call.idempotent)

    # --- the rest of the interface --------------------------------------------------------------------------------

    def resolve(self, who: str, key: str, *, happened: bool) -> None:
        """Settle a step in doubt, of this run or an earlier one; anything else is refused."""
        handle, state = self.handles[who], self.truth.state()
        ident = state.open_by(NAME, key)
        step = state.find(ident) if ident is not None else None
        upto = 0
        if ident is not None and step is not None and not self.is_alive_for(handle, ident, step):
            status, result = ("committed", "resolved") if happened else ("aborted", None)
            upto = self.truth.attempt(Settled(ident, 0, status, result))
        with self.doing(handle):
            outcome = Happened("resolved") if happened else NOT_HAPPENED
            try:
                handle.ledger.resolve(NAME, key, outcome, reason="looked")
            except ResolveRefused:
                assert not upto
                return
            assert upto
            self.acknowledge(upto)

    def move(self, who: str, what: str) -> None:
        """``start``, ``halt``, ``resume``, ``finish`` (forced) or ``heartbeat``."""
        handle, word = self.handles[who], self.truth.state().word
        moves: dict[str, tuple[set[str], Entry | None]] = {
            "start": ({"ABSENT", "JACKED_OUT"}, Started()),
            "halt": ({"RUNNING", "HALTED"}, Moved("HALTED") if word == "RUNNING" else None),
            "resume": ({"HALTED"}, Moved("RUNNING")),
            "finish": ({"RUNNING"}, Moved("JACKED_OUT")),
            "heartbeat": ({"RUNNING"}, None),
        }
        ledger = handle.ledger
        calls: dict[str, Callable[[], None]] = {
            "start": lambda: ledger.start("plan", sprints=["one", "two"]),
            "halt": lambda: ledger.halt("a blocker"),
            "resume": lambda: ledger.resume("somebody"),
            "finish": lambda: ledger.finish(force=True, reason="enough"),
            "heartbeat": ledger.heartbeat,
        }
        legal = word in moves[what][0]
        entry = moves[what][1] if legal else None
        upto = self.truth.attempt(*([] if entry is None else [entry]))
        if entry is not None:
            # The state file may say the new word from now on, and does once the move is acknowledged.
            self.words = [*(self.words or [None, word]), getattr(entry, "word", "RUNNING")]
        with self.doing(handle):
            try:
                calls[what]()
            except DiskRefused:
                raise
            except LedgerError as error:
                assert not legal, f"{what} of a run that is {word}: {error!r}"
                return
            assert legal, f"{what} of a run that is {word} was taken"
            self.acknowledge(upto, durable=entry is not None)
            if entry is not None and not self.faulty:
                self.words = self.words[-1:]

    def compact(self, who: str) -> None:
        """Fold and drop; every fact that was recorded is durable then."""
        handle = self.handles[who]
        upto = len(self.truth.entries)
        with self.doing(handle):
            told = handle.ledger.compact()
            self.truth.acknowledge(upto)
            # Where there was nothing to fold, a record of who came and went may still be on its way to the disk.
            self.durable_lsn = max(self.durable_lsn, told["upto"])

    def look(self, who: str, key: str) -> None:
        """A handle's own look-up agrees with the truth."""
        handle, state = self.handles[who], self.truth.state()
        with self.doing(handle):
            held = handle.ledger.lookup(NAME, key)
            step = state.find(Ident(state.run, NAME, key)) or state.find(Ident(0, NAME, key))
            status = None if held is None else held.status
            if step is None or step.status != "open":
                assert status == (None if step is None else step.status)
            else:
                assert status in {"in_flight", "in_doubt"}
