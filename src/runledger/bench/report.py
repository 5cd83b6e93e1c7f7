"""What was measured, as text for a person and as one JSON object."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from runledger.bench.disk import Device
from runledger.bench.steps import Finding, Measured
from runledger.bench.timing import Spread

__all__ = ["SCHEMA", "as_json", "as_text"]

SCHEMA = "runledger.bench.steps/1"

SAID = {
    "bare disk": "two writes over filler, each synced: what the disk allows",
    "SQLite": "the same two facts in SQLite (WAL, FULL), one transaction each",
    "durable": "intent and commit each on the disk before the call goes on",
    "riding": 'commit="riding": the commit waits for the next intent',
    "idempotent": "idempotent=True: no sync of its own",
    "repeated": "a step that is committed already",
}


def as_text(measured: Measured) -> Iterator[str]:
    """Lines, the verdict on the syncs first."""
    syncs = measured.syncs
    yield f"{measured.directory}: {_device(measured.device)}"
    verdict = "real as far as can be told" if syncs.real else "NOT REAL, nothing here outlives a power cut"
    yield f"syncs are {verdict}: {syncs.why}"
    growth = syncs.append.median / syncs.overwrite.median
    yield f"syncing a file that grows costs {growth:.1f} x one that is prefilled, as the journal is"
    yield ""
    yield f"{'one step':24}{'µs':>9}{'from':>9}{'to':>9}{'x SQLite':>10}{'x disk':>8}"
    for finding in measured.findings:
        yield _line(finding)
    yield ""
    yield from _expect(measured)


def _device(device: Device) -> str:
    journal = {True: " with a journal", False: " without a journal", None: ""}[device.journal]
    return f"{device.filesystem}{journal} on {device.source} ({device.options})"


def _line(finding: Finding) -> str:
    median, low, high = (seconds * 1e6 for seconds in finding.seconds)
    disk = f"{finding.times_disk.median:.2f}" if finding.times_disk is not None else ""
    return (
        f"{finding.name:24}{median:9.1f}{low:9.1f}{high:9.1f}{finding.times_sqlite.median:10.2f}{disk:>8}"
        f"  {SAID.get(finding.name, '')}".rstrip()
    )


def _expect(measured: Measured) -> Iterator[str]:
    by_name = {finding.name: finding.seconds.median for finding in measured.findings}
    durable, riding, idempotent = (by_name[name] for name in ("durable", "riding", "idempotent"))
    yield f"Expect about {1 / durable:,.0f} durable steps a second from one thread here."
    more, most = durable / riding, durable / idempotent
    yield f"Riding commits make that {more:.1f} times, `idempotent=True` {most:.0f} times as many."
    yield f"A step whose effect takes a second is {durable * 100:.2g} % slower for being recorded."


def _spread(seconds: Spread) -> dict[str, float]:
    return {"median": seconds.median, "low": seconds.low, "high": seconds.high}


def as_json(measured: Measured) -> dict[str, Any]:
    """All of it; times in seconds, spreads from quartile to quartile."""
    device, syncs = measured.device, measured.syncs
    return {
        "schema": SCHEMA,
        "directory": measured.directory,
        "filesystem": device.filesystem,
        "source": device.source,
        "options": device.options,
        "journal": device.journal,
        "syncs_real": syncs.real,
        "why": syncs.why,
        "write_s": _spread(syncs.write),
        "sync_s": _spread(syncs.overwrite),
        "sync_growing_s": _spread(syncs.append),
        "steps": [
            {
                "name": f.name,
                "seconds": _spread(f.seconds),
                "times_sqlite": _spread(f.times_sqlite),
                "times_disk": None if f.times_disk is None else _spread(f.times_disk),
            }
            for f in measured.findings
        ],
        "took_s": measured.took_s,
    }
