"""``assess --html``: a page with the pictures of an assessment, for a desk and a phone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.studies.assessment import assessment_shown
from tests.assess.test_assessing import MIB, TOLD, judged, row
from tests.assess.written_reports import Listed, write
from tests.cli.site import run_here
from tests.report.browser import chromium, open_browser

SIZES = [row(1, "ORDERS", 80 * MIB, "DATA"), row(2, "OTHER", 320 * MIB, "DATA"), row(3, "PK", 50 * MIB, "IDX")]
VAGUE = replace(
    TOLD,
    segments=[Listed(owner="APP", space="DATA", name="ORDERS", blocks=900_000, calls=600_000)],
    events=[*TOLD.events, ("direct path read temp", 100, 2.0)],
)  # fmt: skip


def written(at: Path) -> str:
    """The page of a report with sizes."""
    from agent.pages.assessed_page import assessed_page

    page = assessed_page([assessment_shown(judged(VAGUE, sizes=SIZES))])
    at.write_text(page, encoding="utf-8")
    return page


def test_the_page_has_every_picture_and_what_is_not_known(tmp_path: Path) -> None:
    """Waits by kind, by space and by object, the curve with what is possible, and each note of the files."""
    page = written(tmp_path / "a.html")
    for title in ("Waits by kind of read", "Waits by space", "Waits by object", "What fast storage saves, by its size"):
        assert f"<h3>{title}</h3>" in page
    assert page.count("<svg") == 4
    assert "reads of one block (db file sequential read)" in page
    assert "Shaded: what the files leave possible" in page
    assert "<polygon" in page, "the interval of the curve"
    assert "What the files cannot tell" in page
    assert "(default)" in page
    assert "(configured)" not in page
    assert "<script" not in page
    ends = [unit.wait_high_per_hour_seconds for unit in assessment_shown(judged(VAGUE)).units]
    assert sum(ends) < 3 * 7_310, "reads of temporary files leave nothing open for objects"


def test_without_sizes_the_page_says_why_there_is_no_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command, of two files on one page; what they hold is escaped."""
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(write(TOLD, "awr11"), encoding="utf-8")
    odd = replace(TOLD, segments=[Listed(owner="APP", space="DATA", name="<b>&", blocks=600_000, calls=600_000)])
    Path("b.html").write_text(write(odd, "html11"), encoding="utf-8")
    done = run_here("assess", "a.txt", "b.html", "--html", "page.html")
    assert done.code == 0
    assert "written: page.html" in done.out
    page = Path("page.html").read_text(encoding="utf-8")
    assert page.count("No picture of what fast storage saves, by its size: the files have no sizes") == 2
    assert "<b>&" not in page
    assert "&lt;b&gt;&amp;" in page
    names = [part.split('"')[0] for part in page.split('id="')[1:]]
    assert len(names) == len(set(names))


@pytest.mark.skipif(chromium() is None, reason="no chromium on this machine")
def test_the_page_fits_a_phone_and_a_desk(tmp_path: Path) -> None:
    """Nothing sticks out, nothing is fetched, and no word of a picture leaves it."""
    written(tmp_path / "a.html")
    program = chromium()
    assert program is not None
    with open_browser(program) as browser:
        for width in (360, 1280):
            browser.resize(width)
            browser.emulate()
            browser.open(tmp_path / "a.html")
            assert browser.run("document.documentElement.scrollWidth") <= width
            assert browser.complaints == []
            out = browser.run(
                """[...document.querySelectorAll('figure svg')].flatMap(svg => {
                    const frame = svg.getBoundingClientRect();
                    return [...svg.querySelectorAll('text')].filter(text => {
                        const box = text.getBoundingClientRect();
                        return box.left < frame.left - 1 || box.right > frame.right + 1;
                    }).map(text => text.textContent);
                })"""
            )
            assert out == []
