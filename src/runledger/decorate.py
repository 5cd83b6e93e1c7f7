"""``@ledger.step(...)``: a function whose call is a step, and whose repeated call returns the recorded result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from runledger.attempt import Attempt, Rules, enter, leave
from runledger.errors import UsageError
from runledger.keys import KeyRule, call_inputs, code_fingerprint
from runledger.outcome import result_of
from runledger.store import Claim, Store

__all__ = ["decorate"]


def decorate(
    function: Any,
    store: Store,
    ledger_id: Callable[[], str],
    key: Any,
    inputs: Any,
    make_claim: Callable[..., Claim],
    rules: Rules,
) -> Any:
    """The function as a step.

    Raises:
        UsageError: it is a generator: its body would run outside of the step, as it is iterated. Or it does not tell
            its parameters, as some built-in ones do not.
    """
    if not callable(function):
        raise UsageError("a step decorates a function")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError("a generator cannot be a step: its body runs later, while it is iterated")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(
            "a step decorates a function, and this one does not tell its parameters",
            hint="Write a function around it.",
        ) from None
    rule = KeyRule(key, signature)
    code = code_fingerprint(function)

    def attempt_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Attempt:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        fingerprint, left_out = call_inputs(bound.arguments, inputs)
        claim = make_claim(rule(bound), fingerprint, tuple(left_out), code)
        return Attempt(store, ledger_id, claim, rules)

    if inspect.iscoroutinefunction(function):
        return _async_step(function, store, attempt_of)
    return _step(function, store, attempt_of)


def _step(function: Any, store: Store, attempt_of: Callable[..., Attempt]) -> Any:
    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        attempt = attempt_of(args, kwargs)
        settled = enter(attempt)
        if settled is not None:
            return result_of(store, settled)
        try:
            result = function(*args, **kwargs)
            if inspect.isawaitable(result):
                _refuse_awaitable(result)
        except BaseException as error:
            leave(attempt, error, None)
            raise
        leave(attempt, None, result)
        return result

    return step


def _refuse_awaitable(result: Any) -> None:
    """A plain function that returns a coroutine: committing now would commit work that has not begun."""
    close = getattr(result, "close", None)
    if close is not None:
        close()
    raise UsageError("the step returned something to be awaited; decorate the async function itself")


def _async_step(function: Any, store: Store, attempt_of: Callable[..., Attempt]) -> Any:
    from runledger.waiting import enter_async, leave_async

    @functools.wraps(function)
    async def step(*args: Any, **kwargs: Any) -> Any:
        attempt = attempt_of(args, kwargs)
        settled = await enter_async(attempt)
        if settled is not None:
            return result_of(store, settled)
        try:
            result = await function(*args, **kwargs)
        except BaseException as error:
            await leave_async(attempt, error, None)
            raise
        await leave_async(attempt, None, result)
        return result

    return step
