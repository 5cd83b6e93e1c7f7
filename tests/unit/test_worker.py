"""The thread for what no caller waits for."""

from __future__ import annotations

import threading

import pytest

from runledger.local.worker import Worker


def test_a_start_that_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next call finds a thread: tasks would wait for it for ever."""

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    worker, done = Worker(), threading.Event()
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            worker.call(lambda: None)
    worker.call(done.set)
    assert done.wait(20.0)
    worker.end()
