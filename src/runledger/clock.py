"""Time as text: the stamps that records carry, and the claims about time that are found in files.

Everything is UTC. No order is ever taken from a clock; a stamp only says roughly when.
"""

from __future__ import annotations

import time

__all__ = ["age", "now", "parse", "parse_duration", "stamp", "to_second"]

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 36500 * 86400.0
_FIRST, _LAST = -62135596800, 253402300799  # the years 1 to 9999
_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

# The text of one second, made once for all threads: a pair in one slot, so that no reader sees half of a
# change.
_second: list[tuple[int, str]] = [(-1, "")]


def now() -> str:
    """The wall clock as ``YYYY-MM-DDTHH:MM:SS.ffffffZ``."""
    seconds = time.time()
    whole = int(seconds)
    known, text = _second[0]
    if known != whole:
        return stamp(seconds)
    return f"{text}{int((seconds - whole) * 1e6):06d}Z"


def stamp(seconds: float) -> str:
    """Seconds since the epoch, within the years 1 to 9999, as ``YYYY-MM-DDTHH:MM:SS.ffffffZ``."""
    whole = int(seconds // 1)
    at = time.gmtime(whole)
    day = f"{at.tm_year:04d}-{at.tm_mon:02d}-{at.tm_mday:02d}"
    text = f"{day}T{at.tm_hour:02d}:{at.tm_min:02d}:{at.tm_sec:02d}."
    _second[0] = (whole, text)
    return f"{text}{int((seconds - whole) * 1e6):06d}Z"


def to_second(at: str) -> str:
    """A stamp cut to ``YYYY-MM-DDTHH:MM:SSZ``; "" for text that is no stamp."""
    seconds = parse(at)
    return "" if seconds is None else stamp(seconds)[:19] + "Z"


def age(at: str | None, now: float | None = None) -> float | None:
    """Seconds since ``at``, never negative: a stamp from the future is 0 old. None for text that is no stamp.

    ``now`` is in seconds since the epoch, the wall clock unless given.
    """
    seconds = parse(at)
    if seconds is None:
        return None
    return max(0.0, (time.time() if now is None else now) - seconds)


def parse(text: object) -> float | None:
    """Seconds since the epoch of a stamp, or None for anything that is none; never raises.

    Read are ``YYYY-MM-DDTHH:MM[:SS[.fraction]]`` with ``Z``, an offset such as ``+07:00``, or no zone. A
    stamp without a zone is UTC, never the local time of whoever happens to read it.
    """
    if not isinstance(text, str) or not text.isascii() or not 16 <= len(text) <= 64 or text[10] not in "Tt ":
        return None
    clock, offset = _split_zone(text[11:])
    clock, dot, fraction = clock.partition(".")
    day = _numbers(text[:10], "-", (4, 2, 2))
    moment = _numbers(clock if len(clock) > 5 or dot else f"{clock}:00", ":", (2, 2, 2))
    if day is None or moment is None or offset is None or (dot and not fraction.isdigit()):
        return None
    days = _days(*day)
    hour, minute, second = moment
    if days is None or hour > 23 or minute > 59 or second > 60:
        return None
    seconds = ((days * 24 + hour) * 60 + minute) * 60 + second - offset
    return seconds + float(f"0.{fraction or 0}") if _FIRST <= seconds <= _LAST else None


def _numbers(text: str, separator: str, widths: tuple[int, int, int]) -> tuple[int, int, int] | None:
    parts = text.split(separator)
    if tuple(map(len, parts)) != widths or not all(map(str.isdigit, parts)):
        return None
    one, two, three = map(int, parts)
    return one, two, three


def _split_zone(text: str) -> tuple[str, int | None]:
    """The clock part and the zone's offset in seconds, None for an offset that cannot be."""
    if text[-1:] in {"Z", "z"}:
        return text[:-1], 0
    sign = "+" if "+" in text else "-"
    clock, found, zone = text.partition(sign)
    if not found:
        return text, 0
    digits = zone[:2] + zone[3:] if zone[2:3] == ":" and len(zone) == 5 else zone
    if len(digits) not in {2, 4} or not digits.isdigit():
        return clock, None
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    seconds = (hours * 60 + minutes) * 60
    return clock, None if hours > 23 or minutes > 59 else seconds if sign == "+" else -seconds


def _days(year: int, month: int, date: int) -> int | None:
    """Days from 1970-01-01 to a day of the Gregorian calendar, None for one that it does not have.

    Years are counted from March, so that a leap day is the last of its year.
    """
    if year < 1 or not 1 <= month <= 12 or not 1 <= date <= _MONTHS[month - 1]:
        return None
    if (month, date) == (2, 29) and (year % 4 or (year % 100 == 0 and year % 400)):
        return None
    era, of_era = divmod(year - (month < 3), 400)
    of_year = (153 * ((month + 9) % 12) + 2) // 5 + date - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def parse_duration(text: str) -> float:
    """Seconds of ``90s``, ``15m``, ``2h``, ``1d``, ``1.5h`` or a bare number of seconds; at most a century.

    Raises:
        UsageError: for anything else.
    """
    said = text.strip() if isinstance(text, str) else ""
    number, unit = (said[:-1], said[-1]) if said[-1:] in _UNITS else (said, "s")
    whole, dot, fraction = number.partition(".")
    if number.isascii() and whole.isdigit() and (fraction.isdigit() or not dot):
        seconds = float(number) * _UNITS[unit]
        if seconds <= _LONGEST:
            return seconds
    from runledger.errors import UsageError  # not at the top: the quick commands need the clock and no error

    raise UsageError(
        f"{text!r} is not a duration",
        hint="Durations are written 90s, 15m, 2h or 1d; a bare number is seconds.",
    )
