"""The bytes of one file, as programs see them and as the disk may have them.

What was written since the last sync may be on the disk or not, each sector by itself, in any version that it went
through; a file's size may be older than its bytes, or newer. A sync that failed leaves the cache saying one thing and
the disk perhaps another, and no later sync settles that for a sector that is not written again.
"""

from __future__ import annotations

from typing import Protocol

__all__ = ["SECTOR", "Choice", "Pages"]

SECTOR = 512


class Choice(Protocol):
    """Decides what a power cut leaves; the first of several versions is always the one of the last sync."""

    def size(self, sizes: list[int]) -> int:
        """Which of these sizes the file has."""
        ...

    def sectors(self, versions: dict[int, list[bytes]]) -> dict[int, bytes]:
        """What each of these sectors holds."""
        ...

    def happened(self, what: str) -> bool:
        """Whether this change of a name is on the disk."""
        ...


class Pages:
    """``live`` is what a read gives. ``disk`` is what the last sync put there, and ``versions`` has, of each
    sector that the disk may have otherwise, what else it may be. ``lost`` are those of them that a failed sync marked clean."""

    def __init__(self, data: bytes = b"") -> None:
        self.live = bytearray(data)
        self.disk = bytes(data)
        self.versions: dict[int, list[bytes]] = {}
        self.sizes: list[int] = []
        self.lost: set[int] = set()
        self.errors = 0
        self.error_was_seen = True

    def write(self, data: bytes, offset: int) -> None:
        if not data:
            return
        end = offset + len(data)
        before = len(self.live)
        if offset > before:
            self.live.extend(bytes(offset - before))
        self.live[offset:end] = data
        if end > before:
            self.sizes.append(end)
        self._changed(min(offset, before), end)

    def truncate(self, size: int) -> None:
        before = len(self.live)
        if size < before:
            del self.live[size:]
        else:
            self.live.extend(bytes(size - before))
        self.sizes.append(size)
        self._changed(min(size, before), max(size, before))

    def _changed(self, begin: int, end: int) -> None:
        for sector in range(begin // SECTOR, -(-end // SECTOR)):
            at = sector * SECTOR
            self.versions.setdefault(sector, []).append(bytes(self.live[at : at + SECTOR]))
            self.lost.discard(sector)

    # --- syncs ----------------------------------------------------------------------------------------------------

    def sync(self, *, data_only: bool = False) -> None:
        """What is dirty gets to the disk. A data sync needs not tell the disk that the file shrank."""
        size = len(self.live)
        if self.lost:
            self._sync_some()
        else:
            kept = self.disk[size:] if data_only else b""
            self.disk = bytes(self.live) + kept
            self.versions.clear()
            self.sizes = [size] if kept else []
            if kept:
                self._changed(size, size + len(kept))

    def _sync_some(self) -> None:
        """Sectors that an earlier sync lost stay as uncertain as they were; the size is no page, and is not lost."""
        size = len(self.live)
        disk = bytearray(self.disk[:size].ljust(size, b"\0"))
        for sector in [
            sector for sector in self.versions if sector not in self.lost or sector * SECTOR >= size
        ]:
            at = sector * SECTOR
            disk[at : at + SECTOR] = self.live[at : at + SECTOR]
            del self.versions[sector]
            self.lost.discard(sector)
        self.sizes = []
        self.disk = bytes(disk)

    def fail(self) -> None:
        """A sync failed: what was dirty is marked clean, wherever it is, and every open file hears of it once."""
        self.lost |= self.versions.keys()
        self.errors += 1
        self.error_was_seen = False

    def evict(self, choice: Choice) -> None:
        """The cache drops what it holds to be clean: from now on reads give what the disk has of it."""
        found = choice.sectors({s: [self._on_disk(s), *self.versions[s]] for s in sorted(self.lost)})
        disk = bytearray(self.disk)
        for sector, held in found.items():
            at = sector * SECTOR
            data = held.ljust(SECTOR, b"\0")
            self.live[at : at + SECTOR] = data[: max(0, len(self.live) - at)]
            disk[at : at + SECTOR] = data[: max(0, len(disk) - at)]
            del self.versions[sector]
        self.disk = bytes(disk)
        self.lost.clear()

    # --- the cut --------------------------------------------------------------------------------------------------

    def _on_disk(self, sector: int) -> bytes:
        return self.disk[sector * SECTOR : (sector + 1) * SECTOR]

    def after_cut(self, choice: Choice) -> Pages:
        """The file as it is found after a power cut."""
        if not self.versions and not self.sizes:
            return Pages(self.disk)
        size = choice.size([len(self.disk), *self.sizes]) if self.sizes else len(self.disk)
        found = choice.sectors({s: [self._on_disk(s), *self.versions[s]] for s in sorted(self.versions)})
        data = bytearray(max(len(self.disk), (max(found, default=0) + 1) * SECTOR, size))
        data[: len(self.disk)] = self.disk
        for sector, held in found.items():
            at = sector * SECTOR
            data[at : at + SECTOR] = held.ljust(SECTOR, b"\0")
        return Pages(bytes(data[:size]))
