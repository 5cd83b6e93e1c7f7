"""``runledger bench``: what a step costs on the user's own disk, and whether its syncs are real."""

from __future__ import annotations

__all__: list[str] = []
