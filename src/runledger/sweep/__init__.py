"""``runledger bench granularity``: the trade-off measured, with real processes, real records and real kills."""

from __future__ import annotations

__all__: list[str] = []
