"""Looks at the buffer pool: which pages it holds, where they lie, and how much of a unit is in memory.

``PageOrder`` learns where the pages of a unit lie in its files, as no documented view lists them. Each extent of eight
pages belongs to one unit (since 2016 always; before, once the unit has more than eight pages), so a page in the pool
reveals its extent. A unit that only grows gets its extents in about the order of its rows, and in turns from all files
of its filegroup. Pages are therefore numbered by their place in their file, as a share of what the unit has there: a
range of numbers is the same stretch of each file.

Extents that were never seen are placed between those that were, where the file has room, and rather where few pages of
each extent were seen. With ``l`` pages of an extent seen on average, by Poisson's law one extent in ``exp(l)`` of that
neighbourhood was not seen.

``PoolReader`` reads ``sys.dm_os_buffer_descriptors`` over a session of its own. The view has a row for each cached
page, and a look through a large pool is a burden.

``resident_note`` says how much of a unit is in memory: what is read from memory gains nothing from a faster disk. It
asks for the few units that a plan names, only if the configuration allows a pool of that size, and not for long.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from connectors.kit.checks import Facts
from connectors.kit.contract import Clock, ConnectorError, PrivilegeMissing
from connectors.kit.findings import Capability
from connectors.model.blocks import BLOCK_HEAT, BlockLook, BlockReader, ResidentBlocks, one_block_in, storage_mark
from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.observation import F64, I64
from connectors.sqlserver.catalog import COLUMNSTORES, PAGE
from connectors.sqlserver.definition import Definition
from connectors.sqlserver.keys import unit_parts
from connectors.sqlserver.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

EXTENT = 8  # pages
NEIGHBOURS = 9  # extents over which the pages seen of each are averaged
_ROUNDS = 40  # of a fixed point and of a bisection, more than enough for both
_MANY = 1e9  # extents: no bound


@dataclass(slots=True)
class PageOrder:
    """Extents of one unit that were seen; grows with each look."""

    extents: dict[int, I64] = field(default_factory=dict)  # by file_id: numbers of extents in the file, rising
    pages: dict[int, I64] = field(default_factory=dict)  # by file_id: of each of them the pages seen, as eight bits

    @property
    def seen(self) -> int:
        """How many extents."""
        return sum(len(each) for each in self.extents.values())

    def learn(self, file: I64, page: I64) -> None:
        """These pages are the unit's."""
        for number in np.unique(file).tolist():
            mine = page[file == number]
            known = self.extents.get(number, mine[:0])
            all_of_them = np.union1d(known, mine // EXTENT)
            bits = np.zeros(len(all_of_them), dtype=np.int64)
            bits[np.searchsorted(all_of_them, known)] = self.pages.get(number, known)
            np.bitwise_or.at(bits, np.searchsorted(all_of_them, mine // EXTENT), 1 << mine % EXTENT)
            self.extents[number], self.pages[number] = all_of_them, bits

    def numbers(self, file: I64, page: I64, extents: int) -> I64:
        """Number of each page within the unit, from 0. Shape of ``page``.

        Args:
            file: of each page, of files that were learnt.
            page: its number in the file, of extents that were learnt.
            extents: that the unit has; fewer than were seen: those that were seen.
        """
        found = np.empty(len(page), dtype=np.int64)
        places = self._places(extents) if len(page) else {}
        for number, place in places.items():
            mine = file == number
            at = np.searchsorted(self.extents[number], page[mine] // EXTENT)
            found[mine] = place[at] * EXTENT + page[mine] % EXTENT
        return found

    def _places(self, extents: int) -> dict[int, I64]:
        """By file, which of the unit's extents each is that was seen: all differ, and keep their order."""
        total = max(extents, self.seen)
        share = np.concatenate(self._shares_before(total - self.seen))
        order, rank = np.argsort(share, kind="stable"), np.arange(self.seen)
        # As many as fit before each, at least one apart, and none beyond the end.
        before = np.maximum.accumulate(np.floor(share[order] * total).astype(np.int64) - rank)
        place = np.empty(self.seen, dtype=np.int64)
        place[order] = np.minimum(before, total - self.seen) + rank
        ends = np.cumsum([len(each) for each in self.extents.values()])
        return dict(zip(self.extents, np.split(place, ends[:-1]), strict=True))

    def _shares_before(self, unseen: int) -> list[F64]:
        """Of each extent that was seen, the share of the unit's extents in its file that lie before it; by file."""
        rooms = [_room(each) for each in self.extents.values()]
        missing = max(0.0, unseen - sum(float(room.sum()) for room in rooms)) / (2 * len(rooms))
        for room in rooms:  # they must be somewhere
            room[[0, -1]] += missing
        likely = [_unseen_between(each) for each in self.pages.values()]
        filled = _fill(np.concatenate(rooms), np.concatenate(likely), unseen)
        shares = []
        for each in np.split(filled, np.cumsum([len(room) for room in rooms])[:-1]):
            before = np.arange(len(each) - 1) + np.cumsum(each[:-1])
            shares.append(before / (len(each) - 1 + each.sum()))
        return shares


def _room(extents: I64) -> F64:
    """Extents of the file before, between and behind those that were seen; at both ends as between those near by."""
    gaps = np.diff(extents).astype(np.float64) - 1
    first, last = (float(near.mean()) if len(near) else 0.0 for near in (gaps[:NEIGHBOURS], gaps[-NEIGHBOURS:]))
    return np.concatenate(([first], gaps, [last]))


def _unseen_between(pages: I64) -> F64:
    """Extents to be expected before, between and behind those that were seen, from how much was seen of them."""
    counts = ((pages[:, None] >> np.arange(EXTENT)) & 1).sum(axis=1).astype(np.float64)
    window = np.ones(min(NEIGHBOURS, len(counts)))
    mean = np.convolve(counts, window, "same") / np.convolve(np.ones(len(counts)), window, "same")
    rate = mean
    for _ in range(_ROUNDS):  # the mean of those with at least one is rate / (1 - exp(-rate))
        rate = mean * -np.expm1(-rate)
    unseen = 1 / np.maximum(np.expm1(rate), 1 / _MANY)
    return np.asarray(np.concatenate((unseen[:1], (unseen[1:] + unseen[:-1]) / 2, unseen[-1:])), dtype=np.float64)


def _fill(room: F64, likely: F64, unseen: int) -> F64:
    """So many extents put where they are likely, in proportion to that and no more than there is room for."""
    low, high = -100.0, 100.0  # powers of two
    for _ in range(_ROUNDS):
        middle = (low + high) / 2
        enough = float(np.minimum(room, 2**middle * likely).sum()) >= unseen
        low, high = (low, middle) if enough else (middle, high)
    filled = np.minimum(room, 2**high * likely)
    return np.asarray(filled * (unseen / filled.sum() if filled.sum() > 0 else 0.0), dtype=np.float64)


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


def look_facts(session: ReadSession, *, sees_server: bool) -> Facts:
    """Facts for ``BLOCK_LOOKS``: why no look is possible, or what it walks through.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    found = block_capability(session, sees_server=sees_server, advice="See server_state_missing.")
    if not found.available:
        return {"why": found.because, "remedy": found.advice}
    pages = _pool_pages(session) or 0
    cost = f"{format_bytes(pages * PAGE)} of memory, about {format_seconds(pages * SECONDS_PER_PAGE)}"
    return {"why": "", "looks": f"the hot pages of large tables can be looked for: a look walks through {cost}"}


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
        listed = self._list_pages(units, one_in)
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

    def _list_pages(self, units: list[_Unit], one_in: int) -> I64:
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
        storage=storage_mark(*unit.allocation_units),
    )


GIB = 2**30
RESIDENCY_SECONDS = 10.0


def resident_note(session: ReadSession, definition: Definition | None, settings: SqlserverSettings) -> tuple[str, ...]:
    """One sentence for the notes of a route; none where it is not wanted, costs too much, or cannot be read.

    Args:
        session: to ask how large the pool is; the look itself has a session with a time limit of its own.
        definition: of the unit.
        settings: ``residency_up_to_gib`` is the largest pool that may be looked through, 0 for none.
    """
    index = None if definition is None else definition.index
    if settings.residency_up_to_gib <= 0 or definition is None or index is None:
        return ()
    limited = settings.model_copy(update={"statement_timeout": min(RESIDENCY_SECONDS, settings.statement_timeout)})
    look = session.look(limited, name="hotplace residency")
    try:
        pool = session.rows("pool_size", doing="looking how large the buffer pool is")[0][0]
        if pool is None or pool * PAGE > settings.residency_up_to_gib * GIB:
            return ()
        number = definition.owner.object_id
        cached = look.rows("residency", number, index.index_id, doing=f"counting cached pages of {definition.name.key}")
    except ConnectorError:  # a plan must not fail for want of a remark
        return ()
    finally:
        look.close()
    whole = sum(partition.row_pages for partition in index.partitions)
    share = min(1.0, cached[0][0] / whole) if whole else 0.0
    return (f"{share:.0%} of the index was in memory when this was planned",)
