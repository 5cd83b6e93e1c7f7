"""Folding away records never folds away what they protect: each key stays known, each doubt stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.outside import Outside
from tests.support.tree import segments, state_file

FILL = """
with Ledger.open() as ledger:
    for n in range(50):
        with ledger.step("pay", key=f"order-{n}", scope=arguments[0]) as step:
            happen(f"order-{n}")
            step.result = {"receipt": n}
    import contextlib
    stack = contextlib.ExitStack()
    for n in range(50, 53):
        stack.enter_context(ledger.step("pay", key=f"order-{n}", scope=arguments[0]))
        happen(f"order-{n}")
    say("filled")
    sys.stdin.readline()
"""

REENTER = """
with Ledger.open() as ledger:
    for n in range(53):
        @ledger.step("pay", key=f"order-{n}", scope=arguments[0])
        def pay():
            happen(f"order-{n}")
        try:
            say(n, pay())
        except StepInDoubt:
            say(n, "in doubt")
"""


def fill(root: Path, scope: str) -> None:
    """50 committed steps, three that a kill left open."""
    with Child(FILL, root, scope) as child:
        child.until("filled")
        child.kill()


def expect_all_known(root: Path, scope: str) -> None:
    """50 recorded results, three doubts, no effect."""
    lines = ran(REENTER, root, scope).lines
    assert lines == [
        *(f"{n} {{'receipt': {n}}}" for n in range(50)),
        *(f"{n} in doubt" for n in range(50, 53)),
    ]
    assert Outside(root).repeated() == []
    assert len(Outside(root).all()) == 53


@pytest.mark.parametrize("scope", ["run", "ledger"])
@pytest.mark.parametrize("between", ["nothing", "no-state-file", "day"])
def test_two_compactions_forget_no_key(root: Path, scope: str, between: str) -> None:
    """50 are no-ops with their results, 3 stay in doubt, also without the state file or a day later.

    https://github.com/vm0-ai/vm0/issues/23614
    """
    fill(root, scope)
    assert command(root, "compact").code == 0
    assert len(segments(root)) == 1
    later = "import time\nreal = time.time\ntime.time = lambda: real() + 86400\nLedger.open().compact()"
    if between == "no-state-file":
        state_file(root).unlink()
    if between == "day":
        ran(later, root)
    assert command(root, "compact").code == 0
    expect_all_known(root, scope)
    assert command(root, "verify").lines == ["everything agrees"]


def test_keys_of_the_ledger_outlive_the_run(root: Path) -> None:
    """After the run is over, compacted and a new one begun, keys with scope="ledger" are still known.

    https://github.com/vm0-ai/vm0/issues/23614
    """
    fill(root, "ledger")
    ran(
        """
        with Ledger.open() as ledger:
            ledger.finish(force=True, reason="the next run goes on")
            ledger.compact()
            ledger.start("next")
            ledger.compact()
        """,
        root,
    )
    expect_all_known(root, "ledger")
