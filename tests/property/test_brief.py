"""A brief never answers otherwise than the ledger, whatever anybody does to the files."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from runledger import Ledger, LedgerError
from runledger.local import snapshot, state_keeper
from runledger.store import Claim
from tests.support.quick import agreed, from_brief

KEYS = st.sampled_from(["a", "b", "c"])


class Boom(Exception):
    """What leaves a step in doubt."""


class Files(RuleBasedStateMachine):
    """Writers of this process, each a handle, and a vandal; all that the quick commands say is asked after each."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp())
        self.handles: list[Ledger] = []
        self.old: bytes | None = None
        self.patches = [
            mock.patch.object(state_keeper, "EVERY_S", 0.0),
            mock.patch.object(snapshot, "OFTEN_S", 0.0),
            mock.patch.dict(os.environ, {"RUNLEDGER_DIR": str(self.root)}),
        ]
        for patch in self.patches:
            patch.start()

    def teardown(self) -> None:
        for handle in self.handles:
            self.attempt(handle.close)
        for patch in self.patches:
            patch.stop()
        shutil.rmtree(self.root)

    # --- what is asked ----------------------------------------------------------------------------------------

    @invariant()
    def both_say_the_same(self) -> None:
        agreed(self.root, time.time() + 1.5)
        agreed(self.root, time.time() + 5000)

    # --- writers ----------------------------------------------------------------------------------------------

    @initialize(sprints=st.lists(st.sampled_from(["s1", "s2"]), unique=True), declared=st.booleans())
    def begin(self, *, sprints: list[str], declared: bool) -> None:
        (self.root / ".git").mkdir()
        self.check_out("main")
        with Ledger.open(self.root) as ledger:
            ledger.start("plan", branch="main" if declared else None, sprints=sprints)

    def attempt(self, call: Callable[[], object]) -> None:
        with suppress(LedgerError, Boom, OSError):
            call()

    def handle(self, number: int) -> Ledger:
        if not self.handles:
            self.come()
        return self.handles[number % len(self.handles)]

    @rule()
    def come(self) -> None:
        if len(self.handles) < 3:
            self.handles.append(Ledger.open(self.root))

    @rule(number=st.integers(0, 2))
    def leave(self, number: int) -> None:
        if self.handles:
            self.attempt(self.handles.pop(number % len(self.handles)).close)

    @precondition(lambda self: self.handles)
    @rule()
    def be_killed(self) -> None:
        """Its locks are free, and it says nothing; what it had open stays so."""
        store = self.handles.pop()._local
        lock = store.sequencer._owner_lock
        if lock is not None:
            lock._close()
        store.sequencer.forget_after_fork()

    @rule(number=st.integers(0, 2), key=KEYS, idempotent=st.booleans(), ends=st.booleans())
    def work(self, *, number: int, key: str, idempotent: bool, ends: bool) -> None:
        def step() -> None:
            with self.handle(number).step("charge", key=key, idempotent=idempotent) as step:
                step.mark("half", sum="1.50")
                if not ends:
                    raise Boom

        self.attempt(step)

    @rule(number=st.integers(0, 2), key=KEYS, lease=st.sampled_from([None, None, 600.0]))
    def claim(self, *, number: int, key: str, lease: float | None) -> None:
        claim = Claim(name="send \u2028 mail", key=key, lease=lease)
        self.attempt(lambda: self.handle(number).store.claim(claim))

    @rule(
        number=st.integers(0, 2),
        what=st.sampled_from(["halt", "resume", "sprint", "finish", "start", "compact"]),
    )
    def move(self, *, number: int, what: str) -> None:
        ledger = self.handle(number)
        moves: dict[str, Callable[[], object]] = {
            "halt": lambda: ledger.halt("the\twall"),
            "resume": lambda: ledger.resume("me"),
            "sprint": lambda: ledger.complete_sprint("s1"),
            "finish": lambda: ledger.finish(force=True, reason="enough"),
            "start": lambda: ledger.start("another plan"),
            "compact": ledger.compact,
        }
        self.attempt(moves[what])

    @rule(number=st.integers(0, 2))
    def beat(self, number: int) -> None:
        self.attempt(self.handle(number).heartbeat)

    @rule(later=st.sampled_from([0.0, 1.0, 100.0]))
    def beat_by_hand(self, later: float) -> None:
        """What it wrote is what the engine makes of it: nothing is wrong, and the brief holds on."""
        with mock.patch("time.time", return_value=time.time() + later):
            said = from_brief(self.root, "heartbeat", as_json=True)
        if said is not None:
            lsn = json.loads(said[1])["lsn"]
            assert lsn == json.loads(self.status())["lsn"]
            assert agreed(self.root, time.time())

    def status(self) -> bytes:
        said = from_brief(self.root, "status", as_json=True)
        assert said is not None
        return said[1]

    # --- the vandal -------------------------------------------------------------------------------------------

    @property
    def state(self) -> Path:
        return self.root / ".run" / "sprint-plan-state.json"

    @property
    def ledger(self) -> Path:
        return self.root / ".run" / "ledger"

    def spoil(self, path: Path, change: Callable[[bytes], bytes], *, unseen: bool) -> None:
        """Change a file in place; ``unseen``: its time stays what it was."""
        if path.exists():
            stat = path.stat()
            with path.open("r+b") as file:
                data = change(file.read())
                file.seek(0)
                file.write(data)
                file.truncate()
            if unseen:
                os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))

    @rule(
        edit=st.sampled_from(
            [
                (b"RUNNING", b"HALTED "),
                (b'"RUNNING"', b'"HALTED"'),
                (b"HALTED", b"RUNNING"),
                (b"plan", b"plam"),
                (b"s1", b"s9"),
                (b"20", b"19"),
                (b"{", b""),
                (b"}", b'}, "mine": 1}'),
            ]
        ),
        unseen=st.booleans(),
    )
    def edit_state(self, *, edit: tuple[bytes, bytes], unseen: bool) -> None:
        self.spoil(self.state, lambda data: data.replace(*edit, 1), unseen=unseen)

    @rule(how=st.sampled_from(["unlink", "touch", "link"]))
    def touch_state(self, how: str) -> None:
        if how == "unlink":
            self.state.unlink(missing_ok=True)
        elif how == "touch" and self.state.exists():
            self.state.touch()
        elif self.state.exists() and not self.state.is_symlink():
            self.state.rename(self.root / "elsewhere")
            self.state.symlink_to(self.root / "elsewhere")

    @rule(
        name=st.sampled_from(["*.jsonl", "checkpoint.json", "brief"]),
        at=st.floats(0, 1),
        unseen=st.booleans(),
    )
    def flip(self, *, name: str, at: float, unseen: bool) -> None:
        def one_bit(data: bytes) -> bytes:
            place = int(at * (len(data) - 1))
            return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :] if data else data

        for path in sorted(self.ledger.glob(name))[-1:]:
            self.spoil(path, one_bit, unseen=unseen)

    @rule(
        tail=st.sampled_from([b'{"t":"intent","lsn":', b"\0" * 40, b"\n\n", b"x\n"]), cut=st.integers(0, 30)
    )
    def tear(self, tail: bytes, cut: int) -> None:
        for path in sorted(self.ledger.glob("*.jsonl"))[-1:]:
            self.spoil(path, lambda data: data[: max(0, len(data) - cut)] + tail, unseen=False)

    @rule(name=st.sampled_from(["checkpoint.json", "history.db", "brief", "*.jsonl", "owners/*"]))
    def remove(self, name: str) -> None:
        for path in sorted(self.ledger.glob(name))[:1]:
            path.unlink()

    @rule()
    def keep_brief(self) -> None:
        if (self.ledger / "brief").exists():
            self.old = (self.ledger / "brief").read_bytes()

    @precondition(lambda self: self.old is not None)
    @rule()
    def put_old_brief_back(self) -> None:
        if self.ledger.exists() and self.old is not None:
            (self.ledger / "brief").write_bytes(self.old)

    @rule(first=st.sampled_from([1, 5, 10**9]))
    def add_a_segment(self, first: int) -> None:
        path = self.ledger / f"{first:020d}.jsonl"
        if self.ledger.exists() and not path.exists():
            path.write_bytes(b"\n" * 100)

    @rule()
    def copy_all(self) -> None:
        """As a backup that is put back."""
        if not self.handles:
            shutil.copytree(self.root / ".run", self.root / "copy", symlinks=True)
            shutil.rmtree(self.root / ".run")
            (self.root / "copy").rename(self.root / ".run")

    @rule(branch=st.sampled_from(["main", "other"]))
    def check_out(self, branch: str) -> None:
        (self.root / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n")

    @precondition(lambda self: not self.handles)
    @rule(how=st.integers(0, 9))
    def delete_the_ledger(self, how: int) -> None:
        if how == 0:
            shutil.rmtree(self.ledger, ignore_errors=True)


TestFiles = Files.TestCase
TestFiles.settings = settings(max_examples=25, stateful_step_count=20, deadline=None)
