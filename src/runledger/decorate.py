"""``@ledger.step(...)``: a function whose call is a step, and whose repeated call returns the recorded result."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from runledger.attempt import Attempt, Rules, enter, leave
from runledger.deferred import called, refuse_deferred, refuse_deferring
from runledger.errors import UsageError
from runledger.keys import call_inputs
from runledger.keys.code import code_fingerprint
from runledger.keys.rule import KeyRule
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
    refuse_deferring(function)
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise UsageError(
            "a step decorates a function, and this one does not tell its parameters",
            hint="Write a function around it.",
        ) from None
    rule = KeyRule(key, signature)
    code = code_fingerprint(function)
    names = _positional(signature)

    def attempt_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Attempt:
        if names is not None and not kwargs and len(args) == len(names):
            bound = inspect.BoundArguments(signature, dict(zip(names, args, strict=True)))
        else:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
        fingerprint, left_out = call_inputs(bound.arguments, inputs)
        claim = make_claim(rule(bound), fingerprint, tuple(left_out), code)
        return Attempt(store, ledger_id, claim, rules)

    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(called(function)):
        return _async_step(function, store, attempt_of)
    return _step(function, store, attempt_of)


def _positional(signature: inspect.Signature) -> list[str] | None:
    """The names of the parameters where a call by position alone gives each of them its own; ``bind`` says the same of
    such a call, in many more steps."""
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    plain = all(one.kind in by_position for one in signature.parameters.values())
    return list(signature.parameters) if plain else None


def _step(function: Any, store: Store, attempt_of: Callable[..., Attempt]) -> Any:
    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        attempt = attempt_of(args, kwargs)
        try:
            settled = enter(attempt)
            if settled is None:
                result = function(*args, **kwargs)
                refuse_deferred(result)
        except BaseException as error:
            if attempt.begun:
                leave(attempt, error, None)
            raise
        if settled is not None:
            return result_of(store, settled)
        leave(attempt, None, result)
        return result

    return step


def _async_step(function: Any, store: Store, attempt_of: Callable[..., Attempt]) -> Any:
    from runledger.waiting import enter_async, leave_async

    @functools.wraps(function)
    async def step(*args: Any, **kwargs: Any) -> Any:
        attempt = attempt_of(args, kwargs)
        try:
            settled = await enter_async(attempt)
            if settled is None:
                result = await function(*args, **kwargs)
                refuse_deferred(result)
        except BaseException as error:
            if attempt.begun:
                await leave_async(attempt, error, None)
            raise
        if settled is not None:
            return result_of(store, settled)
        await leave_async(attempt, None, result)
        return result

    return step
