"""What the crash model has found in the engine, each as short as it can be told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest

from runledger import NOT_HAPPENED, Ledger, ResolveRefused
from runledger.local.group_commit import Ticket
from runledger.local.store import LocalStore
from runledger.store import Claim, Claimed
from tests.crash.computer import Fuse
from tests.crash.installed import installed
from tests.crash.sweep import on_a_computer
from tests.crash.trial import Trial


@pytest.fixture
def trial(tmp_path: Path) -> Iterator[Trial]:
    """A ledger on a computer that can fail; the power goes at the end, and nothing acknowledged may be lost."""
    trial = Trial(tmp_path)
    with installed(trial.computer):
        yield trial
        trial.left = "nothing"
        trial.lose_power()


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


def test_a_segment_whose_maker_died_before_it_synced_the_name(trial: Trial) -> None:
    """Who goes on in a segment that another process began syncs its name before anything in it is acknowledged."""
    trial.open("a", segment_bytes=900)
    trial.open("b", segment_bytes=900)
    trial.step("b", "k")
    trial.kill_at("a", "rename", "jsonl")
    for number in range(9):
        if "a" in trial.handles:
            trial.step("a", f"{number}")
    assert "a" not in trial.handles
    trial.step("b", "k2")


def test_a_segment_whose_name_could_not_be_synced(trial: Trial) -> None:
    """A refused sync of the directory is made up for before anything in the new segment is acknowledged."""
    trial.open("a", segment_bytes=900)
    trial.step("a", "k")
    trial.fault("sync names", path="ledger")
    for number in range(9):
        if trial.computer.faults:
            trial.step("a", f"{number}")
    assert not trial.computer.faults
    trial.step("a", "k2")


def test_a_seal_that_its_writer_did_not_live_to_sync(trial: Trial) -> None:
    """Who finds a segment sealed and no successor makes the sealed one durable before it begins the next."""
    trial.open("a", segment_bytes=900)
    trial.open("b", segment_bytes=900)
    trial.kill_at("a", "truncate", "jsonl")
    for number in range(9):
        if "a" in trial.handles:
            trial.step("a", f"{number}", idempotent=True)
    assert "a" not in trial.handles
    trial.step("b", "k")
    trial.check()


def test_a_torn_tail_that_begins_with_filler(trial: Trial) -> None:
    """Of an unsynced record the first sector is lost and the last one is there: it is cut before anything is
    appended."""
    trial.open("a")
    trial.step("a", "k")
    trial.computer.fuse = Fuse(1, kind="write")
    trial.left = "last sector only"
    trial.step("a", "long" * 200)
    assert trial.cuts == 1
    trial.open("b")
    for number in range(5):
        trial.step("b", f"{number}")
        trial.check()


def test_a_first_compaction_that_was_cut_before_its_checkpoint(trial: Trial) -> None:
    """What is folded and not yet dropped is nothing that `verify` would complain of."""
    trial.open("a")
    trial.step("a", "k")
    trial.fault("sync", path="checkpoint.")
    trial.compact("a")
    trial.check()


def test_a_claim_that_was_refused_though_its_intent_was_written(trial: Trial) -> None:
    """Nobody is at work on it: the next call in the same process finds a doubt, not somebody at work."""
    trial.open("a")
    trial.step("a", "k")
    trial.fault("write", done=10_000)
    trial.step("a", "k2")
    trial.step("a", "k2", probe="not happened")


def test_two_claims_whose_first_writing_was_refused() -> None:
    """Each is tried alone then, and no claim is answered with the intent of another that has its number by now."""
    with on_a_computer() as trial:
        trial.open("a")
        trial.step("a", "k")
        handle = trial.handles["a"]
        store = cast("LocalStore", handle.ledger.store)
        trial.fault("write", done=60)
        tickets = [Ticket(Claim(name="pay", key=key), durable=True) for key in ("k2", "k3")]
        with trial.computer.running(handle.process):
            store.sequencer.lead(tickets)  # a batch, without threads
            for ticket in tickets:
                assert isinstance(ticket.answer, Claimed)
                held = store.lookup("pay", ticket.request.key)
                assert held is not None
                assert held.lsn == ticket.answer.lsn


@pytest.mark.parametrize("left", ["nothing", "everything", "last sector only"])
def test_records_that_the_cache_lost_after_they_were_read(trial: Trial, left: str) -> None:
    """A sync fails and the cache drops its pages: who read the records meanwhile reads all again before it goes on."""
    trial.open("a")
    trial.open("b")
    trial.fault("sync", path="jsonl", skip=1)
    trial.before_sync(lambda: trial.step("b", "k"))
    trial.step("a", "k")
    trial.left = left
    trial.evict()
    trial.open("c")
    trial.step("c", "k2")
    trial.compact("c")
    trial.compact("b")
    trial.step("b", "k3")


def test_a_commit_that_another_process_has_not_synced_yet(trial: Trial) -> None:
    """Who is told that a step is committed can rely on it, even if its writer never gets to its sync."""
    trial.open("a")
    trial.open("b")

    def meanwhile() -> None:
        trial.step("b", "k")
        trial.computer.fuse = Fuse(1, done=False)

    trial.step("a", "k", inside=lambda: trial.before_sync(meanwhile))
    assert trial.cuts == 1


def test_a_record_says_nothing_of_a_sync_that_is_under_way() -> None:
    """Of two records under two syncs of one handle a power cut may keep the later one alone: that is no damage."""
    for left in range(40):
        with on_a_computer() as trial:

            def meanwhile(trial: Trial = trial, left: int = left) -> None:
                trial.left = left
                trial.computer.fuse = Fuse(1, kind="sync", done=False)
                trial.step("a", "k2")

            trial.open("a")
            trial.step("a", "k")
            trial.step("a", "long" * 100, idempotent=True)
            trial.before_sync(meanwhile)
            trial.pass_time(1.0)
            assert trial.cuts == 1


def test_a_state_file_that_is_due_while_records_ride(trial: Trial) -> None:
    """It tells of nothing that a power cut could still take away."""
    trial.open("a")
    trial.step("a", "k")
    trial.pass_time(1.5)
    trial.step("a", "k2", idempotent=True)


def test_a_riding_commit_that_answers_a_repeat(trial: Trial) -> None:
    """Whoever is told that the step is committed can rely on it: the commit is synced first."""
    trial.open("a", riding=True)
    trial.step("a", "k0")
    trial.pass_time(0.1)  # a state file that is so young is looked at again, under the lock
    trial.step("a", "k")
    trial.step("a", "k")


def test_a_refused_seal_and_a_cache_that_lost_a_part() -> None:
    """What was read is written again only if it still is what was read: a hole in the cache is not made durable."""
    for left in range(30):
        with on_a_computer() as trial:
            trial.open("a", segment_bytes=3000)
            trial.step("a", "k")
            for number in range(6):
                trial.step("a", f"{number}", idempotent=True)
            trial.fault("sync", path="jsonl")
            trial.step("a", "rolls", idempotent=True)
            trial.look("a", "k")
            trial.left = left
            trial.evict()
            trial.close("a")
            trial.check()
