"""What a killed process leaves of its locks is passed at once; a lock that is truly held still excludes."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.children import Child, ran
from tests.support.outside import Outside
from tests.support.tree import records

KILLED = """
ledger = Ledger.open()
with ledger.step("begin", key="k0"):
    pass
say("ready")
sys.stdin.readline()
"""

STEP = """
with Ledger.open() as ledger:
    with ledger.step("work", key="k1"):
        happen("k1")
"""

CONTEND = """
alone = root / "alone"
say("ready")
sys.stdin.readline()
while True:
    try:
        with Ledger.open() as ledger, ledger.step("work", key="shared"):
            os.close(os.open(alone, os.O_CREAT | os.O_EXCL))
            happen("shared")
            time.sleep(0.05)
            alone.unlink()
    except StepInFlight:
        time.sleep(0.005)
    except StepCommitted:
        break
"""


@pytest.fixture
def sleeper() -> Iterator[int]:
    """The pid of an unrelated live process."""
    with subprocess.Popen(["sleep", "60"]) as process:
        yield process.pid
        process.kill()


def dead_pid() -> int:
    """The pid of a process that is over."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
        return process.pid


def contents(sleeper: int) -> dict[str, bytes]:
    """What stands in a leftover: nothing, a dead pid, somebody else's pid, the first pid of any container."""
    return {
        "empty": b"",
        "dead-pid": f"{dead_pid()}\n".encode(),
        "reused-pid": f"{sleeper}\n".encode(),
        "pid-1": b"1\n",
    }


def leave_behind(root: Path, content: bytes) -> Path:
    """Have an owner killed, and leave each kind of lock file with this content; the forged owner's file."""
    with Child(KILLED, root) as child:
        child.until("ready")
        child.kill()
    ledger = root / ".run" / "ledger"
    forged = ledger / "owners" / "o-0123456789ab"
    for path in (ledger / "lock", ledger / "compact.lock", forged, *(ledger / "owners").iterdir()):
        path.write_bytes(content)
    return forged


def contend(root: Path, contenders: int) -> None:
    """All enter one step at once, again and again until it is committed; no two are inside together."""
    children = [Child(CONTEND, root) for _ in range(contenders)]
    for child in children:
        child.until("ready")
    for child in children:
        child.tell("go")
    assert [child.end().code for child in children] == [0] * contenders


@pytest.mark.parametrize("kind", ["empty", "dead-pid", "reused-pid", "pid-1"])
def test_a_leftover_lock_is_passed_and_said(root: Path, sleeper: int, kind: str) -> None:
    """Within seconds, with a line that says so, no file deleted by hand; the dead owner is put on record.

    https://github.com/xai-org/grok-build-plugin-cc/issues/30
    """
    forged = leave_behind(root, contents(sleeper)[kind])
    begun = time.monotonic()
    ended = ran(STEP, root)
    assert time.monotonic() - begun < 10
    assert f"event='owner.lock_reclaimed' file='{forged.name}'" in ended.err
    assert "event='owner.lost'" in ended.err
    assert not forged.exists()
    assert [one["t"] for one in records(root)].count("lost") == 1
    assert Outside(root).all() == ["k1"]
    ran("Ledger.open().compact()", root)


def test_eight_at_once_pass_a_leftover_and_exclude_each_other(root: Path) -> None:
    """Nobody waits for the dead, and no two are ever inside together.

    https://github.com/xai-org/grok-build-plugin-cc/issues/30
    """
    leave_behind(root, b"1\n")
    contend(root, 8)
    assert Outside(root).all() == ["shared"]


def test_a_lock_seen_before_it_is_locked_is_not_shared(root: Path) -> None:
    """While empty files come and go among the owners' locks, contenders still exclude each other.

    https://github.com/xai-org/grok-build-plugin-cc/issues/30
    """
    leave_behind(root, b"")
    litter = """
    owners = root / ".run" / "ledger" / "owners"
    say("ready")
    n = 0
    while True:
        n += 1
        (owners / f"o-{n:012x}").touch()
        for path in owners.iterdir():
            if path.name.startswith("o-00") and n % 3 == 0:
                path.unlink(missing_ok=True)
        time.sleep(0.001)
    """
    with Child(litter, root) as litterer:
        litterer.until("ready")
        contend(root, 4)
    assert Outside(root).all() == ["shared"]


def test_a_lock_that_is_held_excludes(root: Path) -> None:
    """A live owner's step is in flight; a held append lock refuses within its bound, before any effect.

    https://github.com/xai-org/grok-build-plugin-cc/issues/30
    """
    holder = """
    import fcntl
    ledger = Ledger.open()
    with ledger.step("work", key="k1"):
        say("inside")
        sys.stdin.readline()
        lock = os.open(root / ".run" / "ledger" / "lock", os.O_RDWR)
        fcntl.flock(lock, fcntl.LOCK_EX)
        say("locked")
        sys.stdin.readline()
        os.close(lock)
    """
    meet = """
    try:
        with Ledger.open(options=Options(lock_timeout=0.5)) as ledger, ledger.step("work", key=arguments[0]):
            happen("twice")
    except LedgerError as refusal:
        say(refusal.slug, refusal.exit_code, getattr(refusal, "pid", None))
        assert str(root) in str(refusal) or refusal.slug == "step-in-flight"
    """
    with Child(holder, root) as child:
        child.until("inside")
        assert ran(meet, root, "k1").lines == [f"step-in-flight 75 {child.pid}"]
        child.tell("lock")
        child.until("locked")
        assert ran(meet, root, "k2").lines == ["ledger-busy 75 None"]
        child.tell("end")
        assert child.end().code == 0
    assert Outside(root).all() == []
