"""What goes wrong is said in our words, and not by whatever broke inside."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from runledger import Ledger, ResultNotStored, UsageError
from tests.support.children import ran
from tests.support.tree import records


def test_a_state_of_a_class_that_is_not_loaded(root: Path) -> None:
    """``resumed_from`` and ``every`` say what to do."""
    save = """
    from dataclasses import dataclass
    @dataclass
    class Gone:
        x: int
    ledger = Ledger.open()
    with ledger.step("work", key="k1", idempotent=True) as step:
        step.checkpoint(Gone(3))
        os.kill(os.getpid(), 9)
    """
    ran(save, root, code=-9)
    with Ledger.open(root) as ledger, ledger.step("work", key="k1", idempotent=True) as step:
        for ask in (lambda: step.resumed_from, ledger.every):
            with pytest.raises(ResultNotStored, match="Import"):
                ask()


def test_a_mark_from_a_thread_of_an_async_step(root: Path, ledger: Ledger) -> None:
    """It is durable when it returns, and may be awaited all the same."""

    async def main() -> None:
        async with ledger.step("work", key="k1", idempotent=True) as step:
            await (await asyncio.to_thread(step.mark, "by a thread"))
            await asyncio.to_thread(step.checkpoint, 1)

    asyncio.run(main())
    assert [one["t"] for one in records(root)][-3:] == ["mark", "checkpoint", "commit"]


def test_a_block_that_is_left_twice(ledger: Ledger) -> None:
    """Refused: there is nothing to leave."""
    use = ledger.step("work", key="k1")
    with use:
        pass
    with pytest.raises(UsageError, match="left"):
        use.__exit__(None, None, None)


def test_nothing_to_compact(root: Path, ledger: Ledger) -> None:
    """Nothing is made for it."""
    assert ledger.compact()["folded"] == 0
    assert list(root.iterdir()) == []


def test_bodies_that_end_in_another_order(root: Path, ledger: Ledger) -> None:
    """A step that is over is nobody's parent, and one that goes on stays one."""
    first, second = ledger.step("first", key="k"), ledger.step("second", key="k")
    outer = first.__enter__()
    inner = second.__enter__()
    first.__exit__(None, None, None)
    with ledger.step("within", key="k"):
        pass
    second.__exit__(None, None, None)
    with ledger.step("after", key="k"):
        pass
    parents = {one["name"]: one.get("parent") for one in records(root) if one["t"] == "intent"}
    assert parents == {"first": None, "second": outer.lsn, "within": inner.lsn, "after": None}


def test_a_body_that_ends_in_another_thread(root: Path, ledger: Ledger) -> None:
    """The same."""
    use = ledger.step("first", key="k")
    use.__enter__()
    thread = threading.Thread(target=use.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with ledger.step("after", key="k"):
        pass
    assert "parent" not in next(one for one in records(root) if one.get("name") == "after")
