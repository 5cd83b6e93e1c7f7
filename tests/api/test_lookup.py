"""``ledger.lookup``: what is known of a step, without side effects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runledger import KeyInvalid, KnownStep, Ledger
from tests.api.doubts import held, killed, left_in_doubt
from tests.support.tree import records


def look(ledger: Ledger, key: str = "k1") -> KnownStep:
    """What is known."""
    known = ledger.lookup("work", key)
    assert known is not None
    return known


def test_nothing_is_known(root: Path, ledger: Ledger) -> None:
    """None, and nothing is made; other names and keys tell nothing either."""
    assert ledger.lookup("work", "k1") is None
    assert list(root.iterdir()) == []
    with ledger.step("work", key="k1"):
        pass
    assert ledger.lookup("work", "k2") is None
    assert ledger.lookup("other", "k1") is None


def test_committed(root: Path, ledger: Ledger) -> None:
    """With its result, the number of its commit, its attempt, who did it and its marks; folded or not."""
    with ledger.step("work", key="k1") as step:
        step.mark("here", n=1)
        step.result = (1, "a")
    commit = records(root)[-1]
    for _ in range(2):
        known = look(ledger)
        assert (known.status, known.result, known.lsn, known.attempt) == (
            "committed",
            (1, "a"),
            commit["lsn"],
            1,
        )
        assert [(mark.label, mark.data) for mark in known.marks] == [("here", {"n": 1})]
        assert known.owner == commit["owner"]
        assert known.failure is None
        ledger.compact()


def test_aborted(ledger: Ledger) -> None:
    """Without a result."""
    with pytest.raises(OSError), ledger.step("work", key="k1", aborts_on=OSError):  # noqa: PT011
        raise OSError
    assert (look(ledger).status, look(ledger).result) == ("aborted", None)


def test_in_flight(root: Path, ledger: Ledger) -> None:
    """With its live owner and the marks so far; the number is the intent's."""
    with held(root) as child:
        known = look(ledger)
        owner: Any = known.owner
        assert (known.status, known.result, owner.pid, owner.alive) == ("in_flight", None, child.pid, True)
        assert [mark.label for mark in known.marks] == ["came so far"]
        assert known.lsn == next(one["lsn"] for one in records(root) if one["t"] == "intent")


def test_in_doubt(root: Path, ledger: Ledger) -> None:
    """With its dead owner, or with the exception that ended it."""
    pid = killed(root)
    owner: Any = look(ledger).owner
    assert (look(ledger).status, owner.pid, owner.alive) == ("in_doubt", pid, False)
    left_in_doubt(ledger, "work", "k2")
    failure = look(ledger, "k2").failure
    assert failure is not None
    assert (failure.type, failure.message) == ("ConnectionError", "lost")


def test_it_has_no_side_effects(root: Path, ledger: Ledger) -> None:
    """A doubt that is looked up stays one, and no record is added."""
    killed(root)
    before = records(root)
    for _ in range(3):
        look(ledger)
    assert records(root) == before


def test_a_key_of_the_ledger_s_scope(ledger: Ledger) -> None:
    """Found in whatever run; the run's own comes first."""
    with ledger.step("work", key="k1", scope="ledger") as step:
        step.result = "for ever"
    assert look(ledger).result == "for ever"
    ledger.abandon("next")
    ledger.start()
    assert look(ledger).result == "for ever"
    with ledger.step("work", key="k2"):
        pass
    ledger.abandon("next")
    ledger.start()
    assert ledger.lookup("work", "k2") is None


@pytest.mark.parametrize(
    ("name", "key"), [("", "k"), ("n", ""), ("n", None), (7, "k"), ("n", 7), ("n", "\ud800")]
)
def test_what_is_no_step(ledger: Ledger, name: Any, key: Any) -> None:
    """Refused as ``step`` refuses it."""
    with pytest.raises(KeyInvalid):
        ledger.lookup(name, key)
