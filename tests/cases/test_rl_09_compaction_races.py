"""Compaction beside writers and readers: no key is forgotten, no record is skipped or told twice unseen."""

from __future__ import annotations

import itertools
import json
import signal
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.outside import Outside

TOLD_TO_END = """
import threading
ends = threading.Event()
threading.Thread(target=lambda: (sys.stdin.readline(), ends.set()), daemon=True).start()
"""

WRITER = (
    TOLD_TO_END
    + """
who, least = arguments[0], int(arguments[1])
longest, n = 0.0, 0
with Ledger.open() as ledger:
    while n < least or not ends.is_set():
        begun = time.monotonic()
        with ledger.step("write", key=f"{who}-{n}") as step:
            happen(f"{who}-{n}")
            step.result = n
        longest = max(longest, time.monotonic() - begun)
        n += 1
say(n, longest)
"""
)

COMPACTOR = """
done = 0
with Ledger.open() as ledger:
    while done < int(arguments[0]):
        try:
            ledger.compact()
            done += 1
        except CompactionBusy:
            time.sleep(0.002)
"""

REENTER = """
with Ledger.open() as ledger:
    for who, steps in enumerate(map(int, arguments)):
        for n in range(steps):
            with ledger.skip_committed() as skip, ledger.step("write", key=f"{who}-{n}"):
                happen(f"{who}-{n}")
            assert skip.result == n
    say(ledger.replay().committed)
"""

SECONDS = 900.0
"""For the long form; the short one is over in two."""

BOUND_S = 30.0
"""``Options.lock_timeout``: no writer waits longer for the append lock."""


def race(root: Path, writers: int, least: int, compactions: int) -> None:
    """Write and compact at once; every key is known afterwards, before and after one more compaction."""
    children = [Child(WRITER, root, who, least) for who in range(writers)]
    for compactor in [Child(COMPACTOR, root, compactions) for _ in range(2)]:
        assert compactor.end(SECONDS).code == 0
    for child in children:
        child.tell("end")
    ended = [child.end(SECONDS).lines[-1].split() for child in children]
    assert max(float(longest) for _, longest in ended) < BOUND_S
    steps = [int(done) for done, _ in ended]
    for _ in range(2):
        assert ran(REENTER, root, *steps, seconds=SECONDS).lines == [str(sum(steps))]
        assert command(root, "compact").code == 0
    assert len(Outside(root).all()) == sum(steps)
    assert Outside(root).repeated() == []
    assert command(root, "verify").lines == ["everything agrees"]


def test_compactions_beside_writers_forget_no_key(root: Path) -> None:
    """Four writers, two compactors at once: the effect count stays, also for commits made meanwhile.

    https://github.com/yvgude/lean-ctx/issues/852
    """
    race(root, writers=4, least=5, compactions=4)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_2000_steps_beside_100_compactions_forget_no_key(root: Path) -> None:
    """The whole of it.

    https://github.com/yvgude/lean-ctx/issues/852
    """
    race(root, writers=4, least=500, compactions=60)


def test_a_handle_that_slept_through_a_compaction_reads_on(root: Path) -> None:
    """Stopped with a position in the journal, it finds that gone: it reads again and repeats nothing.

    https://github.com/yvgude/lean-ctx/issues/852
    """
    program = """
    with Ledger.open() as ledger:
        with ledger.step("write", key="first") as step:
            step.result = 1
        say("ready")
        sys.stdin.readline()
        for key in ("first", "second", "third"):
            with ledger.skip_committed() as skip, ledger.step("write", key=key):
                happen(key)
            say(key, skip.result)
        say(ledger.replay().committed)
    """
    with Child(program, root) as reader:
        reader.until("ready")
        reader.signal(signal.SIGSTOP)
        for key in ("second", "third"):
            ran(
                f"""
                with Ledger.open() as ledger:
                    with ledger.step("write", key="{key}") as step:
                        happen("{key}")
                        step.result = "{key}"
                    ledger.compact()
                """,
                root,
            )
        reader.signal(signal.SIGCONT)
        reader.tell("go")
        assert reader.end().lines[1:] == ["first 1", "second second", "third third", "3"]
    assert Outside(root).all() == ["second", "third"]


def test_a_follower_that_slept_through_compactions_skips_none_unseen(root: Path) -> None:
    """``log --follow`` goes on behind what was folded: numbers only grow, and a jump among them is told.

    https://github.com/yvgude/lean-ctx/issues/852
    """
    write = """
    with Ledger.open() as ledger:
        for key in arguments:
            with ledger.step("write", key=key):
                pass
    """
    ran(write, root, "a", "b")
    follow = "from runledger.cli import main\nmain(['log', '--follow', '--json'])"
    with Child(follow, root) as follower:
        seen = [json.loads(follower.line())]
        while seen[-1].get("t") != "closed":
            seen.append(json.loads(follower.line()))
        follower.signal(signal.SIGSTOP)
        for key in ("c", "e"):
            ran(write, root, key)
            assert command(root, "compact").code == 0
        ran(write, root, "d")
        follower.signal(signal.SIGCONT)
        while not (seen[-1]["t"] == "commit" and seen[-1]["key"] == "d"):
            seen.append(json.loads(follower.line()))
        told = follower.kill().err
    numbers = [one["lsn"] for one in seen]
    assert numbers == sorted(set(numbers))
    jumps = [(one, other) for one, other in itertools.pairwise(numbers) if other != one + 1]
    for before, after in jumps:
        assert f"{before + 1} to {after - 1}" in told


def test_readers_beside_compactions_see_no_damage(root: Path) -> None:
    """Readers take no lock: what is dropped or written meanwhile is never told as damage, counts only grow.

    https://github.com/yvgude/lean-ctx/issues/852
    """
    reader = """
    from runledger.cli import main
    seen, turns = 0, 0
    say("ready")
    before = len(os.listdir("/proc/self/fd"))
    while turns < 20 or seen < 60:
        report = runledger.replay(root)
        assert not report.corruption and report.torn_tail is None, report
        assert report.state == "RUNNING" and report.committed >= seen, report
        seen, turns = report.committed, turns + 1
        assert main(["log", "--json"]) == 0
        assert main(["is-running", "-q"]) == 0
    assert len(os.listdir("/proc/self/fd")) == before
    """
    writer = """
    with Ledger.open() as ledger:
        for n in range(60):
            with ledger.step("write", key=str(n)):
                pass
            if n % 3 == 0:
                ledger.compact()
    """
    ran("Ledger.open().start('plan')", root)
    with Child(reader, root) as one, Child(reader, root) as other:
        one.until("ready")
        other.until("ready")
        ran(writer, root)
        for child in (one, other):
            ended = child.end()
            assert ended.code == 0, ended.err
