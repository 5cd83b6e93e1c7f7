"""The six ways to write one step, so that each row of the tables can be asked of all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from runledger import Ledger

__all__ = ["BLOCKS", "DECORATED", "FORMS", "PLAIN_BLOCKS", "Form", "each", "each_of"]

Body = Callable[[], Any]


class Form(NamedTuple):
    """One way to write a step; ``enter(ledger, name, body, **rules)`` enters it once.

    It returns what a caller gets to see: the result of the body, or the recorded one where the form serves that.
    """

    name: str
    enter: Callable[..., Any]
    decorates: bool = False
    skips: bool = False
    is_async: bool = False


def _block(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    with ledger.step(name, **rules) as step:
        step.result = body()
    return step.result


def _skipping(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    result = None
    with ledger.skip_committed() as skip, ledger.step(name, **rules) as step:
        result = step.result = body()
    return skip.result if skip.skipped else result


def _decorated(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    @ledger.step(name, **rules)
    def work() -> Any:
        return body()

    return work()


def _async_block(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    async def main() -> Any:
        async with ledger.step(name, **rules) as step:
            step.result = body()
        return step.result

    return asyncio.run(main())


def _async_skipping(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    async def main() -> Any:
        result = None
        async with ledger.skip_committed() as skip, ledger.step(name, **rules) as step:
            result = step.result = body()
        return skip.result if skip.skipped else result

    return asyncio.run(main())


def _async_decorated(ledger: Ledger, name: str, body: Body, **rules: Any) -> Any:
    @ledger.step(name, **rules)
    async def work() -> Any:
        return body()

    return asyncio.run(work())


FORMS = (
    Form("with", _block),
    Form("skipping", _skipping, skips=True),
    Form("decorator", _decorated, decorates=True),
    Form("async with", _async_block, is_async=True),
    Form("async skipping", _async_skipping, skips=True, is_async=True),
    Form("async decorator", _async_decorated, decorates=True, is_async=True),
)
DECORATED = tuple(form for form in FORMS if form.decorates)
BLOCKS = tuple(form for form in FORMS if not form.decorates)
PLAIN_BLOCKS = tuple(form for form in BLOCKS if not form.skips)


def each_of(*forms: Form) -> pytest.MarkDecorator:
    """The test is asked of each of these forms."""
    return pytest.mark.parametrize("form", forms, ids=[form.name.replace(" ", "-") for form in forms])


each = each_of(*FORMS)
