"""Histories of any shape: where one stops to look never changes what is seen at the end."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from runledger import record as r
from runledger.fold import advance, fold
from runledger.local import checkpoint
from runledger.view import Damage, Identity, Settled, View

NAMES = st.sampled_from(["pay", "publish"])
KEYS = st.sampled_from(["a", "b", "c", None])
SCOPES = st.sampled_from(["run", "run", "ledger"])
DOCUMENTS = [f'{{"plan_id": "p", "state": "{word}"}}' for word in ("RUNNING", "HALTED", "?")]
AT = "2026-11-29T14:20:11.{:06d}Z"

KINDS = [
    *["intent"] * 3,
    *["commit"] * 2,
    *["abort", "doubt", "mark", "checkpoint", "resolved", "heartbeat", "opened", "closed", "lost", "sprint"],
    *["halted", "resumed", "observed", "started", "finished", "damage", "compacted", "torn"],
]


@st.composite
def histories(draw: st.DrawFn) -> list[r.Record | Damage]:
    """Records with true numbers and counts, in any order that a journal may hold."""
    items: list[r.Record | Damage] = []
    steps = lsn = runs = 0
    intents: list[tuple[int, str, str | None, str]] = []
    for kind in ["started", *draw(st.lists(st.sampled_from(KINDS), max_size=30))]:
        lsn += 1
        owner = draw(st.sampled_from(["o-1", "o-2"]))
        runs += kind == "started"
        if kind == "damage":
            lost = draw(st.integers(0, 2))
            steps += lost
            last = lsn + draw(st.integers(lost, 3))
            items.append(Damage(file="f", offset=1, first=lsn, last=last, reason="bad", intents=lost))
            lsn = last
            continue
        steps += kind == "intent"
        common: dict[str, Any] = {
            "lsn": lsn,
            "at": AT.format(lsn),
            "run": f"r-{runs}",
            "owner": owner,
            "steps": steps,
        }
        of, name, key, scope = draw(st.sampled_from(intents)) if intents else (0, "pay", "z", "run")
        if kind == "intent":
            name, key, scope = draw(NAMES), draw(KEYS), draw(SCOPES)
            intents.append((lsn, name, key, scope))
            items.append(r.Intent(**common, name=name, key=key, scope=scope))
        else:
            items.append(_other(draw, kind, common, of, name, key, scope))
    return items


def _other(
    draw: st.DrawFn, kind: str, common: dict[str, Any], of: int, name: str, key: str | None, scope: str
) -> r.Record:
    fields: dict[str, dict[str, Any]] = {
        "commit": {"of": of, "name": name, "key": key, "scope": scope, "result": msgspec.Raw(b"[1]")},
        "abort": {"of": of},
        "doubt": {"of": of, "failure": r.Failure("OSError")},
        "mark": {"of": of, "label": "m", "data": msgspec.Raw(b"{}")},
        "checkpoint": {"of": of, "state": msgspec.Raw(b"1")},
        "resolved": {
            "of": of,
            "happened": draw(st.booleans()),
            "reason": "x",
            "name": name,
            "key": key,
            "scope": scope,
        },
        "opened": {"pid": 1, "start": 2, "boot": "b", "pidns": "p", "host": "h", "version": "v"},
        "lost": {"who": draw(st.sampled_from(["o-1", "o-2"])), "proof": "x"},
        "sprint": {
            "id": draw(st.sampled_from("12")),
            "status": draw(st.sampled_from(["in_progress", "completed"])),
        },
        "halted": {"reason": "x"},
        "observed": {"document": draw(st.sampled_from(DOCUMENTS))},
        "started": {"plan_id": "p", "sprints": ["1", "2"]},
        "torn": {"segment": "s", "offset": 1, "size": 2},
    }
    made: r.Record = r.RECORDS[kind](**common, **fields.get(kind, {}))
    return made


def plain(value: Any) -> Any:
    """Everything that a view says, comparable: payloads as their bytes, the order of dicts left out."""
    if isinstance(value, msgspec.Raw):
        return bytes(value)
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


@settings(deadline=None)
@given(histories(), st.data())
def test_fold_of_a_whole_is_the_fold_of_its_parts(
    items: list[r.Record | Damage], data: st.DataObject
) -> None:
    """``fold(a + b) == fold(fold(a), b)``, wherever the cut is."""
    cut = data.draw(st.integers(0, len(items)))
    start = View(ledger="00")
    assert plain(fold(start, items)) == plain(fold(fold(start, items[:cut]), items[cut:]))


def answers(view: View, history: dict[Identity, Settled]) -> dict[Identity, Any]:
    """What a look-up says of each step: an open attempt first, then an outcome, then a folded outcome."""
    known = {**history, **view.settled, **{identity: view.open[lsn] for identity, lsn in view.keys.items()}}
    return {identity: plain(step) for identity, step in known.items()}


@settings(deadline=None)
@given(histories(), st.data())
def test_checkpoint_anywhere_changes_no_answer(items: list[r.Record | Damage], data: st.DataObject) -> None:
    """A view that went through a checkpoint, its settled steps through the history, ends as a replay."""
    cut = data.draw(st.integers(0, len(items)))
    whole = fold(View(ledger="00"), items)
    first = fold(View(ledger="00"), items[:cut])
    second = checkpoint.decode(checkpoint.encode(first), "checkpoint.json")
    for item in items[cut:]:
        advance(second, item)
    assert answers(second, first.settled) == answers(whole, {})
    bare = [plain(msgspec.structs.replace(view, settled={})) for view in (second, whole)]
    assert bare[0] == bare[1]


@settings(deadline=None)
@given(histories())
def test_counts_follow_the_numbers(items: list[r.Record | Damage]) -> None:
    """The view's LSN and its count of intents are the journal's own, lost ones among them."""
    view = fold(View(ledger="00"), items)
    last = items[-1]
    assert view.lsn == (last.last if isinstance(last, Damage) else last.lsn)
    seen = sum(type(x) is r.Intent for x in items)
    lost = sum(x.intents for x in items if isinstance(x, Damage))
    assert view.steps == seen + lost


@settings(deadline=None)
@given(histories())
def test_an_identity_is_open_once_or_settled(items: list[r.Record | Damage]) -> None:
    """Keys lead to open steps, and every open step with a key is found by it."""
    view = fold(View(ledger="00"), items)
    assert set(view.keys.values()) <= set(view.open)
    assert all(view.open[lsn].name == identity.name for identity, lsn in view.keys.items())
