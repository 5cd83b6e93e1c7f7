"""Steps inside of steps: the parent is on record, and a parent that runs again skips its committed children."""

from __future__ import annotations

import asyncio
import contextvars
from pathlib import Path

import pytest

from runledger import NOT_HAPPENED, Ledger, StepInDoubt, replay
from tests.api.forms import FORMS, Form, each
from tests.support.children import ran
from tests.support.outside import Outside
from tests.support.tree import records


def parents(root: Path) -> dict[str, str | None]:
    """The key of each step's parent, by its own key."""
    intents = {one["lsn"]: one for one in records(root) if one["t"] == "intent"}
    return {
        one["key"]: intents[one["parent"]]["key"] if "parent" in one else None for one in intents.values()
    }


@each
def test_the_parent_is_on_record(root: Path, ledger: Ledger, form: Form) -> None:
    """Of each form within a plain block; after the body there is none."""
    with ledger.step("outer", key="o"):
        form.enter(ledger, "inner", lambda: 1, key="i")
    form.enter(ledger, "after", lambda: 1, key="a")
    assert parents(root) == {"o": None, "i": "o", "a": None}


@each
def test_the_children_of_each_form(root: Path, ledger: Ledger, form: Form) -> None:
    """A plain block within each form, two levels deep."""

    def body() -> int:
        with ledger.step("inner", key="i"), ledger.step("innermost", key="ii"):
            return 1

    form.enter(ledger, "outer", body, key="o")
    assert parents(root) == {"o": None, "i": "o", "ii": "i"}


def test_after_a_body_that_failed_there_is_no_parent(root: Path, ledger: Ledger) -> None:
    """Whatever ended it, the next step is nobody's child."""
    for form in FORMS:
        try:
            form.enter(ledger, "outer", lambda: 1 / 0, key=form.name)
        except ZeroDivisionError:
            with ledger.step("next", key=f"after {form.name}"):
                pass
    assert set(parents(root).values()) == {None}


def test_children_of_tasks(root: Path, ledger: Ledger) -> None:
    """A task begins with its creator's step as its parent, and each task's own steps are its own."""

    async def child(n: int) -> None:
        async with ledger.step("child", key=f"c{n}"):
            await asyncio.sleep(0)
            async with ledger.step("grandchild", key=f"g{n}"):
                await asyncio.sleep(0)

    async def main() -> None:
        async with ledger.step("parent", key="p"):
            await asyncio.gather(*(child(n) for n in range(3)))

    asyncio.run(main())
    told = parents(root)
    assert told == {"p": None, **{f"c{n}": "p" for n in range(3)}, **{f"g{n}": f"c{n}" for n in range(3)}}


def test_children_in_another_thread(root: Path, ledger: Ledger) -> None:
    """A thread begins without a parent, one that runs in a copy of the context with it."""
    from concurrent.futures import ThreadPoolExecutor

    def child(key: str) -> None:
        with ledger.step("child", key=key):
            pass

    with ThreadPoolExecutor(1) as pool, ledger.step("parent", key="p"):
        pool.submit(child, "bare").result()
        pool.submit(contextvars.copy_context().run, child, "copied").result()
        asyncio.run(asyncio.to_thread(child, "to_thread"))
    assert parents(root) == {"p": None, "bare": None, "copied": "p", "to_thread": "p"}


def test_a_step_of_another_ledger_is_no_parent(root: Path, tmp_path: Path, ledger: Ledger) -> None:
    """Numbers of one ledger mean nothing in another."""
    with (
        Ledger.open(tmp_path / "other") as other,
        other.step("outer", key="o"),
        ledger.step("inner", key="i"),
    ):
        pass
    assert parents(root) == {"i": None}


def test_a_parent_that_runs_again_skips_its_committed_children(root: Path) -> None:
    """Killed in the middle of its loop and told that it did not happen as a whole: each child's effect happens once."""
    program = """
    with Ledger.open() as ledger:
        @ledger.step("child", key="{n}")
        def child(n):
            happen(f"child {n}")
            return n * n

        @ledger.step("parent", key="p", idempotent=True)
        def parent():
            total = 0
            for n in range(6):
                total += child(n)
                if n == int(arguments[0]):
                    os.kill(os.getpid(), 9)
            return total

        say(parent())
    """
    for at in ("1", "3"):
        ran(program, root, at, code=-9)
    assert ran(program, root, "99").lines == ["55"]
    assert Outside(root).all() == [f"child {n}" for n in range(6)]
    assert replay(root).in_doubt == []


def test_a_child_in_doubt_stops_its_parent(root: Path, ledger: Ledger) -> None:
    """A parent that may run again does not pass over a child that nobody knows about, until that is settled."""
    answers = [OSError("no answer"), None]

    @ledger.step("parent", key="p", idempotent=True)
    def parent() -> str:
        with ledger.skip_committed(), ledger.step("child", key="c"):
            answer = answers.pop(0)
            if answer is not None:
                raise answer
        return "done"

    with pytest.raises(OSError, match="no answer"):
        parent()
    for _ in range(2):
        with pytest.raises(StepInDoubt, match="child c"):
            parent()
    ledger.resolve("child", "c", NOT_HAPPENED, reason="looked")
    assert parent() == "done"
    assert answers == []
    assert replay(root).in_doubt == []
