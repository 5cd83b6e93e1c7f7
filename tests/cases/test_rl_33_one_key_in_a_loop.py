"""Steps in a loop: no item ever gets another item's result in silence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import ran
from tests.support.outside import Outside
from tests.support.tree import records

LOOP = """
how, crashes = arguments[0], arguments[1:] == ["crash"]

def done(n):
    if crashes and n == 2:
        os._exit(9)

with Ledger.open() as ledger:
    @ledger.step("decorated", key="constant")
    def fetch(item):
        happen(f"item {item}")
        return item

    @ledger.step("decorated", key="{item}")
    def fetch_each(item):
        happen(f"item {item}")
        return item

    for n in (1, 2, 3):
        try:
            if how == "no-key":
                with ledger.step("fetch") as step:
                    happen(f"item {n}")
                    step.result = n
                say(n, "done")
            elif how == "constant":
                with ledger.step("fetch", key="page") as step:
                    happen(f"item {n}")
                    step.result = n
                say(n, "done")
            elif how == "decorated":
                say(n, "got", fetch(n))
            else:
                say(n, "got", fetch_each(n))
        except LedgerError as refusal:
            say(n, refusal.slug)
        done(n)
"""


@pytest.mark.parametrize(
    ("how", "first", "again"),
    [
        ("no-key", ["1 done", "2 done"], ["1 done", "2 done", "3 done"]),
        ("constant", ["1 done", "2 step-committed"], [f"{n} step-committed" for n in (1, 2, 3)]),
        (
            "decorated",
            ["1 got 1", "2 inputs-mismatch"],
            ["1 got 1", "2 inputs-mismatch", "3 inputs-mismatch"],
        ),
        ("template", ["1 got 1", "2 got 2"], ["1 got 1", "2 got 2", "3 got 3"]),
    ],
)
def test_an_item_never_gets_another_ones_result(
    root: Path, how: str, first: list[str], again: list[str]
) -> None:
    """Without a key each one runs and is recorded; with one constant key the repetition is an error, by its name.

    By the contract a step without a key is never skipped: after the crash its items run again, on record.

    https://github.com/inngest/inngest-js/issues/1019
    """
    assert ran(LOOP, root, how, "crash", code=9).lines == first
    assert ran(LOOP, root, how).lines == again
    ran_items = Outside(root).all()
    if how == "no-key":
        assert ran_items == ["item 1", "item 2", "item 1", "item 2", "item 3"]
        assert [one["t"] for one in records(root)].count("commit") == 5
    else:
        assert len(set(ran_items)) == len(ran_items)


def test_two_functions_that_share_a_name_and_a_key_are_reported(root: Path) -> None:
    """The second function gets what its name and key have on record, and the drift report says that the code differs.

    With arguments they conflict (see above); without any, name and key are all there is, by the contract.

    https://github.com/inngest/inngest-js/issues/1019
    """
    program = """
    with Ledger.open() as ledger:
        @ledger.step("fetch", key="page")
        def fetch_news():
            happen("news")
            return "news"

        @ledger.step("fetch", key="page")
        def fetch_weather():
            happen("weather")
            return "weather: " + "rain"

        say(fetch_news())
        say(ledger.replay().drift.changed)
        say(fetch_weather())
        say(ledger.replay().drift.changed)
    """
    lines = ran(program, root).lines
    assert lines == ["news", "[]", "news", "[('fetch', 'page')]"]
    assert Outside(root).all() == ["news"]


def test_an_unfinished_step_without_a_key_is_told(root: Path) -> None:
    """The crash inside a keyless step leaves a doubt that only its number settles.

    https://github.com/inngest/inngest-js/issues/1019
    """
    program = """
    with Ledger.open() as ledger:
        with ledger.step("fetch"):
            happen("item")
            os._exit(9)
    """
    ran(program, root, code=9)
    look = """
    (step,) = runledger.replay(root).in_doubt
    with Ledger.open() as ledger:
        say(step.name, step.key)
        assert all(f"--lsn {step.lsn}" in line for line in runledger.replay(root).resolve)
        ledger.resolve(None, None, Happened(), reason="looked", lsn=step.lsn)
        say(len(ledger.replay().in_doubt), ledger.replay().committed)
    """
    assert ran(look, root).lines == ["fetch None", "0 1"]
