"""The reference pages that are written by hand have everything that the code has."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from runledger import run_state, state_file, state_reading
from runledger.state_fields import STATUSES

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs/reference"


def events() -> Iterator[tuple[str, str, set[str]]]:
    """Each call of ``event`` in the sources: level, name, and the names of its facts."""
    for path in ROOT.glob("src/runledger/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "event":
                level, name = (ast.literal_eval(argument) for argument in node.args)
                yield level, name, {keyword.arg for keyword in node.keywords if keyword.arg}


def test_every_log_event_is_documented() -> None:
    """Name, level and facts, and nothing that is no longer logged."""
    said: dict[str, tuple[str, set[str]]] = {}
    for level, name, facts in events():
        before = said.get(name, (level, set()))
        assert before[0] == level, name
        said[name] = (level, before[1] | facts)
    page = (REFERENCE / "log-events.md").read_text("utf-8")
    rows = re.findall(r"^\| `([a-z_.]+)` \| (\w+) \| ([^|]*) \|", page, re.MULTILINE)
    assert {name: (level, set(re.findall(r"`(\w+)`", facts))) for name, level, facts in rows} == said


def test_state_file_page_has_every_word_and_bound() -> None:
    """The words that are read, the statuses, and the limits."""
    page = (REFERENCE / "snapshot.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]*) \| (\w+) \|$", page, re.MULTILINE)
    for word in (*run_state.WORDS, *run_state._FOREIGN):
        assert [right for left, right in rows if f"`{word}`" in left] == [run_state.meaning(word)[0]]
    assert "`completed`" in page
    assert "completed" in STATUSES
    assert state_reading.LARGEST == 1 << 20
    assert (
        f"at most {state_file.DOUBTS_SHOWN}, long texts cut to {state_file.LETTERS_SHOWN} characters" in page
    )
