"""The page of the reports' JSON says of each field what the code makes of it, and of no other."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runledger.advice import SCHEMA as ADVICE
from runledger.advice import as_json as advice_json
from runledger.advice.cost import RecordCost
from runledger.advice.drawing import COLOUR as VERDICTS
from runledger.advice.judge import judged
from runledger.past import look
from runledger.past.gather import _TOLD
from runledger.sweep.plan import UNITS
from runledger.sweep.report import SCHEMA as SWEEP
from runledger.sweep.report import as_json as sweep_json
from runledger.timeline import as_json as course_json
from runledger.timeline.lanes import WORDS
from runledger.timeline.report import SCHEMA as REPORT
from tests.granularity.sweeps import made_up

PAGE = Path(__file__).parents[2] / "docs/reference/reports.md"
COST = RecordCost(0.004, 0.0004, "told by the test")

TYPES = {"integer": {int}, "number": {int, float}, "string": {str}, "boolean": {bool}, "null": {type(None)}}
WHOLE = {
    "range": {"value", "low", "high"},
    "array of numbers": None,
    "array of strings": None,
    "object": None,
    "object of integers": None,
    "any": None,
}
"""What is told in one row, whatever is inside."""


def documented(schema: str) -> dict[str, list[str]]:
    """Each field of a schema's table with the types that it may have."""
    section = PAGE.read_text("utf-8").split(f"\n## {schema}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (`[^|]*) \| ([^|]*) \|", section, re.MULTILINE)
    return {
        field: types.split(" or ") for fields, types in rows for field in re.findall(r"`([^`]+)`", fields)
    }


def leaves(value: Any, path: str, told: dict[str, list[str]]) -> Iterator[tuple[str, Any]]:
    """Every field with its value, down to those that the page tells as a whole."""
    if path in told:
        yield path, value
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, f"{path}.{name}".lstrip("."), told)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, f"{path}[]", told)
    else:
        yield path, value


def fits(value: Any, kind: str) -> bool:
    """Whether a value is of a type of the page."""
    if kind not in WHOLE:
        return type(value) in TYPES[kind]
    if kind.startswith("array of "):
        return isinstance(value, list) and all(type(one) in TYPES[kind[9:-1]] for one in value)
    if kind == "object of integers":
        return isinstance(value, dict) and all(type(one) is int for one in value.values())
    return kind == "any" or (isinstance(value, dict) and WHOLE[kind] in (None, value.keys()))


@pytest.mark.parametrize("schema", [SWEEP, ADVICE, REPORT])
def test_every_field_is_told(schema: str, lived: Path, deathless: Path) -> None:
    """Every field of real reports is on the page with its types, and each on the page is in a report."""
    pasts = [look(lived), look(deathless)]
    found = {
        SWEEP: [sweep_json(made_up(1.0)), sweep_json(made_up(1.1))],
        ADVICE: [advice_json(judged(past, COST)) for past in pasts],
        REPORT: [course_json(past) for past in pasts],
    }[schema]
    told = documented(schema)
    seen: dict[str, list[Any]] = defaultdict(list)
    for report in found:
        assert report["schema"] == schema
        for field, value in leaves(report, "", told):
            seen[field].append(value)
    assert seen.keys() == told.keys()
    wrong = {
        field: value
        for field, values in seen.items()
        for value in values
        if not any(fits(value, kind) for kind in told[field])
    }
    assert wrong == {}


def test_every_word_is_told() -> None:
    """Verdicts, statuses, kinds of units and of events."""
    page = PAGE.read_text("utf-8")
    kinds = {kind for kind, _ in _TOLD.values()} | {"damage"}
    words = {*VERDICTS, *WORDS, *UNITS, *kinds}
    assert [word for word in sorted(words) if f"`{word}`" not in page] == []
