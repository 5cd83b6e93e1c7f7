"""The folded history: no outcome is lost, and a step that was folded is never taken for a new one."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw

from runledger.errors import DiskRefused, LedgerBusy, LedgerCorrupt, LedgerError, LedgerFailed, NewerVersion
from runledger.local import history_files, history_fold
from runledger.local.history import History
from runledger.local.history_rows import Facts, encode_facts, hashes_of, identity_of
from runledger.view import Identity, MarkView, Settled

# The children of these forks only use what was there before any thread.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

AT = "2026-11-29T14:20:11.123456Z"
NOBODY = 65534

FOLDER = """
import sys
from runledger.local.history import History
from runledger.view import Settled
history = History.open(sys.argv[1], "00ff", read_only=False)
first = history.meta().steps
while True:
    batch = [
        Settled(lsn=i + 1, of=i, name="n", key=str(i), scope="run", run="r-1", attempt=1, status="committed", at="",
                owner="o")
        for i in range(first, first + 300)
    ]
    history.fold(batch, first + 300, b"checkpoint")
    first += 300
    print(first, flush=True)
"""

READER = """
import sys
from runledger.local.history import History
from runledger.view import Identity
history = History.open(sys.argv[1], "00ff", read_only=True)
for line in sys.stdin:
    print(history.get(Identity("r-1", "n", line.strip())) is not None, history.meta().lsn, flush=True)
"""


def outcome(number: int, *, lsn: int | None = None, **changed: Any) -> Settled:
    """The outcome of step ``number``, with some fields changed."""
    return Settled(
        **{
            "lsn": number + 1 if lsn is None else lsn,
            "of": number,
            "name": "n",
            "key": str(number),
            "scope": "run",
            "run": "r-1",
            "attempt": 1,
            "status": "committed",
            "at": AT,
            "owner": "o-1",
            **changed,
        }
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a new, empty history is."""
    path = tmp_path / "history.db"
    History.create(str(path), "00ff").close()
    return path


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    """A new, empty history, open for writing."""
    history = reopened(path)
    yield history
    history.close()


def reopened(path: Path, *, read_only: bool = False) -> History:
    """The history at ``path``, which is there."""
    history = History.open(str(path), "00ff", read_only=read_only)
    assert history is not None
    return history


def contents(folder: Path) -> dict[str, bytes]:
    """Every file and what is in it."""
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def leave_with_a_log(path: Path, first: int, count: int) -> None:
    """Fold in a child that dies before the log is moved into the file."""
    pid = os.fork()
    if pid == 0:
        setattr(history_fold, "empty_log", lambda _: None)  # noqa: B010 - a name of a module
        reopened(path).fold([outcome(n) for n in range(first, first + count)], first + count, b"c")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert path.with_name("history.db-wal").stat().st_size > 0


class TestOutcomes:
    def test_they_come_back_as_they_were(self, history: History) -> None:
        """Committed, aborted, with a result, marks and any text: nothing of an outcome is lost."""
        batch = [
            outcome(1, result=Raw(b'{"n":1.50}'), typed=True, marks=(MarkView(AT, "pushed", Raw(b"[1]")),)),
            outcome(2, status="aborted", attempt=3, reason="no \x1b ü"),
            outcome(3, scope="ledger", unstored="too large"),
        ]
        history.fold(batch, 9, b"checkpoint")
        for settled in batch:
            assert history.get(identity_of(settled)) == settled
        meta = history.meta()
        assert (meta.ledger, meta.lsn, meta.steps, meta.checkpoint) == ("00ff", 9, 3, b"checkpoint")
        assert history.verify() == []

    def test_no_two_identities_are_one(self, history: History) -> None:
        """Text that moves between run, name and key, or holds the separator, stays apart."""
        history.fold([outcome(1)], 2, b"")
        for other in (
            Identity("", "r-1n", "1"),
            Identity("r-1", "n1", ""),
            Identity("r-1n", "", "1"),
            Identity("r-1", "", "n1"),
        ):
            assert history.get(other) is None
        assert len({hashes_of(Identity("1:", "1:", x)) for x in ("", "1", "1:")}) == 3

    def test_repeating_a_fold_changes_nothing(self, history: History) -> None:
        """A batch that is folded again, as after a kill, leaves steps, digest and outcomes as they were."""
        batch = [outcome(n) for n in range(2000)]
        history.fold(batch, 2000, b"a")
        before = history.meta()
        history.fold(batch[500:], 2000, b"a")
        history.fold(reversed(batch), 2000, b"a")
        assert history.meta() == before
        assert history.verify() == []

    def test_the_higher_lsn_stays(self, history: History) -> None:
        """An aborted step that was committed later is committed, in whatever order the two are folded."""
        aborted = outcome(1, lsn=2, status="aborted")
        committed = outcome(1, lsn=7, attempt=2)
        history.fold([aborted], 2, b"a")
        history.fold([committed, aborted], 7, b"b")
        history.fold([aborted], 2, b"a")
        assert history.get(identity_of(committed)) == committed
        meta = history.meta()
        assert (meta.lsn, meta.steps, meta.checkpoint) == (7, 1, b"b")
        assert history.verify() == []

    def test_it_knows_how_far_it_reaches(self, history: History, path: Path) -> None:
        """What another handle folded counts too."""
        assert not history.covers(1)
        other = reopened(path)
        other.fold([outcome(1)], 5, b"")
        other.close()
        assert history.covers(5)
        assert not history.covers(6)


class TestOpening:
    def test_there_may_be_none(self, tmp_path: Path) -> None:
        """Before the first compaction there is no history, and asking makes none."""
        for read_only in (True, False):
            assert History.open(str(tmp_path / "history.db"), "00ff", read_only=read_only) is None
        assert contents(tmp_path) == {}

    def test_it_is_private_and_one_file(self, path: Path, history: History) -> None:
        """Only its owner reads it, and a close leaves nothing beside it."""
        history.fold([outcome(1)], 2, b"")
        assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}
        history.close()
        assert list(contents(path.parent)) == ["history.db"]

    def test_a_killed_creation_is_cleared(self, path: Path) -> None:
        """A file that never got its name is removed by the next creation."""
        path.unlink()
        (path.parent / "history.0123.tmp").touch()
        (path.parent / "history.0123.tmp-journal").touch()
        History.create(str(path), "00ff").close()
        assert list(contents(path.parent)) == ["history.db"]

    @pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
    @pytest.mark.parametrize("read_only", [True, False])
    def test_links_are_refused(self, path: Path, tmp_path: Path, suffix: str, *, read_only: bool) -> None:
        """No link planted in its place, or beside it, is followed."""
        outside = tmp_path / "outside"
        path.rename(outside)
        if suffix:
            shutil.copyfile(outside, path)
        Path(f"{path}{suffix}").symlink_to(outside)
        before = outside.read_bytes()
        with pytest.raises(DiskRefused, match="not a regular file"):
            reopened(path, read_only=read_only)
        assert outside.read_bytes() == before

    @pytest.mark.parametrize("read_only", [True, False])
    def test_another_ledger_s_is_refused(self, path: Path, *, read_only: bool) -> None:
        """A history that was copied from elsewhere answers for nobody here."""
        with pytest.raises(LedgerCorrupt, match="of ledger 00ff, and this is ledger 11ee"):
            History.open(str(path), "11ee", read_only=read_only)
        found = History.open(str(path), "", read_only=read_only)
        assert found is not None
        found.close()

    @pytest.mark.parametrize("read_only", [True, False])
    def test_a_later_format_is_refused(self, path: Path, *, read_only: bool) -> None:
        """What a later version wrote is left as it is."""
        with sqlite3.connect(path) as connection:
            connection.execute(
                "UPDATE meta SET body = ?, crc = ? WHERE id = 1", encode_facts(Facts(2, "00ff"))
            )
        connection.close()
        with pytest.raises(NewerVersion):
            reopened(path, read_only=read_only)

    @pytest.mark.parametrize("read_only", [True, False])
    @pytest.mark.parametrize("data", [b"", b"\0" * 8192, b"no database " * 1000])
    def test_what_is_no_history_is_loud(self, path: Path, data: bytes, *, read_only: bool) -> None:
        """An emptied or overwritten file is damage, never an empty history."""
        path.write_bytes(data)
        with pytest.raises(LedgerCorrupt, match=r"history\.db is damaged") as caught:
            reopened(path, read_only=read_only)
        assert "runledger verify" in caught.value.hint


class TestDamage:
    @pytest.fixture
    def sound(self, path: Path, history: History) -> tuple[Path, dict[Identity, Settled]]:
        """A closed history of some pages in both trees, and what is in it."""
        known = {identity_of(one): one for one in (outcome(n, reason="x" * 200) for n in range(400))}
        history.fold(known.values(), 400, b"checkpoint")
        history.close()
        return path, known

    @pytest.mark.parametrize("part", range(4))
    def test_no_flipped_bit_makes_a_step_new(
        self, sound: tuple[Path, dict[Identity, Settled]], part: int
    ) -> None:
        """Whatever bit flips, a known step is found as it was, or the damage is told; it is never absent."""
        path, known = sound
        data = path.read_bytes()
        chance = random.Random(part)
        heads = [page + at for page in range(0, len(data), 4096) for at in range(16)]
        told = 0
        for turn in range(80):
            where = chance.choice(
                [chance.randrange(len(data)), chance.choice(heads), chance.randrange(100), 4095 - turn]
            )
            bad = bytearray(data)
            bad[where] ^= 1 << chance.randrange(8)
            path.write_bytes(bad)
            os.utime(path, (1, 1))
            try:
                history = reopened(path, read_only=turn % 8 > 0)
            except (LedgerCorrupt, NewerVersion):
                told += 1
                continue
            for identity, settled in known.items():
                try:
                    assert history.get(identity) == settled, f"bit at {where}"
                except LedgerCorrupt:
                    told += 1
            try:
                history.close()
            except LedgerError:
                told += 1
            for suffix in ("-wal", "-shm"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        assert told

    @pytest.mark.parametrize(
        ("harm", "finding"),
        [
            ("DELETE FROM witness", "the witness does not know"),
            ("UPDATE outcomes SET crc = crc + 1", "checksum of step"),
            ("UPDATE meta SET crc = 0 WHERE id = 1", "what it says of itself"),
            ("UPDATE meta SET crc = 1 WHERE id = 2", "what it says of itself"),
            ("DELETE FROM keys WHERE id = (SELECT min(id) FROM keys)", "399 steps, 400 witnessed"),
            ("INSERT INTO witness VALUES (x'00')", "400 steps, 401 witnessed"),
            ("DELETE FROM outcomes WHERE lsn = 7", "400 steps, 400 witnessed, 399 outcomes"),
            ("UPDATE keys SET lsn = 8 WHERE lsn = 7", "checksum of step"),
        ],
    )
    def test_verify_finds_what_is_wrong(
        self, sound: tuple[Path, dict[Identity, Settled]], harm: str, finding: str
    ) -> None:
        """Each way in which the trees, the rows or the whole set may be off is a finding."""
        path, _ = sound
        history = reopened(path)
        with sqlite3.connect(path) as connection:
            connection.execute(harm)
        connection.close()
        assert finding in "\n".join(history.verify())
        history.close()

    @pytest.mark.parametrize("tree", ["keys", "outcomes"])
    def test_a_step_missing_from_one_tree_is_loud(
        self, sound: tuple[Path, dict[Identity, Settled]], tree: str
    ) -> None:
        """A miss is believed only where both trees agree."""
        path, known = sound
        with sqlite3.connect(path) as connection:
            connection.execute(f"DELETE FROM {tree}")  # noqa: S608 - no input
        connection.close()
        history = reopened(path)
        for identity in known:
            with pytest.raises(LedgerCorrupt, match="was folded is not found"):
                history.get(identity)
        assert history.get(Identity("r-2", "n", "1")) is None
        history.close()


class TestReadOnly:
    def test_it_leaves_no_trace(self, path: Path, history: History) -> None:
        """A reader makes no file and changes none, with a log or without."""
        history.fold([outcome(1)], 2, b"")
        history.close()
        for _ in range(2):
            before = contents(path.parent)
            reader = reopened(path, read_only=True)
            assert reader.get(identity_of(outcome(1))) == outcome(1)
            assert reader.verify() == []
            reader.close()
            assert contents(path.parent) == before
            leave_with_a_log(path, 10, 5)
        reader = reopened(path, read_only=True)
        assert reader.get(identity_of(outcome(14))) == outcome(14)
        reader.close()

    @pytest.mark.parametrize("shared", [True, False])
    def test_a_log_that_a_crash_left_in_a_read_only_folder(self, *, shared: bool) -> None:
        """What only the log knows is read where nothing may be written, and the private copy is removed."""
        folder = Path(tempfile.mkdtemp(prefix="runledger-test-"))
        scratch = Path(tempfile.mkdtemp(prefix="runledger-test-"))
        path = folder / "history.db"
        try:
            History.create(str(path), "00ff").close()
            leave_with_a_log(path, 0, 50)
            if not shared:
                path.with_name("history.db-shm").unlink()
            before = contents(folder)

            def read() -> None:
                tempfile.tempdir = str(scratch)
                with pytest.raises(OSError, match="denied"):
                    (folder / "new").touch()
                reader = reopened(path, read_only=True)
                assert all(reader.get(identity_of(outcome(n))) == outcome(n) for n in range(50))
                assert reader.get(identity_of(outcome(50))) is None
                reader.close()

            scratch.chmod(0o777)
            as_nobody(folder, read)
            assert contents(folder) == before
            assert contents(scratch) == {}
        finally:
            folder.chmod(0o700)
            shutil.rmtree(folder)
            shutil.rmtree(scratch)

    def test_it_follows_a_writer(self, path: Path, history: History) -> None:
        """A reader without locks notices what others fold, in this process or in another."""
        with subprocess.Popen(
            [sys.executable, "-c", READER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            near = reopened(path, read_only=True)
            for lsn in range(1, 30):
                assert near.get(identity_of(outcome(lsn))) is None
                history.fold([outcome(lsn)], lsn, b"")
                process.stdin.write(f"{lsn}\n")
                process.stdin.flush()
                assert process.stdout.readline() == f"True {lsn}\n"
                assert near.get(identity_of(outcome(lsn))) == outcome(lsn)
            near.close()
            process.stdin.close()


def as_nobody(folder: Path, action: Callable[[], None]) -> None:
    """Run ``action`` in a child for which ``folder`` is read-only, which it never is for root."""
    if os.getuid() == 0:
        for file in (folder, *folder.iterdir()):
            os.chown(file, NOBODY, NOBODY)
    folder.chmod(0o500)
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            action()
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


class TestFaults:
    @pytest.mark.parametrize("seed", range(4))
    def test_what_was_folded_survives_a_kill(self, path: Path, seed: int) -> None:
        """Killed anywhere, a fold is there whole or not at all, and what was acknowledged is there."""
        chance = random.Random(seed)
        acknowledged = 0
        for _ in range(3):
            with subprocess.Popen(
                [sys.executable, "-c", FOLDER, str(path)], stdout=subprocess.PIPE, text=True
            ) as process:
                assert process.stdout is not None
                for _ in range(chance.randrange(1, 6)):
                    acknowledged = int(process.stdout.readline())
                signal.sigtimedwait([], chance.random() * 0.01)
                process.kill()
                acknowledged = max([acknowledged, *map(int, process.stdout.read().split())])
            reader = reopened(path, read_only=True)
            assert reader.meta().steps >= acknowledged
            reader.close()
            history = reopened(path)
            meta = history.meta()
            assert meta.steps == meta.lsn
            assert meta.steps % 300 == 0
            assert meta.steps >= acknowledged
            assert history.get(Identity("r-1", "n", str(acknowledged - 1))) is not None
            assert history.verify() == []
            history.close()

    def test_a_full_disk_takes_nothing_and_ends_the_writing(self, path: Path, history: History) -> None:
        """A refused fold leaves all as it was; the handle writes no more, and a new one goes on."""
        history.fold([outcome(1)], 2, b"a")
        before = history.meta()
        connection = history._open_connection()
        connection.execute("PRAGMA max_page_count=8")
        with pytest.raises(DiskRefused, match="full"):
            history.fold([outcome(n) for n in range(500)], 500, b"b")
        connection.execute("PRAGMA max_page_count=100000")
        assert history.meta() == before
        with pytest.raises(LedgerFailed):
            history.fold([outcome(2)], 3, b"b")
        history.close()
        again = reopened(path)
        again.fold([outcome(n) for n in range(500)], 500, b"b")
        assert again.verify() == []
        again.close()

    def test_a_locked_one_is_busy(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where another process writes for too long nothing is folded, and reading goes on."""
        monkeypatch.setattr(history_files, "BUSY_S", 0.05)
        monkeypatch.setattr(history_fold, "BUSY_S", 0.05)
        history = reopened(path)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerBusy):
            history.fold([outcome(1)], 2, b"")
        assert history.get(identity_of(outcome(1))) is None
        other.execute("ROLLBACK")
        other.close()
        history.fold([outcome(1)], 2, b"")
        assert history.get(identity_of(outcome(1))) == outcome(1)
        history.close()

    def test_a_damaged_row_is_not_folded_over(self, path: Path, history: History) -> None:
        """What cannot be read is not replaced unseen."""
        history.fold([outcome(1)], 2, b"")
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE outcomes SET entry = x'00'")
        connection.close()
        with pytest.raises(LedgerCorrupt, match="checksum"):
            history.fold([outcome(1, lsn=9)], 9, b"")
        assert history.meta().lsn == 2
