"""``inputs=``: the same key must not mean two things."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runledger import Happened, InputsMismatch, InputsNotEncodable, Ledger, StepCommitted, UsageError
from tests.api.doubts import left_in_doubt
from tests.support.tree import record_lines, records


@dataclass
class Page:
    slug: str
    version: int = 1


class Session:
    """What cannot be encoded."""


def enter(ledger: Ledger, inputs: Any, key: str = "k1") -> str:
    """What becomes of one entry."""
    try:
        with ledger.step("work", key=key, inputs=inputs):
            return "ran"
    except (InputsMismatch, StepCommitted) as refused:
        return refused.slug


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, "1"),
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ("a", b"a"),
        ([1], (1,)),
        ({"a": 1}, {"a": 2}),
        (["a", "b"], ["b", "a"]),
        ("It is out.", "It's out!"),
        (Page("a", 1), Page("a", 2)),
        (Page("a"), {"slug": "a", "version": 1}),
        ("", ()),
    ],
    ids=repr,
)
def test_other_inputs(ledger: Ledger, one: Any, other: Any) -> None:
    """Each difference in value or type is told, in either order."""
    assert [enter(ledger, one), enter(ledger, other)] == ["ran", "inputs-mismatch"]
    assert [enter(ledger, other, "k2"), enter(ledger, one, "k2")] == ["ran", "inputs-mismatch"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({3, 1, 2}, {1, 2, 3}),
        (Page("a"), Page("a", 1)),
        ([{"x": {1: "a", 2: "b"}}], [{"x": {2: "b", 1: "a"}}]),
    ],
    ids=repr,
)
def test_the_same_inputs(ledger: Ledger, one: Any, other: Any) -> None:
    """Equal is the same, in whatever order a dict or a set was filled."""
    assert [enter(ledger, one), enter(ledger, other)] == ["ran", "step-committed"]


def test_no_inputs_fit_any(ledger: Ledger) -> None:
    """Who says nothing of its inputs is told what is on record, whatever they were."""
    assert [enter(ledger, 1), enter(ledger, None), enter(ledger, ...)] == [
        "ran",
        "step-committed",
        "step-committed",
    ]
    assert [enter(ledger, None, "k2"), enter(ledger, 1, "k2")] == ["ran", "step-committed"]


def test_an_aborted_step_may_have_others(ledger: Ledger) -> None:
    """Nothing happened with the first ones, so nothing speaks against the second."""
    with pytest.raises(OSError), ledger.step("work", key="k1", inputs=1, aborts_on=OSError):  # noqa: PT011
        raise OSError
    assert [enter(ledger, 2), enter(ledger, 1)] == ["ran", "inputs-mismatch"]


def test_the_inputs_of_a_doubt_hold_after_it_is_settled(ledger: Ledger) -> None:
    """What a person says happened was made from the inputs of the intent."""
    left_in_doubt(ledger, inputs=1)
    ledger.resolve("work", "k1", Happened(), reason="looked")
    assert [enter(ledger, 2), enter(ledger, 1)] == ["inputs-mismatch", "step-committed"]
    ledger.compact()
    assert [enter(ledger, 2), enter(ledger, 1)] == ["inputs-mismatch", "step-committed"]


def test_inputs_are_not_stored(root: Path, ledger: Ledger) -> None:
    """A digest of fixed length stands for them in every file of the ledger."""
    secret = "hunter2-" * 3
    enter(ledger, {"password": secret})
    ledger.step("call", key="k1")(lambda password: None)(secret)  # noqa: ARG005 - what it is called with counts
    ledger.compact()
    for file in (root / ".run").rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file
    assert record_lines(root)


@pytest.mark.parametrize(
    "inputs", [Session(), [1, Session()], float("nan"), "\ud800"], ids=["object", "inside", "nan", "half"]
)
def test_inputs_that_cannot_be_fingerprinted(root: Path, ledger: Ledger, inputs: Any) -> None:
    """Refused before anything is on record."""
    with pytest.raises(InputsNotEncodable), ledger.step("work", key="k1", inputs=inputs):
        raise AssertionError("the body ran")
    assert not (root / ".run").exists()


def test_all_arguments_of_a_call_count(ledger: Ledger) -> None:
    """Defaults among them, by position or by name."""

    @ledger.step("render", key="{page.slug}")
    def render(page: Page, mode: str = "fast", *, colour: str = "red") -> str:
        return f"{page.version} {mode} {colour}"

    assert render(Page("a")) == render(Page("a"), colour="red", mode="fast") == "1 fast red"
    for arguments, named in [
        ((Page("a", 2),), {}),
        ((Page("a"), "slow"), {}),
        ((Page("a"),), {"colour": "blue"}),
    ]:
        with pytest.raises(InputsMismatch):
            render(*arguments, **named)  # type: ignore[arg-type]  # a mixture of calls


def test_arguments_that_cannot_be_encoded_are_left_out(root: Path, ledger: Ledger) -> None:
    """And named on record, so that nobody takes them for covered."""

    @ledger.step("render", key="{slug}")
    def render(slug: str, session: Session, version: int = 1) -> str:
        return f"{slug} {version} {session is not None}"

    assert render("a", Session()) == render("a", Session()) == "a 1 True"
    with pytest.raises(InputsMismatch):
        render("a", Session(), 2)
    (intent,) = [one for one in records(root) if one["t"] == "intent"]
    assert intent["unfingerprinted"] == ["session"]


def test_named_arguments_alone(ledger: Ledger) -> None:
    """Only what ``inputs`` names counts, attributes of it included."""

    @ledger.step("render", key="{page.slug}", inputs=("page.version",))
    def render(page: Page, session: Any) -> str:
        return f"{page.slug} {page.version}"

    assert render(Page("a"), Session()) == render(Page("a"), "another") == "a 1"
    with pytest.raises(InputsMismatch):
        render(Page("a", 2), Session())


def test_no_argument_counts(ledger: Ledger) -> None:
    """``inputs=None``: an agent may reword what it likes."""

    @ledger.step("translate", key="{slug}", inputs=None)
    def translate(slug: str, text: str) -> str:
        return text.upper()

    assert [translate("a", "hello"), translate("a", "hello, reworded")] == ["HELLO", "HELLO"]


@pytest.mark.parametrize(
    ("inputs", "error"),
    [
        (("nobody",), UsageError),
        (("session",), InputsNotEncodable),
        (("slug.no",), InputsNotEncodable),
        (7, UsageError),
    ],
    ids=repr,
)
def test_names_that_cannot_be_had(root: Path, ledger: Ledger, inputs: Any, error: type[Exception]) -> None:
    """Refused before anything is on record."""

    @ledger.step("render", key="{slug}", inputs=inputs)
    def render(slug: str, session: Session) -> None:
        raise AssertionError("the body ran")

    with pytest.raises(error):
        render("a", Session())
    assert not (root / ".run").exists()


def test_a_block_s_inputs_and_a_call_s(ledger: Ledger) -> None:
    """The message names the step, and both ways on."""
    enter(ledger, {"text": "It is out."})
    with (
        pytest.raises(InputsMismatch) as refused,
        ledger.step("work", key="k1", inputs={"text": "It's out!"}),
    ):
        raise AssertionError("the body ran")
    text = str(refused.value)
    assert "work k1" in text
    assert "it is done" in text
    assert "choose a new key" in text
    assert "It is out" not in text
    assert "It's out" not in text
