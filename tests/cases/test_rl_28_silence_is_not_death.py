"""A live owner is never declared dead by silence; a dead one is not kept alive by what it left behind."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran, stopped
from tests.support.faults import patched
from tests.support.outside import Outside

OWNER = """
import ctypes
with Ledger.open() as ledger:
    with ledger.step("work", key="k1") as step:
        happen("owner")
        say("inside")
        {silence}
        sys.stdin.readline()
    say("committed")
"""
SILENCES = {
    "stopped": "pass",
    "holds-the-gil": "ctypes.PyDLL(None).usleep(2_500_000)",
}

SECOND = """
with Ledger.open() as ledger:
    try:
        with ledger.step("work", key="k1"):
            happen("second")
    except LedgerError as refusal:
        say(refusal.slug)
    ledger.compact()
"""

EIGHT_HOURS_LATER = "import time\nreal = time.time\ntime.time = lambda: real() + 8 * 3600\n"


def seen(root: Path, env: dict[str, str]) -> dict[str, list[dict[str, object]]]:
    """What a replay tells, in flight and in doubt."""
    report: dict[str, list[dict[str, object]]] = json.loads(
        command(root, "replay", "--json", env=env).lines[0]
    )
    return report


def expect_in_flight(root: Path, env: dict[str, str]) -> None:
    """Replay, a compaction and a second worker leave the owner what it holds."""
    report = seen(root, env)
    assert [step["key"] for step in report["in_flight"]] == ["k1"]
    assert report["in_doubt"] == []
    assert ran(SECOND, root, env=env).lines == ["step-in-flight"]
    assert [step["key"] for step in seen(root, env)["in_flight"]] == ["k1"]


@pytest.mark.parametrize("later", ["now", "8-hours-later"])
@pytest.mark.parametrize("how", SILENCES)
def test_a_silent_owner_is_alive_and_commits_later(root: Path, tmp_path: Path, how: str, later: str) -> None:
    """Stopped, or in a call that never lets go, however late it seems: in flight, and its commit is accepted.

    https://github.com/haowjy/meridian-cli/issues/25
    https://github.com/qf-studio/pilot/issues/4691
    """
    env = patched(tmp_path / "later", EIGHT_HOURS_LATER) if later == "8-hours-later" else {}
    with Child(OWNER.format(silence=SILENCES[how]), root) as owner:
        owner.until("inside")
        if how == "stopped":
            with stopped(owner):
                expect_in_flight(root, env)
                assert "stopped" in str(seen(root, env)["in_flight"][0]["owner"])
        else:
            expect_in_flight(root, env)
        owner.tell("go on")
        assert owner.end().lines[-1] == "committed"
    assert Outside(root).all() == ["owner"]
    assert command(root, "show", "work", "k1").lines[0].startswith("work k1: committed")


def test_a_dead_owner_whose_child_goes_on_is_dead(root: Path) -> None:
    """Killed, with a child that inherited its lock and still touches files in .run: the step has no owner.

    https://github.com/qf-studio/pilot/issues/4691
    """
    program = """
    import ctypes
    ledger = Ledger.open()
    step = ledger.step("work", key="k1")
    step.__enter__()
    happen("owner")
    child = ctypes.CDLL(None).fork()  # behind Python's back: nothing lets go of the lock
    if child == 0:
        while True:
            (root / ".run" / "ledger" / "owners").touch()
            (root / ".run" / "noise").write_text("alive")
            time.sleep(0.01)
    say(child)
    sys.stdin.readline()
    """
    with Child(program, root) as owner:
        child = int(owner.line())
        owner.process.kill()
        owner.process.wait()
        try:
            report = seen(root, {})
            assert report["in_flight"] == []
            (step,) = report["in_doubt"]
            assert "dead" in str(step["owner"])
            assert ran(SECOND, root).lines == ["step-in-doubt"]
        finally:
            os.kill(child, signal.SIGKILL)
    assert Outside(root).all() == ["owner"]


def test_a_late_commit_of_a_session_that_was_taken_over_is_refused(root: Path) -> None:
    """A session has only its lease: once that is over and another attempt began, its commit is refused.

    https://github.com/qf-studio/pilot/issues/4691
    """
    token = command(root, "begin", "work", "--key", "k1", "--lease", "0.2s").lines[0]
    held = json.loads(command(root, "replay", "--json").lines[0])
    assert held["in_flight"] or held["in_doubt"]
    time.sleep(0.3)
    assert [step["key"] for step in seen(root, {})["in_doubt"]] == ["k1"]
    settled = command(root, "resolve", "work", "k1", "--not-happened", "--reason", "looked: nothing there")
    assert settled.code == 0, settled
    other = command(root, "begin", "work", "--key", "k1", "--lease", "15m").lines[0]
    late = command(root, "commit", token)
    assert late.code == 76, late
    assert "not the current one" in late.err
    assert command(root, "commit", other).code == 0


def test_a_late_commit_of_a_session_that_nobody_took_over_is_accepted(root: Path) -> None:
    """Its attempt is still the current one.

    https://github.com/qf-studio/pilot/issues/4691
    """
    token = command(root, "begin", "work", "--key", "k1", "--lease", "0.1s").lines[0]
    time.sleep(0.2)
    assert command(root, "commit", token).code == 0
    assert command(root, "begin", "work", "--key", "k1").code == 79
