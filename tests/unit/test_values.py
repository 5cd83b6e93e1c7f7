"""Values come back equal and of the same type, or are refused with a reason that tells no secret."""

from __future__ import annotations

import enum
import functools
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from types import ModuleType
from typing import Any, ClassVar, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec
import pytest

from runledger.values import Unresolvable, Unstorable, decode, encode, fingerprint, plain

BERLIN = ZoneInfo("Europe/Berlin")
LOCAL = datetime(2026, 11, 29, 14, 20, 11, 123456)  # noqa: DTZ001 - a time without a zone is a case too
TWICE = datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN)
CALLS: list[str] = []


class Colour(enum.Enum):
    RED = "r"
    CRIMSON = "r"  # noqa: PIE796 - an alias is a case of its own


class Word(enum.StrEnum):
    RUNNING = "RUNNING"


class Level(enum.IntEnum):
    LOW = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2
    BOTH = 3
    RUN = 4


class Mode(enum.IntFlag):
    A = 1
    B = 2


class Own(enum.Flag):
    A = 1

    @classmethod
    def _missing_(cls, value: object) -> Any:
        CALLS.append("missing")
        return super()._missing_(value)


class Point(NamedTuple):
    x: int
    y: Any = None


class Struct(msgspec.Struct, frozen=True):
    slug: str
    tags: tuple[str, ...] = ()


class Keywords(msgspec.Struct, kw_only=True, rename="camel", dict=True):
    page_id: int
    note: str | None = None


class Doubling(msgspec.Struct):
    n: int

    def __post_init__(self) -> None:
        self.n *= 2


@dataclass
class Page:
    slug: str
    version: int = 1
    kind: ClassVar[str] = "page"
    links: list[Any] = field(default_factory=list)
    digest: str = field(init=False, default="")

    def __post_init__(self) -> None:
        CALLS.append("post_init")
        self.digest = f"<{self.slug}>"

    class Part(NamedTuple):
        """A class within a class."""

        name: str


@dataclass(frozen=True, slots=True)
class Frozen:
    a: int
    b: Any = None
    c: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", self.a + 1)


@dataclass
class Unset:
    a: int
    b: int = field(init=False)
    c: int = field(init=False, default=7)


@dataclass
class Caching:
    a: int

    @functools.cached_property
    def twice(self) -> int:
        return self.a * 2


@dataclass
class Listy(list[int]):
    a: int


@dataclass(eq=False)
class ByIdentity:
    a: int


@dataclass(frozen=True)
class Hashing:
    a: str
    fails: ClassVar[bool] = False

    def __hash__(self) -> int:
        if self.fails:
            raise RuntimeError(self.a)
        return 1


class Bare:
    pass


class MyInt(int):
    pass


class MyFloat(float):
    pass


class MyDict(dict[str, int]):
    pass


class MyStr(str):
    __slots__ = ()


class MyZone(tzinfo):
    def utcoffset(self, _when: datetime | None) -> timedelta:
        return timedelta(hours=1)

    dst = utcoffset

    def tzname(self, _when: datetime | None) -> str:
        return "mine"


def back(value: Any) -> Any:
    """The value after one round trip through bytes."""
    stored = encode(value)
    json.loads(stored.json, parse_constant=pytest.fail)
    return decode(bytes(stored.json), stored.typed)


def reason(value: Any) -> str:
    """Why a value is refused."""
    with pytest.raises(Unstorable) as caught:
        encode(value)
    assert caught.value.__cause__ is None
    return str(caught.value)


def deep(levels: int, wrap: Callable[[Any], Any], seed: Any = 0) -> Any:
    """A value inside of so many levels."""
    for _ in range(levels):
        seed = wrap(seed)
    return seed


PLAIN: list[Any] = [
    None,
    True,
    False,
    0,
    -(2**63),
    2**64 - 1,
    2**53 + 1,
    0.1,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    1e22,
    "",
    "\x00\x1b\u2028é😀",
    [],
    {},
    [[], {}, [None]],
    {"a": {"b": [1, 2.0, "x", None, True]}},
    {"": 1, "$tuple": [1, 2]},
    {"b": 1, "a": 2},
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_are_plain_json(value: Any) -> None:
    """What JSON says as it is goes without tags, and any JSON reader sees the same."""
    stored = encode(value)
    assert not stored.typed
    assert repr(decode(stored.json, typed=False)) == repr(value) == repr(json.loads(stored.json))


TYPED: list[Any] = [
    (),
    (1, 2),
    [(1,), [1]],
    {1: "a"},
    {1: "a", "1": "b"},
    {True: 1},
    {1.0: "x"},
    {None: 1},
    {("a", "b"): 1},
    {2: 0, 1: 0, 3: 0},
    {"$tuple": (1, 2)},
    {"$x": {"$y": (1,)}, "z": {"$z": 1}},
    {"a": {"$tuple": [1]}, "b": ()},
    set(),
    {1, "1", (2,), None},
    frozenset({frozenset({1}), frozenset()}),
    b"",
    bytes(range(256)),
    bytearray(b"\xff\x00"),
    2**64,
    -(2**63) - 1,
    10**400,
    -(10**10000),
    1j,
    complex(-0.0, 0.0),
    complex(0.0, -0.0),
    LOCAL.replace(year=1),
    LOCAL,
    datetime(2026, 11, 29, tzinfo=UTC),
    datetime(2026, 11, 29, tzinfo=timezone(-timedelta(hours=3, minutes=30))),
    datetime(2026, 11, 29, tzinfo=timezone(timedelta(seconds=1, microseconds=5))),
    datetime(2026, 11, 29, tzinfo=timezone(timedelta(hours=1), "MEZ")),
    datetime(2026, 11, 29, tzinfo=timezone(timedelta(hours=1), "UTC+01:00")),
    LOCAL.replace(fold=1),
    datetime(2026, 11, 29, fold=1, tzinfo=UTC),
    TWICE,
    TWICE.replace(fold=1),
    date.max,
    time(1, 2, 3, 4),
    time(1, 2, tzinfo=UTC, fold=1),
    time(1, 2, tzinfo=BERLIN),
    timedelta(0),
    timedelta.min,
    -timedelta(microseconds=1),
    Decimal("1.00"),
    Decimal("-0"),
    Decimal("1E+400"),
    Decimal("0.1234567890123456789012345678901234567890"),
    UUID(int=0),
    UUID("12345678-1234-5678-1234-567812345678"),
    pathlib.Path("a/b"),
    pathlib.PurePosixPath("/a/../é"),
    pathlib.PureWindowsPath("C:/Users/x"),
    Colour.RED,
    Colour.CRIMSON,
    Word.RUNNING,
    Level.LOW,
    Access.READ,
    Access.BOTH,
    Access.READ | Access.RUN,
    Access(0),
    Mode.A | Mode.B,
    Mode(64),
    Own.A,
    Point(1, (2,)),
    Page.Part("x"),
    Struct("a", ("b",)),
    Keywords(page_id=1),
    Page("a", links=[("b", Page("c"))]),
    Frozen(1, b"x"),
    {Frozen(1, 2): {Point(1): Struct("x")}},
    {Frozen(1), Frozen(2)},
    OrderedDict(b=1, a=2),
    OrderedDict({1: OrderedDict()}),
    Counter("abca"),
    Counter({("a",): -1}),
    deque(),
    deque([1, (2,)], maxlen=5),
    [{"a": [({"b": {1: {(): [b""]}}},)]}],
]


@pytest.mark.parametrize("value", TYPED, ids=lambda value: type(value).__name__)
def test_other_values_come_back_equal_and_of_their_type(value: Any) -> None:
    """What JSON lacks is tagged, and comes back with the same type, value and order."""
    found = back(value)
    assert encode(value).typed
    assert type(found) is type(value)
    assert found == value
    if not isinstance(value, (set, frozenset, int)):  # no fixed order, or too many digits
        assert repr(found) == repr(value)
    assert encode(found) == encode(value)


def test_types_are_kept_at_every_level() -> None:
    """Equality does not notice 1, True and 1.0 changing places; the types inside do."""
    value = (1, True, 1.0, [Level.LOW, {1.0: MyInt is int}], {True})
    found = back(value)
    assert [type(item) for item in found[:3]] == [int, bool, float]
    assert found[3][0] is Level.LOW
    assert [type(item) for item in (*found[3][1], *found[4])] == [float, bool]


def test_maxlen_zone_fold_and_members_come_back() -> None:
    """What equality and repr may hide is there: a deque's bound, the zone itself, the enum's own member."""
    assert back(deque([1], maxlen=3)).maxlen == 3
    assert back(TWICE.replace(fold=1)).tzinfo is BERLIN
    assert back(TWICE.replace(fold=1)).fold == 1
    assert back(datetime(2026, 1, 1, tzinfo=UTC)).tzinfo is UTC
    assert back(Colour.CRIMSON) is Colour.RED


def test_dataclasses_are_rebuilt_without_their_constructor() -> None:
    """Neither ``__init__`` nor ``__post_init__`` runs again; fields that neither takes are there."""
    page = Page("a")
    page.digest = "set later"
    frozen = Frozen(1)
    CALLS.clear()
    assert back(page).digest == "set later"
    assert back(frozen).c == 2
    assert CALLS == []


def test_fields_that_are_not_set_stay_so() -> None:
    """A field left to the class is left to it again, and one without a value has none."""
    found = back(Unset(1))
    assert vars(found) == vars(Unset(1))
    assert not hasattr(found, "b")
    assert found.c == 7


def test_what_a_cached_property_holds_is_left_out() -> None:
    """It is computed again when it is asked for."""
    value = Caching(2)
    assert value.twice == 4
    found = back(value)
    assert vars(found) == {"a": 2}
    assert found.twice == 4


def test_a_struct_gets_its_recorded_fields_back() -> None:
    """A ``__post_init__`` that changes a field does not change the recorded one."""
    value = Doubling(2)
    assert value.n == 4
    assert back(value).n == 4


def test_later_changes_by_the_caller_change_nothing() -> None:
    """What was encoded is detached from the value."""
    value: dict[str, Any] = {"a": [1], "b": ({"c": 1},)}
    stored = encode(value)
    value["a"].append(2)
    value["b"][0]["c"] = 2
    assert decode(stored.json, stored.typed) == {"a": [1], "b": ({"c": 1},)}


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (float("nan"), "result: the float is infinite or not a number"),
        ({"a": [0, float("inf")]}, 'result["a"][1]: the float'),
        ((-float("inf"),), "result[0]: the float"),
        (complex(0, float("nan")), "result: the complex number"),
        (Decimal("NaN"), "result: the Decimal"),
        (Decimal("sNaN"), "result: the Decimal"),
        ([Decimal("Infinity")], "result[0]: the Decimal"),
        ("\ud800", "result: the text holds a lone surrogate"),
        (["\udc80"], "result[0]: the text holds a lone surrogate"),
        ({"\ud800": 1}, "result[<str>]: the text holds a lone surrogate"),
        ({"a": (pathlib.PurePosixPath("\udcff"),)}, 'result["a"][0]: the text holds a lone surrogate'),
        (object(), "result: the type object cannot be stored"),
        ([Bare()], "Bare cannot be stored"),
        ({"a": lambda: 1}, 'result["a"]: the type function'),
        (print, "builtin_function_or_method"),
        (int, "the type type"),
        (iter([]), "list_iterator"),
        (range(3), "range"),
        (..., "ellipsis"),
        (NotImplemented, "NotImplementedType"),
        (ValueError("s3cret"), "ValueError"),
        (threading.Lock(), "lock"),
        (memoryview(b"s3cret"), "memoryview"),
        (MyInt(1), "MyInt, a kind of int"),
        ({"a": MyFloat(0.5)}, "MyFloat, a kind of float"),
        ([MyStr("s3cret")], "MyStr, a kind of str"),
        ({MyStr("s3cret"): 1}, "MyStr, a kind of str"),
        (MyDict(a=1), "MyDict, a kind of dict"),
        (defaultdict(list), "defaultdict, a kind of dict"),
        (os.stat_result(range(10)), "a kind of tuple"),
        (datetime(2026, 1, 1, tzinfo=MyZone()), "MyZone, cannot be stored"),
        (Own(0), "no member that can be found by its name"),
        (Listy(1), "TypeError"),
        ({(1, Colour.RED): {1: float("nan")}}, "result[<tuple>][1]: the float"),
        (
            {"not a name": {"s3cret" * 9: {b"s3cret": object()}}},
            "result[<str>][<str>][<bytes>]: the type object",
        ),
        (Page("a", links=[{"x": object()}]), 'result.links[0]["x"]: the type object'),
    ],
)
def test_what_would_not_come_back_is_refused(value: Any, said: str) -> None:
    """The reason names the place and the type, and never the value."""
    text = reason(value)
    assert said in text
    assert "s3cret" not in text


def test_elements_that_equal_nothing_but_themselves_are_refused() -> None:
    """A set of them would come back with elements that are not in the first one."""
    assert "not the same when it is read back" in reason({1: {ByIdentity(1)}})
    assert back([ByIdentity(1)])[0].a == 1


def test_two_elements_that_became_one_are_refused() -> None:
    """A set whose elements were changed after they went in would come back smaller."""
    value = Frozen(1)
    members = {value, Frozen(2)}
    for name, field_value in (("a", 2), ("c", 3)):
        object.__setattr__(value, name, field_value)
    assert "two of its keys or elements are one" in reason(members)


def test_a_key_whose_hash_raises_is_refused() -> None:
    """Whatever the caller's own code raises, the refusal is the same kind of error and tells no message."""
    value = Hashing("s3cret")
    members = {value: 1}
    Hashing.fails = True
    try:
        assert "RuntimeError while it was read back" in reason(members)
        assert "s3cret" not in reason(members)
    finally:
        Hashing.fails = False


def test_attributes_beyond_the_fields_are_refused() -> None:
    """They would be lost, whether the class is a dataclass, a Struct or a NamedTuple."""
    page, struct = Page("a"), Keywords(page_id=1)
    page.extra = "s3cret"  # type: ignore[attr-defined]  # that is the point
    struct.extra = "s3cret"  # type: ignore[attr-defined]  # that is the point
    for value in (page, struct):
        assert "attributes beyond its fields" in reason(value)
        assert "s3cret" not in reason(value)


def test_classes_that_cannot_be_found_again_are_refused() -> None:
    """A local class, and one whose name now means another, could not be brought back."""

    @dataclass
    class Local:
        a: int

    @dataclass
    class Impostor:
        a: int

    class Nowhere(enum.Enum):
        A = 1

    Impostor.__qualname__ = "Page"
    assert "cannot be found by that name" in reason(Local(1))
    assert "cannot be found by that name" in reason([Impostor(1)])
    assert "cannot be found by that name" in reason(Nowhere.A)


WRAPS: list[Callable[[Any], Any]] = [
    lambda inner: [inner],
    lambda inner: {"a": inner},
    lambda inner: (inner,),
    lambda inner: {1: inner},
    lambda inner: Point(1, inner),
    lambda inner: Frozen(1, inner),
    lambda inner: deque([inner]),
]


@pytest.mark.parametrize("wrap", WRAPS)
def test_nesting_has_a_limit(wrap: Callable[[Any], Any]) -> None:
    """200 levels come back, one more is refused with a reason, and any number never ends the stack."""
    assert encode(back(deep(200, wrap))) == encode(deep(200, wrap))
    for levels in (201, 5_000):
        assert "nested more than 200 deep" in reason(deep(levels, wrap))


def test_what_contains_itself_is_refused() -> None:
    """Directly, through a dict, and twice in every level."""
    ring: list[Any] = []
    ring += [ring, ring]
    loop: dict[str, Any] = {}
    loop["a"] = (loop,)
    for value in (ring, loop):
        assert "is part of itself" in reason(value)
    assert len(reason(ring)) < 200


def test_the_end_of_the_stack_is_a_refusal() -> None:
    """Called from deep within the caller's own recursion, both still answer in their own words."""
    stored = encode(deep(150, lambda inner: (inner,)))

    def down(left: int) -> None:
        if left:
            down(left - 1)
            return
        with pytest.raises(Unstorable):
            encode(deep(150, lambda inner: (inner,)))
        with pytest.raises(Unresolvable):
            decode(stored.json, stored.typed)

    depth = len(list(itertools.takewhile(bool, frames())))
    down(sys.getrecursionlimit() - depth - 120)


def frames() -> Iterator[Any]:
    """The frames of the caller and above."""
    frame = sys._getframe(1)
    while frame is not None:
        yield frame
        frame = frame.f_back  # type: ignore[assignment]  # None ends it


HOSTILE = [
    b"",
    b"{",
    b"\xff",
    b"NaN",
    b'{"$nothing":1}',
    b'{"$":1}',
    b'{"$tuple":[1],"a":2}',
    b'{"a":1,"$tuple":[1]}',
    b'{"$tuple":5}',
    b'{"$tuple":{"a":1}}',
    b'{"$set":[[1]]}',
    b'{"$set":[1,1]}',
    b'{"$set":[1,true]}',
    b'{"$dict":[[1,2],[true,3]]}',
    b'{"$dict":[1]}',
    b'{"$dict":[[{},1]]}',
    b'{"$dict":5}',
    b'{"$counter":[[1]]}',
    b'{"$deque":[[1,2],1]}',
    b'{"$deque":[1]}',
    b'{"$int":5}',
    b'{"$int":"x"}',
    b'{"$int":"' + b"9" * 10_000 + b'"}',
    b'{"$bytes":"*"}',
    b'{"$bytes":1}',
    b'{"$complex":[1]}',
    b'{"$decimal":[0,[1],0]}',
    b'{"$decimal":"x"}',
    b'{"$date":"2026-13-01"}',
    b'{"$datetime":5}',
    b'{"$datetime":{}}',
    b'{"$datetime":{"at":"2026-01-01T00:00:00","zone":"../../etc/passwd"}}',
    b'{"$datetime":{"at":"2026-01-01T00:00:00","zone":"Nowhere/Atall"}}',
    b'{"$time":{"at":"01:00:00","offset":[9,0,0]}}',
    b'{"$timedelta":[9999999999,0,0]}',
    b'{"$uuid":"x"}',
    b'{"$uuid":1}',
    b'{"$PosixPath":1}',
    b'{"$enum":[1,2]}',
    b'{"$enum":["os:path","x"]}',
    b'{"$enum":["nowhere:X","A"]}',
    b'{"$dataclass":["os:system",{"command":"true"}]}',
    b'{"$dataclass":["builtins:object",{}]}',
    b'{"$dataclass":["os:environ.clear",{}]}',
    b'{"$dataclass":["os",{}]}',
    b'{"$dataclass":[":",{}]}',
    b'{"$namedtuple":["builtins:tuple",{}]}',
    b'{"$dataclass":[]}',
    b'{"$dataclass":"x"}',
    b"[" * 100_000,
    b'{"a":' * 100_000,
    b'{"$tuple":[' * 100_000,
    b"[" * 250 + b"]" * 250,
    b'{"$tuple":[' * 250 + b"]}" * 250,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:40]))
def test_hostile_json_is_refused_in_one_way(text: bytes) -> None:
    """Unknown tags, wrong bodies, foreign names and endless nesting are one kind of error."""
    with pytest.raises(Unresolvable) as caught:
        decode(text, typed=True)
    assert len(str(caught.value)) < 300


def named(cls: type) -> str:
    """A class as the JSON names it."""
    return f"{cls.__module__}:{cls.__qualname__}"


@pytest.mark.parametrize(
    ("tag", "cls", "body"),
    [
        ("$dataclass", Page, {"slug": "a"}),
        ("$dataclass", Page, {"slug": "a", "version": 1, "links": [], "digest": "", "more": 1}),
        ("$dataclass", Struct, {"slug": "a", "tags": []}),
        ("$struct", Struct, {"slug": "a"}),
        ("$struct", Struct, {"slug": "a", "tags": [], "more": 1}),
        ("$struct", Page, {"slug": "a"}),
        ("$namedtuple", Point, {"x": 1}),
        ("$namedtuple", Point, {"x": 1, "y": 2, "z": 3}),
        ("$enum", Colour, "BLUE"),
        ("$enum", Colour, 1),
        ("$enum", Access, 64),
        ("$enum", Page, "slug"),
    ],
)
def test_a_class_that_changed_is_refused(tag: str, cls: type, body: Any) -> None:
    """Fields or members that are others by now, and a class of another kind, are told, never guessed."""
    with pytest.raises(Unresolvable):
        decode(msgspec.json.encode({tag: [named(cls), body]}), typed=True)


def test_a_class_that_is_not_loaded_is_named_and_not_imported() -> None:
    """The error says which class; the module's own ``__getattr__`` is not asked either."""
    module = ModuleType("lazy_module")
    module.__getattr__ = CALLS.append  # type: ignore[method-assign]  # a module may
    sys.modules["lazy_module"] = module
    CALLS.clear()
    try:
        with pytest.raises(Unresolvable, match="lazy_module:Page"):
            decode(b'{"$dataclass":["lazy_module:Page",{}]}', typed=True)
    finally:
        del sys.modules["lazy_module"]
    with pytest.raises(Unresolvable, match=r"xmlrpc\.client:Fault"):
        decode(b'{"$dataclass":["xmlrpc.client:Fault",{}]}', typed=True)
    assert CALLS == []


def test_plain_shows_what_is_recorded_without_the_classes() -> None:
    """A reader in another program sees names, fields and tags."""
    stored = encode([Page("a"), (1,), Colour.RED])
    shown = plain(stored.json)
    assert shown[0]["$dataclass"][1]["slug"] == "a"
    assert shown[1] == {"$tuple": [1]}
    assert shown[2] == {"$enum": [named(Colour), "RED"]}


def test_names_of_classes_in_an_error_are_harmless_on_a_terminal() -> None:
    """Control characters of a hostile name are escaped."""
    with pytest.raises(Unresolvable) as caught:
        decode(b'{"$dataclass":["a:\\u001b[31m",{}]}', typed=True)
    assert str(caught.value).isprintable()


FINGERPRINTS = """
import sys
from collections import Counter
from runledger.values import encode, fingerprint
names = [f"name{i}" for i in range(40)]
value = {"s": set(names), "f": frozenset((n, 1) for n in names), "d": dict.fromkeys(set(names), 1),
         "m": {(n,): {n} for n in set(names)}, "c": Counter(set(names))}
print(fingerprint(value), fingerprint(dict.fromkeys(set(names))), encode(set(names)).json.hex())
"""


def test_fingerprints_and_sets_are_the_same_in_every_process() -> None:
    """They depend neither on the seed of the hashes nor on the order of filling."""
    told = {
        subprocess.run(
            [sys.executable, "-c", FINGERPRINTS],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(told) == 1


def test_fingerprints_tell_values_apart() -> None:
    """Whatever differs in value, type or order where order counts has its own digest."""
    different: list[Any] = [
        *(
            1,
            "1",
            True,
            1.0,
            None,
            "None",
            0,
            False,
            -0.0,
            0.0,
            "",
            [],
            {},
            (),
            set(),
            frozenset(),
            b"",
            "b''",
        ),
        *([1], (1,), {1}, [[1]], {"1": 1}, {1: 1}, {True: 1}, {1.0: 1}, {"a": 1, "b": 2}, {"a": 2, "b": 1}),
        *({"$tuple": [1]}, {"$int": "18446744073709551616"}, 2**64, OrderedDict(a=1), OrderedDict(a=1, b=2)),
        *(OrderedDict(b=2, a=1), Counter(a=1), Page("a"), Page("b"), Point(1), Point(1, 2), Struct("a")),
        *(Keywords(page_id=1), Frozen(1), Level.LOW, Word.RUNNING, "RUNNING", Access.READ, Mode.A),
        *(
            Decimal("1.0"),
            Decimal("1.00"),
            LOCAL,
            LOCAL.replace(tzinfo=UTC),
            date(2026, 1, 1),
        ),
        *(b"a", bytearray(b"a"), "a", pathlib.PurePosixPath("a"), pathlib.PureWindowsPath("a"), deque([1])),
    ]
    digests = [fingerprint(value) for value in different]
    assert len(set(digests)) == len(different)
    assert all(len(digest) == 32 and set(digest) <= set("0123456789abcdef") for digest in digests)


def test_fingerprints_of_equal_values_are_equal() -> None:
    """The order of a dict, a set or a Counter does not count."""
    assert fingerprint({"a": 1, "b": [2]}) == fingerprint({"b": [2], "a": 1})
    assert fingerprint({1: 1, 2: (2,)}) == fingerprint({2: (2,), 1: 1})
    assert fingerprint(Counter("aab")) == fingerprint(Counter("baa"))
    assert fingerprint(Page("a")) == fingerprint(Page("a"))


def test_fingerprints_need_no_class_that_can_be_found_again() -> None:
    """A class of a function's own will do: only its name and its fields count."""

    @dataclass
    class Local:
        a: Any

    assert fingerprint(Local(1)) != fingerprint(Local(2))
    with pytest.raises(Unstorable, match=r"inputs\.a: the type object"):
        fingerprint(Local(object()), "inputs")
    with pytest.raises(Unstorable):
        fingerprint(float("nan"))


def test_a_dict_that_changes_meanwhile_is_stored_or_refused() -> None:
    """Another thread at work on the value leads to no other error."""
    value: dict[str, Any] = {str(at): (at,) for at in range(50)}
    done = threading.Event()

    def churn() -> None:
        while not done.is_set():
            value["x"] = 1
            del value["x"]

    thread = threading.Thread(target=churn)
    thread.start()
    try:
        for _ in range(50):
            try:
                assert "0" in decode(*encode(value))
            except Unstorable as error:
                assert str(error).startswith("result")  # noqa: PT017 - either outcome is right
    finally:
        done.set()
        thread.join()
