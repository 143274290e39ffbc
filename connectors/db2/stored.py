"""Db2's own queries, run by a person: which they are, and the connector's reading of their results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from connectors.db2 import demand
from connectors.db2.catalog import known_homes, read_catalog
from connectors.db2.sampler import MonitorSampler
from connectors.db2.sessions import ReadSession, Row, Server, query, read_server
from connectors.kit.assessment import Export, Readings, StoredClock, UnusableFile
from connectors.model.observation import Catalog, Demand, Interval

Result = TypeVar("Result")
# In the order that a person runs them: the counters close together, what there is after them.
QUERIES = (
    "identify", "version", "instance", "purescale", "configuration", "clock", "sample_tables", "sample_indexes",
    "sample_spaces", "database", "utilities", "spaces", "space_states", "storage_groups", "tables", "lob_tables",
    "partitions", "indexes", "index_partitions", "object_pages",
)  # fmt: skip


def queries() -> Mapping[str, str]:
    """Every query as the connector sends it to the newest release; ``-- since`` marks what older ones do not have."""
    return {name: query(name).text.strip() for name in QUERIES}


class StoredSession(ReadSession):
    """Answers from an export what the connector asks."""

    def __init__(self, export: Export) -> None:
        self.export = export
        self.missing = {}

    def rows(
        self,
        name: str,
        values: Sequence[object] = (),  # noqa: ARG002 (as the live one)
        *,
        doing: str,  # noqa: ARG002 (as the live one)
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> list[Row]:
        """The result of that query, CHAR columns without their padding."""
        found = self.export.rows(name)
        return [tuple(value.rstrip() if isinstance(value, str) else value for value in row) for row in found]

    def parts(
        self,
        name: str,
        take: Callable[[list[Row]], Result],
        *,
        doing: str,
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> list[Result]:
        """What is made of the rows, all at once."""
        found = self.rows(name, doing=doing)
        return [take(found)] if found else []

    def optional_rows(self, name: str, values: Sequence[object] = (), *, doing: str) -> list[Row] | None:
        """The result of that query; None where the release has no such source, or a person is not asked for it."""
        return self.rows(name, values, doing=doing) if name in self.export.results else None


def read(before: Export, after: Export) -> Readings:
    """Two samples and a catalog by the connector's own reading.

    Raises:
        UnusableFile: a result is missing, or the exports are of two databases.
    """
    session = StoredSession(before)
    servers = read_server(session), read_server(StoredSession(after))
    if (servers[0].database, servers[0].created) != (servers[1].database, servers[1].created):
        raise UnusableFile(
            after.path, f"is of another database than {before.path}", advice="Export the same one twice."
        )
    clock = StoredClock(before.at)
    sampler = MonitorSampler(session, clock, by_group=False)
    first = sampler.sample(objects=servers[0].counts_objects)
    session.export, clock.at = after, after.at
    second = sampler.sample(objects=servers[1].counts_objects)
    catalog, homes, _ = read_catalog(session, after.at, shared=servers[1].purescale, move_by="table")

    def classify(interval: Interval, catalog: Catalog) -> Demand:
        return demand.classify(interval, known_homes(homes, catalog))

    return Readings(
        database=servers[1].database,
        version=".".join(map(str, servers[1].version)),
        catalog=catalog,
        before=first,
        after=second,
        classify=classify,
        notes=_notes(servers, [name for name in QUERIES if name not in after.results]),
    )


def _notes(servers: Sequence[Server], missing: Sequence[str]) -> tuple[str, ...]:
    notes = [f"there is no result of {name}, which releases before 10.5 may not have" for name in missing]
    if not all(server.counts_objects for server in servers):
        notes.append("reads of objects are not counted: set mon_obj_metrics to EXTENDED, and export again")
    return tuple(notes)
