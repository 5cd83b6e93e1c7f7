"""What a neighbour plants or forges: a sound answer or a documented refusal, and nothing changes outside."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runledger.state_reading import read
from tests.damage.ledgers import Made, made, quick_folder
from tests.faults.calls import loaded
from tests.hostile.asking import READING, WRITING, Answer, ask
from tests.hostile.neighbours import append_line, standing

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

FEW = (*READING[:6], ("log",), ("log", "--json"), ("verify",), *WRITING)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    """A sound ledger to copy."""
    loaded()
    folder = quick_folder(tmp_path_factory.mktemp("shelf"))
    yield made(folder / "sound", "steps", "compact", "steps")
    shutil.rmtree(folder)


@pytest.fixture
def one(shelf: Made) -> Made:
    """A copy to spoil."""
    return shelf.copy(shelf.root.parent / "one")


PLANTS: dict[str, Callable[[Path, Path], object]] = {
    "symbolic link": lambda place, theirs: place.symlink_to(theirs),
    "hard link": lambda place, theirs: os.link(theirs, place),
    "pipe": lambda place, _: os.mkfifo(place),
    "folder": lambda place, _: place.mkdir(),
}
PLACES = [
    "ledger/brief",
    "ledger/checkpoint.json",
    "ledger/history.db",
    "ledger/history.db-shm",
    "ledger/lock",
    "ledger/owners",
    "sprint-plan-state.json",
]


@pytest.mark.parametrize("plant", PLANTS)
@pytest.mark.parametrize("place", PLACES)
def test_something_else_in_a_place(one: Made, tmp_path: Path, place: str, plant: str) -> None:
    """It is answered or refused, no command hangs, and what a link leads to is not written."""
    theirs = one.root.parent / f"theirs-{os.getpid()}"
    theirs.write_text("precious")
    before = standing(theirs.parent).get(str(theirs))
    path = one.root / ".run" / place
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    PLANTS[plant](path, theirs)
    ask(one.root, ("status",), ("verify",), *WRITING)
    after = standing(theirs.parent).get(str(theirs))
    assert after == before
    theirs.unlink()


FORGED = [
    ("mark", '"of":1,"label":"l","data":1e400'),
    ("mark", f'"of":OPEN,"label":"\\u001b[2J\u202e\u009b","data":{"9" * 5000}'),
    ("mark", '"of":OPEN,"label":"l","data":1e400'),
    ("mark", f'"of":OPEN,"label":"l","data":{"[" * 5000}{"]" * 5000}'),
    ("commit", '"of":OPEN,"name":"pay","key":"maybe2","result":1e400'),
    ("commit", '"of":OPEN,"name":"pay","key":"maybe2","file":"a\\u0000b","size":9'),
    ("commit", '"of":OPEN,"name":"pay","key":"maybe2","file":"../../../theirs","size":9'),
    ("doubt", '"of":OPEN,"failure":{"type":"\\u001b[31m\u202e","message":"\u009b"}'),
    ("adopted", '"document":"no json"'),
    ("observed", '"document":"[[["'),
    ("started", '"plan_id":"\\u001b[31m\u202e","document":"nonsense"'),
    ("halted", '"reason":"\\u001b[31m\u202e\u009b"'),
    ("lost", '"who":"../x","proof":"\\u001b[31m"'),
]


@pytest.mark.parametrize(("kind", "facts"), FORGED, ids=range(len(FORGED)))
def test_a_sound_line_of_a_neighbour(one: Made, kind: str, facts: str) -> None:
    """A record with a right checksum and hostile content is shown escaped, or refused by file, offset and number."""
    lines = [line for path in one.segments for line in path.read_bytes().split(b"\n")]
    open_at = json.loads([line for line in lines if b'"maybe2"' in line and b'"intent"' in line][-1])["lsn"]

    def make(last: dict[str, int]) -> bytes:
        head = f'{{"t":"{kind}","lsn":{last["lsn"] + 1},"at":"\\u001b[31m","run":"r","steps":{last["steps"]},'
        return (head + facts.replace("OPEN", str(open_at))).encode()

    append_line(one.segments[-1], make)
    for answer in ask(one.root, *FEW):
        _names_the_place(answer)


def _names_the_place(answer: Answer) -> None:
    if "LSN" in answer.err and answer.code == 78:
        assert ".run" in answer.err, answer


@pytest.mark.parametrize("owner", ["../../../etc/passwd", "a\\u0000b", "x" * 5000, ".."])
def test_an_owner_that_is_no_name(one: Made, owner: str) -> None:
    """The id of an owner out of a record leads to no file elsewhere, and ends no command."""

    def make(last: dict[str, int]) -> bytes:
        return (
            f'{{"t":"intent","lsn":{last["lsn"] + 1},"at":"","run":"r","owner":"{owner}",'
            f'"steps":{last["steps"] + 1},"name":"n","key":"k"'
        ).encode()

    append_line(one.segments[-1], make)
    ask(one.root, *FEW)


@pytest.mark.parametrize(
    "script",
    [
        (
            "DROP TABLE keys; CREATE VIEW keys AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
            "SELECT zeroblob(16) AS id, x AS lsn FROM c WHERE x < 0"
        ),
        "CREATE TRIGGER t AFTER INSERT ON keys BEGIN DELETE FROM witness; END",
        "UPDATE meta SET body = zeroblob(900000000) WHERE id = 2",
    ],
    ids=["endless view", "trigger", "huge row"],
)
def test_a_history_that_works_against_us(one: Made, script: str) -> None:
    """No view is waited for, no trigger runs, no claimed size is believed: a folded key is refused, never new."""
    history = sqlite3.connect(one.ledger / "history.db")
    history.executescript(script)
    history.close()
    entering = ask(one.root, ("step", "pay", "--key", "x0", "--", "true"), *FEW)[0]
    assert entering.code == 78, entering


def test_a_state_file_whose_members_are_many() -> None:
    """A long list beside many members is read in a time that grows with its length, not with its square."""
    many = 20_000
    members = ",".join(f'"k{i}":1' for i in range(many))
    items = ",".join(["{}"] * many)
    assert read(f'{{"state":"RUNNING","sprints":{{"list":[{items}]}},{members}}}'.encode()).state == "RUNNING"
