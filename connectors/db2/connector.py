"""Db2 as the rest of hotplace sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

from connectors.db2 import demand, doctor, lease, new_space, partitions, sampler, table_move
from connectors.db2.catalog import NOTHING_KNOWN, Homes, known_homes, read_catalog
from connectors.db2.inspection import inspect
from connectors.db2.lease import find_crowding
from connectors.db2.mover import Db2Mover
from connectors.db2.names import Key, Part, parse_key, whole_name, whole_of
from connectors.db2.operations import TableHomes
from connectors.db2.partitions import AgedPartitions, along_with, bundle_alone, read_partitions, route_by_hand
from connectors.db2.restrictions import PARTITIONED, lacking_rights
from connectors.db2.sampler import MonitorSampler
from connectors.db2.sessions import ReadSession, Server, read_server
from connectors.db2.settings import Db2Settings
from connectors.db2.sizes import CopyRoom, exact_sizes, homes_after, read_rebuilt_in_place, room_of, with_condition
from connectors.db2.space_move import Instance, route_out, space_route
from connectors.db2.storage import ServerStorage, TableSpace, read_storage
from connectors.db2.table_move import landing_in, table_route, with_landing
from connectors.db2.tables import TableFacts, find_table_of, packages_of, read_protocol
from connectors.kit.clients import CLP
from connectors.kit.contract import Clock, Crowding, Lease, Mover, PrivilegeMissing, Tap
from connectors.kit.findings import Capability, Finding
from connectors.kit.statements import StatementCounters
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.moves import Border, Bundle, ByHand, NoRoute, Route, UnitKind
from connectors.model.new_space import SpaceAnswer, WantedSpace
from connectors.model.observation import I64, Catalog, Demand, Identity, Inspection, Interval, Sample


class Db2Connector:
    """Reads over one session that sends SELECT only; ``open_mover`` and ``acquire_lease`` open others."""

    def __init__(self, settings: Db2Settings, clock: Clock, tap: Tap | None = None) -> None:
        """Nothing is opened yet: the first call connects. A tap hears of what is read, or answers it."""
        self._settings = settings
        self._clock = clock
        self._session = ReadSession(settings, tap)
        self._sampler = MonitorSampler(
            self._session,
            clock,
            by_group=settings.by_group,
            tables=lambda: self._homes.tables,
            share=settings.sample_share,
        )
        self._homes = NOTHING_KNOWN
        self._catalog: Catalog | None = None
        self._server: Server | None = None

    def identify(self) -> Identity:
        """Version, database, and a fingerprint of its name and the moment it was made."""
        self._server = read_server(self._session)
        return self._server.identity()

    def capabilities(self) -> tuple[Capability, ...]:
        """Capabilities by version, settings and privileges."""
        return doctor.capabilities(self._session, read_server(self._session))

    def catalog(self) -> Catalog:
        """Table spaces or storage groups, and every table, partition, index and LOB object."""
        found, self._homes, _ = self._read_catalog()
        self._catalog = found
        return found

    def sample(self) -> Sample:
        """Counters of ``counted.COUNTERS`` by unit, summed over members.

        Raises:
            StatementFailed: ``mon_obj_metrics`` is not EXTENDED on every member: zeros would look cold.
            ConnectorError: another subclass that says what may be done.
        """
        server = self._server = read_server(self._session)
        doctor.insist_on_object_metrics(server)  # it may have been changed at any time
        return self._sampler.sample(objects=server.counts_objects)

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """See ``demand``: what Db2 tells of table spaces only is estimated for each object."""
        homes = self._homes if self._catalog is catalog else known_homes(self._homes, catalog)
        return demand.classify(interval, homes)

    def read_statements(self, most: int) -> StatementCounters | None:
        """By the package cache, over all members; None before Db2 11.1."""
        server = self._server or read_server(self._session)
        if server.version < sampler.SINCE:
            return None
        return sampler.read_statements(self._session, self._clock, most)

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """As the package cache has them, without literals."""
        return sampler.read_texts(self._session, ids)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes by ADMIN_GET_TAB_INFO, one query for each table that is asked for."""
        catalog = self._catalog or self.catalog()
        return exact_sizes(self._session, catalog, physical_ids, shared=self._is_pure_scale())

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """See ``table_move`` and ``space_move``: by ``move_by``, and with both by what the bundle says of itself."""
        way = self._settings.move_by
        whole = way == "table_space" or (way == "both" and bundle.wide)
        found = (self._space_route if whole else self._table_route)(bundle, to_space)
        return found if isinstance(found, NoRoute) else (found,)

    def lacking_rights(self, route: Route) -> str:
        """See ``restrictions``."""
        return lacking_rights(self._session, route)

    def routes_out(self, bundle: Bundle) -> Route | ByHand | NoRoute:
        """See ``containers``: hotplace moves files of DMS table spaces; a person moves paths of storage groups."""
        storage = self._storage()
        return route_out(storage, bundle, self._settings, self._kind())

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:
        """See ``new_space``; by hand where the account that moves lacks the authority."""
        found = new_space.routes_new_space(wanted, self._storage(), self._settings)
        route = found.answer
        lacking = self.lacking_rights(route) if moves and isinstance(route, Route) else ""
        if not lacking or not isinstance(route, Route):
            return found
        return replace(found, answer=route.by_a_person(lacking, CLP))

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> ByHand | NoRoute:
        """See ``table_move``: by hand, since every row is copied."""
        return table_move.by_hand(self._table_of(bundle), bundle, border, to_space)

    def template(
        self, kind: TemplateKind, table: str, to_space: str, seconds: int
    ) -> StatementTemplate | ByHand | NoRoute:
        """Data partitions of tables with ranges of dates or timestamps."""
        if kind is TemplateKind.AGED_PARTITION:
            return self._aged().template(table, to_space, seconds)
        return partitions.template_of(self._session, self._settings, self._storage(), table, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """By the ranges and table spaces that the catalog shows now."""
        if template.kind is TemplateKind.AGED_PARTITION:
            return self._aged().routes_due(template, now)
        return partitions.routes_due(self._session, self._settings, self._storage(), template, now)

    def inspect(self, route: Route) -> Inspection:
        """By name, since a moved table gets a new object."""
        return inspect(self._session, route, shared=self._is_pure_scale(), folders=self._settings.folders)

    def doctor(self) -> tuple[Finding, ...]:
        """See ``doctor``."""
        server = read_server(self._session)
        return doctor.examine(self._session, self._settings, server, shared=self._is_pure_scale())

    def crowding(self) -> Crowding:
        """See ``queues``."""
        return find_crowding(self._session, self._settings)

    def open_mover(self) -> Mover:
        """Writing sessions of this connector's account."""
        return Db2Mover(self._settings, self._clock, shared=self._is_pure_scale())

    def acquire_lease(self, holder: str) -> Lease:
        """See ``lease``."""
        return lease.acquire_lease(self._settings, holder)

    def close(self) -> None:
        """End the reading session."""
        self._session.close()

    def _aged(self) -> AgedPartitions:
        return AgedPartitions(self._session, self._settings, self._kind(), self._read_catalog)

    def _table_route(self, bundle: Bundle, to_space: str) -> Route | NoRoute:
        storage = self._storage()
        table = self._table_of(bundle)
        if not self._settings.by_group:
            source, target = storage.space_named(bundle.space), storage.space_named(to_space)
            room = self._room(storage, table, bundle, target)
            found = table_route(table, bundle, source, target, self._settings, room, self._known_server())
            return self._or_by_hand(found, bundle, storage, target)
        homes = self._homes_of(bundle, storage)
        wanted = [whole_of(name) for name in bundle.homes]
        landing = landing_in(storage, to_space, homes[0] if homes else None, self._settings, wanted)
        if isinstance(landing, NoRoute):
            return landing
        room = self._room(storage, table, bundle, landing)
        source = homes[0] if homes else None
        found = table_route(table, bundle, source, landing, self._settings, room, self._known_server())
        found = self._or_by_hand(found, bundle, storage, landing)
        return with_landing(found, to_space, landing, [space.name for space in homes])

    def _or_by_hand(
        self, found: Route | NoRoute, bundle: Bundle, storage: ServerStorage, target: TableSpace | None
    ) -> Route | NoRoute:
        """What is found, but for a data partition what a person does, where its table space cannot go with it."""
        key = parse_key(bundle.key)
        if not isinstance(found, NoRoute) or found.code != PARTITIONED or key.partition is None or target is None:
            return found
        homes = self._homes_of(bundle, storage)
        if not homes:
            return found
        # Back it goes to the table space that it came from, whatever it is in now.
        if not bundle.homes and self._goes_alone(key, homes[0], storage.home_of(target)):
            return found
        rows = read_partitions(self._session, Key(Part.TABLE, key.schema, key.name))
        row = next((each for each in rows if each[0] == key.partition), None)
        assert self._catalog is not None, "it has told the homes"
        along = along_with(self._catalog.units, self._homes, bundle.physical_ids[0])
        nothing = homes[0].number, 0
        (index, size), (lob, _) = (along.get(kind, nothing) for kind in (UnitKind.INDEX_PARTITION, UnitKind.LOB))
        now = TableHomes(*(storage.spaces.get(each, homes[0]).name for each in (homes[0].number, index, lob)))
        return route_by_hand(bundle, row, target, homes[0], now, size if index == homes[0].number else 0)

    def _goes_alone(self, key: Key, home: TableSpace, to_space: str) -> bool:
        """Whether a data partition has a table space of its own, which hotplace can move."""
        if self._settings.move_by != "both" or self._catalog is None:
            return False
        units = self._catalog.units
        row_of = {name: row for row, name in enumerate(units.key)}
        own = bundle_alone(str(key), home.group, home, units, row_of, self._homes)
        if own is None:
            return False
        return isinstance(self._space_route(replace(own, wide=whole_name(home.name)), to_space), Route)

    def _table_of(self, bundle: Bundle) -> TableFacts | None:
        """The table that moves; while a move of it is open, some of its triggers are that move's and will go."""
        found = find_table_of(self._session, parse_key(bundle.key))
        if found is None:
            return None
        table = with_condition(self._session, found)
        if not table.triggers:
            return table
        try:
            open_ = read_protocol(self._session, table.schema, table.name).open
        except PrivilegeMissing:
            open_ = False  # then they count as the table's own; a move that cannot be seen does not begin either
        return replace(table, triggers=()) if open_ else table

    def _room(
        self, storage: ServerStorage, table: TableFacts | None, bundle: Bundle, target: TableSpace | None
    ) -> CopyRoom:
        """Room for the log, for the protocol, and for the parts of the table that are rebuilt without moving."""
        in_place: dict[str, int] = {}
        if table is not None and target is not None:
            after = homes_after(table, bundle, target.name)
            in_place = read_rebuilt_in_place(self._session, table, after, shared=self._is_pure_scale())
        return room_of(storage, self._known_server(), target, in_place)

    def _homes_of(self, bundle: Bundle, storage: ServerStorage) -> list[TableSpace]:
        """The table space that the catalog saw each unit in; empty where it does not hold them all."""
        if self._catalog is None:
            self.catalog()
        number_of = dict(zip(self._homes.physical_id.tolist(), self._homes.space.tolist(), strict=True))
        homes = [storage.spaces.get(number_of.get(number, -1)) for number in bundle.physical_ids]
        found = [space for space in homes if space is not None]
        return found if len(found) == len(homes) else []

    def _space_route(self, bundle: Bundle, to_space: str) -> Route | NoRoute:
        catalog, homes, storage = self._read_catalog()
        if bundle.key not in catalog.units.key:
            return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
        space: TableSpace | None = storage.spaces[int(homes.space[list(catalog.units.key).index(bundle.key)])]
        if bundle.wide:
            space = storage.space_named(whole_of(bundle.wide))
        packages = () if space is None else packages_of(self._session, space.name)
        return space_route(storage, space, bundle, to_space, self._settings, self._kind(), packages)

    def _storage(self) -> ServerStorage:
        return read_storage(self._session, shared=self._is_pure_scale(), folders=self._settings.folders)

    def _kind(self) -> Instance:
        server = self._known_server()
        return Instance(purescale=server.purescale, partitions=server.partitions)

    def _read_catalog(self) -> tuple[Catalog, Homes, ServerStorage]:
        return read_catalog(
            self._session,
            self._clock.now(),
            shared=self._is_pure_scale(),
            move_by=self._settings.move_by,
            folders=self._settings.folders,
        )

    def _known_server(self) -> Server:
        if self._server is None:
            self._server = read_server(self._session)
        return self._server

    def _is_pure_scale(self) -> bool:
        return self._known_server().purescale
