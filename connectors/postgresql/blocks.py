"""Looks inside units: buffered blocks, and values of columns at borders.

Looks at the buffer pool through the extension ``pg_buffercache``, over a session of their own.

Values of a column at borders of block ranges, by TID range scans over a session of their own.
"""

from __future__ import annotations

import math

import numpy as np
from psycopg import sql

from connectors.kit.checks import Facts
from connectors.kit.contract import Clock, PrivilegeMissing
from connectors.kit.findings import Capability, Remedy
from connectors.model.blocks import (
    BLOCK_HEAT,
    BlockLook,
    BlockReader,
    BlockValues,
    CandidateColumn,
    ResidentBlocks,
    Value,
    ValueReader,
    evenly_first,
    one_block_in,
    storage_mark,
)
from connectors.model.observation import I64
from connectors.postgresql.rights import MONITOR_GIVES, monitor_remedy
from connectors.postgresql.sessions import ReadSession, Row, in_extension, milliseconds, name_of, query
from connectors.postgresql.settings import PostgresqlSettings

SESSION = "hotplace looking at blocks"
MOST_LISTED = 1 << 18  # blocks of all units, eight bytes each on the wire, sixteen as text


def block_capability(session: ReadSession) -> Capability:
    """Whether this login may look at the buffer pool, and the statements that let it."""
    _, may, available, login, _, _ = session.rows(query("blocks_may"), doing="looking for pg_buffercache")[0]
    first = "" if available else "Install the server's contrib modules, then: "
    advice = Remedy(f"{first}CREATE EXTENSION pg_buffercache; {monitor_remedy(login)}", MONITOR_GIVES)
    return Capability.of(BLOCK_HEAT, may, "pg_buffercache in this database with the right to read it", advice)


def look_facts(session: ReadSession) -> Facts:
    """Facts for ``BLOCK_LOOKS``: whether looks are possible."""
    found = block_capability(session)
    if found.available:
        return {"why": "", "looks": "the hot blocks of large tables can be looked for"}
    # Without the login, so that what both accounts find is said once; that it lacks pg_monitor is another finding.
    return {"why": found.because, "remedy": "CREATE EXTENSION pg_buffercache;"}


class PoolReader(BlockReader):
    """Reads ``pg_buffercache``."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock) -> None:
        # Not over the session that samples: a look takes seconds where the pool is large. Nor is it recorded: a
        # recording holds no lists of blocks.
        self._session = ReadSession(settings, name=SESSION)
        self._clock = clock

    def look(self, physical_ids: I64) -> BlockLook:
        """One query over the whole pool.

        Raises:
            PrivilegeMissing: the extension is not there, or not for this login.
            ConnectorError: a subclass that says what may be done.
        """
        # For each look, since the extension may have gone elsewhere.
        asked = self._session.rows(query("blocks_may"), doing="looking for pg_buffercache")[0]
        schema, may, _, _, block_bytes, buffers = asked
        if not may:
            capability = block_capability(self._session)
            raise PrivilegeMissing(f"looking at blocks: {capability.because}", advice=capability.advice)
        one_in = one_block_in(buffers, MOST_LISTED)
        started = self._clock.monotonic()
        values = {"units": physical_ids.tolist(), "one_in": one_in}
        statement = in_extension(query("blocks"), schema)
        rows = self._session.rows(statement, values, doing="looking at blocks", name="blocks")
        return BlockLook(
            monotonic_seconds=started,
            server_seconds=self._clock.monotonic() - started,
            block_bytes=block_bytes,
            one_in=one_in,
            units=tuple(
                ResidentBlocks(
                    physical_id=oid,
                    blocks=blocks,
                    reads=float(reads),
                    resident=_numbers(resident),
                    storage=storage_mark(filenode or 0),
                )
                for oid, blocks, reads, filenode, resident in rows
            ),
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()


def _numbers(packed: bytes | None) -> I64:
    return np.frombuffer(packed or b"", dtype=">i8").astype(np.int64)


BORDER_SESSION = "hotplace looking at values"
LONGEST_SECONDS = 1.0  # of one query, which reads two blocks
_OPTIONS = {
    "statement_timeout": milliseconds(LONGEST_SECONDS),
    "lock_timeout": milliseconds(LONGEST_SECONDS),
    "max_parallel_workers_per_gather": "0",
}


class BorderValueReader(ValueReader):
    """Reads least and greatest values of one column in single blocks."""

    def __init__(self, settings: PostgresqlSettings, clock: Clock) -> None:
        # No tap: what is read here is user data, and no recording holds it.
        self._session = ReadSession(settings, name=BORDER_SESSION, options=_OPTIONS)
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
