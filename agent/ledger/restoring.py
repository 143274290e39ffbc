"""A ledger that has failed over to a copy which was behind: what this agent has sent is written there once more.

Statements are restored as this machine noted them (``agent.ledger.chain.sent``), and moves brought to where these
statements can have been sent: what they came to is then found out from the catalog, as after a crash. What was lost,
restored, or has no place any more is in the chain. A copy that is older than that is not trusted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlalchemy import select

from agent.ledger.chain.anchors import AnchorFile, anchor_fault
from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import AUDIT, LinkWalk, hash_of_row, subject_of
from agent.ledger.chain.sent import KEPT, Sent, SentFile, is_behind
from agent.ledger.errors import Untrusted
from agent.ledger.leases import Leases
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.state_changes import StateChanges
from agent.ledger.store.database import Database, Reading, Transaction
from agent.ledger.store.elements import given
from agent.ledger.store.schema import audit, instant, steps
from agent.ledger.store.statements import Row
from agent.ledger.stored import MOVE, load_moves
from agent.model.states import TO_BEGIN, MoveState

FELL_BACK = "failover.restored"
_STEP = select(steps).where(
    given(steps.c.move_id), given(steps.c.ordinal), given(steps.c.sql), given(steps.c.intended_at)
)
_ABOUT = AUDIT.where(given(audit.c.subject)).order_by(audit.c.id)
_WHY = "the ledger fell back to an older copy; its statement was sent before that"


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What became of statements that the ledger lacked; texts of SQL."""

    written: tuple[str, ...]  # again, intents or results
    without_place: tuple[str, ...]  # the ledger has no approval of them any more


class Restoring:
    """Compares what was sent with what the ledger holds, and writes what that lacks."""

    def __init__(
        self, database: Database, chain: AuditChain, changes: StateChanges, leases: Leases, anchors: AnchorFile,
        sent: SentFile | None,
    ) -> None:  # fmt: skip
        self._database = database
        self._chain = chain
        self._changes = changes
        self._leases = leases
        self._anchors = anchors
        self._sent = sent

    def restore(self, database: str) -> Restored | None:
        """Write what the ledger lacks of the statements that were sent to a database; None where it lacks nothing.

        Raises:
            Untrusted: the ledger is older than what is kept here, or its chain does not fit.
            LeaseLost: another agent acts on the database by now.
            LedgerError: ledger or file did not answer.
        """
        if self._sent is None or not (every := self._sent.of(database)):
            return None
        with self._database.read() as reading:
            behind = is_behind(reading, every)
            if not behind and not any(each.lacks_end for each in every):
                return None
        with self._database.write() as transaction:
            self._leases.require(transaction, database)
            self._require_young(transaction)
            found = [(each, self._put_back(transaction, each)) for each in every]
            restored = _in_sum(found)
            if behind:
                self._note(transaction, database, every, restored)
        for before, now in found:
            self._sent.forget(before) if now is None else self._sent.replace(now)
        if not behind:
            return None
        self._chain.anchor(after_loss=True)
        return restored

    def _require_young(self, reading: Reading) -> None:
        """Refuse a ledger that lacks more than is kept here, and one whose chain does not fit.

        Raises:
            Untrusted: it is one.
        """
        recent, source = self._anchors.recent(), str(self._anchors.path)
        missing = [(at, fault) for at, anchor in recent if (fault := anchor_fault(reading, anchor, source))]
        held = [anchor.row for _, anchor in recent if not anchor_fault(reading, anchor, source)]
        fault = missing[0][1] if missing and recent[-1][0] - missing[0][0] > KEPT else ""
        if not fault:
            walk = LinkWalk(reading, max(held, default=0))
            for _ in walk.rows():
                pass
            fault = walk.fault
        if fault:
            raise Untrusted(
                f"the ledger cannot be trusted, nothing was sent: {fault}",
                advice=f"Keep the ledger and {source} as evidence. If an older copy was restored on purpose, move that "
                "file away: the next decision begins another.",
            )

    def _put_back(self, transaction: Transaction, sent: Sent) -> Sent | None:
        """Write what the ledger lacks of one statement; where it holds it then, None where it has no place for it."""
        row = next(iter(load_moves(transaction, MOVE, id=sent.move)), None)
        if row is None or not row.approved or row.digest != sent.digest:
            return None
        step = _step_of(transaction, sent)
        number = self._intend(transaction, row, sent) if step is None else step.id
        if sent.state is not StepState.INTENDED and (step is None or step.state == StepState.INTENDED):
            self._changes.end_step(transaction, number, sent.state, sent.detail, instant(sent.ended_at))
        return _with_links(transaction, replace(sent, step=number))

    def _intend(self, transaction: Transaction, row: MoveRow, sent: Sent) -> int:
        """Write an intent once more, with the states of its move that led there."""
        while row.state in TO_BEGIN:
            to = MoveState.PRECHECK if row.state is MoveState.APPROVED else MoveState.RUNNING
            row = self._changes.bring(transaction, row, to, _WHY)
        values = {
            "move_id": sent.move, "ordinal": sent.ordinal, "sql": sent.sql, "state": StepState.INTENDED, "detail": "",
            "intended_at": instant(sent.intended_at),
        }  # fmt: skip
        number = transaction.insert(steps, values)
        self._chain.append(
            transaction, "step.intended", subject_of("step", number),
            move=sent.move, ordinal=sent.ordinal, sql=sent.sql, digest=sent.digest, restored=True,
        )  # fmt: skip
        return number

    def _note(self, transaction: Transaction, database: str, every: list[Sent], restored: Restored) -> None:
        """Have the chain say what it lacked."""
        row, link = max(each.last_row for each in every)
        self._chain.append(
            transaction, FELL_BACK, database, lost_row=row, lost_hash=link,
            restored=list(restored.written), without_place=list(restored.without_place),
        )  # fmt: skip
        transaction.after_commit = None  # an anchor is noted once the file says where the statements are now


def _in_sum(found: list[tuple[Sent, Sent | None]]) -> Restored:
    return Restored(
        written=tuple(now.sql for before, now in found if now is not None and now.last_row != before.last_row),
        without_place=tuple(before.sql for before, now in found if now is None),
    )


def _step_of(reading: Reading, sent: Sent) -> Row | None:
    """The step that holds a statement; None where it is lost."""
    of_it = {"move_id": sent.move, "ordinal": sent.ordinal, "sql": sent.sql, "intended_at": instant(sent.intended_at)}
    return reading.first(_STEP, **of_it)


def _with_links(reading: Reading, sent: Sent) -> Sent:
    """The statement with the audit rows that hold it now."""
    rows = reading.rows(_ABOUT, subject=subject_of("step", sent.step))
    intent = next(row for row in rows if row.event == "step.intended")
    end = next((row for row in rows if row.event != "step.intended"), None)
    if end is None:
        return replace(sent, row=intent.id, hash=intent.hash)
    return replace(sent, row=intent.id, hash=intent.hash, end_row=end.id, end_hash=hash_of_row(reading, end.id) or "")
