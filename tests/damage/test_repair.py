"""Repair itself: what it keeps, what it says, what it refuses, and that it may be cut off anywhere."""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

from runledger import NOT_HAPPENED, Happened, Ledger, LedgerBusy, LedgerCorrupt, LedgerError, LedgerMissing
from runledger.repair import repair
from runledger.replay_report import replay
from runledger.verify import verify
from tests.damage.ledgers import Made, flip, made, never_repeats, numbers, record_lines, repaired
from tests.support.children import command
from tests.support.forks import Fork
from tests.support.tree import strict

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")


@pytest.fixture
def spoiled(quick: Path) -> Made:
    """A ledger that lost a segment, a history that lost its last page, and a checkpoint that lost its end."""
    ledger = made(quick / "whole", "steps", "compact", "steps", "steps")
    ledger.segments[1].unlink()
    os.truncate(ledger.ledger / "checkpoint.json", 300)
    data = (ledger.ledger / "history.db").read_bytes()
    (ledger.ledger / "history.db").write_bytes(data[:8192] + b"\x5a" * 4096 + data[12288:])
    return ledger


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file below a folder and what is in it."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


# --- what it does ---------------------------------------------------------------------------------------


def test_a_sound_ledger_is_left_alone(quick: Path) -> None:
    """Nothing is written, nothing is kept aside."""
    ledger = made(quick / "whole", "steps", "compact", "steps")
    before = tree(ledger.root)
    report = repair(ledger.root)
    assert (report.done, report.kept, report.put_right, report.lost) == ("nothing", None, [], [])
    assert tree(ledger.root) == before


def test_the_old_ledger_is_kept_to_the_byte(spoiled: Made) -> None:
    """Also the one that a second repair replaces."""
    for number in (1, 2):
        before = tree(spoiled.ledger)
        report = repair(spoiled.root)
        assert report.kept == f"{spoiled.ledger}.broken-{number}"
        assert tree(Path(report.kept)) == before
        spoiled.segments[0].unlink()
        (spoiled.ledger / "checkpoint.json").write_bytes(b"")
    assert not list(spoiled.ledger.parent.glob("*.tmp"))


def test_a_dry_run_says_the_same_and_changes_nothing(spoiled: Made) -> None:
    """It may be asked on a read-only checkout."""
    before = tree(spoiled.root)
    said = repair(spoiled.root, dry_run=True)
    assert tree(spoiled.root) == before
    done = repair(spoiled.root)
    assert said.done == "would repair"
    assert [loss.last for loss in said.lost] == [loss.last for loss in done.lost]
    assert (said.in_doubt, said.unknown, said.resolve) == (done.in_doubt, done.unknown, done.resolve)


def test_what_it_knew_it_knows_and_numbers_are_not_used_again(spoiled: Made) -> None:
    """Everything intact is in the log; what is new begins behind what is lost."""
    lines = record_lines(spoiled)
    report = repaired(spoiled)
    assert set(lines) <= set(record_lines(spoiled))
    assert report.unknown > 0
    assert report.lost


def test_a_state_file_that_cannot_be_read_is_written_anew(quick: Path) -> None:
    """The bad one is kept aside."""
    ledger = made(quick / "whole", "steps")
    ledger.state_file.write_bytes(b"{nonsense")
    report = repair(ledger.root)
    assert [Path(change.file).name for change in report.put_right] == [ledger.state_file.name]
    assert strict(ledger.state_file.read_text())["state"] == "RUNNING"
    assert (ledger.state_file.parent / f"{ledger.state_file.name}.rejected-1").read_bytes() == b"{nonsense"
    assert verify(ledger.root) == []


@pytest.mark.parametrize("name", ["lock", "compact.lock", "owners", "results"])
def test_odd_things_in_the_folder_are_left_behind(quick: Path, name: str) -> None:
    """A pipe in place of a lock or of a folder: the new ledger has its own."""
    ledger = made(quick / "whole", "steps", "compact")
    path = ledger.ledger / name
    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    os.mkfifo(path)
    report = repair(ledger.root)
    assert [Path(change.file).name for change in report.put_right] == [name]
    never_repeats(ledger, all_known=True)


def test_the_ledgers_own_id_outlives_a_spoiled_header(quick: Path) -> None:
    """Idempotency keys are made of it: with another one a third party would not know them again."""
    ledger = made(quick / "whole", "steps")
    with Ledger.open(ledger.root) as handle:
        handle.heartbeat()
        before = handle.ledger_id()
    path = ledger.segments[0]
    data = path.read_bytes()
    path.write_bytes(data.replace(b'"segment":"', b'"segmint":"', 1).replace(b'"format"', b'"formta"', 1))
    repaired(ledger)
    with Ledger.open(ledger.root) as handle:
        handle.heartbeat()
        assert handle.ledger_id() == before


# --- what stays lost ------------------------------------------------------------------------------------


def test_the_lines_that_it_prints_settle_all_of_it(spoiled: Made) -> None:
    """Run as they are, they end every doubt, and `verify` has nothing more to say."""
    said = command(spoiled.root, "repair", "--json")
    assert said.code == 0
    assert command(spoiled.root, "verify").code == 1
    for _ in range(5):
        lines = json.loads(command(spoiled.root, "replay", "--json").lines[0])["resolve"]
        if not lines:
            break
        done = command(spoiled.root, *shlex.split(lines[0])[1:])
        assert done.code == 0, done.err
        for line in lines[2::2]:
            command(spoiled.root, *shlex.split(line)[1:])
    assert command(spoiled.root, "verify").code == 0
    assert repair(spoiled.root).done == "nothing"


def test_a_lost_step_can_be_named(quick: Path) -> None:
    """Whoever looked says which step it was; it is committed then, and the loss ends when all are named."""
    ledger = made(quick / "whole", "steps")
    data = ledger.segments[0].read_bytes()
    keep = [line for line in data.split(b"\n") if b'"y0"' not in line]
    ledger.segments[0].write_bytes(b"\n".join(keep))
    report = repaired(ledger)
    assert report.unknown == 1
    lsn = report.lost[0].first
    with Ledger.open(ledger.root) as handle:
        with (
            pytest.raises(LedgerCorrupt, match=f"resolve NAME KEY --lsn {lsn}"),
            handle.step("pay", key="y0"),
        ):
            raise AssertionError("it ran")
        handle.resolve("pay", "y0", Happened({"paid": "y0"}), reason="looked", lsn=lsn)
        known = handle.lookup("pay", "y0")
        assert known is not None
        assert known.status == "committed"
    assert verify(ledger.root) == []
    never_repeats(ledger, all_known=True)


def test_losses_do_not_stop_compaction_once_they_are_on_record(spoiled: Made) -> None:
    """The old files are kept aside, so that folding destroys no evidence; the loss stays in the checkpoint."""
    with Ledger.open(spoiled.root) as handle, pytest.raises(LedgerError):
        handle.compact()
    report = repair(spoiled.root)
    with Ledger.open(spoiled.root) as handle:
        handle.compact()
        assert [d.first for d in replay(spoiled.root).corruption] == [loss.first for loss in report.lost]
    never_repeats(spoiled)
    with Ledger.open(spoiled.root) as handle:
        for loss in report.lost:
            handle.resolve(None, None, NOT_HAPPENED, reason="looked", lsn=loss.first)
    assert replay(spoiled.root).corruption == []


# --- what it refuses ------------------------------------------------------------------------------------


def test_it_waits_for_nobody_who_is_alive(spoiled: Made) -> None:
    """An owner may be at work on what looks lost."""
    fresh = spoiled.copy(spoiled.root.with_name("fresh"))
    report = repair(fresh.root)
    with Ledger.open(fresh.root) as handle:
        handle.heartbeat()
        fresh.segments[0].unlink()
        with pytest.raises(LedgerBusy, match="1 owners are alive"):
            repair(fresh.root)
        with pytest.raises(LedgerBusy):
            repair(fresh.root, dry_run=True)
    assert report.kept is not None


def test_a_handle_that_is_open_meanwhile_records_nothing_in_the_old_ledger(quick: Path) -> None:
    """One that only looked is no owner and does not stop a repair; what it would record then, nobody would find."""
    ledger = made(quick / "whole", "steps")
    handle = Ledger.open(ledger.root)
    assert handle.lookup("pay", "x0") is not None
    flip(ledger.segments[0], 600, 2)
    report = repair(ledger.root)
    assert report.kept is not None
    before = tree(Path(report.kept) / "results"), [p.read_bytes() for p in Path(report.kept).glob("*.jsonl")]
    with pytest.raises(LedgerError, match="deleted or replaced"), handle.step("pay", key="later"):
        raise AssertionError("it ran")
    handle.close()
    assert before == (
        tree(Path(report.kept) / "results"),
        [p.read_bytes() for p in Path(report.kept).glob("*.jsonl")],
    )
    never_repeats(ledger)


def test_there_must_be_a_ledger(quick: Path) -> None:
    """Nothing is made where there is none."""
    with pytest.raises(LedgerMissing):
        repair(quick)
    assert list(quick.iterdir()) == []


# --- cut off --------------------------------------------------------------------------------------------

CALLS = ("pwrite", "fsync", "fdatasync", "rename", "mkdir", "unlink", "open", "ftruncate")


def repair_until(root: Path, call: int) -> int:
    """Repair in a child that dies at its call of that number; the calls that it made, if it lived."""

    def body(say: object) -> None:
        made_calls = 0

        def counted(name: str) -> None:
            whole = getattr(os, name)

            def limited(*args: object, **kwargs: object) -> object:
                nonlocal made_calls
                made_calls += 1
                if made_calls == call:
                    os._exit(9)
                return whole(*args, **kwargs)

            setattr(os, name, limited)

        for name in CALLS:
            counted(name)
        repair(root)
        say(str(made_calls))  # type: ignore[operator]  # it is called with a line

    code, lines = Fork(body).end()
    assert code == (0 if lines else 9), (code, lines)
    return int(lines[0]) if lines else 0


def check_cut_off(spoiled: Made, step: int) -> None:
    last = repair_until(spoiled.copy(spoiled.root.with_name("undisturbed")).root, 0)
    assert last > 100
    before = tree(spoiled.ledger)
    wanted = sorted(record_lines(spoiled))
    for call in range(1, last + 1, step):
        one = spoiled.copy(spoiled.root.with_name("cut"))
        assert repair_until(one.root, call) == 0
        cut_ledger = one.ledger.exists()
        if not cut_ledger:
            with Ledger.open(one.root) as handle, pytest.raises(LedgerCorrupt, match="cut off"):
                handle.start("p-2")
            assert command(one.root, "wake").code == 78
        report = repair(one.root)
        assert report.done in {"repaired", "finished", "nothing"}
        kept = sorted(one.ledger.parent.glob("ledger.broken-*"))
        assert [tree(folder) for folder in kept] == [before]
        assert set(wanted) <= set(record_lines(one))
        assert [p.name for p in one.ledger.parent.iterdir() if "repair" in p.name] == []
        assert repair(one.root).done == "nothing"
        never_repeats(one)


def test_a_repair_that_is_killed_can_be_run_again(spoiled: Made) -> None:
    """At some of its calls: the old ledger stands or is kept, the new one takes its place in the end."""
    check_cut_off(spoiled, 37)


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_repair_that_is_killed_anywhere_can_be_run_again(spoiled: Made) -> None:
    """At each of its calls."""
    check_cut_off(spoiled, 1)


def test_between_the_two_renames_there_is_no_ledger_and_everybody_says_so(spoiled: Made) -> None:
    """Nothing is started anew there; `repair` does the second rename."""
    repair(spoiled.root)
    log = numbers(spoiled)[0]
    spoiled.ledger.rename(spoiled.ledger.with_name("ledger.repaired"))
    for words in (["wake"], ["status"], ["verify"], ["start"], ["begin", "pay", "--key", "new"]):
        said = command(spoiled.root, *words)
        assert said.code == 78, (words, said)
        assert not spoiled.ledger.exists()
    report = repair(spoiled.root)
    assert report.done == "finished"
    assert numbers(spoiled)[0] == log


# --- the command ----------------------------------------------------------------------------------------


def test_the_command_says_what_is_lost(spoiled: Made) -> None:
    """In words and as JSON: the file, the offset, the numbers, and the steps in doubt."""
    other = spoiled.copy(spoiled.root.with_name("other"))
    said = strict(command(spoiled.root, "repair", "--json").lines[0])
    assert (said["schema"], said["done"]) == ("runledger.repair/1", "repaired")
    assert set(said) == {"schema", "done", "kept", "put_right", "lost", "in_doubt", "unknown", "resolve"}
    for loss in said["lost"]:
        assert {"file", "offset", "first", "last", "intents", "unknown", "reason"} == set(loss)
        assert Path(loss["file"]).parent == Path(said["kept"])
    kept_report = strict((spoiled.ledger / "repair-1.json").read_text())
    assert kept_report == said

    words = command(other.root, "repair")
    assert words.code == 0
    text = "\n".join(words.lines)
    for loss in said["lost"]:
        assert f"LSN {loss['first']} to {loss['last']}" in text
    for step in said["in_doubt"]:
        assert f"in doubt: {step['name']} {step['key']}" in text
    assert "Traceback" not in words.err
