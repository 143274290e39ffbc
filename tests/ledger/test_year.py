"""A ledger that has lived for long: nothing is cut, and what is asked often costs the same at any age."""

from __future__ import annotations

import gc
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest

from agent.ledger.ledger import Ledger
from agent.ledger.store.schema import HEAD
from agent.ledger.stored import PARSED_HELD, _parse
from agent.model.proposals import Proposal
from agent.model.states import ACTIONABLE, MoveState, ProposalState
from agent.pages.content import report_of
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, approved, file_under, stored
from tests.ledger.life import Life, live
from tests.unit.samples import a_move, a_proposal

OLD = Path(__file__).with_name("ledger_v0002.sql")
YOUNG = Life(proposals=12, approved_every=4, moves=(3,), second_steps=4, days=12)
AGED = replace(YOUNG, proposals=72, days=72)
OPEN = (ProposalState.PROPOSED, ProposalState.APPROVED)
LATELY = timedelta(days=5)
MANY_ROWS = """
WITH RECURSIVE more (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < ?)
INSERT INTO audit (at, actor, event, subject, facts, previous, hash)
SELECT (SELECT max(at) FROM audit) + n, 'test', 'move.asked.pause', 'move ' || (9000 + n), '{}', '', '' FROM more
"""

Ask = Callable[[Ledger, StillClock], object]
ASKED: dict[str, Ask] = {
    "whether there is something to do": lambda ledger, _: ledger.moves.has_pending_moves("shop"),
    "what there is to do": lambda ledger, _: ledger.moves.rows(database="shop", states=ACTIONABLE),
    "what settles": lambda ledger, _: ledger.moves.rows(database="shop", states={MoveState.SETTLING}),
    "what waits to be taken back": lambda ledger, _: ledger.moves.rows(
        database="shop", states={MoveState.UNDO_PROPOSED}
    ),
    "what failed lately": lambda ledger, clock: ledger.moves.rows(
        database="shop", states={MoveState.FAILED}, since=clock.now() - LATELY
    ),
    "what people ask of moves": lambda ledger, _: ledger.requests.in_force("shop"),
    "what was sent lately": lambda ledger, clock: ledger.moves.sent_statements("shop", clock.now() - LATELY),
    "what is open": lambda ledger, _: ledger.proposals.rows(database="shop", states=OPEN),
    "what is too old": lambda ledger, _: ledger.proposals.expire_due(),
    "history": lambda ledger, _: ledger.moves.latest("shop", 5),
    "outcomes": lambda ledger, _: ledger.moves.outcomes(database="shop", limit=1),
    "report": lambda ledger, clock: report_of(ledger, "shop", clock.now() - LATELY, clock.now()),
}


class Effort:
    """Counts the instructions of SQLite's virtual machine that a ledger has run."""

    def __init__(self, ledger: Ledger) -> None:
        self.instructions = 0
        for driver in file_under(ledger)._free:  # one: a single thread reads with the same one again and again
            driver.set_progress_handler(self._count, 1)

    def of(self, ask: Callable[[], object]) -> int:
        """How many one question takes."""
        before = self.instructions
        ask()
        return self.instructions - before

    def _count(self) -> int:
        self.instructions += 1
        return 0


@pytest.fixture(scope="module")
def effort(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, int]]:
    """Instructions that each question takes in a young ledger and in one six times as old."""
    found: dict[str, list[int]] = {name: [] for name in ASKED}
    for life in (YOUNG, AGED):
        path, clock = tmp_path_factory.mktemp("life") / "ledger.db", StillClock(life.end)
        live(path, life)
        with Ledger.open(path, clock) as ledger:
            counted = Effort(ledger)
            for name, ask in ASKED.items():
                found[name].append(counted.of(partial(ask, ledger, clock)))
    return {name: (young, aged) for name, (young, aged) in found.items()}


@pytest.mark.parametrize("name", ASKED)
def test_what_is_asked_often_takes_the_same_at_any_age(effort: dict[str, tuple[int, int]], name: str) -> None:
    """Six times as much has happened: what the answer takes is the same, but for the depth of an index."""
    young, aged = effort[name]
    assert young > 0
    assert aged <= 1.2 * young, f"{young} instructions of SQLite in a young ledger, {aged} in an old one"


def test_a_written_life_is_what_the_ledger_would_have_written(path: Path, clock: StillClock) -> None:
    """The chain fits, every proposal is there, every approved move is kept, with its statements and its outcome."""
    live(path, YOUNG)
    with Ledger.open(path, clock) as ledger:
        assert ledger.audit.verify().ok
        states = [row.state for row in ledger.proposals.rows(database="shop")]
        assert {state: states.count(state) for state in set(states)} == {
            ProposalState.PROPOSED: 1, ProposalState.SUPERSEDED: 8, ProposalState.FINISHED: 3,
        }  # fmt: skip
        kept = ledger.moves.rows(database="shop", states={MoveState.KEPT})
        assert len(kept) == 9
        assert sum(map(len, ledger.moves.steps_of([row.id for row in kept]).values())) == 9 + 4
        assert len(ledger.moves.outcomes_of([row.id for row in kept])) == 9


def test_no_decision_is_lost_behind_a_hundred_thousand_rows(path: Path, clock: StillClock, tamper: Tamper) -> None:
    """However much was written since, of whatever database, a report holds who decided about every proposal in it."""
    live(path, YOUNG)
    tamper(MANY_ROWS, 100_001)
    with Ledger.open(path, clock) as ledger:
        assert len(ledger.audit.rows(100_001, event="move.asked.*")) == 100_001
        found = report_of(ledger, "shop", YOUNG.made_at(0), YOUNG.end)
        assert len(found.proposals) == YOUNG.proposals
        decided = [each for each in found.proposals if each.row.state is ProposalState.FINISHED]
        assert [[row.event for row in each.decisions] for each in decided] == [["proposal.approved"]] * 3
        assert {row.facts["who"] for each in decided for row in each.decisions} == {"anna"}


def test_a_proposal_that_was_decided_in_the_period_is_in_the_report(ledger: Ledger, clock: StillClock) -> None:
    """However long before that it was made, with all that was decided about it."""
    number = stored(ledger, 3)
    ledger.proposals.strike(number, 1, who="bert", origin="tty", reason="too large")
    clock.sleep(20 * 3600)
    begins = clock.now()
    clock.sleep(60)
    digest = ledger.proposals.row(number).digest
    ledger.proposals.approve(number, who="anna", origin="terminal", digest=digest)
    found = report_of(ledger, "shop", begins, clock.now())
    (record,) = found.proposals
    assert [row.event for row in record.decisions] == ["move.struck", "proposal.approved"]
    assert report_of(ledger, "hr", begins, clock.now()).proposals == ()


def test_a_report_says_how_much_of_the_chain_it_has_checked(path: Path, clock: StillClock, tamper: Tamper) -> None:
    """Of a period the rows of the period; a changed one there is found, one before it by audit verify."""
    live(path, YOUNG)
    since = YOUNG.end - LATELY
    with Ledger.open(path, clock) as ledger:
        whole = ledger.audit.verify()
        part = report_of(ledger, "shop", since, YOUNG.end).audit
        assert part.ok
        assert 0 < part.rows < whole.rows
        assert part.head == whole.head
        assert f"the last {part.rows} of {whole.rows} audit rows fit" in part.sentence
        assert "hotplace audit verify" in part.sentence
        assert report_of(ledger, "shop", YOUNG.made_at(0), YOUNG.end).audit.sentence == whole.sentence

        assert tamper("UPDATE audit SET facts = '{}' WHERE id = 5")
        assert report_of(ledger, "shop", since, YOUNG.end).audit.ok
        assert ledger.audit.verify().broken_id == 5
        assert tamper("UPDATE audit SET facts = '{}' WHERE id = ?", whole.rows - 1)
        assert report_of(ledger, "shop", since, YOUNG.end).audit.broken_id == whole.rows - 1


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ("UPDATE proposals SET approved_digest = digest WHERE id = {last}", "marked approved"),
        ("UPDATE proposals SET approved_digest = NULL WHERE id = {decided}", "marked approved"),
        ("UPDATE audit_head SET last_id = last_id + 1", "rows were written"),
        ("DELETE FROM audit WHERE id = (SELECT max(id) - 1 FROM audit)", "is missing"),
    ],
)
def test_what_was_changed_in_the_period_is_found_by_its_report(
    path: Path, clock: StillClock, tamper: Tamper, change: str, fault: str
) -> None:
    """An approval made up or taken away, a row or the end of the chain cut off."""
    live(path, YOUNG)
    assert tamper(change.format(last=YOUNG.proposals, decided=YOUNG.proposals - 2))
    with Ledger.open(path, clock) as ledger:
        audit = ledger.audit.verify(YOUNG.end - LATELY)
        assert not audit.ok
        assert fault in audit.sentence


def test_the_moves_that_take_one_back_are_found(ledger: Ledger) -> None:
    """By the number that they name, and not by one that begins like it."""
    first = approved(ledger, 12)
    moved = ledger.moves.rows(proposal_id=first)
    for row in moved:
        for state in (MoveState.PRECHECK, MoveState.RUNNING, MoveState.PLACED):
            ledger.moves.transition(row.id, state, "")
    back = a_proposal(*(a_move(n, key=f"public.t{n}", undoes=row.id) for n, row in enumerate(moved[9:11], start=1)))
    number = ledger.proposals.store(back)
    assert [row.proposal_id for row in ledger.moves.taking_back(moved[9])] == [number]
    assert [row.move.undoes for row in ledger.moves.taking_back(moved[10])] == [moved[10].id]
    assert ledger.moves.taking_back(moved[0]) == []


def test_a_ledger_of_an_older_version_is_brought_up_to_date(path: Path, clock: StillClock) -> None:
    """Everything that v0002 wrote is there, its digests and its chain fit, and the upgrade is in the chain."""
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(OLD.read_text(encoding="utf-8"))
        connection.execute("PRAGMA application_id = 1752134768")
    clock.at = Life(proposals=3, days=2).end
    with Ledger.open(path, clock) as ledger:
        newest = ledger.audit.rows(1)[0]
        assert (newest.event, newest.facts) == ("ledger.migrated", {"was": "v0002", "now": HEAD})
        assert ledger.audit.verify().ok
        assert [row.state for row in ledger.proposals.rows()] == [
            ProposalState.PROPOSED, ProposalState.FINISHED, ProposalState.SUPERSEDED,
        ]  # fmt: skip
        assert {row.state for row in ledger.moves.latest("shop", 3)} >= {MoveState.KEPT}
        found = report_of(ledger, "shop", clock.now() - timedelta(days=7), clock.now())
        assert len(found.proposals) == 3
        assert found.totals.outcomes_by_verdict == {"helped": 1}
        (row,) = ledger.history.read("shop", clock.now() - timedelta(days=7), clock.now())
        assert row.values.tolist() == [[3, 4]]
        kept = ledger.state.load_arrays("shop", "decision")
        assert kept is not None
        assert kept[1]["a"].tolist() == [0, 1, 2, 3, 4]


def test_proposals_that_were_read_do_not_stay_in_memory(path: Path, clock: StillClock) -> None:
    """However many proposals an agent has read, it holds the last few: each is up to megabytes of statements."""
    live(path, YOUNG)
    _parse.cache_clear()
    others = [
        each for each in gc.get_objects() if type(each) is Proposal
    ]  # of tests before, held so that ids stay theirs
    before = set(map(id, others))
    with Ledger.open(path, clock) as ledger:
        for number in range(1, YOUNG.proposals + 1):
            assert ledger.proposals.row(number).proposal.moves
            assert ledger.moves.rows(proposal_id=number)
        gc.collect()
        held = [each for each in gc.get_objects() if type(each) is Proposal and id(each) not in before]
        assert len(held) <= PARSED_HELD < YOUNG.proposals
