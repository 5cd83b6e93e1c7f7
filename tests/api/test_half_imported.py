"""Another thread is in the middle of importing asyncio: a step does not mind."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from runledger import Ledger


def test_a_step_while_asyncio_is_half_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The module is there, and has no names yet; no task can be running."""
    with Ledger.open(root) as ledger:
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, "asyncio", ModuleType("asyncio"))
            with ledger.step("work", key="k") as step:
                step.result = 1
        known = ledger.lookup("work", "k")
        assert known is not None
        assert known.result == 1
