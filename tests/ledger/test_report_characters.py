"""Control characters of names never reach a reader's browser, pager or terminal by a report."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.ledger.ledger import Ledger
from agent.pages.content import Report, report_of
from agent.pages.figures import ReportFigures
from agent.pages.report import html_page, markdown_page
from tests.ledger.clock import StillClock
from tests.unit.samples import a_move, a_proposal, a_route

HOSTILE = 'public."a\x1b[2J\x9b31m\u202e\x07<b>|`b"'


@pytest.fixture
def report(ledger: Ledger, clock: StillClock) -> Report:
    """Of a proposal whose names and statements would colour, clear and turn round a terminal."""
    move = a_move(key=HOSTILE, route=a_route(HOSTILE), sentence=f"moves {HOSTILE}")
    number = ledger.proposals.store(a_proposal(move, a_move(2, route=a_route(), key="public.t"), asked_by=HOSTILE))
    digest = ledger.proposals.row(number).digest
    ledger.proposals.approve(number, who=HOSTILE, origin=HOSTILE, digest=digest, reason=HOSTILE)
    return report_of(ledger, "shop", clock.now() - timedelta(days=1), clock.now() + timedelta(days=1))


def test_a_page_holds_no_control_characters(report: Report) -> None:
    """They stand there as escapes, in HTML and in Markdown; markup of names stays what it is: text."""
    for page in (html_page(report, ReportFigures()), markdown_page(report)):
        assert [c for c in page if not c.isprintable() and c not in "\n\t"] == []
        assert "x1b" in page
    assert "<b>" not in html_page(report, ReportFigures())
