"""The three words and the moves between them."""

from __future__ import annotations

import pytest

from runledger import run_state
from runledger.errors import (
    LedgerError,
    LedgerMissing,
    RunFinished,
    RunHalted,
    RunMoveRefused,
    RunStateInvalid,
    UsageError,
)
from runledger.run_state import ABSENT, HALTED, INVALID, JACKED_OUT, RUNNING, check, meaning, valid_sprint_id


@pytest.mark.parametrize("word", [RUNNING, HALTED, JACKED_OUT])
def test_the_three_words_mean_themselves(word: str) -> None:
    """A word of the format needs no note."""
    assert meaning(word) == (word, None)


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("COMPLETE", JACKED_OUT),
        ("COMPLETED", JACKED_OUT),
        ("READY_FOR_HITL", HALTED),
        ("INTERRUPTED", HALTED),
    ],
)
def test_foreign_words_are_translated_and_said_so(word: str, state: str) -> None:
    """A known foreign word has a meaning and a note."""
    assert meaning(word) == (state, f"{word} is read as {state}")


@pytest.mark.parametrize(
    "word", ["running", "Halted", "", "RUNNING ", "DONE", "\x1b[31mRUNNING", None, 1, True, ["RUNNING"]]
)
def test_any_other_word_is_invalid(word: object) -> None:
    """Neither lower case nor another type is guessed at; the note is one printable line."""
    state, note = meaning(word)
    assert state == INVALID
    assert note is not None
    assert note.isprintable()


def test_a_long_word_makes_a_short_note() -> None:
    """A message does not grow with what the file says."""
    _, note = meaning("x" * 100_000)
    assert note is not None
    assert len(note) < 400


LEGAL = {
    ("start", ABSENT),
    ("start", JACKED_OUT),
    ("step", RUNNING),
    ("sprint", RUNNING),
    ("heartbeat", RUNNING),
    ("halt", RUNNING),
    ("halt", HALTED),
    ("resume", HALTED),
    ("finish", RUNNING),
    ("abandon", RUNNING),
    ("abandon", HALTED),
    ("abandon", INVALID),
}
ERRORS = {ABSENT: LedgerMissing, INVALID: RunStateInvalid, JACKED_OUT: RunFinished}


@pytest.mark.parametrize("state", [RUNNING, HALTED, JACKED_OUT, INVALID, ABSENT])
@pytest.mark.parametrize("move", list(run_state.MOVES))
def test_moves(move: str, state: str) -> None:
    """Each move is legal in its states and refused with a hint in every other."""
    if (move, state) in LEGAL:
        assert check(move, state) is ((move, state) != ("halt", HALTED))
        return
    with pytest.raises(LedgerError) as caught:
        check(move, state)
    expected: type[LedgerError] = ERRORS.get(state, RunHalted if state == HALTED else RunMoveRefused)
    assert type(caught.value) is (RunMoveRefused if move == "start" and state == HALTED else expected)
    assert "runledger " in caught.value.hint


def test_a_halted_run_says_why_and_how_to_go_on() -> None:
    """The reason is in the message, escaped, and the hint is the command."""
    with pytest.raises(RunHalted) as caught:
        check("step", HALTED, reason="disk \x07 full")
    assert "'disk \\x07 full'" in caught.value.message
    assert "runledger resume --by" in caught.value.hint


def test_a_run_that_goes_on_is_not_started_over() -> None:
    """Starting over a halted run names both ways on."""
    with pytest.raises(RunMoveRefused) as caught:
        check("start", HALTED, reason="tests fail")
    assert "runledger resume" in caught.value.hint
    assert "runledger abandon --reason" in caught.value.hint


def test_an_invalid_word_is_named() -> None:
    """A person sees which word is wrong."""
    with pytest.raises(RunStateInvalid) as caught:
        check("step", INVALID, word="PAUSED")
    assert "'PAUSED'" in caught.value.message


def test_an_unknown_move_is_a_usage_error() -> None:
    """A typing mistake in a caller is no state of the run."""
    with pytest.raises(UsageError):
        check("pause", RUNNING)


@pytest.mark.parametrize("text", ["sprint-1", "0A", "1.5", "a_b", "x" * 128])
def test_sprint_ids(text: str) -> None:
    """Letters, digits, dot, underscore and hyphen name a sprint."""
    assert valid_sprint_id(text)


@pytest.mark.parametrize("text", ["", "a b", "a/b", "é", "a\n", "x" * 129, None, 1, ["a"]])
def test_what_names_no_sprint(text: object) -> None:
    """Anything else does not."""
    assert not valid_sprint_id(text)
