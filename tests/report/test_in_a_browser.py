"""The page as a real Chromium shows it: on a desk, on a phone, in the dark, on paper, and read aloud."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.components import NODE_MODULES
from tests.report.browser import Page
from tests.report.conftest import Told

pytestmark = pytest.mark.xdist_group("report")  # one start of the browser for all
AXE = NODE_MODULES / "axe-core" / "axe.min.js"
PHONE, DESK, PAPER = 360, 1280, 794
VIEWS = {
    "desk": (DESK, {}),
    "dark": (DESK, {"scheme": "dark"}),
    "phone": (PHONE, {}),
    "dark phone": (PHONE, {"scheme": "dark"}),
    "paper": (PAPER, {"media": "print", "scheme": "dark"}),
}
COLOR = re.compile(r"[\d.]+")


def shown(page: Page, told: Told, view: str) -> Page:
    """The report in a view."""
    width, how = VIEWS[view]
    page.resize(width)
    page.emulate(**how)
    page.complaints.clear()
    page.requests.clear()
    page.open(told.path)
    return page


def brightness(page: Page, script: str) -> float:
    """Of a computed colour, 0 to 255."""
    red, green, blue = [float(part) for part in COLOR.findall(page.run(script))[:3]]
    return (red + green + blue) / 3


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_complete(page: Page, told: Told, view: str) -> None:
    """Nothing is logged, nothing is fetched, nothing sticks out, and each picture has a size."""
    shown(page, told, view)
    assert page.complaints == []
    assert set(page.requests) == {told.path.as_uri()}
    assert page.run("document.documentElement.scrollWidth") <= VIEWS[view][0]
    sizes = page.run("[...document.querySelectorAll('figure svg')].map(s => [s.clientWidth, s.clientHeight])")
    assert len(sizes) == 9
    assert all(width > 200 and height > 50 for width, height in sizes)
    assert page.run("[...document.scripts].length") == 0


def test_what_is_drawn_lies_in_its_picture(page: Page, told: Told) -> None:
    """No text and no shape of a picture is cut off at its edge, and no two labels of an axis overlap."""
    shown(page, told, "desk")
    out = page.run(
        """[...document.querySelectorAll('figure svg')].flatMap(svg => {
            const frame = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text, path, rect, circle, polygon')].filter(part => {
                const box = part.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1
                    || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
            }).map(part => svg.getAttribute('aria-labelledby') + ': ' + part.outerHTML);
        })"""
    )
    assert out == []
    over = page.run(
        """[...document.querySelectorAll('figure svg .axis.bottom')].flatMap(axis => {
            const boxes = [...axis.querySelectorAll('text')].map(t => [t.getBoundingClientRect(), t.textContent]);
            boxes.sort((a, b) => a[0].left - b[0].left);
            return boxes.slice(1).filter((b, at) => b[0].left < boxes[at][0].right).map(b => b[1]);
        })"""
    )
    assert over == []


def test_dark_is_dark_and_paper_is_white(page: Page, told: Told) -> None:
    """Colours of page and pictures follow what the reader prefers, but paper is printed dark on white."""
    background, ink = "getComputedStyle(document.body).backgroundColor", "getComputedStyle(document.body).color"
    label = "getComputedStyle(document.querySelector('svg .axis text')).fill"
    light, dark, paper = (
        [brightness(shown(page, told, view), script) for script in (background, ink, label)]
        for view in ("desk", "dark", "paper")
    )
    assert light == paper
    assert light[0] > 250
    assert max(light[1:]) < 110
    assert dark[0] < 40
    assert min(dark[1:]) > 150


def test_statements_are_on_paper(page: Page, told: Told) -> None:
    """Closed on the screen, there in print; a PDF comes of it."""
    height = (
        "Math.min(...[...document.querySelectorAll('pre')].map("
        "p => p.checkVisibility({contentVisibilityAuto: true}) ? p.getBoundingClientRect().height : 0))"
    )
    assert shown(page, told, "desk").run(height) == 0
    assert shown(page, told, "paper").run(height) > 10
    assert page.run("document.querySelectorAll('pre').length") == 3
    pdf = page.print()
    assert pdf.startswith(b"%PDF-")
    assert pdf.count(b"/Type /Page\n") in {2, 3}


def test_a_table_scrolls_within_itself_on_a_phone(page: Page, told: Told) -> None:
    """It is wider than the screen, its place is not, and a keyboard reaches it."""
    shown(page, told, "phone")
    for place in page.run(
        "[...document.querySelectorAll('.wide')].map(w => [w.scrollWidth, w.clientWidth, w.tabIndex])"
    ):
        assert place[0] > place[1]
        assert place[1] <= PHONE
        assert place[2] == 0


@pytest.mark.skipif(not AXE.exists(), reason="no axe-core: see tests/components.py")
@pytest.mark.parametrize("view", ["desk", "dark", "phone"])
def test_it_is_accessible(page: Page, told: Told, view: str) -> None:
    """axe-core finds nothing against WCAG 2.2 AA or its own best practices."""
    shown(page, told, view)
    page.run(AXE.read_text(encoding="utf-8") + "; null")
    found: dict[str, Any] = page.run(
        """axe.run(document, {resultTypes: ['violations']}).then(result => ({
            passes: result.passes.length,
            violations: result.violations.map(rule => [rule.id, rule.help, rule.nodes.map(node => node.html)]),
        }))"""
    )
    assert found["violations"] == []
    assert found["passes"] > 15
