"""What a user holds: one handle on the ledger of a directory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from types import EllipsisType, TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from runledger.arguments import directory, flag, texts
from runledger.attempt import Rules, exception_classes
from runledger.block import StepBlock
from runledger.doubt import Happened, NotHappened, report_of
from runledger.drift import Reached
from runledger.errors import ResultNotStored, SprintUnknown, UsageError
from runledger.keys import check_key, check_name, value_inputs
from runledger.known_step import KnownStep
from runledger.local.files import find_root
from runledger.local.store import LocalStore
from runledger.options import Options
from runledger.outcome import outcome_of
from runledger.replay_report import ReplayReport
from runledger.replay_report import report as replay_report
from runledger.run import RunBlock
from runledger.skip import SkipCommitted, Skips
from runledger.status import Status, status_of
from runledger.step import Step, enclosing
from runledger.store import Claim, Move, Resolution, Store
from runledger.view import Settled

if TYPE_CHECKING:
    from runledger.pacing import Pace

__all__ = ["KnownStep", "Ledger", "StepUse"]

F = TypeVar("F", bound=Callable[..., Any])


class StepUse(StepBlock):
    """``ledger.step(...)``: use it as ``with``, as ``async with``, or to decorate a function, async or not."""

    __slots__ = ("_inputs", "_key", "_ledger", "_name", "_scope")

    def __init__(self, ledger: Ledger, name: str, key: Any, inputs: Any, scope: str, rules: Rules) -> None:
        super().__init__(ledger.store, ledger.ledger_id, ledger.skips, rules)
        self._ledger = ledger
        self._name = name
        self._key = key
        self._inputs = inputs
        self._scope = scope

    def _make_claim(self) -> Claim:
        if self._key is not None and not isinstance(self._key, str):
            raise UsageError(
                "a `with` step takes its key as text; a callable key needs the decorator's arguments"
            )
        inputs = None if self._inputs is ... or self._inputs is None else value_inputs(self._inputs)
        return self.claim(self._key, inputs, (), None)

    def claim(
        self, key: str | None, inputs: str | None, unfingerprinted: tuple[str, ...], code: str | None
    ) -> Claim:
        """The claim of one call."""
        parent = enclosing(self._store)
        self._ledger.reached.enter(self._scope, self._name, key, code)
        return Claim(
            name=self._name,
            key=key,
            scope=self._scope,
            inputs=inputs,
            unfingerprinted=unfingerprinted,
            idempotent=self._rules.idempotent,
            probed=self._rules.probe is not None,
            parent=None if parent is None else parent.step.lsn,
            code=code,
        )

    def __call__(self, function: F) -> F:
        from runledger.decorate import decorate

        decorated: F = decorate(
            function, self._store, self._ledger_id, self._key, self._inputs, self.claim, self._rules
        )
        return decorated


class Ledger:
    """One handle on a ledger. Thread-safe, usable from any number of asyncio tasks; other processes open their own.

    Close it, or use it as a context manager: closing makes everything durable and says that this owner left in good
    order. Nothing is written before the first step or move.
    """

    def __init__(self, store: LocalStore, root: str) -> None:
        self.store: Store = store
        self.root = root
        self.skips = Skips()
        self.reached = Reached()
        self._local = store
        self._plain = {said: Rules(idempotent=said, root=root) for said in (False, True)}

    @classmethod
    def open(
        cls,
        root: str | os.PathLike[str] | None = None,
        *,
        commit: str = "durable",
        options: Options | None = None,
    ) -> Ledger:
        """The ledger of ``root``: the argument, else RUNLEDGER_DIR, else the nearest ancestor of the working directory
        that has ``.run``, else the working directory.

        ``commit="durable"``: a commit is on the disk before the step returns. ``commit="riding"``: it becomes durable
        with the next record that syncs, or at close; after a power cut the last finished step may come back in doubt,
        never as lost or unstarted.

        Raises:
            UsageError: ``commit`` is neither, or ``root`` names no directory.
        """
        if commit not in ("durable", "riding"):
            raise UsageError(f"commit is 'durable' or 'riding', not {commit!r}")
        if options is not None and type(options) is not Options:
            raise UsageError(f"options are runledger.Options(...), not {type(options).__name__}")
        found = find_root(directory(root))
        return cls(LocalStore(found, commit=commit, options=options), found)

    def ledger_id(self) -> str:
        """The ledger's own id, from its first segment; "" before the first record."""
        return self._local.reader.view.ledger

    # --- steps --------------------------------------------------------------------------------------------------

    def step(
        self,
        name: str,
        *,
        key: str | Callable[..., str] | None = None,
        inputs: Any | EllipsisType = ...,
        idempotent: bool = False,
        probe: Callable[[Any], Any] | None = None,
        aborts_on: type[BaseException] | Iterable[type[BaseException]] = (),
        scope: str = "run",
    ) -> StepUse:
        """One unit of work: its intent is durable before the body runs, its outcome before the caller goes on.

        Args:
            name: what kind of step it is.
            key: the natural key that makes a second attempt a no-op. A decorator's key may be a template over the
                function's parameters, or a callable of its arguments. Without a key the step is recorded and its doubt
                is detected, but it is never skipped.
            inputs: what the work is made from, fingerprinted and not stored: the same key with other inputs is refused.
                A decorator takes the call's arguments unless told None, or only those that are named.
            idempotent: repeating is harmless: a doubtful attempt is run again, and the records ride on the next sync.
            probe: asked about a doubtful attempt; returns ``Happened(result)``, ``NOT_HAPPENED`` or None.
            aborts_on: exceptions that prove that nothing happened.
            scope: ``"run"``: the key lives for one run; ``"ledger"``: for ever.

        Raises:
            UsageError, KeyInvalid: at once, for arguments that cannot mean a step.
        """
        check_name(name)
        if isinstance(key, str) or (key is not None and not callable(key)):
            check_key(key)
        if scope not in ("run", "ledger"):
            raise UsageError(f"scope is 'run' or 'ledger', not {scope!r}")
        rules = self._plain[flag("idempotent", idempotent)]
        if probe is not None or aborts_on != ():
            classes = exception_classes(aborts_on)
            rules = Rules(idempotent=idempotent, probe=probe, aborts_on=classes, root=self.root)
        return StepUse(self, name, key, inputs, scope, rules)

    def skip_committed(self) -> SkipCommitted:
        """``with ledger.skip_committed(), ledger.step(...)``: the block is skipped when its step is committed."""
        return SkipCommitted(self.skips)

    def every(
        self, seconds: float | str | None = None, *, step: Step | None = None, at_most: float | None = None
    ) -> Pace:
        """The pace of a loop in an idempotent step's body (``step``, else the one of this call): saved as often as is
        cheapest, at first every ``seconds``, never leaving more than ``at_most`` unsaved. Raises UsageError."""
        from runledger.pacing import pace

        return pace(self.store, step, seconds, at_most)

    def lookup(self, name: str, key: str) -> KnownStep | None:
        """What is known of a step, without side effects; None where nothing is."""
        check_name(name)
        check_key(key)
        held = self.store.lookup(name, key)
        if held is None:
            return None
        if isinstance(held, Settled):
            return KnownStep(self.store, held.status, held, None)
        fate = self._local.fate(held)
        return KnownStep(
            self.store, "in_flight" if fate.alive else "in_doubt", held, report_of(held, fate).owner
        )

    def resolve(
        self,
        name: str | None,
        key: str | None,
        outcome: Happened | NotHappened,
        *,
        reason: str,
        lsn: int | None = None,
    ) -> int:
        """Settle a step in doubt by decision; durable on return. With ``lsn`` it must be the current attempt.

        Raises:
            ResolveRefused: it is settled, another attempt by now, or in flight.
            ResultNotStored: the result cannot be stored; nothing was recorded.
            UsageError: no reason, or no outcome.
        """
        if not isinstance(outcome, (Happened, NotHappened)):
            raise UsageError("resolve takes Happened(result) or NOT_HAPPENED")
        if lsn is None and (name is None or key is None):
            raise UsageError(
                "resolve needs a name and key, or an LSN: a step without a key is known by its LSN"
            )
        happened = isinstance(outcome, Happened)
        it_happened, _ = outcome_of(
            outcome.result if isinstance(outcome, Happened) else None, limit=self.store.result_bytes
        )
        if it_happened.unstored is not None:
            raise ResultNotStored(
                f"nothing was recorded: the result cannot be stored: {it_happened.unstored}",
                hint="The step is still in doubt. Resolve it with a result that can be stored, or with none.",
            )
        return self.store.resolve(
            Resolution(
                name=name,
                key=None if name is None else key,
                lsn=lsn,
                happened=happened,
                reason=reason,
                result=it_happened.result,
            )
        )

    # --- the run ------------------------------------------------------------------------------------------------

    def run(
        self, plan_id: str | None = None, branch: str | None = None, sprints: Iterable[str] = ()
    ) -> RunBlock:
        """Start the run ``plan_id`` or go on with it; an escaping exception halts it, a clean end finishes it."""
        start = Move(
            what="start", plan_id=plan_id, branch=branch, sprints=texts("sprints", sprints, SprintUnknown)
        )
        return RunBlock(self.store, start)

    def start(
        self, plan_id: str | None = None, branch: str | None = None, sprints: Iterable[str] = ()
    ) -> None:
        """Begin a run. Raises RunMoveRefused while one is RUNNING or HALTED, AdoptionRequired over a foreign one."""
        self.store.transition(
            Move(
                what="start", plan_id=plan_id, branch=branch, sprints=texts("sprints", sprints, SprintUnknown)
            )
        )

    def begin_sprint(self, sprint: str) -> None:
        """Make ``sprint`` the current one. Raises SprintUnknown, RunMoveRefused."""
        self.store.transition(Move(what="sprint", sprint=sprint, status="in_progress"))

    def complete_sprint(self, sprint: str) -> None:
        """Put on record that ``sprint`` is done. Raises SprintUnknown."""
        self.store.transition(Move(what="sprint", sprint=sprint, status="completed"))

    def halt(self, reason: str) -> None:
        """Stop the run until somebody resumes it explicitly."""
        self.store.transition(Move(what="halt", reason=reason))

    def resume(self, by: str | None = None) -> None:
        """Let a halted run go on. Raises RunMoveRefused unless it is HALTED."""
        self.store.transition(Move(what="resume", by=by))

    def finish(self, force: bool = False, reason: str | None = None) -> None:
        """End the run: JACKED_OUT. Raises FinishRefused while something is undone, unless forced with a reason."""
        self.store.transition(Move(what="finish", force=force, reason=reason))

    def abandon(self, reason: str) -> None:
        """Give the run up, unfinished as it is: JACKED_OUT, with the reason on record."""
        self.store.transition(Move(what="abandon", reason=reason))

    def adopt(self, force: bool = False) -> None:
        """Take over the run of a state file that somebody else wrote."""
        self.store.transition(Move(what="adopt", force=force))

    def heartbeat(self) -> None:
        """Say that the loop is turning: moves ``last_activity``; needs no sync."""
        self.store.transition(Move(what="heartbeat"))

    # --- looking ------------------------------------------------------------------------------------------------

    def status(self) -> Status:
        """Where the run stands."""
        return status_of(self.store.known(), self.root)

    def replay(self) -> ReplayReport:
        """What was started and never committed; and the drift of what this handle has entered so far."""
        return replay_report(self.store.known(), self.reached.against(self.store.committed()), self.root)

    def compact(self) -> dict[str, Any]:
        """Fold what is new into the history and drop the segments that are folded; says what it did. Safe at any time
        and in any number of processes.

        Raises:
            CompactionBusy: another process is compacting.
            LedgerCorrupt: records are damaged; they are kept until that is settled.
        """
        if self.store.known().view.lsn == 0:
            return {"folded": 0, "upto": 0, "segments": 0}  # nothing to fold, and nothing is made for it
        return self.store.compact()

    def close(self) -> None:
        """Make everything durable and leave; further calls raise ``LedgerClosed``."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.close)
