"""A long fold is several short transactions, and what a crash between two of them leaves."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest

from runledger.local import history_fold
from runledger.local.history import History
from runledger.local.history_rows import facts_in, identity_of
from runledger.view import Settled

# The children of these forks only use what was there before any thread.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

SLICE = 10
STEPS = 35
UPTO = 100

MOMENTS = [(word, count) for word in ("COMMIT", "PRAGMA wal_checkpoint") for count in range(1, 5)]


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_fold, "SLICE", SLICE)


def outcome(number: int, lsn: int) -> Settled:
    """The outcome of step ``number``, recorded as ``lsn``."""
    return Settled(
        lsn=lsn,
        of=lsn,
        name="n",
        key=str(number),
        scope="run",
        run="r-1",
        attempt=1,
        status="committed",
        at="",
        owner="o-1",
    )


BATCH = [outcome(n, n + 1) for n in range(STEPS)]


def history_at(path: Path) -> History:
    """The history there, made if there is none."""
    if not path.exists():
        return History.create(str(path), "00ff")
    history = History.open(str(path), "00ff", read_only=False)
    assert history is not None
    return history


def told(history: History) -> dict[str, Any]:
    """All that it says of itself, save how often it was written."""
    assert history.verify() == []
    return {**history.meta()._asdict(), "entries": {step.lsn for step in history.entries()}}


def folded_until(path: Path, word: str, count: int) -> None:
    """Fold the batch in a child that dies before the statement that begins with ``word`` for the ``count``-th time."""
    history_at(path).close()
    pid = os.fork()
    if pid == 0:
        history = history_at(path)
        seen = 0

        def die(statement: str) -> None:
            nonlocal seen
            seen += statement.startswith(word)
            if seen == count:
                os._exit(9)

        history.fold([], 0, b"")  # the log of others is moved first
        history._open_connection().set_trace_callback(die)
        history.fold(BATCH, UPTO, b"checkpoint")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 9


def test_many_are_folded_by_several_transactions(tmp_path: Path) -> None:
    """Each as long as a slice at most; the last one says that all is folded, and brings the checkpoint."""
    history = history_at(tmp_path / "history.db")
    statements: list[str] = []
    history._open_connection().set_trace_callback(statements.append)
    history.fold(BATCH, UPTO, b"checkpoint")
    history._open_connection().set_trace_callback(None)
    assert statements.count("COMMIT") == -(-STEPS // SLICE)
    assert facts_in(history.path, history._cursor).folds == -(-STEPS // SLICE)
    assert told(history) == {
        "ledger": "00ff",
        "lsn": UPTO,
        "steps": STEPS,
        "digest": history.meta().digest,
        "checkpoint": b"checkpoint",
        "entries": set(range(1, STEPS + 1)),
    }
    history.close()


@pytest.mark.parametrize(("word", "count"), MOMENTS)
def test_a_kill_between_two_slices(tmp_path: Path, word: str, count: int) -> None:
    """It is whole, claims no more than it has, and folding again makes it what it would have been."""
    unbroken = history_at(tmp_path / "unbroken.db")
    unbroken.fold(BATCH, UPTO, b"checkpoint")
    path = tmp_path / "history.db"
    folded_until(path, word, count)

    history = history_at(path)
    slices = count - 1 if word == "COMMIT" else count
    if slices * SLICE < STEPS:
        left = told(history)
        assert left["entries"] == set(range(1, slices * SLICE + 1))
        assert (left["lsn"], left["steps"]) == (slices * SLICE, slices * SLICE)
        assert left["checkpoint"] == b""
    there = BATCH[: slices * SLICE]
    assert [history.get(identity_of(step)) for step in there] == there
    history.fold(BATCH, UPTO, b"checkpoint")
    assert told(history) == told(unbroken)
    history.close()
    unbroken.close()


def test_each_slice_is_in_the_log_for_others_when_the_next_begins(tmp_path: Path) -> None:
    """What another connection sees grows by a slice at a time, in the order of the records."""
    history, other = history_at(tmp_path / "history.db"), history_at(tmp_path / "history.db")
    seen: list[tuple[int, int]] = []

    def look(statement: str) -> None:
        if statement.startswith("BEGIN"):
            meta = other.meta()
            seen.append((meta.lsn, meta.steps))

    history._open_connection().set_trace_callback(look)
    history.fold(BATCH, UPTO, b"checkpoint")
    assert seen == [(n * SLICE, n * SLICE) for n in range(4)]
    history.close()
    other.close()


def test_in_any_order_it_claims_no_more_than_it_has(tmp_path: Path, seed: int) -> None:
    """Late outcomes, and two of one step in different slices: the same as in order, and at no moment is one missing
    below the LSN that it claims."""
    draw = random.Random(seed)
    batch = [outcome(draw.randrange(30), lsn) for lsn in range(1, 61)]
    unbroken = history_at(tmp_path / "unbroken.db")
    unbroken.fold(batch, UPTO, b"checkpoint")
    for number in range(5):
        draw.shuffle(batch)
        path = tmp_path / f"history-{number}.db"
        history, other = history_at(path), history_at(path)

        def look(statement: str, other: History = other) -> None:
            if statement.startswith("BEGIN"):
                claimed = other.meta().lsn
                for step in batch:
                    held = other.get(identity_of(step))
                    assert step.lsn > claimed or (held is not None and held.lsn >= step.lsn)

        history._open_connection().set_trace_callback(look)
        history.fold(batch, UPTO, b"checkpoint")
        history._open_connection().set_trace_callback(None)
        assert told(history) == told(unbroken)
        history.close()
        other.close()
    unbroken.close()


def test_an_older_batch_takes_nothing_back(tmp_path: Path) -> None:
    """What says that it goes up to nowhere raises nothing, in however many slices."""
    history = history_at(tmp_path / "history.db")
    history.fold(BATCH, 0, b"")
    assert (history.meta().lsn, history.meta().steps) == (0, STEPS)
    history.fold([], UPTO, b"checkpoint")
    history.fold(BATCH, STEPS, b"older")
    assert (history.meta().lsn, history.meta().checkpoint) == (UPTO, b"checkpoint")
    history.close()
