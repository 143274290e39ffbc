"""Oracle as the rest of hotplace sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from connectors.kit.contract import Clock, ConnectorError, Crowding, Lease, Mover, Tap
from connectors.kit.findings import Capability, Finding
from connectors.kit.statements import StatementCounters
from connectors.kit.templates import StatementTemplate, TemplateKind
from connectors.model.blocks import BlockReader
from connectors.model.moves import Border, Bundle, ByHand, NoRoute, Route
from connectors.model.new_space import SpaceAnswer, WantedSpace
from connectors.model.observation import I64, Catalog, Demand, Identity, Inspection, Interval, Sample
from connectors.oracle import demand, doctor, file_moves, inspection, lease, manual_scripts, new_space, routes, sampler
from connectors.oracle.blocks import CacheReader
from connectors.oracle.catalog import (
    NO_SEGMENTS,
    CountedSegments,
    Shape,
    exact_sizes,
    find_entries,
    read_catalog,
    read_files,
    read_spaces,
    shape_of,
)
from connectors.oracle.driver import Driver
from connectors.oracle.facts import Facts, find_facts, grants_alter, with_licensed_facts, with_table_facts
from connectors.oracle.mover import OracleMover, find_crowding
from connectors.oracle.partitions import PartitionCalendar
from connectors.oracle.sampler import SegmentSampler
from connectors.oracle.sessions import JOURNAL_RIGHTS, JOURNAL_SINCE, Instances, ReadSession, Server, read_server
from connectors.oracle.settings import OracleSettings
from connectors.oracle.side_effects import rebuilt_indexes


class OracleConnector:
    """Reads over one session that cannot write; ``open_mover`` and ``acquire_lease`` open others."""

    def __init__(self, settings: OracleSettings, clock: Clock, driver: Driver, tap: Tap | None = None) -> None:
        """Nothing is opened yet: the first call connects. A tap hears of what is read, or answers it."""
        self._settings = settings
        self._clock = clock
        self._driver = driver
        self._session = ReadSession(driver, settings, tap=tap)
        self._known: Server | None = None
        self._instances = Instances(self._session, driver, settings, tap)
        self._sampler = SegmentSampler(
            self._instances,
            clock,
            self._server,
            by_place=settings.move_by == "tablespace",
            asked=self._known_segments,
            share=settings.sample_share,
        )
        self._shape: tuple[I64, Shape] | None = None
        self._segments = NO_SEGMENTS

    def identify(self) -> Identity:
        """Release, edition, container, and a fingerprint of DBID and container."""
        self._known = server = read_server(self._session)
        return Identity(
            engine="oracle",
            version=server.version,
            version_number=server.number,
            edition=server.edition,
            database=server.container or server.name,
            fingerprint=f"{server.dbid}-{server.container_uid}",
            topology=_topology(server),
            writable=server.writable,
        )

    def capabilities(self) -> tuple[Capability, ...]:
        """What release, edition, options and privileges of this login allow."""
        return doctor.capabilities(self._session, read_server(self._session), self._settings)

    def catalog(self) -> Catalog:
        """Tablespaces, and every table, partition, index and LOB with a segment."""
        found, shape = read_catalog(self._session, self._clock.now(), self._server(), self._settings.known_places())
        self._shape = found.units.physical_id, shape
        self._segments = shape.counted_segments(found.units.physical_id)
        return found

    def _known_segments(self) -> CountedSegments:
        """Of the last catalog."""
        return self._segments

    def sample(self) -> Sample:
        """Counters of ``sampler.COUNTERS`` by object, over all instances."""
        return self._sampler.sample()

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """See ``demand``: what Oracle does not measure are careful bounds."""
        read = self._shape
        if read is not None and np.array_equal(read[0], catalog.units.physical_id):
            return demand.classify(interval, catalog, read[1])
        return demand.classify(interval, catalog, shape_of(catalog.units, read))

    def read_statements(self, most: int) -> StatementCounters | None:
        """By V$SQLSTATS, over all instances."""
        return sampler.read_statements(self._instances, self._clock, most)

    def statement_texts(self, ids: Collection[str]) -> Mapping[str, str]:
        """As V$SQLSTATS has them, without literals."""
        return sampler.read_texts(self._session, ids)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes of each segment now."""
        return exact_sizes(self._session, physical_ids)

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """See ``routes``. The role of the database is read again: it may have become a standby."""
        if self._settings.move_by == "tablespace":
            return self._file_routes(bundle, to_space)
        server = read_server(self._session)
        facts = find_facts(self._session, bundle, to_space)
        if facts is not None:
            facts = with_table_facts(facts, self._session, server)
            facts = with_licensed_facts(facts, self._session, server, self._settings)
            facts = self._with_room_and_rights(facts, server)
        return routes.routes_of(facts, bundle, to_space, server, self._settings)

    def lacking_rights(self, route: Route) -> str:
        """Of a table or index of another owner, and of data files: system privileges and ALTER on the table."""
        server = read_server(self._session)
        held = doctor.rights(self._session)[0]
        missing = [name for name in doctor.needed_for(route) if name not in held]
        if not missing or server.proxy:  # a proxy acts for the owner
            return ""
        lacks = f"the account that moves lacks {' and '.join(missing)}"
        facts = None if doctor.BY_TABLESPACE[0] in missing else find_facts(self._session, route.bundle, route.to_space)
        if facts is None:
            return lacks
        if server.login in {facts.lead.owner, facts.table_owner}:
            return ""
        try:
            given = grants_alter(self._session, facts.table_owner, facts.table)
        except ConnectorError:
            return f"{lacks}, and what it was given on {route.bundle.key} cannot be read"
        return "" if given and missing == [doctor.BY_OBJECT[0]] else f"{lacks}, and {route.bundle.key} is not its own"

    def routes_out(self, bundle: Bundle) -> ByHand | NoRoute:
        """See ``file_moves``: by hand, since nothing empties a data file."""
        places = [space.name for space in read_spaces(self._session, self._settings.known_places()).spaces]
        return file_moves.by_hand(bundle, read_files(self._session), places, read_server(self._session))

    def routes_new_space(self, wanted: WantedSpace, *, moves: bool) -> SpaceAnswer:
        """See ``new_space``."""
        try:
            groups = new_space.read_disk_groups(self._session) if wanted.location.startswith("+") else frozenset()
        except ConnectorError:
            groups = frozenset()  # then it is not known whether the group is mounted
        held = doctor.rights(self._session)[0] if moves else None
        server = read_server(self._session)
        return new_space.routes_new_space(wanted, read_files(self._session), groups, server, self._settings, held)

    def routes_split(self, bundle: Bundle, border: Border, to_space: str) -> ByHand | NoRoute:
        """See ``manual_scripts``: by hand, since every row is copied."""
        facts = find_facts(self._session, bundle, to_space)
        return manual_scripts.by_hand(facts, bundle, border, to_space, read_server(self._session))

    def template(self, kind: TemplateKind, table: str, to_space: str, seconds: int) -> StatementTemplate | NoRoute:
        """Of tables that are partitioned by ranges of one column of dates or times."""
        return self._calendar().template(kind, table, to_space, seconds)

    def routes_due(self, template: StatementTemplate, now: datetime) -> tuple[Route, ...]:
        """By the ranges and tablespaces that the dictionary shows now."""
        return self._calendar().routes_due(template, now)

    def inspect(self, route: Route) -> Inspection:
        """By OBJECT_ID, which survives moves and rebuilds, and by the name it must still bear."""
        return inspection.inspect(self._session, route)

    def doctor(self) -> tuple[Finding, ...]:
        """See ``doctor``."""
        return doctor.examine(self._session, read_server(self._session), self._settings)

    def read_blocks(self) -> BlockReader:
        """Looks at the cache of one instance."""
        return CacheReader(self._driver, self._settings, self._clock)

    def crowding(self) -> Crowding:
        """See ``queues``."""
        return find_crowding(self._session, self._settings)

    def open_mover(self) -> Mover:
        """A writing session of this connector's account.

        Raises:
            StatementFailed: the login may do far more than moving; a mistake of ours would have no bounds.
            CannotConnect: or what else connecting raises.
        """
        if not self._settings.strong_login:
            doctor.insist_on_modest_login(self._session, self._server())
        return OracleMover(self._driver, self._settings, self._clock)

    def acquire_lease(self, holder: str) -> Lease:
        """See ``lease``."""
        return lease.acquire_lease(self._driver, self._settings, holder)

    def close(self) -> None:
        """End the reading sessions."""
        self._instances.close()
        self._session.close()

    def _with_room_and_rights(self, facts: Facts, server: Server) -> Facts:
        """What only some moves need: room for indexes that are built again, rights for the journal of a rebuild."""
        if rebuilt_indexes(facts) or facts.rewritten is not None:
            spaces = read_spaces(self._session, None).spaces
            facts = replace(
                facts, room={space.name: space.free_bytes for space in spaces if space.free_bytes is not None}
            )
        if facts.is_index and not server.since(*JOURNAL_SINCE) and facts.lead.owner != server.login:
            held = doctor.rights(self._session)[0]  # of a login that only watches nothing follows
            facts = replace(facts, may_journal="ALTER ANY INDEX" not in held or held >= JOURNAL_RIGHTS)
        return facts

    def _file_routes(self, bundle: Bundle, to_place: str) -> tuple[Route, ...] | NoRoute:
        lead = find_entries(self._session, bundle.physical_ids[:1]).get(bundle.physical_ids[0])
        files = read_files(self._session)
        own = [file for file in files if lead is not None and file.tablespace == lead.space]
        places = [space.name for space in read_spaces(self._session, self._settings.known_places()).spaces]
        return file_moves.routes_of(own, bundle, to_place, places, read_server(self._session), self._settings)

    def _calendar(self) -> PartitionCalendar:
        return PartitionCalendar(self._session, read_server(self._session), self._settings, self.routes)

    def _server(self) -> Server:
        if self._known is None:
            self._known = read_server(self._session)
        return self._known


def _topology(server: Server) -> str:
    if not server.writable:
        return "replica"
    return "cluster" if server.cluster else "single"
