"""The disk's limits in C: compiled by gcc at first use, loaded into this process."""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path

__all__ = ["BareFile"]

SOURCE = Path(__file__).with_name("limits.c")
RECORD = 200
"""Bytes of one record, about those of an intent."""

FILLER = 32 << 20
"""Bytes of newlines in a prefilled file; used from the start again when they are used up."""


@cache
def library() -> ctypes.CDLL:
    """The compiled loops."""
    with tempfile.TemporaryDirectory() as place:
        built = Path(place) / "limits.so"
        subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-pthread", "-o", built, SOURCE], check=True)
        return ctypes.CDLL(str(built))


class BareFile:
    """One file, written by the C loops."""

    def __init__(self, path: Path, *, prefilled: bool) -> None:
        self._prefilled = prefilled
        self._at = 0
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        if prefilled:
            for offset in range(0, FILLER, 1 << 20):
                os.pwrite(self._fd, b"\n" * (1 << 20), offset)
        os.fsync(self._fd)

    def _room(self, size: int) -> int:
        if self._prefilled and self._at + size > FILLER:
            self._at = 0
        return self._at

    def durable_writes(self, count: int) -> None:
        """So many records, each durable before the next."""
        at = self._room(count * RECORD)
        _checked(library().durable_writes(self._fd, ctypes.c_long(at), count, RECORD))
        self._at = at + count * RECORD

    def group_commit(self, threads: int, seconds: float) -> int:
        """By so many threads for so long, with shared syncs; returns the number of records."""
        records, syncs, end = ctypes.c_long(), ctypes.c_long(), ctypes.c_long()
        at = self._room(FILLER // 4)
        _checked(
            library().group_commit(
                self._fd,
                ctypes.c_long(at),
                threads,
                ctypes.c_double(seconds),
                RECORD,
                ctypes.byref(records),
                ctypes.byref(syncs),
                ctypes.byref(end),
            )
        )
        self._at = end.value
        return records.value

    def close(self) -> None:
        os.close(self._fd)


def _checked(code: int) -> None:
    if code:
        raise OSError(code, os.strerror(code))
