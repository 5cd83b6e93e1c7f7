"""What a command line is given: values, tokens, names and numbers of any kind."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st

import runledger
from runledger.cli.json_value import json_value
from runledger.errors import UsageError
from tests.damage.ledgers import Made
from tests.hostile.asking import Answer
from tests.hostile.judging import fuzz, hostile_texts, say
from tests.hostile.neighbours import standing

WORDS = (
    hostile_texts() | st.text(max_size=8) | st.sampled_from(["-", "--", "-x", "--json", "\udcff", "x" * 9000])
)
GIVEN = WORDS.map(lambda text: text.encode("utf-8", "surrogateescape")) | st.binary(max_size=12)
SENSES = {0, 1, 64, 65, 75, 76, 77, 78, 79}
"""Nothing is wrong with the disk, and 70 would be a defect."""


def _said(data: st.DataObject, root: Path, *words: str) -> Answer:
    answer = say(root, words, data.draw(GIVEN))
    assert answer.code in SENSES, answer
    return answer


def tried(sound: Made, data: st.DataObject) -> None:
    one = sound.copy(sound.root.parent / "one" / "root")
    before = standing(one.root)
    token = say(one.root, ("begin", "pay", "--key", "new")).out.split()[-1]
    word, other = (data.draw(WORDS.filter(lambda word: "\0" not in word)) for _ in range(2))
    _said(data, one.root, "mark", token, f"--data={word}", "--", "half")
    _said(data, one.root, "mark", token, "--", other)
    for command in ("mark", "commit", "abort"):
        wrong = data.draw(st.sampled_from([word, token[:-1], f"{token}{word}0", token.upper()]))
        _said(data, one.root, command, "--", wrong, *(["half"] if command == "mark" else []))
    _said(data, one.root, "begin", f"--key={word}", f"--inputs={other}", "--", other)
    _said(data, one.root, "show", "--", word, other)
    _said(data, one.root, "log", f"--{data.draw(st.sampled_from(['after', 'step', 'kind', 'run']))}={word}")
    _said(data, one.root, "resolve", "pay", "maybe2", f"--lsn={word}", "--happened", f"--reason={other}")
    _said(data, one.root, "resolve", "pay", "maybe2", "--happened", f"--result={word}", f"--reason={other}")
    committed = _said(data, one.root, "commit", token, f"--result={word}")
    known = [step.key for step in runledger.replay(one.root).in_flight]
    assert (committed.code == 0) == ("new" not in known), committed
    after = standing(one.root)
    assert {path for path in set(after) ^ set(before) if "/.run/" not in path} == set()
    assert not say(one.root, ("verify",)).code


@pytest.mark.parametrize("what", ["--data", "--result"])
def test_one_value_of_json(what: str) -> None:
    """It is read, or refused with the name of its option."""

    def body(data: st.DataObject) -> None:
        text = data.draw(WORDS.filter(lambda word: word != "-"))
        refused = None
        try:
            json_value(text, what)
        except UsageError as error:
            refused = error
        assert refused is None or what in str(refused)

    fuzz(body, examples=100)


def test_two_dashes_as_a_value(sound: Made) -> None:
    """What stands behind an option's = is its value, whatever it is."""
    one = sound.copy(sound.root.parent / "one" / "root")
    token = say(one.root, ("begin", "pay", "--key=--")).out.split()[-1]
    assert say(one.root, ("mark", token, "half", "--data=--")).code == 64
    assert say(one.root, ("commit", token, "--result=1")).code == 0
    with runledger.Ledger.open(one.root) as ledger:
        assert ledger.lookup("pay", "--") is not None


def test_hostile_words(sound: Made) -> None:
    """Each command does it or says what is wrong with it, and the ledger stays sound."""
    fuzz(partial(tried, sound))


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_hostile_words(sound: Made, seed: int, request: pytest.FixtureRequest) -> None:
    """The same many times."""
    fuzz(partial(tried, sound), examples=request.config.option.histories // 10, seed=seed)
