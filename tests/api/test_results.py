"""Results come back equal in value and type, in every form and place, or are refused in words."""

from __future__ import annotations

import asyncio
import datetime as dt
import enum
import math
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import pytest
from hypothesis import given, settings

from runledger import Happened, Ledger, LedgerCorrupt, Options, ResultNotStored, StepCommitted
from tests.api.doubts import left_in_doubt
from tests.api.forms import FORMS, Form, each_of
from tests.property.test_values import VALUES, exact
from tests.support.children import ran


@dataclass(frozen=True)
class Point:
    x: int
    tags: tuple[str, ...]


class Page(msgspec.Struct):
    slug: str
    at: dt.datetime


class Colour(enum.Enum):
    RED = "r"


class Flags(enum.IntFlag):
    A = 1
    B = 2


class Pair(NamedTuple):
    one: Any
    two: Any


NOON = dt.datetime(2026, 3, 29, 12, 0, 0, 123456, tzinfo=dt.UTC)
RESULTS = {
    "none": None,
    "bool": True,
    "int": -7,
    "large-int": 2**70,
    "float": 0.1,
    "minus-zero": -0.0,
    "text": "é \x00 \x1b 😀",
    "list": [1, 1.0, True, "1"],
    "dict": {"b": 1, "a": [2]},
    "dict-like-a-tag": {"$tuple": [1]},
    "int-keys": {1: "a", 2: "b"},
    "mixed-keys": {1: "a", "1": "b", None: "c", (1, 2): "d"},
    "tuple": (1, ("a", [b"b"])),
    "bytes": b"\xff\x00",
    "bytearray": bytearray(b"\x00"),
    "set": {1, 2},
    "frozenset": frozenset({"a"}),
    "datetime": NOON,
    "naive": NOON.replace(tzinfo=None),
    "zoned": NOON.replace(tzinfo=ZoneInfo("Europe/Berlin"), fold=1),
    "date": NOON.date(),
    "time": NOON.timetz(),
    "timedelta": dt.timedelta(days=-1, microseconds=3),
    "decimal": Decimal("1.10"),
    "uuid": uuid.UUID(int=7),
    "path": Path("/a/b"),
    "pure-path": PurePosixPath("a/b"),
    "enum": Colour.RED,
    "flags": Flags.A | Flags.B,
    "complex": 1 + 2j,
    "dataclass": Point(1, ("a", "b")),
    "struct": Page("home", NOON),
    "namedtuple": Pair(1, "a"),
    "deque": deque([1, 2], maxlen=3),
    "counter": Counter("abca"),
    "ordered": OrderedDict([("b", 1), ("a", 2)]),
    "deep": [{"a": ({2: [Point(3, ())]},)}],
}


def as_step(ledger: Ledger, function: Any, name: str = "make", key: str = "k1") -> Any:
    """The function as a step."""
    return ledger.step(name, key=key)(function)


def alike(one: Any, other: Any) -> bool:
    """Equal in value and type, told by their texts too: these tell -0.0, zones and the order of dicts."""
    return type(one) is type(other) and bool(one == other) and repr(one) == repr(other)


def told(ledger: Ledger, key: str) -> Iterator[Any]:
    """The recorded result, in each way to get it."""
    yield as_step(ledger, lambda: 1 / 0, "make", key)()
    try:
        with ledger.step("make", key=key):
            raise AssertionError("the body ran")
    except StepCommitted as committed:
        yield vars(committed)["result"]
    with ledger.skip_committed() as skip, ledger.step("make", key=key):
        raise AssertionError("the body ran")
    yield skip.result
    known = ledger.lookup("make", key)
    assert known is not None
    yield known.result


def test_every_type_comes_back(root: Path) -> None:
    """From the decorator, ``StepCommitted``, a skip and ``lookup``; before and after folding, by another handle."""
    with Ledger.open(root) as ledger:
        for key, result in RESULTS.items():
            assert as_step(ledger, lambda result=result: result, "make", key)() is result
            assert all(alike(one, result) for one in told(ledger, key)), key
        ledger.compact()
    with Ledger.open(root) as other:
        for key, result in RESULTS.items():
            assert all(alike(one, result) for one in told(other, key)), key


@settings(max_examples=60, derandomize=True, deadline=None)
@given(VALUES)
def test_any_value_comes_back(result: Any) -> None:
    """Whatever a body may make of the supported types."""
    ledger, key = shared()
    make = as_step(ledger, lambda: result, "make", key)
    make()
    assert exact(make()) == exact(result)


_shared: list[Ledger] = []


def shared() -> tuple[Ledger, str]:
    """One ledger for all examples, and a new key."""
    return _shared[0], uuid.uuid4().hex


@pytest.fixture(autouse=True, scope="module")
def _one_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with Ledger.open(tmp_path_factory.mktemp("shared")) as ledger:
        _shared.append(ledger)
        yield
    _shared.clear()


def cyclic() -> list[Any]:
    """A list that is part of itself."""
    itself: list[Any] = []
    itself.append(itself)
    return itself


class Odd:
    """Of no kind that can be rebuilt."""


class Number(int):
    """Would come back as a plain int."""


def local() -> Any:
    """Of a class that cannot be found by its name."""

    @dataclass
    class Local:
        pass

    return Local()


REFUSED = {
    "nan": math.nan,
    "infinity": -math.inf,
    "nan-inside": {"a": [1, (math.nan,)]},
    "decimal-nan": Decimal("NaN"),
    "surrogate": "half \ud800",
    "surrogate-key": {"\udfff": 1},
    "object": Odd(),
    "class": Odd,
    "lambda": lambda: 1,
    "iterator": iter([1]),
    "exception": ValueError("no"),
    "subclass": Number(3),
    "cyclic": cyclic(),
    "local-class": local(),
}


@pytest.mark.parametrize("result", REFUSED.values(), ids=REFUSED)
def test_what_would_not_come_back_is_refused(ledger: Ledger, result: Any) -> None:
    """Told once the commit is on record, and each time after; never changed in silence, never with the value in it."""
    make = as_step(ledger, lambda: result)
    for _ in range(2):
        with pytest.raises(ResultNotStored, match="committed") as refused:
            make()
        assert repr(result) not in str(refused.value)
    known = ledger.lookup("make", "k1")
    assert known is not None
    assert known.status == "committed"
    with pytest.raises(ResultNotStored):
        known.result  # noqa: B018 - asking is what raises
    assert ledger.replay().in_doubt == []


@each_of(FORMS[0], FORMS[2], FORMS[3], FORMS[5])
def test_a_large_result(root: Path, form: Form) -> None:
    """A file beside the journal by its digest, one for equal ones; it comes back, folded or not."""
    result = {"page": "x" * 200_000, "numbers": tuple(range(100))}
    with Ledger.open(root) as ledger:
        for key in ("k1", "k2"):
            form.enter(ledger, "make", lambda: dict(result), key=key)
        assert len(list((root / ".run" / "ledger" / "results").iterdir())) == 1
        ledger.compact()
    with Ledger.open(root) as other:
        for key in ("k1", "k2"):
            known = other.lookup("make", key)
            assert known is not None
            assert known.result == result
            assert type(known.result["numbers"]) is tuple


def test_a_large_result_of_many_tasks(ledger: Ledger) -> None:
    """Each gets its own back."""

    @ledger.step("make", key="{n}")
    async def make(n: int) -> str:
        return str(n) * 50_000

    async def main() -> list[str]:
        await asyncio.gather(*(make(n) for n in range(8)))
        return await asyncio.gather(*(make(n) for n in range(8)))

    assert asyncio.run(main()) == [str(n) * 50_000 for n in range(8)]


def test_the_limit_of_a_result(root: Path) -> None:
    """Beyond ``result_bytes`` it is committed without; the limit is the handle's own."""
    with Ledger.open(root, options=Options(result_bytes=50_000)) as ledger:
        make = as_step(ledger, lambda n: "x" * n, "make", "{n}")
        assert len(make(40_000)) == 40_000
        for _ in range(2):
            with pytest.raises(ResultNotStored, match=r"50000|not on record"):
                make(60_000)
    with Ledger.open(root) as ledger:
        make = as_step(ledger, lambda n: "y" * n, "make", "{n}")
        assert make(40_000) == "x" * 40_000
        assert make(70_000) == "y" * 70_000
        with pytest.raises(ResultNotStored):
            make(60_000)


def test_the_limit_of_an_async_result(root: Path) -> None:
    """The same where it is awaited, and where a probe found it."""

    async def main(ledger: Ledger) -> None:
        async with ledger.step("make", key="k1") as step:
            step.result = "x" * 100

    with Ledger.open(root, options=Options(result_bytes=50)) as ledger:
        with pytest.raises(ResultNotStored, match="50"):
            asyncio.run(main(ledger))
        with pytest.raises(StepCommitted):
            asyncio.run(main(ledger))
        left_in_doubt(ledger)
        look = ledger.step("work", key="k1", probe=lambda _: Happened("x" * 100))
        with pytest.raises(StepCommitted) as told, look:
            raise AssertionError("the body ran")
        assert vars(told.value)["result"] is None


@pytest.mark.parametrize("how", ["missing", "cut", "other"])
def test_a_large_result_that_was_damaged(root: Path, ledger: Ledger, how: str) -> None:
    """It is never served: corruption is told, the commit stands, and the body does not run."""
    make = as_step(ledger, lambda: "x" * 100_000)
    make()
    (file,) = (root / ".run" / "ledger" / "results").iterdir()
    if how == "missing":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:-1] + (b"y" if how == "other" else b""))
    again = as_step(ledger, lambda: 1 / 0)
    with pytest.raises(LedgerCorrupt, match="committed"):
        again()
    known = ledger.lookup("make", "k1")
    assert known is not None
    assert known.status == "committed"


def test_a_class_that_is_not_loaded(root: Path) -> None:
    """Another program without the class gets no imitation of it, and learns that it happened."""
    make = """
    from dataclasses import dataclass

    @dataclass
    class Point:
        x: int

    with Ledger.open() as ledger:
        say(ledger.step("make", key="k1")(lambda: Point(3))())
    """
    look = """
    with Ledger.open() as ledger:
        try:
            ledger.step("make", key="k1")(lambda: happen("twice"))()
        except ResultNotStored as refusal:
            say("Point" in str(refusal), ledger.lookup("make", "k1").status)
        with ledger.skip_committed() as skip, ledger.step("make", key="k1"):
            happen("twice")
        say(skip.skipped, skip.result)
    """
    assert ran(make, root).lines == ["Point(x=3)"]
    assert ran(look, root).lines == ["True committed", "True None"]
    assert ran(make, root).lines == ["Point(x=3)"]


def test_a_result_of_a_probe_and_of_a_person(ledger: Ledger) -> None:
    """They are results like any other; one that cannot be stored is refused before anything is recorded."""
    left_in_doubt(ledger)
    with pytest.raises(ResultNotStored):
        ledger.resolve("work", "k1", Happened(math.nan), reason="looked")
    assert len(ledger.replay().in_doubt) == 1
    ledger.resolve("work", "k1", Happened({1: NOON}), reason="looked")
    assert as_step(ledger, lambda: 1 / 0, "work", "k1")() == {1: NOON}
