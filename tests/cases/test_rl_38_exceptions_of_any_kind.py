"""Whatever a body raises is recorded as text: it can always be listed, and is never served as if fresh."""

from __future__ import annotations

import json
from pathlib import Path

from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import records

RAISE = """
import threading

class TwoArguments(Exception):
    def __init__(self, code, detail):
        super().__init__(f"{code}: {detail}")

class Holds(Exception):
    def __init__(self):
        super().__init__("held")
        self.lock = threading.Lock()
        self.stream = open(os.devnull)

class Gone(Exception):
    pass

class Unshowable(Exception):
    def __str__(self):
        raise RuntimeError("no text either")

def chained():
    try:
        raise KeyError("inner")
    except KeyError as inner:
        raise ValueError("outer") from inner

def two_arguments(): raise TwoArguments(7, "declined")
def holds(): raise Holds()
def group(): raise ExceptionGroup("several", [ValueError("one"), TwoArguments(1, "two")])
def gone(): raise Gone("in the next version")
def unshowable(): raise Unshowable()
def surrogate(): raise ValueError("half \\ud800 a pair, \\x1b[31m, \\x00")
def huge(): raise ValueError("x" * 100_000)

KINDS = [two_arguments, holds, group, chained, gone, unshowable, surrogate, huge]
with Ledger.open() as ledger:
    for kind in KINDS:
        try:
            with ledger.step("work", key=kind.__name__):
                happen(kind.__name__)
                kind()
        except Exception as error:
            say(type(error).__name__)
"""

FAILURES = {
    "two_arguments": ("__main__.TwoArguments", "7: declined"),
    "holds": ("__main__.Holds", "held"),
    "group": ("ExceptionGroup", "several (2 sub-exceptions)"),
    "chained": ("ValueError", "outer"),
    "gone": ("__main__.Gone", "in the next version"),
    "unshowable": ("__main__.Unshowable", "(its message cannot be shown)"),
    "surrogate": ("ValueError", "half \\ud800 a pair, \x1b[31m, \x00"),
    "huge": ("ValueError", "x" * 2000),
}

REENTER = """
with Ledger.open() as ledger:
    for key in arguments:
        try:
            with ledger.step("work", key=key):
                happen(key)
            say(key, "ran")
        except LedgerError as refusal:
            say(key, refusal.slug)
"""


def test_every_exception_is_listed_and_none_is_raised_again(root: Path) -> None:
    """The caller gets its own exception; a later process lists type and message of each, before and after folding.

    A failed step is no commit. By the contract it is in doubt, and runs again once it is settled that nothing
    happened; the old exception is never raised for the new attempt.

    https://github.com/dbos-inc/dbos-transact-py/issues/371
    """
    raised = ran(RAISE, root).lines
    assert raised == [
        "TwoArguments",
        "Holds",
        "ExceptionGroup",
        "ValueError",
        "Gone",
        "Unshowable",
        "ValueError",
        "ValueError",
    ]
    for _ in range(2):
        listed = json.loads(command(root, "replay", "--json").lines[0])["in_doubt"]
        told = {step["key"]: (step["failure"]["type"], step["failure"]["message"]) for step in listed}
        assert told == FAILURES
        shown = command(root, "replay")
        assert shown.code == 1
        assert "\x1b" not in "".join(shown.lines)
        for line in ran(REENTER, root, *FAILURES).lines:
            assert line.endswith("step-in-doubt")
        assert command(root, "compact").code == 0
    for key in FAILURES:
        ended = command(root, "resolve", "work", key, "--not-happened", "--reason", "looked")
        assert ended.code == 0, ended
    assert ran(REENTER, root, *FAILURES).lines == [f"{key} ran" for key in FAILURES]
    assert json.loads(command(root, "replay", "--json").lines[0])["in_doubt"] == []
    assert sorted(Outside(root).all()) == sorted([*FAILURES, *FAILURES])


def test_a_declared_failure_runs_again_by_itself(root: Path) -> None:
    """``aborts_on`` says that such an exception proves that nothing happened: the next entry is attempt two.

    https://github.com/dbos-inc/dbos-transact-py/issues/371
    """
    program = """
    class Declined(Exception):
        def __init__(self, code, detail):
            super().__init__(code, detail)

    with Ledger.open() as ledger:
        @ledger.step("work", key="k1", aborts_on=Declined)
        def work():
            happen("tried")
            if happen.__self__.count("tried") == 1:
                raise Declined(7, "no")
            return "done"
        try:
            say(work(), ledger.lookup("work", "k1").attempt)
        except Declined as error:
            say(error.args, ledger.lookup("work", "k1").status)
    """
    assert ran(program, root).lines == ["(7, 'no') aborted"]
    assert ran(program, root).lines == ["done 2"]
    (abort,) = [one for one in records(root) if one["t"] == "abort"]
    assert "Declined" in abort["reason"]
