"""What people have set, and what was sent, is compared with the chain: a table that was changed behind it shows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from agent.ledger.errors import WrongState
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind, StepState
from agent.model.states import MoveState
from policies.model.settings import Pin
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.conftest import ON_SERVER, Tamper, approved
from tests.ledger.divided import DividedLedger, divided_ledger
from tests.ledger.servers import LedgerServers

ANN = {"who": "ann", "origin": "terminal", "reason": "backup"}


@pytest.fixture
def move(ledger: Ledger, clock: StillClock) -> int:
    """A move with one statement sent, that was paused; a pin, one with an end, and a closed space beside it."""
    approved(ledger, 1)
    (row,) = ledger.moves.rows()
    for state in (MoveState.PRECHECK, MoveState.RUNNING):
        ledger.moves.transition(row.id, state, "")
    step = ledger.moves.step_intent(row.id, 1, row.move.route.steps[0].sql)
    ledger.moves.step_result(step, StepState.PAUSED, "held")
    first = ledger.requests.submit(row.id, RequestKind.PAUSE, **ANN)
    ledger.requests.answer(first.id, "it is held")
    ledger.requests.submit(row.id, RequestKind.RESUME, **ANN)
    ledger.requests.submit(row.id, RequestKind.PAUSE, **{**ANN, "reason": "month end"})
    ledger.pins.pin("shop", "public.bills", Pin.NEVER, who="ann", reason="legal")
    ledger.pins.pin("shop", "public.t*", Pin.MUST, who="bob", reason="", until=clock.now() + timedelta(days=1))
    ledger.pins.pin("shop", "public.old", Pin.NONE, who="bob", reason="")
    ledger.pins.unpin("shop", "public.old", who="bob")
    ledger.arrivals.close("shop", "old", who="ann", reason="retired")
    ledger.arrivals.close("shop", "hdd", who="ann", reason="retired")
    ledger.arrivals.open("shop", "hdd", who="ann", reason="")
    return row.id


def test_what_was_set_and_unset_in_the_ordinary_way_fits(ledger: Ledger, clock: StillClock, move: int) -> None:
    """The whole chain, and any end of it; a pin that has ended stays in its table and fits too."""
    assert ledger.audit.verify().ok
    before = clock.now()
    clock.sleep(2 * 86_400)
    assert ledger.audit.verify().ok
    assert ledger.audit.verify(before).ok
    ledger.requests.submit(move, RequestKind.RESUME, **ANN)
    ledger.pins.unpin("shop", "public.bills", who="ann")
    ledger.arrivals.open("shop", "old", who="ann", reason="")
    assert ledger.audit.verify(clock.now()).ok
    assert ledger.audit.verify().ok


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("DELETE FROM pins WHERE pattern = 'public.bills'", "pin 'shop public.bills' was removed"),
        ("UPDATE pins SET pin = 1 WHERE pattern = 'public.bills'", "pin 'shop public.bills' was changed"),
        ("UPDATE pins SET until = until - 1 WHERE pattern = 'public.t*'", "pin 'shop public.t*' was changed"),
        ("UPDATE pins SET pattern = 'x' WHERE pattern = 'public.t*'", "pin 'shop x' is not in the audit chain"),
        ("DELETE FROM closed_spaces", "closed space 'shop old' was removed"),
        ("UPDATE closed_spaces SET who = 'eve'", "closed space 'shop old' was changed"),
        ("UPDATE closed_spaces SET space = 'ssd'", "closed space 'shop ssd' is not in the audit chain"),
        ("DELETE FROM asks", "request 1 was removed"),
        ("DELETE FROM asks WHERE reason = 'month end'", "a request to pause it"),
        ("UPDATE asks SET kind = 'resume'", "a request to pause it"),
        ("UPDATE asks SET answer = 'yes' WHERE kind = 'resume'", "is marked answered"),
        ("UPDATE asks SET answer = '' WHERE answer <> ''", "request 1 was changed"),
        ("UPDATE steps SET sql = 'SELECT 1'", "step 1 was changed"),
        ("UPDATE steps SET state = 'done'", "step 1 was changed"),
        ("DELETE FROM steps", "step 1 was removed"),
        ("UPDATE steps SET id = 7", "step 7 is not in the audit chain"),
    ],
)
def test_a_changed_table_is_named(ledger: Ledger, move: int, tamper: Tamper, sql: str, words: str) -> None:
    """Whatever was removed, changed or added in it."""
    assert tamper(sql)
    report = ledger.audit.verify()
    assert not report.ok
    assert words in report.sentence


def test_every_difference_is_named(ledger: Ledger, clock: StillClock, move: int, tamper: Tamper) -> None:
    """Not the first alone: each is a decision of a person. The end of the chain names those that it tells of."""
    for table in ("pins", "closed_spaces", "asks"):
        tamper(f"DELETE FROM {table}")
    for since in (None, clock.now() - timedelta(hours=1)):
        sentence = ledger.audit.verify(since).sentence
        for words in ("pin 'shop public.bills'", "pin 'shop public.t*'", "closed space 'shop old'", f"move {move}"):
            assert words in sentence


@pytest.mark.parametrize(
    "sql", ["DELETE FROM asks", "UPDATE asks SET kind = 'resume'", "DELETE FROM asks WHERE reason = 'month end'"]
)
def test_a_pause_holds_whatever_became_of_its_row(ledger: Ledger, move: int, tamper: Tamper, sql: str) -> None:
    """The chain says what is in force; a person resumes it as any other, and what is not in the chain does nothing."""
    tamper(sql)
    request = ledger.requests.in_force("shop")[move]
    assert (request.kind, request.who, request.reason) == (RequestKind.PAUSE, "ann", "month end")
    with pytest.raises(WrongState, match="asked to pause already"):
        ledger.requests.submit(move, RequestKind.PAUSE, **ANN)
    resumed = ledger.requests.submit(move, RequestKind.RESUME, **ANN)
    assert ledger.requests.in_force("shop") == {move: resumed}


def test_a_request_that_the_chain_does_not_hold_is_none(ledger: Ledger, move: int, tamper: Tamper) -> None:
    """No row that was added to the table resumes a move."""
    columns = "move_id, kind, who, origin, reason, at, answer"
    tamper(f"INSERT INTO asks ({columns}) SELECT move_id, 'resume', who, origin, reason, at, '' FROM asks WHERE id = 1")
    assert ledger.requests.in_force("shop")[move].kind is RequestKind.PAUSE
    assert "a request to resume it, by ann, is not in the audit chain" in ledger.audit.verify().sentence


@pytest.fixture(scope="module")
def divided(servers: LedgerServers, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DividedLedger]:
    """A ledger of two teams: sales owns sim, hr owns pay."""
    folder = tmp_path_factory.mktemp("standing")
    with divided_ledger(servers, folder, Person.new(folder, "anna")) as made:
        yield made


class TestByRoles:
    """In a ledger that is divided among teams."""

    pytestmark = ON_SERVER

    def test_a_pin_that_was_removed_without_a_row_of_the_chain_shows(self, divided: DividedLedger) -> None:
        """Its own team's agent names it; that of another team sees neither the pin nor that it is missing."""
        clock = StillClock()
        with (
            divided.ledger("sales_approver", clock) as people,
            divided.ledger("sales_agent", clock) as agent,
            divided.ledger("hr_agent", clock) as other,
        ):
            people.pins.pin("sim", "public.bills", Pin.NEVER, who="ann", reason="legal")
            people.arrivals.close("sim", "old", who="ann", reason="")
            assert agent.audit.verify().ok
            assert other.audit.verify().ok
            with people._database.write() as transaction, transaction.core() as core:
                core.exec_driver_sql("DELETE FROM pins")
                core.exec_driver_sql("DELETE FROM closed_spaces")
            sentence = agent.audit.verify().sentence
            assert "pin 'sim public.bills' was removed" in sentence
            assert "closed space 'sim old' was removed" in sentence
            assert other.audit.verify().ok
