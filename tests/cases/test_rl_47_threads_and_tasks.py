"""Steps on threads, tasks and spawned processes: each record belongs to its own key, run and parent."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.children import PRELUDE, ran
from tests.support.outside import Outside
from tests.support.tree import records

KEYS = ("one", "two", "three")

WORK = """
import asyncio, random, threading
from concurrent.futures import ThreadPoolExecutor
how, crashes, draw = arguments[0], arguments[1] == "crash", random.Random(arguments[2])
delays = {key: draw.uniform(0.0, 0.02) for key in ("one", "two", "three")}
done = []

def finished(key):
    done.append(key)
    if crashes and len(done) == 2:
        os._exit(9)

def work(ledger, key):
    with ledger.skip_committed() as skip, ledger.step("work", key=key) as step:
        time.sleep(delays[key])
        happen(key)
        step.result = key
    if not skip.skipped:
        say("ran", key)
    finished(key)

async def work_async(ledger, key):
    async with ledger.skip_committed() as skip, ledger.step("work", key=key) as step:
        await asyncio.sleep(delays[key])
        happen(key)
        step.result = key
    if not skip.skipped:
        say("ran", key)
    finished(key)

async def gather():
    async with Ledger.open() as ledger, ledger.step("parent"):
        await asyncio.gather(*(work_async(ledger, key) for key in delays))

if how == "gather":
    asyncio.run(gather())
elif how == "spawn":
    import subprocess
    sys.exit(subprocess.run([sys.executable, arguments[3], "child", *arguments[1:3]]).returncode)
else:
    with Ledger.open() as ledger:
        if how == "pool":
            with ThreadPoolExecutor(3) as pool:
                list(pool.map(lambda key: work(ledger, key), delays))
        elif how == "threads":
            threads = [threading.Thread(target=work, args=(ledger, key)) for key in delays]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
        else:
            for key in delays:
                work(ledger, key)
"""


def two_then_the_rest(root: Path, how: str, seed: int) -> None:
    """Crash after two of three; then two are no-ops at most, the rest runs, and nothing is repeated unseen."""
    itself = root / "itself.py"
    itself.write_text(f"{PRELUDE}{WORK}", "utf-8")
    ran(WORK, root, how, "crash", seed, itself, code=9)
    first = Outside(root).all()
    assert len(first) in {2, 3}
    settle = """
    with Ledger.open() as ledger:
        for step in ledger.replay().in_doubt:
            if step.key is None:
                ledger.resolve(None, None, Happened(), reason="the parent", lsn=step.lsn)
                continue
            there = happen.__self__.count(step.key)
            outcome = Happened(step.key) if there else NOT_HAPPENED
            ledger.resolve(step.name, step.key, outcome, reason="looked", lsn=step.lsn)
    """
    ran(settle, root)
    again = ran(WORK, root, how, "end", seed, itself).lines
    assert again == [f"ran {key}" for key in KEYS if key not in first]
    assert Counter(Outside(root).all()) == Counter(KEYS)
    intents = {one["lsn"]: one for one in records(root) if one["t"] == "intent"}
    for one in records(root):
        if one["t"] == "commit" and one.get("key") is not None:
            assert intents[one["of"]]["key"] == one["key"] == one["result"]
    parents = {one["lsn"] for one in intents.values() if one["name"] == "parent"}
    for one in intents.values():
        if one["name"] == "work":
            assert (one.get("parent") in parents) == (how == "gather")
    assert len({one["run"] for one in intents.values()}) == 1


@pytest.mark.parametrize("how", ["pool", "threads", "gather", "spawn", "child"])
def test_a_crash_after_two_of_three(root: Path, how: str) -> None:
    """In any order of completion: what was committed is a no-op, the rest runs, each under its own key.

    https://github.com/crewAIInc/crewAI/issues/4822
    """
    two_then_the_rest(root, how, seed=4822)


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("how", ["pool", "threads", "gather", "spawn"])
def test_a_crash_after_two_of_three_fifty_times(tmp_path: Path, how: str) -> None:
    """The whole of it.

    https://github.com/crewAIInc/crewAI/issues/4822
    """
    for seed in range(50):
        root = tmp_path / str(seed)
        root.mkdir()
        two_then_the_rest(root, how, seed)


def test_without_context_a_step_is_recorded_all_the_same(root: Path) -> None:
    """A bare thread inside a step begins without its context: its step has no parent, and is on record.

    https://github.com/crewAIInc/crewAI/issues/4822
    """
    program = """
    import contextvars, threading
    with Ledger.open() as ledger:
        def inner(key):
            with ledger.step("inner", key=key):
                happen(key)
        with ledger.step("outer", key="o"):
            bare = threading.Thread(target=inner, args=("bare",))
            copied = threading.Thread(target=contextvars.copy_context().run, args=(inner, "copied"))
            for thread in (bare, copied):
                thread.start()
                thread.join()
            inner("nested")
        inner("after")
    """
    ran(program, root)
    intents = {one["key"]: one for one in records(root) if one["t"] == "intent"}
    outer = intents["o"]["lsn"]
    parents = {key: one.get("parent") for key, one in intents.items()}
    assert parents == {"o": None, "bare": None, "copied": outer, "nested": outer, "after": None}
    assert [one["t"] for one in records(root)].count("commit") == 5


def test_a_forked_child_is_told_that_the_handle_is_not_its_own(root: Path) -> None:
    """A clear error, never a step that runs unrecorded; its own handle works.

    https://github.com/crewAIInc/crewAI/issues/4822
    """
    program = """
    ledger = Ledger.open()
    with ledger.step("work", key="parent"):
        pid = os.fork()
        if pid == 0:
            try:
                with ledger.step("work", key="child"):
                    happen("unrecorded")
            except ForkedHandle as refusal:
                say(refusal.slug, "Ledger.open()" in refusal.hint)
            with Ledger.open() as own:
                try:
                    with own.step("work", key="parent"):
                        happen("twice")
                except StepInFlight as busy:
                    say(busy.slug, busy.pid == os.getppid())
                with own.step("work", key="child"):
                    happen("recorded")
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
    ledger.close()
    """
    assert ran(program, root).lines == ["forked-handle True", "step-in-flight True"]
    assert Outside(root).all() == ["recorded"]
