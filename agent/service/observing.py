"""What hotplace reads of a watched database: samples, single statements, looks inside units, and which server it is.

Over the session of the watching account, which cannot write. Its callers hold the lock of the watch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.model.logs import EventLog
from agent.sampling.block_looks import BlockLooker
from agent.sampling.sampler import Cycle, Sampler, SamplerMemory, StatementReader
from agent.service.server_facts import ServerRecord
from agent.service.snapshot import Snapshot
from connectors.kit.contract import Clock, Connector, ConnectorError
from connectors.model.observation import Identity

log = EventLog(__name__)


class Observing:
    """Samples one database; the parts are made on first use.

    Attributes:
        snapshot: the state that metrics and commands show; acting notes there too.
        looker: looks inside large hot units.
    """

    def __init__(
        self,
        database: DatabaseConfig,
        ledger: Ledger,
        clock: Clock,
        lock: threading.RLock,
        snapshot: Snapshot,
        *,
        may_store: Callable[[], bool],
        connector: Connector | None,
    ) -> None:
        """Connects on first use.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            lock: of the watch.
            snapshot: the state that metrics and commands show.
            may_store: asked before anything that was learnt goes into the ledger.
            connector: to watch with, in place of one over the watching account.
        """
        self.snapshot = snapshot
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._lock = lock
        self._may_store = may_store
        self._connector = connector
        self._sampler: Sampler | None = None
        self._sampler_memory: SamplerMemory | None = None
        self.looker = BlockLooker(
            database.name, database.block_looks_share, lambda: self.connector, ledger, clock,
            may_read_values=database.border_values,
        )  # fmt: skip
        self._statements = StatementReader(database, ledger, clock)
        self._statements_refused = ""  # why they could not be read
        self._server = ServerRecord(database.name, ledger, clock, may_store)
        self._identified_at = 0  # reads of the catalog by the sampler, when the server was identified last

    @property
    def connector(self) -> Connector:
        """The connector that sampling uses."""
        with self._lock:
            if self._connector is None:
                self._connector = self._database.connect(self._clock)
            return self._connector

    @property
    def sampler(self) -> Sampler:
        """Samples the database."""
        with self._lock:  # the acting thread may be the first to ask
            if self._sampler is None:
                self._identified_at = 0
                self._sampler = Sampler(
                    self._database,
                    self.connector,
                    self._ledger,
                    self._clock,
                    memory=self._sampler_memory,
                    may_store=self._may_store,
                )
            return self._sampler

    @property
    def identity(self) -> Identity:
        """Which database this is, as of the last read of the catalog."""
        with self._lock:
            return self.snapshot.identity or self.read_server()

    @property
    def watched_seconds(self) -> float:
        """How long the unit that was watched for longest has been; 0 before there was any evidence."""
        picture = self.sampler.picture()
        return 0.0 if picture is None else float(picture.heat.observed_seconds.max(initial=0.0))

    def sample(self) -> Cycle:
        """One sampling cycle.

        Raises:
            ConnectorError: it failed; counted in the snapshot.
        """
        self.snapshot.sampling_since = self._clock.now()  # before the lock: its holder may wait for the server
        with self._lock:
            snapshot = self.snapshot
            try:
                cycle = self.sampler.cycle()
                self.identify_with_catalog()
            except Exception as error:  # whatever it was is counted, and raised again
                snapshot.failures += 1
                snapshot.error = str(error)
                raise
            finally:
                snapshot.sampling_since = None
            snapshot.error = ""
            snapshot.cycle, snapshot.storage, snapshot.roles = cycle, self.sampler.storage(), self.sampler.roles()
            snapshot.cycles += 1
            if cycle.figures is not None:
                snapshot.note_interval(cycle.figures)
            snapshot.server_seconds += cycle.server_seconds + self._read_statements()
            snapshot.cycle_seconds += cycle.seconds
            return cycle

    def _read_statements(self) -> float:
        """Read what single statements did, if it is time; returns the seconds that the server took at most.

        Without them an outcome says less, so a refusal is logged, once as long as it stays the same, and no more.
        """
        try:
            return self._statements.read_if_due(self.connector, may_store=self._may_store())
        except ConnectorError as error:
            if str(error) != self._statements_refused:
                log.warning("statements not read", database=self._database.name, error=str(error), advice=error.advice)
            self._statements_refused = str(error)
            return 0.0

    def look_at_blocks(self) -> bool:
        """Look into large hot units if that is due, and none of our copies is in the pool; whether it was.

        Raises:
            ConnectorError: the server did not answer, or this login may not look.
        """
        if self.snapshot.running is not None:
            return False
        before = self.looker.server_seconds
        try:
            looked = self.looker.take_turn()
        finally:
            self.snapshot.server_seconds += self.looker.server_seconds - before
        if looked:
            self.snapshot.hottest_tenths = self.looker.hottest_tenths()
        return looked

    def identify_with_catalog(self) -> None:
        """Ask the server what it is now, if the catalog was read since it was asked last.

        Raises:
            ConnectorError: it did not answer.
        """
        if self._identified_at != self.sampler.catalog_reads:
            self.read_server()
            self._identified_at = self.sampler.catalog_reads

    def read_server(self) -> Identity:
        """Ask the server what it is now; what has changed goes into the snapshot.

        Raises:
            ConnectorError: it did not answer.
        """
        before, identity = self.snapshot.identity, self._server.read(self.connector)
        self.snapshot.identity, self.snapshot.server_changes = identity, self._server.changes
        # The catalog may have been read a moment before another database took this one's place.
        if before is not None and before.fingerprint != identity.fingerprint and self._sampler is not None:
            self._sampler.forget_catalog()
        return identity

    def note_new_homes(self) -> None:
        """Units have moved: the catalog is read again before anything is planned by it."""
        if self._sampler is not None:
            self._sampler.note_new_homes()

    def forget(self) -> None:
        """Begin again with what the ledger knows: another agent has stored more since."""
        if self._connector is not None:
            self._connector.close()
        self._connector = self._sampler = self._sampler_memory = None

    def continue_from(self, other: Observing) -> None:
        """Continue from what another one of the same database had learned."""
        self._sampler_memory, self.snapshot = other._sampler_memory, other.snapshot
        self.snapshot.sample_seconds = self._database.sample_seconds

    def release_sampler(self) -> Sampler | None:
        """Keep no more of the sampler than what it had learned; it, so that it can be saved."""
        sampler, self._sampler = self._sampler, None
        if sampler is not None:
            self._sampler_memory = sampler.memory
        return sampler

    def close(self) -> None:
        """End the session; the next use opens another."""
        connector, self._connector = self._connector, None
        if connector is not None:
            connector.close()
