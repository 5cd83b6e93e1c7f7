"""State files in every shape, beside a journal that knows better, and where nothing else is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from hypothesis import strategies as st

from runledger import NewerVersion
from runledger.document import Document, DocumentDamaged
from runledger.state_file import seal
from runledger.state_reading import Unreadable, read
from tests.damage.ledgers import Made
from tests.hostile.judging import Spoilt, fuzz, hostile_texts, judge, members, say, spliced

KEYS = ("x0", "ever0", "x2", "ever2", "big")

Way = Callable[[st.DataObject, Made], bytes]


def any_bytes(data: st.DataObject, one: Made) -> bytes:
    """Other bytes somewhere, or nothing like a document."""
    return spliced(data, one.state_file.read_bytes())


def another_encoding(data: st.DataObject, one: Made) -> bytes:
    """The same text with other bytes, with marks before it, and again behind it."""
    text = one.state_file.read_text("utf-8")
    encoded = text.encode(data.draw(st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32-le", "cp500"])))
    before = data.draw(st.sampled_from([b"", b"\xef\xbb\xbf", b"\0", b" \n", b"\r\n", b"//\n"]))
    return (
        before
        + encoded * data.draw(st.sampled_from([1, 1, 2]))
        + data.draw(st.sampled_from([b"", b"\0", b","]))
    )


def a_document(data: st.DataObject, one: Made) -> bytes:
    """Each of its objects with members that are changed, twice there, gone or unknown."""
    return _document(data, one).encode("utf-8", "surrogatepass")


def one_of_ours(data: st.DataObject, one: Made) -> bytes:
    """The same with a digest that says that this ledger wrote it."""
    text = _document(data, one)
    try:
        document = Document(text)
        ledger = json.loads(one.segments[0].read_bytes().split(b"\n", 1)[0])["ledger"]
        return seal(document, ledger).encode()
    except (DocumentDamaged, UnicodeEncodeError):
        return text.encode("utf-8", "surrogatepass")


def _document(data: st.DataObject, one: Made) -> str:
    was = json.loads(one.state_file.read_bytes())
    was["state"] = data.draw(
        st.sampled_from(["RUNNING", "RUNNING", "HALTED", "JACKED_OUT", "running", "DONE"])
    )
    was["ledger"]["lsn"] = data.draw(st.sampled_from([0, 1, 30, was["ledger"]["lsn"], 99, 2**53 - 1, 2**53]))
    if data.draw(st.booleans()):
        where = data.draw(st.sampled_from(["failure", "pause"]))
        was[where] = {"sprint": "a", "at_sprint": "a", "reason": "r", "timestamp": "2026-11-29T14:20:11Z"}
    told = {name: _text(data, value) for name, value in was.items()}
    if data.draw(st.integers(0, 3)) == 0:
        told["sprints"] = data.draw(hostile_texts())
    return "{" + members(data, told) + "}"


def _text(data: st.DataObject, value: object) -> str:
    if not isinstance(value, dict) or not value or data.draw(st.booleans()):
        return json.dumps(value)
    told = {name: _text(data, inner) for name, inner in value.items()}
    if isinstance(value.get("list"), list) and data.draw(st.booleans()):
        items = [members(data, {"id": '"a"', "status": '"pending"', "cycles": "0"}) for _ in range(3)]
        told["list"] = "[" + ",".join("{" + item + "}" for item in items) + "]"
    return "{" + members(data, told) + "}"


WAYS: list[Way] = [any_bytes, another_encoding, a_document, one_of_ours]

MOVES = (
    ("adopt",),
    ("start", "--plan-id", "p-2"),
    ("start", "--plan-id", "p-1"),
    ("resume", "--by", "me"),
    ("sprint", "begin", "b"),
    ("sprint", "complete", "a"),
    ("finish", "--force", "--reason", "r"),
    ("abandon", "--reason", "r"),
    ("begin", "pay", "--key", "new"),
    ("repair",),
)


def tried(sound: Made, way: Way, data: st.DataObject) -> None:
    one = sound.copy(sound.root.parent / "one" / "root")
    one.state_file.write_bytes(way(data, one))
    where = data.draw(
        st.sampled_from(["with its journal", "with its journal", "alone", "a journal of another"])
    )
    if where == "alone":
        shutil.rmtree(one.ledger)
    elif where == "a journal of another":
        for path in one.ledger.glob("*.*"):
            path.unlink()
    judge(data, one, Spoilt(one.state_file, KEYS if where == "with its journal" else ()))
    for words in data.draw(st.lists(st.sampled_from(MOVES), min_size=1, max_size=2)):
        _moved(one, words)


def _moved(one: Made, words: tuple[str, ...]) -> None:
    """A refusal changes nothing in the file, and what cannot be read is kept aside before it is written anew."""
    was = one.state_file.read_bytes()
    say(one.root, words)
    now = one.state_file.read_bytes()
    if now != was and _is_unreadable(was):
        assert any(path.read_bytes() == was for path in _files(one)), (words, was)


def _is_unreadable(data: bytes) -> bool:
    try:
        read(data)
    except Unreadable:
        return True
    except NewerVersion:
        return False
    return False


def _files(one: Made) -> list[Path]:
    return [path for path in (one.root / ".run").rglob("*") if path.is_file()]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_a_hostile_state_file(sound: Made, way: Way) -> None:
    """It is followed or refused by name, kept before it is written anew, and nothing that was done is forgotten."""
    fuzz(partial(tried, sound, way))


@pytest.mark.soak
@pytest.mark.timeout(0)
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_many_hostile_state_files(sound: Made, way: Way, seed: int, request: pytest.FixtureRequest) -> None:
    """The same many times."""
    fuzz(partial(tried, sound, way), examples=request.config.option.histories // 10, seed=seed)
