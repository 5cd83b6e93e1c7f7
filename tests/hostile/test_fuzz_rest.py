"""The other files of a ledger, hostile: the checkpoint, the history, the kept results and the brief."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock
from zlib import crc32

import pytest
from hypothesis import strategies as st

from runledger import Ledger
from runledger.local.brief import _TITLE
from tests.damage.ledgers import Made, record_lines
from tests.hostile.judging import REFUSED, Spoilt, done, fuzz, hostile_texts, judge, members, say, spliced
from tests.hostile.neighbours import change_checkpoint, change_facts, change_outcomes

KEYS = ("x0", "ever0", "x2", "ever2", "big")

Way = Callable[[st.DataObject, Made], Spoilt]


def _objects(data: st.DataObject, value: object, depth: int = 4) -> str:
    """A value's text, the members of its objects changed here and there."""
    if isinstance(value, dict) and value and depth:
        told = {name: _objects(data, inner, depth - 1) for name, inner in value.items()}
        quiet = data.draw(st.integers(0, 2))
        text = ",".join(f'"{name}":{inner}' for name, inner in told.items()) if quiet else members(data, told)
        return "{" + text + "}"
    if isinstance(value, int) and data.draw(st.integers(0, 5)) == 0:
        return str(value + data.draw(st.integers(-20, 20)))
    return json.dumps(value)


def _hostile(data: st.DataObject, body: bytes) -> bytes:
    return _objects(data, json.loads(body)).encode("utf-8", "replace")


def checkpoint_bytes(data: st.DataObject, one: Made) -> Spoilt:
    """Other bytes in the checkpoint."""
    path = one.ledger / "checkpoint.json"
    path.write_bytes(spliced(data, path.read_bytes()))
    return Spoilt(path, KEYS)


def checkpoint_members(data: st.DataObject, one: Made) -> Spoilt:
    """A checkpoint whose checksum is right, and whose view is not."""
    path = one.ledger / "checkpoint.json"
    change_checkpoint(path, lambda body: _hostile(data, body + b"}")[:-1])
    return Spoilt(path, KEYS)


def history_bytes(data: st.DataObject, one: Made) -> Spoilt:
    """Other bytes in the database, where its rows are, and in its header."""
    path = one.ledger / "history.db"
    old = path.read_bytes()
    begin = data.draw(st.sampled_from([0, 0, 4096, 8192, 12288, 16384])) + data.draw(st.integers(0, 4095))
    new = data.draw(st.binary(min_size=1, max_size=40) | st.sampled_from([b"\0" * 4096, old[4096:8192]]))
    cut = data.draw(st.sampled_from([len(old), len(old), len(old), 0, 100, 4096, len(old) - 1]))
    path.write_bytes((old[:begin] + new + old[begin + len(new) :])[:cut])
    return Spoilt(path, KEYS)


def history_facts(data: st.DataObject, one: Made) -> Spoilt:
    """What the history says of itself, and the checkpoint that it keeps, with checksums that are right."""
    path = one.ledger / "history.db"
    if data.draw(st.booleans()):
        change_facts(path, 1, lambda body: _hostile(data, body))
    else:
        (one.ledger / "checkpoint.json").unlink()
        change_facts(path, 2, lambda body: _kept(data, body))
    return Spoilt(path, KEYS)


def _kept(data: st.DataObject, body: bytes) -> bytes:
    end = body.rindex(b',"crc":"')
    view = _hostile(data, body[:end] + b"}")[:-1]
    return b'%s,"crc":"%08x"}\n' % (view, crc32(view))


def history_outcomes(data: st.DataObject, one: Made) -> Spoilt:
    """Steps of the history that say something else, their digest made to fit."""
    path = one.ledger / "history.db"
    change_outcomes(path, lambda entry: _hostile(data, entry))
    return Spoilt(path, KEYS)


def history_types(data: st.DataObject, one: Made) -> Spoilt:
    """Rows of types that no history has."""
    path = one.ledger / "history.db"
    table, column = data.draw(
        st.sampled_from(
            [("meta", "body"), ("meta", "crc"), ("outcomes", "entry"), ("outcomes", "crc"), ("keys", "lsn")]
        )
    )
    value = data.draw(
        st.sampled_from(["text", "a\0b", 1.5, -1, 2**62, b"", b"\xff", "9" * 5000, float("inf")])
    )
    with sqlite3.connect(path) as history:
        history.execute(f"UPDATE {table} SET {column} = ?", (value,))  # noqa: S608 - names of our own
    history.close()
    return Spoilt(path, KEYS)


def a_result(data: st.DataObject, one: Made) -> Spoilt:
    """A kept result with other bytes: it is given back as it was, or refused."""
    (path,) = (one.ledger / "results").iterdir()
    was = path.read_bytes()
    text = data.draw(hostile_texts()).encode("utf-8", "replace")
    path.write_bytes(data.draw(st.sampled_from([text, was + text, b"y" * len(was)])))
    return Spoilt(path, KEYS)


def brief_bytes(data: st.DataObject, one: Made) -> Spoilt:
    """Other bytes in the brief, its checksum right or not."""
    path = _held_brief(one)
    body = spliced(data, path.read_bytes().partition(b"\n")[2])
    _sealed(path, body) if data.draw(st.booleans()) else path.write_bytes(body)
    return Spoilt(path, KEYS)


def brief_facts(data: st.DataObject, one: Made) -> Spoilt:
    """A brief whose checksum is right and which still fits the files, its answers and numbers hostile."""
    path = _held_brief(one)
    lines = path.read_bytes().decode().split("\n")[1:-1]
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines) - 1))
        name, _, fact = lines[at].partition(" ")
        words = fact.split(" ")
        word = data.draw(st.integers(0, len(words) - 1))
        words[word] = data.draw(
            st.sampled_from(["0", "1", "-1", "70", "400", str(2**63), "nan", "\x1b[2J\u202e", ""])
        )
        lines[at] = f"{name} {data.draw(st.sampled_from([' '.join(words), words[word]]))}"
    _sealed(path, "".join(f"{text}\n" for text in lines).encode())
    return Spoilt(path, KEYS)


def brief_places(data: st.DataObject, one: Made) -> Spoilt:
    """A brief that tells a heartbeat to write elsewhere: over records, before the file or far behind it."""
    path = _held_brief(one)
    lines = path.read_bytes().decode().split("\n")[1:-1]
    end = int(lines[0].partition(" ")[2])
    place = str(data.draw(st.sampled_from([0, 1, -1, 400, end - 1, end + 1, end - 300, 2**40, 2**63])))
    for at, fact in enumerate(lines):
        name = fact.partition(" ")[0]
        words = fact.split(" ")
        if name in {"end", "beat"} and data.draw(st.integers(0, 3)):
            words[1 if name == "end" else -4] = place
        elif name == "splice":
            words[data.draw(st.integers(1, 4))] = data.draw(
                st.sampled_from([words[1], words[2], words[3], place])
            )
        lines[at] = " ".join(words)
    _sealed(path, "".join(f"{text}\n" for text in lines).encode())
    return Spoilt(path, KEYS)


def _held_brief(one: Made) -> Path:
    say(one.root, ("heartbeat",))
    return one.ledger / "brief"


def _sealed(path: Path, body: bytes) -> None:
    path.write_bytes(b"%s%08x\n%s" % (_TITLE, crc32(body), body))


WAYS: list[Way] = [
    checkpoint_bytes,
    checkpoint_members,
    history_bytes,
    history_facts,
    history_outcomes,
    history_types,
    a_result,
    brief_bytes,
    brief_facts,
    brief_places,
]


def tried(sound: Made, way: Way, data: st.DataObject) -> None:
    one = sound.copy(sound.root.parent / "one" / "root")
    spoilt = way(data, one)
    lines = record_lines(one)
    if spoilt.path.name == "brief":
        with mock.patch("runledger.local.pulse.now", return_value="2036-01-01T00:00:00.000000Z"):
            for word in ("status", "wake", "is-running", "heartbeat"):
                say(one.root, (word,))
    assert record_lines(one)[: len(lines)] == lines, "a record was written over"
    assert _shown(one) == _shown(sound), "the state file says something else"
    judge(data, one, spoilt)
    assert done(one, lambda: _big(one)) in {REFUSED, "x" * 40_000}


def _shown(one: Made) -> dict[str, object]:
    """The state file without what a heartbeat changes in it."""
    shown: dict[str, Any] = json.loads(one.state_file.read_bytes())
    shown["timestamps"].pop("last_activity")
    shown.pop("ledger")
    return shown


def _big(one: Made) -> object:
    with Ledger.open(one.root) as ledger:
        known = ledger.lookup("pay", "big")
        return known.result if known is not None else REFUSED


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hostile_file(sound: Made, way: Way) -> None:
    """It is answered soundly or refused by name, no record is lost by it, and no key becomes new without a word."""
    fuzz(partial(tried, sound, way))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_many_hostile_files(sound: Made, way: Way, seed: int, request: pytest.FixtureRequest) -> None:
    """The same many times."""
    fuzz(partial(tried, sound, way), examples=request.config.option.histories // 10, seed=seed)
