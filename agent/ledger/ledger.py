"""The ledger: one file that knows what was proposed, decided, done, measured and observed."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from numpy.typing import NDArray

from agent.ledger.arrivals import Arrivals
from agent.ledger.asks import Asks
from agent.ledger.audit import CREATED, AuditChain
from agent.ledger.codec import Column
from agent.ledger.database import BUSY_SECONDS, Database
from agent.ledger.history import History
from agent.ledger.moves import Moves
from agent.ledger.opening import bring_up_to_date, prepare_file
from agent.ledger.pins import Pins
from agent.ledger.proposals import Proposals
from agent.ledger.rows import (
    AuditReport,
    AuditRow,
    FoldReport,
    HistoryRow,
    HistorySettings,
    MoveRow,
    OutcomeRow,
    PinRow,
    ProposalRow,
    SentRow,
    StepRow,
    StepState,
    Values,
)
from agent.ledger.schema import HEAD
from agent.ledger.slots import Slots
from agent.ledger.state import SmallState
from agent.outcomes import Outcome
from agent.proposals import Proposal
from agent.states import MoveState, ProposalState
from connectors.base import Clock
from connectors.model import I64
from policies.plan import Pin

DEFAULT_HISTORY = HistorySettings()


class Ledger:
    """The durable record. Every call is one transaction; safe from several threads and several processes.

    ``asks`` holds what people ask of moves that have begun, ``arrivals`` the spaces that are closed to arrivals.
    Any call may raise ``LedgerBusy``, ``LedgerCorrupt``, ``LedgerFull`` or ``LedgerReadOnly``: nothing was written.
    """

    def __init__(self, database: Database, clock: Clock, actor: str) -> None:
        """Use ``Ledger.open``."""
        self._database = database
        self._clock = clock
        self._chain = AuditChain(database, clock, actor)
        self._proposals = Proposals(database, self._chain, clock)
        self._moves = Moves(database, self._chain, clock, self._proposals)
        self.asks = Asks(database, self._chain, clock, self._proposals)
        self.arrivals = Arrivals(database, self._chain, clock)
        self._pins = Pins(database, self._chain, clock)
        self._state = SmallState(database)
        self._slots = Slots(database)
        self._history = History(database)

    @classmethod
    def open(
        cls, path: Path, clock: Clock, *, actor: str = "", create: bool = True, busy_seconds: float = BUSY_SECONDS
    ) -> Self:
        """Open the file, create it and its folder where missing, and migrate its tables where they are old.

        Args:
            path: the file; SQLite keeps ``-wal`` and ``-shm`` beside it while it is open.
            clock: tells every time that is stored.
            actor: which process this is, in the audit chain; by default user, host and process number.
            create: make a new ledger where there is none.
            busy_seconds: how long a call waits for another writer.

        Raises:
            LedgerMissing: there is none and none was to be made.
            LedgerReadOnly: file or folder cannot be written.
            LedgerCorrupt: the file is not a ledger or is damaged.
            LedgerTooNew: a newer hotplace wrote it.
            LedgerBusy: another process held the write lock all the time.
        """
        path = path.expanduser().absolute()
        prepare_file(path, create=create)
        database = Database(path, busy_seconds=busy_seconds)
        with ExitStack() as on_failure:
            on_failure.callback(database.close)
            found = bring_up_to_date(database)
            ledger = cls(database, clock, actor or default_actor())
            if found is not None:
                ledger.record(CREATED if not found else "ledger.migrated", path.name, was=found, now=HEAD)
            on_failure.pop_all()
        return ledger

    def close(self) -> None:
        """End all connections."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path:
        """The file, absolute."""
        return self._database.path

    # -- proposals -----------------------------------------------------------------------------------------------

    def store_proposal(self, proposal: Proposal) -> int:
        """Store a proposal and return its number; older undecided ones of that database and purpose are superseded.

        What the agent made by itself supersedes nothing that somebody asked for. Where one that would do the same (same
        statements for the same bundles) still waits or is approved and not finished, nothing is stored and its number
        is returned, unless somebody asks for what until now was the agent's own. Moves that it would take back are
        UNDO_PROPOSED with the same transaction.

        Raises:
            IllegalTransition: a move that it would take back was not placed, or is taken back already.
            ValueError: it has no moves, or does not survive being written down.
        """
        return self._proposals.store(proposal)

    def end_proposal(self, proposal_id: int, reason: str) -> None:
        """Mark one that still waits for a decision superseded; any other stays as it is.

        Raises:
            NotFound, ProposalTampered: as ``proposal``.
        """
        self._proposals.end(proposal_id, reason)

    def proposals(
        self, *, database: str | None = None, states: Collection[ProposalState] | None = None, limit: int = 100
    ) -> list[ProposalRow]:
        """Proposals, the newest first.

        Raises:
            ProposalTampered: one of them is not what was stored.
        """
        return self._proposals.rows(database, states, limit)

    def proposal(self, proposal_id: int) -> ProposalRow:
        """One proposal.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its text no longer has its digest.
        """
        return self._proposals.row(proposal_id)

    def approve(self, proposal_id: int, *, who: str, origin: str, digest: str, reason: str = "") -> ProposalRow:
        """Approve a proposal and all its moves that were not struck.

        Args:
            proposal_id: its number.
            who: the person.
            origin: from where: terminal, address.
            digest: of what the person looked at, whole or its first 12 or more characters.
            reason: why, if they say.

        Raises:
            NotFound, ProposalTampered: as ``proposal``.
            ProposalExpired: too late; it is marked so.
            WrongState: it was decided or superseded before.
            DigestMismatch: it is another digest, or too short.
        """
        return self._proposals.approve(proposal_id, who=who, origin=origin, digest=digest, reason=reason)

    def reject(self, proposal_id: int, *, who: str, origin: str, reason: str) -> ProposalRow:
        """Reject a proposal that waits for a decision.

        Raises:
            NotFound, ProposalTampered: as ``proposal``.
            WrongState: it does not wait for a decision.
        """
        return self._proposals.reject(proposal_id, who=who, origin=origin, reason=reason)

    def strike(self, proposal_id: int, ordinal: int, *, who: str, origin: str, reason: str) -> MoveRow:
        """Drop one move that has not begun, before or after the approval. The digest stays that of the whole.

        Raises:
            NotFound: no such proposal or move.
            ProposalTampered: as ``proposal``.
            WrongState: the move has begun or ended.
        """
        return self._proposals.strike(proposal_id, ordinal, who=who, origin=origin, reason=reason)

    def expire_due(self) -> int:
        """Expire proposals that nobody decided in time and approved moves that nobody began; returns how many moves."""
        return self._proposals.expire_due()

    # -- moves ---------------------------------------------------------------------------------------------------

    def moves(
        self,
        *,
        database: str | None = None,
        proposal_id: int | None = None,
        states: Collection[MoveState] | None = None,
        since: datetime | None = None,
    ) -> list[MoveRow]:
        """Moves in the order of execution; with ``since`` those whose state has changed since then.

        Raises:
            ProposalTampered: the proposal of one of them is not what was stored.
        """
        return self._moves.rows(database, proposal_id, states, since)

    def move(self, move_id: int) -> MoveRow:
        """One move.

        Raises:
            NotFound: there is none by that number.
            ProposalTampered: its proposal is not what was stored.
        """
        return self._moves.row(move_id)

    def transition(self, move_id: int, to: MoveState, reason: str) -> MoveRow:
        """Bring a move into another state, checked against the stored one within the transaction.

        A proposal whose moves have all ended is finished with the last of them.

        Raises:
            NotFound, ProposalTampered: as ``move``.
            IllegalTransition: ``agent.states.TRANSITIONS`` does not hold it, or it would approve without a digest.
            NotApproved: the move would begin without an approval.
        """
        return self._moves.transition(move_id, to, reason)

    def last_moved(self, database: str) -> dict[str, datetime]:
        """Unit key -> when it last arrived in a new home, for every unit of every bundle that was moved."""
        return self._moves.last_moved(database)

    def step_intent(self, move_id: int, ordinal: int, sql: str) -> int:
        """Journal that a statement is about to be sent; on the disk when this returns. Returns the step's number.

        Raises:
            NotFound, ProposalTampered: as ``move``.
            NotApproved: the statement is not, letter by letter, one that the approval of the move covers.
            WrongState: the move does not run.
        """
        return self._moves.step_intent(move_id, ordinal, sql)

    def step_result(self, step_id: int, state: StepState, detail: str) -> None:
        """Journal what became of a statement.

        Raises:
            NotFound: there is no such step.
            WrongState: its result is known already.
        """
        self._moves.step_result(step_id, state, detail)

    def steps(self, move_id: int) -> list[StepRow]:
        """Every statement of a move that was sent or about to be, in order."""
        return self._moves.steps(move_id)

    def sent(self, database: str, since: datetime) -> list[SentRow]:
        """Every statement of a database that had not ended before ``since``, in the order they were sent."""
        return self._moves.sent(database, since)

    def record_outcome(self, move_id: int, outcome: Outcome) -> int:
        """Store what was measured for a move; returns the number of the outcome.

        Raises:
            NotFound, ProposalTampered: as ``move``.
        """
        return self._moves.record_outcome(move_id, outcome)

    def outcomes(
        self, *, database: str | None = None, proposal_id: int | None = None, limit: int = 100
    ) -> list[OutcomeRow]:
        """Outcomes, the newest first."""
        return self._moves.outcomes(database, proposal_id, limit)

    # -- pins ----------------------------------------------------------------------------------------------------

    def pin(
        self, database: str, pattern: str, pin: Pin, *, who: str, reason: str, until: datetime | None = None
    ) -> PinRow:
        """Pin units by key or glob; replaces an earlier pin of the same pattern.

        Raises:
            Refused: it would end in the past.
            ValueError: no pattern or nobody is named.
        """
        return self._pins.pin(database, pattern, pin, who=who, reason=reason, until=until)

    def unpin(self, database: str, pattern: str, *, who: str, reason: str = "") -> int:
        """Remove the pin of exactly that pattern; returns how many there were, 0 or 1."""
        return self._pins.unpin(database, pattern, who=who, reason=reason)

    def pins(self, database: str, now: datetime) -> list[PinRow]:
        """Pins in force, the oldest first: where two match a unit, the later one counts."""
        return self._pins.rows(database, now)

    # -- audit ---------------------------------------------------------------------------------------------------

    def record(self, event: str, subject: str, /, **facts: Any) -> None:  # noqa: ANN401  # JSON values
        """Append to the audit chain what changes nothing else in the ledger. Facts are JSON values, never secrets."""
        self._chain.record(event, subject, **facts)

    def audit(self, limit: int = 100) -> list[AuditRow]:
        """Audit rows, the newest first."""
        return self._chain.rows(limit)

    def verify_audit(self) -> AuditReport:
        """Check the file, the whole chain, and every stored proposal and approval against the chain.

        Raises:
            LedgerCorrupt: the file itself is damaged.
        """
        return self._chain.verify()

    # -- small state ---------------------------------------------------------------------------------------------

    def save_arrays(self, database: str, name: str, at: datetime, arrays: Mapping[str, Column]) -> None:
        """Keep named arrays, exact to the bit; replaces those of the same name.

        Raises:
            ValueError: an array holds Python objects or records.
        """
        self._state.save_arrays(database, name, at, arrays)

    def load_arrays(self, database: str, name: str) -> tuple[datetime, dict[str, NDArray[Any]]] | None:
        """The arrays of that name and when they were saved."""
        return self._state.load_arrays(database, name)

    def forget_arrays(self, prefix: str, before: datetime, but: Collection[tuple[str, str]] = ()) -> int:
        """Drop arrays of names that begin so and were saved before then, but for some (database, name); how many."""
        return self._state.forget_arrays(prefix, before, but)

    def save_document(self, database: str, name: str, document: Any) -> None:  # noqa: ANN401  # JSON values
        """Keep a JSON document; replaces the one of the same name.

        Raises:
            ValueError, TypeError: it is not JSON (which knows no NaN).
        """
        self._state.save_document(database, name, self._clock.now(), document)

    def load_document(self, database: str, name: str) -> tuple[datetime, Any] | None:
        """The document of that name and when it was saved."""
        return self._state.load_document(database, name)

    # -- history -------------------------------------------------------------------------------------------------

    def slots(self, database: str, keys: Sequence[str]) -> I64:
        """Stable number of each unit key, shape ``(len(keys),)``, from 0 without holes; new keys get new ones."""
        return self._slots.of(database, keys)

    def append_history(self, database: str, ended_at: datetime, seconds: float, slots: I64, values: Values) -> int:
        """Add one interval of the units that had demand; returns the bytes it took.

        Args:
            database: its name.
            ended_at: the interval's end.
            seconds: its length.
            slots: shape ``(n,)``, each at most once.
            values: shape ``(signals, n)``, uint32, uint64 or float64: sums over the interval.

        Raises:
            ValueError: shapes, types or slots are not as above.
        """
        return self._history.append(database, ended_at, seconds, slots, values)

    def read_history(self, database: str, since: datetime, until: datetime) -> Iterator[HistoryRow]:
        """Intervals that ended within (since, until], the oldest first, in one snapshot that lasts until the end."""
        return self._history.read(database, since, until)

    def fold_history(self, now: datetime, settings: HistorySettings = DEFAULT_HISTORY) -> FoldReport:
        """Make old history coarser and drop the oldest. Sums and observed seconds are conserved."""
        return self._history.fold(now, settings)


def default_actor() -> str:
    """Which process this is: ``user@host, process 4711``."""
    return f"{user_name()}@{socket.gethostname()}, process {os.getpid()}"


def user_name() -> str:
    """The user of the operating system by $LOGNAME or account; ``uid 10001`` where a container's has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"uid {os.getuid()}"
