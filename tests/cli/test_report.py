"""The page for auditors: from the ledger alone, complete, and safe against what names may hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

from agent.ledger.ledger import Ledger
from agent.ledger.rows import StepState
from agent.model.outcomes import OutcomeVerdict
from agent.model.proposals import UNDO
from agent.model.states import MoveState
from agent.moving.verifier import measure
from agent.pages.content import Report, outcomes_text, report_of
from agent.pages.figures import ReportFigures
from agent.pages.report import database_reported, html_page, markdown_page
from agent.sampling.learned_state import recorded_fills
from connectors.model.observation import DatabaseDemand
from tests.cli.site import Site
from tests.ledger.clock import StillClock
from tests.unit.samples import MADE_AT, a_move, a_proposal, an_effect

NO_FIGURES = ReportFigures()
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
    assert "advice other than moves, from the last plan" in done.out
    document = site.good("report", "--json", "--html", str(site.folder / "r.html")).document
    assert document["files"] == {"html": str(site.folder / "r.html"), "markdown": None}
    assert document["audit"]["ok"] is True
    (decision,) = document["proposals"][0]["decisions"]
    assert f"{decision['event']} of {decision['subject']} by {decision['who']} from {decision['origin']}" in done.out
    assert decision["subject"] == f"proposal {number}"
    assert document["figures"]["sizing"]["fastest_tier"] == "ssd"
    assert {each["what"] for each in document["figures"]["sessions_by_what"]} >= {"reads of ssd", "reads of hdd"}
    with Ledger.open(site.ledger_path, StillClock()) as ledger:
        (fill,) = recorded_fills(ledger, "shop")  # of the plan
    assert fill.used_bytes.keys() == {"ssd", "hdd"}
    assert all(0 < fill.used_bytes[tier] < (fill.capacity_bytes[tier] or 0) for tier in fill.used_bytes)
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
        assert document["proposals"][0]["moves"][0]["if_interrupted"][0] in text


def test_an_empty_ledger_makes_an_honest_page(site: Site) -> None:
    """Nothing was proposed, and it says so."""
    assert site.good("report", "--json").document["totals"]["moves"] == 0
    assert site.run("report", "--since", "soon").code == 2
    assert site.run("report", "--html", "/nowhere/report.html").code == 6


def test_what_an_undo_did_is_counted_by_itself(tmp_path: Path) -> None:
    """Taking back what hurt is one hurt and one undo, not one of each among what moves brought."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        waits = iter((4.0, 4.8, 4.8, 4.0))
        for proposal in (
            a_proposal(a_move()),
            a_proposal(a_move(key="public.lines", reason=UNDO, undoes=1), purpose="undo 1"),
        ):
            ends = MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED
            move = carried_out(ledger, ledger.proposals.store(proposal), *ends)
            before, after = (
                DatabaseDemand(reads=1000.0, read_wait=next(waits), transactions=100.0, active=1.0) for _ in range(2)
            )
            effect = an_effect(after.read_wait / before.read_wait - 1)
            ledger.moves.record_outcome(move, measure(proposal, before, after, 60.0, effect=effect))
        found = report_of(ledger, "shop", MADE_AT, clock.now())
        assert found.totals.outcomes_by_verdict == {"hurt": 1}
        assert found.totals.undo_outcomes_by_verdict == {"helped": 1}
        assert outcomes_text(found.totals) == "1 hurt; undo: 1 helped"
        for text in pages(found):
            assert "1 hurt; undo: 1 helped" in text


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    """Tags and table marks in a table's name are text."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        ledger.proposals.store(a_proposal(a_move(1, key=NASTY)))
        found = report_of(ledger, "shop", MADE_AT, clock.now())
    page = Pieces()
    page.feed(html_page(found, NO_FIGURES))
    assert "script" not in page.tags
    assert NASTY in page.text
    (row,) = [line for line in markdown_page(found).splitlines() if "alert" in line and line.startswith("|")]
    assert row.replace("\\|", "").count("|") == 11


def carried_out(ledger: Ledger, number: int, *ends: MoveState) -> int:
    """Approve a proposal of one move and bring it through the states; the number of the move."""
    row = ledger.proposals.row(number)
    ledger.proposals.approve(number, digest=row.digest, who="ann", origin="db1")
    (move,) = ledger.moves.rows(proposal_id=number)
    for state in ends:
        ledger.moves.transition(move.id, state, "as it goes")
    return move.id


def pages(found: Report) -> list[str]:
    """Both pages as text."""
    page = Pieces()
    page.feed(html_page(found, NO_FIGURES))
    return [page.text, markdown_page(found)]


def test_an_interrupted_move_did_not_take_0_s(tmp_path: Path) -> None:
    """A statement that was never heard of again has no length: pages and JSON say that it is not known."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        move = carried_out(ledger, ledger.proposals.store(a_proposal(a_move())), MoveState.PRECHECK, MoveState.RUNNING)
        ledger.moves.step_intent(move, 1, "ALTER TABLE public.orders SET TABLESPACE fast")
        found = report_of(ledger, "shop", MADE_AT, clock.now())
        assert all("not known" in text and "0 s" not in text.split("moved")[-1] for text in pages(found))
        (told,) = database_reported(found, NO_FIGURES).proposals[0].moves
        assert (told.copy_seconds, told.ended_at) == (None, None)
        ledger.moves.step_result(ledger.moves.steps(move)[0].id, StepState.UNKNOWN, "the connection broke")
        assert all("not known" in text for text in pages(report_of(ledger, "shop", MADE_AT, clock.now())))


def test_what_makes_sessions_wait_more_is_said_to_cost(tmp_path: Path) -> None:
    """No page promises to save less than nothing."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        back = a_move(wait_saved_per_hour=-385_200.0, reason=UNDO, undoes=7)
        ledger.proposals.store(a_proposal(back, wait_saved_per_hour=-385_200.0, purpose="undo 7"))
        for text in pages(report_of(ledger, "shop", MADE_AT, clock.now())):
            assert "to cost 107 waiting sessions (4 d 11 h/h)" in text
            assert "-4 d" not in text


def test_an_outcome_is_said_once(tmp_path: Path) -> None:
    """What keeps a move is its outcome, which stands in a column of its own."""
    clock = StillClock()
    with Ledger.open(tmp_path / "ledger.db", clock) as ledger:
        states = MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED, MoveState.SETTLING
        number = ledger.proposals.store(a_proposal(a_move()))
        move = carried_out(ledger, number, *states)
        before = DatabaseDemand(reads=1000.0, read_wait=4.0, transactions=100.0, active=1.0)
        after = DatabaseDemand(reads=1000.0, read_wait=1.0, transactions=100.0, active=1.0)
        outcome = measure(ledger.proposals.row(number).proposal, before, after, 60.0, effect=an_effect(-0.75))
        assert outcome.verdict is OutcomeVerdict.HELPED
        ledger.moves.record_outcome(move, outcome)
        ledger.moves.transition(move, MoveState.KEPT, outcome.sentence)
        for text in pages(report_of(ledger, "shop", MADE_AT, clock.now())):
            assert text.replace("\\", "").count("read wait per transaction went from") == 1
            assert "helped: helped" not in text


def test_all_proposals_are_all(site: Site) -> None:
    """More than a thousand are listed; the list once ended there without a word."""
    number, _ = site.propose()
    with closing(sqlite3.connect(site.ledger_path)) as connection, connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(proposals)") if row[1] != "id"]
        others = ", ".join(columns)
        copies = "WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 1001)"
        connection.execute(f"{copies} INSERT INTO proposals ({others}) SELECT {others} FROM proposals, more")
    for arguments in (("proposals", "--past"), ("proposals",)):
        listed = site.good(*arguments, "--json").document["proposals"]
        assert [each["id"] for each in listed] == list(range(number + 1_001, 0, -1))
