"""All databases of a ledger at once, on both kinds of ledger."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.store.database import Prepared, Values
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import OPEN_PROPOSALS, MoveState, ProposalState
from agent.service.fleet import (
    Attention,
    Heartbeat,
    Selection,
    read_outcomes,
    read_proposals,
    read_standings,
    read_summaries,
    total_of,
)
from tests.ledger.clock import StillClock
from tests.ledger.fleet import a_fleet, approve, heard_of, measured, proposed
from tests.unit.samples import MADE_AT

ALL = Selection()


def test_what_needs_a_person_comes_first(ledger: Ledger, clock: StillClock) -> None:
    """A ledger that is not trusted, then silence, errors, and decisions by what they save; then what needs nothing."""
    a_fleet(ledger, clock)
    found = read_standings(ledger, ALL, clock.now())
    assert [(each.database, each.needs) for each in found] == [
        ("forged", Attention.UNTRUSTED), ("unwatched", Attention.SILENT), ("old", Attention.SILENT),
        ("broken", Attention.FAILING),
        ("shop-2", Attention.DECISION), ("shop-1", Attention.DECISION), ("calm", Attention.NOTHING),
    ]  # fmt: skip
    by_name = {each.database: each for each in found}
    assert (by_name["old"].heartbeat, by_name["unwatched"].heartbeat) == (Heartbeat.SILENT, Heartbeat.NEVER)
    assert by_name["shop-2"].undecided_saved_per_hour == 5000.0
    assert by_name["calm"].tiers == {"ssd": (3, 7)}


def test_a_pattern_and_an_engine_choose(ledger: Ledger, clock: StillClock) -> None:
    """By name as of files, upper and lower case told apart, and by what the agent says it watches."""
    a_fleet(ledger, clock)

    def names(selection: Selection) -> list[str]:
        return [each.database for each in read_standings(ledger, selection, clock.now())]

    assert names(Selection(pattern="shop-*")) == ["shop-2", "shop-1"]
    assert names(Selection(pattern="SHOP-*")) == []
    assert names(Selection(engine="db2")) == ["broken"]
    heads = read_proposals(ledger, Selection(engine="db2"), OPEN_PROPOSALS)
    assert [head.database for head in heads] == ["broken"]
    assert not read_proposals(ledger, Selection(pattern="calm"), None)


def test_proposals_of_all_databases_by_worth(ledger: Ledger, clock: StillClock) -> None:
    """What waits for a decision first, of that what saves most."""
    numbers = a_fleet(ledger, clock)
    approve(ledger, numbers["broken"])
    heads = read_proposals(ledger, ALL, OPEN_PROPOSALS)
    assert [head.database for head in heads] == ["shop-2", "shop-1", "unwatched", "broken"]
    assert (heads[0].moves, heads[0].bytes, heads[-1].decided_by) == (2, 2 * (64 << 20), "anna")
    assert [head.id for head in read_proposals(ledger, ALL, {ProposalState.APPROVED})] == [numbers["broken"]]


def test_outcomes_and_what_they_come_to(ledger: Ledger, clock: StillClock) -> None:
    """What hurt is first; the report counts proposals, moves and verdicts by database, and what was saved."""
    for name, verdict in (("a", OutcomeVerdict.HELPED), ("b", OutcomeVerdict.HURT), ("c", OutcomeVerdict.HELPED)):
        number = proposed(ledger, name)
        approve(ledger, number)
        measured(ledger, number, verdict)
    proposed(ledger, "c", 1.0, moves=2)
    rows = read_outcomes(ledger, ALL, MADE_AT - timedelta(days=1))
    assert [row.database for row in rows] == ["b", "c", "a"]
    found = read_summaries(ledger, ALL, MADE_AT - timedelta(days=1))
    assert [(each.database, each.hurt, each.moved) for each in found] == [("b", 1, 1), ("a", 0, 1), ("c", 0, 1)]
    assert found[2].proposals[ProposalState.PROPOSED] == 1
    # 900 s an hour were to be three quarters of the wait; the wait per transaction has doubled since.
    assert found[0].saved_per_hour == pytest.approx(-1200.0)
    assert not read_outcomes(ledger, ALL, clock.now() + timedelta(seconds=1))


def test_what_was_taken_back_is_counted_apart(ledger: Ledger) -> None:
    """An undo that helped says nothing of what moves bring, in verdicts and in what was saved."""
    for name, undo in (("a", False), ("b", True)):
        number = proposed(ledger, name)
        approve(ledger, number)
        measured(ledger, number, OutcomeVerdict.HELPED, undo=undo)
    total = total_of(read_summaries(ledger, ALL, MADE_AT - timedelta(days=1)))
    assert (total.verdicts, total.undo_verdicts) == ({OutcomeVerdict.HELPED: 1}, {OutcomeVerdict.HELPED: 1})
    (alone,) = (each for each in read_summaries(ledger, ALL, MADE_AT - timedelta(days=1)) if each.database == "a")
    assert total.saved_per_hour == alone.saved_per_hour != 0


def test_what_time_has_ended_is_open_in_no_list(ledger: Ledger, clock: StillClock) -> None:
    """Neither a proposal that was not decided in time nor one of which no move was begun, before any agent notes it."""
    ends = clock.now() + timedelta(hours=1)
    for name in ("late", "unbegun", "begun"):
        heard_of(ledger, name)
    late, unbegun, begun = (
        proposed(ledger, name, moves=2, expires_at=ends) for name in ("late", "unbegun", "begun")
    )  # fmt: skip
    for number in (unbegun, begun):
        approve(ledger, number)
    ledger.moves.transition(ledger.moves.rows(proposal_id=begun)[0].id, MoveState.PRECHECK, "")
    assert {head.id for head in read_proposals(ledger, ALL, OPEN_PROPOSALS)} == {late, unbegun, begun}
    clock.sleep(3600)
    for name in ("late", "unbegun", "begun"):
        heard_of(ledger, name)
    assert [head.id for head in read_proposals(ledger, ALL, OPEN_PROPOSALS)] == [begun]
    assert [head.id for head in read_proposals(ledger, ALL, {ProposalState.EXPIRED})] == [late]
    assert [row.id for row in ledger.proposals.rows(states=OPEN_PROPOSALS)] == [begun]
    assert [row.id for row in ledger.proposals.rows(states={ProposalState.FINISHED})] == [unbegun]
    assert ledger.proposals.row(late).reason == "not decided in time"
    standings = read_standings(ledger, ALL, clock.now())
    assert {(each.undecided, each.waiting_moves, each.needs) for each in standings} == {
        (0, 0, Attention.NOTHING), (0, 1, Attention.NOTHING)
    }  # fmt: skip
    assert ledger.overview.moves_under_way() == {"begun": {MoveState.PRECHECK: 1}}
    for number, states in ((late, [MoveState.EXPIRED] * 2), (begun, [MoveState.PRECHECK, MoveState.EXPIRED])):
        assert [row.state for row in ledger.moves.as_they_are(proposal_id=number)] == states
    before = {row.id: (row.state, row.reason) for row in ledger.proposals.rows()}
    ledger.proposals.expire_due()
    assert {row.id: (row.state, row.reason) for row in ledger.proposals.rows()} == before


def test_queries_do_not_grow_with_the_databases(
    ledger: Ledger, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twelve databases take as many queries as two."""
    asked: list[str] = []
    bound = Prepared.bound

    def counted(self: Prepared, values: Values) -> object:
        asked.append(self.text)
        return bound(self, values)

    monkeypatch.setattr(Prepared, "bound", counted)

    def queries(databases: range) -> int:
        for number in databases:
            heard_of(ledger, f"db{number}")
            proposed(ledger, f"db{number}")
        asked.clear()
        assert len(read_standings(ledger, ALL, clock.now())) == databases.stop
        read_summaries(ledger, ALL, MADE_AT - timedelta(days=1))
        return len(asked)

    assert queries(range(2)) == queries(range(2, 12))
