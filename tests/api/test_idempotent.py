"""``idempotent=True`` and ``commit="riding"``: what needs no sync of its own, and what that may cost."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from runledger import InputsMismatch, Ledger, Options, StepInDoubt, StepInFlight, UsageError
from tests.api.doubts import held, left_in_doubt
from tests.api.forms import FORMS, Form, each, each_of
from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import records


@each
def test_a_doubt_runs_again(ledger: Ledger, form: Form) -> None:
    """After an exception too, as often as it takes, and not once more after that."""
    left_in_doubt(ledger)
    left_in_doubt(ledger, idempotent=True)
    assert form.enter(ledger, "work", lambda: "done", key="k1", idempotent=True) == "done"
    known = ledger.lookup("work", "k1")
    assert known is not None
    assert (known.status, known.attempt) == ("committed", 3)


@each_of(FORMS[0], FORMS[5])
def test_a_live_owner_is_not_overtaken(root: Path, ledger: Ledger, form: Form) -> None:
    """Harmless or not, two at once are one too many."""
    with held(root), pytest.raises(StepInFlight):
        form.enter(ledger, "work", lambda: 1 / 0, key="k1", idempotent=True)


def test_other_inputs_are_refused_all_the_same(ledger: Ledger) -> None:
    """The same key must not mean two things, however harmless."""
    left_in_doubt(ledger, inputs=1)
    with pytest.raises(InputsMismatch), ledger.step("work", key="k1", inputs=2, idempotent=True):
        raise AssertionError("the body ran")


def test_the_word_of_this_call_counts(ledger: Ledger) -> None:
    """A step that was idempotent when it began is in doubt for a call that does not say so."""
    left_in_doubt(ledger, idempotent=True)
    with pytest.raises(StepInDoubt), ledger.step("work", key="k1"):
        raise AssertionError("the body ran")


def test_what_rode_is_durable_at_close(root: Path) -> None:
    """Nothing acknowledged is missing after a clean end, and the LSN known durable covers it."""
    with Ledger.open(root, options=Options(flush_interval=60.0)) as ledger:
        for n in range(5):
            with ledger.step("work", key=str(n), idempotent=True):
                pass
    with Ledger.open(root) as ledger:
        assert ledger.replay().committed == 5
        assert ledger.replay().in_doubt == []


def durable(root: Path) -> tuple[int, int]:
    """What the last record says is durable, and its own number."""
    last = records(root)[-1]
    return last["durable"], last["lsn"]


def test_what_rides_goes_with_the_next_that_syncs(root: Path) -> None:
    """The record after one that synced tells that all before it are durable."""
    with Ledger.open(root, options=Options(flush_interval=60.0)) as ledger:
        with ledger.step("first", key="k"):
            pass
        for n in range(3):
            with ledger.step("ride", key=str(n), idempotent=True):
                pass
        behind, lsn = durable(root)
        assert behind < lsn - 3
        with ledger.step("sync", key="k"):
            known = ledger.lookup("sync", "k")
            assert known is not None
        assert durable(root)[0] >= known.lsn


def test_what_rides_is_flushed_by_itself(root: Path) -> None:
    """After a short interval without any other sync."""
    with Ledger.open(root, options=Options(flush_interval=0.01)) as ledger:
        with ledger.step("ride", key="k0", idempotent=True):
            pass
        first = records(root)[-1]["lsn"]
        for n in range(1, 2000):
            time.sleep(0.01)
            with ledger.step("ride", key=f"k{n}", idempotent=True):
                pass
            if durable(root)[0] >= first:
                break
        assert durable(root)[0] >= first


@pytest.mark.parametrize("how", ["idempotent", "riding"])
def test_a_killed_process_loses_nothing_that_it_was_told(root: Path, how: str) -> None:
    """Only the machine's death can take back what rides; the death of the process cannot."""
    program = """
    how = arguments[0]
    ledger = Ledger.open(commit="riding" if how == "riding" else "durable")
    for n in range(20):
        with ledger.step("work", key=str(n), idempotent=how == "idempotent"):
            happen(str(n))
    os.kill(os.getpid(), 9)
    """
    ran(program, root, how, code=-9)
    with Ledger.open(root) as ledger:
        assert ledger.replay().committed == 20
        assert ledger.replay().in_doubt == []
    assert Outside(root).repeated() == []


def test_riding_is_told_in_status(root: Path) -> None:
    """Whoever looks is told what the writer has declared."""
    with Ledger.open(root, commit="riding") as ledger:
        with ledger.step("work", key="k1"):
            pass
        assert ledger.status().commit == "riding"
        assert '"commit":"riding"' in command(root, "status", "--json").lines[0].replace(" ", "")


def test_a_riding_commit_is_known_at_once(root: Path) -> None:
    """To the handle itself and to every other one, though it is not yet durable."""
    with Ledger.open(root, commit="riding") as ledger, Ledger.open(root) as other:
        with ledger.step("work", key="k1") as step:
            step.result = 7
        for handle in (ledger, other):
            with handle.skip_committed() as skip, handle.step("work", key="k1"):
                raise AssertionError("the body ran")
            assert skip.result == 7


@pytest.mark.parametrize("word", ["", "Durable", "never", None])
def test_other_words_for_commit_are_refused(root: Path, word: str) -> None:
    """``commit`` is one of two words."""
    with pytest.raises(UsageError, match="durable"):
        Ledger.open(root, commit=word)
