"""A signal's handler, and the garbage collector, in the middle of a record."""

from __future__ import annotations

from pathlib import Path

from runledger.verify import verify
from tests.support.children import PRELUDE, Child
from tests.support.outside import Outside

SETTING = """
import gc, signal, threading, time
from runledger import LedgerBusy, LedgerError

with Ledger.open() as first, first.step("first", key="1"):
    pass  # what Python starts and loads once is there

def alarm(handler, seconds):
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

def quiet():
    signal.setitimer(signal.ITIMER_REAL, 0)
"""


def told(root: Path, program: str) -> str:
    """The last line of a child that ends by itself."""
    with Child(program, root, prelude=PRELUDE + SETTING) as child:
        ended = child.end()
    assert (ended.code, "Traceback" in ended.err) == (0, False), ended
    return ended.lines[-1]


def test_a_handler_that_records(root: Path) -> None:
    """Inside a record it is told that it cannot, at once; elsewhere it can. Nothing hangs, nothing is lost."""
    program = """
    with Ledger.open() as ledger:
        asked = []
        def beat(*_):
            try:
                ledger.heartbeat()
                asked.append(True)
            except LedgerBusy:
                asked.append(False)
        n, until = 0, time.monotonic() + 30
        alarm(beat, 0.003)
        while time.monotonic() < until and not (n > 60 and {True, False} <= set(asked)):
            with ledger.step("work", key=str(n)):
                happen(str(n))
            time.sleep(0.0005)
            n += 1
        quiet()
        say(sorted(set(asked)))
    """
    assert told(root, program) == "[False, True]"
    assert Outside(root).repeated() == []
    assert verify(root) == []


def test_a_handler_that_raises_an_error_of_the_system(root: Path) -> None:
    """A deadline is not the disk's refusal: its own exception arrives, and the ledger goes on."""
    program = """
    def late(*_):
        raise TimeoutError("the deadline passed")
    with Ledger.open() as ledger:
        signal.signal(signal.SIGALRM, late)
        seen, n = set(), 0
        for round in range(50):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001 + (round % 20) * 0.0003)
                for _ in range(100):  # the exception may be lost where Python ignores one
                    n += 1
                    with ledger.step("work", key=str(n)) as step:
                        step.result = n
            except TimeoutError:
                seen.add("late")
            except LedgerError as error:
                seen.add(repr(error))
        say(sorted(seen))
    """
    assert told(root, program) == "['late']"
    assert verify(root) == []


def test_a_handler_that_ends_the_program_beside_threads(root: Path) -> None:
    """The lead is handed on: the other threads go on and come to their end."""
    program = """
    class Over(SystemExit): pass
    def leave(*_):
        raise Over
    with Ledger.open() as ledger:
        stop = threading.Event()
        def work(who):
            n = 0
            while not stop.is_set():
                with ledger.step("work", key=f"{who}-{n}"):
                    pass
                n += 1
        threads = [threading.Thread(target=work, args=(who,)) for who in range(3)]
        for thread in threads: thread.start()
        signal.signal(signal.SIGALRM, leave)
        n = 0
        for round in range(40):
            try:
                signal.setitimer(signal.ITIMER_REAL, 0.001 + (round % 20) * 0.0004)
                for _ in range(100):
                    with ledger.step("main", key=str(n)):
                        pass
                    n += 1
            except Over:
                n += 1
        stop.set()
        for thread in threads: thread.join(30)
        say(any(thread.is_alive() for thread in threads))
    """
    assert told(root, program) == "False"
    assert verify(root) == []


def test_a_generator_that_is_collected_in_the_middle_of_a_record(root: Path) -> None:
    """Its step is in doubt, as that of any generator that nobody ends, and nothing hangs."""
    program = """
    gc.set_threshold(40)
    with Ledger.open() as ledger:
        def inside(n):
            with ledger.step("inside", key=str(n), idempotent=True):
                yield n
        class Box: pass
        for n in range(200):
            box = Box()
            box.generator, box.me = inside(n), box
            next(box.generator)
            with ledger.step("work", key=str(n), idempotent=True) as step:
                step.result = [[i] for i in range(30)]
        gc.collect()
        say(ledger.status().committed)
    """
    assert told(root, program) == "201"
