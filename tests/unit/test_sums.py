"""Block checksums that are made ahead are those that are made at once."""

from __future__ import annotations

import random
from pathlib import Path

from runledger.local.directory import Directory
from runledger.local.layout import BLOCK_BYTES
from runledger.local.pace import Pace
from runledger.local.sums import Sums


def test_ahead_or_at_once(tmp_path: Path, seed: int) -> None:
    """Short lines and lines that are longer than several blocks, summed up to any offset before."""
    draw = random.Random(seed)
    lines = [b"x" * draw.choice([10, 300, 5000, BLOCK_BYTES * 6]) + b"\n" for _ in range(300)]
    data = b"".join(lines)
    (tmp_path / "segment").write_bytes(data)
    directory = Directory.at(str(tmp_path))
    assert directory is not None
    file = directory.open("segment")
    assert file is not None
    for size in (0, 1, len(lines[0]), BLOCK_BYTES, len(data)):
        end = data.rfind(b"\n", 0, size) + 1
        at_once = Sums(file)
        at_once.finish(end)
        assert sum(bytes_ for bytes_, _ in at_once.blocks) == end
        for _ in range(4):
            ahead = Sums(file)
            for durable in sorted(draw.randrange(end + 1) for _ in range(3)):
                ahead.advance(durable, Pace())
                assert ahead.end <= durable
            ahead.finish(end)
            assert ahead.blocks == at_once.blocks
    file.close()
    directory.close()


def test_little_is_left_for_the_seal(tmp_path: Path) -> None:
    """Less than two blocks, of lines of the usual length."""
    data = (b"x" * 300 + b"\n") * 20_000
    (tmp_path / "segment").write_bytes(data)
    directory = Directory.at(str(tmp_path))
    assert directory is not None
    file = directory.open("segment")
    assert file is not None
    sums = Sums(file)
    sums.advance(len(data), Pace())
    assert len(data) - sums.end < 2 * BLOCK_BYTES
    file.close()
    directory.close()
