"""What a compaction has folded leaves a handle's memory a few steps at a time, and no answer changes meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger, Options, StepAborted, StepCommitted
from runledger.local import reader

STEPS = 30
PORTION = 4


@pytest.fixture(autouse=True)
def _small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "PORTION", PORTION)


def commit(ledger: Ledger, key: str) -> None:
    """One step."""
    with ledger.step("work", key=key) as step:
        step.result = key


def held(ledger: Ledger) -> set[str | None]:
    """The keys of the settled steps in memory."""
    return {identity.key for identity in ledger._local.reader.view.settled}


def check_answers(ledger: Ledger, keys: list[str]) -> None:
    """Each is committed, with its result."""
    for key in keys:
        with pytest.raises(StepCommitted) as told, ledger.step("work", key=key):
            raise AssertionError("the body ran")
        assert vars(told.value)["result"] == key


def test_a_handle_beside_a_compaction(root: Path) -> None:
    """It drops a portion at each look, new steps stay, and it says the same of all of them all the time."""
    options = Options(compact_after=0, segment_bytes=4096)
    with Ledger.open(root, options=options) as ledger, Ledger.open(root, options=options) as other:
        keys = [f"k{n}" for n in range(STEPS)]
        for key in keys:
            commit(ledger, key)
        assert other.compact()["folded"] == STEPS
        ledger._local.reader.refresh()
        sizes = [len(held(ledger))]
        for n in range(STEPS):
            keys.append(f"new{n}")
            commit(ledger, keys[-1])
            assert keys[-1] in held(ledger)
            if n < 3:
                check_answers(ledger, keys[:: 7 - n])
            sizes.append(len(held(ledger)))
        assert sizes[0] == STEPS - PORTION
        assert held(ledger) == {f"new{n}" for n in range(STEPS)}
        assert ledger._local.reader.unfolded() == STEPS
        check_answers(ledger, keys)
        assert other.compact()["folded"] == STEPS
    with Ledger.open(root, options=options) as ledger:
        check_answers(ledger, keys)


def test_the_compacting_handle_holds_none_afterwards(root: Path) -> None:
    """It goes on until all that it folded is dropped."""
    with Ledger.open(root, options=Options(compact_after=0)) as ledger:
        for n in range(STEPS):
            commit(ledger, str(n))
        assert ledger.compact()["folded"] == STEPS
        assert held(ledger) == set()
        check_answers(ledger, [str(n) for n in range(STEPS)])


def test_what_came_of_a_step_since_is_kept(root: Path) -> None:
    """Aborted and folded, then committed while the folded ones are still being dropped: the commit is not in the
    history."""
    options = Options(compact_after=0)
    with Ledger.open(root, options=options) as ledger, Ledger.open(root, options=options) as other:
        with pytest.raises(StepAborted), ledger.step("work", key="again") as step:
            raise step.abort("not now")
        for n in range(STEPS):
            commit(ledger, str(n))
        other.compact()
        commit(ledger, "again")
        for n in range(STEPS):
            check_answers(ledger, [str(n), "again"])
        assert held(ledger) == {"again"}
