"""``step.idempotency_key``: what the outside may know the effect by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from runledger import NOT_HAPPENED, Ledger, StepInDoubt
from tests.api.doubts import left_in_doubt
from tests.support.children import command, ran

TELL = """
with Ledger.open() as ledger, ledger.step("work", key="k1", idempotent=True) as step:
    say(step.idempotency_key)
    if arguments: os._exit(9)
"""


def of(ledger: Ledger, name: str, key: str | None, **rules: Any) -> str:
    """The idempotency key of a new step."""
    with ledger.step(name, key=key, **rules) as step:
        return step.idempotency_key


def test_it_is_text_that_any_header_takes(ledger: Ledger) -> None:
    """32 hex digits, whatever the key has in it."""
    assert re.fullmatch("[0-9a-f]{32}", of(ledger, "wörk\n", "ключ \x1b[31m"))


def test_the_same_for_every_attempt(root: Path) -> None:
    """In another process, after a crash, after a compaction."""
    first = ran(TELL, root, "dies", code=9).lines
    second = ran(TELL, root, "dies", code=9).lines
    assert command(root, "compact").code == 0
    assert ran(TELL, root).lines == first == second


def test_another_for_every_other_step(root: Path, tmp_path: Path) -> None:
    """Name, key, scope, ledger and, for a run's keys, the run tell them apart; no two parts run into each other."""
    with Ledger.open(root) as ledger, Ledger.open(tmp_path / "other") as other:
        told = [
            of(ledger, "work", "k1"),
            of(ledger, "work", "k2"),
            of(ledger, "workk", "1"),
            of(ledger, "wor", "kk1"),
            of(ledger, "work", "k1", scope="ledger"),
            of(ledger, "work", None),
            of(ledger, "work", None),
            of(other, "work", "k1"),
        ]
        ledger.finish()
        ledger.start()
        told.append(of(ledger, "work", "k1"))
    assert len(set(told)) == len(told)


def test_a_key_for_ever_is_the_same_in_each_run(ledger: Ledger) -> None:
    """An aborted step of the ledger's scope that is taken up by the next run is still the same effect."""
    seen = []
    for _ in range(2):
        try:
            with ledger.step("charge", key="order-1", scope="ledger", aborts_on=OSError) as step:
                seen.append(step.idempotency_key)
                raise OSError
        except OSError:
            ledger.abandon("next")
            ledger.start()
    assert seen[0] == seen[1]


def test_a_probe_is_told_it(root: Path) -> None:
    """A probe can ask the outside by the key that the dead attempt handed on."""
    (told,) = ran(TELL, root, "dies", code=9).lines
    asked = []

    def probe(step: Any) -> Any:
        asked.append(step.idempotency_key)
        return NOT_HAPPENED

    with Ledger.open(root) as ledger, ledger.step("work", key="k1", probe=probe) as step:
        assert asked == [told] == [step.idempotency_key]


def test_a_command_learns_it(root: Path) -> None:
    """``RUNLEDGER_IDEMPOTENCY_KEY`` of a command is the key that the library tells of the same step."""
    with Ledger.open(root) as ledger:
        ours = of(ledger, "charge", "order-1", scope="ledger")
        left_in_doubt(ledger, "work", "k1", idempotent=True)
        told = []

        def probe(step: Any) -> None:
            told.append(step.idempotency_key)

        with pytest.raises(StepInDoubt), ledger.step("work", key="k1", probe=probe):
            raise AssertionError("the body ran")
    words = (
        "step",
        "work",
        "--key",
        "k1",
        "--idempotent",
        "--",
        "sh",
        "-c",
        "echo $RUNLEDGER_IDEMPOTENCY_KEY",
    )
    assert command(root, *words).lines == told
    assert told != [ours]
