"""Threads and processes over the same keys: each effect once, each result its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from runledger import Ledger, Options, StepInFlight
from tests.support.children import Child, command
from tests.support.outside import Outside
from tests.support.tree import records


def at_once(count: int, function: Callable[[int], None]) -> None:
    """So many threads of one function, let go together; an exception of any fails the test."""
    barrier = threading.Barrier(count)

    def run(n: int) -> None:
        barrier.wait(30)
        function(n)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(run, range(count)))


def test_one_key_in_many_threads(ledger: Ledger) -> None:
    """One body; the others are told of it while it runs, and get its result afterwards."""
    effects: list[int] = []
    told: list[list[int] | None] = []
    go = threading.Event()

    @ledger.step("work", key="k1")
    def work() -> list[int]:
        effects.append(1)
        assert go.wait(30)
        return [7]

    def contend(_: int) -> None:
        try:
            told.append(work())
        except StepInFlight:
            told.append(None)
            if told.count(None) == 7:
                go.set()

    at_once(8, contend)
    assert effects == [1]
    assert told.count([7]) == 1
    at_once(8, lambda _: told.append(work()))
    assert told.count([7]) == 9


def test_many_keys_in_many_threads(root: Path, ledger: Ledger) -> None:
    """Each gets the result of its own call, and the numbers have no gap."""

    @ledger.step("work", key="{n}-{m}")
    def work(n: int, m: int) -> tuple[int, int]:
        return n, m

    def several(n: int) -> None:
        for m in range(10):
            assert work(n, m) == (n, m)

    at_once(8, several)
    at_once(8, several)
    lsns = [one["lsn"] for one in records(root)]
    assert lsns == list(range(1, len(lsns) + 1))
    assert ledger.replay().committed == 80


def test_a_failed_body_in_one_thread_is_nobody_else_s(ledger: Ledger) -> None:
    """Each thread's exception is its own."""

    def work(n: int) -> None:
        try:
            with ledger.step("work", key=str(n)):
                if n % 2:
                    raise OSError(str(n))
        except OSError as error:
            if str(error) != str(n):
                raise AssertionError(error) from error

    at_once(8, work)
    told = {step.key: step.failure and step.failure.message for step in ledger.replay().in_doubt}
    assert told == {str(n): str(n) for n in (1, 3, 5, 7)}


def test_readers_beside_writers(root: Path, ledger: Ledger) -> None:
    """Lookups, replays, statuses and compactions go on meanwhile, and what they saw is never taken back."""
    over = threading.Event()

    def write() -> None:
        for n in range(60):
            with ledger.step("work", key=str(n)) as step:
                step.result = n
        over.set()

    def read() -> None:
        seen = 0
        while not over.is_set():
            committed = ledger.replay().committed
            assert committed >= seen
            seen = committed
            known = ledger.lookup("work", str(max(0, seen - 1)))
            assert seen == 0 or (known is not None and known.result == seen - 1)
            ledger.status()

    def fold() -> None:
        for _ in range(5):
            ledger.compact()

    at_once(4, lambda n: (write, read, read, fold)[n]())
    assert ledger.replay().committed == 60


def test_compaction_by_itself_beside_threads(root: Path) -> None:
    """A handle that folds every few steps loses none of them and repeats none."""
    effects: list[str] = []
    with Ledger.open(root, options=Options(compact_after=10, segment_bytes=8192)) as ledger:

        def work(n: int) -> None:
            for m in range(25):
                for _ in range(2):
                    with ledger.skip_committed(), ledger.step("work", key=f"{n}-{m}"):
                        effects.append(f"{n}-{m}")

        at_once(4, work)
    assert len(effects) == len(set(effects)) == 100
    assert command(root, "verify").code == 0


def test_processes_with_threads_over_shared_keys(root: Path) -> None:
    """Each of the keys is worked off once, whoever comes first; two of the processes are killed on the way."""
    program = """
    import threading
    say("ready")
    sys.stdin.readline()
    ledger = Ledger.open()

    def work(start):
        for n in range(40):
            key = str((n + start) % 40)
            try:
                with ledger.skip_committed(), ledger.step("work", key=key):
                    happen(key)
            except (StepInFlight, StepInDoubt):
                pass
        say("one is through")

    threads = [threading.Thread(target=work, args=(7 * n + int(arguments[0]),)) for n in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    ledger.close()
    """
    children = [Child(program, root, 10 * n) for n in range(4)]
    for child in children:
        child.until("ready")
    for child in children:
        child.tell("go")
    for child in children[:2]:
        child.until("one is through")
        child.kill()
    assert [child.end().code for child in children[2:]] == [0, 0]
    outside = Outside(root)
    assert outside.repeated() == []
    with Ledger.open(root) as ledger:
        report = ledger.replay()
        assert report.in_flight == []
        doubts = {str(step.key) for step in report.in_doubt}
        assert report.committed + len(doubts) == 40
        assert {str(n) for n in range(40)} - doubts <= set(outside.all())
    assert command(root, "verify").code == 0
