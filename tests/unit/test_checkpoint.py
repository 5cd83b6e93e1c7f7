"""The checkpoint: the view comes back as it was, or the reader is told why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import msgspec
import pytest
from msgspec import Raw

from runledger.errors import DiskRefused, LedgerCorrupt, NewerVersion
from runledger.local import checkpoint
from runledger.local.directory import Directory
from runledger.record import Failure
from runledger.view import Damage, Identity, MarkView, OpenStep, Owner, Run, Saved, Settled, SprintView, View

AT = "2026-11-29T14:20:11.123456Z"


def full_view() -> View:
    """A view with something in each field."""
    owner = Owner(id="o-1", pid=7, start=8, boot="b", pidns="9", host="h", since=AT, program="p")
    step = OpenStep(
        lsn=5,
        name="publish",
        key="ü\x1b",
        scope="run",
        run="r-1",
        attempt=2,
        started=AT,
        owner="o-1",
        marks=(MarkView(at=AT, label="pushed", data=Raw(b'{"sha":1.50}')),),
        saved=Saved(state=Raw(b"[1]"), typed=True),
        over=True,
        failure=Failure("OSError", "no"),
        by=owner,
    )
    for_ever = OpenStep(
        lsn=6, name="pay", key="k", scope="ledger", run="r-1", attempt=1, started=AT, owner="o-1"
    )
    keyless = msgspec.structs.replace(for_ever, lsn=7, key=None)
    settled = Settled(
        lsn=4,
        of=3,
        name="done",
        key="k",
        scope="run",
        run="r-1",
        attempt=1,
        status="committed",
        at=AT,
        owner="o-1",
    )
    view = View(
        ledger="00ff",
        lsn=9,
        at=AT,
        durable=8,
        steps=4,
        run=Run(id="r-1", plan_id="plan", document='{"a": 1.0}\n', sprints=[SprintView("s-1")]),
        open={5: step, 6: for_ever, 7: keyless},
        settled={Identity("r-1", "done", "k"): settled},
        keys={Identity("r-1", "publish", "ü\x1b"): 5, Identity("", "pay", "k"): 6},
        owners={"o-1": owner},
        damage=[Damage("f", 1, 2, 3, "bad", 1, [("run", "n", None)])],
        news=8,
        deaths=1,
        torn=1,
    )
    assert all(getattr(view, f.name) != f.default for f in msgspec.structs.fields(View))
    return view


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Directory]:
    """An empty folder of a ledger."""
    directory = Directory.at(str(tmp_path))
    assert directory is not None
    yield directory
    directory.close()


def sealed(body: bytes) -> bytes:
    """A document with a checksum that fits, whatever it says."""
    return b'%s,"crc":"%08x"}\n' % (body, crc32(body))


def test_all_but_the_settled_steps_comes_back(directory: Directory) -> None:
    """Every field that a view has survives, and the keys of the open steps are known again."""
    view = full_view()
    checkpoint.write(directory, checkpoint.encode(view))
    assert checkpoint.read(directory) == msgspec.structs.replace(view, settled={})
    assert list(view.settled) == [Identity("r-1", "done", "k")]
    assert directory.names() == ["checkpoint.json"]
    stat = directory.stat("checkpoint.json")
    assert stat is not None
    assert stat.mode == 0o600


def test_an_empty_view_comes_back() -> None:
    """The least view there is is a checkpoint too."""
    assert checkpoint.decode(checkpoint.encode(View(ledger="00ff")), "c") == View(ledger="00ff")


def test_there_may_be_none(directory: Directory) -> None:
    """Before the first compaction there is no checkpoint, which is no error."""
    assert checkpoint.read(directory) is None


def test_a_new_one_replaces_the_old_and_clears_what_a_kill_left(directory: Directory, tmp_path: Path) -> None:
    """The temporary file of a killed compaction is gone after the next one."""
    checkpoint.write(directory, checkpoint.encode(View(ledger="00ff", lsn=1)))
    (tmp_path / "checkpoint.0123456789abcdef.tmp").write_bytes(b"half")
    checkpoint.write(directory, checkpoint.encode(View(ledger="00ff", lsn=2)))
    assert checkpoint.read(directory) == View(ledger="00ff", lsn=2)
    assert directory.names() == ["checkpoint.json"]


def test_every_truncation_is_refused() -> None:
    """No prefix of a checkpoint passes for one, and the error names the file."""
    data = checkpoint.encode(full_view())
    for size in range(len(data)):
        with pytest.raises(LedgerCorrupt, match=r"ledger/checkpoint\.json is damaged"):
            checkpoint.decode(data[:size], "ledger/checkpoint.json")


def test_every_flipped_bit_is_refused() -> None:
    """No single flipped bit passes."""
    data = checkpoint.encode(full_view())
    for position in range(len(data)):
        for bit in range(8):
            bad = bytearray(data)
            bad[position] ^= 1 << bit
            with pytest.raises(LedgerCorrupt):
                checkpoint.decode(bytes(bad), "c")


@pytest.mark.parametrize(
    "body",
    [
        b'{"t":"checkpoint","format":2,"view":{"anything":1}',
        b'{"t":"checkpoint","format":1,"view":{"ledger":"00ff","novel":1}',
        b'{"t":"checkpoint","format":1,"view":{"ledger":"00ff"},"novel":1',
        b'{"t":"other","format":1,"view":{"ledger":"00ff"}',
    ],
)
def test_what_a_later_version_wrote_is_not_damage(body: bytes) -> None:
    """A sound checkpoint with unknown parts asks for an upgrade instead of dropping them."""
    with pytest.raises(NewerVersion):
        checkpoint.decode(sealed(body), "c")


def test_a_link_is_not_followed(directory: Directory, tmp_path: Path) -> None:
    """A link in its place is neither read nor written through."""
    outside = tmp_path / "outside"
    outside.write_bytes(checkpoint.encode(View(ledger="00ff")))
    before = outside.read_bytes()
    (tmp_path / "checkpoint.json").symlink_to(outside)
    with pytest.raises(DiskRefused):
        checkpoint.read(directory)
    checkpoint.write(directory, checkpoint.encode(View(ledger="00ff", lsn=3)))
    assert outside.read_bytes() == before
    assert not (tmp_path / "checkpoint.json").is_symlink()


def test_a_refused_write_leaves_the_old_one(directory: Directory, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the disk refuses, the last checkpoint stands and nothing is left lying about."""
    checkpoint.write(directory, checkpoint.encode(View(ledger="00ff", lsn=1)))

    def refuse(fd: int) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(DiskRefused, match="No space"):
        checkpoint.write(directory, checkpoint.encode(View(ledger="00ff", lsn=2)))
    monkeypatch.undo()
    assert checkpoint.read(directory) == View(ledger="00ff", lsn=1)
    assert directory.names() == ["checkpoint.json"]
