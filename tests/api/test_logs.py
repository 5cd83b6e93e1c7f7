"""Events: each is documented, none has a value of a result or an input in it, and nothing is configured."""

from __future__ import annotations

import ast
import contextlib
import re
from pathlib import Path
from typing import Any

import pytest
import structlog

import runledger
from runledger import Happened, Ledger, LedgerError, ResultNotStored
from tests.api.doubts import killed
from tests.support.children import ran
from tests.support.tree import newest, state_file

TOLD_NOBODY = "hunter2-hunter2"
PAGE = Path(__file__).parents[2] / "docs" / "reference" / "log-events.md"
ROW = re.compile(r"^\| `([a-z_.]+)` \| (\w+) \| ([^|]*) \|", re.MULTILINE)


def documented() -> dict[str, tuple[str, set[str]]]:
    """Level and facts of each event of the page."""
    rows = ROW.findall(PAGE.read_text("utf-8"))
    return {name: (level, set(re.findall(r"`(\w+)`", facts))) for name, level, facts in rows}


def test_every_event_of_the_code_is_documented() -> None:
    """By its name and level, with each fact that the call names; and the page names no other."""
    page, seen = documented(), set()
    for path in Path(runledger.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "event"
            ):
                continue
            words = [one.value for one in node.args if isinstance(one, ast.Constant)]
            assert len(words) == 2, path
            level, name = words
            assert page[str(name)][0] == level, name
            assert {one.arg for one in node.keywords if one.arg} <= page[str(name)][1], name
            seen.add(name)
    assert seen == set(page)


@pytest.fixture
def told() -> Any:
    """Every event from here on, as an application that configured structlog gets them."""
    with contextlib.ExitStack() as stack:
        stack.callback(structlog.reset_defaults)
        structlog.configure(processors=[])
        yield stack.enter_context(structlog.testing.capture_logs())


def test_an_application_gets_them_its_own_way(root: Path, told: list[dict[str, Any]]) -> None:
    """A dead owner, a torn tail, an edit by somebody else, a compaction: each with the facts of the page."""
    killed(root)
    with newest(root).open("r+b") as file:
        end = len(file.read().rstrip(b"\n"))
        file.seek(end + 1)
        file.write(b'{"t":"intent","lsn":99,"na')
    with Ledger.open(root) as ledger:
        with ledger.step("other", key="k"):
            pass
        text = state_file(root).read_text("utf-8")
        state_file(root).write_text(text.replace('"RUNNING"', '"HALTED"'), "utf-8")
        ledger.resume("alice")
        ledger.compact()
    page = documented()
    names = {one["event"] for one in told}
    assert {"owner.lost", "journal.torn_tail_cut", "state_file.observed", "compaction.done"} <= names
    for one in told:
        level, facts = page[one["event"]]
        assert one["log_level"] == level
        assert one.keys() - {"event", "log_level"} <= facts


def test_no_value_of_a_result_or_an_input_is_logged(root: Path, told: list[dict[str, Any]]) -> None:
    """Whatever goes wrong with it: not stored, mismatched, in doubt, not recorded."""
    with contextlib.suppress(LedgerError), Ledger.open(root) as ledger:
        ledger.step("work", key="k1")(lambda password: password)(TOLD_NOBODY)
        with contextlib.suppress(LedgerError):
            ledger.step("work", key="k1")(lambda password: password)(f"{TOLD_NOBODY}!")
        with contextlib.suppress(ResultNotStored), ledger.step("work", key="k2", inputs=TOLD_NOBODY) as step:
            step.mark("here", token=TOLD_NOBODY)
            step.result = {TOLD_NOBODY: object()}
        with contextlib.suppress(OSError), ledger.step("work", key="k3", inputs=TOLD_NOBODY):
            raise OSError
        ledger.resolve("work", "k3", Happened(TOLD_NOBODY), reason="looked")
        ledger.compact()
        with contextlib.suppress(OSError), ledger.step("work", key="k4", inputs=TOLD_NOBODY) as step:
            step.result = TOLD_NOBODY
            ledger.close()
            raise OSError
    assert "step.outcome_not_recorded" in {one["event"] for one in told}
    assert TOLD_NOBODY not in repr(told)


def test_nothing_is_configured_on_import(root: Path) -> None:
    """Neither structlog nor logging; where nobody did, warnings go to standard error and nothing to standard output."""
    killed(root)
    program = """
    import logging
    before = list(logging.getLogger().handlers)
    with Ledger.open() as ledger, ledger.step("other", key="k"):
        pass
    import structlog
    print(structlog.is_configured(), logging.getLogger().handlers == before)
    """
    ended = ran(program, root, cold=True)
    assert ended.lines == ["False True"]
    assert "owner.lost" in ended.err
