"""The state file has other writers: what they do between a look and a replacement is not lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runledger import Ledger, RunHalted
from runledger.local.ordered import AppendLock, Ordered
from runledger.local.snapshot import Snapshot
from tests.support.tree import leftovers, state, state_file


def test_an_edit_between_the_look_and_the_replacement(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The version that was prepared is thrown away, the edit is obeyed and its fields stay."""
    prepare = Snapshot.prepare
    edits = [{"state": "HALTED", "note": "by hand"}]

    def prepared(self: Snapshot, *view: Any) -> Any:
        made = prepare(self, *view)
        if edits:
            document = {**state(root), **edits.pop()}
            state_file(root).write_text(json.dumps(document) + "\n", "utf-8")
        return made

    with Ledger.open(root) as ledger:
        ledger.start("plan", sprints=["one"])
        monkeypatch.setattr(Snapshot, "prepare", prepared)
        ledger.begin_sprint("one")
        assert edits == []
        assert (state(root)["state"], state(root)["note"]) == ("HALTED", "by hand")
        with pytest.raises(RunHalted), ledger.step("pay", key="k"):
            pass
    assert leftovers(root) == []


def test_a_version_that_another_handle_overtook(root: Path) -> None:
    """Between its making and its place another thread of the handle may have looked at a later one, which stays."""
    with Ledger.open(root) as ledger, Ledger.open(root) as other:
        ledger.start("plan", sprints=["one"])
        store = ledger._local
        snapshot, journal = store.reader.snapshot, store.reader.journal
        assert snapshot is not None
        assert journal is not None
        ledger.heartbeat()
        prepared, lsn = snapshot.prepare(store.reader.view, []), journal.lsn
        assert prepared is not None
        other.halt("enough")
        with store.sequencer.io, Ordered(store.sequencer):
            pass
        with store.sequencer.io, AppendLock(store.sequencer):
            assert not snapshot.replace(prepared, lsn)
        assert '"HALTED"' in (root / ".run" / "sprint-plan-state.json").read_text("utf-8")
