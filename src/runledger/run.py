"""``with ledger.run(...)``: a run's life tied to a block."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from runledger.decisions.claims import refuse_unless_running
from runledger.doubt import shown
from runledger.errors import LedgerError, RunFinished, RunMoveRefused
from runledger.log import event
from runledger.outcome import reason_of
from runledger.run_state import HALTED, JACKED_OUT
from runledger.store import Move, Store

__all__ = ["RunBlock"]


class RunBlock:
    """Starts the run, or goes on with the one that is RUNNING. The block's clean end finishes it, unless it was halted
    meanwhile; an exception that escapes halts it, with the exception as the reason.

    A finished run is not begun again by running the same program again: that raises ``RunFinished``.
    """

    def __init__(
        self, store: Store, plan_id: str | None, branch: str | None, sprints: tuple[str, ...]
    ) -> None:
        self._store = store
        self._plan_id = plan_id
        self._branch = branch
        self._sprints = sprints

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
        known = self._store.known()
        if known.problem is not None and not isinstance(known.problem, RunFinished):
            raise known.problem
        run = known.view.run
        other = run is not None and self._plan_id is not None and run.plan_id != self._plan_id
        if run is None or (run.state == JACKED_OUT and other):
            start = Move(what="start", plan_id=self._plan_id, branch=self._branch, sprints=self._sprints)
            self._store.transition(start)
        elif run.state == JACKED_OUT:
            raise RunFinished(f"the run {shown(run.plan_id, None)} is JACKED_OUT: it is done")
        elif other:
            raise RunMoveRefused(
                f"another run is {run.state}: {shown(run.plan_id, None)}",
                hint="Go on with that one, or: runledger abandon --reason TEXT",
            )
        else:
            refuse_unless_running(run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            run = self._store.known().view.run
            if run is None or run.state != HALTED:
                self._store.transition(Move(what="finish"))
            return
        try:
            self.halt(reason_of(error)[:2000])
        except LedgerError as failed:
            error.add_note(f"runledger: the run could not be halted: {failed}")
            event("error", "run.not_halted", reason=failed.message)

    async def __aenter__(self) -> Self:
        import asyncio

        return await asyncio.to_thread(self.__enter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import asyncio

        await asyncio.to_thread(self.__exit__, kind, error, trace)
