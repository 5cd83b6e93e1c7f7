"""What `v1/` holds, written by hand: the fields of each record, in the order of the journal.

A field that is not listed is not in the line. Payloads are the bytes of their JSON.
"""

from __future__ import annotations

from typing import Any

LEDGER = "5ca1ab1e00000001"

ADOPTED = '{"plan_id": "p-1", "branch": "main", "state": "RUNNING", "extra": {"keep": 1.50}}\n'
EDITED = '{"plan_id": "p-1", "branch": "main", "state": "RUNNING", "extra": {"keep": 2.50}}\n'
RENEWED = '{"plan_id": "p-2", "branch": "dev", "extra": {"keep": 2.50}}\n'

LARGE = b'{"pages":["one","two"]}'
LARGE_DIGEST = "cc4696e3ef3faea1c971d5c4c1409a19e3feb877f3707cc9838f5b5346159e79"

OWNER = {"pid": 4711, "start": 123456, "boot": "3f1c", "pidns": "4026531836", "host": "build-1"}

# Each inner list is one call that appended, followed by a sync; each outer one is a segment.
SEGMENTS: list[list[list[dict[str, Any]]]] = [
    [
        [
            {"t": "opened", "owner": "o-1", **OWNER, "version": "0.1.0"},
            {"t": "adopted", "run": "r-1", "owner": "o-1", "document": ADOPTED, "forced": True},
            {
                "t": "intent",
                "run": "r-1",
                "owner": "o-1",
                "name": "pay",
                "key": "a",
                "inputs": "00112233445566778899aabbccddeeff",
                "code": "0123456789abcdef",
            },
        ],
        [{"t": "mark", "run": "r-1", "owner": "o-1", "of": 3, "label": "sent", "data": b'{"id":7}'}],
        [
            {
                "t": "commit",
                "run": "r-1",
                "owner": "o-1",
                "of": 3,
                "name": "pay",
                "key": "a",
                "inputs": "00112233445566778899aabbccddeeff",
                "result": b'{"$tuple":["url",1.50]}',
                "typed": True,
            }
        ],
        [{"t": "intent", "run": "r-1", "owner": "o-1", "name": "note"}],
        [{"t": "abort", "run": "r-1", "owner": "o-1", "of": 6, "reason": "refused", "probed": True}],
        [{"t": "compacted", "run": "r-1", "owner": "o-1"}],
    ],
    [
        [
            {
                "t": "intent",
                "run": "r-1",
                "owner": "o-1",
                "name": "publish",
                "key": "ü/\n1",
                "scope": "ledger",
                "unfingerprinted": ["session"],
                "idempotent": True,
                "probed": True,
            }
        ],
        [{"t": "checkpoint", "run": "r-1", "owner": "o-1", "of": 9, "state": b"[5]"}],
        [
            {
                "t": "doubt",
                "run": "r-1",
                "owner": "o-1",
                "of": 9,
                "failure": {"type": "TimeoutError", "message": "no answer"},
            }
        ],
        [
            {
                "t": "resolved",
                "run": "r-1",
                "owner": "o-1",
                "of": 9,
                "happened": True,
                "reason": "it is there",
                "name": "publish",
                "key": "ü/\n1",
                "scope": "ledger",
                "file": LARGE_DIGEST,
                "size": len(LARGE),
            }
        ],
        [{"t": "sprint", "run": "r-1", "owner": "o-1", "id": "2", "status": "in_progress"}],
        [{"t": "halted", "run": "r-1", "owner": "o-1", "reason": "no disk"}],
        [{"t": "resumed", "run": "r-1", "owner": "o-1", "by": "kim"}],
        [{"t": "observed", "run": "r-1", "owner": "o-1", "document": EDITED}],
        [
            {
                "t": "observed",
                "run": "r-1",
                "owner": "o-1",
                "rejected": "sprint-plan-state.json.rejected-1",
                "ignored": "it ends too early",
            }
        ],
        [{"t": "heartbeat", "run": "r-1", "owner": "o-1"}],
        [
            {
                "t": "intent",
                "run": "r-1",
                "owner": "o-1",
                "name": "open-pr",
                "key": "b",
                "attempt": 2,
                "parent": 9,
                "lease": "2026-01-02T03:19:05.000000Z",
                "nonce": "a1b2c3d4e5f6",
            }
        ],
        [
            {
                "t": "commit",
                "run": "r-1",
                "owner": "o-1",
                "of": 19,
                "name": "open-pr",
                "key": "b",
                "attempt": 2,
                "unstored": "it has 99999999 bytes",
                "probed": True,
            }
        ],
        [{"t": "finished", "run": "r-1", "owner": "o-1", "forced": True, "reason": "enough"}],
    ],
    [
        [
            {
                "t": "opened",
                "owner": "o-2",
                **OWNER,
                "version": "0.1.0",
                "commit": "riding",
                "program": "nightly",
            },
            {"t": "lost", "owner": "o-2", "who": "o-1", "proof": "dead: its lock is free"},
            {"t": "torn", "owner": "o-2", "segment": "00000000000000000022.jsonl", "offset": 141, "size": 77},
            {
                "t": "started",
                "run": "r-2",
                "owner": "o-2",
                "plan_id": "p-2",
                "branch": "dev",
                "declared_branch": True,
                "sprints": ["1", "2"],
                "document": RENEWED,
                "replaces": "0badcafe",
            },
            {"t": "intent", "run": "r-2", "owner": "o-2", "name": "pay", "key": "a"},
        ],
        [{"t": "abandoned", "run": "r-2", "owner": "o-2", "reason": "another plan"}],
        [{"t": "closed", "owner": "o-2"}],
    ],
]

FOLDED_UPTO = 8
"""What checkpoint and history cover; the first segment is there still, as after a crash amid compaction."""
