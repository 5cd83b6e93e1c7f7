"""Time as text: stamps out, claims in, durations."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runledger import clock
from runledger.errors import UsageError

FULL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
NOON = 1_795_953_600.0  # 2026-11-29T12:00:00Z


def test_now_is_the_wall_clock_to_the_microsecond() -> None:
    """A stamp of now lies between two readings of the clock and has the format of the journal."""
    before = time.time()
    stamp = clock.now()
    after = time.time()
    assert FULL.fullmatch(stamp)
    seconds = clock.parse(stamp)
    assert seconds is not None
    assert before - 2e-6 <= seconds <= after + 2e-6


def test_now_follows_a_clock_that_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """The remembered second never outlives a step of the clock, in either direction."""
    told = []
    for seconds in (NOON, NOON + 0.5, NOON - 3600, NOON + 1, NOON):
        monkeypatch.setattr(time, "time", lambda seconds=seconds: seconds)
        told.append(clock.now())
    assert told == [
        "2026-11-29T12:00:00.000000Z",
        "2026-11-29T12:00:00.500000Z",
        "2026-11-29T11:00:00.000000Z",
        "2026-11-29T12:00:01.000000Z",
        "2026-11-29T12:00:00.000000Z",
    ]


@pytest.mark.parametrize("zone", ["Asia/Bangkok", "America/New_York", "UTC"])
def test_stamps_do_not_depend_on_the_local_zone(monkeypatch: pytest.MonkeyPatch, zone: str) -> None:
    """Writing and reading mean UTC wherever the machine is."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert clock.stamp(NOON) == "2026-11-29T12:00:00.000000Z"
        assert clock.parse("2026-11-29T12:00:00") == NOON
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-29T12:00:00Z",
        "2026-11-29t12:00:00z",
        "2026-11-29T19:00:00+07:00",
        "2026-11-29T19:00:00+0700",
        "2026-11-29T19:00:00+07",
        "2026-11-29T07:30:00-04:30",
        "2026-11-29T12:00:00",
        "2026-11-29 12:00:00",
        "2026-11-29T12:00:00.000000Z",
        "2026-11-29T12:00Z",
        "2026-11-29T12:00",
    ],
)
def test_stamps_that_others_write_are_read(text: str) -> None:
    """A Z, an offset, no zone, no seconds, a fraction: all are the same moment."""
    assert clock.parse(text) == NOON
    assert clock.to_second(text) == "2026-11-29T12:00:00Z"


@pytest.mark.parametrize(
    "text",
    [
        None,
        7,
        "",
        "now",
        "2026-11-29",
        "2026-02-29T00:00:00Z",
        "2100-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-00-01T00:00:00Z",
        "2026-04-31T00:00:00Z",
        "2026-11-29T24:00:00Z",
        "2026-11-29T12:60:00Z",
        "2026-11-29T12:00:61Z",
        "2026-11-29T12:00:00.Z",
        "2026-11-29T12:00.5Z",
        "2026-11-29T12:00:00+25:00",
        "2026-11-29T12:00:00+7",
        "2026-11-29T12:00:00ZZ",
        "0000-11-29T12:00:00Z",
        "0001-01-01T00:00:00+01:00",
        "\uff12\uff10\uff12\uff16-11-29T12:00:00Z",
        "2026-11-29T12:00:00Z" + "0" * 100,
    ],
)
def test_garbage_is_no_stamp(text: object) -> None:
    """What is no moment is None, whatever its type."""
    assert clock.parse(text) is None


@given(st.text())
def test_parse_never_raises(text: str) -> None:
    """Any text is a moment or none."""
    assert clock.parse(text) is None or clock.to_second(text)


@given(st.text(alphabet="0123456789-:.TZ+ ", min_size=16, max_size=34))
def test_parse_never_raises_near_a_stamp(text: str) -> None:
    """Nor does text that looks like a stamp."""
    assert clock.parse(text) is None or clock.to_second(text)


@given(st.datetimes(timezones=st.timezones()).filter(lambda at: 2 < at.year < 9998 and at.fold == 0))
def test_parse_agrees_with_the_calendar(at: datetime) -> None:
    """Reading a stamp gives the moment that the standard library gives."""
    offset = at.utcoffset()
    if offset is None or offset % timedelta(minutes=1):
        at = at.replace(tzinfo=UTC)
    expected = (at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert clock.parse(at.isoformat()) == pytest.approx(expected, abs=2e-5)


@given(st.integers(min_value=-62_135_596_800, max_value=253_402_300_799))
def test_a_stamp_comes_back(seconds: int) -> None:
    """Writing and reading a whole second is lossless over the whole calendar."""
    assert clock.parse(clock.stamp(seconds)) == seconds


def test_age_is_never_negative() -> None:
    """A stamp of the future is 0 seconds old, one of the past its seconds, garbage has no age."""
    assert clock.age("2026-11-29T12:00:00Z", NOON + 90) == 90
    assert clock.age("2026-11-29T19:00:00+07:00", NOON + 90) == 90
    assert clock.age("2026-11-29T12:00:00Z", NOON - 3600) == 0
    assert clock.age("soon", NOON) is None
    assert clock.age(None) is None
    age = clock.age(clock.now())
    assert age is not None
    assert 0 <= age < 60


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90s", 90),
        ("15m", 900),
        ("2h", 7200),
        ("1d", 86400),
        ("45", 45),
        ("1.5h", 5400),
        (" 3s ", 3),
        ("0", 0),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    """A number with a unit, or a bare number of seconds."""
    assert clock.parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "-5",
        "5 m m",
        "1h30m",
        "nan",
        "inf",
        "1e3",
        "5w",
        "\u0663s",
        ".5h",
        "5.",
        "9" * 400,
        "36501d",
        "5M",
    ],
)
def test_what_is_no_duration_is_refused(text: str) -> None:
    """Anything else is a usage error that shows how durations are written."""
    with pytest.raises(UsageError) as caught:
        clock.parse_duration(text)
    assert "90s" in caught.value.hint
