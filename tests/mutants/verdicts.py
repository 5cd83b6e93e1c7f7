"""Bugs in what counts as a record, in who is taken to be alive, and in what is decided on it."""

from __future__ import annotations

from tests.mutants.planting import Change, Mutant

__all__ = ["MUTANTS"]

SEGMENT = ("tests/unit/test_segment.py",)
OWNER = ("tests/unit/test_owner.py",)
FRAME = ("tests/unit/test_frame.py",)

MUTANTS = {
    "checksum-not-checked": Mutant(
        "A line is a record whatever its checksum says.",
        (
            Change(
                "local/frame.py",
                ' == b"%08x" % crc32(memoryview(line)[:-_CRC_BYTES], seed)',
                ' != b"%d" % seed',
            ),
        ),
        FRAME,
    ),
    "checksums-of-many-not-checked": Mutant(
        "Lines that are decoded together are records whatever their checksums say.",
        (Change("local/frame.py", "return all(line", "return True or all(line"),),
        SEGMENT,
    ),
    "checksum-fits-any-segment": Mutant(
        "A checksum binds a line to no segment, so that a stale line of another one is a record.",
        (Change("local/frame.py", "return crc32(segment.encode())", "return 0 * len(segment)"),),
        FRAME,
    ),
    "gap-not-noticed": Mutant(
        "A record need not have the number that follows the one before it.",
        (Change("local/segment.py", "if record.lsn != walk.lsn + 1:", "if record.lsn <= walk.lsn:"),),
        SEGMENT,
    ),
    "any-later-record-is-proof": Mutant(
        "A valid record behind a hole proves that the hole was on the disk.",
        (Change("local/segment.py", "if record.durable > after:", "if first:"),),
        ("tests/unit/test_segment.py::test_hole_of_unsynced_records_is_torn",),
    ),
    "no-record-is-proof": Mutant(
        "A hole that a later record knew to be on the disk is cut as a torn tail.",
        (Change("local/segment.py", "if record.durable > after:", "if not first:"),),
        SEGMENT,
    ),
    "line-in-the-writing-is-torn": Mutant(
        "A reader without the lock takes a record that is being written for the work of a crash.",
        (Change("local/segment.py", "continue  # a writer", "pass  # a writer"),),
        SEGMENT,
    ),
    "later-version-guessed": Mutant(
        "A field that a later version wrote is passed over.",
        (
            Change(
                "record.py",
                'tag_field="t", kw_only=True, omit_defaults=True, forbid_unknown_fields=True',
                'tag_field="t", kw_only=True, omit_defaults=True',
            ),
        ),
        FRAME,
    ),
    "lost-intents-forgotten": Mutant(
        "A key of which nothing is known is new, though intents are lost that may be its own.",
        (
            Change(
                "decisions/claims.py", "view.damage if d.intents > d.sure]", "view.damage if d.intents < 0]"
            ),
        ),
        ("tests/damage/test_any_damage.py",),
    ),
    "damage-compacted-away": Mutant(
        "A compaction drops segments with damage in them.",
        (Change("local/compactor.py", "if fresh:", "if not view:"),),
        ("tests/cases/test_rl_03_damage_in_the_middle.py",),
    ),
    "one-tree-believed": Mutant(
        "A step that one tree of the history does not find was never there.",
        (
            Change(
                "local/history.py",
                "UNION ALL SELECT NULL, 0 FROM witness WHERE id = ?2 LIMIT 1",
                "LIMIT ?2 > ''",
            ),
        ),
        ("tests/unit/test_history.py",),
    ),
    "older-outcome-wins": Mutant(
        "Folding an older batch again puts an older outcome in the place of a newer one.",
        (Change("local/history_fold.py", "if row.lsn > lsn:", "if row.lsn != lsn:"),),
        ("tests/unit/test_history.py",),
    ),
    "slice-that-claims-all": Mutant(
        "A history says that it is folded to the end when only a part of the steps is in it.",
        (Change("local/history_fold.py", "min(part[-1].lsn, lsn) if following", "lsn if following"),),
        ("tests/unit/test_history_slices.py",),
    ),
    "checkpoint-with-every-slice": Mutant(
        "The history's copy of the checkpoint covers steps that are not in it yet.",
        (Change("local/history_fold.py", "None if following else checkpoint", "checkpoint"),),
        ("tests/unit/test_history_slices.py",),
    ),
    "slice-sorted-by-luck": Mutant(
        "Outcomes are folded in the order in which they come, so that a history claims more than it has.",
        (Change("local/history_fold.py", "if settled.lsn < last:", "if settled.lsn < 0:"),),
        ("tests/unit/test_history_slices.py",),
    ),
    "folded-step-forgotten-early": Mutant(
        "A handle drops settled steps from memory that are not in the history.",
        (Change("local/reader.py", "and step.lsn <= self.base", ""),),
        ("tests/unit/test_forgetting.py",),
    ),
    "miss-for-ever": Mutant(
        "A key that the history did not know once is never asked for again.",
        (Change("local/reader.py", "self._missed == (identity, self.base)", "self._missed is not None"),),
        ("tests/unit/test_history_misses.py",),
    ),
    "closed-under-a-sync": Mutant(
        "A handle that reads anew closes the segment that another thread of it is about to sync.",
        (
            Change(
                "local/reader.py",
                "self.journal = None  # not closed",
                "self.journal = self.journal and self.journal.file and self.journal.file.close()  #",
            ),
        ),
        ("tests/unit/test_segment_files.py",),
    ),
    "read-under-the-lock": Mutant(
        "A handle reads the whole journal while it holds the append lock.",
        (
            Change(
                "local/sequencer.py",
                "if self.reader.stale:\n            self.reader.read_ahead()",
                "if False:\n            pass",
            ),
        ),
        ("tests/unit/test_reading_ahead.py",),
    ),
    "read-and-lost": Mutant(
        "What was read just before a handler's exception is never folded, so that a committed step runs again.",
        (
            Change(
                "local/reader.py",
                "self.stale = True\n            try:\n                records",
                "self.stale = False\n            try:\n                records",
            ),
        ),
        ("tests/unit/test_interrupted_reading.py",),
    ),
    "judged-by-pid-alone": Mutant(
        "An owner lives if some process has its pid.",
        (
            Change("local/owner.py", "locked = _is_locked(owners, owner.id)\n", "locked = None\n"),
            Change("local/owner.py", "owner.start if here.start else 0", "0"),
        ),
        OWNER,
    ),
    "start-time-not-compared": Mutant(
        "A process that has a dead owner's pid is that owner.",
        (Change("local/owner.py", "owner.start if here.start else 0", "0"),),
        OWNER,
    ),
    "living-owners-file-removed": Mutant(
        "The lock file of a living owner is removed with the leftovers.",
        (Change("local/owner.py", "if _lock_in_time(owners, file) and _is_named", "if _is_named"),),
        OWNER,
    ),
    "child-keeps-its-parents-lock": Mutant(
        "A forked child keeps its parent's lock, so that the parent seems to live as long as the child.",
        (Change("local/owner.py", "os.register_at_fork(after_in_child=_forked)", "assert _forked"),),
        OWNER,
    ),
    "child-uses-its-parents-handle": Mutant(
        "A forked child may go on with its parent's handle.",
        (Change("local/sequencer.py", "if self.forked:", "if not self.reader:"),),
        ("tests/cases/test_rl_47_threads_and_tasks.py",),
    ),
    "no-append-lock": Mutant(
        "Two writers append at once.",
        (
            Change(
                "local/sequencer.py",
                "if not lock.lock():\n                self._wait_for(lock)",
                "lock.lock()",
            ),
        ),
        ("tests/cases/test_rl_05_many_writers.py",),
    ),
    "any-attempt-is-resolved": Mutant(
        "A resolution that was meant for one attempt settles a later one.",
        (Change("decisions/settling.py", "if x.lsn is not None and step.lsn != x.lsn:", "if not x:"),),
        ("tests/api/test_resolve.py",),
    ),
    "late-session-commits": Mutant(
        "A session settles its step with a token that is not its own.",
        (Change("decisions/settling.py", "if nonce is not None and step.nonce != nonce:", "if not tx:"),),
        ("tests/cli/test_tokens.py",),
    ),
    "exception-means-nothing-happened": Mutant(
        "A body that raised is taken not to have had its effect.",
        (Change("attempt.py", "Uncertain(failure=failure_of(error))", "Aborted(reason=reason_of(error))"),),
        ("tests/cases/test_rl_38_exceptions_of_any_kind.py",),
    ),
    "edit-of-others-overwritten": Mutant(
        "The state file is replaced though somebody changed it since it was looked at.",
        (
            Change(
                "local/snapshot.py",
                "if self._base != self._seen or self.directory.stat(STATE) != self._seen:",
                "if not name:",
            ),
        ),
        ("tests/unit/test_snapshot.py",),
    ),
}
