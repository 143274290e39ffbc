"""The page for auditors: from the ledger alone, complete, and safe against what names may hold."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

from agent.ledger import Ledger
from agent.report import html_page, markdown_page, report_of
from tests.cli.site import Site
from tests.ledger.conftest import StillClock
from tests.unit.samples import MADE_AT, a_move, a_proposal

NASTY = 'public."<script>alert(1)</script> | *x*"'


class Pieces(HTMLParser):
    """Collects tags and text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One tag begins."""
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        """Text between tags."""
        self.text += data


def test_the_report_tells_the_whole_story(site: Site) -> None:
    """Who approved what, what was sent, and what came of it, in text, JSON, HTML and Markdown."""
    number, digest = site.propose()
    site.good("approve", str(number), "--digest", digest, "--reason", "agreed")
    site.good("run", "--once")
    done = site.good("report", "--html", str(site.folder / "r.html"), "--markdown", str(site.folder / "r.md"))
    assert f"proposal.approved of proposal {number} by " in done.out
    assert "beside moves, by the last plan" in done.out
    document = site.good("report", "--json").document
    assert document["audit"]["ok"] is True
    (log,) = [each for each in document["advice"] if each["subject"] == "log"]
    assert log["sentence"] in site.good("explain", "log").out
    assert document["totals"]["bytes_moved"] == sum(
        move["bytes"] for move in document["proposals"][0]["moves"] if move["state"] in {"placed", "settling", "kept"}
    )
    page = Pieces()
    page.feed((site.folder / "r.html").read_text(encoding="utf-8"))
    markdown = (site.folder / "r.md").read_text(encoding="utf-8")
    for text in (page.text, markdown):
        assert document["proposals"][0]["digest"] in text
        assert ": agreed" in text
        assert log["sentence"] in text
        assert document["proposals"][0]["moves"][0]["statements"][0]["sql"] in text


def test_an_empty_ledger_makes_an_honest_page(site: Site) -> None:
    """Nothing was proposed, and it says so."""
    assert site.good("report", "--json").document["totals"]["moves"] == 0
    assert site.run("report", "--since", "soon").code == 2
    assert site.run("report", "--html", "/nowhere/report.html").code == 6


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    """Tags and table marks in a table's name are text."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        ledger.proposals.store(a_proposal(a_move(1, key=NASTY)))
        found = report_of(ledger, "shop", MADE_AT, clock.now())
    page = Pieces()
    page.feed(html_page(found))
    assert "script" not in page.tags
    assert NASTY in page.text
    (row,) = [line for line in markdown_page(found).splitlines() if "alert" in line and line.startswith("|")]
    assert row.replace("\\|", "").count("|") == 11
