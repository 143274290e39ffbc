"""Values of a column at borders of block ranges, by TID range scans over a session of their own."""

from __future__ import annotations

import math

from psycopg import sql

from connectors.base import Clock, PrivilegeMissing
from connectors.blocks import BlockValues, CandidateColumn, Value, ValueReader, evenly_first
from connectors.findings import Remedy
from connectors.model import I64
from connectors.postgresql.session.queries import name_of, query
from connectors.postgresql.session.sessions import ReadSession, Row, milliseconds
from connectors.postgresql.settings import PostgresqlSettings

SESSION = "hotplace looking at values"
LONGEST_SECONDS = 1.0  # of one query, which reads two blocks
_OPTIONS = {
    "statement_timeout": milliseconds(LONGEST_SECONDS),
    "lock_timeout": milliseconds(LONGEST_SECONDS),
    "TimeZone": "UTC",  # of values as text
    "DateStyle": "ISO, YMD",
    "row_security": "off",  # rows that a policy hides are an error, and not values that are left out
    "max_parallel_workers_per_gather": "0",
}


class BorderValueReader(ValueReader):
    """Reads least and greatest values of one column in single blocks."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock) -> None:
        # No tap: what is read here is user data, and no recording holds it.
        self._session = ReadSession(settings, name=SESSION, options=_OPTIONS)
        self._clock = clock

    def candidates(self, physical_id: int) -> tuple[CandidateColumn, ...]:
        """Numbers, dates and times of a table or materialized view."""
        return tuple(_candidate(row) for row in self._rows_of(physical_id))

    def values_at(self, physical_id: int, column: str, borders: I64, seconds: float) -> tuple[BlockValues, ...]:
        """One query for each border, so that it can end after any of them.

        Raises:
            PrivilegeMissing: the table or column is gone, or this login may not read it; with the grant.
            ConnectorError: a subclass that says what may be done.
        """
        row = next((row for row in self._rows_of(physical_id) if row[0] == column), None)
        if row is None or not row[6]:
            raise _may_not(column, row)
        text = query("border_times") if row[2] else query("border_values")
        parts = {"column": sql.Identifier(column), "table": sql.Identifier(row[7], row[8])}
        statement = sql.SQL(text.decode()).format(**parts).as_bytes(None)
        until = self._clock.monotonic() + seconds
        found: list[BlockValues] = []
        for border in evenly_first(borders):
            if self._clock.monotonic() >= until:
                break
            ends = {"first": f"({max(0, border - 1)},0)", "behind": f"({border + 1},0)"}
            rows = self._session.rows(statement, ends, doing="looking at values at range borders", name=name_of(text))
            found += [each for each in map(_values, rows) if each is not None]
        return tuple(sorted(found, key=lambda each: each.block))

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _rows_of(self, physical_id: int) -> list[Row]:
        return self._session.rows(query("split_candidates"), {"unit": physical_id}, doing="looking at columns")


def _candidate(row: Row) -> CandidateColumn:
    name, type_name, is_time, is_key, nullable, correlation, readable, _, _, _ = row
    return CandidateColumn(
        name=name, type_name=type_name, is_time=is_time, is_key=is_key, nullable=nullable,
        correlation=math.nan if correlation is None else correlation, readable=readable,
    )  # fmt: skip


def _values(row: Row) -> BlockValues | None:
    """None where there is no finite value to compare: infinity, NaN."""
    block, least, greatest, least_number, greatest_number = row
    if not (math.isfinite(least_number) and math.isfinite(greatest_number)):
        return None
    return BlockValues(
        block=block, least=Value(number=least_number, text=least), greatest=Value(number=greatest_number, text=greatest)
    )


def _may_not(column: str, row: Row | None) -> PrivilegeMissing:
    if row is None:
        return PrivilegeMissing(
            f"values at range borders: the column {column} is not there any more", advice="The next look finds another."
        )
    table = sql.Identifier(row[7], row[8]).as_string(None)
    if row[9] is not None:
        return PrivilegeMissing(
            f"values at range borders: to read {table} would run {row[9]} with this login's rights",
            advice="Only tables are read where no index, constraint or statistics calls code of users.",
        )
    return PrivilegeMissing(
        f"values at range borders: this login may not read {column} of {table}",
        advice=Remedy(
            f"GRANT SELECT (ctid, {sql.Identifier(column).as_string(None)}) ON {table} TO the login; "
            "a table with row level security needs BYPASSRLS too.",
            "all values of that column; BYPASSRLS: the rows that policies hide, in all databases of the server",
        ),
    )
