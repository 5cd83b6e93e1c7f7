"""The disk is full: nothing is acknowledged that is not there, and once there is room it goes on by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import DiskRefused, Ledger, LedgerError
from runledger.repair import repair
from runledger.verify import verify
from tests.faults.disks import Disk
from tests.support.children import command
from tests.support.tree import leftovers, records, segments, state


def steps(ledger: Ledger, keys: list[str], size: int = 400) -> tuple[list[str], list[str], list[str]]:
    """Enter steps until one is refused: which ran, which were acknowledged, which was refused."""
    ran: list[str] = []
    done: list[str] = []
    for key in keys:
        try:
            with ledger.step("pay", key=key) as step:
                ran.append(key)
                step.result = key * (size // len(key))
        except DiskRefused:
            return ran, done, [key]
        done.append(key)
    return ran, done, []


def whole(root: Path, done: list[str]) -> None:
    """Everything that was acknowledged is known, the numbers have no gap, nothing is glued or left over."""
    assert verify(root) == []
    numbers = [record["lsn"] for record in records(root)]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    with Ledger.open(root) as ledger:
        for key in done:
            known = ledger.lookup("pay", key)
            assert known is not None, key
            assert known.status == "committed", key
    assert leftovers(root) == []
    assert state(root)["state"] == "RUNNING"


def test_it_goes_on_by_itself(disk: Disk, small: Path) -> None:
    """The same handle, with the step that was refused: it ran in neither of the refused calls."""
    with Ledger.open(small) as ledger:
        first = steps(ledger, ["before"])
        disk.fill(leave=100_000)
        ran, done, refused = steps(ledger, [f"k{n:04}" for n in range(5000)])
        assert refused
        assert len(ran) - len(done) <= 1
        if ran != done:
            refused = [f"{refused[0]}-next"]
        for _ in range(3):
            assert steps(ledger, refused) == ([], [], refused)
        disk.make_room()
        assert steps(ledger, refused) == (refused, refused, [])
        more = steps(ledger, [f"more{n}" for n in range(50)])
        assert more[2] == []
    whole(small, [*first[1], *done, *refused, *more[1]])


def test_a_new_handle_goes_on_too(disk: Disk, small: Path) -> None:
    """The one that was refused is gone: what it left is read back."""
    with Ledger.open(small) as ledger:
        steps(ledger, ["before"])
        disk.fill(leave=50_000)
        _, done, refused = steps(ledger, [f"k{n:04}" for n in range(5000)])
        assert refused
    disk.make_room()
    with Ledger.open(small) as ledger:
        assert steps(ledger, ["after"])[1] == ["after"]
    whole(small, ["before", *done, "after"])


def test_a_step_that_is_under_way_can_still_be_recorded(disk: Disk, small: Path) -> None:
    """Each intent leaves room for the outcomes of open steps: what happened is put on record on a full disk."""
    with Ledger.open(small) as ledger:
        with ledger.step("pay", key="a") as step:
            disk.fill()
            step.mark("sent", to="bank")
            step.result = "x" * 500
        known = ledger.lookup("pay", "a")
        assert known is not None
        assert (known.status, known.result) == ("committed", "x" * 500)
    disk.make_room()
    whole(small, ["a"])


def fill_in_step(ledger: Ledger, disk: Disk) -> None:
    """A step whose large result finds no room."""
    with ledger.step("pay", key="a") as step:
        disk.fill()
        step.result = "x" * 100_000


def test_a_large_result_that_finds_no_room(disk: Disk, small: Path) -> None:
    """It has a file of its own. Its step happened and is not acknowledged: it is in doubt, and not run again."""
    with Ledger.open(small) as ledger:
        with pytest.raises(DiskRefused):
            fill_in_step(ledger, disk)
        known = ledger.lookup("pay", "a")
        assert known is not None
        assert known.status == "in_doubt"
        disk.make_room()
        with pytest.raises(LedgerError, match="resolve"), ledger.step("pay", key="a"):
            raise AssertionError("it ran")
    assert verify(small) == []
    assert leftovers(small) == []


def test_the_state_file_stays_whole(disk: Disk, small: Path) -> None:
    """A snapshot that finds no room is a warning, not an error of what is already on record."""
    with Ledger.open(small) as ledger:
        ledger.start("p-1", sprints=["a"])
        before = state(small)
        disk.fill()
        ledger.halt("no room")
        assert ledger.status().state == "HALTED"
        assert state(small)["state"] in {before["state"], "HALTED"}
        disk.make_room()
        ledger.resume()
    assert state(small)["state"] == "RUNNING"
    assert verify(small) == []


def test_compaction_and_repair_wait_for_room(disk: Disk, small: Path) -> None:
    """They are refused, change nothing, and go through later."""
    with Ledger.open(small) as ledger:
        _, done, _ = steps(ledger, [f"k{n}" for n in range(40)])
        disk.fill()
        with pytest.raises(DiskRefused):
            ledger.compact()
        disk.make_room()
        ledger.compact()
        steps(ledger, ["after"])
    path = segments(small)[-1]
    path.write_bytes(path.read_bytes().replace(b'"name":"pay"', b'"name":"pzz"', 1))
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    disk.fill()
    with pytest.raises(DiskRefused):
        repair(small)
    assert {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()} == before
    disk.make_room()
    assert repair(small).lost
    with Ledger.open(small) as ledger:
        assert ledger.lookup("pay", done[0]) is not None


def test_a_ledger_cannot_begin_on_a_full_disk(disk: Disk, small: Path) -> None:
    """One clear refusal, with the exit code for it; and the same command goes through later."""
    disk.fill()
    said = command(small, "start", "--plan-id", "p-1")
    assert said.code == 74, said
    assert "Traceback" not in said.err
    disk.make_room()
    assert command(small, "start", "--plan-id", "p-1").code == 0
    assert verify(small) == []


def test_a_command_on_a_full_disk(disk: Disk, small: Path) -> None:
    """`step` does not run its command, and says so last."""
    assert command(small, "step", "pay", "--key", "a", "--", "echo", "hi").code == 0
    disk.fill()
    for number in range(400):
        said = command(
            small, "step", "pay", "--key", f"b{number}", "--", "sh", "-c", "head -c 3000 /dev/zero"
        )
        if said.code:
            break
    assert said.code == 74, said
    assert said.err.splitlines()[-1] == "runledger: outcome=refused", said
    disk.make_room()
    assert command(small, "step", "pay", "--key", f"b{number}", "--", "echo", "hi").lines == ["hi"]
    assert verify(small) == []
