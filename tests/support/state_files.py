"""What a state file owes its readers, and what of it is not ours to change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

__all__ = ["FILES", "foreign", "keeps_the_format"]

FILES = sorted((Path(__file__).parents[1] / "data" / "state-files").glob("*.json"))
"""Real ones, of many writers."""

_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_SPRINT_ID = re.compile(r"[A-Za-z0-9._-]+")
_OURS = {"state", "failure", "ledger"}
_OUR_TIMES = {"started", "last_activity"}
_OUR_COUNTS = {"total", "completed", "current", "list"}
_OUR_ITEM = {"status", "cycles"}


def foreign(text: str) -> list[Any]:
    """Everything of a document that is not ours, in its order, numbers as they are written."""
    top = json.loads(text, parse_int=str, parse_float=str, object_pairs_hook=list)
    return [(name, _foreign(name, value)) for name, value in top if name not in _OURS]


def _foreign(name: str, value: Any) -> Any:
    if name == "timestamps" and _is_object(value):
        return [pair for pair in value if pair[0] not in _OUR_TIMES]
    if name == "sprints" and _is_object(value):
        items = next((inner for key, inner in value if key == "list"), [])
        kept = [
            [pair for pair in item if pair[0] not in _OUR_ITEM] if _is_object(item) else item
            for item in items
        ]
        return kept, [pair for pair in value if pair[0] not in _OUR_COUNTS]
    return value


def _is_object(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(pair, tuple) for pair in value)


def keeps_the_format(text: str, state: str) -> dict[str, Any]:
    """The document, after each rule of the format was looked at; its word must be ``state``."""
    assert text.endswith("}\n")
    document: dict[str, Any] = json.loads(text)
    assert document["state"] == state
    assert isinstance(document["plan_id"], str)
    assert isinstance(document.get("branch", ""), str)
    times = document["timestamps"]
    assert _STAMP.fullmatch(times.get("started") or times["started_at"])
    if state != "JACKED_OUT" or "last_activity" in times:  # nothing moves it after the end, if it never was
        assert _STAMP.fullmatch(times["last_activity"])
    sprints = document["sprints"]
    assert type(sprints["total"]) is int
    assert sprints["completed"] == sum(item.get("status") == "completed" for item in sprints["list"])
    assert sprints["current"] is None or _SPRINT_ID.fullmatch(sprints["current"])
    assert ("failure" in document) == (state == "HALTED")
    if state == "HALTED":
        assert isinstance(document["failure"]["reason"], str)
        assert "sprint" in document["failure"]
        assert _STAMP.fullmatch(document["failure"]["timestamp"])
    assert set(document["ledger"]) == {"version", "lsn", "digest", "in_doubt"}
    return document
