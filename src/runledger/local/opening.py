"""Opening a segment: its header says of which ledger it is and where its place is; any other is refused by name."""

from __future__ import annotations

from runledger.errors import DiskRefused, LedgerCorrupt, NewerVersion
from runledger.local import frame
from runledger.local.directory import Directory, File, is_misshapen
from runledger.local.frame import BadLine, Header
from runledger.view import Damage

__all__ = ["corrupt", "open_segment"]


def open_segment(
    directory: Directory,
    name: str,
    first: int,
    ledger: str | None,
    *,
    after: str | None = None,
    write: bool = False,
) -> tuple[File, Header, int] | None:
    """The segment's file, header and the offset of its first record; None where the file is gone. ``after`` is the
    segment that it must follow, where that is known.

    Raises:
        LedgerCorrupt: the header is damaged, or belongs to another ledger or another place.
    """
    try:
        file = directory.open(name, write=write)
    except DiskRefused as error:
        if is_misshapen(error):
            raise corrupt(f"{directory.path}/{name}", 0, first, "it is not a regular file") from error
        raise
    if file is None:
        return None
    try:
        head = file.pread(4096, 0)
        line, newline, _ = head.partition(b"\n")
        header = _header_in(line if newline else b"", file.path, first)
        if ledger is not None and header.ledger != ledger:
            raise corrupt(file.path, 0, first, f"it belongs to another ledger ({header.ledger})")
        if header.first != first:
            raise corrupt(file.path, 0, first, f"its header says that it begins with LSN {header.first}")
        if after is not None and header.previous not in {None, after}:
            raise corrupt(file.path, 0, first, "it does not follow the segment before it")
    except BaseException:
        file.close()
        raise
    return file, header, len(line) + 1


def _header_in(line: bytes, path: str, first: int) -> Header:
    try:
        return frame.header_of(line)
    except BadLine as bad:
        raise corrupt(path, 0, first, str(bad)) from bad
    except NewerVersion as error:
        raise NewerVersion(f"{path}, offset 0: {error.message}", hint=error.hint) from error


def corrupt(path: str, offset: int, lsn: int, reason: str) -> LedgerCorrupt:
    """The error for damage that leaves nothing to go on with."""
    finding = Damage(file=path, offset=offset, first=lsn, last=lsn, reason=reason)
    return LedgerCorrupt(
        f"{path}, offset {offset}, LSN {lsn}: {reason}",
        hint="To see all of it: runledger verify. To make it usable again: runledger repair",
        damage=[finding],
    )
