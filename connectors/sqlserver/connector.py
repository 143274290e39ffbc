"""SQL Server as the rest of hotplace sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from connectors.kit.contract import Clock, Crowding, Lease, Mover, Tap
from connectors.kit.findings import Capability, Finding
from connectors.kit.statements import StatementCounters
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.blocks import BlockReader
from connectors.model.moves import Border, Bundle, ByHand, NoRoute, Route
from connectors.model.new_space import SpaceAnswer, WantedSpace, makes_or_drops_space
from connectors.model.observation import I64, Blocker, Catalog, Demand, Identity, Inspection, Interval, Sample
from connectors.sqlserver import demand, doctor, guards, inspection, mover, new_space, routes, statements
from connectors.sqlserver.blocks import PoolReader, block_capability, resident_note
from connectors.sqlserver.catalog import exact_sizes, homes, read_catalog, read_files
from connectors.sqlserver.ddl import ONLINE_EDITIONS, ServerFeatures
from connectors.sqlserver.definition import Definition, find, knowing
from connectors.sqlserver.file_moves import FilePlace, file_route, read_copies, removal_route
from connectors.sqlserver.guards import find_blockers, find_crowding, tempdb_room
from connectors.sqlserver.inspection import are_kept, kept_rows
from connectors.sqlserver.keys import name_of
from connectors.sqlserver.move_methods import PREFIX
from connectors.sqlserver.mover import SqlserverMover
from connectors.sqlserver.operations import exchanged_by, replaces_index, way_back
from connectors.sqlserver.partitions import PartitionCalendar
from connectors.sqlserver.plan_drift import foreseen, foreseen_back, hangs_on_index, read_belongings
from connectors.sqlserver.sampler import DmvSampler, no_units
from connectors.sqlserver.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

KIB = 1024
READ_AHEAD_KIB = {True: 512, False: 128}  # by whether the edition reads ahead as Enterprise does


@dataclass(frozen=True, slots=True)
class _Facts:
    """A row of ``sql/identify.sql``, in its order."""

    version: str
    engine_edition: int
    edition: str
    clustered: int | None
    database: str
    broker: str
    group: str | None
    updateability: str

    @property
    def writable(self) -> bool:
        """The primary, or the only one."""
        return self.updateability == "READ_WRITE"

    @property
    def online(self) -> bool:
        return self.engine_edition in ONLINE_EDITIONS


class SqlserverConnector:
    """Reads over one session that sends our queries only; ``open_mover`` and ``acquire_lease`` open others."""

    def __init__(self, settings: SqlserverSettings, clock: Clock, tap: Tap | None = None) -> None:
        """Nothing is opened yet: the first call connects. A tap hears of what is read, or answers it."""
        self._settings = settings
        self._clock = clock
        self._session = ReadSession(settings, tap=tap)
        self._sampler = DmvSampler(
            self._session,
            clock,
            budget_seconds=settings.sample_budget,
            home_of=self._home_of_filegroup,
            units=lambda: self._unit_ids,
            share=settings.sample_share,
        )
        self._unit_ids = no_units()  # of the last catalog, without large objects
        self._homes: dict[str, str] = {}  # disk of each filegroup, for move_by: filegroup
        self._known: _Facts | None = None

    def identify(self) -> Identity:
        """Server version and edition, database, and a fingerprint that all replicas of the database share."""
        facts = self._facts()
        primary = facts.writable
        return Identity(
            engine="sqlserver",
            version=facts.version,
            version_number=tuple(int(part) for part in facts.version.split(".")),
            edition=facts.edition,
            database=facts.database,
            fingerprint=f"{facts.broker}/{facts.database}",
            topology=_topology(facts, primary=primary),
            writable=primary,
        )

    def capabilities(self) -> tuple[Capability, ...]:
        """Capabilities by edition and rights of this login."""
        facts, rights = self._facts(), guards.read_rights(self._session)
        primary = facts.writable
        scheme = bool(rights.alter_any_dataspace or rights.alter_database)
        grant = "Run hotplace doctor: it prints the GRANT."
        return (
            Capability.of("object_counters", rights.sees_objects, "the right to see counters of tables", grant),
            Capability.of("read_times", rights.sees_server, "the right to see read times of files", grant),
            Capability.of("monitor", rights.sees_server, "the right to see other sessions", grant),
            block_capability(self._session, sees_server=rights.sees_server, advice=grant),
            Capability.of("moves", primary, "a database that can be written here", "Connect to the primary."),
            Capability.of(
                "online_index_moves",
                primary and facts.online,
                "an edition that builds online",
                "Use Enterprise edition.",
            ),
            Capability.of("partition_moves", scheme, "the right to make partition schemes", grant),
        )

    def catalog(self) -> Catalog:
        """Filegroups, and every heap, index, partition and LOB with storage."""
        found = self._read_catalog()
        ids = found.units.physical_id
        self._unit_ids = ids[(ids & demand.LOB_BIT) == 0]
        return found

    def _read_catalog(self) -> Catalog:
        now, lob_moves = self._clock.now(), self._settings.lob_moves
        if not self._by_filegroup:
            return read_catalog(self._session, now, lob_moves=lob_moves, partitions=self._settings.partitions)
        self._homes = homes(read_files(self._session), self._settings.disks)
        return read_catalog(self._session, now, lob_moves=lob_moves, disks=self._settings.disks)

    def sample(self) -> Sample:
        """Counters of ``sampler.COUNTERS`` by unit."""
        return self._sampler.sample()

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """See ``demand``. Asks the server only once, for its edition."""
        known = self._known or self._facts()
        read_ahead = self._settings.read_ahead_kib or READ_AHEAD_KIB[known.online]
        return demand.classify(interval, catalog, read_ahead_bytes=read_ahead * KIB)

    def read_statements(self, most: int) -> StatementCounters | None:
        """By Query Store; None where it does not write."""
        return statements.read_statements(self._session, self._clock, most)

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """As Query Store has them, without literals."""
        return statements.read_texts(self._session, ids)

    def read_blocks(self) -> BlockReader:
        """Over a session of its own, by the descriptors of pages in memory."""
        return PoolReader(self._settings, self._clock)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Reserved bytes now."""
        return exact_sizes(self._session, physical_ids)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """See ``routes``, ``file_move`` and ``guards``."""
        if self._by_filegroup:
            return self._file_routes(bundle, to_space)
        return self._routes_of(knowing(self._session, find(self._session, name_of(bundle.key))), bundle, to_space)

    def lacking_rights(self, route: Route) -> str:
        """See ``guards``."""
        return guards.lacking_rights(self._session, route, guards.read_rights(self._session))

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> ByHand | NoRoute:
        """See ``routes``: by hand, since every row is copied."""
        definition = find(self._session, name_of(bundle.key))
        return routes.by_hand(definition, bundle, border, to_space, self._server(), self._settings)

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """Partitions of tables whose boundaries are dates or times."""
        return self._calendar().template(kind, table, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """By the boundaries and filegroups that the catalog shows now."""
        return self._calendar().routes_due(template, now)

    def routes_after(self, bundle: Bundle, to_space: str, before: Route) -> tuple[Route, ...] | NoRoute:
        """Of another partition of an index that ``before`` brings to a scheme of its own."""
        definition = find(self._session, name_of(bundle.key))
        then = None if definition is None else foreseen(definition, before)
        if then is None:
            return NoRoute(
                code="not_foreseen",
                sentence=f"the definition of {bundle.key} after the moves before it cannot be predicted",
            )
        return self._routes_of(then, bundle, to_space)

    def routes_back(self, done: Route, bundle: Bundle, before: Route | None = None) -> tuple[Route, ...]:
        """To the partition scheme that the index came from, or by rows that are kept."""
        if are_kept(self._session, done):
            return self._routes_to_kept(done, bundle)
        schemes = way_back(done.undo_steps)
        if schemes is None:
            return ()
        found = find(self._session, name_of(bundle.key))
        if before is not None and found is not None:
            found = foreseen_back(found, before)
        definition = knowing(self._session, found)
        ways = routes.routes_back(definition, schemes, bundle, done.bundle.space, self._server(), self._settings)
        open_ways = self._open_ways(definition, ways)
        return () if isinstance(open_ways, NoRoute) else open_ways

    def _routes_to_kept(self, done: Route, bundle: Bundle) -> tuple[Route, ...]:
        definition = knowing(self._session, find(self._session, name_of(bundle.key)))
        made = f"{PREFIX}{routes.tag_of(done).split()[-1]}"
        ways = routes.routes_to_kept(definition, bundle, done.bundle.space, self._server(), self._settings, made)
        open_ways = self._open_ways(definition, ways)
        return () if isinstance(open_ways, NoRoute) else open_ways

    def _routes_of(self, definition: Definition | None, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """The ways of that table which nothing speaks against just now."""
        found = routes.routes_of(definition, bundle, to_space, self._server(), self._settings_for(bundle))
        return self._open_ways(definition, found)

    def _settings_for(self, bundle: Bundle) -> SqlserverSettings:
        """Without sorting in tempdb where it has no room for the index."""
        if not self._settings.sort_in_tempdb:
            return self._settings
        room = tempdb_room(self._session)
        fits = room is None or room >= bundle.size_bytes
        return self._settings if fits else self._settings.model_copy(update={"sort_in_tempdb": False})

    def _open_ways(
        self, definition: Definition | None, found: tuple[Route, ...] | NoRoute
    ) -> tuple[Route, ...] | NoRoute:
        """Those which nothing speaks against just now."""
        paused = guards.paused_build(self._session, definition)
        if paused is not None:
            return paused
        if isinstance(found, NoRoute):
            return found
        keeps = () if definition is None else read_belongings(self._session, definition)
        kept = [route for route in found if not (replaces_index(route) and hangs_on_index(definition, keeps))] or found
        asked = [(route, self._against(route)) for route in kept]
        known = resident_note(self._session, definition, self._settings)
        open_ways = tuple(
            replace(route, notes=(*route.notes, *known), keeps=keeps) for route, reason in asked if reason is None
        )
        return open_ways or next(reason for _, reason in asked if reason is not None)

    def _calendar(self) -> PartitionCalendar:
        return PartitionCalendar(self._session, self._settings, self._exchange)

    def _exchange(self, definition: Definition, bundle: Bundle, to_space: str) -> Route | NoRoute:
        """Of one filled partition, where nothing speaks against it just now."""
        found = routes.exchange_of(definition, bundle, to_space, self._server(), self._settings)
        open_ways = self._open_ways(definition, found)
        return open_ways if isinstance(open_ways, NoRoute) else open_ways[0]

    def routes_out(self, bundle: Bundle) -> Route | NoRoute:
        """See ``file_removal``."""
        found = removal_route(bundle, read_files(self._session), self._file_place())
        if isinstance(found, NoRoute):
            return found
        return self._against(found) or found

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:
        """See ``new_space``."""
        may = bool(guards.read_rights(self._session).alter_database) if moves else True
        return new_space.routes_new_space(wanted, read_files(self._session), self._file_place(), may=may)

    def crowding(self) -> Crowding:
        """Queues of the replicas of an availability group."""
        return find_crowding(self._session, self._settings)

    def blockers(self, route: Route, *, tidying: bool = False) -> tuple[Blocker, ...]:
        """See ``blockers``; what removes the tables of an exchange waits for no one, but perhaps for its time."""
        if makes_or_drops_space(route):  # no table is locked
            return ()
        if tidying and exchanged_by(route) is not None:
            kept = kept_rows(self._session, route)
            return () if kept is None else (kept,)
        return find_blockers(self._session, route)

    def inspect(self, route: Route) -> Inspection:
        """By name, because a rebuild may change numbers."""
        return inspection.inspect(self._session, route)

    def doctor(self) -> tuple[Finding, ...]:
        """See ``doctor``."""
        facts = self._facts()
        return doctor.examine(
            self._session,
            self.catalog(),
            self._settings,
            online=facts.online,
            edition=facts.edition,
            database=facts.database,
        )

    def open_mover(self) -> Mover:
        """A writing session of this connector's account."""
        return SqlserverMover(self._settings, self._clock)

    def acquire_lease(self, holder: str) -> Lease:
        """See ``mover``."""
        return mover.acquire_lease(self._settings, holder)

    def close(self) -> None:
        """End the reading session."""
        self._session.close()

    @property
    def _by_filegroup(self) -> bool:
        return self._settings.move_by == "filegroup"

    def _home_of_filegroup(self, name: str) -> str:
        if self._by_filegroup and name not in self._homes:
            self._homes = homes(read_files(self._session), self._settings.disks)
        return self._homes.get(name, name)

    def _server(self) -> ServerFeatures:
        return ServerFeatures(major=self._session.major, edition=self._facts().engine_edition)

    def _file_place(self) -> FilePlace:
        facts = self._facts()
        return FilePlace(
            database=facts.database,
            server=ServerFeatures(major=self._session.major, edition=facts.engine_edition),
            replicated=facts.group is not None,
            writable=facts.writable,
            settings=self._settings,
            copies=read_copies(self._session),
        )

    def _file_routes(self, bundle: Bundle, to_disk: str) -> tuple[Route, ...] | NoRoute:
        """Of the filegroup that the bundle is."""
        definition = find(self._session, name_of(bundle.key))
        at = frozenset() if definition is None else definition.homes()
        found = file_route(next(iter(at), None), bundle, to_disk, read_files(self._session), self._file_place())
        if isinstance(found, NoRoute):
            return found
        return self._against(found) or (found,)

    def _against(self, route: Route) -> NoRoute | None:
        return guards.against(self._session, route, queue_mib=self._settings.replica_queue_mib)

    def _facts(self) -> _Facts:
        """Read each time: after a failover another server answers under the same name."""
        self._known = _Facts(*self._session.rows("identify", doing="identifying")[0])
        return self._known


def _topology(facts: _Facts, *, primary: bool) -> str:
    if facts.group is not None:
        return "availability group primary" if primary else "availability group secondary"
    return "failover cluster" if facts.clustered else "single"
