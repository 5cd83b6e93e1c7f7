"""What a store answers, given what is known: the two tables of the step protocol and the moves of a run.

A decision reads a consistent view, refuses by raising, or writes records and answers. It does no input or output of its
own and is made at one place in the order of the records, so that of two contenders exactly one is told to run. A
decision may be made again after it was interrupted: what a claim wrote before is then found by its ``memo``.
"""

from __future__ import annotations

from typing import Any

from runledger.decisions.base import Decision, Kept, StateFile, Transaction
from runledger.decisions.claims import claim
from runledger.decisions.moves import move
from runledger.decisions.settling import note, resolve, settle
from runledger.store import Claim, Move, Note, Resolution, Settle

__all__ = ["Decision", "Kept", "StateFile", "Transaction", "decide"]

_DECIDERS: dict[type, Any] = {Claim: claim, Settle: settle, Note: note, Move: move, Resolution: resolve}


def decide(tx: Transaction, request: Any) -> Decision:
    """The answer to ``request``; its module says what it raises."""
    decision: Decision = _DECIDERS[type(request)](tx, request)
    return decision
