"""Where the ledger lies: read-only, not ours, or gone under us."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runledger import DiskRefused, Ledger, LedgerError
from runledger.replay_report import replay
from runledger.verify import verify
from tests.faults.calls import loaded, run
from tests.support.children import Child, command, ran
from tests.support.faults import read_only, requires_read_only

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")

WRITING = [
    ["step", "pay", "--key", "new", "--", "true"],
    ["begin", "pay", "--key", "new"],
    ["halt", "--reason", "r"],
    ["heartbeat"],
    ["compact"],
    ["repair"],
]
READING = [
    ["status"],
    ["wake"],
    ["is-running"],
    ["replay"],
    ["log"],
    ["verify"],
    ["show", "pay", "a"],
    ["repair", "--dry-run"],
]

A_RUN = """
with Ledger.open() as ledger:
    ledger.start("p-1", sprints=["s"])
    with ledger.step("pay", key="a") as step:
        step.result = "a"
    ledger.compact()
    with ledger.step("pay", key="b") as step:
        step.result = "b"
"""


def tree(root: Path) -> dict[str, tuple[bytes, int]]:
    """Every file, what is in it, and when it was written."""
    files = [path for path in root.rglob("*") if path.is_file()]
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files}


@requires_read_only
def test_a_read_only_mount(root: Path) -> None:
    """Everything can be read; whatever writes is refused with one clear error, and its command is not run."""
    ran(A_RUN, root)
    before = tree(root)
    wrap = read_only(root)
    for words in READING[1::2]:
        said = command(root, *words, wrap=wrap)
        assert said.code == 0, (words, said)
        assert said.err == "", (words, said)
    for words in WRITING[::2]:
        said = command(root, *words, wrap=wrap)
        assert said.code == 74, (words, said)
        assert "Read-only file system" in said.err, (words, said)
        assert "Traceback" not in said.err
    assert tree(root) == before


needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

SOMEBODY, ELSE = 65533, 65534


def become(user: int) -> Callable[[], None]:
    """From here on the process is this user, to whom permissions apply."""

    def change() -> None:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)

    return change


@pytest.fixture
def theirs() -> Iterator[Path]:
    """A root that a user owns who is not root, in a folder that anybody may enter."""
    loaded()
    folder = Path(tempfile.mkdtemp(prefix="runledger-"))
    folder.chmod(0o755)
    root = folder / "root"
    root.mkdir(mode=0o755)
    os.chown(root, SOMEBODY, SOMEBODY)
    for words in (
        ["start", "--plan-id", "p-1", "--sprint", "s"],
        ["step", "pay", "--key", "a", "--", "true"],
        ["compact"],
        ["step", "pay", "--key", "b", "--", "true"],
    ):
        said = run(root, words, first=become(SOMEBODY))
        assert said.code == 0, said
    yield root
    for path in root.rglob("*"):
        path.chmod(0o700)
    shutil.rmtree(folder)


@needs_root
@pytest.mark.parametrize("mode", [0o500, 0o400, 0o000])
def test_a_folder_without_permission(theirs: Path, mode: int) -> None:
    """What can be read is, what cannot is refused, and nothing is made anew beside it."""
    ledger = theirs / ".run" / "ledger"
    for path in ledger.rglob("*"):
        path.chmod(0o500 if path.is_dir() else 0o400)
    ledger.chmod(mode)
    for words in [*READING, *WRITING]:
        said = run(theirs, words, first=become(SOMEBODY))
        assert "Traceback" not in said.err, (words, said)
        readable = mode == 0o500 and words in READING
        assert said.code == (0 if readable else 74) or words == ["wake"], (words, said)
        assert readable or words != ["wake"] or said.out.startswith("INVALID"), said
    ledger.chmod(0o700)
    for path in ledger.rglob("*"):
        path.chmod(0o700)
    assert verify(theirs) == []


@needs_root
def test_another_user(theirs: Path) -> None:
    """A ledger is its owner's alone: anybody else is told so, and learns nothing of it."""
    ledger = theirs / ".run" / "ledger"
    assert ledger.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o077 for path in ledger.rglob("*")} == {0}
    before = tree(theirs)
    for words in [*READING, *WRITING]:
        said = run(theirs, words, first=become(ELSE))
        assert "Traceback" not in said.err, (words, said)
        assert said.code == 74 or words == ["wake"], (words, said)
        assert "pay" not in said.out, said
    assert tree(theirs) == before


# --- gone under us --------------------------------------------------------------------------------------


@pytest.mark.parametrize("gone", [".run/ledger", ".run", ".", ".run/ledger/lock", ".run/ledger/owners"])
def test_a_folder_that_is_deleted_under_a_handle(root: Path, gone: str) -> None:
    """What is recorded from then on nobody would find: it is refused, and the handle stays dead."""
    ledger = Ledger.open(root)
    with ledger.step("pay", key="a") as step:
        step.result = 1
    path = root / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if gone in {".run/ledger/lock", ".run/ledger/owners"}:
        with ledger.step("pay", key="b") as step:
            step.result = 2
        ledger.close()
        known = Ledger.open(root).lookup("pay", "b")
        assert known is not None
        return
    for _ in range(2):
        with pytest.raises(DiskRefused), ledger.step("pay", key="b"):
            raise AssertionError("it ran")
    ledger.close()
    root.mkdir(exist_ok=True)
    with Ledger.open(root) as again, pytest.raises(LedgerError) if gone == ".run/ledger" else again:
        assert again.lookup("pay", "a") is None
        with again.step("pay", key="c") as step:
            step.result = 3


def test_a_folder_that_is_deleted_inside_a_step(root: Path) -> None:
    """The effect happened; that it could not be put on record is told to whoever called."""
    with Ledger.open(root) as ledger:
        with pytest.raises(DiskRefused, match="deleted"), ledger.step("pay", key="a"):
            shutil.rmtree(root / ".run")
        with pytest.raises(DiskRefused), ledger.step("pay", key="b"):
            raise AssertionError("it ran")


def test_a_folder_that_is_replaced_by_a_copy(root: Path) -> None:
    """A restored backup is another folder: who has the old one open does not write there any more."""
    with Ledger.open(root) as ledger:
        with ledger.step("pay", key="a") as step:
            step.result = 1
        run = root / ".run"
        shutil.copytree(run / "ledger", run / "copy")
        (run / "ledger").rename(run / "old")
        (run / "copy").rename(run / "ledger")
        before = tree(run)
        with pytest.raises(DiskRefused, match="replaced"), ledger.step("pay", key="b"):
            raise AssertionError("it ran")
        assert tree(run) == before


def test_a_folder_that_is_moved_away(root: Path) -> None:
    """Others begin a new one in its place: what this handle would record they could not know."""
    with Ledger.open(root) as ledger:
        with ledger.step("pay", key="a"):
            pass
        (root / ".run").rename(root / ".run.old")
        with Ledger.open(root) as other, other.step("pay", key="b"):
            pass
        with pytest.raises(DiskRefused, match="replaced"), ledger.step("pay", key="b"):
            raise AssertionError("it ran")


def test_a_project_that_is_moved_as_a_whole(root: Path) -> None:
    """The ledger is where it was, in the project."""
    moved = root.with_name("moved")
    with Ledger.open(root) as ledger:
        with ledger.step("pay", key="a"):
            root.rename(moved)
        with ledger.step("pay", key="b"):
            pass
    with Ledger.open(moved) as again:
        known = again.lookup("pay", "b")
        assert known is not None
        assert known.status == "committed"


def test_a_working_directory_that_is_gone(tmp_path: Path) -> None:
    """A command that is called in a deleted directory says so."""
    gone = tmp_path / "gone"
    gone.mkdir()
    with Child(
        """
        import subprocess
        gone = arguments[0]
        os.chdir(gone)
        os.rmdir(gone)
        os.environ.pop("RUNLEDGER_DIR")
        done = subprocess.run([sys.executable, "-m", "runledger", "status"], capture_output=True, text=True)
        say(done.returncode, "Traceback" in done.stderr, "working directory" in done.stderr)
        """,
        tmp_path,
        gone,
    ) as child:
        assert child.line() == "74 False True"


def test_a_ledger_without_its_lock_files_is_read(root: Path) -> None:
    """A copy that left out what looked useless is as good a copy."""
    ran(A_RUN, root)
    ledger = root / ".run" / "ledger"
    for name in ("lock", "compact.lock", ".gitignore"):
        (ledger / name).unlink()
    shutil.rmtree(ledger / "owners")
    assert replay(root).committed == 2
    assert not (ledger / "lock").exists()
    with Ledger.open(root) as handle:
        assert handle.lookup("pay", "a") is not None
        handle.heartbeat()
    assert verify(root) == []
