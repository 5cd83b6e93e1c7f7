"""A key never means two things: other inputs are a conflict, and no argument is left out unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.children import command, ran
from tests.support.outside import Outside
from tests.support.tree import records

CALL = """
with Ledger.open() as ledger:
    @ledger.step(arguments[0], key="r1")
    def ask(question, options=None):
        happen(arguments[0])
        return [arguments[0], question]
    try:
        say(ask(arguments[1], {"depth": 2}))
    except InputsMismatch as refusal:
        assert "choose a new key" in str(refusal) and "it is done" in str(refusal)
        say(refusal.slug, refusal.exit_code)
"""


def test_the_same_key_with_other_arguments_is_a_conflict(root: Path) -> None:
    """Refused loudly, with both ways on; the same arguments get the recorded result.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    told = [ran(CALL, root, "S", question).lines[0] for question in ("A", "B", "A")]
    assert told == ["['S', 'A']", "inputs-mismatch 65", "['S', 'A']"]
    assert Outside(root).all() == ["S"]


def test_the_same_key_under_another_step_name_is_another_step(root: Path) -> None:
    """A step is its name and its key: the other one runs, and never gets the first one's result.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    told = [ran(CALL, root, name, "A").lines[0] for name in ("S", "T", "S")]
    assert told == ["['S', 'A']", "['T', 'A']", "['S', 'A']"]


def test_the_inputs_of_a_block_and_of_a_command_conflict_too(root: Path) -> None:
    """``inputs=`` of ``with`` and ``--inputs`` of the command line follow the same rule.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    with Ledger.open() as ledger:
        for inputs in ("A", "B", "A"):
            try:
                with ledger.step("S", key="r1", inputs=[inputs]):
                    happen(inputs)
            except (InputsMismatch, StepCommitted) as refusal:
                say(refusal.slug)
    """
    assert ran(program, root).lines == ["inputs-mismatch", "step-committed"]
    codes = [
        command(root, "step", "T", "--key", "r1", "--inputs", text, "--", "true").code
        for text in ("A", "B", "A")
    ]
    assert codes == [0, 65, 0]
    assert Outside(root).all() == ["A"]


def test_an_open_step_with_other_inputs_is_a_conflict(root: Path) -> None:
    """In doubt or in flight, the key is taken.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    with Ledger.open() as ledger:
        try:
            with ledger.step("S", key="r1", inputs="A"):
                raise ValueError("no")
        except ValueError:
            pass
        for inputs in ("B", "A"):
            try:
                with ledger.step("S", key="r1", inputs=inputs):
                    happen(inputs)
            except LedgerError as refusal:
                say(refusal.slug)
    """
    assert ran(program, root).lines == ["inputs-mismatch", "step-in-doubt"]


def test_an_argument_that_cannot_be_fingerprinted_is_never_left_out_unseen(root: Path) -> None:
    """Asked for by name it is an error before the effect; else the intent's record names it.

    (The case asks for an error in both; by the contract a call's arguments are covered as far as they can be.)

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    import threading
    with Ledger.open() as ledger:
        for inputs in (("lock",), ("slug", "lock")):
            @ledger.step("S", key="named", inputs=inputs)
            def named(slug, lock):
                happen("named")
            try:
                named("a", threading.Lock())
            except InputsNotEncodable as refusal:
                say(refusal.slug, refusal.exit_code)
        try:
            with ledger.step("S", key="block", inputs={"lock": threading.Lock()}):
                happen("block")
        except InputsNotEncodable as refusal:
            say(refusal.slug, refusal.exit_code)

        @ledger.step("S", key="all")
        def all_of_them(slug, lock, version=1):
            happen("all")
        all_of_them("a", threading.Lock())
        all_of_them("a", threading.Lock())
        try:
            all_of_them("b", threading.Lock())
        except InputsMismatch as refusal:
            say(refusal.slug)
    """
    assert ran(program, root).lines == [*["inputs-not-encodable 64"] * 3, "inputs-mismatch"]
    assert Outside(root).all() == ["all"]
    (intent,) = [one for one in records(root) if one["t"] == "intent"]
    assert intent["unfingerprinted"] == ["lock"]


def test_the_order_of_dicts_and_sets_does_not_count(root: Path) -> None:
    """Equal arguments are equal in another process with another hash seed, filled in another order.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    if arguments[0] == "backward":
        words.reverse()
    with Ledger.open() as ledger:
        @ledger.step("S", key="r1")
        def ask(table, names, frozen):
            happen("asked")
            return "answer"
        say(ask({word: {word: len(word)} for word in words}, set(words), frozenset(words)))
    """
    for seed, order in (("1", "forward"), ("2", "backward"), ("77", "forward")):
        assert ran(program, root, order, env={"PYTHONHASHSEED": seed}).lines == ["answer"]
    assert Outside(root).all() == ["asked"]


@pytest.mark.parametrize("form", ["block", "decorator", "callable", "lookup"])
def test_keys_that_are_no_text_are_refused(root: Path, form: str) -> None:
    """``1``, ``True``, ``1.0`` and bytes never become the key ``"1"``: they are refused before anything runs.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    class Text(str):
        pass

    with Ledger.open() as ledger:
        for key in ("1", 1, True, 1.0, b"1", Text("1"), None):
            try:
                if arguments[0] == "block":
                    with ledger.step("S", key=key):
                        happen(key)
                elif arguments[0] == "decorator":
                    ledger.step("S", key=key)(lambda: happen(key))()
                elif arguments[0] == "callable":
                    ledger.step("S", key=lambda n: key)(lambda n: happen(key))(1)
                else:
                    ledger.lookup("S", key)
                say("fine")
            except KeyInvalid as refusal:
                say(refusal.slug)
    """
    no_key = "fine" if form in {"block", "decorator"} else "key-invalid"
    assert ran(program, root, form).lines == ["fine", *["key-invalid"] * 5, no_key]


def test_equal_texts_of_unequal_values_conflict(root: Path) -> None:
    """A key made from a call's argument: ``1`` and ``"1"`` read alike, and their inputs tell them apart.

    https://github.com/pydantic/pydantic-ai/issues/6903
    """
    program = """
    with Ledger.open() as ledger:
        @ledger.step("S", key="{n}")
        def work(n):
            happen(repr(n))
            return repr(n)
        for n in (1, "1", True, 1.0, 1):
            try:
                say(work(n), ledger.lookup("S", str(n)).key)
            except InputsMismatch as refusal:
                say(refusal.slug)
    """
    assert ran(program, root).lines == ["1 1", "inputs-mismatch", "True True", "1.0 1.0", "1 1"]
