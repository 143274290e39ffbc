"""From a report to demand, by the same arithmetic as from counters (``demand``).

``Sizes`` holds the bytes of segments, from rows of ``sql/units.sql``: reports do not have them.

``observe_report`` builds the observation. A report names the largest segments only, so each tablespace gets one more
unit for the rest of it. Calls and blocks that a list does not give for a segment are taken from the mean of its
tablespace. Unless they are printed, the single-block reads of a tablespace are bounded by its calls and blocks::

    max(0, 2R - B) <= single <= min(R, (M R - B) / (M - 1))        R calls, B blocks, M blocks a call at most

Within the bounds they are chosen so that all tablespaces together have as many as sessions waited for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import chain, islice, takewhile

import numpy as np

from connectors.kit.assessment import Observation, Row
from connectors.model.moves import UnitKind
from connectors.model.observation import F64, NO_PARENT, Catalog, Interval, Signal, Space, SpaceFigures, UnitTable
from connectors.oracle import demand
from connectors.oracle.catalog import Entry, Shape
from connectors.oracle.demand import LARGEST_CALL_BYTES
from connectors.oracle.names import key_of
from connectors.oracle.reports import Segment, TablespaceIo, WorkloadReport, parse_report
from connectors.oracle.sampler import COUNTERS, KINDS, SEGMENT, counted, database_figures, single_bounds, timed


@dataclass(frozen=True)
class Sizes:
    """Bytes by segment and by tablespace."""

    segments: Mapping[tuple[str, str, str], int] = field(default_factory=dict)  # owner, name, part or ""
    tablespaces: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def _by_name(self) -> list[tuple[str, str, str, int]]:
        return sorted((name, owner, part, size) for (owner, name, part), size in self.segments.items())

    def segment(self, segment: Segment) -> int | None:
        """Bytes of a segment that a report names; the report may have cut the name. None: not known, or ambiguous."""
        exact = self.segments.get((segment.owner, segment.name, segment.part))
        if exact is not None:
            return exact
        first = bisect_left(self._by_name, (segment.name,))
        same_begin = takewhile(lambda row: row[0].startswith(segment.name), islice(self._by_name, first, None))
        near = (
            size
            for _, owner, part, size in same_begin
            if owner.startswith(segment.owner) and part.endswith(segment.part)
        )
        found = list(islice(near, 2))
        return found[0] if len(found) == 1 else None

    def tablespace(self, name: str) -> int | None:
        """Bytes of all segments in it; None where none is known."""
        return self.tablespaces.get(name)


def sizes_of(rows: Iterable[Row]) -> Sizes:
    """Fold rows of ``sql/units.sql``."""
    segments: dict[tuple[str, str, str], int] = {}
    spaces: dict[str, int] = {}
    for row in rows:
        entry = Entry(*row)
        if entry.bytes is None or entry.space is None:
            continue
        key = str(entry.owner), str(entry.name), str(entry.part or "")
        segments[key] = segments.get(key, 0) + int(entry.bytes)
        spaces[entry.space] = spaces.get(entry.space, 0) + int(entry.bytes)
    return Sizes(segments, spaces)


NOT_MOVED = frozenset({"SYSTEM", "SYSAUX"})  # as in sql/sample.sql
NO_DATA = ("UNDO", "TEMP")  # how tablespaces of undo and of temporary data are named by convention; reports do not say
SHORTEST_CUT, LONGEST_NAME = 8, 128  # characters of a name that a report cut, and of one as the database has it
REST = "(all else)"
MICROSECONDS = 1e6
_WHEN = datetime(2000, 1, 1, tzinfo=UTC)  # a report's own times have no zone; only the length is used
_KINDS = {"INDEX": UnitKind.INDEX, "TABLE": UnitKind.TABLE, "LOB": UnitKind.LOB}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A segment or the rest of a tablespace; calls and blocks of the interval."""

    key: str
    kind: UnitKind
    space: int
    blocks: float
    calls: float
    direct: float
    bytes: int | None
    exact: bool  # both were listed


def observe_report(path: str, text: str, sizes: Sequence[Row] = ()) -> Observation:
    """What a report tells.

    Args:
        path: for messages.
        text: of the report.
        sizes: rows of ``sql/units.sql``; () where they are not at hand.

    Raises:
        UnusableFile: see ``parse_report``.
    """
    return observation_of(parse_report(path, text), sizes_of(sizes))


def observation_of(report: WorkloadReport, sizes: Sizes) -> Observation:
    """The same for a report that was read already."""
    spaces = [io for io in report.tablespaces if _holds_data(io)]
    units = _units(report, spaces, sizes)
    catalog = _catalog(spaces, units, report)
    singles = _singles(report, spaces)
    interval = _interval(report, spaces, units, singles)
    block = np.full(len(units), report.block_bytes)
    found = demand.classify(interval, catalog, Shape(block_bytes=block, segment=np.zeros(len(units), dtype=np.int64)))
    least, most = _bounds(report, units, found.rates[Signal.SYNC_READ] * report.seconds)
    return Observation(
        engine="oracle",
        database=report.database,
        source=f"{report.kind} report ({report.form}) of release {report.release}",
        catalog=catalog,
        demand=found,
        size_known=np.array([unit.bytes is not None for unit in units], dtype=np.bool_),
        least=least,
        most=most,
        notes=tuple(_notes(report, units)),
    )


def _holds_data(io: TablespaceIo) -> bool:
    return io.name not in NOT_MOVED and not io.name.upper().startswith(NO_DATA) and io.reads > 0


# -- units -----------------------------------------------------------------------------------------------------------


def _units(report: WorkloadReport, spaces: Sequence[TablespaceIo], sizes: Sizes) -> list[_Unit]:
    units, by_space = [], _segments_by_space(report)
    for row, io in enumerate(spaces):
        listed = [_listed(report, segment, row, io, sizes) for segment in _segments_in(by_space, io.name)]
        units += _within(listed, io)
        units.append(_rest(io, row, listed, sizes))
    return units


def _segments_by_space(report: WorkloadReport) -> dict[str, list[tuple[int, Segment]]]:
    """Segments of any list with their place in order, by the name of their tablespace, as far as it was printed."""
    found: dict[str, list[tuple[int, Segment]]] = {}
    listed = dict.fromkeys(segment for top in report.lists.values() for segment in top.values)
    for place, segment in enumerate(listed):
        found.setdefault(segment.tablespace, []).append((place, segment))
    return found


def _segments_in(by_space: Mapping[str, Sequence[tuple[int, Segment]]], tablespace: str) -> list[Segment]:
    """Segments in a tablespace, in order; a name that the report cut to eight characters or more is known again."""
    names = {tablespace, *(tablespace[:length] for length in range(SHORTEST_CUT, min(len(tablespace), LONGEST_NAME)))}
    return [segment for _, segment in sorted(chain.from_iterable(by_space.get(name, ()) for name in names))]


def _listed(report: WorkloadReport, segment: Segment, space: int, io: TablespaceIo, sizes: Sizes) -> _Unit:
    blocks, calls, direct = (
        report.lists[name].values.get(segment, np.nan) if name in report.lists else np.nan
        for name in ("blocks", "requests", "direct")
    )
    each = io.blocks_per_read if io.blocks_per_read > 0 else 1.0
    exact = blocks == blocks and calls == calls
    if blocks != blocks:
        blocks = calls * each if calls == calls else direct
    if calls != calls:
        calls = blocks / each
    kind = _KINDS.get(segment.type.split()[0] if segment.type else "", UnitKind.TABLE)
    word = "" if kind is UnitKind.TABLE else kind.name
    key = key_of(segment.owner, segment.name, word=word, part_word="PARTITION", part=segment.part or None)
    return _Unit(
        key=key,
        kind=kind,
        space=space,
        blocks=_known(blocks),
        calls=_known(calls),
        direct=min(_known(direct), _known(blocks)),
        bytes=sizes.segment(segment),
        exact=exact,
    )


def _known(value: float) -> float:
    return value if value == value else 0.0


def _within(listed: Sequence[_Unit], io: TablespaceIo) -> list[_Unit]:
    """The segments, all of them less by the same share where they had more calls than their tablespace."""
    total = sum(unit.calls for unit in listed)
    factor = io.reads / total if total > io.reads else 1.0
    return [_scaled(unit, factor) for unit in listed]


def _scaled(unit: _Unit, factor: float) -> _Unit:
    if factor == 1.0:
        return unit
    return _Unit(
        key=unit.key, kind=unit.kind, space=unit.space, blocks=unit.blocks, calls=unit.calls * factor,
        direct=unit.direct, bytes=unit.bytes, exact=False,
    )  # fmt: skip


def _rest(io: TablespaceIo, space: int, listed: Sequence[_Unit], sizes: Sizes) -> _Unit:
    each = io.blocks_per_read if io.blocks_per_read > 0 else 1.0
    calls = max(0.0, io.reads - sum(unit.calls for unit in listed))
    blocks = max(calls, io.reads * each - sum(unit.blocks for unit in listed)) if calls else 0.0
    whole = sizes.tablespace(io.name)
    rest = None if whole is None else max(1, whole - sum(unit.bytes or 0 for unit in listed))
    return _Unit(
        key=f"{REST} in {io.name}" if listed else f"tablespace {io.name}", kind=UnitKind.TABLE, space=space,
        blocks=blocks, calls=calls, direct=0.0, bytes=rest, exact=not listed,
    )  # fmt: skip


def _catalog(spaces: Sequence[TablespaceIo], units: Sequence[_Unit], report: WorkloadReport) -> Catalog:
    ids = np.arange(1, len(units) + 1, dtype=np.int64)
    used = [0] * len(spaces)
    for unit in units:
        used[unit.space] += unit.bytes or 0
    return Catalog(
        taken_at=_WHEN + timedelta(seconds=report.seconds),
        spaces=tuple(
            Space(name=io.name, path="", used_bytes=held, free_bytes=None, capacity_bytes=None)
            for io, held in zip(spaces, used, strict=True)
        ),
        units=UnitTable(
            physical_id=ids,
            key=tuple(unit.key for unit in units),
            kind=np.array([unit.kind for unit in units], dtype=np.int8),
            size_bytes=np.array([unit.bytes or 0 for unit in units], dtype=np.int64),
            space=np.array([unit.space for unit in units], dtype=np.int32),
            bundle=ids,
            parent=np.full(len(units), NO_PARENT, dtype=np.int64),
        ),
    )


# -- figures ---------------------------------------------------------------------------------------------------------


def _interval(report: WorkloadReport, spaces: Sequence[TablespaceIo], units: Sequence[_Unit], singles: F64) -> Interval:
    count = len(units)
    deltas = {name: np.zeros(count) for name in COUNTERS}
    deltas["blocks_read"] = np.array([max(unit.blocks, unit.calls) for unit in units], dtype=np.float64)
    deltas["requests"] = np.array([unit.calls for unit in units], dtype=np.float64)
    deltas["blocks_direct"] = np.array([unit.direct for unit in units], dtype=np.float64)
    deltas[SEGMENT] = np.zeros(count)
    times = np.array([_read_seconds(io) for io in spaces], dtype=np.float64)
    return Interval(
        started_at=_WHEN,
        ended_at=_WHEN + timedelta(seconds=report.seconds),
        seconds=report.seconds,
        physical_id=np.arange(1, count + 1, dtype=np.int64),
        deltas=deltas,
        restarted=np.zeros(count, dtype=np.bool_),
        database=_database(report),
        spaces=SpaceFigures(
            name=tuple(io.name for io in spaces),
            reads=singles,
            read_seconds=singles * times,
            writes=np.array([io.writes for io in spaces], dtype=np.float64),
            write_seconds=np.full(len(spaces), np.nan),
        ),
    )


def _read_seconds(io: TablespaceIo) -> float:
    return io.single_seconds if io.single_seconds == io.single_seconds else io.read_seconds


def _database(report: WorkloadReport) -> dict[str, float]:
    """Figures of the database by the names that the sampler gives them; what the report does not say is absent."""
    rows: list[tuple[str, float]] = [(name, waits.seconds * MICROSECONDS) for name, waits in report.events.items()]
    rows += [(f"waits: {name}", waits.count) for name, waits in report.events.items()]
    found = database_figures(rows)
    found["reads"] = sum(
        io.reads * (io.blocks_per_read if io.blocks_per_read > 0 else 1.0) for io in report.tablespaces
    )
    found["transactions"] = report.transactions * report.seconds
    found["active_seconds"] = report.db_time
    unknown = () if report.events else ("read_seconds", "write_seconds", *map(counted, KINDS), *map(timed, KINDS))
    return {name: value for name, value in found.items() if value == value and name not in unknown}


def _singles(report: WorkloadReport, spaces: Sequence[TablespaceIo]) -> F64:
    """Single-block reads of each tablespace: as printed, else within their bounds what the waits say.

    They are printed as whole numbers a second, so half of one more or less is left open.
    """
    calls = np.array([io.reads for io in spaces], dtype=np.float64)
    each = np.array([io.blocks_per_read if io.blocks_per_read > 0 else 1.0 for io in spaces], dtype=np.float64)
    least, most = single_bounds(calls, calls * np.maximum(each, 1.0), LARGEST_CALL_BYTES / report.block_bytes)
    printed = np.array([io.singles for io in spaces], dtype=np.float64)
    half = 0.5 * report.seconds
    known = ~np.isnan(printed)
    least = np.where(known, np.clip(printed - half, least, most), least)
    most = np.where(known, np.clip(printed + half, least, most), most)
    waits = report.events.get("db file sequential read")
    share = 1.0
    if waits is not None and float((most - least).sum()) > 0:
        share = float(np.clip((waits.count - least.sum()) / (most - least).sum(), 0.0, 1.0))
    return least + share * (most - least)


def _bounds(report: WorkloadReport, units: Sequence[_Unit], reads: F64) -> tuple[F64, F64]:
    """Least and most random reads of each unit, over those that ``classify`` says; 1 where it says none."""
    calls = np.array([unit.calls for unit in units], dtype=np.float64)
    blocks = np.maximum(calls, np.array([unit.blocks for unit in units], dtype=np.float64))
    least, most = single_bounds(calls, blocks, float(LARGEST_CALL_BYTES / report.block_bytes))
    vague = np.array([not unit.exact for unit in units], dtype=np.bool_)
    least = np.where(vague, 0.0, least)  # calls themselves are a guess
    most = np.where(vague, np.maximum(most, blocks), most)
    known = reads > 0
    low = np.divide(least, reads, out=np.ones(len(units)), where=known)
    high = np.divide(most, reads, out=np.ones(len(units)), where=known)
    return np.clip(low, 0.0, 1.0), np.maximum(high, 1.0)


def _notes(report: WorkloadReport, units: Sequence[_Unit]) -> list[str]:
    notes = list(report.notes)
    if not report.lists:
        notes.append(
            "the report names no segments: only whole tablespaces can be told apart"
            + ("; collect Statspack at level 7: exec statspack.snap(i_snap_level => 7)" if report.kind == "Statspack"
               else "; collect with STATISTICS_LEVEL at TYPICAL")
        )  # fmt: skip
    else:
        calls = sum(unit.calls for unit in units)
        named_calls = sum(unit.calls for unit in units if not unit.key.startswith((REST, "tablespace ")))
        share = named_calls / calls if calls else 0.0
        smallest = min(top.smallest for top in report.lists.values())
        notes.append(
            f"segments that the report names made {share:.0%} of the reads; any other made at most {smallest:,.0f}. "
            + ("For more of them: exec dbms_workload_repository.modify_snapshot_settings(topnsql => 100)"
               if report.kind == "AWR" else
               "For more of them: lower i_seg_phy_reads_th in statspack.modify_statspack_parameter")
        )  # fmt: skip
        if "requests" not in report.lists:
            notes.append("read calls of segments are not listed (before 11.2): taken from the mean of their tablespace")
    if not report.events_whole:
        notes.append("only the top events of the first page are there: waits that are not among them count as none")
    if not report.events:
        notes.append("the report has no wait events: waits are read times of tablespaces, background reads included")
    if not report.db_time > 0:
        notes.append("DB time is not in the report: what share of the sessions' time reads are is not known")
    if any(unit.bytes is None for unit in units):
        notes.append(
            "sizes are not in reports: export units.sql (hotplace assess --print-queries oracle) as --sizes FILE"
        )
    return notes
