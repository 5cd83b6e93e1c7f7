"""What all reports share: words for numbers, plots in character cells, the bar on standard error, refusals."""

from __future__ import annotations

import math
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from runledger.pictures.document import Cell, Document, Section, Table, as_markdown, as_text, cells
from runledger.pictures.page import as_html
from runledger.pictures.style import _PALETTE
from runledger.pictures.terminal import Series, bar, plot
from runledger.pictures.words import amount, percent, seconds, span
from runledger.sweep.report import report
from tests.granularity.sweeps import made_up
from tests.support.children import command


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0 s"),
        (2e-7, "less than 1 µs"),
        (8.5e-05, "85 µs"),
        (0.0015, "1.5 ms"),
        (29.4, "29 s"),
        (90.0, "1.5 min"),
        (3600.0, "1.0 h"),
        (86400.0 * 3, "3.0 d"),
        (math.inf, "for ever"),
    ],
)
def test_durations_in_words(value: float, said: str) -> None:
    """Two or three digits and the unit that fits."""
    assert seconds(value) == said


def test_other_numbers_in_words() -> None:
    """Shares, amounts, and from one to another."""
    assert (percent(0.123), percent(1e-6), percent(0.0321)) == ("12 %", "less than 0.01 %", "3.2 %")
    assert (amount(12345.6, "tokens"), amount(2.5, "tokens"), amount(60.0, "seconds")) == (
        "12,346 tokens",
        "2.5 tokens",
        "1.0 min",
    )
    assert (amount(10_196_689.0, "tokens"), amount(0.0, "tokens")) == ("10 million tokens", "0 tokens")
    assert (span(1.0, 2.0), span(1.0, 1.01), span(5.0, math.inf)) == (
        "1.0 s to 2.0 s",
        "1.0 s",
        "more than 5.0 s",
    )


def test_a_plot_shows_each_point_where_it_is() -> None:
    """The lowest at the bottom left, the highest at the top right, with their labels."""
    lines = plot(
        [Series("a", "●", [(1.0, 1.0), (100.0, 10.0)])], 60, height=5, x_text=str, y_text=lambda y: f"{y:.0f}"
    )
    assert lines[0].endswith("●")
    assert lines[4].split("┤")[1].startswith("●")
    assert "1.0" in lines[6]
    assert lines[6].endswith("100.0")
    assert max(map(len, lines)) <= 60


def test_a_bar_hides_no_point() -> None:
    """A point of another series that lies inside the bar is seen."""
    measured = Series("m", "●", [(1.0, 1.0), (2.0, 8.0)], [(1.0, 1.0), (1.0, 8.0)])
    lines = plot([measured, Series("n", "·", [(2.0, 3.0)])], 40, height=9, x_text=str, y_text=str)
    assert sum("·" in line for line in lines[:9]) == 1


def test_a_plot_of_nothing_is_empty() -> None:
    """No points, no lines."""
    assert plot([Series("a", "●", [])], 60, x_text=str, y_text=str) == []


def test_a_span_is_at_least_one_cell() -> None:
    """However short it is, and wherever it lies."""
    assert bar([(0.0, 0.0, "a"), (0.5, 0.75, "b"), (1.0, 1.0, "c")], 8) == "a   bb c"


WIDE = Table(
    "a caption",
    ("name", "what", "count", "another count"),
    [
        cells("a", "so many words that they want lines of their own", "1", "less than 0.01 %"),
        cells("b", "", "2", ""),
    ],
)


def test_a_table_fits_its_terminal() -> None:
    """Text is broken into lines, then columns come in blocks that begin with the rows' names; numbers at the right."""

    def told(width: int) -> list[str]:
        return list(as_text(Document("", (), (Section("s", "", (), WIDE),), {}), width))[3:]

    assert told(100)[1] == "a     so many words that they want lines of their own      1  less than 0.01 %"
    narrow, narrowest = told(62), told(30)
    assert [line.split("  ")[0] for line in narrow] == ["name", "a", "", "b"]
    assert max(map(len, narrow)) <= 62
    assert max(map(len, narrowest)) <= 30
    assert [line[:4].strip() for line in narrowest if line[:4].strip()] == ["name", "a", "b"] * 2
    assert "less than 0.01 %" in narrowest[-2]


@pytest.mark.parametrize("width", [40, 80])
def test_reports_fit_the_terminal(width: int) -> None:
    """No line of a sweep's report is wider, its plot and legends included; headings are what they are."""
    told = report(made_up(1.0))
    headings = {told.title, *(section.title for section in told.sections)}
    assert [line for line in as_text(told, width) if len(line) > width and line not in headings] == []


TABLE = Table(
    "a caption", ("name", "count"), [cells(Cell("x|y", "x|y"), Cell("3", 3)), cells(Cell("<b>"), "")]
)
SAID = Document(
    "A title", ("It says `so` & more.",), (Section("s", "A part", ("Words.",), TABLE),), {"n": "</script>"}
)


def test_one_document_in_three_forms() -> None:
    """Text, Markdown and HTML have the same words; each escapes what it must."""
    text = "\n".join(as_text(SAID))
    assert "x|y       3" in text
    markdown = as_markdown(SAID)
    assert "| x\\|y | 3 |" in markdown
    assert "| &lt;b> |  |" in markdown
    page = as_html(SAID)
    assert '<th scope="row" class="words" data-value="x|y">x|y</th><td data-value="3">3</td>' in page
    assert "<code>so</code> &amp; more" in page
    assert "</script>" not in page.split('id="data">')[1].split("</script>\n")[0]
    assert "&lt;b&gt;" in page


def test_a_table_without_rows_is_left_out() -> None:
    """In no form is there a head with nothing below it."""
    bare = Document("t", (), (Section("s", "part", (), TABLE._replace(rows=[])),), {})
    for text in ("\n".join(as_text(bare)), as_markdown(bare), as_html(bare)):
        assert "part" in text
        assert "count" not in text


def luminance(colour: str) -> float:
    """As WCAG 2 has it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [1, 2])
@pytest.mark.parametrize("ground", ["paper", "panel"])
def test_colours_stand_out(scheme: int, ground: str) -> None:
    """Text by 4.5 or more, bars by 3 against the page; grids and grounds are meant to recede."""
    behind = luminance(_PALETTE[ground][scheme])
    for name, colours in _PALETTE.items():
        light, dark = sorted((luminance(colours[scheme]), behind), reverse=True)
        least = {"grid": 1.0, "paper": 1.0, "panel": 1.0, "calm": 2.7}.get(name, 4.5)
        least = 3.0 if (name, ground) == ("calm", "paper") else least
        assert (light + 0.05) / (dark + 0.05) >= least, name


BAR = """
import sys, time
from runledger.pictures.progress import Progress
with Progress("working") as told:
    told(0.5, "half")
print("done")
"""


def test_the_bar_is_for_terminals_alone() -> None:
    """On a terminal it is drawn and wiped away; elsewhere nothing is written."""
    plain = subprocess.run([sys.executable, "-c", BAR], capture_output=True, text=True, check=True)
    assert (plain.stdout, plain.stderr) == ("done\n", "")
    ours, theirs = pty.openpty()
    try:
        environment = {**os.environ, "TERM": "xterm"}
        shown = subprocess.run(
            [sys.executable, "-c", BAR], stdout=subprocess.PIPE, stderr=theirs, env=environment, check=True
        )
        drawn = os.read(ours, 4096).decode()
    finally:
        os.close(ours)
        os.close(theirs)
    assert shown.stdout == b"done\n"
    assert "working" in drawn
    assert "50%" in drawn
    assert drawn.endswith("\r\x1b[K")


def test_without_the_library_pictures_are_refused_at_once(root: Path, tmp_path: Path) -> None:
    """By name, with the line that installs it, before anything is measured; the other forms need it not."""
    hidden = tmp_path / "hidden" / "matplotlib"
    hidden.mkdir(parents=True)
    (hidden / "__init__.py").write_text("raise ImportError('hidden by the test')", "utf-8")
    env = {"PYTHONPATH": str(hidden.parent)}
    run = [sys.executable, "-m", "runledger"]
    step = subprocess.run(
        [*run, "step", "s", "--key", "a", "--", "true"], cwd=root, check=False, capture_output=True
    )
    assert step.returncode == 0
    for words in (["report"], ["advise", "--no-measure"], ["bench", "granularity"]):
        ended = subprocess.run(
            [*run, *words, "--html", "page.html"],
            cwd=root,
            env={**os.environ, **env},
            check=False,
            capture_output=True,
            text=True,
        )
        assert ended.returncode == 64, ended.stderr
        assert "pip install 'runledger-engine[charts]'" in ended.stderr
    ended = subprocess.run(
        [*run, "report"], cwd=root, env={**os.environ, **env}, check=False, capture_output=True
    )
    assert ended.returncode == 0


def test_a_page_that_cannot_be_written_is_told(root: Path) -> None:
    """Exit code 74 before anything is measured, and nothing half written is left."""
    assert command(root, "step", "s", "--key", "a", "--", "true").code == 0
    for words, place in (
        (["report"], "gone/page.html"),
        (["bench", "granularity"], "gone/page.html"),
        (["report"], "."),
    ):
        ended = command(root, *words, "--html", place)
        assert (ended.code, ended.lines) == (74, [])
        assert f"cannot write {place}" in ended.err
    (root / "page.html").write_text("old", "utf-8")
    assert command(root, "report", "--html", "page.html").code == 0
    assert (root / "page.html").read_text("utf-8").startswith("<!doctype html>")
    assert [path.name for path in root.iterdir() if path.name.startswith(".page")] == []
