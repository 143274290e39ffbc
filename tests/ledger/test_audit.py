"""The audit chain: it tells everything that was decided, and whatever is changed behind its back shows."""

from __future__ import annotations

import pytest

from agent.ledger.errors import LedgerError
from agent.ledger.ledger import Ledger
from agent.model.states import MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, approved, note


@pytest.fixture
def number(ledger: Ledger) -> int:
    """An approved proposal and a few more links: rows 1 to 6."""
    number = approved(ledger)
    for row in range(3):
        note(ledger, f"row {row}")
    return number


def test_an_untouched_chain_verifies(ledger: Ledger, number: int) -> None:
    """Every row, from the first."""
    report = ledger.audit.verify()
    assert (report.ok, report.rows, report.broken_id) == (True, 6, None)
    assert report.sentence == "all 6 audit rows fit"
    assert report.head == ledger.audit.rows(1)[0].hash


def test_the_chain_knows_what_has_expired(ledger: Ledger, clock: StillClock, tamper: Tamper, number: int) -> None:
    """Promise 9: moves that have expired agree with the chain; one that is marked so behind its back does not."""
    clock.sleep(10 * 365 * 86_400)
    assert ledger.proposals.expire_due()
    assert {row.state for row in ledger.moves.rows(proposal_id=number)} == {MoveState.EXPIRED}
    assert ledger.audit.verify().ok
    tamper("UPDATE moves SET state = 'approved' WHERE ordinal = 1")
    assert "by the audit chain it is expired" in ledger.audit.verify().sentence


def test_rows_tell_who_when_what_and_from_where(ledger: Ledger, clock: StillClock, number: int) -> None:
    """The newest first; each carries the hash of the one before; the process that wrote it is named."""
    rows = ledger.audit.rows(100)
    assert [row.event for row in rows] == ["space.opened"] * 3 + [
        "proposal.approved",
        "proposal.stored",
        "ledger.created",
    ]
    assert [row.previous for row in rows[:-1]] == [row.hash for row in rows[1:]]
    assert {row.actor for row in rows} == {"test"}
    assert rows[0].at == clock.now()
    assert rows[0].facts == {"who": "test", "reason": ""}
    assert len(ledger.audit.rows(2)) == 2


@pytest.mark.parametrize("column", ["at", "actor", "event", "subject", "facts", "previous", "hash"])
def test_a_changed_row_is_named(ledger: Ledger, number: int, tamper: Tamper, column: str) -> None:
    """Whatever was changed in it."""
    change = f"{column} = {column} + 1" if column == "at" else f"{column} = {column} || ' '"
    assert tamper(f"UPDATE audit SET {change} WHERE id = 4") == 1
    report = ledger.audit.verify()
    assert (report.ok, report.broken_id, report.rows) == (False, 4, 3)
    assert "row 4" in report.sentence


@pytest.mark.parametrize("row", [1, 3, 6])
def test_a_removed_row_is_named(ledger: Ledger, number: int, tamper: Tamper, row: int) -> None:
    """The first, one in the middle, the last."""
    tamper("DELETE FROM audit WHERE id = ?", row)
    report = ledger.audit.verify()
    assert (report.ok, report.broken_id) == (False, row)


def test_a_removed_row_with_closed_ranks_is_named(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """Renumbering what follows does not hide it."""
    tamper("DELETE FROM audit WHERE id = 3")
    tamper("UPDATE audit SET id = 1 - id WHERE id > 3")  # in two steps: one by one they would meet their neighbours
    tamper("UPDATE audit SET id = -id WHERE id < 0")
    assert ledger.audit.verify().broken_id == 3


def test_an_emptied_chain_shows(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """Nothing left is not nothing written."""
    tamper("DELETE FROM audit")
    report = ledger.audit.verify()
    assert (report.ok, report.broken_id) == (False, 1)


def test_a_cut_tail_is_found_even_after_more_was_written(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """The chain goes on from the head that was, so the gap stays visible."""
    tamper("DELETE FROM audit WHERE id > 4")
    note(ledger, "afterwards")
    assert ledger.audit.verify().broken_id == 5


def test_an_edited_proposal_is_found(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """By its digest, and by the chain's digest where the stored one was edited to match."""
    tamper("UPDATE proposals SET body = replace(body, 'fast', 'evil')")
    report = ledger.audit.verify()
    assert not report.ok
    assert f"proposal {number}" in report.sentence


def test_an_exchanged_proposal_is_found(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """A text with its own right digest is still not the one that was stored and approved."""
    tamper(
        "UPDATE proposals SET body = '{}', approved_digest = ?, digest = ?",
        *["44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"] * 2,  # SHA-256 of {}
    )
    assert "changed after it was stored" in ledger.audit.verify().sentence


def test_a_forged_approval_is_found(ledger: Ledger, tamper: Tamper, number: int) -> None:
    """An approval that the chain does not hold is none; nor does taking one away go unseen."""
    tamper("UPDATE proposals SET approved_digest = NULL")
    assert "approved in a way" in ledger.audit.verify().sentence


def test_a_removed_proposal_is_found(ledger: Ledger, number: int, tamper: Tamper) -> None:
    """The chain remembers that it was stored."""
    tamper("DELETE FROM moves")
    tamper("DELETE FROM proposals")
    assert f"proposal {number} was removed" in ledger.audit.verify().sentence


def test_what_fails_leaves_no_trace(ledger: Ledger, number: int) -> None:
    """An act and its audit row are one transaction: a refused act has no row, and no half of it stays."""
    before = ledger.audit.rows(1)[0].id
    with pytest.raises(LedgerError):
        ledger.proposals.approve(number, who="anna", origin="terminal", digest="0" * 64)
    with pytest.raises(ValueError, match="JSON"):
        ledger.audit.record("test", "not a number", value=float("nan"))
    assert ledger.audit.rows(1)[0].id == before
    assert ledger.audit.verify().ok
