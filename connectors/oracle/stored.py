"""Oracle's own queries, run by a person: which they are, and the connector's reading of their results."""

from __future__ import annotations

from collections.abc import Mapping

from connectors.kit.assessment import Export, Readings, StoredClock, UnusableFile
from connectors.kit.contract import PrivilegeMissing
from connectors.model.observation import Catalog, Demand, Interval
from connectors.oracle import demand
from connectors.oracle.catalog import read_catalog
from connectors.oracle.sampler import SegmentSampler
from connectors.oracle.sessions import Instances, ReadSession, Row, Server, query, read_server

# In the order that a person runs them: the counters close together, what there is after them.
QUERIES = (
    "identify", "container", "options", "epoch", "epoch_container", "clock", "sample", "files", "system",
    "system_container", "spaces", "datafiles", "disk_groups", "units", "units_11", "owners",
)  # fmt: skip
WHERE = {
    "container": "since 12.1",
    "epoch": "11.2 and before",
    "epoch_container": "since 12.1",
    "system": "where the database is no container database",
    "system_container": "in a container database",
    "disk_groups": "where ASM is used",
    "units": "since 12.1",
    "units_11": "11.2 and before",
}


def queries() -> Mapping[str, str]:
    """Every query as the connector sends it; the first line of some says where it is needed."""
    return {name: (f"-- {WHERE[name]}\n" if name in WHERE else "") + query(name).strip() for name in QUERIES}


class StoredSession(ReadSession):
    """Answers from an export what the connector asks."""

    def __init__(self, export: Export) -> None:
        self.export = export
        self._names = {query(name): name for name in QUERIES}

    def rows(
        self,
        statement: str,
        values: Mapping[str, object] | None = None,  # noqa: ARG002 (as the live one)
        *,
        doing: str,  # noqa: ARG002 (as the live one)
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> list[Row]:
        """The result of that query."""
        return self.export.rows(self._names[statement])


class StoredInstances(Instances):
    """The same for the queries of all instances."""

    def __init__(self, session: StoredSession) -> None:
        self._stored = session

    def rows(
        self,
        name: str,
        values: Mapping[str, object] | None = None,  # noqa: ARG002 (as the live one)
        *,
        doing: str,
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> list[Row]:
        """The result of that query; those that a person is not asked for are as without their grant."""
        if name not in QUERIES:
            raise PrivilegeMissing(f"{doing}: not exported", advice="")
        return self._stored.export.rows(name)


def read(before: Export, after: Export) -> Readings:
    """Two samples and a catalog by the connector's own reading.

    Raises:
        UnusableFile: a result is missing, or the exports are of two databases.
    """
    session = StoredSession(before)
    servers = read_server(session), read_server(StoredSession(after))
    if (servers[0].dbid, servers[0].container_uid) != (servers[1].dbid, servers[1].container_uid):
        raise UnusableFile(
            after.path, f"is of another database than {before.path}", advice="Export the same one twice."
        )
    clock = StoredClock(before.at)
    sampler = SegmentSampler(StoredInstances(session), clock, lambda: servers[0])
    first = sampler.sample()
    session.export, clock.at = after, after.at
    second = sampler.sample()
    catalog, shape = read_catalog(session, after.at, servers[1], None)

    def classify(interval: Interval, catalog: Catalog) -> Demand:
        return demand.classify(interval, catalog, shape)

    return Readings(
        database=servers[1].container or servers[1].name,
        version=servers[1].version,
        catalog=catalog,
        before=first,
        after=second,
        classify=classify,
        notes=_notes(servers[1]),
    )


def _notes(server: Server) -> tuple[str, ...]:
    notes = []
    if not server.timed:
        notes.append("TIMED_STATISTICS is off: read times are those of a data sheet")
    if not server.segment_statistics:
        notes.append("segment statistics are off: set STATISTICS_LEVEL to TYPICAL, and export again")
    return tuple(notes)
