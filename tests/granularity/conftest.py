"""A run with everything in it, made once: its owners die, and its clock is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Child

LIFE = """
import signal
import runledger.clock

class Told:
    gmtime = staticmethod(time.gmtime)
    now = float(arguments[0])
    def time(self):
        Told.now += 0.0004
        return Told.now
    def pass_by(self, seconds):
        Told.now += seconds

clock = runledger.clock.time = Told()

def die():
    say(clock.now)
    os.kill(os.getpid(), signal.SIGKILL)
"""

WORK = (
    LIFE
    + """
life, lives, tiny = (int(word) for word in arguments[1:])
with Ledger.open(options=runledger.Options(compact_after=0)) as ledger:
    if life == 0:
        ledger.start("plan-7", sprints=["sprint-1", "sprint-2"])
    for number in range(10):
        with ledger.skip_committed(), ledger.step("train", key=f"model-{number}", idempotent=True) as step:
            step.mark("call", tokens=70_000 + number)
            clock.pass_by(3600)
            if number == life and life < lives:
                die()
            clock.pass_by(3600)
    with ledger.skip_committed(), ledger.step("send", key="mail") as step:
        clock.pass_by(5000)
    with ledger.skip_committed(), ledger.step("gather", key="all", idempotent=True):
        for number in range(3):
            with ledger.step("fetch", key=f"page-{number}", idempotent=True):
                clock.pass_by(200)
    for number in range(tiny):
        with ledger.step("tick", key=str(number), idempotent=True):
            pass
    for number in range(6):
        clock.pass_by(2400)
        ledger.heartbeat()
    ledger.complete_sprint("sprint-1")
    say(clock.now)
"""
)


def work(root: Path, *, lives: int, tiny: int) -> None:
    """A run that dies ``lives`` times in its long steps."""
    root.mkdir(parents=True, exist_ok=True)
    now = 1_700_000_000.0
    for life in range(lives + 1):
        with Child(WORK, root, now, life, lives, tiny) as child:
            now = float(child.line()) + 60
            ended = child.end()
        assert ended.code == (-9 if life < lives else 0), ended.err


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten long steps, three nested ones, an effect, some tiny steps; six deaths."""
    root = tmp_path_factory.mktemp("lived")
    work(root, lives=6, tiny=300)
    return root


@pytest.fixture(scope="module")
def deathless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without a death, and with few tiny steps."""
    root = tmp_path_factory.mktemp("deathless")
    work(root, lives=0, tiny=50)
    return root
