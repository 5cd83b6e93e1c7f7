"""A key means one thing: made of text, of what the call was given, and the same in every process."""

from __future__ import annotations

import functools
import inspect
import operator
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from runledger.errors import EmptyKey, InputsNotEncodable, KeyInvalid, UsageError
from runledger.keys import call_inputs, check_key, check_name, idempotency_key, value_inputs
from runledger.keys.code import code_fingerprint
from runledger.keys.rule import KeyRule


@dataclass
class Page:
    slug: str | None = "home"
    version: int = 1
    tags: list[str] = field(default_factory=lambda: ["a", "b"])
    client: Any = None

    @property
    def broken(self) -> str:
        raise RuntimeError("no network")


class TextSubclass(str):
    __slots__ = ()


def made(key: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> str | None:
    """The key of one call of the function."""
    signature = inspect.signature(function)
    rule = KeyRule(key, signature)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return rule(bound)


def publish(page: Any, n: int = 7, *rest: Any, dry: bool = False, **more: Any) -> None:
    """A function with every kind of parameter."""


# --- names and keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["a", " ", "two words", "é😀", "\n\x00\x1b", "-x", "\u202e", "x" * 512])
def test_any_text_is_a_name_and_a_key(text: str) -> None:
    """Control characters and all: they are escaped where they are shown, not here."""
    check_name(text)
    check_key(text)


@pytest.mark.parametrize("check", [check_name, check_key])
@pytest.mark.parametrize(
    "value",
    [1, True, 1.0, b"1", None, ("a",), TextSubclass("a"), object()],
    ids=lambda value: type(value).__name__,
)
def test_only_text_is_a_name_or_a_key(check: Callable[[Any], None], value: Any) -> None:
    """1, "1", True and 1.0 never become one key; the error names the type and the cure, not the value."""
    with pytest.raises(KeyInvalid, match=rf"not a {type(value).__name__}") as caught:
        check(value)
    assert "str(...)" in caught.value.hint
    assert caught.value.exit_code == 64


def test_empty_ones_are_refused() -> None:
    """An empty key has an error of its own."""
    with pytest.raises(EmptyKey):
        check_key("")
    with pytest.raises(KeyInvalid):
        check_name("")


def test_long_ones_are_refused() -> None:
    """4096 characters for a key, 512 for a name."""
    check_key("x" * 4096)
    with pytest.raises(KeyInvalid, match="4096"):
        check_key("x" * 4097)
    with pytest.raises(KeyInvalid, match="512"):
        check_name("x" * 513)


@pytest.mark.parametrize("text", ["\ud800", "a\udcff"])
def test_lone_surrogates_are_refused(text: str) -> None:
    """They cannot be written as UTF-8."""
    for check in (check_key, check_name):
        with pytest.raises(KeyInvalid, match="surrogate"):
            check(text)


# --- templates --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{page.slug}", "home"),
        ("{n}", "7"),
        ("p-{page.slug}/{n:03d}!", "p-home/007!"),
        ("{page.tags[1]}", "b"),
        ("{page.slug!r}", "'home'"),
        ("{page.slug!s:>6}", "  home"),
        ("{n!a}", "7"),
        ("{dry}", "False"),
        ("{rest[0]}", "r"),
        ("{more[sha]}", "abc"),
        ("{n:{page.version}d}", "7"),
        ("{other}-{n}", "{other}-7"),
        ("{}{0}{n}", "{}{0}7"),
        ('{"page":"{page.slug}"}', '{"page":"home"}'),
        ('{"a":{"b":{n}}}', '{"a":{"b":7}}'),
        ("{{n}}-{n}", "{n}-7"),
        ("{ n }{n", "{ n }{n"),
        ("{n}{n", "7{n"),
        ("}{n}{", "}7{"),
    ],
)
def test_templates(template: str, expected: str) -> None:
    """A field that names a parameter is substituted, whatever else has braces stays as it stands."""
    assert made(template, publish, Page(), 7, "r", sha="abc") == expected


@pytest.mark.parametrize(
    "text",
    ["sprint-2", "{slug}", '{"a":1}', "{", "}", "{}", "{0}", "{{n}}", "{page", "{ page }", "{page!x}", "%s"],
)
def test_texts_without_fields_are_literal(text: str) -> None:
    """A key that names no parameter is the key of every call, untouched."""
    assert made(text, publish, Page()) == text


def test_no_key() -> None:
    """A step without a natural key has none."""
    assert made(None, publish, Page()) is None


@pytest.mark.parametrize("template", ["{page.slug}", "x-{page.client}", "{page}"])
def test_a_missing_value_makes_no_key(template: str) -> None:
    """None in a field is refused: "page-None" would stand for every page without a slug."""
    page = None if template == "{page}" else Page(slug=None)
    with pytest.raises(KeyInvalid, match="None"):
        made(template, publish, page)


@pytest.mark.parametrize(
    "template", ["{page.broken}", "{page.nothing}", "{page.tags[9]}", "{page.slug:d}", "{page[0]}"]
)
def test_a_field_that_raises_makes_no_key(template: str) -> None:
    """The error comes before the effect, with what was raised as its cause."""
    with pytest.raises(KeyInvalid) as caught:
        made(template, publish, Page())
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    "value",
    [object(), [object()], {"a", "b"}, frozenset(), lambda: 1],
    ids=["object", "list", "set", "frozenset", "lambda"],
)
def test_a_text_that_is_another_in_each_process_makes_no_key(value: Any) -> None:
    """An address in memory, or the order of a set, would let the effect happen again."""
    with pytest.raises(KeyInvalid):
        made("{page}", publish, value)


def test_what_was_rendered_must_be_a_key() -> None:
    """An empty or broken value makes an empty or broken key."""
    with pytest.raises(EmptyKey):
        made("{page}", publish, "")
    with pytest.raises(KeyInvalid):
        made("{page}", publish, "\ud800")


# --- callables --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key",
    [
        lambda page: page.slug,
        lambda page, n: page.slug[: n + 1],
        lambda page, *, dry: dry or page.slug,
        lambda page, extra="": page.slug + extra,
        lambda p: p.slug,
        lambda *args, **kwargs: kwargs or args[0].slug,
        operator.attrgetter("slug"),
    ],
)
def test_a_callable_is_given_the_call(key: Callable[..., Any]) -> None:
    """By the function's names where it uses them, else in order, and without defaults that nobody gave."""
    assert made(key, publish, Page()) == "home"


def test_a_callable_is_given_what_was_passed_by_name() -> None:
    """A call by keyword gives the same key as one by position."""
    assert made(lambda page: page.slug, publish, page=Page()) == "home"
    assert made(lambda p: p.slug, publish, page=Page()) == "home"
    assert made(lambda page, n, dry: f"{page}{n}{dry}", publish, "a", dry=True) == "a7True"
    assert made(lambda *args, **kwargs: f"{args}{kwargs}", publish, "a", 1, 2, dry=True, x=3) == (
        "('a', 1, 2){'dry': True, 'x': 3}"
    )


@pytest.mark.parametrize("value", [None, 1, True, b"x", ""], ids=repr)
def test_what_a_callable_returns_must_be_a_key(value: Any) -> None:
    """Anything but a text with something in it is refused before the effect."""
    with pytest.raises(KeyInvalid):
        made(lambda *_: value, publish, Page())


def test_a_callable_that_raises_makes_no_key() -> None:
    """The error comes before the effect, with what was raised as its cause; Ctrl-C goes through."""
    with pytest.raises(KeyInvalid) as caught:
        made(lambda page: page.broken, publish, Page())
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(KeyInvalid):
        made(lambda: "x", publish, Page())

    def interrupted(page: Any) -> str:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        made(interrupted, publish, Page())


def test_keys_that_can_never_be_are_refused_at_decoration() -> None:
    """Before any call: a number, an empty text, a coroutine function."""

    async def later(page: Any) -> str:
        return "x"

    signature = inspect.signature(publish)
    for key, error in (
        (1, KeyInvalid),
        (True, KeyInvalid),
        ("", EmptyKey),
        (b"x", KeyInvalid),
        (later, UsageError),
    ):
        with pytest.raises(error):
            KeyRule(key, signature)


# --- inputs -----------------------------------------------------------------------------------------------


def test_inputs_of_a_call() -> None:
    """All arguments count, by name; none at all is no digest."""
    digest, left_out = call_inputs({"a": 1, "b": "x"}, ...)
    assert digest is not None
    assert left_out == []
    assert call_inputs({"b": "x", "a": 1}, ...) == (digest, [])
    for other in (
        {"a": 2, "b": "x"},
        {"a": "1", "b": "x"},
        {"a": True, "b": "x"},
        {"a": 1.0, "b": "x"},
        {"a": 1},
    ):
        assert call_inputs(other, ...)[0] != digest
    assert call_inputs({}, ...) == (None, [])
    assert call_inputs({"a": 1}, None) == (None, [])


def test_arguments_that_cannot_be_encoded_are_named() -> None:
    """They are left out of the digest and said so, never dropped in silence."""
    client = object()
    digest, left_out = call_inputs({"client": client, "slug": "a", "n": float("nan")}, ...)
    assert left_out == ["client", "n"]
    assert digest == call_inputs({"slug": "a"}, ...)[0]
    assert call_inputs({"client": client}, ...) == (None, ["client"])


def test_named_inputs() -> None:
    """Only what is named counts, through attributes too."""
    arguments = {"page": Page(client=object()), "slug": "a", "n": 1}
    digest, left_out = call_inputs(arguments, ("slug", "page.version"))
    assert left_out == []
    assert call_inputs({**arguments, "n": 2}, ["slug", "page.version"]) == (digest, [])
    assert call_inputs({**arguments, "slug": "b"}, ("slug", "page.version"))[0] != digest
    assert call_inputs({**arguments, "page": Page(version=2)}, ("slug", "page.version"))[0] != digest
    assert call_inputs(arguments, "slug") == call_inputs(arguments, ("slug",))
    assert call_inputs(arguments, ()) == (None, [])


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        (("page",), InputsNotEncodable),
        (("page.client",), InputsNotEncodable),
        (("page.broken",), InputsNotEncodable),
        (("page.nothing",), InputsNotEncodable),
        (("pgae",), UsageError),
        (("",), UsageError),
        ({"slug": 1}, UsageError),
        ((1,), UsageError),
        (7, UsageError),
    ],
)
def test_named_inputs_that_cannot_be_had_are_refused(inputs: Any, error: type[Exception]) -> None:
    """Before the effect: an argument that was asked for is never silently left out."""
    with pytest.raises(error):
        call_inputs({"page": Page(client=object())}, inputs)


def test_inputs_of_a_block() -> None:
    """Any value that can be stored is a digest, anything else is refused with its place."""
    assert value_inputs({"a": 1, "b": {2}}) == value_inputs({"b": {2}, "a": 1})
    assert len({value_inputs(value) for value in (1, "1", True, 1.0, None)}) == 5
    with pytest.raises(InputsNotEncodable, match=r'inputs\["a"\]\[0\]') as caught:
        value_inputs({"a": [object()]})
    assert caught.value.exit_code == 64


# --- what the outside is given ----------------------------------------------------------------------------


def test_idempotency_keys() -> None:
    """The same for the same identity, different where the ledger, run, name, key or keyless step differs."""
    same = idempotency_key("l", "r", "name", "key", 3)
    assert same == idempotency_key("l", "r", "name", "key", 99)
    identities: list[tuple[str, str, str, str | None, int]] = [
        ("l", "r", "name", "key", 3),
        ("l", "", "name", "key", 3),
        ("l2", "r", "name", "key", 3),
        ("l", "r2", "name", "key", 3),
        ("l", "r", "name2", "key", 3),
        ("l", "r", "name", "key2", 3),
        ("l", "r", "namek", "ey", 3),
        ("l", "rname", "", "key", 3),
        ("l", "r", "name", None, 3),
        ("l", "r", "name", None, 4),
        ("l", "r", "name", "3", 3),
        ("l", "r", 'name","key', "", 3),
        ("l", "r", "name", "null", 3),
    ]
    keys = {idempotency_key(*identity) for identity in identities}
    assert len(keys) == len(identities)
    assert all(len(key) == 32 and key.isalnum() for key in keys)


def test_idempotency_keys_never_change() -> None:
    """A later version must give the outside the same keys: this one is on record there."""
    assert idempotency_key("0" * 16, "run", "charge", "order-1", 1) == "e7a6633bffe627e9d4643295b52a6826"


# --- code -------------------------------------------------------------------------------------------------


CODE = '''
def work(x):
    """Docstring."""
    if x in {"a", "b", "c", ("d", 1), 2.0, None}:
        return [y for y in (1, 2, 10 ** 30) if (lambda: y)]
    return 1 << 99
'''


def compiled(text: str, name: str = "work", file: str = "x.py") -> Any:
    """The function of that name in a source text."""
    space: dict[str, Any] = {}
    exec(compile(text, file, "exec", dont_inherit=True), space)  # noqa: S102 - the test's own text
    return space[name]


def test_code_fingerprints_follow_the_code() -> None:
    """Another file or line changes nothing; another constant, name or operation does."""
    work = code_fingerprint(compiled(CODE))
    assert len(work) == 16
    assert code_fingerprint(compiled("\n\n\n" + CODE, file="/elsewhere/y.py")) == work
    for old, new in (
        ("99", "98"),
        ('"d"', '"e"'),
        ("10 ** 30", "10 ** 31"),
        ("lambda: y", "lambda: x"),
        ("x)", "z)"),
    ):
        changed = CODE.replace(old, new)
        assert changed != CODE
        assert code_fingerprint(compiled(changed)) != work


def test_code_fingerprints_are_the_same_in_every_process() -> None:
    """They do not depend on the seed of the hashes."""
    program = f"from runledger.keys.code import code_fingerprint\n{CODE}\nprint(code_fingerprint(work))"
    told = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert told == {f"{code_fingerprint(compiled(CODE))}\n".encode()}


def test_code_fingerprints_see_through_wrappers() -> None:
    """A decorated function, a partial, a bound method and a callable object count by the code below."""
    work = compiled(CODE)

    @functools.wraps(work)
    def wrapper(*args: Any) -> Any:
        return work(*args)

    class Work:
        def __call__(self, x: Any) -> Any:
            return x

        def method(self, x: Any) -> Any:
            return x

    assert code_fingerprint(wrapper) == code_fingerprint(work)
    assert code_fingerprint(functools.partial(functools.partial(wrapper, 1), x=2)) == code_fingerprint(work)
    assert code_fingerprint(Work()) == code_fingerprint(Work.__call__)
    assert code_fingerprint(Work().method) == code_fingerprint(Work.method)
    assert code_fingerprint(functools.lru_cache(work)) == code_fingerprint(work)


def test_code_fingerprints_of_what_has_no_code() -> None:
    """A built-in, a class and a callable that wraps itself still have one, the same each time."""

    class Ring:
        def __call__(self) -> None: ...

    ring = Ring()
    ring.__wrapped__ = ring  # type: ignore[attr-defined]  # as a careless decorator may leave it
    for thing in (print, len, int, str.upper, Page, ring, operator.attrgetter("a")):
        assert code_fingerprint(thing) == code_fingerprint(thing)
    assert code_fingerprint(print) != code_fingerprint(len)
