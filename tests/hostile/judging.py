"""What must hold of a ledger that somebody spoiled on purpose, asked in this process, and how it is fuzzed."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import NamedTuple

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import runledger.cli
from runledger import Ledger, LedgerError
from runledger.verify import verify
from tests.damage.ledgers import Made
from tests.hostile.asking import CODES, READING, Answer, is_sound
from tests.hostile.neighbours import standing

__all__ = [
    "REFUSED",
    "TEXTS",
    "Spoilt",
    "done",
    "fuzz",
    "hostile_texts",
    "judge",
    "members",
    "say",
    "spliced",
]

REFUSED = "refused"

PHASES = (Phase.generate,)
"""What fails is shown as it was drawn: to make it smaller takes minutes."""

QUICKLY = 6
"""Examples of each way by default."""

TEXTS = [
    *("null", "true", "-1", "0", "1", "1e400", "-0.0", "1.5", "18446744073709551616", "9" * 4400, "NaN"),
    *("{}", "[]", '[[1],{"a":2}]', "[" * 150 + "]" * 150, "[" * 3000 + "]" * 3000, '{"a":1,"a":2}'),
    *(
        '""',
        '"x"',
        '"RUNNING"',
        '"../../x"',
        '"a\\u0000b"',
        '"\\ud800"',
        '"\\u001b[2J\\u202e\\u009b"',
        '"%s"',
    ),
    *(f'"{"k" * 5000}"', '"2026-11-29T14:20:11Z"', '"9999-99-99T99:99:99Z"', '"-1"', '"{\\"a\\":1}"'),
    *("nonsense", '"', "{", '{"lsn":9007199254740993}', '["a","b"]', '{"type":"T","message":"m"}'),
]
"""Values, and what is none, that somebody may put where another was."""


class Spoilt(NamedTuple):
    """What was changed, and the keys that must still be known, or the damage be told."""

    path: Path
    keys: Iterable[str] = ()


def fuzz(
    body: Callable[[st.DataObject], object], *, examples: int = QUICKLY, seed: int | None = None
) -> None:
    """Try the body with many draws: the same ones each time, unless there is a seed."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=seed is None,
        phases=PHASES,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def tried(data: st.DataObject) -> None:
        body(data)

    (tried if seed is None else hypothesis.seed(seed)(tried))()


def hostile_texts() -> st.SearchStrategy[str]:
    """JSON, nearly JSON and none."""
    return st.sampled_from(TEXTS) | st.text('{}[]":,\\u0d8e1-.n \x1b', max_size=12)


def members(data: st.DataObject, told: dict[str, str]) -> str:
    """An object's members, given as JSON texts by name, some of them changed, twice there, gone or unknown."""
    pairs = list(told.items())
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(pairs) - 1))
        text = data.draw(hostile_texts())
        how = data.draw(st.sampled_from(["other", "other", "other", "gone", "twice", "unknown"]))
        if how == "gone" and len(pairs) > 1:
            del pairs[at]
        elif how == "twice":
            pairs.insert(at, (pairs[at][0], text))
        elif how == "unknown":
            pairs.insert(at, (data.draw(st.sampled_from(["x", "", "crc", "t", "\\u0000"])), text))
        else:
            pairs[at] = (pairs[at][0], text)
    return ",".join(f'"{name}":{text}' for name, text in pairs)


def spliced(data: st.DataObject, old: bytes) -> bytes:
    """Other bytes somewhere in the old ones, or instead of them all."""
    begin = data.draw(st.integers(0, len(old)))
    end = min(len(old), begin + data.draw(st.sampled_from([0, 1, 8, 200, len(old)])))
    new = data.draw(
        st.binary(max_size=12) | st.sampled_from([b"\n", b"\0" * 40, b"\n{", b'{"t":"', old[:300]])
    )
    return new if data.draw(st.integers(0, 9)) == 0 else old[:begin] + new + old[end:]


def say(root: Path, words: Sequence[str], given: bytes = b"") -> Answer:
    """A command of the command line in this process, which must give a sound answer."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    was = sys.stdin
    before = {name: os.environ.get(name) for name in ("RUNLEDGER_DIR", "NO_COLOR")}
    os.environ.update(RUNLEDGER_DIR=str(root), NO_COLOR="1")
    sys.stdin = io.TextIOWrapper(io.BytesIO(given))
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = runledger.cli.main(list(words))
    finally:
        sys.stdin = was
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
    for text in (out, err):
        text.seek(0)
    answer = Answer(tuple(words), code, out.read(), err.read())
    own = answer.words[: answer.words.index("--")] if "--" in answer.words else answer.words
    is_sound(answer._replace(words=own))
    return answer


def judge(data: st.DataObject, one: Made, spoilt: Spoilt) -> None:
    """Readers change nothing, a refusal is a documented one that names the place, and what was known stays known."""
    top = one.root.parent
    before = standing(top)
    done(one, lambda: runledger.replay(one.root))
    told = done(one, lambda: verify(one.root)) != []
    for words in data.draw(st.lists(st.sampled_from(READING), min_size=2, max_size=2)):
        answer = say(one.root, words)
        assert answer.code not in {74, 78} or answer.out or _names_a_file(one, answer.err), answer
    assert standing(top) == before, "a reader wrote"
    _look(one, spoilt, told=told)
    say(one.root, data.draw(st.sampled_from([("heartbeat",), ("compact",), ("halt", "--reason", "r")])))
    after = standing(top)
    assert _outside(one, after) == _outside(one, before), "something changed elsewhere"


def done(one: Made, call: Callable[[], object]) -> object:
    """What the call returns, ``REFUSED`` where it is refused: by an error of the ledger that names a file of it."""
    refused: LedgerError | None = None
    try:
        return call()
    except LedgerError as error:
        refused = error
    assert refused.exit_code in CODES, repr(refused)
    assert refused.exit_code not in {74, 78} or _names_a_file(one, str(refused)), repr(refused)
    return REFUSED


def _names_a_file(one: Made, told: str) -> bool:
    return str(one.root) in told or "state file" in told.lower()


def _look(one: Made, spoilt: Spoilt, *, told: bool) -> None:
    was = _content(spoilt.path)
    ledger = done(one, lambda: Ledger.open(one.root))
    if not isinstance(ledger, Ledger):
        assert _content(spoilt.path) == was, "what was refused was changed"
        return
    with ledger:
        for key in spoilt.keys:
            found = done(one, partial(ledger.lookup, "pay", key))
            assert found is not None or told, f"{key} is new, and no damage is told"


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _outside(one: Made, found: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    run = f"{one.root}/.run"
    return {path: what for path, what in found.items() if path != run and not path.startswith(f"{run}/")}
