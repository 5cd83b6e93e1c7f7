"""A supervisor kills a slow step and starts it again: the effect is not repeated unless that was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.children import Child, command, ran
from tests.support.outside import Outside
from tests.support.tree import records

SLOW = """
idempotent = arguments[0] == "idempotent"
with Ledger.open() as ledger:
    try:
        with ledger.step("send-report", key="week-31", idempotent=idempotent) as step:
            happen("mail")
            say("sent", step.attempt)
            time.sleep(30)
    except StepInDoubt as doubt:
        say("in doubt", doubt.step.attempt)
"""


def replayed(root: Path) -> tuple[int, str]:
    """The attempts and the key of the one step in doubt."""
    (step,) = json.loads(command(root, "replay", "--json").lines[0])["in_doubt"]
    return step["attempt"], step["key"]


@pytest.mark.parametrize("how", ["guarded", "idempotent"])
def test_three_attempts_of_a_step_that_is_killed(root: Path, how: str) -> None:
    """By default the effect happens once and later attempts meet a doubt; ``idempotent`` asks for more, in words.

    https://github.com/recoupable/app/issues/1918
    """
    told = []
    for attempt in (1, 2, 3):
        with Child(SLOW, root, how) as child:
            told.append(child.line())
            if told[-1].startswith("sent"):
                child.kill()
        assert replayed(root) == (attempt if how == "idempotent" else 1, "week-31")
    if how == "idempotent":
        assert told == ["sent 1", "sent 2", "sent 3"]
        assert Outside(root).count("mail") == 3
    else:
        assert told == ["sent 1", "in doubt 1", "in doubt 1"]
        assert Outside(root).count("mail") == 1


def test_a_probe_ends_the_doubt_without_a_second_effect(root: Path) -> None:
    """Asked whether the mail went out, it commits what is there, and the body does not run again.

    https://github.com/recoupable/app/issues/1918
    """
    with Child(SLOW, root, "guarded") as child:
        child.line()
        child.kill()
    program = """
    def probe(step):
        assert (step.name, step.key, step.attempt) == ("send-report", "week-31", 1)
        return Happened("message 1") if happen.__self__.count("mail") else NOT_HAPPENED

    with Ledger.open() as ledger:
        @ledger.step("send-report", key="week-31", probe=probe)
        def send():
            happen("mail")
        say(send(), send())
    """
    assert ran(program, root).lines == ["message 1 message 1"]
    assert Outside(root).count("mail") == 1


def test_retries_inside_the_body_are_one_commit(root: Path) -> None:
    """What the body tries again is its own business: one intent, one commit, one attempt.

    https://github.com/recoupable/app/issues/1918
    """
    program = """
    with Ledger.open() as ledger:
        with ledger.step("send-report", key="week-31") as step:
            for turn in range(3):
                try:
                    if turn < 2:
                        raise ConnectionError("again")
                    happen("mail")
                except ConnectionError:
                    step.mark("tried", turn=turn)
        say(ledger.lookup("send-report", "week-31").attempt, ledger.replay().committed)
    """
    assert ran(program, root).lines == ["1 1"]
    kinds = [one["t"] for one in records(root)]
    assert (kinds.count("intent"), kinds.count("commit"), kinds.count("mark")) == (1, 1, 2)
    assert Outside(root).count("mail") == 1
