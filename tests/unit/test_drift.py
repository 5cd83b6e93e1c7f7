"""What a handle remembers of the steps that it entered."""

from __future__ import annotations

import pytest

from runledger import drift
from runledger.drift import Reached
from runledger.view import Settled


def committed(key: str, code: str | None = None) -> Settled:
    """A committed step ``pay`` of the run."""
    return Settled(
        lsn=2,
        of=1,
        name="pay",
        key=key,
        scope="run",
        run="r-1",
        attempt=1,
        status="committed",
        at="",
        owner="o-1",
        code=code,
    )


def test_steps_that_were_not_reached() -> None:
    """Only those that this handle has not entered."""
    reached = Reached()
    reached.enter("run", "pay", "a", None)
    assert reached.against([committed("a"), committed("b")]).not_reached == [("pay", "b")]


def test_a_function_that_changed() -> None:
    """A step that was entered with another fingerprint than it was committed with."""
    reached = Reached()
    reached.enter("run", "pay", "a", "new")
    assert reached.against([committed("a", "old"), committed("b", "old")]).changed == [("pay", "a")]


def test_more_steps_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is said of what may only have been forgotten."""
    monkeypatch.setattr(drift, "REMEMBERED", 2)
    reached = Reached()
    for key in "abcdef":
        reached.enter("run", "pay", key, None)
    assert reached.against([committed("f"), committed("z")]).not_reached == []
