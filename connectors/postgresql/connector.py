"""PostgreSQL as the rest of hotplace sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from ipaddress import ip_address

from connectors.kit.contract import Clock, ForegroundReads, Lease, Mover, OtherContent, Tap
from connectors.kit.findings import Capability, Finding
from connectors.kit.rotation import no_units
from connectors.kit.statements import StatementCounters
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.blocks import BlockReader, ValueReader
from connectors.model.moves import Border, Bundle, ByHand, CopyHabits, NoRoute, Route
from connectors.model.new_space import SpaceAnswer, WantedSpace
from connectors.model.observation import I64, Blocker, Catalog, Demand, Identity, Inspection, Interval, Sample
from connectors.postgresql import demand, doctor, inspection, lease, new_space, partitions, routes, statements, trial
from connectors.postgresql.blocks import BorderValueReader, PoolReader, block_capability
from connectors.postgresql.catalog import Shape, exact_sizes, find_relation, read_catalog, read_other_contents, shape_of
from connectors.postgresql.lease import end_holder
from connectors.postgresql.mover import PostgresqlMover, find_blockers
from connectors.postgresql.replication import read_replication
from connectors.postgresql.rights import lacking_rights, monitor_remedy, read_only_reason, refuse_rights
from connectors.postgresql.sampler import StatisticsSampler, read_foreground
from connectors.postgresql.sessions import ReadSession, query
from connectors.postgresql.settings import PostgresqlSettings
from connectors.postgresql.split import column_of, routes_of_split
from connectors.postgresql.split_table import read_asked_border, read_present_share, read_table

EXTENDS_WITHOUT_MISS = 160000  # from here on a block added to a relation is not counted as fetched


class PostgresqlConnector:
    """Reads over one session that cannot write; ``open_mover`` and ``acquire_lease`` open others."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock, tap: Tap | None = None) -> None:
        """Nothing is opened yet: the first call connects. A tap hears of what is read, or answers it."""
        self._settings = settings
        self._clock = clock
        self._session = ReadSession(settings, tap=tap)
        self._sampler = StatisticsSampler(self._session, clock, self._units, share=settings.sample_share)
        self._catalog: Catalog | None = None
        self._shape: Shape | None = None
        self._devices: dict[int, int] = {}  # of tablespaces' folders, by oid, as first seen
        self._left_out: list[str] = []  # names that are no UTF-8, by the last catalog
        self._version_number: int | None = None

    def identify(self) -> Identity:
        """Server version, database, and a fingerprint of system identifier and database oid."""
        version, number, name, system, oid, standby = self._session.rows(query("identify"), doing="identifying")[0]
        self._version_number = number
        return Identity(
            engine="postgresql",
            version=version,
            version_number=(number // 10000, number % 10000),
            edition="",
            database=name,
            fingerprint=f"{system}-{oid}",
            topology="replica" if standby else "single",
            writable=not standby,
        )

    def capabilities(self) -> tuple[Capability, ...]:
        """What server settings and privileges of this login allow."""
        facts = doctor.read_facts(self._session)
        login = facts["login"]
        return (
            Capability.of("object_counters", facts["counters"], "track_counts", "ALTER SYSTEM SET track_counts = on;"),
            Capability.of("read_times", facts["timing"], "track_io_timing", "ALTER SYSTEM SET track_io_timing = on;"),
            Capability.of("monitor", facts["monitor"], "membership of pg_monitor", monitor_remedy(login)),
            Capability.of("moves", not facts["standby"], "a primary server", "Connect to the primary."),
            Capability.of("online_index_moves", not facts["standby"], "a primary server", "Connect to the primary."),
            block_capability(self._session),
            Capability.of("see_files", self._is_local(), "a server on this machine", "State capacities of the spaces."),
        )

    def catalog(self) -> Catalog:
        """Tablespaces, and every table, partition, materialized view and index with storage."""
        self._catalog, self._shape = read_catalog(
            self._session,
            self._clock.now(),
            local=self._is_local(),
            before=self._catalog,
            left_out=self._left_out,
            devices=self._devices,
        )
        self._sampler.share(self._catalog.units.physical_id)
        return self._catalog

    def _units(self) -> tuple[I64, I64]:
        """Of the last catalog; each is asked for by its own oid."""
        if self._catalog is None:
            return no_units()
        ids = self._catalog.units.physical_id
        return ids, ids

    def sample(self) -> Sample:
        """Counters of ``sampler.COUNTERS`` by unit, TOAST within its table."""
        return self._sampler.sample()

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """See ``demand``: signals that PostgreSQL does not measure are careful bounds."""
        shape = shape_of(catalog.units, self._shape)
        return demand.classify(interval, shape, new_blocks_missed=self._new_blocks_missed())

    def read_statements(self, most: int) -> StatementCounters | None:
        """By pg_stat_statements; None where it is not installed."""
        return statements.read_statements(self._session, self._clock, most)

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """As pg_stat_statements has them, without literals."""
        return statements.read_texts(self._session, ids)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes now: of a table with its TOAST, of an index alone."""
        return exact_sizes(self._session, physical_ids)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """See ``routes``."""
        relation = find_relation(self._session, bundle.key, to_space)
        return routes.routes_of(relation, bundle, to_space, self._settings, read_replication(self._session))

    def other_contents(self, space: str, to_space: str) -> tuple[OtherContent, ...]:
        """Partitioned relations, sequences, the system catalog, temporary relations, other databases."""
        return read_other_contents(self._session, space, to_space)

    def lacking_rights(self, route: Route) -> str:
        """See ``rights``."""
        return lacking_rights(self._session, route, rebuilds=route.name == routes.REBUILD)

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> Route | ByHand | NoRoute:
        """See ``split``."""
        relation = find_relation(self._session, bundle.key, to_space)
        table = read_table(self._session, bundle.key)
        column = None if table is None else column_of(table, border.column)
        if table is None or column is None or not column.built_in:
            return routes_of_split(relation, table, None, None, border.column, bundle, to_space, self._settings)
        value = read_asked_border(self._session, column, border.value)
        if isinstance(value, NoRoute):
            return value
        share = read_present_share(self._session, table, column, value.text)
        return routes_of_split(relation, table, value, share, border.column, bundle, to_space, self._settings)

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:
        """See ``new_space``."""
        return new_space.routes_new_space(self._session, self._settings, wanted, moves=moves)

    def route_close(self, table: str, border: str, to_space: str) -> Route | NoRoute:
        """See ``close``."""
        return partitions.route_close(self._session, self._settings, table, border, to_space)

    def refuse_split(self, route: Route) -> NoRoute | None:
        """Rights that it lacks, or that its sessions cannot write."""
        if read_only := read_only_reason(self._session):
            return NoRoute(code="read_only", sentence=read_only)
        return refuse_rights(self._session, route)

    def try_moves(self, spaces: Sequence[str]) -> tuple[Finding, ...]:
        """With a temporary table of one row."""
        return trial.try_moves(self._session, self._settings, spaces)

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """Of tables that are partitioned by ranges of one column of dates or times."""
        now = self._clock.now()
        return partitions.template_of(self._session, self._settings, kind, table, to_space, seconds, now)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """By the ranges and spaces that the catalog shows now."""
        return partitions.routes_due(self._session, self._settings, template, now)

    def blockers(self, route: Route, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """See ``blockers``."""
        return find_blockers(self._session, route, self._settings, tidying=tidying)

    def foreground_reads(self) -> ForegroundReads | None:
        """Reads of client sessions, by ``sql/foreground.sql``."""
        return read_foreground(self._session)

    def copy_habits(self) -> CopyHabits:
        """An index is rebuilt from its table, unless the settings want it copied."""
        return routes.habits(self._settings)

    def inspect(self, route: Route) -> Inspection:
        """By name, because REINDEX CONCURRENTLY gives an index a new oid."""
        return inspection.inspect(self._session, route, self._settings, local=self._is_local())

    def doctor(self) -> tuple[Finding, ...]:
        """See ``doctor``."""
        allowed = self._settings.allow_moves_with_remote_apply
        catalog = self.catalog()
        return doctor.examine(
            self._session, catalog, self._left_out, remote_apply_allowed=allowed, local=self._is_local()
        )

    def read_blocks(self) -> BlockReader:
        """Looks through ``pg_buffercache``."""
        return PoolReader(self._settings, self._clock)

    def read_values(self) -> ValueReader:
        """Values at borders of block ranges, by TID range scans."""
        return BorderValueReader(self._settings, self._clock)

    def open_mover(self) -> Mover:
        """A writing session of this connector's account."""
        return PostgresqlMover(self._settings, self._clock)

    def acquire_lease(self, holder: str) -> Lease:
        """See ``lease``."""
        return lease.acquire_lease(self._settings, holder)

    def end_holder(self, holder: str) -> None:
        """See ``takeover``."""
        end_holder(self._settings, holder)

    def close(self) -> None:
        """End the reading session."""
        self._session.close()

    def _new_blocks_missed(self) -> bool:
        if self._version_number is None:
            self.identify()
        assert self._version_number is not None, "identify() has set it"
        return self._version_number < EXTENDS_WITHOUT_MISS

    def _is_local(self) -> bool:
        """A unix socket or a loopback address, unless the configuration knows better."""
        if self._settings.local is not None:
            return self._settings.local
        address = self._session.host_address
        return not address or ip_address(address).is_loopback
