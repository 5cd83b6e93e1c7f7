"""Replay: each open step's facts, and a reading that leaves no trace."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import msgspec
import pytest

import runledger
from runledger import Ledger, LedgerError, NewerVersion, StepCommitted, replay
from tests.api.doubts import held, killed, left_in_doubt
from tests.support.children import command, stopped
from tests.support.tree import newest, records


def entries(root: Path) -> dict[str, tuple[int, int]]:
    """Every path below, with its size and time."""
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in root.rglob("*")}


def test_an_empty_folder(root: Path) -> None:
    """Nothing is known, and nothing is made."""
    report = replay(root)
    assert (report.state, report.lsn, report.committed, report.aborted) == ("ABSENT", 0, 0, 0)
    assert not any((report.in_doubt, report.in_flight, report.resolve, report.corruption))
    assert list(root.iterdir()) == []


def test_what_is_told_of_a_dead_owner_s_step(root: Path) -> None:
    """Name, key, attempt, when, who, that they are dead and how that is known, marks, and the lines that settle it."""
    pid = killed(root, "open-pr", "sprint 2's")
    report = replay(root)
    (step,) = report.in_doubt
    intent = next(one for one in records(root) if one["t"] == "intent")
    assert (step.name, step.key, step.attempt) == ("open-pr", "sprint 2's", 1)
    assert (step.lsn, step.started) == (intent["lsn"], intent["at"])
    assert (step.owner.pid, step.owner.alive, step.owner.host) == (pid, False, os.uname().nodename)
    assert str(pid) in step.owner.how
    assert [(mark.label, mark.data) for mark in step.marks] == [("came so far", {"page": 7})]
    assert step.failure is None
    assert len(report.resolve) == 2
    assert all(f"--lsn {step.lsn}" in line and "runledger resolve" in line for line in report.resolve)


def test_what_is_told_of_a_live_owner_s_step(root: Path) -> None:
    """In flight, also while the process stands still; in doubt as soon as it is dead."""
    with held(root) as child:
        for _ in range(2):
            (step,) = replay(root).in_flight
            assert (step.owner.pid, step.owner.alive) == (child.pid, True)
            with stopped(child):
                assert len(replay(root).in_flight) == 1
        assert replay(root).resolve == []
        child.signal(signal.SIGKILL)
        child.end()
    assert replay(root).in_flight == []
    assert len(replay(root).in_doubt) == 1


def test_what_is_told_of_a_lease(root: Path) -> None:
    """An external session has no pid, only its lease, and that is said."""
    assert command(root, "begin", "work", "--key", "k1", "--lease", "1h").code == 0
    (step,) = replay(root).in_flight
    assert step.owner.pid is None
    assert step.owner.lease is not None
    assert "lease" in step.owner.how
    assert command(root, "begin", "work", "--key", "k2", "--lease", "0.01").code == 0
    while len(replay(root).in_doubt) < 1:
        pass
    assert [step.key for step in replay(root).in_doubt] == ["k2"]


def test_what_is_told_of_an_exception(root: Path, ledger: Ledger) -> None:
    """Its type and message; the owner lives, and the call is over."""
    left_in_doubt(ledger)
    (step,) = replay(root).in_doubt
    assert step.failure is not None
    assert (step.failure.type, step.failure.message) == ("ConnectionError", "lost")
    assert step.owner.pid == os.getpid()


def test_counts(root: Path, ledger: Ledger) -> None:
    """Of the committed and the aborted, in the order of nothing; the open ones in the order of their numbers."""
    for n in range(3):
        with ledger.step("work", key=f"done-{n}"):
            pass
    for n in range(2):
        with pytest.raises(OSError), ledger.step("work", key=f"not-{n}", aborts_on=OSError):  # noqa: PT011
            raise OSError
        left_in_doubt(ledger, "work", f"open-{n}")
    with ledger.step("work", key="now"):
        report = replay(root)
    assert (report.committed, report.aborted) == (3, 2)
    assert [step.key for step in report.in_doubt] == ["open-0", "open-1"]
    assert [step.key for step in report.in_flight] == ["now"]
    assert report.lsn == records(root)[-2]["lsn"]


def test_it_says_the_same_after_a_compaction(root: Path, ledger: Ledger) -> None:
    """Folding changes no answer."""
    killed(root)
    with ledger.step("work", key="done"):
        pass
    before = replay(root)
    ledger.compact()
    assert msgspec.structs.replace(replay(root), lsn=before.lsn) == before


def test_it_leaves_no_trace(root: Path) -> None:
    """Reading changes no file, makes none and takes no lock: beside a store that a crash left, and again and again."""
    killed(root)
    before = entries(root)
    for _ in range(3):
        assert len(replay(root).in_doubt) == 1
    assert entries(root) == before


def test_it_works_on_a_read_only_checkout(root: Path) -> None:
    """Where nothing can be written; asked as somebody who may not."""
    killed(root)
    for path in [*root.rglob("*"), root]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert len(replay(root).in_doubt) == 1
    finally:
        for path in [root, *root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)


def test_a_torn_tail_is_told_and_left_as_it_is(root: Path, ledger: Ledger) -> None:
    """A crash may leave half a record; a reader says so, a writer cuts it."""
    with ledger.step("work", key="k1"):
        pass
    ledger.close()
    with newest(root).open("ab") as file:
        file.write(b'{"t":"intent","lsn":99,"na')
    before = entries(root)
    report = replay(root)
    assert report.torn_tail is not None
    assert report.corruption == []
    assert report.committed == 1
    assert entries(root) == before
    with Ledger.open(root) as writer, pytest.raises(StepCommitted), writer.step("work", key="k1"):
        raise AssertionError("the body ran")
    assert replay(root).torn_tail is None


def test_a_newer_ledger_is_refused(root: Path, ledger: Ledger) -> None:
    """A format that this version does not know is not guessed at."""
    with ledger.step("work", key="k1"):
        pass
    ledger.close()
    file = newest(root)
    file.write_bytes(file.read_bytes().replace(b'"format":1', b'"format":2', 1))
    before = entries(root)
    for ask in (lambda: replay(root), lambda: Ledger.open(root).lookup("work", "k1")):
        with pytest.raises(NewerVersion):
            ask()
    assert entries(root) == before


def test_the_handle_tells_the_same(root: Path, ledger: Ledger) -> None:
    """``ledger.replay()`` and ``runledger.replay(root)`` differ by nothing but the drift, which needs a program."""
    killed(root)
    ours, theirs = ledger.replay(), replay(root)
    assert msgspec.structs.replace(ours, drift=None) == theirs


def test_it_is_what_the_command_prints(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``replay --json`` is this report."""
    killed(root)
    monkeypatch.chdir(root)
    shown = msgspec.json.decode(command(root, "replay", "--json").lines[0])
    report = msgspec.to_builtins(replay(root))
    for name in ("state", "lsn", "committed", "aborted", "in_flight", "resolve"):
        assert shown[name] == report[name], name
    for name in ("name", "key", "lsn", "attempt", "started", "owner", "failure"):
        assert shown["in_doubt"][0][name] == report["in_doubt"][0][name], name


def test_the_root_is_found_as_open_finds_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument, else RUNLEDGER_DIR, else the nearest ancestor with ``.run``, else here."""
    killed(root)
    below = root / "a" / "b"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert len(replay().in_doubt) == 1
    with Ledger.open() as ledger:
        assert Path(ledger.root).resolve() == root.resolve()
    monkeypatch.setenv("RUNLEDGER_DIR", str(below))
    assert replay().state == "ABSENT"
    assert len(runledger.replay(str(root)).in_doubt) == 1


def test_every_error_of_reading_is_one_of_ours(root: Path) -> None:
    """A place that is no folder, or no ledger."""
    (root / "file").write_text("x", "utf-8")
    with pytest.raises(LedgerError):
        replay(root / "file")
    (root / ".run").mkdir()
    (root / ".run" / "ledger").write_text("x", "utf-8")
    with pytest.raises(LedgerError):
        replay(root)
