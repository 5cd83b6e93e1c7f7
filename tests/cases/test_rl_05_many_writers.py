"""Long records of several processes never interleave: each is there once, whole, on a line of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.outside import Outside
from tests.support.tree import records

WRITER = """
who, steps, strings = arguments[0], int(arguments[1]), int(arguments[2])
with Ledger.open() as ledger:
    say("ready")
    sys.stdin.readline()
    for n in range(steps):
        with ledger.step("write", key=f"{who}-{n}") as step:
            happen(f"{who}-{n}")
            step.result = [f"{who}-{n}"] * strings
"""

SECONDS = 900.0
"""For the long form; the short one is over in two."""

REENTER = """
writers, steps, strings = map(int, arguments)
with Ledger.open() as ledger:
    for who in range(writers):
        for n in range(steps):
            with ledger.skip_committed() as skip, ledger.step("write", key=f"{who}-{n}"):
                happen(f"{who}-{n}")
            assert skip.skipped and skip.result == [f"{who}-{n}"] * strings
    say(ledger.replay().committed)
"""


def one_round(root: Path, writers: int, steps: int, strings: int) -> None:
    """Let all write at once, then count, compact and enter every key again."""
    everything = [f"{who}-{n}" for who in range(writers) for n in range(steps)]
    children = [Child(WRITER, root, who, steps, strings) for who in range(writers)]
    for child in children:
        child.until("ready")
    for child in children:
        child.tell("go")
    for child in children:
        assert child.end(SECONDS).code == 0
    read = records(root)
    assert [one["lsn"] for one in read] == list(range(1, len(read) + 1))
    assert sorted(one["key"] for one in read if one["t"] == "commit") == sorted(everything)
    before = ran("say(runledger.replay(root))", root).lines
    assert f"committed={len(everything)}," in before[0]
    assert ran(REENTER, root, writers, steps, strings, seconds=SECONDS).lines == [str(len(everything))]
    assert command(root, "compact").code == 0
    assert ran(REENTER, root, writers, steps, strings, seconds=SECONDS).lines == [str(len(everything))]
    assert command(root, "verify").lines == ["everything agrees"]
    assert sorted(Outside(root).all()) == sorted(everything)


@pytest.mark.parametrize("strings", [1500, 30_000], ids=["15-KB", "300-KB"])
def test_long_records_of_six_processes_do_not_mix(root: Path, strings: int) -> None:
    """All are committed, none twice, each line is whole, and what is known is the same after a compaction.

    https://github.com/NousResearch/hermes-agent/issues/12684
    """
    one_round(root, writers=6, steps=8, strings=strings)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("strings", [1500, 30_000], ids=["15-KB", "300-KB"])
@pytest.mark.parametrize("again", range(5))
def test_1200_long_records_of_six_processes_do_not_mix(root: Path, strings: int, again: int) -> None:
    """The whole of it, five times.

    https://github.com/NousResearch/hermes-agent/issues/12684
    """
    one_round(root, writers=6, steps=200, strings=strings)
