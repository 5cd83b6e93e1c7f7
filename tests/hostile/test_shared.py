"""A checkout that several accounts share, as the how-to says."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from runledger.verify import verify
from tests.support.children import Child

CREW = 61_000
ACCOUNTS = (61_001, 61_002, 61_001)

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

PROGRAM = """
import shlex, tempfile

def work(place, key):
    with Ledger.open(place) as ledger:
        with ledger.step("pay", key=key) as step:
            step.result = key * 50_000
        ledger.compact()
        with ledger.step("mail", key=key):
            ledger.heartbeat()
        return [k for k in "abc" if ledger.lookup("pay", k) is not None]

crew, accounts = int(arguments[0]), [int(account) for account in arguments[1:]]
with tempfile.TemporaryDirectory() as elsewhere:
    work(elsewhere, "a")  # what Python loads late is loaded while it may be read
for account, key in zip(accounts, "abc"):
    if os.fork() == 0:
        os.setgroups([crew])
        os.setgid(account)
        os.setuid(account)
        os.umask(0o077)
        say(account, work(root, key))
        os._exit(0)
    os.wait()
"""


@pytest.fixture
def root() -> Iterator[Path]:
    """A project that every account can reach."""
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "project"
        root.mkdir()
        Path(place).chmod(0o711)
        if not all(folder.stat().st_mode & stat.S_IXOTH for folder in root.parents):
            pytest.skip("the temporary folder is root's own")
        yield root


@needs_root
def test_two_accounts_of_one_group(root: Path) -> None:
    """Each goes on where the other stopped, compactions and large results included, and nobody else may look in."""
    run = root / ".run"
    run.mkdir()
    os.chown(run, 0, CREW)
    run.chmod(0o2770)
    with Child(PROGRAM, root, CREW, *ACCOUNTS, cold=True) as child:
        ended = child.end()
    assert ended.lines == ["61001 ['a']", "61002 ['a', 'b']", "61001 ['a', 'b', 'c']"], ended.err
    assert verify(root) == []
    for path in (run / "ledger").rglob("*"):
        assert path.stat().st_gid == CREW, path
        assert stat.S_IMODE(path.stat().st_mode) == (0o2770 if path.is_dir() else 0o660), path


@needs_root
def test_two_accounts_of_no_group(root: Path) -> None:
    """By default a ledger is private: the other account is refused by name, and changes nothing."""
    with Child(PROGRAM, root, CREW, 0, cold=True) as child:
        assert child.end().code == 0
    with Child(
        PROGRAM.replace("say(account, work(root, key))", REFUSED), root, CREW, 61_002, cold=True
    ) as child:
        ended = child.end()
    assert ended.lines == ["DiskRefused True"], ended.err
    assert verify(root) == []


REFUSED = """
        try:
            work(root, key)
        except LedgerError as error:
            say(type(error).__name__, "/.run" in str(error))
"""
