"""No statement is sent on the strength of a ledger whose chain, anchors and tables do not agree."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from agent.ledger.chain.links import Anchor, AnchorFile, find_anchors, link_hash
from agent.ledger.errors import LedgerMissing, Untrusted
from agent.ledger.file.database import FileDatabase
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.server.database import ServerDatabase
from agent.ledger.store import schema
from agent.ledger.store.database import Database
from agent.model.states import MoveState
from tests.ledger.clock import StillClock
from tests.ledger.conftest import Tamper, approved, file_under, stored

UNDER_WAY = (MoveState.PRECHECK, MoveState.RUNNING)


def begun(ledger: Ledger) -> MoveRow:
    """The first move of an approved proposal, about to send its first statement."""
    (row, *_) = ledger.moves.rows(proposal_id=approved(ledger))
    for state in UNDER_WAY:
        row = ledger.moves.transition(row.id, state, "test")
    return row


def send(ledger: Ledger, row: MoveRow) -> int:
    """Journal its first statement, which is what comes before it is sent."""
    return ledger.moves.step_intent(row.id, 0, row.move.route.steps[0].sql)


def as_owner(ledger: Ledger) -> Database:
    """What holds the ledger, for one who may change all of it."""
    database = ledger._database
    if isinstance(database, ServerDatabase):
        return ServerDatabase(database.server.model_copy(update={"user": "postgres"}), busy_seconds=5.0)
    return FileDatabase(file_under(ledger).path)


def rechain(ledger: Ledger, change: Callable[[dict[str, Any]], None]) -> None:
    """Write the whole chain again, so that it fits in itself, as a process of the same user could."""
    with closing(as_owner(ledger)) as database, database.write() as transaction:
        previous = "0" * 64
        for found in transaction.rows(select(schema.audit).order_by(schema.audit.c.id)):
            row = found._asdict()
            change(row)
            row["previous"] = previous
            previous = row["hash"] = link_hash(row)
            transaction.update(schema.audit, [row.pop("id")], row)
        transaction.update(schema.audit_head, [1], {"hash": previous})


def test_a_whole_ledger_is_trusted(ledger: Ledger) -> None:
    """Each move of it, in every state in which statements are sent."""
    row = begun(ledger)
    ledger.moves.require_trust(row)
    ledger.moves.step_result(send(ledger, row), StepState.DONE, "")
    ledger.moves.require_trust(ledger.moves.transition(row.id, MoveState.PLACED, "there"))


def test_an_approval_that_the_chain_does_not_hold_sends_nothing(ledger: Ledger, tamper: Tamper) -> None:
    """The tables of proposals and moves were set to approved behind its back."""
    number = stored(ledger)
    tamper("UPDATE proposals SET state='approved', approved_digest=digest, decided_by='x', decided_from='y'")
    tamper("UPDATE moves SET state='running', attempts=1")
    row = ledger.moves.rows(proposal_id=number)[0]
    with pytest.raises(Untrusted, match=r"does not hold that proposal 1 was approved"):
        send(ledger, row)
    assert not ledger.audit.verify().ok


def test_a_row_with_a_hash_of_its_own_does_not_fit(ledger: Ledger, tamper: Tamper) -> None:
    """Changed and hashed again alone: the row after it still names the hash that it had."""
    row = begun(ledger)
    with ledger._database.read() as reading:
        found = reading.first(select(schema.audit).where(schema.audit.c.event == "proposal.approved"))._asdict()
    found["facts"] = found["facts"].replace("anna", "bert")
    tamper("UPDATE audit SET facts=?, hash=? WHERE id=?", found["facts"], link_hash(found), found["id"])
    report = ledger.audit.verify()
    assert (report.broken_id, "does not follow" in report.sentence) == (found["id"] + 1, True)
    with pytest.raises(Untrusted):
        send(ledger, row)


def test_a_state_that_the_chain_does_not_hold_sends_nothing(ledger: Ledger, tamper: Tamper) -> None:
    """A struck move that the table marks as running."""
    number = approved(ledger)
    ledger.proposals.strike(number, 1, who="anna", origin="tty", reason="no")
    tamper("UPDATE moves SET state='running' WHERE ordinal=1")
    with pytest.raises(Untrusted, match=r"marked running, but by the audit chain it is cancelled"):
        send(ledger, ledger.moves.rows(proposal_id=number)[0])
    report = ledger.audit.verify()
    assert (report.ok, report.broken_id) == (False, None)
    assert "by the audit chain it is cancelled" in report.sentence


def test_a_changed_row_before_the_anchor_sends_nothing(ledger: Ledger, tamper: Tamper) -> None:
    """The row of the approval itself, noted by an anchor that came after it."""
    row = begun(ledger)
    tamper("UPDATE audit SET facts=replace(facts, 'anna', 'bert') WHERE event='proposal.approved'")
    with pytest.raises(Untrusted, match=r"was changed after it was written"):
        send(ledger, row)


def test_a_chain_written_again_sends_nothing(ledger: Ledger) -> None:
    """All its links fit, but it is not the chain that the anchors speak of."""
    row = begun(ledger)
    rechain(ledger, lambda link: link.update(actor="somebody else"))
    assert ledger.audit.verify().ok, "the chain alone does not show it"
    with pytest.raises(Untrusted, match=r"speaks of another ledger"):
        send(ledger, row)


def test_a_rewritten_end_of_the_chain_sends_nothing(ledger: Ledger) -> None:
    """The first row stays as it was."""
    row = begun(ledger)
    rechain(ledger, lambda link: link.update(facts=str(link["facts"]).replace("anna", "bert")))
    assert ledger.audit.verify().ok
    with pytest.raises(Untrusted, match=r"the chain was rewritten"):
        send(ledger, row)


def test_an_older_copy_sends_nothing_again(path: Path, clock: StillClock) -> None:
    """It was made after the approval, and put back after the move was carried out."""
    copy = path.with_name("copy.db")
    with Ledger.open(path, clock, actor="test") as ledger:
        row = begun(ledger)
    shutil.copy(path, copy)
    with Ledger.open(path, clock, actor="test") as ledger:
        ledger.moves.step_result(send(ledger, row), StepState.DONE, "")
        ledger.moves.transition(row.id, MoveState.PLACED, "there")
    shutil.copy(copy, path)
    with Ledger.open(path, clock, actor="test") as ledger, pytest.raises(Untrusted, match=r"cut, or is an older copy"):
        send(ledger, row)


def test_a_ledger_that_is_gone_is_not_made_again(path: Path, clock: StillClock) -> None:
    """Nor where its file was emptied; moving the anchors away begins a new one."""
    with Ledger.open(path, clock):
        pass
    path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerMissing, match=r"was here and is gone"):
            Ledger.open(path, clock)
        path.touch()
    AnchorFile(path.with_name("ledger.db.anchors")).path.rename(path.with_name("old"))
    with Ledger.open(path, clock) as ledger:
        assert ledger.audit.verify().ok


def test_anchors_are_found_in_the_lines_of_any_log(ledger: Ledger, path: Path) -> None:
    """Journal, syslog or the file itself; those of other ledgers are not counted."""
    number = approved(ledger)
    ledger.proposals.strike(number, 1, who="anna", origin="tty", reason="no")
    lines = path.with_name("ledger.db.anchors").read_text().splitlines()
    anchors = list(
        find_anchors([f"Mar 01 db1 hotplace[9]: {line}; end" for line in lines] + ["noise", "hotplace-anchor row=1"])
    )
    assert [anchor.row for anchor in anchors] == [1, 3, 4], "the beginning, the approval, the move that was struck"
    assert ledger.audit.anchor_faults(anchors, "journal") == (3, [])
    other = [anchors[0].__class__(ledger="f" * 64, row=1, hash="f" * 64)]
    assert ledger.audit.anchor_faults(other, "journal") == (0, [])


def test_an_anchor_is_on_the_disk_when_it_was_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole, before the statement that waits for it is sent: a power cut takes none of them."""
    flushed, fsync = list[tuple[int, int]](), os.fsync

    def watched(handle: int) -> None:
        fsync(handle)
        flushed.append((os.fstat(handle).st_ino, os.fstat(handle).st_size))

    monkeypatch.setattr(os, "fsync", watched)
    file = AnchorFile(tmp_path / "anchors")
    for row in (1, 2):
        file.append(Anchor(ledger="a" * 64, row=row, hash="b" * 64), StillClock().now())
        status = file.path.stat()
        assert flushed[row - 1 :] == [(status.st_ino, status.st_size)]
        assert file.last() == Anchor(ledger="a" * 64, row=row, hash="b" * 64)


def test_an_anchor_that_cannot_be_written_stops_nothing(
    ledger: Ledger, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """It is logged; without any anchor the chain is checked from its first row."""
    file = path.with_name("ledger.db.anchors")
    row = begun(ledger)
    file.unlink()
    file.symlink_to(path.with_name("no_such_folder") / "anchors")
    send(ledger, row)
    assert "anchor not written" in caplog.text
