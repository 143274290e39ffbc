"""The ledger: one record that knows what was proposed, decided, done, measured and observed."""

from __future__ import annotations

import os
import pwd
import socket
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agent.ledger.chain.audit import AuditChain
from agent.ledger.chain.links import CREATED, MIGRATED, AnchorFile
from agent.ledger.chain.sent import Restoring, SentFile
from agent.ledger.chain.signed import PLAIN, ApprovalRule
from agent.ledger.chain.trust import Trust
from agent.ledger.leases import Leases
from agent.ledger.lists import Lists
from agent.ledger.moves import Moves
from agent.ledger.overview import Overview
from agent.ledger.proposals import Proposals
from agent.ledger.requests import Arrivals, Pins, Requests, Stops
from agent.ledger.rules import Rules
from agent.ledger.state import SmallState
from agent.ledger.store.database import Database
from agent.ledger.store.opening import (
    BUSY_SECONDS,
    anchor_file_of,
    open_as_it_is,
    open_database,
    own_samples,
    upkeep_of,
)
from agent.ledger.store.schema import HEAD
from agent.ledger.store.tables import read_figures
from agent.ledger.stored import StateChanges
from connectors.kit.contract import Clock

if TYPE_CHECKING:
    from agent.config.models import LedgerServer
    from agent.ledger.file.database import Upkeep
    from agent.ledger.measured.history import DemandHistory
    from agent.ledger.measured.samples import Samples
    from agent.ledger.measured.slots import Slots
    from agent.ledger.measured.work import StatementHistory, WorkHistory


class Ledger:
    """The durable record, in rooms. Every call is one transaction; safe from several threads and several processes.

    Attributes:
        proposals: stored once, then decided; ``moves`` of them with the journal of statements and the outcomes.
        lists: several proposals approved together, in waves.
        rules: standing rules, under which proposals are approved at level ``auto``.
        leases: which process may act on a database.
        restoring: brings back what this agent has sent where the ledger is an older copy.
        requests: operator requests (pause, resume, cancel) for moves.
        stops: keep every agent from sending anything.
        pins: set by hand; ``arrivals``: the spaces that are closed to arrivals.
        audit: the chain of who did and decided what.
        state: arrays and documents that a restart goes on from.
        overview: all databases at once.
        slots: the stable number of each unit key; ``history``: demand by slot and interval.
        work: what the whole database did by interval, for outcomes; ``statements``: what single statements did.

    Any call of them may raise ``LedgerBusy``, ``LedgerCorrupt``, ``LedgerFull``, ``LedgerReadOnly`` or
    ``LedgerUnreachable``: nothing was written.
    """

    def __init__(
        self, database: Database, clock: Clock, actor: str, anchors: AnchorFile, rule: ApprovalRule = PLAIN
    ) -> None:
        """Use ``Ledger.open``."""
        self._database = database
        self.audit = AuditChain(database, clock, actor, anchors)
        changes = StateChanges(self.audit, clock)
        self.proposals = Proposals(database, self.audit, clock, changes, rule)
        self.lists = Lists(database, self.audit, changes, self.proposals)
        self.rules = Rules(database, self.audit, clock, changes, rule)
        self._trust = Trust(database, clock, anchors, rule)
        self.leases = Leases(database, self.audit, actor)
        # On one machine the ledger's own file is as good as another one next to it.
        self._sent = SentFile(anchors.path.with_name(f"{anchors.path.name}.sent")) if self.is_shared else None
        self.moves = Moves(database, self.audit, clock, changes, self._trust, self.leases, self._sent)
        self.restoring = Restoring(database, self.audit, changes, self.leases, anchors, self._sent)
        self.requests = Requests(database, self.audit, clock, changes)
        self.pins = Pins(database, self.audit, clock)
        self.arrivals = Arrivals(database, self.audit, clock)
        self.stops = Stops(database, self.audit)
        self.state = SmallState(database, clock, self.leases)
        self.overview = Overview(database, self.audit, clock)
        self._clock = clock
        self._anchors = anchors

    @classmethod
    def open(
        cls,
        place: Path | LedgerServer,
        clock: Clock,
        *,
        actor: str = "",
        create: bool = True,
        busy_seconds: float = BUSY_SECONDS,
        anchors: Path | None = None,
        rule: ApprovalRule = PLAIN,
    ) -> Self:
        """Open the ledger, create it where missing, and migrate its tables where they are old.

        Args:
            place: the file, next to which SQLite keeps ``-wal`` and ``-shm`` while it is open; or the server.
            clock: tells every time that is stored.
            actor: which process this is, in the audit chain; by default user, host and process number.
            create: make a new ledger where there is none.
            busy_seconds: how long a call waits for another writer.
            rule: how proposals are approved.
            anchors: file of the anchors; None: next to the ledger's file, ``.anchors`` behind its name.

        Raises:
            LedgerMissing: there is none and none was to be made, or the anchors show that there was one.
            LedgerReadOnly: file, folder or schema cannot be written.
            LedgerCorrupt: it is not a ledger or is damaged.
            LedgerTooNew: a newer hotplace wrote it.
            LedgerBusy: another process held the write lock all the time.
            LedgerUnreachable: the server does not answer, or refuses the login.
            DriverMissing: what speaks to the server is not installed.
            SecretUnavailable: the password's place is empty.
        """
        anchor_file = anchor_file_of(place, anchors)
        with ExitStack() as on_failure:
            database, found = open_database(place, anchor_file, create=create, busy_seconds=busy_seconds)
            on_failure.callback(database.close)
            ledger = cls(database, clock, actor or default_actor(), anchor_file, rule)
            if found is not None:
                subject = place.name if isinstance(place, Path) else place.schema_name
                ledger.audit.record(CREATED if not found else MIGRATED, subject, was=found, now=HEAD)
            on_failure.pop_all()
        return ledger

    @classmethod
    def as_it_is(
        cls,
        place: Path | LedgerServer,
        clock: Clock,
        *,
        anchors: Path | None = None,
        busy_seconds: float = BUSY_SECONDS,
    ) -> tuple[Self, str] | None:
        """The ledger with the revision of its tables, neither made nor migrated: to look at, where it is current.

        Args:
            place: the file or the server.
            clock: as of ``open``.
            anchors: as of ``open``.
            busy_seconds: as of ``open``.

        Returns:
            None where there is none yet.

        Raises:
            LedgerError, DriverMissing, SecretUnavailable: as ``open``.
        """
        found = open_as_it_is(place, busy_seconds=busy_seconds)
        if found is None:
            return None
        database, revision = found
        return cls(database, clock, default_actor(), anchor_file_of(place, anchors)), revision

    def use_rule(self, rule: ApprovalRule) -> None:
        """Approve and trust by another rule from now on, as after a reload of the configuration."""
        self.proposals.rule = self.rules.approval = self._trust.rule = rule

    def close(self) -> None:
        """End all connections."""
        if "samples" in self.__dict__:
            self.samples.close()
        if self._sent is not None:
            self._sent.close()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Rooms of columns. numpy takes longer to import than any other room takes to answer, and most commands need none.

    @cached_property
    def samples(self) -> Samples:
        """Where samples are; fine ones in a file of this machine where the ledger is on a server."""
        from agent.ledger.measured.samples import Samples

        return Samples(self._database, self.leases, own_samples(self._anchors) if self.is_shared else None)

    @cached_property
    def upkeep(self) -> Upkeep:
        """The size of the file with the samples."""
        return upkeep_of(self.samples.written(), self._clock)

    @cached_property
    def slots(self) -> Slots:
        """The stable number of each unit key."""
        from agent.ledger.measured.slots import Slots

        return Slots(self._database)

    @cached_property
    def history(self) -> DemandHistory:
        """Demand by slot and interval."""
        from agent.ledger.measured.history import DemandHistory

        return DemandHistory(self.samples)

    @cached_property
    def work(self) -> WorkHistory:
        """What the whole database did by interval."""
        from agent.ledger.measured.work import WorkHistory

        return WorkHistory(self.samples)

    @cached_property
    def statements(self) -> StatementHistory:
        """What single statements did by interval."""
        from agent.ledger.measured.work import StatementHistory

        return StatementHistory(self.samples)

    def figures(self) -> dict[str, Any]:
        """Revision, bytes and rows of the tables, and how many proposals and moves are in which state."""
        with self._database.read() as reading:
            return {"bytes": self._database.size_bytes(), **read_figures(reading)}

    def owned_databases(self) -> frozenset[str] | None:
        """The databases that this login may see and decide about; None: all of the ledger."""
        with self._database.read() as reading:
            return self._database.find_owned(reading)

    def moved_to(self) -> str:
        """The ledger that took the place of this one for good; "" while this one is in use."""
        with self._database.read() as reading:
            return self._database.moved_to(reading)

    @property
    def is_shared(self) -> bool:
        """Whether it is on a server, so that it may be away while this machine and its databases are well."""
        return self.leases.run_out

    @property
    def agent_name(self) -> str:
        """The agent of this machine among those of a shared ledger, the same over restarts; "": on a file."""
        return self.samples.agent_name  # a lease goes by the process, which a restart changes

    @property
    def name(self) -> str:
        """The ledger in messages: its file, absolute, or user, host and schema."""
        return self._database.name


def default_actor() -> str:
    """Which process this is: ``user@host, process 4711``."""
    return f"{user_name()}@{socket.gethostname()}, process {os.getpid()}"


def user_name() -> str:
    """The account of the process, not $LOGNAME, which anybody can set; ``uid 10001`` where it has no name."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"
