"""SQL Server's own queries, run by a person: which they are, and the connector's reading of their results."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from connectors.kit.assessment import Export, Readings, StoredClock, UnusableFile
from connectors.kit.contract import PrivilegeMissing
from connectors.model.observation import Catalog, Demand, Interval
from connectors.sqlserver import demand
from connectors.sqlserver.catalog import read_catalog
from connectors.sqlserver.ddl import ONLINE_EDITIONS
from connectors.sqlserver.sampler import DmvSampler
from connectors.sqlserver.sessions import ReadSession, Row, printed_query

QUERIES = "identify", "clock", "sample", "files", "server", "counters", "maintenance", "units", "spaces", "volumes"
KIB = 1024
READ_AHEAD_KIB = {True: 512, False: 128}  # as in ``connector``


def queries() -> Mapping[str, str]:
    """Every query as the connector sends it to the newest release, with what earlier ones need."""
    return {name: printed_query(name) for name in QUERIES}


class StoredSession(ReadSession):
    """Answers from an export what the connector asks."""

    def __init__(self, export: Export) -> None:
        self.export = export

    def rows(self, name: str, *values: object, doing: str, limit: float | None = None) -> list[Row]:  # noqa: ARG002 (as the live one)
        """The result of that query; those that a person is not asked for are as without the right to ask them."""
        if name not in QUERIES:
            raise PrivilegeMissing(f"{doing}: not exported", advice="")
        return self.export.rows(name)


def read(before: Export, after: Export) -> Readings:
    """Two samples and a catalog by the connector's own reading.

    Raises:
        UnusableFile: a result is missing, or the exports are of two databases.
    """
    session = StoredSession(before)
    first_row, row = (export.rows("identify")[0] for export in (before, after))
    version, edition, _, _, database, broker, *_ = row
    if (first_row[4], first_row[5]) != (database, broker):
        raise UnusableFile(
            after.path, f"is of another database than {before.path}", advice="Export the same one twice."
        )
    clock = StoredClock(before.at)
    sampler = DmvSampler(session, clock, budget_seconds=inf)
    first = sampler.sample()
    session.export, clock.at = after, after.at
    second = sampler.sample()
    catalog = read_catalog(session, after.at, lob_moves=False)
    read_ahead = READ_AHEAD_KIB[int(edition) in ONLINE_EDITIONS] * KIB

    def classify(interval: Interval, catalog: Catalog) -> Demand:
        return demand.classify(interval, catalog, read_ahead_bytes=read_ahead)

    return Readings(
        database=str(database), version=str(version), catalog=catalog, before=first, after=second, classify=classify
    )
