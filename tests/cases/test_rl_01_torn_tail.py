"""A cut last line is cut off and told once; the next record is not glued to it, and nothing else is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Child, ran
from tests.support.tree import content_end, newest, record_lines, records, strict

RESULT = "Grüße, 世界 \N{SNOWMAN}"

COMMIT_A = f"""
# Closed in a later second, it would have the state file tell of its last record: then no crash cuts that one.
time.sleep(1 - time.time() % 1)
with Ledger.open() as ledger:
    with ledger.step("write", key="a1") as step:
        step.result = {RESULT!r}
    say("acknowledged")
    sys.stdin.readline()
"""

COMMIT_B = """
with Ledger.open() as ledger:
    with ledger.step("write", key="b1") as step:
        step.result = "B"
"""


def cut(path: Path, size: int) -> None:
    """Leave only the first bytes of a file, as a crash may."""
    with path.open("r+b") as file:
        file.truncate(size)


def in_a_character(path: Path) -> int:
    """A size that ends within the last character that takes more than one byte."""
    data = path.read_bytes()
    return 1 + max(at for at, byte in enumerate(data) if byte >= 0xC0)


TEARS = {
    "its-last-7-bytes": lambda path: path.stat().st_size - 7,
    "7-bytes-of-the-last-line": lambda path: content_end(path) - 7,
    "only-the-newline": lambda path: content_end(path) - 1,
    "within-a-character": in_a_character,
}


@pytest.mark.parametrize("end", ["killed", "closed"])
@pytest.mark.parametrize("tear", TEARS)
def test_a_torn_tail_costs_nothing_but_itself(root: Path, tear: str, end: str) -> None:
    """Whatever was cut: B stands in every later read, A stands or is in doubt, and it is told once.

    https://github.com/Tracer-Cloud/opensre/issues/6356
    """
    with Child(COMMIT_A, root) as child:
        child.until("acknowledged")
        ended = child.kill() if end == "killed" else child.end()
        assert ended.code == (-9 if end == "killed" else 0)
    cut(newest(root), TEARS[tear](newest(root)))
    ran(COMMIT_B, root)
    told = [one for one in records(root) if one["t"] == "torn"]
    assert len(told) <= 1
    program = f"""
    for turn in range(3):
        seen = runledger.replay(root)
        assert seen.torn_tail is None and not seen.corruption, seen
        with Ledger.open() as ledger:
            assert ledger.lookup("write", "b1").result == "B"
            a = ledger.lookup("write", "a1")
            assert (a.status, a.result) in [("committed", {RESULT!r}), ("in_doubt", None)], a
            assert len(seen.in_doubt) == (a.status == "in_doubt")
            assert seen.committed + len(seen.in_doubt) == 2
            say(a.status)
            if turn == 1:
                ledger.compact()
    """
    assert len(set(ran(program, root).lines)) == 1
    for line in record_lines(root):
        strict(line.decode())
        assert line.count(b'{"t":') == 1


def test_the_torn_tail_is_shown_until_a_writer_cuts_it(root: Path) -> None:
    """A reader tells where the torn bytes are and leaves them; the next writer alone records it.

    https://github.com/Tracer-Cloud/opensre/issues/6356
    """
    with Child(COMMIT_A, root) as child:
        child.until("acknowledged")
        child.kill()
    whole = content_end(newest(root))
    cut(newest(root), whole - 7)
    before = newest(root).read_bytes()
    look = """
    torn = runledger.replay(root).torn_tail
    say(torn["file"], torn["offset"], torn["bytes"])
    """
    file, offset, size = ran(look, root).lines[0].split()
    assert (Path(file), int(offset) + int(size)) == (newest(root), whole - 7)
    assert newest(root).read_bytes() == before
    said = ["torn_tail_cut" in ran("Ledger.open().heartbeat()", root).err for _ in range(2)]
    assert said == [True, False]
    assert [one["t"] for one in records(root)].count("torn") == 1


ROUNDS = """
from tests.support.forks import Fork
import random
rounds, seed = int(arguments[0]), int(arguments[1])
draw = random.Random(seed)

def body(say):
    with Ledger.open() as ledger:
        for n in range(10_000):
            key = f"{os.getpid()}-{n}"
            with ledger.step("write", key=key) as step:
                step.result = "ü" * 450
            say(key)

acknowledged = []
for round in range(rounds):
    child = Fork(body)
    first = child.line()
    acknowledged += [first, *child.kill_after(draw.uniform(0.001, 0.006))]
    seen = runledger.replay(root)
    assert not seen.corruption, seen.corruption
    assert seen.committed >= len(acknowledged), (round, seen.committed, len(acknowledged))
with Ledger.open() as ledger:
    with ledger.step("write", key="b1") as step:
        step.result = "B"
    in_doubt = {step.key for step in ledger.replay().in_doubt}
    for again in range(2):
        for key in acknowledged:
            assert ledger.lookup("write", key).result == "ü" * 450
        assert ledger.lookup("write", "b1").result == "B"
        assert {step.key for step in ledger.replay().in_doubt} == in_doubt
        ledger.compact()
assert len(in_doubt) <= rounds
say(len(acknowledged))
"""


def survives(root: Path, rounds: int, seed: int) -> None:
    """No acknowledged commit is lost to kills in a tight loop."""
    assert int(ran(ROUNDS, root, rounds, seed, seconds=rounds * 2 + 60).lines[-1]) >= rounds


def test_kills_in_a_tight_loop_lose_nothing(root: Path) -> None:
    """Children are killed 1 to 6 ms after a first commit: all that was acknowledged stands, B as well.

    https://github.com/Tracer-Cloud/opensre/issues/6356
    """
    survives(root, rounds=15, seed=6356)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_300_kills_in_a_tight_loop_lose_nothing(root: Path) -> None:
    """The whole of it.

    https://github.com/Tracer-Cloud/opensre/issues/6356
    """
    survives(root, rounds=300, seed=1)
