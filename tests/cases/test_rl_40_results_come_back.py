"""A recorded result comes back equal in value and type, or its caller is told at once that it cannot."""

from __future__ import annotations

from pathlib import Path

from tests.support.children import ran
from tests.support.outside import Outside

RESULTS = {
    "int-key": "{1: 'a'}",
    "two-keys-that-look-alike": "{1: 'a', '1': 'b'}",
    "bool-key": "{True: 1}",
    "bool-and-text-key": "{True: 1, 'true': 2, 'True': 3}",
    "tuple": "(1, 2)",
    "tuple-key": "{('a', 'b'): 1}",
    "counter": "collections.Counter('abca')",
    "ordered": "collections.OrderedDict([('b', 1), ('a', 2)])",
    "default-dict": "collections.defaultdict(list, {'a': [1]})",
    "deque": "collections.deque([1, 2], maxlen=3)",
    "large-int": "2**53 + 1",
    "nested": "[{'a': ({2: b'x'}, {3, 4})}]",
    "decimal": "decimal.Decimal('1.10')",
    "moment": "datetime.datetime(2026, 3, 29, 2, 30, tzinfo=datetime.timezone.utc)",
    "path": "pathlib.PurePosixPath('/a/b')",
    "bytes": "b'\\xff\\x00'",
    "dataclass": "Point(1, (2, 3))",
    "enum": "Colour.RED",
    "a-type-of-its-own": "Number(3)",
    "text-that-looks-tagged": "{'$tuple': [1, 2]}",
    "none": "None",
    "lambda": "lambda: 1",
    "iterator": "iter([1])",
}

REFUSED = {"lambda", "iterator"}
OWN_TYPES = {"counter", "ordered", "default-dict", "deque", "a-type-of-its-own"}
"""May be refused, which is said, or come back as what they are."""

PROGRAM = """
import collections, dataclasses, datetime, decimal, enum, pathlib

@dataclasses.dataclass
class Point:
    x: int
    y: tuple

class Colour(enum.Enum):
    RED = 1

class Number(int):
    pass

def shown(value):
    if isinstance(value, dict):
        inner = [(shown(key), shown(item)) for key, item in value.items()]
    elif isinstance(value, (list, tuple, collections.deque)):
        inner = [shown(item) for item in value]
    else:
        inner = repr(value)
    return f"{type(value).__name__} {inner}"

RESULTS = {%s}
with Ledger.open() as ledger:
    @ledger.step("make", key="{kind}")
    def make(kind):
        happen(kind)
        return RESULTS[kind]()
    for kind in RESULTS:
        try:
            say(kind, shown(make(kind)))
        except ResultNotStored as refusal:
            say(kind, "refused:", refusal.message)
        try:
            with ledger.step("make", key=kind):
                happen(kind)
        except StepCommitted:
            pass
"""


def program_of(results: dict[str, str]) -> str:
    """A program whose step returns each of these in turn."""
    return PROGRAM % ", ".join(f"{kind!r}: lambda: {result}" for kind, result in results.items())


def test_a_result_comes_back_as_it_was_or_is_refused(root: Path) -> None:
    """First call and re-entry in another process tell the same; the commit stands in any case.

    By the contract what cannot be stored is committed without its result, and each caller is told.

    https://github.com/HomericIntelligence/Scylla/pull/368
    """
    first, again = ran(program_of(RESULTS), root).lines, ran(program_of(RESULTS), root).lines
    assert [line.split()[0] for line in first] == list(RESULTS)
    refused = {line.split()[0] for line in first if line.split()[1] == "refused:"}
    assert REFUSED <= refused <= REFUSED | OWN_TYPES
    assert again == first
    assert Outside(root).all() == list(RESULTS)


def test_what_the_caller_does_to_a_result_later_changes_nothing(root: Path) -> None:
    """A list that is changed after the step ended is recorded as it was, in this process and the next.

    https://github.com/HomericIntelligence/Scylla/pull/368
    """
    program = """
    with Ledger.open() as ledger:
        @ledger.step("make", key="k1")
        def make():
            return [1, [2]]
        got = make()
        say(got)
        got[1].append("changed")
        got.clear()
        say(make())
    """
    for _ in range(2):
        assert ran(program, root).lines == ["[1, [2]]", "[1, [2]]"]


def test_a_result_whose_class_is_gone_is_said_to_be_committed(root: Path) -> None:
    """Without its class it cannot come back: an error that says so, never a look-alike, and no second effect.

    https://github.com/HomericIntelligence/Scylla/pull/368
    """
    assert ran(program_of({"point": "Point(1, (2,))"}), root).lines[0].startswith("point Point")
    without = program_of({"point": "None"}).replace("class Point", "class Elsewhere")
    assert ran(without, root).lines[0].startswith("point refused:")
    assert Outside(root).all() == ["point"]
