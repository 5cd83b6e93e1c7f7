"""Arguments of a wrong type are refused at the call, and the ledger stays readable."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runledger import NOT_HAPPENED, Happened, Ledger, Options, UsageError, replay
from runledger.store import Aborted, Claim, Move, Note, Resolution
from tests.api.doubts import left_in_doubt
from tests.support.tree import records, state

Call = Callable[[Any], object]

WRONG: dict[str, Call] = {
    "step idempotent": lambda it: it.step("x", key="k", idempotent=1),
    "step scope": lambda it: it.step("x", key="k", scope=5),
    "step aborts_on": lambda it: it.step("x", key="k", aborts_on=5),
    "run plan": lambda it: it.run(5),
    "run branch": lambda it: it.run("p", 5),
    "run sprints": lambda it: it.run("p", sprints=5),
    "start plan": lambda it: it.start(5),
    "start branch": lambda it: it.start("p", branch=5),
    "start sprints": lambda it: it.start("p", sprints=5),
    "start one sprint": lambda it: it.start("p", sprints="s1"),
    "begin sprint": lambda it: it.begin_sprint(5),
    "complete sprint": lambda it: it.complete_sprint(b"s1"),
    "halt": lambda it: it.halt(5),
    "halt bytes": lambda it: it.halt(b"disk full"),
    "resume": lambda it: it.resume(by=5),
    "finish force": lambda it: it.finish(force=1, reason="x"),
    "finish reason": lambda it: it.finish(reason=5),
    "abandon": lambda it: it.abandon(5),
    "adopt": lambda it: it.adopt(force=1),
    "resolve reason": lambda it: it.resolve("work", "k1", NOT_HAPPENED, reason=5),
    "resolve name": lambda it: it.resolve(5, "k1", NOT_HAPPENED, reason="x"),
    "resolve key": lambda it: it.resolve("work", 5, NOT_HAPPENED, reason="x"),
    "resolve lsn": lambda it: it.resolve("work", "k1", NOT_HAPPENED, reason="x", lsn="3"),
    "every": lambda it: it.every([]),
    "surrogate halt": lambda it: it.halt("\ud800"),
    "surrogate resume": lambda it: it.resume("\ud800"),
    "surrogate plan": lambda it: it.start("\ud800"),
    "surrogate branch": lambda it: it.run("p", "\ud800"),
    "surrogate finish": lambda it: it.finish(reason="\ud800"),
    "surrogate abandon": lambda it: it.abandon("\ud800"),
    "surrogate resolve": lambda it: it.resolve("work", "k1", Happened(), reason="\ud800"),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG.keys())
def test_a_wrong_argument(root: Path, ledger: Ledger, call: Call) -> None:
    """``UsageError``, and nothing on record or in memory."""
    left_in_doubt(ledger)
    before = records(root)
    with pytest.raises(UsageError):
        call(ledger)
    assert records(root) == before
    assert ledger.status().state == replay(root).state == "RUNNING"


def test_a_wrong_argument_in_a_body(root: Path, ledger: Ledger) -> None:
    """A mark's label and an abort's reason are texts, too; the body may go on."""
    with ledger.step("work", key="k1") as step:
        for wrong in (5, b"x", "\ud800"):
            with pytest.raises(UsageError):
                step.mark(wrong)  # type: ignore[arg-type]  # that is the test
            with pytest.raises(UsageError):
                raise step.abort(wrong)  # type: ignore[arg-type]  # that is the test
    assert [one["t"] for one in records(root)][-1] == "commit"


def test_an_enum_s_member_is_the_text_that_it_holds(root: Path, ledger: Ledger) -> None:
    """Plain text on record, in memory and in the state file."""

    class Plan(enum.StrEnum):
        ONE = "one"

    ledger.start(Plan.ONE)
    assert state(root)["plan_id"] == "one"
    assert type(ledger.status().plan_id) is str


@pytest.mark.parametrize("path", [b"there", "a\0b", 5], ids=repr)
def test_what_names_no_directory(path: Any) -> None:
    """Refused by whatever opens one."""
    for opens in (Ledger.open, replay):
        with pytest.raises(UsageError):
            opens(path)


@pytest.mark.parametrize(
    "options",
    [{"segment_bytes": 0}, {"result_bytes": 1.5}, {"lock_timeout": "1"}, {"compact_after": True}],
    ids=repr,
)
def test_options_that_cannot_be(options: dict[str, Any]) -> None:
    """Refused where they are made."""
    with pytest.raises(UsageError, match=next(iter(options))):
        Options(**options)


@pytest.mark.parametrize(
    "request_of",
    [
        lambda: Claim(name="x", key="k", idempotent=1),  # type: ignore[arg-type]  # that is the test
        lambda: Claim(name=5, key="k"),  # type: ignore[arg-type]  # the same
        lambda: Aborted(reason=5),  # type: ignore[arg-type]  # the same
        lambda: Note(lsn=1, label="\ud800"),
        lambda: Move(what="resume", by=5),  # type: ignore[arg-type]  # the same
        lambda: Resolution(name="x", key="k", lsn=1, happened=1, reason="r"),  # type: ignore[arg-type]  # the same
    ],
)
def test_no_request_is_made_of_it(request_of: Callable[[], object]) -> None:
    """Whoever makes it: the command line, a hook, a later caller."""
    with pytest.raises(UsageError):
        request_of()
