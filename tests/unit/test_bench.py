"""``runledger bench steps``: what it says of a disk, and that it leaves nothing behind."""

from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import pytest

from runledger.bench import disk, timing
from runledger.bench.command import add_arguments, run
from runledger.bench.disk import Device
from runledger.errors import UsageError


def told(*words: str) -> argparse.Namespace:
    """The arguments of the command, as a parser gives them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    add_arguments(parser)
    return parser.parse_args(words)


def test_steps_as_json(tmp_path: Path) -> None:
    """Every kind of step is measured, beside the bare disk and SQLite, and the scratch directory is gone."""
    out = io.StringIO()
    assert run(told("--json", "--seconds", "0.1", "--directory", str(tmp_path)), out) == 0
    said = json.loads(out.getvalue())
    assert said["schema"] == "runledger.bench.steps/1"
    assert said["directory"] == str(tmp_path)
    assert isinstance(said["syncs_real"], bool)
    kinds = {step["name"]: step for step in said["steps"]}
    assert {"bare disk", "SQLite", "durable", "riding", "idempotent", "repeated"} < set(kinds)
    assert all(0 < kind["seconds"]["low"] <= kind["seconds"]["median"] for kind in kinds.values())
    assert kinds["SQLite"]["times_sqlite"]["median"] == 1
    assert list(tmp_path.iterdir()) == []


def test_steps_as_text(tmp_path: Path) -> None:
    """The verdict on the syncs comes before any number."""
    out = io.StringIO()
    run(told("--seconds", "0.1", "--directory", str(tmp_path)), out)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith(f"{tmp_path}: ")
    assert lines[1].startswith("syncs are ")
    assert any(line.startswith("Expect about ") for line in lines)


@pytest.mark.parametrize(
    "words", [("--directory", "/nowhere/at/all"), ("--seconds", "0"), ("--seconds", "nan")]
)
def test_refused_arguments(words: tuple[str, ...]) -> None:
    """No directory is made up, and no endless measurement begun."""
    with pytest.raises(UsageError):
        run(told(*words), io.StringIO())


@pytest.mark.parametrize(
    ("filesystem", "write_us", "sync_us", "real"),
    [
        ("ext4", 3, 200, True),
        ("ext4", 3, 4, False),
        ("xfs", 1, 12, False),
        ("tmpfs", 2, 400, False),
        ("nfs4", 3, 900, True),
    ],
)
def test_verdict_on_syncs(filesystem: str, write_us: float, sync_us: float, real: bool) -> None:  # noqa: FBT001
    """Memory never syncs, nor does what costs no more than a write or less than any disk takes."""
    assert disk._judge(filesystem, write_us * 1e-6, sync_us * 1e-6)[0] is real


def test_device_of_the_longest_mount(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The innermost mount counts, and of two on one place the later one."""
    inner = str(tmp_path.parent)
    mounts = [(inner, "first"), ("/", "root"), (inner, "second"), (f"{tmp_path}-beside", "beside")]
    monkeypatch.setattr(
        disk, "_mounts", lambda: [(place, Device(name, name, "", None)) for place, name in mounts]
    )
    assert disk.device_of(str(tmp_path)).filesystem == "second"


def test_interleaved_rounds() -> None:
    """Each contender has a turn in each round, for as long as was asked, and its time is told for one piece of work."""
    now = [0.0]
    done = {"slow": 0, "quick": 0}

    def work(name: str, seconds: float) -> timing.Work:
        def go(times: int) -> int:
            now[0] += times * seconds
            done[name] += times
            return times

        return go

    contenders = {"slow": work("slow", 0.01), "quick": work("quick", 0.001)}
    taken = timing.interleaved(contenders, turn_s=0.1, seconds=2, clock=lambda: now[0])
    assert len(taken["slow"]) == len(taken["quick"]) == 10
    assert taken["slow"] == pytest.approx([0.01] * 10)
    assert timing.ratios(taken["slow"], taken["quick"]).median == pytest.approx(10)
    assert done["quick"] > 5 * done["slow"]
