"""Decorated functions: what a key is made of."""

# ruff: noqa: PT012 - a key may be refused at the decoration or at the call

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from runledger import (
    EmptyKey,
    InputsMismatch,
    KeyInvalid,
    Ledger,
)
from tests.support.tree import records


class Page:
    """What a key may be made of."""

    def __init__(self, slug: str, version: int = 1) -> None:
        self.slug = slug
        self.version = version


def keys(root: Path) -> list[str | None]:
    """Of all intents, in order."""
    return [one.get("key") for one in records(root) if one["t"] == "intent"]


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("{page.slug}", "home"),
        ("{page.slug}-v{page.version:03d}", "home-v001"),
        ("{page.slug!r}/{mode}", "'home'/fast"),
        ("literal", "literal"),
        ("{nobody}", "{nobody}"),
        ("{}", "{}"),
        ("{page.slug} {nobody}", "home {nobody}"),
        (lambda page: page.slug.upper(), "HOME"),
        (lambda mode, page: f"{page.slug}.{mode}", "home.fast"),
        (lambda *arguments: str(len(arguments)), "1"),
    ],
)
def test_keys(root: Path, ledger: Ledger, key: Any, expected: str) -> None:
    """A template where it names a parameter, else the text itself; or a function of the arguments."""

    @ledger.step("publish", key=key)
    def publish(page: Page, mode: str = "fast") -> str:
        return page.slug + mode

    publish(Page("home"))
    assert keys(root) == [expected]


def test_one_key_however_the_call_is_written(root: Path, ledger: Ledger) -> None:
    """By position, by name, with the default left to the function or said: one call, and one step."""
    runs = []

    @ledger.step("publish", key="{slug}-{mode}")
    def publish(slug: str, mode: str = "fast") -> None:
        runs.append(slug)

    publish("a")
    publish("a", "fast")
    publish(slug="a")
    publish(mode="fast", slug="a")
    assert runs == ["a"]
    assert keys(root) == ["a-fast"]


def test_variable_arguments(root: Path, ledger: Ledger) -> None:
    """They count as inputs, and may be named by a key."""

    @ledger.step("publish", key="{slugs[0]}-{options[mode]}")
    def publish(*slugs: str, **options: str) -> int:
        return len(slugs) + len(options)

    assert publish("a", "b", mode="fast") == 3
    assert publish("a", "b", mode="fast") == 3
    with pytest.raises(InputsMismatch):
        publish("a", "c", mode="fast")
    assert keys(root) == ["a-fast"]


@pytest.mark.parametrize(
    ("key", "error"),
    [
        ("", EmptyKey),
        (lambda _: "", EmptyKey),
        (lambda _: None, KeyInvalid),
        (lambda _: 7, KeyInvalid),
        (lambda slug: slug.nothing, KeyInvalid),
        ("{slug.nothing}", KeyInvalid),
        (lambda _: "\ud800", KeyInvalid),
    ],
)
def test_what_makes_no_key_runs_nothing(root: Path, ledger: Ledger, key: Any, error: type[Exception]) -> None:
    """Refused before anything is on record, at the latest on the call."""
    with pytest.raises(error):

        @ledger.step("publish", key=key)
        def publish(slug: str) -> None:
            raise AssertionError("the body ran")

        publish("a")
    assert not (root / ".run").exists()


def test_a_missing_value_makes_no_key(ledger: Ledger) -> None:
    """None in a template is no key that two calls should share."""

    @ledger.step("publish", key="{slug}")
    def publish(slug: str | None) -> None:
        raise AssertionError("the body ran")

    with pytest.raises(KeyInvalid):
        publish(None)


def test_arguments_that_do_not_fit_are_python_s_own_error(root: Path, ledger: Ledger) -> None:
    """As without the decorator, and nothing is on record."""

    @ledger.step("publish", key="{slug}")
    def publish(slug: str) -> None:
        raise AssertionError("the body ran")

    with pytest.raises(TypeError, match="slug"):
        publish()  # type: ignore[call-arg]  # what is tested
    assert not (root / ".run").exists()
