"""PostgreSQL's own queries, run by a person: which they are, and the connector's reading of their results.

What the connector reads as binary COPY a person exports as CSV, and it is put into that form again, so that the very
same code reads it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from connectors.kit.assessment import Export, Readings, StoredClock, UnusableFile
from connectors.model.observation import Catalog, Demand, Interval
from connectors.postgresql import demand
from connectors.postgresql.catalog import read_catalog, shape_of
from connectors.postgresql.sampler import LOG_BY_OBJECT, StatisticsSampler
from connectors.postgresql.sessions import UNKNOWN_PROCESSORS, Part, ProcessorTime, ReadSession, Row, query, to_copy

Result = TypeVar("Result")
QUERIES = "identify", "clock", "sample", "database", "toast", "units", "spaces"
BINARY, BY_HAND = "(FORMAT binary)", "(FORMAT csv, HEADER)"
EXTENDS_WITHOUT_MISS = 160000  # as in ``connector``
_FOLDER = 2  # column of spaces.sql


def queries() -> Mapping[str, str]:
    """Every query as the connector sends it, with CSV in place of the binary form of COPY."""
    return {name: query(name).decode().replace(BINARY, BY_HAND).strip() for name in QUERIES}


class StoredSession(ReadSession):
    """Answers from an export what the connector asks."""

    def __init__(self, export: Export) -> None:
        self.export = export
        self._names = {query(name): name for name in QUERIES}

    @property
    def version(self) -> int:
        """Any whose query of roles is not asked of a person."""
        return LOG_BY_OBJECT

    def processors(self) -> ProcessorTime:
        """An export does not say."""
        return UNKNOWN_PROCESSORS

    def rows(
        self,
        statement: bytes,
        values: Mapping[str, object] | None = None,  # noqa: ARG002 (as the live one)  # as the session that it stands for
        *,
        doing: str,  # noqa: ARG002 (as the live one)
        name: str = "",
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> list[Row]:
        """The result of that query; of roles and scans, which a person is not asked for, none."""
        known = self._names.get(statement, name)
        if known == "spaces":
            return [(*row[:_FOLDER], row[_FOLDER] or "", *row[_FOLDER + 1 :]) for row in self.export.rows(known)]
        return self.export.rows(known) if known in QUERIES else []

    def copy(
        self,
        statement: bytes,
        take: Callable[[Iterable[Part]], Result],
        *,
        doing: str,
        name: str = "",
        limit: float | None = None,  # noqa: ARG002 (as the live one)
    ) -> Result:
        """What is made of the result in COPY's binary form."""
        name = name or self._names[statement]
        rows, advice = self.export.rows(name), "Export all columns of the query as they are."
        texts = 1 if name == "units" else 0  # at the end of a row; the binary form does not tell them from numbers
        if not all(_is_typed(row, texts) for row in rows):
            raise UnusableFile(self.export.path, f"{doing}: a row of {name} is not one of the query's", advice=advice)
        try:
            return take(to_copy(rows))
        except struct.error as error:
            raise UnusableFile(self.export.path, f"{doing}: {error}", advice=advice) from error


def _is_typed(row: Row, texts: int) -> bool:
    """Whether a row is whole numbers, and so many texts at its end."""
    numbers = row[: len(row) - texts]
    return all(isinstance(cell, int) for cell in numbers) and all(isinstance(cell, str) for cell in row[len(numbers) :])


def read(before: Export, after: Export) -> Readings:
    """Two samples and a catalog by the connector's own reading.

    Raises:
        UnusableFile: a result is missing, or the exports are of two databases.
    """
    session = StoredSession(before)
    (version, number, database, system, oid, _), (_, _, _, *other) = (
        export.rows("identify")[0] for export in (before, after)
    )
    if [system, oid] != other[:2]:
        raise UnusableFile(
            after.path, f"is of another database than {before.path}", advice="Export the same one twice."
        )
    clock = StoredClock(before.at)
    sampler = StatisticsSampler(session, clock)
    first = sampler.sample()
    session.export, clock.at = after, after.at
    second = StatisticsSampler(session, clock).sample()
    catalog, shape = read_catalog(session, after.at, local=False)

    def classify(interval: Interval, catalog: Catalog) -> Demand:
        misses = int(number) < EXTENDS_WITHOUT_MISS
        return demand.classify(interval, shape_of(catalog.units, shape), new_blocks_missed=misses)

    timed = "read_seconds" in second.database
    notes = () if timed else ("track_io_timing is off: read times are those of a data sheet",)
    return Readings(
        database=str(database), version=str(version), catalog=catalog, before=first, after=second, classify=classify,
        notes=notes,
    )  # fmt: skip
