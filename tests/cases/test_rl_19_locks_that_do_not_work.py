"""Locks that fail or never answer, and places that cannot be written: one clear error before any effect."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.faults import no_override, patched, read_only, requires_no_override, requires_read_only
from tests.support.outside import Outside

FLOCK = """
import errno, fcntl, os, time
def refuse(fd, operation, *more):
    {act}
fcntl.flock = fcntl.lockf = refuse
"""
ACTS = {
    "ENOSYS": "raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))",
    "ENOLCK": "raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))",
    "never-answers": "time.sleep(3600)",
}
CAUSES = {
    "ENOSYS": "Function not implemented",
    "ENOLCK": "No locks available",
    "never-answers": "flock() did not return within 1 s",
}

TRY = """
for what in ("step", "compact"):
    try:
        with Ledger.open(options=Options(lock_timeout=1.0)) as ledger:
            if what == "compact":
                ledger.compact()
            else:
                with ledger.step("work", key="new"):
                    happen("new")
        say(what, "went through")
    except LedgerError as refusal:
        say(what, refusal.slug, refusal.exit_code, refusal.path, "|", refusal.message)
"""

FILL = """
with Ledger.open() as ledger:
    with ledger.step("work", key="old") as step:
        step.result = "before"
    try:
        with ledger.step("work", key="open"):
            raise ValueError("no")
    except ValueError:
        pass
"""


def expect_refused(
    root: Path, cause: str, slug: str, env: dict[str, str] | None = None, wrap: Sequence[str] = ()
) -> None:
    """Both are refused with the path and the cause within a bounded time, and nothing happened. With nothing to
    compact, nothing is asked of the locks."""
    begun, there = time.monotonic(), any(root.glob(".run/ledger/*.jsonl"))
    lines = ran(TRY, root, env=env, wrap=wrap).lines
    assert time.monotonic() - begun < 20
    if not there:
        assert lines.pop() == "compact went through"
    assert len(lines) == 1 + there
    for line, what in zip(lines, ("step", "compact"), strict=False):
        assert line.startswith(f"{what} {slug} 74 {root}/.run"), line
        assert cause in line
    assert Outside(root).all() == []


def expect_readable(root: Path, env: dict[str, str] | None = None, wrap: Sequence[str] = ()) -> None:
    """Reading needs neither a lock nor permission to write."""
    replayed = command(root, "replay", env=env, wrap=wrap)
    assert replayed.code == 1, replayed
    assert any("work open" in line for line in replayed.lines)
    assert command(root, "show", "work", "old", env=env, wrap=wrap).code == 0
    assert command(root, "status", env=env, wrap=wrap).code == 0


@pytest.mark.parametrize("when", ["first-step", "later-step"])
@pytest.mark.parametrize("how", ACTS)
def test_a_lock_call_that_does_not_work_is_one_clear_error(
    root: Path, tmp_path: Path, how: str, when: str
) -> None:
    """ENOSYS, ENOLCK or no answer at all: refused by path and cause, before the effect, in bounded time.

    https://github.com/e2b-dev/infra/issues/3619
    """
    if when == "later-step":
        ran(FILL, root)
    env = patched(tmp_path / "patch", FLOCK.format(act=ACTS[how]))
    expect_refused(root, CAUSES[how], "lock-unavailable", env)
    if when == "later-step":
        expect_readable(root, env)
        ran(TRY, root)
        assert Outside(root).all() == ["new"]


@requires_read_only
def test_on_a_read_only_mount_reading_works_and_a_step_is_refused(root: Path) -> None:
    """One clear error before the effect; replay, show and status work.

    https://github.com/e2b-dev/infra/issues/3619
    """
    ran(FILL, root)
    wrap = read_only(root / ".run")
    expect_refused(root, "Read-only file system", "disk-refused", wrap=wrap)
    expect_readable(root, wrap=wrap)


@requires_no_override
@pytest.mark.parametrize("when", ["first-step", "later-step"])
def test_without_permission_reading_works_and_a_step_is_refused(root: Path, when: str) -> None:
    """The same where the folder cannot be written by this user.

    https://github.com/e2b-dev/infra/issues/3619
    """
    run = root / ".run"
    if when == "first-step":
        run.mkdir()
    else:
        ran(FILL, root)
    for path in (run, *run.rglob("*")):
        if os.geteuid() == 0:
            os.chown(path, 65534, 65534)
        path.chmod(0o555 if path.is_dir() else 0o444)
    expect_refused(root, "Permission denied", "disk-refused", wrap=no_override())
    if when == "later-step":
        expect_readable(root, wrap=no_override())
