"""What people ask of moves, and spaces that are closed: stored, refused where it means nothing, audited."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from agent.ledger.errors import NotFound, WrongState
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import prepare_file
from agent.ledger.ledger import Ledger
from agent.ledger.rows import RequestKind
from agent.ledger.store.schema import APPLICATION_ID, HEAD
from agent.ledger.store.tables import migrate
from agent.model.states import MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import approved, stored

ANN = {"who": "ann", "origin": "terminal", "reason": "backup"}


def running(ledger: Ledger) -> int:
    """Number of a move that runs."""
    approved(ledger, 1)
    number = ledger.moves.rows()[0].id
    ledger.moves.transition(number, MoveState.PRECHECK, "")
    ledger.moves.transition(number, MoveState.RUNNING, "")
    return number


def test_the_newest_ask_is_in_force(ledger: Ledger) -> None:
    """Pause, then resume: the second counts, both stay on record, and the answer belongs to one of them."""
    number = running(ledger)
    first = ledger.requests.submit(number, RequestKind.PAUSE, **ANN)
    ledger.requests.answer(first.id, "it is held")
    second = ledger.requests.submit(number, RequestKind.RESUME, **ANN)
    assert ledger.requests.in_force("shop") == {number: second}
    assert [(ask.kind, ask.answer) for ask in ledger.requests.of_move(number)] == [
        (RequestKind.PAUSE, "it is held"),
        (RequestKind.RESUME, ""),
    ]
    assert ledger.audit.verify().ok


def test_what_was_resumed_may_be_asked_to_pause_again(ledger: Ledger) -> None:
    """Only the newest counts: after a resume a move is not held, so it can be asked to pause, and not to resume."""
    number = running(ledger)
    for kind in (RequestKind.PAUSE, RequestKind.RESUME):
        ledger.requests.submit(number, kind, **ANN)
    with pytest.raises(WrongState, match="was not asked to pause"):
        ledger.requests.submit(number, RequestKind.RESUME, **ANN)
    assert ledger.requests.submit(number, RequestKind.PAUSE, **ANN).kind is RequestKind.PAUSE


def test_an_ended_move_has_no_ask_in_force(ledger: Ledger) -> None:
    """What has ended is asked nothing any more."""
    number = running(ledger)
    ledger.requests.submit(number, RequestKind.PAUSE, **ANN)
    ledger.moves.transition(number, MoveState.FAILED, "")
    assert ledger.requests.in_force("shop") == {}


def test_what_means_nothing_is_refused(ledger: Ledger) -> None:
    """Resuming what goes on, pausing twice, and anything of what is proposed, ended or unknown."""
    number = running(ledger)
    with pytest.raises(WrongState, match="was not asked to pause"):
        ledger.requests.submit(number, RequestKind.RESUME, **ANN)
    ledger.requests.submit(number, RequestKind.PAUSE, **ANN)
    with pytest.raises(WrongState, match="already"):
        ledger.requests.submit(number, RequestKind.PAUSE, **ANN)
    ledger.moves.transition(number, MoveState.FAILED, "")
    for kind in RequestKind:
        with pytest.raises(WrongState, match="is failed"):
            ledger.requests.submit(number, kind, **ANN)
    with pytest.raises(NotFound):
        ledger.requests.submit(77, RequestKind.PAUSE, **ANN)
    with pytest.raises(NotFound):
        ledger.requests.answer(77, "done")
    with pytest.raises(ValueError, match="names themselves"):
        ledger.requests.submit(number, RequestKind.PAUSE, who=" ", origin="terminal", reason="")


def test_a_proposed_move_is_not_cancelled_but_struck(ledger: Ledger) -> None:
    """Nobody approved it, so there is nothing to cancel."""
    stored(ledger, 1)
    with pytest.raises(WrongState, match="is proposed"):
        ledger.requests.submit(ledger.moves.rows()[0].id, RequestKind.CANCEL, **ANN)


def test_an_approved_move_is_cancelled_at_once(ledger: Ledger) -> None:
    """Without a daemon, in the same transaction; the last one ends the proposal."""
    number = approved(ledger, 1)
    ask = ledger.requests.submit(ledger.moves.rows()[0].id, RequestKind.CANCEL, **ANN)
    row = ledger.moves.rows()[0]
    assert (row.state, row.reason, ask.answer) == (MoveState.CANCELLED, "cancelled by ann: backup", "it had not begun")
    assert ledger.proposals.row(number).state == "finished"
    assert ledger.audit.verify().ok


def test_spaces_are_closed_and_opened_once(ledger: Ledger) -> None:
    """The first word counts, and both are in the audit chain."""
    assert ledger.arrivals.close("shop", "ssd", who="ann", reason="retired")
    assert ledger.arrivals.close("shop", "ssd", who="bob", reason="too") is False
    (row,) = ledger.arrivals.rows("shop")
    assert (row.space, row.who, row.reason) == ("ssd", "ann", "retired")
    assert ledger.arrivals.rows("other") == []
    assert ledger.arrivals.open("shop", "ssd", who="bob", reason="")
    assert not ledger.arrivals.open("shop", "ssd", who="bob", reason="")
    assert [row.event for row in ledger.audit.rows(2)] == ["space.opened", "space.closed"]


def test_a_ledger_of_the_first_version_is_migrated(path: Path, clock: StillClock) -> None:
    """Opened by this version it gets the new tables, says so in its audit chain, and works."""
    prepare_file(path, create=True)
    database = FileDatabase(path)
    with database.write() as transaction:
        transaction.driver.execute(f"PRAGMA application_id={APPLICATION_ID}")
        migrate(transaction, "v0001")
    database.close()
    with closing(sqlite3.connect(path)) as plain:
        assert not plain.execute("SELECT 1 FROM sqlite_master WHERE name = 'asks'").fetchall()
    with Ledger.open(path, clock) as ledger:
        assert (ledger.audit.rows(1)[0].event, ledger.audit.rows(1)[0].facts) == (
            "ledger.migrated",
            {"was": "v0001", "now": HEAD},
        )
        number = running(ledger)
        ledger.requests.submit(number, RequestKind.PAUSE, **ANN)
        assert ledger.arrivals.close("shop", "ssd", who="ann", reason="")
