"""Any damage to any file, several at once: nothing happens again, and a repair makes the best of it."""

from __future__ import annotations

import random
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runledger.repair import repair
from runledger.verify import verify
from tests.damage.ledgers import Made, made, never_repeats, quick_folder, record_lines, repaired

ACTS = [
    ["steps"],
    ["steps", "steps"],
    ["steps", "compact"],
    ["steps", "compact", "steps"],
    ["steps", "steps", "compact", "steps", "steps"],
    ["steps", "compact", "steps", "compact", "steps"],
]

KINDS = ["flip", "burst", "zero", "cut", "remove", "double", "swap", "move", "insert", "drop line", "garbage"]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Made]]:
    """Sound ledgers to copy."""
    folder = quick_folder(tmp_path_factory.mktemp("shelf"))
    yield [made(folder / str(number), *acts) for number, acts in enumerate(ACTS)]
    shutil.rmtree(folder)


def spoil(ledger: Made, kind: str, rng: random.Random) -> None:
    """Do one thing to one of the ledger's files; the state file is a witness and stays."""
    files = sorted(
        p for p in ledger.ledger.iterdir() if p.is_file() and p.suffix in {".jsonl", ".json", ".db"}
    )
    if not files:
        return
    path = rng.choice(files)
    data = path.read_bytes()
    size = max(1, len(data.rstrip(b"\n\0")))
    at, length = rng.randrange(size), rng.choice([1, 4, 30, 512, 4096])
    if kind == "flip":
        data = data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :] if data else b""
    elif kind in {"burst", "zero"}:
        data = data[:at] + (rng.randbytes(length) if kind == "burst" else bytes(length)) + data[at + length :]
    elif kind == "cut":
        data = data[:at]
    elif kind == "insert":
        data = data[:at] + rng.randbytes(length) + data[at:]
    elif kind == "garbage":
        data = rng.randbytes(len(data))
    elif kind == "drop line":
        begin = data.rfind(b"\n", 0, at) + 1
        data = data[:begin] + data[data.find(b"\n", at) + 1 :]
    elif kind == "remove":
        path.unlink()
        return
    else:
        _files(ledger, kind, path, rng.choice(files), rng)
        return
    path.write_bytes(data)


def _files(ledger: Made, kind: str, one: Path, two: Path, rng: random.Random) -> None:
    first, second = one.read_bytes(), two.read_bytes()
    if kind == "double":
        (ledger.ledger / f"{rng.randrange(1, 90):020d}.jsonl").write_bytes(first)
    elif kind == "swap":
        one.write_bytes(second)
        two.write_bytes(first)
    else:
        one.rename(ledger.ledger / f"{rng.randrange(1, 90):020d}.jsonl")


def check(shelf: list[Made], which: int, kinds: list[str], seed: int) -> None:
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=shelf[0].root.parent) as folder:
        ledger = shelf[which].copy(Path(folder, "spoiled"))
        lines = set(record_lines(ledger))
        for kind in kinds:
            spoil(ledger, kind, rng)
        never_repeats(ledger.copy(Path(folder, "unrepaired")))
        report = repaired(ledger)
        assert set(record_lines(ledger)) - lines <= set(record_lines(ledger)[-60:]), (
            "a record that nobody wrote"
        )
        assert not [f for f in verify(ledger.root) if not report.lost and f.lsn is None], "sound after all"
        assert repair(ledger.root).done == "nothing"


@given(
    st.integers(0, len(ACTS) - 1),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage(shelf: list[Made], which: int, kinds: list[str], seed: int) -> None:
    """Whatever it was: no step that happened runs, with a repair and without one."""
    check(shelf, which, kinds, seed)


@pytest.mark.soak
@pytest.mark.timeout(0)
@given(
    st.integers(0, len(ACTS) - 1),
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=4),
    st.integers(0, 2**32),
)
@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage_often(shelf: list[Made], which: int, kinds: list[str], seed: int) -> None:
    """The same many times."""
    check(shelf, which, kinds, seed)
