"""What the crash model has found in the engine, each as short as it can be told, on real files."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import NOT_HAPPENED, Ledger, ResolveRefused


def test_a_first_segment_that_came_meanwhile(root: Path) -> None:
    """A handle that looked before there was any segment sees the one that somebody else began."""
    with Ledger.open(root) as early, Ledger.open(root) as other:
        with pytest.raises(ResolveRefused):
            early.resolve("pay", "k", NOT_HAPPENED, reason="looked")
        with other.step("pay", key="k") as step:
            step.result = 1
        known = early.lookup("pay", "k")
        assert known is not None
        assert known.result == 1
        with early.step("pay", key="k2"):
            pass
