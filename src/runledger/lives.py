"""How long each owner lived, and how it ended, as far as the journal tells: what failure rates are counted from."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from runledger.clock import parse
from runledger.granularity import Life
from runledger.record import Closed, Lost, Opened, Record
from runledger.view import Damage

__all__ = ["OwnerLife", "lives_of", "moments", "owners_of", "survived"]


class OwnerLife(msgspec.Struct):
    """One owner's time, in seconds since the epoch by its own clock.

    ``first`` and ``last`` are its first and last record; ``ended`` is ``closed``, ``lost``, or None while neither is
    recorded; ``found`` is when somebody found it dead.
    """

    owner: str
    first: float
    last: float
    pid: int = 0
    program: str = ""
    ended: str | None = None
    found: float | None = None
    place: int = 0

    @property
    def seconds(self) -> float:
        """From its first record to its last; 0 where its clock was set back."""
        return max(0.0, self.last - self.first)


def moments() -> Callable[[str], float | None]:
    """``parse`` for the stamps of a journal in its order: those of one second differ in their fraction alone."""
    last, whole = "", 0.0

    def moment(stamp: str) -> float | None:
        nonlocal last, whole
        if len(stamp) != _LENGTH or stamp[-1] != "Z" or not stamp[20:26].isdecimal() or not stamp.isascii():
            return parse(stamp)
        if stamp[:20] != last:
            found = parse(f"{stamp[:20]}0Z")
            if found is None:
                return None
            last, whole = stamp[:20], found
        return whole + int(stamp[20:26]) / 1e6

    return moment


_LENGTH = len("YYYY-MM-DDTHH:MM:SS.ffffffZ")


def owners_of(records: Iterable[Record | Damage]) -> dict[str, OwnerLife]:
    """Every owner that recorded something, in the order in which they came."""
    owners: dict[str, OwnerLife] = {}
    moment = moments()
    for item in records:
        if isinstance(item, Damage):
            continue
        at = moment(item.at)
        if at is None:
            continue
        if item.owner:
            life = owners.get(item.owner)
            if life is None:
                life = owners[item.owner] = OwnerLife(item.owner, at, at)
            life.last, life.place = at, item.lsn
            if type(item) is Opened:
                life.pid, life.program = item.pid, item.program
            elif type(item) is Closed:
                life.ended = "closed"
        if type(item) is Lost and item.who in owners:
            owners[item.who].ended, owners[item.who].found = "lost", at
    return owners


def lives_of(owners: Iterable[OwnerLife], me: str) -> list[Life]:
    """The lives that are over, in the order of their ends, without the one of ``me``."""
    over = sorted((life for life in owners if life.ended and life.owner != me), key=lambda life: life.place)
    return [Life(life.seconds, died=life.ended == "lost") for life in over]


def survived(owners: dict[str, OwnerLife], me: str, now: float) -> float:
    """Seconds since ``me`` came; 0 where that is not recorded."""
    life = owners.get(me)
    return 0.0 if life is None else max(0.0, now - life.first)
