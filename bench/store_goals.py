"""Goals of large ledgers: claims, opening, replay, verify, and compaction under way."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence

from bench import stores
from bench.interleave import shuffled
from bench.setting import Setting
from bench.table import Row, at_most, guarded
from runledger.bench.timing import Spread, spread

__all__ = ["GOALS", "measure"]

ROUNDS = 5
Found = dict[str, list[dict[str, float]]]


def measure(setting: Setting, names: Sequence[str]) -> Iterator[Row]:
    """The rows of the goals that are named."""
    for name in names:
        yield from guarded(name, GOALS[name](setting))


def _interleaved(setting: Setting, probes: dict[str, tuple[str, str, object]], rounds: int = ROUNDS) -> Found:
    """Each probe once a round, in a new order; a probe is a name, a store and an argument."""
    found: Found = {label: [] for label in probes}
    for _ in range(rounds):
        for label in shuffled(probes):
            name, store, argument = probes[label]
            found[label].append(setting.probe(name, setting.scratch / store, argument))
    return found


def _of(found: Found, label: str, field: str) -> Spread:
    return spread([f[field] for f in found[label]])


def _ratio(found: Found, above: str, below: str, field: str) -> Spread:
    return spread([a[field] / b[field] for a, b in zip(found[above], found[below], strict=True)])


def _histories(setting: Setting) -> None:
    for name, steps in (("history-large", setting.large), ("history-1000", 1000), ("history-0", 0)):
        if not (setting.scratch / name).exists():
            stores.folded(setting.scratch / name, steps)


def _claim(setting: Setting) -> Iterator[Row]:
    _histories(setting)
    large = f"{setting.large:,}"
    found = _interleaved(
        setting,
        {
            "large": ("hit", "history-large", setting.large),
            "small": ("hit", "history-1000", 1000),
            "miss": ("miss", "history-large", ""),
        },
    )
    yield at_most(
        f"claim of a committed key, history of {large} keys", 25, _of(found, "large", "us"), unit=" µs"
    )
    yield at_most(f"the same ÷ a history of 1,000, {large} keys", 2, _ratio(found, "large", "small", "us"))
    note = f"a key that was never seen, looked up: {_of(found, 'miss', 'us').median:.1f} µs"
    yield Row(f"a miss, history of {large} keys", "", "", None, note)


def _open(setting: Setting) -> Iterator[Row]:
    _histories(setting)
    for probe, said in (("look", "open, status and a look-up"), ("begin", "open and a first step")):
        found = _interleaved(
            setting, {"large": (probe, "history-large", ""), "empty": (probe, "history-0", "")}, rounds=11
        )
        what = f"{said}, {setting.large:,} steps folded"
        yield at_most(f"{what} ÷ an empty ledger (CPU)", 2, _ratio(found, "large", "empty", "ms"))
        more = spread([a["mb"] - b["mb"] for a, b in zip(found["large"], found["empty"], strict=True)])
        yield at_most(f"{what}: memory beyond an empty ledger's", 10, more, unit=" MB")


def _replay(setting: Setting) -> Iterator[Row]:
    steps = setting.large // 2
    sealed, whole, rows = (setting.scratch / name for name in ("sealed", "unsealed", "rows.db"))
    if not sealed.exists():
        stores.unfolded(sealed, steps)
        stores.unfolded(whole, steps, segment_bytes=1 << 40)
        stores.as_sqlite(sealed, rows)
    found = _interleaved(
        setting,
        {
            "replay, sealed segments": ("replayed", "sealed", steps),
            "replay, one unsealed segment": ("replayed", "unsealed", steps),
            "verify, sealed segments": ("verified", "sealed", ""),
            "verify, one unsealed segment": ("verified", "unsealed", ""),
            "decoding, sealed segments": ("decoded", "sealed", steps),
            "decoding, one unsealed segment": ("decoded", "unsealed", steps),
            "rows": ("rows_decoded", "sealed", rows),
            "folded": ("rows_folded", "sealed", rows),
        },
        rounds=3,
    )
    for label in list(found)[:6]:
        base = "rows" if label.startswith("decoding") else "folded"
        limit = 0.65 if "sealed segments" in label else 1.0
        rows_too = "rows" if base == "rows" else "rows and their fold"
        what = f"{label} of {2 * steps:,} records ÷ SQLite's {rows_too} (CPU)"
        yield at_most(what, limit, _ratio(found, label, base, "s"))
    for label in list(found)[:4]:
        yield at_most(
            f"{label} of {2 * steps:,} records: peak memory", 120, _of(found, label, "mb"), unit=" MB"
        )


def _compaction(setting: Setting) -> Iterator[Row]:
    steps = 10_000 if setting.quick else 100_000
    for who, said in (("other", "by another process"), ("own", "by the writer's own handle")):
        times = []
        for number in range(3):
            place = setting.scratch / f"tail-{who}-{number}"
            stores.unfolded(place, steps)
            times.append(setting.probe("compacting", place, who))
            shutil.rmtree(place)
        longest = spread([t["longest_ms"] / t["p99_ms"] for t in times])
        usual = spread([t["p99_ms"] for t in times]).median
        note = f"{times[0]['steps']:.0f} steps meanwhile, usual p99 {usual:.2f} ms"
        yield at_most(
            f"compaction of {steps:,} steps {said}: a writer's longest step ÷ its p99", 20, longest, note=note
        )


GOALS: dict[str, Callable[[Setting], Iterator[Row]]] = {
    "claim": _claim,
    "open": _open,
    "replay": _replay,
    "compaction": _compaction,
}
