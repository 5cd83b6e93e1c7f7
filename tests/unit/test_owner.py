"""Proof of life: a lock that dies with its holder, else pid, start time and boot; leftovers stop nobody."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runledger.errors import DiskRefused, LockUnavailable
from runledger.local import owner as module
from runledger.local.directory import Directory
from runledger.local.owner import OwnerFacts, OwnerLock, facts, fate, reclaim
from runledger.view import Owner

# The children of these forks only use what was there before any thread.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

HOLDER = """
import os, sys, time
from runledger.local.directory import Directory
from runledger.local.owner import OwnerLock, facts
lock = OwnerLock.take(Directory.at(sys.argv[1]), sys.argv[2])
f = facts()
print(f.pid, f.start, f.boot, f.pidns, f.host, flush=True)
time.sleep(60)
"""

CONTENDER = """
import os, random, sys
from runledger.errors import DiskRefused
from runledger.local.directory import Directory
from runledger.local.owner import OwnerLock, reclaim
owners = Directory.at(sys.argv[1])
random.seed(int(sys.argv[2]))
sys.stdin.readline()
for n in range(150):
    lock = OwnerLock.take(owners, f"o-{sys.argv[2]}-{n}")
    reclaim(owners, set())
    stat = owners.stat(lock.id)
    assert stat is not None, "a live owner's file was removed"
    other = owners.open(lock.id)
    assert not other.lock(shared=True), "the name is another file by now"
    other.close()
    lock.release()
print("fine")
"""


@pytest.fixture
def owners(tmp_path: Path) -> Iterator[Directory]:
    """An empty folder for owners' files."""
    path = tmp_path / "owners"
    path.mkdir()
    directory = Directory.at(str(path))
    assert directory is not None
    yield directory
    directory.close()


@pytest.fixture
def holder(owners: Directory) -> Iterator[tuple[subprocess.Popen[str], Owner]]:
    """Another process that is the owner ``o-1``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, owners.path, "o-1"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pid, start, boot, pidns, host = process.stdout.readline().split()
    yield process, owner_of(pid=int(pid), start=int(start), boot=boot, pidns=pidns, host=host)
    process.kill()
    process.wait()
    process.stdout.close()


def owner_of(owner_id: str = "o-1", **changed: Any) -> Owner:
    """This process as an owner, with some facts changed."""
    known = {name: getattr(facts(), name) for name in OwnerFacts.__slots__}
    return Owner(**{"id": owner_id, "since": "2026-11-29T14:20:11.123456Z", **known, **changed})


@contextlib.contextmanager
def child_with(descriptor: int) -> Iterator[int]:
    """A forked child that keeps a descriptor and does nothing but live."""
    kept = os.dup(descriptor)
    pid = os.fork()
    if pid == 0:
        signal.pause()
        os._exit(0)
    os.close(kept)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


class TestFacts:
    def test_they_tell_this_process_from_its_children(self) -> None:
        """A forked child has its own pid and the same boot and namespace."""
        here = facts()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, f"({facts().pid}, {facts().boot}, {facts().pidns})".encode())
            os._exit(0)
        os.waitpid(pid, 0)
        there = os.read(read, 4096).decode()
        os.close(read)
        os.close(write)
        assert here.pid == os.getpid()
        assert here.start > 0
        assert there.startswith(f"({pid}, ")
        assert here.boot in there
        assert here.pidns in there


class TestOwnerLock:
    def test_release_removes_the_name(self, owners: Directory) -> None:
        """An owner that leaves in good order leaves nothing behind."""
        lock = OwnerLock.take(owners, "o-1")
        assert lock.held
        assert owners.names() == ["o-1"]
        lock.release()
        lock.release()
        assert not lock.held
        assert owners.names() == []

    def test_a_dropped_one_is_free(self, owners: Directory) -> None:
        """A handle that is collected without a close is at work on nothing."""
        lock = OwnerLock.take(owners, "o-1")
        del lock
        assert fate(owners, owner_of(), set()).how.startswith("dead: its lock is free")

    def test_a_taken_name_is_refused(self, owners: Directory) -> None:
        """The file is created exclusively, so nobody's file is taken for one's own."""
        Path(owners.path, "o-1").touch()
        with pytest.raises(DiskRefused):
            OwnerLock.take(owners, "o-1")
        assert owners.names() == ["o-1"]

    def test_a_link_is_not_followed(self, owners: Directory, tmp_path: Path) -> None:
        """A link planted under the name leads no write outside."""
        Path(owners.path, "o-1").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(DiskRefused):
            OwnerLock.take(owners, "o-1")
        assert not (tmp_path / "elsewhere").exists()

    @pytest.mark.parametrize("number", [38, 37])  # ENOSYS, ENOLCK
    def test_a_lock_that_fails_is_refused(
        self, owners: Directory, monkeypatch: pytest.MonkeyPatch, number: int
    ) -> None:
        """A file system without locks is named, with the path and the cause, and left clean."""

        def refuse(fd: int, operation: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", refuse)
        with pytest.raises(LockUnavailable, match=os.strerror(number)) as caught:
            OwnerLock.take(owners, "o-1")
        assert owners.path in str(caught.value)
        assert owners.names() == []

    def test_a_lock_that_excludes_nobody_is_refused(
        self, owners: Directory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A lock that is always granted proves nothing."""
        monkeypatch.setattr(fcntl, "flock", lambda *_: None)
        with pytest.raises(LockUnavailable, match="locked twice"):
            OwnerLock.take(owners, "o-1")
        assert owners.names() == []

    def test_a_lock_that_never_answers_is_refused_in_time(
        self, owners: Directory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A hanging flock() is an error within the bound, and no later question hangs on it either."""
        monkeypatch.setattr(fcntl, "flock", lambda *_: time.sleep(3))
        began = time.monotonic()
        with pytest.raises(LockUnavailable, match="did not return") as caught:
            OwnerLock.take(owners, "o-1", seconds=0.2)
        assert owners.path in str(caught.value)
        assert owners.names() == []
        Path(owners.path, "o-2").touch()
        assert fate(owners, owner_of("o-2", start=1), set()).how.startswith("dead: pid")
        assert time.monotonic() - began < 2

    def test_a_forked_child_neither_has_nor_frees_it(self, owners: Directory) -> None:
        """After fork the child's lock is gone, its release does nothing, and the parent's still holds."""
        lock = OwnerLock.take(owners, "o-1")
        pid = os.fork()
        if pid == 0:
            held = lock.held
            lock.release()
            os._exit(1 if held else 0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert owners.names() == ["o-1"]
        assert reclaim(owners, set()) == []
        lock.release()

    def test_it_dies_with_its_holder_though_a_forked_child_lives(self, owners: Directory) -> None:
        """A child forked by os.fork() does not keep its dead parent's lock."""
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            lock = OwnerLock.take(owners, "o-1")
            child = os.fork()
            if child == 0:
                os.write(write, b"%d" % os.getpid())
                signal.pause()
            os._exit(0 if lock.held else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        child = int(os.read(read, 32))
        os.close(read)
        os.close(write)
        try:
            assert fate(owners, owner_of(pid=pid), set()).how.startswith("dead: its lock is free")
        finally:
            os.kill(child, signal.SIGKILL)


class TestFate:
    def test_a_holder_is_alive(self, owners: Directory, holder: tuple[Any, Owner]) -> None:
        """A process that holds its lock is alive, by its pid and host."""
        process, owner = holder
        verdict = fate(owners, owner, set())
        assert verdict.alive
        assert verdict.how == f"alive: pid {process.pid} on host {owner.host} holds its lock"

    def test_a_stopped_holder_is_alive(self, owners: Directory, holder: tuple[Any, Owner]) -> None:
        """Silence is no death: a stopped process may go on at any time."""
        process, owner = holder
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        verdict = fate(owners, owner, set())
        assert verdict.alive
        assert "stopped" in verdict.how
        assert reclaim(owners, set()) == []

    def test_a_killed_holder_is_dead(self, owners: Directory, holder: tuple[Any, Owner]) -> None:
        """The kernel frees the lock of a killed process at once, zombie or not."""
        process, owner = holder
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert fate(owners, owner, set()).how.startswith("dead: its lock is free")
        process.wait()
        assert not fate(owners, owner, set()).alive
        assert reclaim(owners, set()) == ["o-1"]
        assert fate(owners, owner, set()).how == f"dead: pid {process.pid} is gone"

    def test_a_lock_kept_by_a_child_does_not_keep_its_owner_alive(self, owners: Directory) -> None:
        """A leaked descriptor holds the lock; the pid tells that its owner is gone, a zombie, or another."""
        gone = subprocess.Popen([sys.executable, "-c", ""])
        gone.wait()
        zombie = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
        file = owners.open("o-1", write=True, create=True)
        assert file is not None
        assert file.lock()
        with child_with(file.fd):
            file.close()
            for pid, start, how in (
                (gone.pid, 1, "is gone"),
                (zombie.pid, 1, "is a zombie"),
                (os.getpid(), facts().start + 1, "is another process by now"),
            ):
                verdict = fate(owners, owner_of(pid=pid, start=start), set())
                assert not verdict.alive
                assert verdict.how == f"dead: pid {pid} {how}; a child it left holds its lock"
            elsewhere = fate(owners, owner_of(pid=gone.pid, pidns="1"), set())
            assert elsewhere.alive
            assert "another container" in elsewhere.how
        zombie.wait()

    def test_asking_changes_nothing(self, owners: Directory, holder: tuple[Any, Owner]) -> None:
        """The question works on a descriptor opened for reading and leaves the lock as it is."""
        _, owner = holder
        before = Path(owners.path).stat().st_mtime_ns
        assert fate(owners, owner, set()).alive
        assert fate(None, owner, set()).alive
        assert not fate(owners, owner_of("o-2", pid=4_000_000), set()).alive
        assert Path(owners.path).stat().st_mtime_ns == before
        assert owners.names() == ["o-1"]

    @pytest.mark.parametrize(
        ("changed", "alive", "how"),
        [
            ({"boot": "b", "pidns": "1"}, False, "dead: this machine rebooted since"),
            ({"boot": "b", "host": "far"}, False, "unproven: pid {pid} on host far ran on another host"),
            ({"pidns": "1"}, False, "unproven: pid {pid} on host {host} ran in another container"),
            ({"boot": "", "pidns": "", "start": 0}, False, "unproven: nothing tells whether pid {pid}"),
            ({"pid": 4_000_000}, False, "dead: pid 4000000 is gone"),
            ({"pid": 1, "start": 12_345_678}, False, "dead: pid 1 is another process by now"),
            ({"pid": 1 << 70}, False, "dead: pid 1180591620717411303424 is gone"),
            ({"pid": -1}, True, "alive: pid -1"),
            ({}, False, "dead: this process closed it"),
        ],
    )
    def test_without_its_file(
        self, owners: Directory, changed: dict[str, Any], *, alive: bool, how: str
    ) -> None:
        """A missing file leaves boot, namespace, pid and start time; a reused pid proves nothing."""
        verdict = fate(owners, owner_of(**changed), set())
        assert verdict.alive == alive
        assert verdict.how.startswith(how.format(pid=os.getpid(), host=facts().host))

    def test_without_its_file_a_running_process_is_alive(
        self, owners: Directory, holder: tuple[Any, Owner]
    ) -> None:
        """Somebody who empties the folder kills nobody; and this process knows its own."""
        _, owner = holder
        mine = OwnerLock.take(owners, "o-2")
        Path(owners.path, "o-1").unlink()
        Path(owners.path, "o-2").unlink()
        assert fate(owners, owner, set()).alive
        assert fate(owners, owner_of("o-2"), set()).alive
        assert fate(owners, owner_of("o-3"), {"o-3"}).alive
        mine.release()


class TestReclaim:
    @pytest.mark.usefixtures("holder")
    def test_it_removes_leftovers_and_nothing_else(self, owners: Directory, tmp_path: Path) -> None:
        """Empty files and foreign ones go; a live owner's, a kept one, a link and a folder stay."""
        folder = Path(owners.path)
        (folder / "empty").touch()
        (folder / "foreign").write_text('{"pid": 1, "host": "\x1b[2J"}')
        (folder / "kept").touch()
        (folder / "folder").mkdir()
        (folder / "link").symlink_to(tmp_path / "elsewhere")
        (tmp_path / "elsewhere").touch()
        assert reclaim(owners, {"kept"}) == ["empty", "foreign"]
        assert owners.names() == ["folder", "kept", "link", "o-1"]
        assert (tmp_path / "elsewhere").exists()

    def test_a_file_taken_for_a_leftover_before_its_lock_is_made_again(
        self, owners: Directory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Seen between its creation and its lock, a new file is removed, and its owner notices."""
        real = module._lock_in_time
        removed: list[int] = []

        def late(directory: Directory, file: Any, **options: Any) -> bool:
            if not removed:
                removed.append(file.stat().ino)
                directory.unlink("o-1")
            return real(directory, file, **options)

        monkeypatch.setattr(module, "_lock_in_time", late)
        lock = OwnerLock.take(owners, "o-1")
        stat = owners.stat("o-1")
        assert removed
        assert stat is not None
        assert stat.ino == lock._file.stat().ino
        lock.release()

    def test_eight_contenders_keep_what_they_hold(self, owners: Directory) -> None:
        """While eight processes take, reclaim and release at once, no live owner's file is ever removed."""
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", CONTENDER, owners.path, str(n)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for n in range(8)
        ]
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        assert [process.communicate()[0] for process in processes] == ["fine\n"] * 8
        assert owners.names() == []
