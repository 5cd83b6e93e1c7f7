"""Times are UTC wherever the reader lives; order comes from the journal, whatever the clock does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.faults import patched
from tests.support.tree import records, state

CLOCK = """
import datetime, os, time
AT = {at}
time.time = lambda: AT
time.time_ns = lambda: int(AT * 1e9)
"""

NOON = 1_795_780_800.0  # 2026-11-27T12:00:00Z
DST_ENDS = 1_793_512_800.0  # 2026-11-01T06:00:00Z, when New York sets its clocks back

STEP = """
with Ledger.open() as ledger:
    with ledger.step("work", key=arguments[0]):
        pass
"""


def at(tmp_path: Path, seconds: float, zone: str) -> dict[str, str]:
    """The environment of a child whose clock stands still and whose home is elsewhere."""
    return {**patched(tmp_path / f"clock-{seconds}", CLOCK.format(at=seconds)), "TZ": zone}


def told(root: Path, env: dict[str, str]) -> dict[str, object]:
    """The status."""
    status: dict[str, object] = json.loads(command(root, "status", "--json", env=env).lines[0])
    return status


@pytest.mark.parametrize(
    ("start", "silence"), [(NOON, 90.0), (DST_ENDS - 600, 1200.0)], ids=["another-zone", "across-dst"]
)
def test_ages_are_right_in_every_zone(root: Path, tmp_path: Path, start: float, silence: float) -> None:
    """Written in Bangkok, read in New York, also while its clocks are set back: right to the second.

    https://github.com/tomcounsell/ai/issues/777
    """
    ran(STEP, root, "k1", env=at(tmp_path, start, "Asia/Bangkok"))
    status = told(root, at(tmp_path, start + silence, "America/New_York"))
    assert status["age_s"] == silence
    assert status["stale"] == (silence > 900)
    assert command(root, "compact", env=at(tmp_path, start + silence, "America/New_York")).code == 0
    assert state(root)["timestamps"]["last_activity"] == status["last_activity"]


STAMPS = {
    "2026-11-27T11:58:30Z": 90.0,
    "2026-11-27T18:58:30+07:00": 90.0,
    "2026-11-27T11:58:30": 90.0,
    "2026-11-27T11:58:30.500Z": 89.5,
    "2026-11-27T13:00:00Z": 0.0,
    "yesterday": None,
}


def test_a_stamp_found_in_a_file_is_read_as_it_says(root: Path, tmp_path: Path) -> None:
    """An offset counts, no zone means UTC, the future is no age, and what is no stamp has none.

    https://github.com/tomcounsell/ai/issues/777
    """
    program = """
    import json
    for n, stamp in enumerate(arguments):
        folder = root / str(n)
        (folder / ".run").mkdir(parents=True)
        document = {
            "plan_id": "p",
            "state": "RUNNING",
            "timestamps": {"started": "2026-11-27T10:00:00Z", "last_activity": stamp},
            "sprints": {"total": 1, "completed": 0, "current": "s", "list": [{"id": "s", "status": "pending"}]},
        }
        (folder / ".run" / "sprint-plan-state.json").write_text(json.dumps(document) + "\\n")
        with Ledger.open(folder) as ledger:
            ages = [ledger.status().age_s]
            ledger.adopt()
            ages.append(ledger.status().age_s)
            ledger.compact()
        assert runledger.replay(folder).state == "RUNNING"
        say(*ages)
    """
    ended = ran(program, root, *STAMPS, env=at(tmp_path, NOON, "Asia/Bangkok"))
    assert ended.lines == [f"{age} 0.0" for age in STAMPS.values()]


def test_a_clock_set_back_changes_no_order(root: Path, tmp_path: Path) -> None:
    """The later record wins though its stamp is older; no age is negative, nothing lies in the future.

    https://github.com/tomcounsell/ai/issues/777
    """
    early, late = at(tmp_path, NOON, "UTC"), at(tmp_path, NOON - 3600, "UTC")
    ran(STEP, root, "k1", env=early)
    ran(STEP, root, "k2", env=late)
    assert [one["key"] for one in records(root) if one["t"] == "commit"] == ["k1", "k2"]
    for env in (late, early):
        status = told(root, env)
        assert status["last_commit"] == "work k2"
        assert isinstance(status["age_s"], float)
        assert status["age_s"] >= 0
    assert state(root)["timestamps"]["last_activity"] <= "2026-11-27T12:00:00Z"
    assert command(root, "halt", "--reason", "enough", env=late).code == 0
    assert command(root, "resume", env=late).code == 0
    assert command(root, "compact", env=late).code == 0
    assert told(root, late)["state"] == "RUNNING"
    assert state(root)["timestamps"]["last_activity"] == "2026-11-27T11:00:00Z"
    assert command(root, "verify", env=late).lines == ["everything agrees"]


def test_a_lease_outlives_no_clock_that_jumps_ahead_by_proof(root: Path, tmp_path: Path) -> None:
    """A session's lease is the one thing that a clock decides, and what is shown says so.

    https://github.com/tomcounsell/ai/issues/777
    """
    assert command(root, "begin", "work", "--key", "k1", env=at(tmp_path, NOON, "UTC")).code == 0
    report = json.loads(command(root, "replay", "--json", env=at(tmp_path, NOON + 3600, "UTC")).lines[0])
    (step,) = report["in_doubt"]
    assert "lease" in step["owner"]["how"]
    assert "no proof of death" in step["owner"]["how"]
