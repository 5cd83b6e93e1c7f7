"""A lost record may have halted the run, or begun it: a run is RUNNING only where something tells."""

from __future__ import annotations

from pathlib import Path

import pytest

from runledger import Ledger, LedgerError, RunHalted, RunStateInvalid
from runledger.replay_report import replay
from runledger.run_state import HALTED
from tests.damage.ledgers import Made, made, never_repeats, repaired


def line_of(ledger: Made, kind: bytes) -> tuple[Path, int, int]:
    """Where the last record of a kind stands."""
    for path in reversed(ledger.segments):
        data = path.read_bytes()
        begin = data.rfind(b'{"t":"%s"' % kind)
        if begin >= 0:
            return path, begin, data.index(b"\n", begin)
    raise AssertionError(f"no {kind!r} record")


def garble(ledger: Made, kind: bytes) -> None:
    """Make a record's line illegible."""
    path, begin, end = line_of(ledger, kind)
    data = path.read_bytes()
    path.write_bytes(data[:begin] + bytes(byte | 0x80 for byte in data[begin:end]) + data[end:])


def new_step(root: Path) -> None:
    """Begin a step that nobody has begun before; its body aborts."""
    with Ledger.open(root) as ledger, ledger.step("pay", key="never seen") as step:
        raise step.abort("nothing to do")


def test_a_lost_halt_is_told_by_the_state_file(quick: Path) -> None:
    """The state file is a witness of its own: it says HALTED, and covers what is lost."""
    ledger = made(quick / "whole", "steps", "halt")
    garble(ledger, b"halted")
    with pytest.raises(RunHalted):
        new_step(ledger.root)
    assert replay(ledger.root).state == HALTED
    assert repaired(ledger).lost
    with pytest.raises(RunHalted):
        new_step(ledger.root)


def test_a_lost_halt_without_a_state_file(quick: Path) -> None:
    """Nothing tells any more: steps wait until a person says that the run may go on."""
    ledger = made(quick / "whole", "steps", "halt")
    garble(ledger, b"halted")
    ledger.state_file.unlink()
    for _ in range(2):
        with pytest.raises(RunStateInvalid, match="may have halted"):
            new_step(ledger.root)
        never_repeats(ledger)
        repaired(ledger)
    ledger.state_file.write_text('{"state": "RUNNING", "plan_id": "p-1"}\n')
    with pytest.raises(LedgerError, match="nothing to do"):
        new_step(ledger.root)


def test_a_lost_halt_before_a_step_that_ran(quick: Path) -> None:
    """A step that was begun later proves that the run was RUNNING then."""
    ledger = made(quick / "whole", "halt", "resume", "steps")
    garble(ledger, b"halted")
    ledger.state_file.unlink()
    with pytest.raises(LedgerError, match="nothing to do"):
        new_step(ledger.root)
    never_repeats(ledger, all_known=True)


@pytest.mark.parametrize("keep_state", [True, False])
def test_a_lost_beginning_keeps_the_run(quick: Path, *, keep_state: bool) -> None:
    """The steps' records name the run: their keys stay its own, though its beginning is lost."""
    ledger = made(quick / "whole", "steps")
    garble(ledger, b"started")
    if not keep_state:
        ledger.state_file.unlink()
    never_repeats(ledger, all_known=keep_state)
    repaired(ledger)
    if keep_state:
        with Ledger.open(ledger.root) as handle:
            assert handle.status().plan_id == "p-1"


def test_a_lost_resume_is_told_by_the_state_file(quick: Path) -> None:
    """The other way round: what went on goes on."""
    ledger = made(quick / "whole", "steps", "halt", "resume")
    garble(ledger, b"resumed")
    with pytest.raises(LedgerError, match="nothing to do"):
        new_step(ledger.root)


def test_a_lost_edit_of_others_keeps_their_fields(quick: Path) -> None:
    """Fields that only a lost record told of are taken from the state file, not dropped by the next snapshot."""
    ledger = made(quick / "whole", "steps")
    text = ledger.state_file.read_text()
    ledger.state_file.write_text(text.replace('"plan_id"', '"theirs": {"kept": 1}, "plan_id"', 1))
    with Ledger.open(ledger.root) as handle:
        handle.heartbeat()
        handle.complete_sprint("a")
    assert '"theirs"' in ledger.state_file.read_text()
    garble(ledger, b"observed")
    with Ledger.open(ledger.root) as handle:
        handle.halt("enough")
    assert '"theirs": {"kept": 1}' in ledger.state_file.read_text()
