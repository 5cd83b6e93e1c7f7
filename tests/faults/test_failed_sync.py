"""After a failed sync nothing is acknowledged, until a new handle has read back what is really there, and rewritten it.

The kernel refuses here, by strace, so that SQLite and everything else meet it too.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runledger import Ledger
from runledger.verify import verify
from tests.support.children import ran
from tests.support.faults import nth, refusing, requires_strace, traced
from tests.support.outside import Outside
from tests.support.tree import leftovers, state

pytestmark = requires_strace

STEPS = """
def enter(ledger, key):
    try:
        with ledger.step("pay", key=key) as step:
            happen(key)
            step.result = key
        say(key, "acknowledged")
    except LedgerError as error:
        say(key, error.slug)

ledger = Ledger.open()
for key in "abc":
    enter(ledger, key)
try:
    say("lookup", ledger.lookup("pay", "a").status)
except LedgerError as error:
    say("lookup", error.slug)
try:
    ledger.close()
except LedgerError as error:
    say("close", error.slug)
with Ledger.open() as again:
    for key in "abcd":
        known = again.lookup("pay", key)
        say(key, "is", known.status if known else None)
    enter(again, "d")
"""


def order(log: Path, *patterns: str) -> list[int]:
    """Where in a trace each of these first comes, each behind the one before it."""
    lines = log.read_text("utf-8", "replace").splitlines()
    at, found = 0, []
    for pattern in patterns:
        at = next(n for n, line in enumerate(lines) if n >= at and re.search(pattern, line))
        found.append(at)
    return found


@pytest.mark.parametrize("number", [2, 3, 4, 5])
def test_nothing_is_acknowledged_after_it(root: Path, tmp_path: Path, number: int) -> None:
    """Whichever sync it is: the handle is dead, a new one goes on, and no effect is repeated or forgotten."""
    log = tmp_path / "trace"
    ended = ran(STEPS, root, wrap=refusing(log, "fdatasync", str(number)))
    said = ended.lines
    failed = next(n for n, line in enumerate(said) if line.endswith("disk-refused"))
    again = next(n for n, line in enumerate(said) if " is " in line)
    assert all("acknowledged" not in line for line in said[failed:again])
    assert {line.split()[1] for line in said[failed + 1 : again] if line[0] in "abcl"} <= {"ledger-failed"}
    acknowledged = [line.split()[0] for line in said[:failed] if "acknowledged" in line]
    for key in acknowledged:
        assert f"{key} is committed" in said
    for key in "abc":
        ran_it = Outside(root).count(key)
        assert ran_it <= 1
        if ran_it:
            assert f"{key} is None" not in said, "an effect that happened reads as never started"
    assert said[-1] == "d acknowledged"
    assert verify(root) == []


def test_a_new_handle_rewrites_what_it_read(root: Path, tmp_path: Path) -> None:
    """The page cache holds what the disk never got, marked clean: only writing it again gets it there."""
    program = STEPS.replace('for key in "abc":', 'for key in "ab":', 1)
    log = tmp_path / "trace"
    ended = ran(program, root, wrap=refusing(log, "fdatasync", "4"))
    assert "b disk-refused" in ended.lines
    journal = r"pwrite64\(\d+</[^>]*\.jsonl>|pwrite64\("
    failed = next(
        n
        for n, line in enumerate(log.read_text("utf-8", "replace").splitlines())
        if "fdatasync" in line and "EIO" in line
    )
    later = log.read_text("utf-8", "replace").splitlines()[failed + 1 :]
    rewritten = [
        n for n, line in enumerate(later) if re.search(journal, line) and '\\"key\\":\\"b\\"' in line
    ]
    synced = [n for n, line in enumerate(later) if "fdatasync" in line and "= 0" in line]
    assert rewritten, later
    assert synced
    assert synced[-1] > rewritten[0]


@pytest.mark.parametrize("call", ["fsync", "renameat", "rename", "pwrite64", "fdatasync", "unlinkat"])
def test_the_first_refusals_of_each_kind(root: Path, tmp_path: Path, call: str) -> None:
    """One by one through a short run with a halt and a compaction: an error or a warning, no harm."""
    program = """
    with Ledger.open() as ledger:
        for what in (
            lambda: ledger.start("p-1", sprints=["a"]),
            lambda: ledger.step("pay", key="a")(lambda: happen("a"))(),
            lambda: ledger.halt("wait"),
            lambda: ledger.resume(),
            lambda: ledger.compact(),
            lambda: ledger.step("pay", key="b")(lambda: happen("b"))(),
        ):
            try:
                what()
                say("done")
            except LedgerError as error:
                say(error.slug)
    """
    for number in (1, 2, 4, 7):
        one = root / f"{number}"
        one.mkdir()
        ended = ran(program, one, wrap=refusing(tmp_path / "trace", call, str(number)), code=None)
        assert ended.code in {0, 1}, ended
        assert ended.code == 0 or "runledger.errors." in ended.err, ended
        assert verify(one) == []
        outside = Outside(one)
        with Ledger.open(one) as ledger:
            for key in "ab":
                if outside.count(key):
                    known = ledger.lookup("pay", key)
                    assert known is not None, (call, number, key)
                    assert known.status in {"committed", "in_doubt"}, (call, number, key)


def test_a_refused_sync_of_the_snapshot_is_a_warning(root: Path, tmp_path: Path) -> None:
    """What is on record is acknowledged; the state file is the old one or the new one, whole."""
    program = """
    with Ledger.open() as ledger:
        ledger.start("p-1", sprints=["a"])
        ledger.halt("wait")
        say(ledger.status().state)
    """
    # The temporary file of the second snapshot is synced by fsync.
    probe = tmp_path / "probe"
    probe.mkdir()
    number = nth(program, probe, tmp_path / "first", "fsync", r"state\.json.*tmp|fsync\(")
    for at in range(number, number + 12):
        one = tmp_path / f"root{at}"
        one.mkdir()
        ended = ran(program, one, wrap=refusing(tmp_path / "trace", "fsync", str(at)), code=None)
        if ended.code == 0:
            assert ended.lines == ["HALTED"]
            assert state(one)["state"] in {"RUNNING", "HALTED"}
            assert leftovers(one) == []
        with Ledger.open(one) as ledger:
            if ended.lines:
                assert ledger.status().state == "HALTED"


def test_traces_say_what_is_synced_before_what(root: Path, tmp_path: Path) -> None:
    """The intent's sync comes before the effect, the commit's before the acknowledgement."""
    program = """
    with Ledger.open() as ledger:
        with ledger.step("pay", key="a") as step:
            say("effect")
        say("acknowledged")
    """
    log = tmp_path / "trace"
    ran(program, root, wrap=traced(log))
    patterns = [
        r'pwrite64.*"intent',
        r"fdatasync.*= 0",
        r'write\(1, "effect',
        r'pwrite64.*"commit',
        r"fdatasync.*= 0",
    ]
    patterns = [p.replace('"intent', r'\\"intent\\"').replace('"commit', r'\\"commit\\"') for p in patterns]
    places = order(log, *patterns, r'write\(1, "acknowledged')
    assert places == sorted(places)
