"""How a decorated function's key comes from its call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from runledger.errors import KeyInvalid, UsageError
from runledger.keys.identity import check_key
from runledger.keys.template import Field, fields_in

if TYPE_CHECKING:
    from inspect import BoundArguments, Signature

__all__ = ["KeyRule"]


class KeyRule:
    """Made once, at decoration; called with each call's arguments, defaults applied, it gives the key.

    ``key`` is None for none, a text, or a callable. A text is a template only where it names parameters, as
    in ``"{page.slug}-{n:03d}"``; other braces, and a text that names no parameter, stand for themselves. A
    callable that names its parameters as the function does is given those, any other the arguments of the
    call without those that only repeat a default.

    Raises:
        KeyInvalid, EmptyKey: the text cannot be a key.
    """

    def __init__(self, key: Any, signature: Signature) -> None:
        self._parameters = signature.parameters
        self._make: Callable[[BoundArguments], Any] | None = None
        self._constant: str | None = None
        if callable(key):
            self._make = self._of_callable(key)
        elif key is not None:
            check_key(key)
            pieces = fields_in(key, self._parameters)
            if any(isinstance(piece, Field) for piece in pieces):
                said = [piece for piece in pieces if piece]
                self._make = lambda bound: _rendered(said, bound.arguments)
            else:
                self._constant = key

    def __call__(self, bound: BoundArguments) -> str | None:
        """The key of a call, None for none.

        Raises:
            KeyInvalid, EmptyKey: what was made cannot be a key, a field is None, or the caller's code raised,
                which is then the cause.
        """
        if self._make is None:
            return self._constant
        try:
            key = self._make(bound)
        except KeyInvalid:
            raise
        except Exception as error:
            raise KeyInvalid(f"the key could not be made: {type(error).__name__}") from error
        check_key(key)
        made: str = key
        return made

    def _of_callable(self, key: Callable[..., Any]) -> Callable[[BoundArguments], Any]:
        import inspect

        if inspect.iscoroutinefunction(key):
            raise UsageError("a key is made before the step: key= cannot be a coroutine function")
        names = self._shared_names(key)
        if names is not None:
            return lambda bound: key(**{name: bound.arguments[name] for name in names})

        def called_alike(bound: BoundArguments) -> Any:
            given = self._given(bound)
            return key(*given.args, **given.kwargs)

        return called_alike

    def _shared_names(self, key: Callable[..., Any]) -> list[str] | None:
        """The names to call the callable by, None where it asks for others than the function's."""
        from inspect import Parameter, signature

        try:
            asked = signature(key).parameters.values()
        except (TypeError, ValueError):  # some built-in callables do not tell
            return None
        by_name = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        shared = [one.name for one in asked if one.name in self._parameters and one.kind in by_name]
        others = [one for one in asked if one.name not in shared]
        needed = any(one.kind not in by_name or one.default is Parameter.empty for one in others)
        return shared if shared and not needed else None

    def _given(self, bound: BoundArguments) -> BoundArguments:
        """The call without the arguments that only repeat a default, from the last one back."""
        from inspect import BoundArguments, Parameter

        arguments = dict(bound.arguments)
        for name, parameter in reversed(list(self._parameters.items())):
            default = () if parameter.kind is Parameter.VAR_POSITIONAL else parameter.default
            if name in arguments and arguments[name] is default:
                del arguments[name]
            elif parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD):
                break
        return BoundArguments(bound.signature, arguments)


def _rendered(pieces: list[str | Field], arguments: Mapping[str, Any]) -> str:
    return "".join([piece if type(piece) is str else piece.render(arguments) for piece in pieces])  # type: ignore[union-attr]  # else it is a field
