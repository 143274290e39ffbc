"""Looks at the buffer pool through ``sys.dm_os_buffer_descriptors``, over a session of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from connectors.base import Clock, ConnectorError, PrivilegeMissing
from connectors.blocks import BLOCK_HEAT, BlockLook, BlockReader, ResidentBlocks, one_block_in
from connectors.findings import Capability, Finding
from connectors.formatting import format_bytes, format_seconds
from connectors.model import I64
from connectors.sqlserver.reading.catalog import COLUMNSTORES
from connectors.sqlserver.reading.keys import unit_parts
from connectors.sqlserver.reading.page_order import EXTENT, PageOrder
from connectors.sqlserver.reading.spaces import PAGE
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

SESSION = "hotplace looking at pages"
MOST_LISTED = 1 << 16  # pages of all units, a row each on the wire
MOST_ALLOCATION_UNITS = 16  # parameters of ``sql/blocks.sql``: rows and row overflow of eight units
LARGEST_POOL_BYTES = 512 * 2**30  # walks of larger pools are known to stall servers (Microsoft's KB 4566579)
LONGEST_SECONDS = 30.0
PAIR_SECONDS = 15.0  # between looks of one pair, at most: less than any two pairs are apart
SECONDS_PER_PAGE = 3e-7  # about; of a walk
_LOB = 2  # type of an allocation unit
_MICROSECOND = 1e-6


def block_capability(session: ReadSession, *, sees_server: bool, advice: str) -> Capability:
    """Whether this login may look at the buffer pool, and whether the pool is small enough for looks.

    Args:
        session: to ask how large the pool is.
        sees_server: the login has the right to see the server's state.
        advice: how to get it.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    pages = _pool_pages(session) if sees_server else None
    if pages is None:
        return Capability.of(BLOCK_HEAT, False, "the right to see which pages are in memory", advice)
    pool = pages * PAGE
    small = pool <= LARGEST_POOL_BYTES
    needs = f"a buffer pool of at most {format_bytes(LARGEST_POOL_BYTES)}, which looks walk through"
    return Capability.of(BLOCK_HEAT, small, needs, f"It has {format_bytes(pool)}: set block_looks: 0%.")


def block_finding(session: ReadSession, *, sees_server: bool) -> Finding:
    """For the doctor; nothing else of hotplace needs it, so that it is no warning.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = block_capability(session, sees_server=sees_server, advice="See server_state_missing.")
    if not found.available:
        return Finding.info("block_looks", f"large tables are not looked into: {found.because}", found.advice)
    pages = _pool_pages(session) or 0
    cost = f"{format_bytes(pages * PAGE)} of memory, about {format_seconds(pages * SECONDS_PER_PAGE)}"
    return Finding.ok("block_looks", f"the hot pages of large tables can be looked for: a look walks through {cost}")


def _pool_pages(session: ReadSession) -> int | None:
    """None where this login may not know."""
    try:
        return int(session.rows("pool_size", doing="looking how large the buffer pool is")[0][0] or 0)
    except PrivilegeMissing:
        return None


@dataclass(slots=True)
class _Unit:
    """What is known of one unit."""

    physical_id: int
    index_id: int
    allocation_units: tuple[int, ...]
    extents: int
    order: PageOrder = field(default_factory=PageOrder)


class PoolReader(BlockReader):
    """Reads ``sys.dm_os_buffer_descriptors``. Remembers which extents of each unit it has seen."""

    def __init__(self, settings: SqlserverSettings, clock: Clock) -> None:
        # Not over the session that samples: a look takes seconds where the pool is large. Nor is it recorded: a
        # recording holds no lists of pages.
        limited = settings.model_copy(update={"statement_timeout": min(LONGEST_SECONDS, settings.statement_timeout)})
        self._session = ReadSession(limited, name=SESSION)
        self._clock = clock
        self._orders: dict[tuple[int, ...], PageOrder] = {}  # by allocation units: a rebuilt unit has others
        self._known: dict[int, tuple[float, tuple[_Unit, ...]]] = {}  # with when that was read

    def look(self, physical_ids: I64) -> BlockLook:
        """One query over the whole pool, and two small ones for each unit. Columnstores are left out.

        Raises:
            PrivilegeMissing: this login may not, or the pool is too large.
            ConnectorError: a subclass that says what may be done.
        """
        began = self._clock.monotonic()
        pages = _pool_pages(self._session)
        if pages is None:
            raise PrivilegeMissing(
                "looking at pages: this login may not see which are in memory",
                advice="Run hotplace doctor: it prints the GRANT.",
            )
        if pages * PAGE > LARGEST_POOL_BYTES:
            raise PrivilegeMissing(
                f"looking at pages: the buffer pool of {format_bytes(pages * PAGE)} is too large to walk through",
                advice="Set block_looks: 0%.",
            )
        units = [unit for number in physical_ids.tolist() for unit in self._units(number)]
        waits = [self._waits(unit) for unit in units]
        one_in = one_block_in(min(pages, EXTENT * sum(unit.extents for unit in units)), MOST_LISTED)
        started = self._clock.monotonic()
        listed = self._listed(units, one_in)
        return BlockLook(
            monotonic_seconds=started,
            server_seconds=self._clock.monotonic() - began,
            block_bytes=PAGE,
            one_in=one_in,
            units=tuple(
                _resident(unit, counted, listed[np.isin(listed[:, 2], unit.allocation_units)])
                for unit, counted in zip(units, waits, strict=True)
            ),
        )

    def close(self) -> None:
        """End the session."""
        self._session.close()

    def _units(self, physical_id: int) -> tuple[_Unit, ...]:
        """The unit of that number, as it was when the other look of a pair was taken; none if it has no pages."""
        now, known = self._clock.monotonic(), self._known.get(physical_id)
        if known is None or now - known[0] > PAIR_SECONDS:
            known = self._known[physical_id] = now, tuple(self._read_unit(physical_id))
        return known[1]

    def _read_unit(self, physical_id: int) -> Iterator[_Unit]:
        parts = unit_parts(physical_id)
        rows = self._session.rows(
            "blocks_units", parts.object_id, parts.index_id, parts.partition, doing="looking where a unit is stored"
        )
        chosen = [row for row in rows if (row[3] == _LOB) is parts.lob and row[1] not in COLUMNSTORES]
        if not chosen:
            return
        stored = tuple(int(row[2]) for row in chosen)
        self._orders.setdefault(stored, PageOrder())
        extents = sum(-(-int(row[4]) // EXTENT) for row in chosen)
        yield _Unit(physical_id, int(chosen[0][0]), stored, extents, self._orders[stored])

    def _waits(self, unit: _Unit) -> float:
        """NaN where the server does not tell: of large objects, whose waits are in the row of their table."""
        parts = unit_parts(unit.physical_id)
        if parts.lob:
            return float("nan")
        try:
            rows = self._session.rows(
                "blocks_waits", parts.object_id, unit.index_id, parts.partition, doing="counting waits of a unit"
            )
        except ConnectorError:  # a look must not fail for want of what it is compared with
            return float("nan")
        return float(rows[0][0] or 0)

    def _listed(self, units: list[_Unit], one_in: int) -> I64:
        """File, page, allocation unit and microseconds of the read of each page in memory, shape ``(pages, 4)``."""
        wanted = [number for unit in units for number in unit.allocation_units][:MOST_ALLOCATION_UNITS]
        if not wanted:
            return np.empty((0, 4), dtype=np.int64)
        values = [*wanted, *[0] * (MOST_ALLOCATION_UNITS - len(wanted))]
        rows = self._session.rows("blocks", *values, one_in, doing="looking at pages")
        return np.array(rows, dtype=np.int64).reshape(-1, 4)


def _resident(unit: _Unit, waits: float, listed: I64) -> ResidentBlocks:
    file, page, _, microseconds = listed.T
    unit.order.learn(file, page)
    extents = max(unit.extents, unit.order.seen)
    numbers = unit.order.numbers(file, page, extents)
    order = np.argsort(numbers)
    return ResidentBlocks(
        physical_id=unit.physical_id,
        blocks=extents * EXTENT,
        reads=waits,
        resident=numbers[order],
        identity=((file << 32) + page)[order],
        read_seconds=microseconds[order] * _MICROSECOND,
    )
