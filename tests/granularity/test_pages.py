"""The three pages in a real browser: they ask nobody, complain of nothing, and show what the JSON says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runledger.pictures.page import as_html
from runledger.sweep.report import report
from tests.granularity.sweeps import made_up
from tests.support.browser import MISSING, Browser
from tests.support.children import command

PAGES = ("sweep", "advise", "report")


ROWS = """
return [...document.querySelectorAll("section#%s table tbody tr")].map(row =>
  [...row.cells].map(cell => cell.dataset.value === undefined ? cell.textContent : cell.dataset.value));
"""

LABELS = """
return [...document.querySelectorAll("section#%s figure > div")]
  .filter(one => getComputedStyle(one).display !== "none")
  .flatMap(one => [...one.querySelectorAll("[role=img]")].map(part => part.getAttribute("aria-label")));
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium for all tests of this file."""
    if MISSING is not None:
        pytest.skip(MISSING)
    with Browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def pages(lived: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files as the commands write them."""
    place = tmp_path_factory.mktemp("pages")
    made = {name: place / f"{name}.html" for name in PAGES}
    made["sweep"].write_text(as_html(report(made_up(1.0))), "utf-8")
    for name in ("advise", "report"):
        ended = command(lived, name, "--html", str(made[name]), "--json")
        assert ended.code == 0, ended.err
        assert str(made[name]) in ended.err
        told = json.loads(ended.lines[0])
        assert data_of(made[name]).keys() == told.keys()
    return made


def data_of(page: Path) -> Any:
    """The JSON that a page carries."""
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text("utf-8"), re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])


def test_a_page_that_asks_or_complains_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    """What the tests below look for is found where it is."""
    page = tmp_path / "bad.html"
    page.write_text('<img src="http://127.0.0.1:9/x.png"><script>console.error("no")</script>', "utf-8")
    browser.complaints()
    browser.requests()
    browser.show(page)
    assert any("no" in said for said in browser.complaints())
    assert "http://127.0.0.1:9/x.png" in browser.requests()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1000, 360])
@pytest.mark.parametrize("name", PAGES)
def test_it_opens_alone_and_fits(
    browser: Browser, pages: dict[str, Path], name: str, width: int, scheme: str
) -> None:
    """No word on the console, no request but for the page, no sideways scroll, the asked colours, one picture each."""
    browser.complaints()
    browser.requests()
    browser.show(pages[name], width=width, scheme=scheme)
    assert browser.complaints() == []
    assert browser.requests() == [pages[name].as_uri()]
    assert browser.run("return document.documentElement.scrollWidth") <= width
    background = browser.run("return getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    shown = browser.run(
        "return [...document.querySelectorAll('figure svg')].filter(s => s.getClientRects().length).length"
    )
    assert shown == browser.run("return document.querySelectorAll('figure').length") > 0
    # The last rules are reached: no brace before them is left open.
    assert browser.run("return getComputedStyle(document.querySelector('caption')).textAlign") == "left"
    small = browser.run(
        "return [...document.querySelectorAll('svg text')].filter(t => t.getClientRects().length)"
        ".map(t => t.getBoundingClientRect().height).filter(h => h > 0 && h < 8).length"
    )
    assert small == 0


@pytest.mark.parametrize("name", PAGES)
def test_colours_are_told_apart(browser: Browser, pages: dict[str, Path], name: str) -> None:
    """Every colour in the pictures is one of the page's own, so that it follows the scheme."""
    browser.show(pages[name])
    strange = browser.run(
        "return [...document.querySelectorAll('svg [style]')].map(e => e.getAttribute('style'))"
        ".filter(s => /#[0-9a-f]{6}/.test(s))"
    )
    assert strange == []


@pytest.mark.parametrize("name", PAGES)
def test_every_id_is_there_once(browser: Browser, pages: dict[str, Path], name: str) -> None:
    """Also across the pictures, and every reference leads to one of them."""
    browser.show(pages[name])
    ids = browser.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    text = pages[name].read_text("utf-8")
    assert set(re.findall(r'(?:href="|url\()#([^")]+)', text)) <= set(ids)


def test_the_sweep_shows_its_json(browser: Browser, pages: dict[str, Path]) -> None:
    """Every point's interval, total, model, runs, deaths and costs are in the table, and each has a label."""
    browser.show(pages["sweep"])
    data = data_of(pages["sweep"])
    rows = browser.run(ROWS % "total")
    assert len(rows) == len(data["points"]) + 1
    for row, point in zip(rows, data["points"], strict=False):
        numbers = [float(row[place]) for place in (0, 1, 3, 5, 6, 7, 8)]
        assert numbers == [
            point["interval"],
            point["total"]["mean"],
            point["model"],
            point["runs"],
            point["deaths"],
            point["record_cost"],
            point["restart_cost"],
        ]
        assert row[4] == ("yes" if point["agrees"] else "NO")
    labels = browser.run(LABELS % "total")
    assert len(labels) == len(data["points"])
    assert f"{data['points'][0]['total']['mean']:.3f} times the work" in labels[0]


def test_the_advice_shows_its_json(browser: Browser, pages: dict[str, Path]) -> None:
    """Every step with its verdict, count and median, and every death."""
    browser.show(pages["advise"])
    data = data_of(pages["advise"])
    rows = browser.run(ROWS % "steps")
    assert [[row[0], row[1], int(row[2]), float(row[3])] for row in rows] == [
        [step["name"], step["verdict"], step["count"], step["seconds"]["median"]] for step in data["steps"]
    ]
    labels = browser.run(LABELS % "steps")
    assert [label.split(";")[0] for label in labels] == [
        f"{s['name']}: {s['verdict']}" for s in data["steps"]
    ]
    deaths = browser.run(ROWS % "deaths")
    assert [row[0] for row in deaths] == [death["at"] for death in data["each_death"]]


def test_the_course_shows_its_json(browser: Browser, pages: dict[str, Path]) -> None:
    """Each lane's attempts by how they ended, each bar with a label, every stall and event."""
    browser.show(pages["report"])
    data = data_of(pages["report"])
    rows = browser.run(ROWS % "course")
    assert [(row[0], int(row[1]), int(row[2])) for row in rows] == [
        (lane["name"], lane["steps"], lane["attempts"]) for lane in data["lanes"]
    ]
    assert sum(int(row[3]) for row in rows) == data["counts"]["committed"]
    assert sum(int(row[5]) for row in rows) == data["counts"]["again"]
    labels = browser.run(LABELS % "course")
    assert sum("cut off, done again" in label for label in labels) == data["counts"]["again"]
    assert any(label.startswith("300 attempts of tick: committed") for label in labels)
    deaths = [event for event in data["events"] if event["kind"] == "death"]
    assert [label for label in labels if label.startswith("death found at ")] == [
        label for event in deaths for label in labels if label.endswith(f": {event['what']}")
    ]
    assert len(deaths) == data["deaths"] == 6
    stalls = browser.run(ROWS % "pulse")
    assert [(row[0], float(row[1]), int(row[2])) for row in stalls] == [
        (stall["start"], stall["seconds"], stall["signs"]) for stall in data["stalls"]
    ]
    assert any("6 signs of life" in label for label in browser.run(LABELS % "pulse"))
    events = browser.run(ROWS % "events")
    assert [(row[0], row[1]) for row in events] == [(event["at"], event["kind"]) for event in data["events"]]


@pytest.mark.parametrize("name", PAGES)
def test_it_is_read_by_keyboard_and_by_ear(browser: Browser, pages: dict[str, Path], name: str) -> None:
    """Landmarks, a language, headings in order, captions and scopes; the tabulator reaches the pictures' parts."""
    browser.show(pages[name])
    assert browser.run("return document.documentElement.lang") == "en"
    levels = browser.run("return [...document.querySelectorAll('h1,h2,h3')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    bare = browser.run(
        "return [...document.querySelectorAll('figure,table,.scroll,section')].filter(e => "
        "!(e.caption || e.getAttribute('aria-label') || e.getAttribute('aria-labelledby'))).length"
    )
    assert bare == 0
    assert browser.run("return document.querySelectorAll('th:not([scope])').length") == 0
    reached = []
    for _ in range(14):
        browser.press_tab()
        reached.append(
            browser.run(
                "const e = document.activeElement; return e.getAttribute('aria-label') || e.textContent"
            )
        )
    assert len(set(reached)) > 6
    assert browser.run("return document.activeElement.getClientRects().length") == 1
    labels = browser.run(
        "return [...document.querySelectorAll('svg [tabindex]')].map(e => e.getAttribute('aria-label'))"
    )
    assert set(reached) & set(labels)


@pytest.mark.parametrize("name", PAGES)
def test_a_picture_is_named_once_and_can_be_passed_by(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    """Its caption is its name; a link before it, seen when it has the focus, leads behind all of its parts."""
    browser.show(pages[name])
    named = browser.run(
        "return [...document.querySelectorAll('figure')].every("
        "f => document.getElementById(f.getAttribute('aria-labelledby')) === f.querySelector('figcaption'))"
    )
    assert named
    hidden = "return document.querySelector('.skip').getBoundingClientRect().right <= 0"
    assert browser.run(hidden)
    for _ in range(browser.run("return document.querySelectorAll('nav a').length") + 1):
        browser.press_tab()
    assert browser.run("return document.activeElement.className") == "skip"
    assert not browser.run(hidden)
    browser.run("document.querySelector('.skip').click()")
    browser.press_tab()
    assert browser.run("return document.activeElement.closest('svg') === null")


def test_the_numbers_open_without_a_script(browser: Browser, pages: dict[str, Path]) -> None:
    """The table behind a picture is folded away, and a click on its summary shows it."""
    browser.show(pages["advise"])
    assert browser.run("return document.querySelector('details').open") is False
    browser.run("document.querySelector('details summary').click()")
    assert browser.run("return document.querySelector('details table').getClientRects().length") == 1
