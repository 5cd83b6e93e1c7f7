"""``runledger step NAME --key K -- CMD``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.terminal import RUNLEDGER, Terminal

OUTCOME = "runledger: outcome="


def waited_for(path: Path) -> None:
    """The command of a step says by a file that it runs."""
    end = time.monotonic() + 20
    while not path.exists():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_committed_step_prints_again_and_does_not_run(runledger: Terminal) -> None:
    """The first run's output comes back byte for byte, and the effect is there once."""
    command = ("step", "greet", "--key", "a", "--", "sh", "-c", "echo x >>ran; printf 'h\\303\\251\\nllo'")
    first = runledger(*command)
    again = runledger(*command)
    assert (first.code, first.out, first.err) == (0, b"h\xc3\xa9\nllo", f"{OUTCOME}committed\n")
    assert (again.code, again.out, again.last) == (0, b"h\xc3\xa9\nllo", f"{OUTCOME}repeated")
    assert (runledger.at / "ran").read_text() == "x\n"
    assert runledger("show", "greet", "a", "--json").json["result"] == "hé\nllo"


def test_binary_and_large_output_comes_back(runledger: Terminal) -> None:
    """What is no text is recorded as bytes; what does not fit a record is kept beside the journal."""
    program = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4000)"
    command = ("step", "dump", "--key", "a", "--", sys.executable, "-c", program)
    first, again = runledger(*command), runledger(*command)
    assert first.out == again.out == bytes(range(256)) * 4000
    assert (first.last, again.last) == (f"{OUTCOME}committed", f"{OUTCOME}repeated")


def test_no_output_is_a_result_too(runledger: Terminal) -> None:
    """A command that prints nothing prints nothing again."""
    first, again = (runledger("step", "quiet", "--key", "a", "--", "true") for _ in range(2))
    assert (first.out, again.out, again.last) == (b"", b"", f"{OUTCOME}repeated")


def test_the_command_gets_its_words_key_and_input(runledger: Terminal) -> None:
    """No shell reads the words, an option after ``--`` is the command's, and standard input is its own."""
    program = 'import os, sys; print(sys.argv[1:], sys.stdin.read(), os.environ["RUNLEDGER_IDEMPOTENCY_KEY"])'
    said = runledger(
        "step", "s", "--key", "a", "--", sys.executable, "-c", program, "--json", "$X *", input=b"in"
    )
    words, key = said.text.rsplit(" ", 1)
    assert words == "['--json', '$X *'] in"
    assert len(key.strip()) == 32


def test_a_failing_command_leaves_the_step_in_doubt(runledger: Terminal) -> None:
    """Its exit code passes through; the next attempt is refused until it is resolved by a printed line."""
    failed = runledger("step", "s", "--key", "a", "--", "sh", "-c", "echo part; exit 3")
    assert (failed.code, failed.out, failed.last) == (3, b"part\n", f"{OUTCOME}in-doubt")
    refused = runledger("step", "s", "--key", "a", "--", "touch", "ran")
    assert (refused.code, refused.out, refused.last) == (76, b"", f"{OUTCOME}in-doubt")
    assert not (runledger.at / "ran").exists()
    known = runledger("show", "s", "a", "--json").json
    assert known["status"] == "in_doubt"
    assert known["failure"] == {"type": "exit", "message": "exit status 3"}
    line = next(line for line in refused.err.splitlines() if "--not-happened" in line)
    assert runledger.sh(line.strip()).code == 0
    assert runledger("step", "s", "--key", "a", "--", "touch", "ran").last == f"{OUTCOME}committed"


@pytest.mark.parametrize(
    ("codes", "code", "outcome"), [("3", 3, "aborted"), ("1,10-12", 11, "aborted"), ("4-5", 3, "in-doubt")]
)
def test_declared_codes_abort(runledger: Terminal, codes: str, code: int, outcome: str) -> None:
    """A code of ``--aborts-on`` says that nothing happened; the code passes through all the same."""
    said = runledger("step", "s", "--key", "a", "--aborts-on", codes, "--", "sh", "-c", f"exit {code}")
    assert (said.code, said.last) == (code, OUTCOME + outcome)


def test_a_signal_that_ends_the_command_is_told_as_a_shell_does(runledger: Terminal) -> None:
    """128 + N, and in doubt, whatever ``--aborts-on`` says of exit statuses."""
    said = runledger("step", "s", "--key", "a", "--aborts-on", "137", "--", "sh", "-c", "kill -KILL $$")
    assert (said.code, said.last) == (137, f"{OUTCOME}in-doubt")


@pytest.mark.parametrize(("word", "code"), [("no-such-command", 127), ("./plain", 126), ("./gone/x", 127)])
def test_a_command_that_cannot_start_aborts(runledger: Terminal, word: str, code: int) -> None:
    """Nothing ran, so that the step may be entered again."""
    (runledger.at / "plain").write_text("no program")
    said = runledger("step", "s", "--key", "a", "--", word)
    assert (said.code, said.out, said.last) == (code, b"", f"{OUTCOME}aborted")
    assert runledger("step", "s", "--key", "a", "--", "true").last == f"{OUTCOME}committed"


def test_a_timeout_ends_the_whole_group(runledger: Terminal) -> None:
    """The command and what it started are gone before they would have been done; the step is in doubt."""
    begin = time.monotonic()
    said = runledger("step", "s", "--key", "a", "--timeout", "0.2", "--", "sh", "-c", "sleep 30; echo late")
    assert time.monotonic() - begin < 15
    assert (said.code, said.out, said.last) == (143, b"", f"{OUTCOME}in-doubt")
    assert runledger("show", "s", "a", "--json").json["failure"]["type"] == "timeout"


def test_a_signal_to_us_reaches_the_command(runledger: Terminal) -> None:
    """The command may clean up; the step is in doubt, and the code tells the signal."""
    program = "trap 'echo bye; exit 0' TERM; touch up; while :; do sleep 0.02; done"
    process = runledger.start("step", "s", "--key", "a", "--", "sh", "-c", program)
    waited_for(runledger.at / "up")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (143, b"bye\n")
    assert err.decode().splitlines()[-1] == f"{OUTCOME}in-doubt"


def test_a_rival_is_refused_while_the_command_runs(runledger: Terminal) -> None:
    """75 while the owner lives; in doubt once it was killed, which nobody could tell the command."""
    process = runledger.start("step", "s", "--key", "a", "--", "sh", "-c", "touch up; exec sleep 30")
    waited_for(runledger.at / "up")
    rival = runledger("step", "s", "--key", "a", "--", "true")
    assert (rival.code, rival.last) == (75, f"{OUTCOME}refused")
    process.kill()
    process.communicate(timeout=30)
    assert runledger("step", "s", "--key", "a", "--", "true").code == 76


def test_the_command_dies_with_us(runledger: Terminal) -> None:
    """It cannot have its effect after a probe has found none: what is left of a step is never still at work."""
    command = "touch up; (sleep 1.5; echo late >>effects); true"
    process = runledger.start("step", "send", "--key", "a", "--", "sh", "-c", command)
    waited_for(runledger.at / "up")
    process.kill()
    process.communicate(timeout=30)
    again = (
        "step",
        "send",
        "--key",
        "a",
        "--probe",
        "test -s effects",
        "--",
        "sh",
        "-c",
        "echo again >>effects",
    )
    assert runledger(*again).last == f"{OUTCOME}committed"
    time.sleep(2)
    assert (runledger.at / "effects").read_text() == "again\n"


def test_what_a_command_leaves_running_on_purpose_goes_on(runledger: Terminal) -> None:
    """A service that the command started belongs to nobody's record once the command is over."""
    command = "(sleep 0.5; touch served) >/dev/null 2>&1 &"
    assert runledger("step", "serve", "--key", "a", "--", "sh", "-c", command).last == f"{OUTCOME}committed"
    waited_for(runledger.at / "served")


def test_an_idempotent_step_in_doubt_runs_again(runledger: Terminal) -> None:
    """As the next attempt, without a question."""
    assert runledger("step", "s", "--key", "a", "--idempotent", "--", "false").last == f"{OUTCOME}in-doubt"
    assert runledger("wake").code == 0
    assert runledger("step", "s", "--key", "a", "--idempotent", "--", "true").last == f"{OUTCOME}committed"
    assert runledger("show", "s", "a", "--json").json["attempt"] == 2


@pytest.mark.parametrize(
    ("probe", "code", "out", "outcome", "ran"),
    [
        ("echo there", 0, b"there\n", "committed", False),
        ("exit 1", 0, b"done\n", "committed", True),
        ("exit 2", 76, b"", "in-doubt", False),
    ],
)
def test_a_probe_looks_first(
    runledger: Terminal, probe: str, code: int, out: bytes, outcome: str, *, ran: bool
) -> None:
    """0: it happened, with its output as the result. 1: it did not. Anything else: nobody knows."""
    runledger("step", "s", "--key", "a", "--", "false")
    said = runledger("step", "s", "--key", "a", "--probe", probe, "--", "sh", "-c", "touch ran; echo done")
    assert (said.code, said.out, said.last) == (code, out, OUTCOME + outcome)
    assert (runledger.at / "ran").exists() is ran


def test_a_probe_is_told_about_the_step(runledger: Terminal) -> None:
    """It finds the same idempotency key that the command got, and the step's name and key."""
    runledger("step", "s", "--key", "a", "--", "sh", "-c", "echo $RUNLEDGER_IDEMPOTENCY_KEY >key; false")
    told = "echo $RUNLEDGER_IDEMPOTENCY_KEY $RUNLEDGER_STEP_NAME $RUNLEDGER_STEP_KEY $RUNLEDGER_STEP_ATTEMPT"
    said = runledger("step", "s", "--key", "a", "--probe", told, "--", "true")
    assert said.text == f"{(runledger.at / 'key').read_text().strip()} s a 1\n"


def test_other_inputs_are_refused(runledger: Terminal) -> None:
    """The same key must not mean two things."""
    runledger("step", "s", "--key", "a", "--inputs", "v1", "--", "true")
    said = runledger("step", "s", "--key", "a", "--inputs", "v2", "--", "true")
    assert (said.code, said.last) == (65, f"{OUTCOME}refused")
    assert runledger("step", "s", "--key", "a", "--inputs", "v1", "--", "true").last == f"{OUTCOME}repeated"


def test_without_a_key_it_runs_each_time(runledger: Terminal) -> None:
    """A keyless step is recorded and never skipped."""
    for _ in range(2):
        assert runledger("step", "s", "--", "sh", "-c", "echo x >>ran").last == f"{OUTCOME}committed"
    assert (runledger.at / "ran").read_text() == "x\nx\n"


@pytest.mark.parametrize(
    "words",
    [
        ("s", "--key", "", "--", "true"),
        ("s", "--key", "a"),
        ("s", "--key", "a", "--"),
        ("s", "--key", "a", "--aborts-on", "0", "--", "true"),
        ("s", "--key", "a", "--aborts-on", "9-3", "--", "true"),
        ("s", "--key", "a", "--timeout", "soon", "--", "true"),
        ("s", "--key", "a", "--no-such-option", "--", "true"),
        ("s", "--key", os.fsdecode(b"\xff"), "--", "true"),
    ],
)
def test_a_call_without_meaning_is_refused(runledger: Terminal, words: tuple[str, ...]) -> None:
    """64, the outcome line all the same, and nothing is made."""
    said = runledger("step", *words)
    assert (said.code, said.out, said.last) == (64, b"", f"{OUTCOME}refused")
    assert list(runledger.at.iterdir()) == []


@pytest.mark.parametrize("how", [">&-", ">/dev/full", "| true"])
def test_output_that_nobody_takes_is_recorded_all_the_same(runledger: Terminal, how: str) -> None:
    """The effect happened: a broken or closed standard output changes nothing about that."""
    command = "sh -c 'sleep 0.2; echo x >>ran; echo hello'"
    runledger.sh(f"runledger step s --key a -- {command} {how}")
    again = runledger("step", "s", "--key", "a", "--", "touch", "again")
    assert (again.out, again.last) == (b"hello\n", f"{OUTCOME}repeated")
    assert (runledger.at / "ran").read_text() == "x\n"


def test_a_process_left_behind_does_not_hold_us(runledger: Terminal) -> None:
    """It keeps the command's standard output open; the step is over with the command."""
    begin = time.monotonic()
    said = runledger("step", "s", "--key", "a", "--", "sh", "-c", "sleep 20 2>/dev/null & echo $!")
    assert time.monotonic() - begin < 15
    os.kill(int(said.text), signal.SIGKILL)
    assert (said.code, said.last) == (0, f"{OUTCOME}committed")


def test_more_output_than_a_result_may_have_passes_through(runledger: Terminal) -> None:
    """All of it is passed on, the commit stands without it, and both runs say so."""
    command = (*RUNLEDGER, "step", "s", "--key", "a", "--", "head", "-c", str((64 << 20) + 1), "/dev/zero")
    counted = runledger.run("sh", "-c", '"$@" | wc -c', "sh", *command)
    assert int(counted.text) == (64 << 20) + 1
    assert "committed without its output" in counted.err
    again = runledger("step", "s", "--key", "a", "--", "true")
    assert (again.code, again.out, again.last) == (0, b"", f"{OUTCOME}repeated")
    assert "not on record" in again.err


def test_a_halted_run_refuses(runledger: Terminal) -> None:
    """77 before anything else, committed keys included."""
    runledger("step", "s", "--key", "a", "--", "true")
    runledger("halt", "--reason", "enough")
    said = runledger("step", "s", "--key", "a", "--", "true")
    assert (said.code, said.last) == (77, f"{OUTCOME}refused")


def test_errors_as_json_come_before_the_outcome(runledger: Terminal) -> None:
    """Standard output is the command's own; the object is on standard error."""
    runledger("step", "s", "--key", "a", "--", "false")
    said = runledger("step", "s", "--key", "a", "--json", "--", "true")
    *_, described, last = said.err.splitlines()
    assert '"slug":"step-in-doubt"' in described
    assert (said.out, last) == (b"", f"{OUTCOME}in-doubt")


def test_ctrl_c_in_a_terminal(runledger: Terminal) -> None:
    """The terminal sends it to the command and to us; the step is in doubt, and nobody prints a traceback."""
    import pty

    main, side = pty.openpty()
    with subprocess.Popen(
        (*RUNLEDGER, "step", "s", "--key", "a", "--", "sh", "-c", "touch up; exec sleep 30"),
        cwd=runledger.at,
        env=runledger.environment,
        stdin=side,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=_own_terminal,  # noqa: PLW1509 - one thread, and it only takes the terminal over
    ) as process:
        waited_for(runledger.at / "up")
        os.write(main, b"\x03")
        _, err = process.communicate(timeout=30)
    os.close(main)
    os.close(side)
    assert process.returncode == 130
    assert err.decode().splitlines()[-1] == f"{OUTCOME}in-doubt"


def _own_terminal() -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
