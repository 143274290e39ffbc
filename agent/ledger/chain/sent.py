"""What this agent has sent, in a file of its machine, and a ledger restored from it after a failover.

A ledger on a server may fail over to a copy that is behind and lacks statements that were already sent.

``SentFile`` keeps them. An intent is on this disk before its statement is sent, with the number and the hash of its
audit row. A ledger without that row lacks what was done.

``Restoring`` writes what such a ledger lacks. It restores the statements as this machine noted them, and brings each
move to the state in which they can have been sent. What the statements came to is then found out from the catalog, as
after a crash. The chain records what was lost, what was restored, and what has no place any more. A ledger that lacks
more than is kept here (``KEPT``) is not trusted.
"""

from __future__ import annotations

import threading
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from sqlalchemy import Column, Integer, MetaData, Table, Text, and_, bindparam, delete, func, or_, select

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import AUDIT, AnchorFile, LinkWalk, anchor_fault, hash_of_row, subject_of
from agent.ledger.errors import FellBack, Untrusted
from agent.ledger.file.database import FileDatabase
from agent.ledger.file.opening import prepare_file
from agent.ledger.leases import Leases
from agent.ledger.rows import MoveRow, StepState
from agent.ledger.store.database import Database, Reading, Row, Transaction
from agent.ledger.store.schema import audit, given, instant, microseconds, steps
from agent.ledger.stored import MOVE, StateChanges, load_moves
from agent.model.states import TO_BEGIN, MoveState

KEPT = timedelta(minutes=5)  # how far behind the copy may be: a failover loses seconds
MOST_ROWS = 1000  # that are kept, whatever their age
_TEXTS = ("ledger", "database", "digest", "sql", "hash", "state", "detail", "end_hash")
_NUMBERS = ("step", "move", "ordinal", "intended_at", "row", "ended_at", "end_row")
_sent = Table(
    "sent",
    MetaData(),
    *(Column(name, Text, nullable=False) for name in _TEXTS),
    *(Column(name, Integer, nullable=False) for name in _NUMBERS),
    Column("number", Integer, primary_key=True),
    sqlite_autoincrement=True,
)
_OF = select(_sent).where(given(_sent.c.database)).order_by(_sent.c.number)
_ONE = select(_sent).where(given(_sent.c.number))
_FORGET = delete(_sent).where(given(_sent.c.number))
_other = _sent.alias("other")
_before = bindparam("before", type_=Integer)
_old = and_(_sent.c.intended_at < _before, _sent.c.ended_at < _before)
_has_ended = or_(_sent.c.state == StepState.INTENDED, _sent.c.end_row > 0)
_last = select(func.max(_other.c.number)).scalar_subquery()
_DROP = delete(_sent).where(
    _sent.c.number.not_in(select(func.max(_other.c.number)).group_by(_other.c.ledger, _other.c.database)),
    or_(and_(_old, _has_ended), _sent.c.number <= _last - MOST_ROWS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A statement that was sent, or was about to be. Instants are microseconds, as the ledger stores them."""

    ledger: str  # hash of the chain's first row
    database: str
    step: int
    move: int
    digest: str
    ordinal: int
    sql: str
    intended_at: int
    row: int  # of the audit chain, which holds the intent
    hash: str  # of that row
    state: StepState = StepState.INTENDED
    detail: str = ""
    ended_at: int = 0
    end_row: int = 0  # of the audit chain, which holds the result; 0: not known to be there
    end_hash: str = ""
    number: int = 0  # in the file

    @property
    def last_row(self) -> tuple[int, str]:
        """Number and hash of the last audit row about it."""
        return (self.end_row, self.end_hash) if self.end_row else (self.row, self.hash)

    @property
    def lacks_end(self) -> bool:
        """Whether its result never reached the ledger."""
        return self.state is not StepState.INTENDED and not self.end_row


class SentFile:
    """The file. Safe from several threads and processes; it is made with the first intent."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        # Number in the file by that of the step: the ledger gives numbers a second time after it has fallen back.
        self._open: dict[int, int] = {}

    def note_intent(self, sent: Sent) -> None:
        """Append a statement that is about to be sent; on the disk when this returns.

        Raises:
            FellBack: the ledger has given the step a number under which another statement of this agent runs.
            LedgerError: it cannot be written; the statement must not be sent.
        """
        if sent.step in self._open:
            raise FellBack(
                f"the ledger is an older copy: it gave the number of a step that runs, {sent.step}, a second time",
                advice="Nothing was sent; it is tried again once the other statement has ended.",
            )
        values = asdict(sent)
        del values["number"]
        with self._lock, self._file.write() as transaction:
            self._open[sent.step] = transaction.insert(_sent, values)
            transaction.execute(_DROP, before=sent.intended_at - KEPT // timedelta(microseconds=1))

    def note_end(self, step: int, state: StepState, detail: str, at: datetime) -> Sent | None:
        """Note what became of a statement, before the ledger hears of it; what was noted of it, None where nothing was.

        Raises:
            LedgerError: it cannot be written.
        """
        number = self._open.pop(step, None)
        if number is None:
            return None
        with self._lock, self._file.write() as transaction:
            transaction.update(_sent, [number], {"state": state, "detail": detail, "ended_at": microseconds(at)})
            row = transaction.first(_ONE, number=number)
            return None if row is None else _sent_of(row)

    def replace(self, sent: Sent) -> None:
        """Note where the ledger holds a statement now."""
        now = {name: getattr(sent, name) for name in ("step", "row", "hash", "end_row", "end_hash")}
        with self._lock, self._file.write() as transaction:
            transaction.update(_sent, [sent.number], now)

    def forget(self, sent: Sent) -> None:
        """Remove a statement that the ledger has no place for any more."""
        with self._lock, self._file.write() as transaction:
            transaction.execute(_FORGET, number=sent.number)
            self._open = {step: number for step, number in self._open.items() if number != sent.number}

    def of(self, database: str) -> list[Sent]:
        """What was sent to a database and is still kept, in order.

        Raises:
            LedgerError: the file cannot be read.
        """
        if "_file" not in self.__dict__ and not self._path.exists():
            return []
        with self._lock, self._file.read() as reading:
            return [_sent_of(row) for row in reading.rows(_OF, database=database)]

    def require(self, reading: Reading, database: str) -> None:
        """Check that the chain holds what was last noted of a database here.

        Raises:
            FellBack: it does not.
            LedgerError: the file cannot be read.
        """
        if is_behind(reading, self.of(database)):
            raise FellBack(
                f"the ledger is an older copy: it lacks what was sent to {database} by this agent",
                advice="Nothing is sent before the agent has restored that, which it does within seconds. Look at the "
                "event failover.restored of the audit chain, and repeat decisions of those minutes that are missing.",
            )

    def close(self) -> None:
        """Close the file."""
        if "_file" in self.__dict__:
            self._file.close()

    @cached_property
    def _file(self) -> FileDatabase:
        prepare_file(self._path, create=True)
        file = FileDatabase(self._path)
        file.pragma("journal_mode=WAL")
        with file.write() as transaction, transaction.core() as core:
            _sent.create(core, checkfirst=True)
        return file


def _sent_of(row: Row) -> Sent:
    return Sent(**{**row._asdict(), "state": StepState(row.state)})


def is_behind(reading: Reading, every: list[Sent]) -> bool:
    """Whether the chain lacks the last audit row about these statements, or holds another one in its place."""
    if not every or hash_of_row(reading, 1) != every[-1].ledger:
        return False  # another ledger altogether: that is the anchors' matter
    # The last alone: its hash follows from all rows before it.
    row, link = max(each.last_row for each in every if each.ledger == every[-1].ledger)
    return hash_of_row(reading, row) != link


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
            row = self._changes.set_state(transaction, row, to, _WHY)
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
