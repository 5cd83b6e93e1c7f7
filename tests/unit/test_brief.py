"""The brief: good as long as nothing changed, void at any change; and the heartbeat that is written by hand."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest import mock

import pytest

from runledger import DiskRefused, Ledger, Options, verify
from runledger.cli import glance
from runledger.local import brief as module
from runledger.local import pulse
from runledger.local.directory import File
from runledger.local.files import Files
from runledger.local.store import LocalStore
from tests.support.children import Child, command, ran
from tests.support.quick import ASKED, agreed, from_brief, kept_ready
from tests.support.tree import newest, records, state, state_file


@pytest.fixture
def left(root: Path) -> Path:
    """A run whose writer left in good order."""
    with Ledger.open(root) as ledger:
        ledger.start("plan", sprints=["s1", "s2"])
        with ledger.step("charge", key="a") as step:
            step.mark("sent")
    return root


def in_place(path: Path, old: bytes, new: bytes) -> None:
    """An edit that an editor makes which keeps the file, its size and even its time."""
    stat = path.stat()
    data = path.read_bytes()
    assert old in data
    assert len(old) == len(new)
    with path.open("r+b") as file:
        file.write(data.replace(old, new, 1))
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


# --- when it holds ------------------------------------------------------------------------------------------


def test_all_is_kept_ready_when_a_writer_leaves(left: Path) -> None:
    """Every quick command, for a person and for a program, says what the ledger itself says."""
    assert agreed(left, time.time()) == len(ASKED)


def test_age_is_told_at_the_time_of_asking(left: Path) -> None:
    """The age grows, a run that nobody touches gets stale, and a clock that was set back makes nothing negative."""
    now = time.time()
    for at in (now - 3600, now, now + 0.4567, now + 899, now + 902, now + 1e9):
        assert agreed(left, at) == len(ASKED)
    with mock.patch("time.time", return_value=now + 902):
        said = from_brief(left, "status", as_json=True)
    assert said is not None
    assert json.loads(said[1])["stale"] is True


@pytest.mark.parametrize("move", ["halt", "finish"])
def test_a_run_that_stands_still(left: Path, move: str) -> None:
    """HALTED and JACKED_OUT are kept ready too; a heartbeat of such a run is the engine's to refuse."""
    with Ledger.open(left) as ledger:
        ledger.halt("the wall") if move == "halt" else ledger.finish(force=True, reason="enough")
    assert agreed(left, time.time())
    assert from_brief(left, "heartbeat", as_json=True) is None
    assert command(left, "heartbeat").code == 77


def test_what_a_living_owner_does(root: Path) -> None:
    """A step in flight is told while its owner lives; its death makes the brief void, and the step is in doubt."""
    program = """
    import runledger.local.state_keeper as keeper
    keeper.EVERY_S = 0
    ledger = Ledger.open()
    ledger.start("plan", sprints=["s1"])
    with ledger.step("charge", key="a"):
        ledger.begin_sprint("s1")
        say("in flight")
        sys.stdin.readline()
    """
    with Child(program, root) as child:
        child.until("in flight")
        assert agreed(root, time.time())
        said = from_brief(root, "wake", as_json=False)
        assert said is not None
        assert b"in flight: charge a" in said[1]
        assert from_brief(root, "heartbeat", as_json=True) is not None
        assert agreed(root, time.time())
        child.kill()
    assert not kept_ready(root)
    assert command(root, "wake").code == 76


def test_a_doubt_that_stays(root: Path) -> None:
    """A step in doubt is kept ready as well, with the lines that settle it."""
    with Ledger.open(root) as ledger, pytest.raises(ZeroDivisionError), ledger.step("charge", key="a b"):
        raise ZeroDivisionError("by \x1b nought")
    assert agreed(root, time.time())
    said = from_brief(root, "wake", as_json=False)
    assert said is not None
    assert said[0] == 76
    assert said[1].count(b"runledger resolve") == 2


def test_a_compaction_leaves_one(left: Path) -> None:
    """After it the checkpoint is among what the brief rests on."""
    assert command(left, "compact").code == 0
    assert agreed(left, time.time())
    (left / ".run" / "ledger" / "checkpoint.json").unlink()
    assert not kept_ready(left)


# --- when it is void ----------------------------------------------------------------------------------------


def halted_by_hand(root: Path) -> None:
    """Somebody stops the run in the state file."""
    state_file(root).write_text(state_file(root).read_text().replace("RUNNING", "HALTED"))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a record of another process": lambda root: ran(
        "ledger = Ledger.open()\nledger.step('a', key='b').__enter__()\nos._exit(0)", root
    ),
    "a halt by hand": halted_by_hand,
    "an edit that keeps size and time": lambda root: in_place(state_file(root), b'"plan"', b'"plon"'),
    "a touch": lambda root: os.utime(state_file(root)),
    "no state file": lambda root: state_file(root).unlink(),
    "a bit of the journal": lambda root: in_place(newest(root), b"charge", b"charge".replace(b"g", b"f")),
    "a bit of the header": lambda root: in_place(newest(root), b'"t":"segment"', b'"t":"sfgment"'),
    "a torn tail": lambda root: newest(root).write_bytes(newest(root).read_bytes() + b'{"t":"int'),
    "a cut tail": lambda root: os.truncate(newest(root), newest(root).stat().st_size - 1),
    "another segment": lambda root: shutil.copy(newest(root), newest(root).with_name(f"{99:020d}.jsonl")),
    "no segment": lambda root: newest(root).unlink(),
    "a checkpoint": lambda root: (root / ".run" / "ledger" / "checkpoint.json").write_bytes(b"{}"),
    "no ledger": lambda root: shutil.rmtree(root / ".run" / "ledger"),
    "a copy": lambda root: (
        shutil.copytree(root / ".run", root / "b"),
        shutil.rmtree(root / ".run"),
        (root / "b").rename(root / ".run"),
    ),
    "a link": lambda root: ((root / ".run").rename(root / "b"), (root / ".run").symlink_to(root / "b")),
}


@pytest.mark.parametrize("what", CHANGES)
def test_it_is_void_after(left: Path, what: str) -> None:
    """Whoever changed what it rests on, it says nothing any more, and nothing is printed."""
    assert kept_ready(left)
    CHANGES[what](left)
    assert [from_brief(left, name, as_json=as_json) for name, as_json in [*ASKED, ("heartbeat", True)]] == [
        None
    ] * 7


def test_a_branch_that_the_run_declared(left: Path) -> None:
    """Where the run belongs to a branch, another one that is checked out makes the brief void, and back again good."""
    (left / ".git").mkdir()
    head = left / ".git" / "HEAD"
    head.write_text("ref: refs/heads/main\n")
    with Ledger.open(left) as ledger:
        ledger.abandon("another one")
        ledger.start("plan", branch="main")
    assert agreed(left, time.time())
    head.write_text("ref: refs/heads/other\n")
    assert not kept_ready(left)
    assert command(left, "wake").code == 77
    head.write_text("ref: refs/heads/main\n")
    assert kept_ready(left)


def test_no_bit_of_it_may_be_wrong(left: Path) -> None:
    """A brief that is damaged, cut or of another version is none."""
    path = left / ".run" / "ledger" / "brief"
    good = path.read_bytes()
    for at in range(0, len(good), 7):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1 :])
        assert not kept_ready(left)
    for cut in (b"", good[:-1], good[: len(good) // 2], good + b"wake x\n"):
        path.write_bytes(cut)
        assert not kept_ready(left)
    with mock.patch.object(module, "_TITLE", b"runledger-brief 1 99.0 "):
        path.write_bytes(good)
        assert not kept_ready(left)
    assert kept_ready(left)


def test_none_while_a_lease_runs_down(left: Path) -> None:
    """What an outside session holds is told with the time it has left, which no brief can keep."""
    assert command(left, "begin", "mail", "--key", "a").code == 0
    assert not kept_ready(left)


@pytest.mark.parametrize(
    "edit", [(b"charge", b"chargf"), (b'"segment"', b'"segmenu"'), (b'"opened"', b'"opfned"')]
)
def test_a_writer_does_not_pass_damage_on(left: Path, edit: tuple[bytes, bytes]) -> None:
    """What was damaged behind the back of a writer is not taken for good when it leaves."""
    with Ledger.open(left) as ledger:
        ledger.heartbeat()
        in_place(newest(left), *edit)
    assert not kept_ready(left)
    assert command(left, "wake").code == 78


def test_none_of_what_no_sync_covered(root: Path) -> None:
    """What a power cut may take back is told by the ledger alone."""
    with Ledger.open(root, commit="riding") as ledger:
        ledger.start("plan")
        with ledger.step("charge", key="a"):
            pass
        assert isinstance(ledger.store, LocalStore)
        assert ledger.store.state_keeper.write()
        assert not kept_ready(root)
    assert kept_ready(root)


@pytest.mark.parametrize("stream", ["latin-1", "terminal"])
def test_a_stream_that_needs_more(left: Path, stream: str) -> None:
    """Colours and replaced letters are not kept ready; JSON is the same everywhere."""
    with mock.patch.object(
        sys, "stdout", mock.Mock(encoding="latin-1" if stream == "latin-1" else "utf-8")
    ) as out:
        out.isatty.return_value = stream == "terminal"
        with mock.patch.dict(os.environ, {"RUNLEDGER_DIR": str(left)}):
            assert glance.answered("wake", as_json=False, quiet=False) is None
            assert glance.answered("wake", as_json=True, quiet=False) == 0
            assert glance.answered("is-running", as_json=False, quiet=True) == 0


# --- the heartbeat by hand ----------------------------------------------------------------------------------


@pytest.fixture
def later() -> Iterator[float]:
    """The clock stands in a later second than any before."""
    at = float(int(time.time()) + 10)
    with mock.patch("time.time", return_value=at):
        yield at


def beaten(root: Path) -> dict[str, object] | None:
    """What a heartbeat by hand says."""
    said = from_brief(root, "heartbeat", as_json=True)
    if said is None:
        return None
    found: dict[str, object] = json.loads(said[1])
    return found


def test_a_heartbeat_by_hand_is_the_engines(left: Path, later: float) -> None:
    """The record, the state file and the next brief are such that nothing finds a difference."""
    before = records(left)[-1]["lsn"]
    text = state_file(left).read_bytes()
    first = beaten(left)
    second = beaten(left)
    assert first is not None
    assert second is not None
    assert [first["lsn"], second["lsn"]] == [before + 1, before + 2]
    record = records(left)[-2]
    assert (record["t"], record["at"], record["durable"]) == ("heartbeat", first["last_activity"], before)
    assert state(left)["timestamps"]["last_activity"] == f"{record['at'][:19]}Z"
    assert state(left)["ledger"]["lsn"] == first["lsn"]
    assert len(state_file(left).read_bytes()) == len(text)
    assert verify.verify(left) == []
    assert agreed(left, later) == len(ASKED)
    with Ledger.open(left) as ledger:
        ledger.heartbeat()
    assert [r["t"] for r in records(left)[-4:]] == ["heartbeat", "opened", "heartbeat", "closed"]


def test_within_a_second_the_state_file_stands_still(left: Path, later: float) -> None:
    """Activity moves it once a second at most; the record is written each time."""
    assert beaten(left) is not None
    stat = state_file(left).stat()
    assert beaten(left) is not None
    assert state_file(left).stat() == stat
    assert agreed(left, later)


def test_numbers_that_grow(left: Path) -> None:
    """An LSN that gets another digit moves what stands behind it."""
    now = float(int(time.time()))
    for n in range(12):
        with mock.patch("time.time", return_value=now + 10 * n):
            assert beaten(left) is not None
            assert agreed(left, now + 10 * n)
    assert state(left)["ledger"]["lsn"] == records(left)[-1]["lsn"] > 10
    assert verify.verify(left) == []


def test_foreign_fields_stay(left: Path, later: float) -> None:
    """What others put into the state file is there after a heartbeat, byte for byte."""
    text = state_file(left).read_text()
    state_file(left).write_text(
        text.replace('"options": {}', '"options": {"a": 1e400, "ü": "last_activity"}')
    )
    with Ledger.open(left) as ledger:
        ledger.begin_sprint("s1")
    assert beaten(left) is not None
    assert '"options": {"a": 1e400, "ü": "last_activity"}' in state_file(left).read_text()
    assert agreed(left, later)


def test_an_order_of_somebody_else(left: Path) -> None:
    """The digest may come first, before what it covers."""
    document = state(left)
    document = {"ledger": document.pop("ledger"), **document}
    state_file(left).write_text(json.dumps(document) + "\n")
    with Ledger.open(left) as ledger:
        ledger.begin_sprint("s1")
    for later in range(10, 50, 10):
        with mock.patch("time.time", return_value=time.time() + later):
            assert beaten(left) is not None
        assert agreed(left, time.time() + later)
    assert verify.verify(left) == []
    assert list(state(left)) == list(document)


def test_the_record_is_durable_before_the_state_file_tells_of_it(left: Path, later: float) -> None:
    """Else a power cut would leave a state file from beyond the journal's end."""
    calls = mock.Mock()
    real = File.datasync, pulse.write_new
    with (
        mock.patch.object(File, "datasync", lambda file: (calls.sync(file.path[-6:]), real[0](file))),
        mock.patch.object(pulse, "write_new", lambda *rest: (calls.write(rest[1][:4]), real[1](*rest))),
    ):
        assert beaten(left) is not None
    assert calls.mock_calls == [mock.call.sync(".jsonl"), mock.call.write(".spr")]


def test_a_sync_that_fails_is_not_acknowledged(left: Path, later: float) -> None:
    """The engine has the word, which writes again what nobody knows to be on the disk."""
    text = state_file(left).read_bytes()
    refusal = DiskRefused("cannot sync", errno=5)
    with mock.patch.object(File, "datasync", side_effect=refusal):
        assert beaten(left) is None
    assert state_file(left).read_bytes() == text
    assert not kept_ready(left)
    assert command(left, "heartbeat").code == 0
    assert verify.verify(left) == []


def test_two_places_that_look_alike(left: Path, later: float) -> None:
    """Where it is not certain which value is the activity's, the engine sets it."""
    text = state_file(left).read_text()
    mine = '"options": {"last_activity": "2026-01-02T03:04:05Z"}'
    state_file(left).write_text(text.replace('"options": {}', mine))
    with Ledger.open(left) as ledger:
        ledger.begin_sprint("s1")
    assert agreed(left, later)
    assert beaten(left) is None
    assert mine in state_file(left).read_text()


def test_while_somebody_holds_the_lock(left: Path, later: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written beside another writer."""
    monkeypatch.setattr(pulse, "TRIES", 2)
    files = Files(str(left))
    files.find()
    assert files.ledger is not None
    lock = files.ledger.open("lock", write=True)
    assert lock is not None
    assert lock.lock()
    before = newest(left).read_bytes()
    assert beaten(left) is None
    lock.close()
    files.close()
    assert newest(left).read_bytes() == before
    assert beaten(left) is not None


def test_an_edit_in_between_is_not_overwritten(left: Path, later: float) -> None:
    """A state file that changes while ours is prepared stays, and the engine looks at it."""
    real = pulse.write_new

    def meanwhile(*arguments: object) -> None:
        real(*arguments)  # type: ignore[arg-type]  # passed on as they came
        halted_by_hand(left)

    with mock.patch.object(pulse, "write_new", meanwhile):
        assert beaten(left) is None
    assert "HALTED" in state_file(left).read_text()
    assert [path.name for path in (left / ".run").iterdir() if ".tmp" in path.name] == []
    assert not kept_ready(left)


def test_a_segment_that_is_full(root: Path) -> None:
    """The next segment is made by the engine."""
    with Ledger.open(root, options=Options(segment_bytes=700)) as ledger:
        ledger.start("plan")
    said = [beaten(root) for _ in range(5)]
    assert said[0] is not None
    assert said[-1] is None
    assert newest(root).stat().st_size < 1000


def test_a_dead_owner_is_buried_by_the_engine(root: Path) -> None:
    """A heartbeat by hand does nothing but that."""
    ran("Ledger.open().start('plan')\nos._exit(0)", root)
    assert beaten(root) is None
    assert command(root, "heartbeat").code == 0
    assert [r["t"] for r in records(root)].count("lost") == 1
    assert beaten(root) is not None
    with Ledger.open(root) as ledger:
        ledger.heartbeat()
        ran("ledger = Ledger.open()\nledger.heartbeat()\nos._exit(0)", root)
        ledger.halt("to look")
        ledger.resume()
        assert agreed(root, time.time())
        assert beaten(root) is None


def test_kills_at_any_call(left: Path, tmp_path: Path) -> None:
    """Wherever a heartbeat is killed, the ledger is sound and the next one goes through."""
    program = """
    import runledger.local.directory as directory
    left = int(arguments[0])
    def counted(method):
        def call(self, *rest, **more):
            global left
            left -= 1
            if left == 0:
                if method.__name__ == "pwrite":
                    method(self, rest[0][: len(rest[0]) // 2], rest[1])
                os._exit(9)
            return method(self, *rest, **more)
        return call
    for name in ("pwrite", "datasync", "sync", "truncate"):
        setattr(directory.File, name, counted(getattr(directory.File, name)))
    for name in ("rename", "sync"):
        setattr(directory.Directory, name, counted(getattr(directory.Directory, name)))
    from runledger.cli import glance
    say(glance.answered("heartbeat", as_json=False, quiet=False))
    """
    for calls in range(1, 20):
        copy = tmp_path / str(calls)
        with Ledger.open(copy) as ledger:
            ledger.start("plan")
        time.sleep(max(0.0, 1.0 - time.time() % 1.0))
        ended = ran(program, copy, calls, code=None)
        assert agreed(copy, time.time()) in {0, len(ASKED)}
        assert [f for f in verify.verify(copy) if "torn" not in f.reason] == []
        assert command(copy, "heartbeat").code == 0
        assert verify.verify(copy) == []
        if ended.code == 0:
            assert ended.lines == ["0"]
            return
    raise AssertionError("it never came to its end")


def test_the_first_version_of_a_handle_makes_one(root: Path) -> None:
    """However long the journal is that it found: its first body may be a long one, with hooks that ask."""
    with Ledger.open(root) as ledger:
        for n in range(80):
            with ledger.step("work", key=str(n), idempotent=True):
                pass
    brief = root / ".run" / "ledger" / "brief"
    before = brief.read_bytes()
    with Ledger.open(root) as ledger, ledger.step("long", key="work"):
        assert brief.read_bytes() != before
