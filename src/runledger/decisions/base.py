"""What a decision is made on, and what comes of it."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from msgspec import Raw

from runledger import record as r
from runledger.errors import LedgerError
from runledger.store import Fate, Payload
from runledger.view import Identity, OpenStep, Settled, View

__all__ = ["Decision", "Kept", "StateFile", "Transaction"]


class Kept(NamedTuple):
    """Where an encoded value is kept: inline, or in a file by its digest."""

    raw: Raw = r.NOTHING
    file: str | None = None
    size: int | None = None
    typed: bool = False


Decision = tuple[Any, int]
"""An answer, and the highest LSN that must be durable before it is given; 0 for none."""


class StateFile(Protocol):
    """The state file as somebody else may have left it."""

    text: str | None
    """Its text where it can be read and no journal speaks for it yet."""

    problem: LedgerError | None
    """Why it forbids to go on."""

    def fingerprint(self) -> str | None: ...


class Transaction(Protocol):
    """One place in the order of records."""

    owner: str
    active: dict[int, dict[str, Any]]
    """By LSN, the ``memo`` of the claim whose attempt is at work: the number alone may be another claim's by now."""

    @property
    def view(self) -> View: ...
    @property
    def state_file(self) -> StateFile: ...

    def write(self, record: r.Record) -> int: ...
    def settled(self, identity: Identity) -> Settled | None: ...
    def fate(self, step: OpenStep) -> Fate: ...
    def kept(self, payload: Payload | None) -> Kept: ...
    def detected_branch(self) -> str: ...
    def fresh_document(self, plan_id: str, branch: str, sprints: tuple[str, ...]) -> str | None: ...
