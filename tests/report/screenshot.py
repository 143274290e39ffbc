"""The picture of the report in the documentation: ``python -m tests.report.screenshot`` takes it."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from agent.pages.figures import figures_of
from agent.pages.report import html_page
from tests.report.browser import chromium, open_browser
from tests.report.story import ledger_of_two_weeks, report_of_story

PATH = Path(__file__).parents[2] / "docs" / "pages" / "report.png"
WIDTH, HEIGHT, SCALE = 1000, 1195, 0.75


def main() -> int:
    """Take it of the two weeks that the tests tell of; 1 where there is no browser."""
    program = chromium()
    if program is None:
        sys.stderr.write("no chromium on this machine\n")
        return 1
    with TemporaryDirectory() as folder:
        page = Path(folder) / "report.html"
        with ledger_of_two_weeks(Path(folder), odd="returns") as (ledger, clock):
            report = report_of_story(ledger, clock)
            page.write_text(html_page(report, figures_of(ledger, report)), encoding="utf-8")
        with open_browser(program) as browser:
            browser.resize(WIDTH, HEIGHT)
            browser.emulate()
            browser.open(page)
            browser.screenshot(PATH, WIDTH, HEIGHT, SCALE)
    return 0


if __name__ == "__main__":
    sys.exit(main())
