"""The drift report: what the code no longer reaches, and whose function changed."""

from __future__ import annotations

from pathlib import Path

from runledger import Ledger, replay
from tests.support.children import ran

OLD = """
with Ledger.open() as ledger:
    for key in ("a", "b", "c"):
        @ledger.step("work", key=key)
        def work():
            return 1
        work()
    with ledger.step("block", key="k"):
        pass
    with ledger.step("keyless"):
        pass
"""

NEW = """
with Ledger.open() as ledger:
    say(sorted(ledger.replay().drift.not_reached))
    @ledger.step("work", key="a")
    def work():
        return arguments
    work()
    with ledger.skip_committed(), ledger.step("block", key="k"):
        pass
    drift = ledger.replay().drift
    say(sorted(drift.not_reached))
    say(drift.changed)
    ledger.compact()
    say(sorted(ledger.replay().drift.not_reached) == sorted(drift.not_reached))
"""


def test_what_is_not_reached_and_what_changed(root: Path) -> None:
    """All committed steps at first, then those that this process did not enter; and the function that differs."""
    ran(OLD, root)
    assert ran(NEW, root).lines == [
        "[('block', 'k'), ('work', 'a'), ('work', 'b'), ('work', 'c')]",
        "[('work', 'b'), ('work', 'c')]",
        "[('work', 'a')]",
        "True",
    ]


def test_the_same_code_has_no_drift(root: Path) -> None:
    """Run again by another process, nothing is told."""
    again = OLD.replace(
        'with ledger.step("block", key="k")', 'with ledger.skip_committed(), ledger.step("block", key="k")'
    )
    ran(again, root)
    told = ran(again + "    say(ledger.replay().drift)\n", root).lines
    assert told == ["Drift(not_reached=[], changed=[])"]


def test_it_decides_nothing(ledger: Ledger) -> None:
    """A function that changed serves what is on record."""
    assert ledger.step("work", key="k1")(lambda: 1)() == 1
    assert ledger.step("work", key="k1")(lambda: 2 + len("x"))() == 1
    drift = ledger.replay().drift
    assert drift is not None
    assert drift.changed == [("work", "k1")]


def test_a_reader_without_code_tells_none(root: Path, ledger: Ledger) -> None:
    """``runledger.replay`` runs no program, so there is nothing to compare."""
    with ledger.step("work", key="k1"):
        pass
    assert replay(root).drift is None


def test_a_step_of_another_run_is_not_missed(ledger: Ledger) -> None:
    """Only the steps of this run count."""
    with ledger.step("work", key="k1"):
        pass
    ledger.finish()
    ledger.start()
    drift = ledger.replay().drift
    assert drift is not None
    assert drift.not_reached == []
