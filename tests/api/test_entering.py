"""The first table of the contract: what happens on entering ``(name, key)``, in each form of a step."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runledger import (
    NOT_HAPPENED,
    Happened,
    InputsMismatch,
    Ledger,
    LedgerError,
    RunFinished,
    RunHalted,
    RunStateInvalid,
    StepCommitted,
    StepInDoubt,
    StepInFlight,
    replay,
)
from tests.api.doubts import held, killed, left_in_doubt
from tests.api.forms import DECORATED, FORMS, PLAIN_BLOCKS, Form, each, each_of
from tests.support.children import command
from tests.support.tree import records, state_file


def never() -> Any:
    """A body that must not run."""
    raise AssertionError("the body ran")


@each
def test_nothing_recorded(root: Path, ledger: Ledger, form: Form) -> None:
    """The intent is on record, seen by any reader, before the body runs; then the body runs, once."""
    seen = []

    def body() -> str:
        (step,) = replay(root).in_flight
        seen.append((step.name, step.key, step.attempt, records(root)[-1]["t"]))
        return "done"

    assert form.enter(ledger, "work", body, key="k1") == "done"
    assert seen == [("work", "k1", 1, "intent")]


@each
def test_aborted(ledger: Ledger, form: Form) -> None:
    """What is known not to have happened runs, as the next attempt."""
    with pytest.raises(ZeroDivisionError):
        form.enter(ledger, "work", lambda: 1 / 0, key="k1", aborts_on=ArithmeticError)
    assert form.enter(ledger, "work", lambda: "done", key="k1") == "done"
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.attempt) == ("committed", 2)


@each_of(*DECORATED)
def test_committed_and_decorated(ledger: Ledger, form: Form) -> None:
    """The recorded result comes back, equal in value and type, and the body does not run."""
    first = form.enter(ledger, "work", lambda: {1: ("a", b"b")}, key="k1")
    again = form.enter(ledger, "work", never, key="k1")
    assert again == first == {1: ("a", b"b")}
    assert type(again[1]) is tuple


@each_of(*PLAIN_BLOCKS)
def test_committed_and_a_block(ledger: Ledger, form: Form) -> None:
    """``StepCommitted`` is raised before the body, with the recorded result."""
    form.enter(ledger, "work", lambda: ("a", 1), key="k1")
    with pytest.raises(StepCommitted) as told:
        form.enter(ledger, "work", never, key="k1")
    assert told.value.result == ("a", 1)  # type: ignore[attr-defined]  # carried in __dict__
    assert "work k1" in str(told.value)


@each_of(*(form for form in FORMS if form.skips))
def test_committed_and_skipping(ledger: Ledger, form: Form) -> None:
    """The block is passed over, and what it had recorded is at hand."""
    form.enter(ledger, "work", lambda: ("a", 1), key="k1")
    assert form.enter(ledger, "work", never, key="k1") == ("a", 1)


@each
def test_committed_and_seen_by_another_handle_after_compaction(root: Path, form: Form) -> None:
    """A commit holds for whoever opens later, folded or not."""
    with Ledger.open(root) as first:
        form.enter(first, "work", lambda: "once", key="k1")
        first.compact()
    with Ledger.open(root) as second:
        if form in PLAIN_BLOCKS:
            with pytest.raises(StepCommitted):
                form.enter(second, "work", never, key="k1")
        else:
            assert form.enter(second, "work", never, key="k1") == "once"


@each_of(*(form for form in FORMS if not form.decorates))
def test_committed_with_other_inputs(ledger: Ledger, form: Form) -> None:
    """The same key must not mean two things: refused, skipping or not, and told how to go on."""
    form.enter(ledger, "work", lambda: None, key="k1", inputs={"page": 1})
    with pytest.raises(InputsMismatch) as refused:
        form.enter(ledger, "work", never, key="k1", inputs={"page": 2})
    assert "it is done" in refused.value.hint
    assert "new key" in refused.value.hint


def test_committed_with_other_arguments(ledger: Ledger) -> None:
    """The same of a decorated function, whose arguments are its inputs."""

    @ledger.step("publish", key="{slug}")
    def publish(slug: str, text: str) -> str:
        return f"{slug}: {text}"

    assert publish("a", "one") == "a: one"
    with pytest.raises(InputsMismatch):
        publish("a", "two")
    assert publish("a", "one") == "a: one"


@each_of(*PLAIN_BLOCKS)
def test_open_with_other_inputs(root: Path, ledger: Ledger, form: Form) -> None:
    """Other inputs are told before the owner's life or death is."""
    with held(root):
        with pytest.raises(InputsMismatch):
            form.enter(ledger, "work", never, key="k1", inputs="ours")
        with pytest.raises(StepInFlight):
            form.enter(ledger, "work", never, key="k1", inputs="theirs")
    with pytest.raises(InputsMismatch):
        form.enter(ledger, "work", never, key="k1", inputs="ours")
    with pytest.raises(StepInDoubt):
        form.enter(ledger, "work", never, key="k1", inputs="theirs")


@each
def test_open_and_the_owner_alive(root: Path, ledger: Ledger, form: Form) -> None:
    """Refused while the holder still stands in its body, with its pid, host and since when."""
    with held(root) as child:
        with pytest.raises(StepInFlight) as busy:
            form.enter(ledger, "work", never, key="k1")
        assert child.process.poll() is None
        facts = vars(busy.value)
        assert (facts["pid"], facts["host"]) == (child.pid, os.uname().nodename)
        assert facts["since"] == replay(root).in_flight[0].started
        child.tell("go on")
        child.until("committed")


@each
def test_open_and_the_holder_is_this_very_handle(ledger: Ledger, form: Form) -> None:
    """A step that is entered in its own body is in flight, held by this process."""
    with pytest.raises(StepInFlight) as busy, ledger.step("work", key="k1"):
        form.enter(ledger, "work", never, key="k1")
    assert vars(busy.value)["pid"] == os.getpid()


@each
def test_open_and_held_by_a_lease(root: Path, ledger: Ledger, form: Form) -> None:
    """A session from a shell has only its lease, and that is said."""
    token = command(root, "begin", "work", "--key", "k1", "--lease", "1h").lines[0]
    with pytest.raises(StepInFlight, match="lease") as busy:
        form.enter(ledger, "work", never, key="k1")
    assert vars(busy.value)["pid"] is None
    assert command(root, "abort", token).code == 0
    assert form.enter(ledger, "work", lambda: "ours", key="k1") == "ours"


@each
def test_in_doubt_and_nothing_said(root: Path, ledger: Ledger, form: Form) -> None:
    """``StepInDoubt`` names the very lines that settle it, and one of them does."""
    pid = killed(root)
    for _ in range(2):
        with pytest.raises(StepInDoubt) as doubt:
            form.enter(ledger, "work", never, key="k1")
    report, lines = vars(doubt.value)["step"], vars(doubt.value)["resolve"]
    assert (report.key, report.owner.pid, report.owner.alive) == ("k1", pid, False)
    assert all(line in str(doubt.value) for line in lines)
    assert lines == replay(root).resolve
    words = [word.strip("'") for word in lines[1].split("--reason")[0].split()]
    assert command(root, *words[1:], "--reason", "looked").code == 0
    assert form.enter(ledger, "work", lambda: "done", key="k1") == "done"


@each
def test_in_doubt_and_idempotent(root: Path, ledger: Ledger, form: Form) -> None:
    """Where repeating is harmless, it runs again, as the next attempt."""
    killed(root)
    assert form.enter(ledger, "work", lambda: "again", key="k1", idempotent=True) == "again"
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.attempt) == ("committed", 2)


@each
def test_in_doubt_and_the_probe_finds_it(root: Path, ledger: Ledger, form: Form) -> None:
    """The probe's result is committed, and the step is then as any committed one."""
    killed(root)
    asked = []

    def probe(step: Any) -> Happened:
        asked.append((step.key, step.attempt, [mark.label for mark in step.marks]))
        return Happened(("found", 1))

    if form in PLAIN_BLOCKS:
        with pytest.raises(StepCommitted) as told:
            form.enter(ledger, "work", never, key="k1", probe=probe)
        assert vars(told.value)["result"] == ("found", 1)
    else:
        assert form.enter(ledger, "work", never, key="k1", probe=probe) == ("found", 1)
    assert asked == [("k1", 1, ["came so far"])]
    assert records(root)[-1]["t"] == "commit"


@each
def test_in_doubt_and_the_probe_finds_nothing(root: Path, ledger: Ledger, form: Form) -> None:
    """An abort is recorded, then the body runs as the next attempt."""
    killed(root)
    assert form.enter(ledger, "work", lambda: "done", key="k1", probe=lambda _: NOT_HAPPENED) == "done"
    kinds = [one["t"] for one in records(root) if one["t"] in {"intent", "abort", "commit"}]
    assert kinds == ["intent", "abort", "intent", "commit"]


@each
def test_in_doubt_and_the_probe_does_not_know(root: Path, ledger: Ledger, form: Form) -> None:
    """Still in doubt, the body does not run, and nothing is recorded."""
    killed(root)
    before = len(records(root))
    with pytest.raises(StepInDoubt):
        form.enter(ledger, "work", never, key="k1", probe=lambda _: None)
    assert [one["t"] for one in records(root)[before:] if one["t"] != "opened"] == []


def halt(root: Path, ledger: Ledger) -> type[LedgerError]:
    """Halt the run."""
    ledger.halt("the disk is full")
    return RunHalted


def finish(root: Path, ledger: Ledger) -> type[LedgerError]:
    """End the run."""
    ledger.finish()
    return RunFinished


def abandon(root: Path, ledger: Ledger) -> type[LedgerError]:
    """Give the run up."""
    ledger.abandon("no longer wanted")
    return RunFinished


def spoil(root: Path, ledger: Ledger) -> type[LedgerError]:
    """Set a word that nobody agreed on, by hand."""
    text = state_file(root).read_text("utf-8")
    state_file(root).write_text(text.replace('"RUNNING"', '"PAUSED"'), "utf-8")
    return RunStateInvalid


@pytest.mark.parametrize("move", [halt, finish, abandon, spoil])
@each
def test_the_run_is_not_running(
    root: Path, ledger: Ledger, form: Form, move: Callable[[Path, Ledger], type[LedgerError]]
) -> None:
    """Refused before anything else, at every call, whatever the key; ``lookup`` still reads."""
    ledger.start("plan")  # and its file, which a later thread need not write
    form.enter(ledger, "work", lambda: "done", key="k1", inputs=None)
    error = move(root, ledger)
    for key, inputs in [("k1", None), ("k2", None), (None, None), ("k1", "reworded"), ("k2", None)]:
        if form.decorates:
            inputs = None  # noqa: PLW2901  # it has no arguments to name
        with pytest.raises(error):
            form.enter(ledger, "work", never, key=key, inputs=inputs)
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.result) == ("committed", "done")


@each
def test_halted_comes_before_in_doubt(ledger: Ledger, form: Form) -> None:
    """The run's word is told before the doubt, and no probe is asked."""
    left_in_doubt(ledger)
    ledger.halt("stop")
    with pytest.raises(RunHalted, match="stop"):
        form.enter(ledger, "work", never, key="k1", probe=never)
