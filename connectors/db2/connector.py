"""Db2 as the rest of hotplace sees it."""

from __future__ import annotations

import numpy as np

from connectors.base import Clock, Lease, Mover
from connectors.db2 import demand, doctor, lease
from connectors.db2.catalog import Homes, known_homes, read_catalog
from connectors.db2.inspection import inspect
from connectors.db2.mover import Db2Mover
from connectors.db2.names import parse_key
from connectors.db2.sampler import MonitorSampler
from connectors.db2.server import Server, read_server
from connectors.db2.session import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.db2.sizes import exact_sizes
from connectors.db2.space_move import Instance, space_route
from connectors.db2.storage import Storage, read_storage
from connectors.db2.table_move import room_of, table_route
from connectors.db2.tables import find_table_of
from connectors.model import (
    I64,
    Bundle,
    Capability,
    Catalog,
    Demand,
    Finding,
    Identity,
    Inspection,
    Interval,
    NoRoute,
    Route,
    Sample,
)

NOTHING_KNOWN = Homes(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))


class Db2Connector:
    """Reads over one session that sends SELECT only; ``open_mover`` and ``acquire_lease`` open others."""

    def __init__(self, settings: Db2Settings, clock: Clock) -> None:
        """Nothing is opened yet: the first call connects."""
        self._settings = settings
        self._clock = clock
        self._session = ReadSession(settings)
        self._by_group = settings.move_by == "table_space"
        self._sampler = MonitorSampler(self._session, clock, by_group=self._by_group)
        self._homes = NOTHING_KNOWN
        self._catalog: Catalog | None = None
        self._server: Server | None = None

    def identify(self) -> Identity:
        """Version, database, and a fingerprint of its name and the moment it was made."""
        self._server = read_server(self._session)
        return self._server.identity()

    def capabilities(self) -> tuple[Capability, ...]:
        """What version, settings and privileges allow."""
        return doctor.capabilities(self._session, read_server(self._session))

    def catalog(self) -> Catalog:
        """Table spaces or storage groups, and every table, partition, index and LOB object."""
        found, self._homes, _ = self._read_catalog()
        self._catalog = found
        return found

    def sample(self) -> Sample:
        """Counters of ``sampler.COUNTERS`` by unit, summed over members.

        Raises:
            StatementFailed: ``mon_obj_metrics`` is not EXTENDED on every member: zeros would look cold.
            ConnectorError: another subclass that says what may be done.
        """
        server = read_server(self._session)
        doctor.insist_on_object_metrics(server)  # it may have been changed at any time
        return self._sampler.sample(objects=server.counts_objects)

    def classify(self, interval: Interval, catalog: Catalog) -> Demand:
        """See ``demand``: what Db2 tells of table spaces only is estimated for each object."""
        homes = self._homes if self._catalog is catalog else known_homes(self._homes, catalog)
        return demand.classify(interval, homes)

    def exact_sizes(self, physical_ids: I64) -> I64:
        """Bytes by ADMIN_GET_TAB_INFO, one query for each table that is asked for."""
        catalog = self._catalog or self.catalog()
        return exact_sizes(self._session, catalog, physical_ids, shared=self._shared())

    def routes(self, bundle: Bundle, to_space: str) -> tuple[Route, ...] | NoRoute:
        """See ``table_move`` and ``space_move``: by ``move_by``, and by table where the target is no storage group."""
        found = self._space_route(bundle, to_space) if self._by_group else self._table_route(bundle, to_space)
        return found if isinstance(found, NoRoute) else (found,)

    def inspect(self, route: Route) -> Inspection:
        """By name, since a moved table gets a new object."""
        return inspect(self._session, route, shared=self._shared())

    def doctor(self) -> tuple[Finding, ...]:
        """See ``doctor``."""
        return doctor.examine(self._session, self._settings, read_server(self._session), shared=self._shared())

    def open_mover(self) -> Mover:
        """Writing sessions of this connector's account."""
        return Db2Mover(self._settings, self._clock, shared=self._shared())

    def acquire_lease(self, holder: str) -> Lease:
        """See ``lease``."""
        return lease.acquire_lease(self._settings, holder)

    def close(self) -> None:
        """End the reading session."""
        self._session.close()

    def _table_route(self, bundle: Bundle, to_space: str) -> Route | NoRoute:
        storage = read_storage(self._session, shared=self._shared())
        table = find_table_of(self._session, parse_key(bundle.key))
        source, target = storage.space_named(bundle.space), storage.space_named(to_space)
        return table_route(table, bundle, source, target, self._settings, room_of(storage, self._known_server()))

    def _space_route(self, bundle: Bundle, to_space: str) -> Route | NoRoute:
        catalog, homes, storage = self._read_catalog()
        if bundle.key not in catalog.units.key:
            return NoRoute(code="gone", sentence=f"{bundle.key} no longer exists")
        space = storage.spaces[int(homes.space[list(catalog.units.key).index(bundle.key)])]
        server = self._known_server()
        kind = Instance(purescale=server.purescale, partitions=server.partitions)
        return space_route(storage, space, bundle, to_space, self._settings, kind)

    def _read_catalog(self) -> tuple[Catalog, Homes, Storage]:
        return read_catalog(
            self._session,
            self._clock.now(),
            shared=self._shared(),
            by_group=self._by_group,
            folders=self._settings.folders,
        )

    def _known_server(self) -> Server:
        if self._server is None:
            self._server = read_server(self._session)
        return self._server

    def _shared(self) -> bool:
        return self._known_server().purescale
