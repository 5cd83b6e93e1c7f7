"""A compaction that is killed between two slices of its fold: no answer changes, and the next one ends it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from runledger import Ledger, Options, StepCommitted
from runledger.local.layout import CHECKPOINT, HISTORY
from tests.support.children import Child, command
from tests.support.outside import Outside

STEPS = 24

KILLED = """
from runledger.local import history_files, history_fold
history_fold.SLICE = 5
connect, commits = history_files.connect, 0

def die(statement):
    global commits
    commits += statement == "COMMIT"
    if commits == int(arguments[0]) and statement.startswith(arguments[1]):
        os.kill(os.getpid(), 9)

def connecting(path, mode):
    connection = connect(path, mode)
    if path.endswith("history.db"):
        connection.set_trace_callback(die)
    return connection

history_files.connect = connecting
with Ledger.open() as ledger:
    ledger.compact()
"""

REENTER = """
with Ledger.open() as ledger:
    for n in range(int(arguments[0])):
        with ledger.skip_committed() as skip, ledger.step("write", key=str(n)) as step:
            happen(str(n))
            step.result = n
        assert skip.result == n
    say(ledger.replay().committed)
"""


def written(root: Path, first: int, last: int) -> None:
    """So many steps, each with an effect outside."""
    with Ledger.open(root, options=Options(compact_after=0)) as ledger:
        for n in range(first, last):
            with ledger.step("write", key=str(n)) as step:
                step.result = n


def reentered(root: Path, steps: int) -> None:
    """Every key is committed, with its result, and everything agrees."""
    with Child(REENTER, root, steps) as child:
        ended = child.end()
    assert ended.lines == [str(steps)], ended.err
    assert Outside(root).all() == []
    assert command(root, "verify").lines == ["everything agrees"]


@pytest.mark.parametrize("before", [0, 7])
@pytest.mark.parametrize(
    ("commits", "word"), [(1, "COMMIT"), (1, "PRAGMA"), (3, "COMMIT"), (3, "PRAGMA"), (5, "COMMIT")]
)
def test_killed_between_two_slices(root: Path, before: int, commits: int, word: str) -> None:
    """In the first compaction of a ledger or in a later one, once and twice; and where the history is then damaged, a
    repair loses nothing, since all of it is still in the journal."""
    if before:
        written(root, 0, before)
        assert command(root, "compact").code == 0
    written(root, before, STEPS)
    checkpoint = root / ".run" / "ledger" / CHECKPOINT
    base = checkpoint.read_bytes() if before else None
    for _ in range(2):
        with Child(KILLED, root, min(commits, -(-(STEPS - before) // 5)), word) as child:
            assert child.end().code == -9
        assert (checkpoint.read_bytes() if checkpoint.exists() else None) == base
        reentered(root, STEPS)
    if not before:
        damaged(root)
    assert command(root, "compact").code == 0
    assert checkpoint.exists()
    reentered(root, STEPS)


def damaged(root: Path) -> None:
    """Copies of the ledger whose half folded history is gone, or is no database, are repaired without a loss."""
    for number, spoil in enumerate((Path.unlink, lambda path: path.write_bytes(b"x" * 9000))):
        other = root.with_name(f"copy-{number}")
        shutil.copytree(root, other)
        for path in (other / ".run" / "ledger").glob(f"{HISTORY}-*"):
            path.unlink()
        spoil(other / ".run" / "ledger" / HISTORY)
        command(other, "repair")
        with Ledger.open(other, options=Options(compact_after=0)) as ledger:
            for n in range(STEPS):
                with pytest.raises(StepCommitted), ledger.step("write", key=str(n)):
                    raise AssertionError("the body ran")
