"""Where a step is killed decides what is known of it, always the same, whatever the speed of the host."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from tests.support.children import Child, ran
from tests.support.faults import nth, requires_strace, traced
from tests.support.outside import Outside

VERDICTS = {
    "before-the-intent": {"not-started"},
    "intent-written": {"in_doubt"},
    "before-the-effect": {"in_doubt"},
    "after-the-effect": {"in_doubt"},
    "before-the-commit": {"in_doubt"},
    "commit-half-written": {"in_doubt"},
    "commit-written": {"in_doubt", "committed"},
    "after-the-commit": {"committed"},
}

ROUNDS = """
from tests.support.forks import Fork
import random, signal
point, rounds, seed = arguments[0], int(arguments[1]), int(arguments[2])
draw = random.Random(seed)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def attempt(key, delays):
    write, sync = os.pwrite, os.fdatasync

    def pwrite(fd, data, offset):
        time.sleep(next(delays))
        mine = [line[:13] for line in bytes(data).split(b"\\n") if key.encode() in line]
        intent, commit = (b'{"t":"%s"' % kind in mine for kind in (b"intent", b"commit"))
        if intent and point == "before-the-intent" or commit and point == "before-the-commit":
            die()
        if commit and point == "commit-half-written":
            write(fd, data[: len(data) // 2], offset)
            die()
        done = write(fd, data, offset)
        if intent and point == "intent-written" or commit and point == "commit-written":
            die()
        return done

    def fdatasync(fd):
        time.sleep(next(delays))
        sync(fd)

    def body(say):
        os.pwrite, os.fdatasync = pwrite, fdatasync
        with Ledger.open() as ledger:
            with ledger.step("work", key=key) as step:
                if point == "before-the-effect":
                    die()
                happen(key)
                if point == "after-the-effect":
                    die()
            say("returned")
            if point == "after-the-commit":
                die()
    return body

def look(key):
    def body(say):
        with Ledger.open() as ledger:
            known = ledger.lookup("work", key)
            say("not-started" if known is None else known.status)
            in_doubt = [step.key for step in runledger.replay(root).in_doubt]
            assert (key in in_doubt) == (known is not None and known.status == "in_doubt"), in_doubt
            try:
                with ledger.step("work", key=key):
                    happen(key)
                say("ran")
            except (StepInDoubt, StepCommitted) as refusal:
                say(refusal.slug)
    return body

for n in range(rounds):
    key = f"{point}-{n}"
    delays = iter([draw.uniform(0, 0.003) for _ in range(100)])
    code, said = Fork(attempt(key, delays)).end()
    assert code == -9, code
    assert said == (["returned"] if point == "after-the-commit" else []), said
    code, seen = Fork(look(key)).end()
    assert code == 0
    say(*seen, happen.__self__.count(key))
"""

REENTRY = {"not-started": "ran", "in_doubt": "step-in-doubt", "committed": "step-committed"}


def expect_one_verdict(root: Path, point: str, rounds: int, seed: int) -> None:
    """Kill there again and again, with random delays at each write and sync."""
    lines = ran(ROUNDS, root, point, rounds, seed, seconds=rounds * 3 + 60).lines
    assert len(lines) == rounds
    happened = 0 if point in {"intent-written", "before-the-effect"} else 1
    for line in lines:
        verdict, entered, times = line.split()
        assert verdict in VERDICTS[point]
        assert entered == REENTRY[verdict]
        assert int(times) == happened


@pytest.mark.parametrize("point", VERDICTS)
def test_a_kill_point_has_one_verdict(root: Path, point: str) -> None:
    """Not started, in doubt, committed: the point alone decides, and no effect is repeated.

    https://github.com/langchain-ai/langgraph/issues/8039
    """
    expect_one_verdict(root, point, rounds=4, seed=8039)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("point", VERDICTS)
def test_a_kill_point_has_one_verdict_a_hundred_times(root: Path, point: str) -> None:
    """The whole of it.

    https://github.com/langchain-ai/langgraph/issues/8039
    """
    expect_one_verdict(root, point, rounds=100, seed=1)


STEP = """
with Ledger.open() as ledger:
    with ledger.step("work", key="k1"):
        happen("k1")
"""


@requires_strace
def test_the_intents_sync_returns_before_the_effects_first_call(root: Path, tmp_path: Path) -> None:
    """The order of system calls: the intent is written and synced, then the effect, then the commit.

    https://github.com/langchain-ai/langgraph/issues/8039
    """
    log = tmp_path / "trace"
    ran(STEP, root, wrap=traced(log, "inject=fdatasync:delay_exit=20000"))
    calls = log.read_text("utf-8").splitlines()
    intent = next(n for n, call in enumerate(calls) if "pwrite64" in call and r"\"intent\"" in call)
    effect = next(n for n, call in enumerate(calls) if re.search(r'write\(\d+, "k1\\n"', call))
    commit = next(n for n, call in enumerate(calls) if "pwrite64" in call and r"\"commit\"" in call)
    syncs = [n for n, call in enumerate(calls) if re.search(r"fdatasync.*= 0", call)]
    assert any(intent < sync < effect for sync in syncs)
    assert effect < commit
    assert any(commit < sync for sync in syncs)


def killed_by_strace(tmp_path: Path, point: str, rounds: int) -> None:
    """A step a round, killed as it enters a system call, with the syncs delayed by chance."""
    kind = point.removeprefix("before-the-")
    undisturbed = tmp_path / "undisturbed"
    undisturbed.mkdir()
    when = nth(STEP, undisturbed, tmp_path / "calls", "pwrite64", rf"\\\"{kind}\\\"")
    draw = random.Random(8039)
    for number in range(rounds):
        root = tmp_path / f"round-{number}"
        root.mkdir()
        kill = f"inject=pwrite64:signal=KILL:when={when}"
        delay = f"inject=fdatasync:delay_enter={draw.randrange(5000)}"
        with Child(STEP, root, wrap=traced(tmp_path / "trace", kill, delay)) as child:
            child.end()
        look = "known = Ledger.open().lookup('work', 'k1')\nsay(known and known.status)"
        assert ran(look, root).lines == ["in_doubt" if kind == "commit" else "None"]
        assert Outside(root).count("k1") == (1 if kind == "commit" else 0)


@requires_strace
@pytest.mark.parametrize("point", ["before-the-intent", "before-the-commit"])
def test_a_kill_inside_a_system_call_has_the_same_verdict(tmp_path: Path, point: str) -> None:
    """The same where strace kills at the call itself and delays the syncs.

    https://github.com/langchain-ai/langgraph/issues/8039
    """
    killed_by_strace(tmp_path, point, rounds=1)


@requires_strace
@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("point", ["before-the-intent", "before-the-commit"])
def test_a_kill_inside_a_system_call_has_the_same_verdict_a_hundred_times(tmp_path: Path, point: str) -> None:
    """The whole of it.

    https://github.com/langchain-ai/langgraph/issues/8039
    """
    killed_by_strace(tmp_path, point, rounds=100)
