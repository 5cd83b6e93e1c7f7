"""The part of a status that moves although the run does not: the last record, the last activity, and how long ago."""

from __future__ import annotations

__all__ = ["STALE_S", "Moment", "aged"]

STALE_S = 900.0
"""Seconds without any action after which a RUNNING run is called stale. Stale is no verdict: it says nothing of why."""


def aged(seconds: float | None, *, running: bool) -> tuple[float | None, bool]:
    """The age as it is told, and whether the run is stale, so many seconds after the last activity."""
    if seconds is None:
        return None, False
    return round(seconds, 3), running and seconds > STALE_S


class Moment:
    """``lsn`` is that of the last record, ``shown`` what the state file covers, ``activity`` a printable stamp, ""
    where there is none; ``age_s`` and ``stale`` are as ``aged`` says."""

    __slots__ = ("activity", "age_s", "lsn", "shown", "stale")

    def __init__(self, lsn: int, shown: int, activity: str, age_s: float | None, *, stale: bool) -> None:
        self.lsn, self.shown, self.activity, self.age_s, self.stale = lsn, shown, activity, age_s, stale

    def lines(self) -> list[str]:
        """For a person."""
        told = []
        if self.activity:
            stale = ", stale: that says nothing of why" if self.stale else ""
            ago = "" if self.age_s is None else f", {self.age_s:.0f} s ago{stale}"
            told.append(f"last activity {self.activity}{ago}")
        return [*told, f"LSN {self.lsn}; the state file covers {self.shown}"]

    def members(self) -> str:
        """Members of the status object, as they stand in its JSON."""
        activity = f'"{self.activity}"' if self.activity else "null"
        age = "null" if self.age_s is None else repr(self.age_s)
        return (
            f'"lsn":{self.lsn},"checkpoint_lsn":{self.shown},"last_activity":{activity},'
            f'"age_s":{age},"stale":{"true" if self.stale else "false"}'
        )
