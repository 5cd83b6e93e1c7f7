"""Encoded values on their way to the journal and back: inline when small, in a file of their own when large."""

from __future__ import annotations

from typing import Any

import msgspec

from runledger.errors import ResultNotStored
from runledger.local import results
from runledger.local.files import Files
from runledger.store import Happened, Note, Payload, Request, Resolution, Settle
from runledger.view import Saved, Settled

__all__ = ["is_large", "keep", "payload_of"]


def is_large(request: Request) -> bool:
    """Whether ``keep`` has a file to write."""
    payload = _carried(request)
    return payload is not None and len(payload.json) > results.INLINE_BYTES


def keep(files: Files, request: Request, limit: int) -> Request:
    """The request with a large value put into its file: durable before the record that refers to it, and not under the
    lock. A result of more than ``limit`` bytes is left out, and the commit says so.

    Raises:
        ResultNotStored: a saved state or a resolution's result is larger than that.
        DiskRefused: the file cannot be written; nothing was recorded.
    """
    payload = _carried(request)
    if payload is None:
        return request
    if len(payload.json) > limit:
        return _without(
            request, f"it has {len(payload.json)} bytes when encoded, more than the limit of {limit}"
        )
    if len(payload.json) <= results.INLINE_BYTES:
        return request
    files.make()
    assert files.ledger is not None
    kept = Payload(b"", payload.typed, results.save(files.ledger, payload.json), len(payload.json))
    return _with(request, kept)


def _carried(request: Any) -> Payload | None:
    if type(request) is Settle:
        return request.outcome.result if type(request.outcome) is Happened else None
    if type(request) is Note:
        return request.state
    return request.result if type(request) is Resolution else None


def _with(request: Any, payload: Payload) -> Request:
    replace = msgspec.structs.replace
    if type(request) is Settle:
        return replace(request, outcome=replace(request.outcome, result=payload))
    if type(request) is Note:
        return replace(request, state=payload)
    resolution: Resolution = replace(request, result=payload)
    return resolution


def _without(request: Any, reason: str) -> Request:
    if type(request) is not Settle:
        raise ResultNotStored(f"the value cannot be stored: {reason}")
    replace = msgspec.structs.replace
    return replace(request, outcome=replace(request.outcome, result=None, unstored=reason))


def payload_of(files: Files, held: Settled | Saved) -> Payload | None:
    """The value that a settled step or a saved state holds.

    Raises:
        LedgerCorrupt: its file is missing or not what was written.
    """
    if held.file is not None:
        files.find()
        assert files.ledger is not None
        return Payload(results.load(files.ledger, held.file, held.size or 0), held.typed)
    raw = held.result if isinstance(held, Settled) else held.state
    return Payload(bytes(raw), held.typed) if memoryview(raw) else None
