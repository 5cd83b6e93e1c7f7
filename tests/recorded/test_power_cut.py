"""A real run under strace, cut at any point: what a power cut may leave there is opened by the real code."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

from tests.crash.outcomes import OUTCOMES
from tests.recorded.cutting import Cut, Recording, cut, record
from tests.support.faults import requires_strace

pytestmark = requires_strace


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """The program's."""
    return record(tmp_path_factory.mktemp("recorded"))


def test_the_recording_is_of_all_that_happened(recording: Recording) -> None:
    """Played to its end with everything on the disk it gives the very ledger that the program left, acknowledged."""
    kinds = {operation.kind for operation in recording.done}
    assert kinds >= {"say", "create", "write", "truncate", "sync", "datasync", "rename", "unlink", "mkdir"}
    said = [operation.data.decode().split()[0] for operation in recording.done if operation.kind == "say"]
    assert said.count("committed") == 12
    assert {
        path for operation in recording.done if (path := operation.path).startswith(".run/ledger/history.db")
    }
    assert cut(recording, [Cut(len(recording.done), "everything")]) == 1


def test_a_power_cut_at_some_points(recording: Recording, seed: int) -> None:
    """No acknowledged fact is lost, no commit is seen before its writing, the state file is whole; a few folders."""
    draw = random.Random(seed)
    cuts = [
        Cut(draw.choice(recording.points), draw.choice([*OUTCOMES, draw.randrange(10**6)])) for _ in range(60)
    ]
    assert cut(recording, cuts) == 60


def test_a_power_cut_in_a_compaction(recording: Recording) -> None:
    """The same where the database has just been written to, and only what was synced is left."""
    points = [
        at
        for at, (before, then) in enumerate(pairwise(recording.done), 1)
        if "/history.db" in before.path and "/history.db" not in then.path
    ]
    assert len(points) > 3
    cuts = [Cut(min(at + after, len(recording.done)), "nothing") for at in points for after in (0, 20)]
    assert cut(recording, cuts) == 2 * len(points)


def every_cut(recording: Recording, seed: int) -> Iterator[Cut]:
    draw = random.Random(seed)
    for at in recording.points:
        yield from (Cut(at, left) for left in [*OUTCOMES, *(draw.randrange(10**6) for _ in range(12))])


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_a_power_cut_at_every_point(
    recording: Recording, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """The same for all of them, with each telling outcome and a dozen others; what was looked at is counted."""
    folders = cut(recording, list(every_cut(recording, seed)))
    with capsys.disabled():
        print(f"\npower cuts: {folders} folders after {len(recording.points)} system calls")
