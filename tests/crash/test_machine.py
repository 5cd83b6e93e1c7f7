"""Any history of steps, moves, compactions, cuts and failing disks, against the model of the truth."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, note, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from tests.crash.computer import Fuse
from tests.crash.installed import installed
from tests.crash.outcomes import OUTCOMES
from tests.crash.trial import Trial

SHM = "/dev/shm" if Path("/dev/shm").is_dir() else None
WHO = st.sampled_from(["a", "b"])
KEYS = st.sampled_from(["k0", "k1", "k2", None])
LEFT = st.sampled_from([*OUTCOMES]) | st.integers(0, 999)
ENDS = st.sampled_from(
    ["returns", "returns", "raises", "aborts", "declared", "interrupted", "unstorable", "large"]
)


BATCH = 500

counted: Counter[str] = Counter()
"""Histories that went through, and crash states seen in them."""


class Machine(RuleBasedStateMachine):
    """Acts of two owners on one ledger."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="runledger-crash-", dir=SHM))
        self.trial = Trial(self.folder)
        self.place = installed(self.trial.computer)
        self.place.__enter__()

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                self.trial.mend()
                self.trial.check()
                counted.update(histories=1, cuts=self.trial.cuts, kills=self.trial.kills)
        finally:
            note("the last calls:\n  " + "\n  ".join(self.trial.computer.log[-80:]))
            self.place.__exit__(None, None, None)
            shutil.rmtree(self.folder)

    def acting(self, who: str) -> Trial:
        if who not in self.trial.handles:
            self.trial.open(who)
        return self.trial

    # --- what programs do -----------------------------------------------------------------------------------------

    @rule(
        who=WHO,
        key=KEYS,
        ends=ENDS,
        idempotent=st.sampled_from([False, False, False, True]),
        marks=st.sampled_from([(), (), ("here",), ("here", "there")]),
        probe=st.sampled_from([None, None, "happened", "not happened", "unknown"]),
        inputs=st.sampled_from([None, None, None, 0, 1]),
    )
    def step(
        self,
        who: str,
        key: str | None,
        ends: str,
        idempotent: bool,
        marks: tuple[str, ...],
        probe: str | None,
        inputs: int | None,
    ) -> None:
        self.acting(who).step(
            who, key, ends=ends, idempotent=idempotent, marks=marks, probe=probe, inputs=inputs
        )

    @rule(who=WHO, ends=ENDS, key=st.sampled_from(["g0", "g1"]))
    def step_for_ever(self, who: str, ends: str, key: str) -> None:
        self.acting(who).step(who, key, ends=ends, scope="ledger")

    @rule(who=WHO, key=KEYS, other=KEYS, what=st.sampled_from(["step", "halt", "compact", "resolve", "kill"]))
    def step_while_another_acts(self, who: str, key: str | None, other: str | None, what: str) -> None:
        trial = self.acting(who)
        trial.step(who, key, inside=lambda: self.other(who, other, what))

    @rule(who=WHO, key=KEYS, other=KEYS, what=st.sampled_from(["step", "step", "halt", "compact", "look"]))
    def step_while_another_acts_before_the_sync(
        self, who: str, key: str | None, other: str | None, what: str
    ) -> None:
        trial = self.acting(who)
        trial.before_sync(lambda: self.other(who, other, what))
        trial.step(who, key)
        trial.before_sync(None)

    def other(self, who: str, key: str | None, what: str) -> None:
        rival = "b" if who == "a" else "a"
        trial = self.acting(rival)
        acts: dict[str, Callable[[], None]] = {
            "step": lambda: trial.step(rival, key),
            "halt": lambda: trial.move(rival, "halt"),
            "compact": lambda: trial.compact(rival),
            "resolve": lambda: trial.resolve(rival, key or "k0", happened=False),
            "kill": lambda: trial.kill(rival),
            "look": lambda: trial.look(rival, key or "k0"),
        }
        acts[what]()

    @rule(who=WHO, key=st.sampled_from(["k0", "k1", "k2", "g0"]), happened=st.booleans())
    def resolve(self, who: str, key: str, happened: bool) -> None:
        self.acting(who).resolve(who, key, happened=happened)

    @rule(who=WHO, what=st.sampled_from(["start", "halt", "resume", "resume", "finish", "heartbeat"]))
    def move(self, who: str, what: str) -> None:
        self.acting(who).move(who, what)

    @rule(who=WHO)
    def compact(self, who: str) -> None:
        self.acting(who).compact(who)

    @rule(who=WHO, key=st.sampled_from(["k0", "k1", "g0"]))
    def look(self, who: str, key: str) -> None:
        self.acting(who).look(who, key)

    @rule(seconds=st.sampled_from([0.01, 1.5, 4000.0]))
    def time_passes(self, seconds: float) -> None:
        self.trial.pass_time(seconds)

    @rule(
        who=WHO, riding=st.booleans(), segment_bytes=st.sampled_from([900, 2500, 60_000]), again=st.booleans()
    )
    def reopen(self, who: str, riding: bool, segment_bytes: int, again: bool) -> None:
        if who in self.trial.handles:
            self.trial.close(who)
        if who not in self.trial.handles:
            pid = self.trial.computer.free_pid() if again else None
            self.trial.open(who, riding=riding, segment_bytes=segment_bytes, pid=pid)

    # --- what happens to them -------------------------------------------------------------------------------------

    @rule(calls=st.integers(1, 14), left=LEFT)
    def the_power_is_going_to_fail(self, calls: int, left: str | int) -> None:
        self.trial.left = left
        self.trial.computer.fuse = Fuse(calls)

    @rule(calls=st.integers(1, 14), done=st.booleans(), torn=st.sampled_from([None, 0, 1]))
    def a_process_is_going_to_be_killed(self, calls: int, done: bool, torn: int | None) -> None:
        self.trial.computer.fuse = Fuse(calls, kill=True, done=done, torn=torn)

    @rule(left=LEFT)
    def the_power_fails(self, left: str | int) -> None:
        self.trial.left = left
        self.trial.lose_power()

    @precondition(lambda self: self.trial.handles)
    @rule(which=st.integers(0, 1))
    def a_process_is_killed(self, which: int) -> None:
        handles = sorted(self.trial.handles)
        self.trial.kill(handles[which % len(handles)])


FAULTS = st.sampled_from(["sync", "sync", "write", "create", "rename", "sync names", "truncate", "unlink"])


class FaultyMachine(Machine):
    """The same on a disk that refuses."""

    @rule(
        kind=FAULTS,
        skip=st.integers(0, 4),
        times=st.sampled_from([1, 1, 2, 1000]),
        done=st.sampled_from([0, 0, 60, 600]),
    )
    def the_disk_is_going_to_refuse(self, kind: str, skip: int, times: int, done: int) -> None:
        self.trial.fault(kind, skip=skip, times=times, done=done)

    @rule(room=st.sampled_from([0, 100, 1000, 40_000]))
    def the_disk_is_nearly_full(self, room: int) -> None:
        self.trial.computer.room = room

    @rule()
    def the_disk_works_again(self) -> None:
        self.trial.computer.room = None
        self.trial.computer.faults.clear()

    @rule(left=LEFT)
    def memory_is_short(self, left: str | int) -> None:
        self.trial.left = left
        self.trial.evict()


def histories(machine: type[Machine], number: int, seed: int, *, as_found: bool) -> None:
    """So many histories, always the same ones by one seed."""
    run_state_machine_as_test(
        seeded(seed)(type(machine.__name__, (machine,), {})),
        settings=settings(
            max_examples=number,
            stateful_step_count=30,
            deadline=None,
            database=None,
            phases=[Phase.generate] if as_found else [Phase.generate, Phase.shrink],
            report_multiple_bugs=False,
            print_blob=False,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.parametrize("machine", [Machine, FaultyMachine])
def test_some_histories(machine: type[Machine], pytestconfig: pytest.Config) -> None:
    """After every crash, what was acknowledged is there, and nothing that was never asked for; a few histories."""
    histories(machine, 25, pytestconfig.option.seed, as_found=pytestconfig.option.as_found)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_many_histories(pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]) -> None:
    """The same for `--histories`, in batches of their own seeds; what was gone through is counted."""
    told = pytestconfig.option
    counted.clear()
    for batch, begin in enumerate(range(0, told.histories, BATCH)):
        seed = told.seed + batch
        machine = (Machine, FaultyMachine)[seed % 2]
        try:
            histories(machine, min(BATCH, told.histories - begin), seed, as_found=told.as_found)
        except BaseException as error:
            error.add_note(f"to replay: -m soak -k many_histories --seed {seed} --histories {BATCH}")
            raise
    with capsys.disabled():
        print(
            f"\nhistories: {counted['histories']}, with {counted['cuts']} power cuts and {counted['kills']} kills"
        )
    assert counted["histories"] >= told.histories
