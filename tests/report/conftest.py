"""One report of two weeks for all tests: its page, and the same as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.pages.content import Report
from agent.pages.figures import ReportFigures, figures_of
from agent.pages.report import database_reported, html_page
from agent.terminal.output import plain_value
from tests.documents import check_document
from tests.report.browser import Page, chromium, open_browser
from tests.report.story import ledger_of_two_weeks, report_of_story


@dataclass(frozen=True, slots=True)
class Told:
    """A report in its three forms."""

    report: Report
    figures: ReportFigures
    html: str
    document: dict[str, Any]  # as ``--json`` prints it
    path: Path  # of the page


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """Written once."""
    folder = tmp_path_factory.mktemp("report")
    with ledger_of_two_weeks(folder) as (ledger, clock):
        report = report_of_story(ledger, clock)
        figures = figures_of(ledger, report)
        html = html_page(report, figures)
        document = json.loads(json.dumps(plain_value(database_reported(report, figures)), allow_nan=False))
    check_document(["report"], document)
    path = folder / "report.html"
    path.write_text(html, encoding="utf-8")
    return Told(report, figures, html, document, path)


@pytest.fixture(scope="session")
def page() -> Iterator[Page]:
    """A page of a real browser."""
    program = chromium()
    if program is None:
        pytest.skip("no chromium on this machine: see tests/components.py")
    with open_browser(program) as opened:
        yield opened
