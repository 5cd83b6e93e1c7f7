"""Short commands as processes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from bench.start_goals import cpu_seconds

COMMANDS = {
    "bare": ["-c", "pass"],
    "import": ["-c", "import runledger"],
    "open": ["-c", "import runledger; runledger.Ledger.open"],
    "wake": ["-m", "runledger", "wake"],
    "status": ["-m", "runledger", "status"],
    "heartbeat": ["-m", "runledger", "heartbeat"],
    "step": ["-m", "runledger", "step", "charge", "--key", "invoice-0000007", "--", "true"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command(benchmark: BenchmarkFixture, history: Callable[[int], Path], name: str) -> None:
    """From the start of the interpreter to its end; what counts is the ratio to ``bare``."""
    place = history(1000)
    _, code = benchmark(cpu_seconds, [sys.executable, *COMMANDS[name]], place)
    assert code in {0, 76}
