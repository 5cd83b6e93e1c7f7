"""What a run has been so far, from its journal and its folded history: attempts, owners, events."""

from __future__ import annotations

from runledger.past.gather import look
from runledger.past.model import Attempt, Event, Past

__all__ = ["Attempt", "Event", "Past", "look"]
