"""A program that goes through a ledger's life, and says what it is about to do and what it was told is done.

It is killed inside a step, and started again: what it says in between is on the same recording.
"""

from __future__ import annotations

__all__ = ["FIRST", "SECOND"]

PRELUDE = """
from runledger.local import history_fold

history_fold.SLICE = 2  # a few steps are folded by several transactions too
OPTIONS = Options(segment_bytes=1500, compact_after=0, flush_interval=3600.0)


def pay(ledger, key, *, marks=(), ends="returns", times=3, **more):
    say("intends", key)
    try:
        with ledger.step("pay", key=key, **more) as step:
            for label in marks:
                say("marks", key, label)
                step.mark(label)
                say("marked", key, label)
            if ends == "aborts":
                say("aborts", key)
                raise step.abort("not now")
            say("effect", key)
            if ends == "dies":
                os.kill(os.getpid(), 9)
            if ends == "raises":
                raise OSError("the other side hung up")
            step.result = key * times
            say("commits", key, times)
        say("committed", key, times)
    except StepAborted:
        say("aborted", key)
    except OSError:
        pass


def move(word, call, *arguments):
    say("moves", word)
    call(*arguments)
    say("moved", word)
"""

FIRST = (
    PRELUDE
    + """
with Ledger.open(options=OPTIONS) as ledger:
    move("RUNNING", ledger.start, "plan")
    pay(ledger, "a", marks=("half",))
    pay(ledger, "b", ends="raises")
    pay(ledger, "c", ends="aborts")
    pay(ledger, "c", times=20_000)
    move("HALTED", ledger.halt, "wait")
    move("RUNNING", ledger.resume)
    ledger.compact()
    for key in "defg":
        pay(ledger, key)
    say("resolves", "b", 5)
    ledger.resolve("pay", "b", Happened("b" * 5), reason="looked")
    say("committed", "b", 5)
    pay(ledger, "h", marks=("one", "two"), ends="dies")
"""
)

SECOND = (
    PRELUDE
    + """
with Ledger.open(options=OPTIONS) as ledger:
    pay(ledger, "h", probe=lambda step: NOT_HAPPENED)
    for key in "ij":
        pay(ledger, key)
    pay(ledger, "k", ends="raises")
    ledger.compact()
    pay(ledger, "l", scope="ledger")
    ledger.compact()
    pay(ledger, "m")
    move("JACKED_OUT", lambda: ledger.finish(force=True, reason="enough"))
"""
)
