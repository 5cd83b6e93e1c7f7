"""``with ledger.run(...)``: a run's life tied to a block."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from runledger.doubt import shown
from runledger.errors import LedgerError, RunFinished, RunMoveRefused
from runledger.log import event
from runledger.run_state import HALTED, JACKED_OUT

if TYPE_CHECKING:
    from runledger.ledger import Ledger

__all__ = ["RunBlock"]


class RunBlock:
    """Starts the run, or goes on with the one that is RUNNING. The block's clean end finishes it; an exception that
    escapes halts it, with the exception as the reason.

    A finished run is not begun again by running the same program again: that raises ``RunFinished``.
    """

    def __init__(
        self, ledger: Ledger, plan_id: str | None, branch: str | None, sprints: tuple[str, ...]
    ) -> None:
        self._ledger = ledger
        self._plan_id = plan_id
        self._branch = branch
        self._sprints = sprints

    def __enter__(self) -> Self:
        known = self._ledger.store.known()
        if known.problem is not None and not isinstance(known.problem, RunFinished):
            raise known.problem
        run = known.view.run
        other = run is not None and self._plan_id is not None and run.plan_id != self._plan_id
        if run is None or (run.state == JACKED_OUT and other):
            self._ledger.start(self._plan_id, self._branch, self._sprints)
        elif run.state == JACKED_OUT:
            raise RunFinished(f"the run {shown(run.plan_id, None)} is JACKED_OUT: it is done")
        elif other:
            raise RunMoveRefused(
                f"another run is {run.state}: {shown(run.plan_id, None)}",
                hint="Go on with that one, or: runledger abandon --reason TEXT",
            )
        else:
            from runledger.decisions.claims import refuse_unless_running

            refuse_unless_running(run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            if self._ledger.store.known().view.run.state != HALTED:  # type: ignore[union-attr]  # entered with one
                self._ledger.finish()
            return
        try:
            self._ledger.halt(f"{type(error).__name__}: {error}"[:2000])
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

    def __getattr__(self, name: str) -> Any:
        """The run's moves are the ledger's: ``run.begin_sprint(...)``."""
        if name in ("begin_sprint", "complete_sprint", "halt", "heartbeat", "step", "skip_committed"):
            return getattr(self._ledger, name)
        raise AttributeError(name)
