"""Bugs in what is durable when, and in what a crash leaves behind."""

from __future__ import annotations

from tests.mutants.planting import Change, Mutant

__all__ = ["MUTANTS"]

CUTS = ("tests/crash/test_every_call.py::test_a_power_cut_at_any_call",)
SYNC = "self.sync(file, upto)\n            except DiskRefused as error:\n                for ticket"


def found(test: str) -> tuple[str, ...]:
    return (f"tests/crash/test_found.py::test_{test}",)


def journal(test: str) -> tuple[str, ...]:
    return (f"tests/unit/test_journal.py::test_{test}",)


MUTANTS = {
    "intent-not-synced": Mutant(
        "The body runs before its intent is on the disk.",
        (Change("local/sequencer.py", SYNC, f"type(batch[0].request) is Claim or {SYNC}"),),
        CUTS,
    ),
    "commit-not-synced": Mutant(
        "A commit is acknowledged before it is on the disk.",
        (Change("local/sequencer.py", SYNC, f"type(batch[0].request) is Settle or {SYNC}"),),
        CUTS,
    ),
    "segment-name-not-synced": Mutant(
        "The directory is not synced after a new segment got its name.",
        (Change("local/journal.py", "self.directory.sync()\n        file.path", "file.path"),),
        CUTS,
    ),
    "name-of-a-dead-maker-trusted": Mutant(
        "A writer trusts a segment's name that another process gave it and may not have synced.",
        (Change("local/journal.py", "self.directory.sync()\n            self.named", "self.named"),),
        found("a_segment_whose_maker_died_before_it_synced_the_name"),
    ),
    "header-not-synced": Mutant(
        "A segment gets its name before its header is on the disk.",
        (Change("local/journal.py", "file.sync()\n            if self.directory", "if self.directory"),),
        CUTS,
    ),
    "seal-not-synced": Mutant(
        "A segment gets a successor before it is on the disk itself.",
        (Change("local/journal.py", "len(seal))\n        self.file.sync()", "len(seal))"),),
        CUTS,
    ),
    "seal-of-a-dead-writer-trusted": Mutant(
        "A seal that its writer did not live to sync is taken to be on the disk.",
        (
            Change(
                "local/journal.py",
                "self._finish() if self.sealed else self._seal()\n        self.sealed = True\n        first",
                "self.sealed or self._seal()\n        self.sealed = True\n        first",
            ),
        ),
        found("a_seal_that_its_writer_did_not_live_to_sync"),
    ),
    "state-file-renamed-unsynced": Mutant(
        "The state file is replaced by one whose bytes are not on the disk.",
        (Change("local/files.py", "file.pwrite(data, 0)\n        file.sync()", "file.pwrite(data, 0)"),),
        CUTS,
    ),
    "state-file-name-not-synced": Mutant(
        "A move is acknowledged, and after a power cut the state file says the word before it.",
        (Change("local/state_keeper.py", "snapshot.directory.sync()", "pass"),),
        CUTS,
    ),
    "state-file-ahead-of-the-journal": Mutant(
        "The state file tells of records that are not on the disk.",
        (Change("local/state_keeper.py", "sequencer.sync(file, lsn)", "pass"),),
        found("a_state_file_that_is_due_while_records_ride"),
    ),
    "checkpoint-renamed-unsynced": Mutant(
        "The checkpoint is replaced by one whose bytes are not on the disk.",
        (Change("local/checkpoint.py", "pwrite(data, 0)\n            file.sync()", "pwrite(data, 0)"),),
        CUTS,
    ),
    "segments-dropped-early": Mutant(
        "Segments are deleted before the checkpoint that covers them is on the disk.",
        (
            Change(
                "local/compactor.py",
                "checkpoint.write(ledger, encoded)\n    dropped = _drop(ledger, upto)",
                "dropped = _drop(ledger, upto)\n    checkpoint.write(ledger, encoded)",
            ),
        ),
        CUTS,
    ),
    "checkpoint-before-history": Mutant(
        "The checkpoint covers steps before the history has them.",
        (
            Change(
                "local/compactor.py",
                "history = _history(sequencer, os.path",
                "checkpoint.write(ledger, encoded)\n    history = _history(sequencer, os.path",
            ),
        ),
        CUTS,
    ),
    "history-not-synced": Mutant(
        "The database of folded steps is told not to sync, and segments are deleted all the same.",
        (Change("local/history.py", "PRAGMA synchronous=FULL", "PRAGMA synchronous=OFF"),),
        ("tests/recorded/test_power_cut.py::test_a_power_cut_in_a_compaction",),
    ),
    "sync-tried-again": Mutant(
        "A sync that failed is tried again, and its success believed.",
        (
            Change(
                "local/directory.py",
                "os.fdatasync(self.fd)\n",
                "try:\n                os.fdatasync(self.fd)\n"
                "            except OSError:\n                os.fdatasync(self.fd)\n",
            ),
        ),
        ("tests/faults/test_failed_sync.py::test_nothing_is_acknowledged_after_it",),
    ),
    "failed-sync-forgotten": Mutant(
        "After a failed sync the handle goes on acknowledging.",
        (Change("local/sequencer.py", "self.failed = error\n            event", "event"),),
        ("tests/faults/test_failed_sync.py::test_nothing_is_acknowledged_after_it",),
    ),
    "unproven-not-rewritten": Mutant(
        "What was read and is not known to be on the disk is synced, but not written again first.",
        (Change("local/journal.py", "if self.unproven and self.file is not None:", "if not self.header:"),),
        journal("unproven_records_are_written_again"),
    ),
    "hole-made-durable": Mutant(
        "What was read is written again from a cache that has dropped a part of it.",
        (Change("local/journal.py", "if not frame.all_checked(lines, self.seed):", "if not lines:"),),
        found("a_refused_seal_and_a_cache_that_lost_a_part"),
    ),
    "durable-before-its-sync": Mutant(
        "A record says that another one is on the disk while its sync is still under way.",
        (
            Change(
                "local/sequencer.py",
                "began = time.monotonic()\n        try:",
                "began = time.monotonic()\n        if self.reader.journal is not None:\n"
                "            self.reader.journal.durable = max(self.reader.journal.durable, upto)\n        try:",
            ),
        ),
        found("a_record_says_nothing_of_a_sync_that_is_under_way"),
    ),
    "foreign-commit-trusted": Mutant(
        "A verdict rests on a commit of another process that is not on the disk.",
        (
            Change(
                "decisions/claims.py",
                "(Committed(settled), settled.lsn)",
                "(Committed(settled), 0)",
            ),
        ),
        found("a_commit_that_another_process_has_not_synced_yet"),
    ),
    "riding-commit-trusted": Mutant(
        "The quick way for a repeat answers with a commit that is not on the disk.",
        (Change("local/store.py", " or settled.lsn > journal.durable", ""),),
        found("a_riding_commit_that_answers_a_repeat"),
    ),
    "torn-tail-kept": Mutant(
        "The next records are written over a torn tail, and what is left of it stays behind them.",
        (
            Change(
                "local/journal.py",
                'self.file.pwrite(b"\\n" * (self.file.stat().size - torn.offset), torn.offset)',
                "pass",
            ),
        ),
        journal("torn_bytes_become_filler_before_anything_is_appended"),
    ),
    "cut-not-synced": Mutant(
        "A torn tail is cut, and records follow before the cut is on the disk.",
        (Change("local/journal.py", "torn.offset)\n        self.file.datasync()", "torn.offset)"),),
        journal("torn_bytes_become_filler_before_anything_is_appended"),
    ),
    "glued-to-a-fragment": Mutant(
        "The next record is appended to a last line that has lost its line feed.",
        (
            Change(
                "local/journal.py", 'pread(1, self.offset - 1) != b"\\n"', 'pread(1, self.offset - 1) == b""'
            ),
        ),
        ("tests/damage/test_last_line.py",),
    ),
    "zeros-kept": Mutant(
        "Zeros that a crash left behind the last record stay there.",
        (Change("local/journal.py", 'pread(1, self.offset) == b"\\0"', 'pread(1, self.offset) == b"\\1"'),),
        journal("zeros_of_an_unfinished_extension_become_filler"),
    ),
    "read-before-trusted": Mutant(
        "A writer goes on from records that it read before their sync failed and the cache lost them.",
        (Change("local/journal_reading.py", "if not found.startswith(last):", "if not self:"),),
        found("records_that_the_cache_lost_after_they_were_read"),
    ),
    "known-end-is-cut": Mutant(
        "An end that the state file proves to have been on the disk is cut as a torn one.",
        (Change("local/transaction.py", "self._refuse_lost_end()\n            torn", "torn"),),
        ("tests/damage/test_last_line.py",),
    ),
}
