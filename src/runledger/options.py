"""What can be tuned of a ledger, with the values that suit most runs."""

from __future__ import annotations

import msgspec

from runledger.arguments import number

__all__ = ["Options"]


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and intervals of one handle.

    Attributes:
        segment_bytes: a segment is rolled at the first record that ends beyond this.
        result_bytes: an encoded result or saved state of more bytes is not stored (``ResultNotStored``).
        lock_timeout: seconds to wait for the append lock before ``LedgerBusy``.
        flush_interval: seconds after which a record of an ``idempotent`` step is synced if no other sync came first.
        compact_after: settled steps in the journal after which a handle compacts by itself; 0 never does.
    """

    segment_bytes: int = 8 << 20
    result_bytes: int = 64 << 20
    lock_timeout: float = 30.0
    flush_interval: float = 0.05
    compact_after: int = 20_000

    def __post_init__(self) -> None:
        number("segment_bytes", self.segment_bytes, 1)
        number("result_bytes", self.result_bytes, 0)
        number("lock_timeout", self.lock_timeout, 0, whole=False)
        number("flush_interval", self.flush_interval, 0, whole=False)
        number("compact_after", self.compact_after, 0)
