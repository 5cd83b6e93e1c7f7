"""Everything mixed for many minutes: each round draws what it does, and on what, from a seed of its own."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.crash.outcomes import OUTCOMES
from tests.crash.sweep import Cut as Crash
from tests.crash.sweep import cut_short
from tests.crash.test_machine import FaultyMachine, Machine, histories
from tests.damage.ledgers import made
from tests.damage.test_any_damage import ACTS, KINDS, check
from tests.kills.test_contention import contended
from tests.kills.test_kills import killed_again_and_again
from tests.recorded.cutting import Cut, cut, record
from tests.support.faults import requires_strace

pytestmark = requires_strace

Draw = random.Random


def left(draw: Draw) -> str | int:
    return draw.choice([*OUTCOMES, draw.randrange(10**6)])


def a_history(draw: Draw, folder: Path, option: Any) -> None:
    """Acts of two owners, cuts, kills and a failing disk, in memory."""
    histories(draw.choice([Machine, FaultyMachine]), 20, draw.randrange(10**6), as_found=option.as_found)


def crashes(draw: Draw, folder: Path, option: Any) -> None:
    """A cut or a kill at any call, and another at any call of what follows, in memory."""
    for _ in range(20):
        first, second = (
            Crash(draw.randrange(1, last), left(draw), draw.random() < 0.3, torn=draw.choice([None, 0, 1]))
            for last in (270, 76)
        )
        cut_short(first, second)


def power_cuts(draw: Draw, folder: Path, option: Any) -> None:
    """A new recording of a real run, cut at any of its system calls."""
    recording = record(folder)
    cut(recording, [Cut(draw.choice(recording.points), left(draw)) for _ in range(60)])


def kills(draw: Draw, folder: Path, option: Any) -> None:
    """Real workers killed at random moments."""
    killed_again_and_again(folder, 30, draw.randrange(10**6))


def contention(draw: Draw, folder: Path, option: Any) -> None:
    """Many threads of many processes want the same keys, and processes are killed."""
    processes, threads = draw.randint(2, 5), draw.randint(1, 16)
    contended(folder, processes=processes, threads=threads, keys=300, seconds=4, seed=draw.randrange(10**6))


def damage(draw: Draw, folder: Path, option: Any) -> None:
    """Damage to any file, before a repair and after it."""
    (folder / "sound").mkdir()
    shelf = [made(folder / "sound" / str(number), *acts) for number, acts in enumerate(ACTS)]
    for _ in range(20):
        kinds = [draw.choice(KINDS) for _ in range(draw.randint(1, 4))]
        check(shelf, draw.randrange(len(ACTS)), kinds, draw.randrange(2**32))


ROUNDS: list[Callable[[Draw, Path, Any], None]] = [
    a_history,
    crashes,
    power_cuts,
    kills,
    contention,
    damage,
]


@pytest.mark.soak
@pytest.mark.timeout(0)
def test_everything_mixed(
    tmp_path: Path, pytestconfig: pytest.Config, capsys: pytest.CaptureFixture[str]
) -> None:
    """Round after round for `--minutes`; `--minutes 0` is one round, that of `--seed`."""
    told = pytestconfig.option
    ends = time.monotonic() + told.minutes * 60
    done: Counter[str] = Counter()
    seed = told.seed
    while not done or time.monotonic() < ends:
        draw = Draw(seed)
        act = draw.choice(ROUNDS)
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            act(draw, folder, told)
        except BaseException as error:
            error.add_note(
                f"{act.__name__}; to replay: -m soak -k everything_mixed --seed {seed} --minutes 0"
            )
            raise
        done[act.__name__] += 1
        seed += 1
    with capsys.disabled():
        print(f"\nrounds: {dict(done)}, seeds {told.seed} to {seed - 1}")
