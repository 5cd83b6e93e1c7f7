"""A key that the history does not know: asked for once, and not believed for longer than it is true."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger
from runledger.local.history import History
from runledger.view import Identity, Settled


def folded(root: Path) -> None:
    """A ledger with a history."""
    with Ledger.open(root) as ledger:
        with ledger.step("pay", key="first"):
            pass
        ledger.compact()


def test_a_new_key_is_asked_for_once(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hint before the append lock and the decision under it rest on the same answer."""
    folded(root)
    asked: list[str] = []
    get = History.get

    def counted(history: History, identity: Identity) -> Settled | None:
        asked.append(identity.key)
        return get(history, identity)

    monkeypatch.setattr(History, "get", counted)
    with Ledger.open(root) as ledger:
        with ledger.step("warm", key="up"):
            pass
        asked.clear()
        with ledger.step("pay", key="second"):
            pass
        assert asked == ["second"]


def test_a_miss_ends_with_the_next_fold(root: Path) -> None:
    """Another handle did the step and folded it since: it is committed."""
    folded(root)
    with Ledger.open(root) as ledger, Ledger.open(root) as other:
        with ledger.step("warm", key="up"):
            pass
        assert ledger.lookup("pay", "second") is None
        with other.step("pay", key="second"):
            pass
        other.compact()
        found = ledger.lookup("pay", "second")
        assert found is not None
        assert found.status == "committed"
