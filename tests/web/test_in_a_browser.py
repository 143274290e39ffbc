"""The live page as a real Chromium shows it on a phone, with the pictures of the last day."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from agent.pages.pictures import last_day
from agent.pages.site import WebSite
from tests.cli.site import Site
from tests.report.browser import Page
from tests.report.conftest import page
from tests.report.story import DATABASE, ledger_of_two_weeks
from tests.web.test_served import get, opened

__all__ = ["page"]
PHONE, DESK = 360, 1280


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a site that has a plan, with the history of another that was watched for two weeks."""
    folder = tmp_path_factory.mktemp("live")
    site = Site(folder)
    site.propose()
    site.run("run", "--once")  # only what a daemon has seen has spaces
    (folder / "story").mkdir()
    with ledger_of_two_weeks(folder / "story") as (ledger, clock), opened(site) as documents:
        figures = last_day(ledger, DATABASE, clock.now())
        assert [figure.name for figure in figures] == ["waits", "fill"]
        served = WebSite(documents, list, guarded=True, monotonic=time.monotonic, history=lambda _, __: figures)
        body = get(served, "/").body.decode()
    path = folder / "live.html"
    path.write_text(body.replace('http-equiv="refresh"', 'name="refresh"'), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_live_page_fits(page: Page, shown: Path, width: int) -> None:
    """Nothing sticks out, names of units stand on one line on a phone, pictures have a size, nothing is fetched."""
    page.resize(width)
    page.emulate()
    page.complaints.clear()
    page.open(shown)
    assert page.complaints == []
    assert page.run("document.documentElement.scrollWidth") <= width
    names = page.run(
        "[...document.querySelectorAll('td.name')].map(n => [n.textContent, n.firstChild.getClientRects ? 1 : "
        "(() => { const r = document.createRange(); r.selectNodeContents(n); return r.getClientRects().length; })()])"
    )
    assert len(names) > 5
    assert width > PHONE or {lines for _, lines in names} == {1}
    sizes = page.run("[...document.querySelectorAll('figure svg')].map(s => [s.clientWidth, s.clientHeight])")
    assert len(sizes) == 2
    assert all(wide > 200 and high > 50 for wide, high in sizes)
    bars = page.run("[...document.querySelectorAll('svg.bar')].map(s => [s.clientWidth, s.clientHeight])")
    assert bars
    assert all(high < 30 for _, high in bars)


def test_history_is_drawn_once_a_minute(tmp_path: Path) -> None:
    """A page that is shown again every few seconds does not read a day of the ledger each time."""
    site, now, asked = Site(tmp_path), [0.0], []
    site.propose()
    with opened(site) as documents:
        served = WebSite(
            documents, list, guarded=True, monotonic=lambda: now[0],
            history=lambda name, _: asked.append(name) or (),  # type: ignore[func-returns-value]  # notes who asks
        )  # fmt: skip
        for at in (0.0, 10.0, 59.0, 61.0):
            now[0] = at
            get(served, "/")
    assert asked == ["shop", "shop"]
