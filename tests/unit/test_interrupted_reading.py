"""A handler's exception in the middle of reading on: what was read by then is not lost to the handle."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger, StepCommitted
from runledger.local.directory import File
from runledger.local.journal_reading import JournalReader


@pytest.mark.parametrize("turn", [1, 2])
def test_what_was_read_is_read_again(root: Path, monkeypatch: pytest.MonkeyPatch, turn: int) -> None:
    """Another handle's commit, read just before the exception: the step is committed and not run again."""
    with Ledger.open(root) as ledger, Ledger.open(root) as other:
        with ledger.step("work", key="first"):
            pass
        with other.step("work", key="second"):
            pass
        ahead, turns = JournalReader._ahead, 0

        def interrupted(self: JournalReader, file: File) -> bytes:
            nonlocal turns
            turns += 1
            if turns == turn:
                raise TimeoutError("the deadline passed")
            return ahead(self, file)

        with monkeypatch.context() as patch:
            patch.setattr(JournalReader, "_ahead", interrupted)
            with pytest.raises(TimeoutError), ledger.step("work", key="third"):
                raise AssertionError("the body ran")
        with pytest.raises(StepCommitted), ledger.step("work", key="second"):
            raise AssertionError("the body ran")
