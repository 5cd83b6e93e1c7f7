"""The files of a ledger as others see them: plain readers, no help from the package."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "content_end",
    "leftovers",
    "needs_jq",
    "newest",
    "read_by_jq",
    "record_lines",
    "records",
    "segments",
    "state",
    "state_file",
    "strict",
]

needs_jq = pytest.mark.skipif(shutil.which("jq") is None, reason="jq is not installed")


def state_file(root: Path) -> Path:
    """The snapshot."""
    return root / ".run" / "sprint-plan-state.json"


def state(root: Path) -> dict[str, Any]:
    """The state file, which must be one strict JSON document with a final newline and nothing after it."""
    text = state_file(root).read_text("utf-8")
    assert text.endswith("}\n")
    document: dict[str, Any] = strict(text)
    return document


def segments(root: Path) -> list[Path]:
    """The journal's files, oldest first."""
    return sorted((root / ".run" / "ledger").glob("*.jsonl"))


def newest(root: Path) -> Path:
    """The journal's last file."""
    return segments(root)[-1]


def content_end(path: Path) -> int:
    """Where the last record's line ends, its newline included; only filler follows."""
    return len(path.read_bytes().rstrip(b"\n\0")) + 1


def record_lines(root: Path) -> list[bytes]:
    """All lines of the journal that are no filler, headers and seals among them."""
    return [line for path in segments(root) for line in path.read_bytes().split(b"\n") if line]


def records(root: Path) -> list[dict[str, Any]]:
    """The journal's records; each line must be one strict JSON object."""
    objects = [strict(line.decode("utf-8")) for line in record_lines(root)]
    return [one for one in objects if "lsn" in one]


def strict(text: str) -> Any:
    """JSON by the letter: no NaN, no name twice, nothing after the end."""
    return json.loads(text, parse_constant=_refuse, object_pairs_hook=_once)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError(f"a name comes twice: {names}")
    return dict(pairs)


def read_by_jq(*paths: Path, query: str = ".") -> list[str]:
    """What jq makes of the files, one compact value a line; it must not complain."""
    done = subprocess.run(
        ["jq", "-c", query, *map(str, paths)], check=False, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return [line for line in done.stdout.split("\n") if line]


def leftovers(root: Path) -> list[str]:
    """Temporary files anywhere below ``.run``."""
    return sorted(str(path.relative_to(root)) for path in (root / ".run").rglob("*") if ".tmp" in path.name)
