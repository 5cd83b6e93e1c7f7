"""``with ledger.run(...)``: a run's life tied to a block."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import Self

from runledger.decisions.claims import refuse_unless_running
from runledger.doubt import shown
from runledger.errors import LedgerError, RunFinished, RunMoveRefused
from runledger.log import event
from runledger.outcome import halt_reason, note_on
from runledger.run_state import HALTED, JACKED_OUT
from runledger.store import Move, Store
from runledger.view import Run

__all__ = ["RunBlock"]


class RunBlock:
    """Starts the run, or goes on with the one that is RUNNING. The block's clean end finishes it, unless it was halted,
    finished or abandoned meanwhile; an exception that escapes halts it, with the exception as the reason.

    A finished run is not begun again by running the same program again: that raises ``RunFinished``.
    """

    def __init__(self, store: Store, start: Move) -> None:
        self._store = store
        self._start = start
        self._id = ""

    def begin_sprint(self, sprint: str) -> None:
        """Make ``sprint`` the current one. Raises SprintUnknown, RunMoveRefused."""
        self._store.transition(Move(what="sprint", sprint=sprint, status="in_progress"))

    def complete_sprint(self, sprint: str) -> None:
        """Put on record that ``sprint`` is done. Raises SprintUnknown."""
        self._store.transition(Move(what="sprint", sprint=sprint, status="completed"))

    def halt(self, reason: str) -> None:
        """Stop the run until somebody resumes it explicitly."""
        self._store.transition(Move(what="halt", reason=reason))

    def heartbeat(self) -> None:
        """Say that the loop is turning."""
        self._store.transition(Move(what="heartbeat"))

    def __enter__(self) -> Self:
        with suppress(
            RunMoveRefused
        ):  # where somebody else began it after the look: then it is there to go on with
            self._join()
            return self
        self._join()
        return self

    def _join(self) -> None:
        known = self._store.known()
        if known.problem is not None and not isinstance(known.problem, RunFinished):
            raise known.problem
        run, plan_id = known.view.run, self._start.plan_id
        other = run is not None and plan_id is not None and run.plan_id != plan_id
        if run is None or (run.state == JACKED_OUT and other):
            self._store.transition(self._start)
            run = self._store.known().view.run
            assert run is not None
        elif run.state == JACKED_OUT:
            raise RunFinished(f"the run {shown(run.plan_id, None)} is JACKED_OUT: it is done")
        elif other:
            raise RunMoveRefused(
                f"another run is {run.state}: {shown(run.plan_id, None)}",
                hint="Go on with that one, or: runledger abandon --reason TEXT",
            )
        else:
            refuse_unless_running(run)
            self._compare_sprints(run)
        self._id = run.id

    def _compare_sprints(self, run: Run) -> None:
        """A sprint of ours that the plan lacks would be left undone, and the run could finish all the same."""
        listed = [sprint.id for sprint in run.sprints]
        missing = [sprint for sprint in self._start.sprints if sprint not in listed]
        if missing and listed:
            raise RunMoveRefused(
                f"the run {shown(run.plan_id, None)} goes on, and its plan has no sprint {', '.join(missing[:10])}",
                hint=f"It lists: {', '.join(listed[:10])}. To go on with it, leave sprints= out; "
                "or: runledger abandon --reason TEXT",
            )
        if missing:
            event("warning", "run.sprints_not_listed", sprints=missing)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            run = self._store.known().view.run
            if run is None or (run.id == self._id and run.state not in {HALTED, JACKED_OUT}):
                self._store.transition(Move(what="finish"))
            return
        try:
            self.halt(halt_reason(error))
        except LedgerError as failed:
            note_on(error, f"runledger: the run could not be halted: {failed}")
            event("error", "run.not_halted", reason=failed.message)

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.__exit__, kind, error, trace)
