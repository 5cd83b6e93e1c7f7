"""What ``ledger.lookup`` tells of a step."""

from __future__ import annotations

from typing import Any

from runledger import record
from runledger.doubt import OwnerReport, mark_report
from runledger.outcome import result_of
from runledger.store import Store
from runledger.view import OpenStep, Settled

__all__ = ["KnownStep"]


class KnownStep:
    """What is known of a step.

    Attributes:
        status: ``committed``, ``aborted``, ``in_flight`` or ``in_doubt``.
        lsn: of the outcome's record, or of the intent while there is none.
        attempt: how often it was started.
        owner, marks, failure: who, which breadcrumbs, and how an open one's body ended.
    """

    def __init__(
        self, store: Store, status: str, held: Settled | OpenStep, owner: OwnerReport | None
    ) -> None:
        self._store = store
        self._held = held
        self.status = status
        self.name = held.name
        self.key = held.key
        self.lsn = held.lsn
        self.attempt = held.attempt
        self.owner = owner if owner is not None else held.owner
        self.marks = [mark_report(mark) for mark in held.marks]
        self.failure: record.Failure | None = held.failure if isinstance(held, OpenStep) else None

    @property
    def result(self) -> Any:
        """The recorded result, None where there is none.

        Raises:
            ResultNotStored: it was not stored, or needs a class that is not loaded here.
        """
        return result_of(self._store, self._held) if isinstance(self._held, Settled) else None

    def __repr__(self) -> str:
        return f"<{self.name} {self.key}: {self.status}, LSN {self.lsn}, attempt {self.attempt}>"
