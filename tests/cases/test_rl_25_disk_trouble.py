"""What the disk refuses reaches the caller: nothing is acknowledged, nothing is retried into durability."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.faults import no_override, nth, refusing, requires_no_override, requires_strace, traced
from tests.support.outside import Outside
from tests.support.tree import leftovers, segments, state

TWO_STEPS = """
with Ledger.open() as ledger:
    for key in ("k1", "k2"):
        try:
            with ledger.step("work", key=key):
                happen(key)
            say(key, "committed")
        except LedgerError as refusal:
            say(key, refusal.slug, refusal.exit_code, getattr(refusal, "path", None))
"""

KNOWN = """
with Ledger.open() as ledger:
    for key in ("k1", "k2"):
        known = ledger.lookup("work", key)
        say(key, known and known.status)
"""


def sibling(root: Path) -> Path:
    """A root for the undisturbed run that numbers the calls."""
    other = root.parent / "undisturbed"
    other.mkdir()
    return other


@requires_strace
@pytest.mark.parametrize("error", ["EIO", "ENOSPC"])
def test_a_refused_write_of_the_commit_leaves_a_doubt(root: Path, tmp_path: Path, error: str) -> None:
    """The caller gets the error with the path, the step stays in doubt, the next step is as good as its own write.

    https://github.com/stacklok/mecatl/issues/470
    """
    number = nth(TWO_STEPS, sibling(root), tmp_path / "calls", "pwrite64", r"commit.*k1")
    lines = ran(TWO_STEPS, root, wrap=refusing(tmp_path / "log", "pwrite64", f"{number}", error)).lines
    assert lines[0] == f"k1 disk-refused 74 {segments(root)[0]}"
    assert lines[1] == "k2 committed"
    assert ran(KNOWN, root).lines == ["k1 in_doubt", "k2 committed"]
    assert command(root, "verify").lines == ["everything agrees"]


@requires_strace
def test_a_failed_sync_ends_the_handle(root: Path, tmp_path: Path) -> None:
    """The error reaches the caller, no sync is tried again, the next step is refused before its effect.

    Opened again, what was read is synced anew before anything rests on it.

    https://github.com/stacklok/mecatl/issues/470
    """
    log = tmp_path / "log"
    wrap = traced(log, "inject=fdatasync:error=EIO:when=2")
    lines = ran(TWO_STEPS, root, wrap=wrap).lines
    assert lines == [f"k1 disk-refused 74 {segments(root)[0]}", f"k2 ledger-failed 74 {segments(root)[0]}"]
    assert Outside(root).all() == ["k1"]
    syncs = [call for call in log.read_text("utf-8").splitlines() if "fdatasync(" in call]
    assert len(syncs) == 2
    assert "EIO" in syncs[1]
    again = ran(TWO_STEPS, root, wrap=traced(log)).lines
    assert again[0].split()[1] in {"step-in-doubt", "step-committed"}
    assert again[1] == "k2 committed"
    assert Outside(root).all() == ["k1", "k2"]
    calls = log.read_text("utf-8").splitlines()
    rewritten = next(n for n, call in enumerate(calls) if "pwrite64" in call and "k1" in call)
    assert any("fdatasync(" in call for call in calls[rewritten:])


@requires_strace
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_refusal_reaches_the_exit_code(root: Path, tmp_path: Path, call: str) -> None:
    """``runledger step`` ends with 74 when its commit cannot be made durable, though the command succeeded.

    https://github.com/stacklok/mecatl/issues/470
    """
    words = ("step", "work", "--key", "k1", "--", "true")
    other, calls = sibling(root), tmp_path / "calls"
    assert command(other, *words, wrap=traced(calls, calls=call)).code == 0
    made = [line for line in calls.read_text("utf-8").splitlines() if f" {call}(" in line]
    number = len(made) if call == "fdatasync" else 1 + next(n for n, c in enumerate(made) if "commit" in c)
    if call == "fdatasync":
        number -= 1  # the last one is of leaving in good order
    ended = command(root, *words, wrap=refusing(tmp_path / "log", call, f"{number}"))
    assert ended.code == 74, ended
    assert str(segments(root)[0]) in ended.err
    assert "outcome=in-doubt" in ended.err


@requires_strace
def test_a_refused_rename_in_a_compaction_loses_nothing(root: Path, tmp_path: Path) -> None:
    """Whichever rename fails: the error and its path are told, no segment is dropped before what replaces it stands.

    The state file's own rename is the last one: by the contract a warning, since every record is durable.

    https://github.com/stacklok/mecatl/issues/470
    """
    ran(TWO_STEPS, root)
    before = {path.name: path.read_bytes() for path in segments(root)}
    old = state(root)["state"]
    codes = []
    for number in range(1, 10):
        copy = tmp_path / f"copy-{number}"
        shutil.copytree(root, copy)
        log = tmp_path / f"log-{number}"
        ended = command(copy, "compact", wrap=refusing(log, "renameat", f"{number}"))
        codes.append(ended.code)
        if ended.code:
            assert ended.code == 74
            assert f"cannot rename {copy}/.run/ledger/" in ended.err
            assert state(copy)["state"] == old
            for name, data in before.items():
                assert (copy / ".run" / "ledger" / name).read_bytes().startswith(data)
        assert leftovers(copy) == []
        assert ran(KNOWN, copy).lines == ["k1 committed", "k2 committed"]
        assert command(copy, "compact").code == 0
        assert ran(KNOWN, copy).lines == ["k1 committed", "k2 committed"]
        if "EIO" not in log.read_text("utf-8"):
            break
        if not ended.code:
            assert "snapshot.not_written" in ended.err
    assert codes[-2:] == [0, 0]
    assert len(codes) > 3
    assert set(codes[:-2]) == {74}


@requires_no_override
def test_somebody_elses_ledger_fails_before_the_effect(root: Path) -> None:
    """A folder of another user, from an earlier container: refused by its path, nothing happened.

    https://github.com/stacklok/mecatl/issues/470
    """
    ran("with Ledger.open() as ledger, ledger.step('work', key='k0'):\n    pass", root)
    ledger = root / ".run" / "ledger"
    for path in (ledger, *ledger.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
    ledger.chmod(0o700 if os.geteuid() == 0 else 0)
    lines = ran(TWO_STEPS, root, wrap=no_override()).lines
    assert lines == [f"{key} disk-refused 74 {ledger}" for key in ("k1", "k2")]
    assert Outside(root).all() == []
    ended = command(root, "step", "work", "--key", "k3", "--", "true", wrap=no_override())
    assert ended.code == 74
    assert str(ledger) in ended.err
    ledger.chmod(0o700)
