"""Many contenders enter one step at once: one body runs, nobody is told that it is done before it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Child, ran
from tests.support.outside import Outside

CONTENDERS = 8

PROCESS = """
key, seconds = arguments[0], float(arguments[1])
fails = arguments[2:] == ["fails"]

class Refused(Exception):
    pass

with Ledger.open() as ledger:
    @ledger.step("charge", key=key, aborts_on=Refused)
    def charge():
        first = not happen.__self__.all()
        happen("entered")
        time.sleep(seconds)
        if fails and first:
            raise Refused("declined")
        happen("charged")
        return "receipt"

    say("ready")
    sys.stdin.readline()
    while True:
        try:
            say("got", charge(), ledger.lookup("charge", key).lsn)
            break
        except StepInFlight as busy:
            assert busy.pid and busy.pid != os.getpid()
            assert ledger.lookup("charge", key).status != "committed" or charge() == "receipt"
            time.sleep(0.02)
        except Refused:
            say("failed")
"""

THREADS = """
import threading
rounds, seconds, contenders = int(arguments[0]), float(arguments[1]), int(arguments[2])
with Ledger.open() as ledger:
    for round in range(rounds):
        barrier = threading.Barrier(contenders)
        told = []

        @ledger.step("charge", key=f"order-{round}")
        def charge():
            happen(f"charged {round}")
            time.sleep(seconds)
            told.append("end of the body")
            return ["receipt", round]

        def contend():
            barrier.wait()
            while True:
                try:
                    receipt = charge()
                except StepInFlight as busy:
                    assert busy.pid == os.getpid()
                    time.sleep(seconds / 10)
                else:
                    assert receipt == ["receipt", round]
                    told.append("receipt")
                    return

        threads = [threading.Thread(target=contend) for _ in range(contenders)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert told == ["end of the body"] + ["receipt"] * contenders, told
"""

TASKS = """
import asyncio
rounds, seconds, contenders = int(arguments[0]), float(arguments[1]), int(arguments[2])

async def main():
    async with Ledger.open() as ledger:
        for round in range(rounds):
            told = []

            @ledger.step("charge", key=f"order-{round}")
            async def charge():
                happen(f"charged {round}")
                await asyncio.sleep(seconds)
                told.append("end of the body")
                return ["receipt", round]

            async def contend():
                while True:
                    try:
                        receipt = await charge()
                    except StepInFlight:
                        await asyncio.sleep(seconds / 10)
                    else:
                        assert receipt == ["receipt", round]
                        told.append("receipt")
                        return

            await asyncio.wait_for(asyncio.gather(*(contend() for _ in range(contenders))), 30)
            assert told == ["end of the body"] + ["receipt"] * contenders, told

asyncio.run(main())
"""


def compete(root: Path, seconds: float, *words: str) -> list[str]:
    """Let eight processes compete for one key; what all of them were told."""
    children = [Child(PROCESS, root, "order-1", seconds, *words) for _ in range(CONTENDERS)]
    for child in children:
        child.until("ready")
    for child in children:
        child.tell("go")
    return [line for child in children for line in child.end().lines if line != "ready"]


def one_of_processes(root: Path, seconds: float) -> None:
    """Exactly one body, and one receipt for all."""
    told = compete(root, seconds)
    assert len(told) == CONTENDERS
    assert len(set(told)) == 1
    assert Outside(root).all() == ["entered", "charged"]


def one_after_a_failure(root: Path, seconds: float) -> None:
    """The first body says that it did nothing; then exactly one succeeds."""
    told = compete(root, seconds, "fails")
    assert told.count("failed") == 1
    assert len(set(told) - {"failed"}) == 1
    assert told.count("failed") + CONTENDERS == len(told)
    assert Outside(root).all() == ["entered", "entered", "charged"]


def one_within_a_process(root: Path, program: str, rounds: int, seconds: float) -> None:
    """Exactly one body a round."""
    ran(program, root, rounds, seconds, CONTENDERS)
    assert Outside(root).all() == [f"charged {round_}" for round_ in range(rounds)]


def test_one_of_eight_processes_runs_the_body(root: Path) -> None:
    """The effect happens once; losers are told that it is in progress, later they get the winner's result.

    https://github.com/dbos-inc/dbos-transact-py/issues/544
    """
    one_of_processes(root, 0.3)


@pytest.mark.parametrize("program", [THREADS, TASKS], ids=["threads", "tasks"])
def test_one_of_eight_within_a_process_runs_the_body(root: Path, program: str) -> None:
    """The same among threads, and among tasks on one loop, without a deadlock.

    https://github.com/dbos-inc/dbos-transact-py/issues/544
    """
    one_within_a_process(root, program, rounds=4, seconds=0.05)


def test_after_a_first_holder_that_failed_one_succeeds(root: Path) -> None:
    """A declared failure is one failed attempt, then one success.

    https://github.com/dbos-inc/dbos-transact-py/issues/544
    """
    one_after_a_failure(root, 0.3)


def test_an_undeclared_failure_leaves_a_doubt_that_no_contender_repeats(root: Path) -> None:
    """By the contract an exception proves nothing: one failed attempt, then everybody is told of the doubt.

    https://github.com/dbos-inc/dbos-transact-py/issues/544
    """
    program = """
    with Ledger.open() as ledger:
        say("ready")
        sys.stdin.readline()
        while True:
            try:
                with ledger.step("charge", key="order-1"):
                    happen("entered")
                    time.sleep(0.1)
                    raise ValueError("connection lost")
            except StepInFlight:
                time.sleep(0.02)
            except StepInDoubt as doubt:
                say("doubt", doubt.step.failure.message)
                break
            except ValueError:
                say("failed")
                break
    """
    children = [Child(program, root) for _ in range(4)]
    for child in children:
        child.until("ready")
    for child in children:
        child.tell("go")
    told = [line for child in children for line in child.end().lines if line != "ready"]
    assert sorted(told) == ["doubt connection lost"] * 3 + ["failed"]
    assert Outside(root).all() == ["entered"]


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("again", range(50))
def test_fifty_times_one_winner(root: Path, again: int) -> None:
    """The whole of it, with an effect of two seconds.

    https://github.com/dbos-inc/dbos-transact-py/issues/544
    """
    for name, attempt in (("v1", one_of_processes), ("v4", one_after_a_failure)):
        folder = root / name
        folder.mkdir()
        attempt(folder, 2.0)
    for name, program in (("v2", THREADS), ("v3", TASKS)):
        folder = root / name
        folder.mkdir()
        one_within_a_process(folder, program, rounds=1, seconds=2.0)
