"""A command between a step's intent and its outcome: what each way of ending means."""

from __future__ import annotations

import os
import signal
from typing import Any, cast

import msgspec

from runledger.attempt import Attempt, Rules, enter
from runledger.cli.output import complain, note, raw
from runledger.cli.running import Ending, NotStarted, Runner
from runledger.doubt import NOT_HAPPENED, Happened, NotHappened, resolve_lines, shown
from runledger.errors import ResultNotStored
from runledger.local.store import LocalStore
from runledger.options import Options
from runledger.outcome import outcome_of, result_of
from runledger.record import Failure
from runledger.step import DoubtfulStep, Step
from runledger.store import Aborted, Claim, Settle, Uncertain
from runledger.store import Happened as ItHappened
from runledger.view import Settled

__all__ = ["Effect", "Outcome"]

IN_DOUBT = 76


class Outcome:
    """What is true of the step when ``runledger step`` ends, whatever ends it."""

    word = "refused"


class Effect:
    """The command of one step, and the command that looks whether an earlier attempt happened."""

    def __init__(
        self, command: list[str], probe: str | None, aborts_on: frozenset[int], timeout: float | None
    ) -> None:
        self._command = command
        self._probe = probe
        self._aborts_on = aborts_on
        self._timeout = timeout
        self._limit = Options().result_bytes
        self._runner = Runner()
        self._found = False

    def run(self, store: LocalStore, claim: Claim, outcome: Outcome) -> int:
        """Claim the step, run the command, record how it ended; the exit code."""
        rules = Rules(idempotent=claim.idempotent, probe=None if self._probe is None else self._ask)
        attempt = Attempt(store, lambda: store.reader.view.ledger, claim, rules)
        with self._runner:
            settled = enter(attempt)
            if settled is not None:
                outcome.word = "committed" if self._found else "repeated"
                return _replay(store, settled, found=self._found)
            try:
                return self._perform(store, cast("Step", attempt.step), claim, outcome)
            finally:
                attempt.leave()

    def _perform(self, store: LocalStore, step: Step, claim: Claim, outcome: Outcome) -> int:
        outcome.word = "in-doubt"
        said, code = self._attempt(step)
        try:
            store.settle(Settle(lsn=step.lsn, outcome=said, riding=claim.idempotent))
        except BaseException:
            store.forget(claim)
            raise
        outcome.word = _word(said)
        if isinstance(said, Aborted):
            note(f"{shown(step.name, step.key)} aborted: {said.reason}")
        elif isinstance(said, Uncertain):
            _tell_doubt(store, step, said)
        return code

    def _attempt(self, step: Step) -> tuple[ItHappened | Aborted | Uncertain, int]:
        """What the command did, and the exit code for it."""
        if self._runner.signalled:
            return Aborted(reason="interrupted before the command began"), 128 + self._runner.signalled
        out = raw()
        environment = {**os.environ, "RUNLEDGER_IDEMPOTENCY_KEY": step.idempotency_key}
        try:
            ending = self._runner.run(
                self._command, environment, limit=self._limit, timeout=self._timeout, through=out.write
            )
        except NotStarted as error:
            return Aborted(reason=f"{self._command[0]}: {error.reason}"), error.code
        if out.refused is not None:
            note(f"the command's output could not all be passed on: {out.refused}")
        if ending.cut:
            note(
                "a process that the command left behind holds its output; what it prints from now on is lost"
            )
        return self._meaning(ending)

    def _meaning(self, ending: Ending) -> tuple[ItHappened | Aborted | Uncertain, int]:
        """Status 0 says that it happened, a declared one that it did not; nothing else proves anything."""
        how = _how(ending)
        if ending.timed_out:
            return Uncertain(failure=Failure(type="timeout", message=how)), ending.code or IN_DOUBT
        if self._runner.signalled:
            name = signal.Signals(self._runner.signalled).name
            return Uncertain(
                failure=Failure(type="signal", message=f"{name} came; {how}")
            ), 128 + self._runner.signalled
        if ending.status == 0:
            return _recorded(ending.output, self._limit), 0
        if ending.status in self._aborts_on:
            return Aborted(reason=how), ending.code
        return Uncertain(
            failure=Failure(type="exit" if ending.status > 0 else "signal", message=how)
        ), ending.code

    # --- the probe ------------------------------------------------------------------------------------------

    def _ask(self, doubtful: DoubtfulStep) -> Happened | NotHappened | None:
        """Let the probe look; anything but its two answers leaves the step in doubt."""
        facts = {
            "RUNLEDGER_IDEMPOTENCY_KEY": doubtful.idempotency_key,
            "RUNLEDGER_STEP_NAME": doubtful.name,
            "RUNLEDGER_STEP_KEY": doubtful.key or "",
            "RUNLEDGER_STEP_LSN": str(doubtful.lsn),
            "RUNLEDGER_STEP_ATTEMPT": str(doubtful.attempt),
            "RUNLEDGER_STEP_STARTED": doubtful.started,
            "RUNLEDGER_STEP_MARKS": msgspec.json.encode(doubtful.marks).decode(),
        }
        try:
            ending = self._runner.run(
                ["sh", "-c", self._probe or ""],
                {**os.environ, **facts},
                limit=self._limit,
                timeout=self._timeout,
                own_input=False,
            )
        except NotStarted as error:
            note(f"the probe could not be started: {error.reason}")
            return None
        if ending.timed_out or self._runner.signalled or ending.status not in {0, 1}:
            note(f"the probe cannot tell: {_how(ending)}")
            return None
        if ending.status == 1:
            return NOT_HAPPENED
        self._found = True
        return Happened(None if ending.output is None else _text(ending.output))


def _how(ending: Ending) -> str:
    if ending.status < 0:
        try:
            how = f"ended by {signal.Signals(-ending.status).name}"
        except ValueError:
            how = f"ended by signal {-ending.status}"
    else:
        how = f"exit status {ending.status}"
    return f"it took too long; {how}" if ending.timed_out else how


def _text(output: bytes) -> str | bytes:
    """Text where it is UTF-8, else the bytes as they are."""
    try:
        return output.decode()
    except UnicodeDecodeError:
        return output


def _recorded(output: bytes | None, limit: int) -> ItHappened:
    if output is None:
        note(f"committed without its output, of which there are more than {limit} bytes")
        return ItHappened(unstored=f"there are more than {limit} bytes of output")
    said, _ = outcome_of(_text(output))
    return said


def _word(said: ItHappened | Aborted | Uncertain) -> str:
    if isinstance(said, ItHappened):
        return "committed"
    return "aborted" if isinstance(said, Aborted) else "in-doubt"


def _tell_doubt(store: LocalStore, step: Step, said: Uncertain) -> None:
    held = store.known().view.open.get(step.lsn)
    lines = resolve_lines(held) if held is not None else []
    complain(
        f"{shown(step.name, step.key)} is in doubt (LSN {step.lsn}): {said.failure.message}",
        "It may or may not have happened. Look, then one of:\n  " + "\n  ".join(lines),
    )


def _replay(store: LocalStore, settled: Settled, *, found: bool) -> int:
    """Print again what the step printed when it happened."""
    how = "the probe found that it happened" if found else "already committed, not run again"
    note(f"{shown(settled.name, settled.key)}: {how} (LSN {settled.lsn})")
    try:
        recorded = result_of(store, settled)
    except ResultNotStored as error:
        note(error.message)
        return 0
    out = raw()
    out.write(_bytes(recorded))
    if out.refused is not None:
        note(f"its output could not all be printed again: {out.refused}")
    return 0


def _bytes(recorded: Any) -> bytes:
    """What a command printed, as it was; a result of another origin as JSON."""
    if recorded is None:
        return b""
    if isinstance(recorded, bytes):
        return recorded
    return recorded.encode() if isinstance(recorded, str) else msgspec.json.encode(recorded) + b"\n"
