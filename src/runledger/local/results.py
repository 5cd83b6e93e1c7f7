"""Large results and saved states: one file each in ``.run/ledger/results/``, named by its content's digest."""

from __future__ import annotations

import os

from runledger.errors import LedgerCorrupt
from runledger.local.directory import Directory
from runledger.local.layout import RESULTS

__all__ = ["INLINE_BYTES", "load", "save"]

INLINE_BYTES = 32 << 10
"""An encoded value of more bytes goes to a file."""


def save(ledger: Directory, data: bytes) -> str:
    """Keep ``data`` durably and return its digest: the file is synced under a temporary name, then named, then the
    name is synced, all before the record that refers to it is written."""
    digest = _digest(data)
    results = ledger.child(RESULTS, create=True)
    assert results is not None
    try:
        if results.stat(digest) is not None and results.read(digest, len(data)) == data:
            _resync(results, digest)
            return digest
        temporary = f"{digest[:16]}.{os.urandom(6).hex()}.tmp"
        file = results.open(temporary, write=True, create=True, exclusive=True)
        assert file is not None
        try:
            file.pwrite(data, 0)
            file.sync()
            results.rename(temporary, digest)
        except BaseException:
            results.unlink(temporary)
            raise
        finally:
            file.close()
        results.sync()
    finally:
        results.close()
    return digest


def _resync(results: Directory, digest: str) -> None:
    """Whoever wrote it may have died before its syncs."""
    file = results.open(digest)
    if file is not None:
        try:
            file.sync()
        finally:
            file.close()
    results.sync()


def load(ledger: Directory, digest: str, size: int) -> bytes:
    """The kept bytes.

    Raises:
        LedgerCorrupt: missing, or not what was written.
    """
    path = f"{ledger.path}/{RESULTS}/{digest}"
    results = ledger.child(RESULTS)
    try:
        data = results.read(digest, size) if results is not None and "/" not in digest else None
    finally:
        if results is not None:
            results.close()
    if data is None:
        raise LedgerCorrupt(f"{path}: the result is missing; that it was committed stays known", damage=[])
    if len(data) != size or _digest(data) != digest:
        raise LedgerCorrupt(
            f"{path}: the result is not what was written; that it was committed stays known", damage=[]
        )
    return data


def _digest(data: bytes) -> str:
    from hashlib import sha256

    return sha256(data).hexdigest()
