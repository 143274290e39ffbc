"""From a report to an observation.

``Sizes`` holds the bytes of segments, from rows of ``sql/units.sql``: reports do not have them.

``observe_report`` builds the observation. A report names the largest segments only, so each tablespace gets one more
unit for the rest of it. Reports since 12.2 seldom count reads by tablespace: then one unit stands for all that no list
names, in whichever tablespace it is. How waits are divided: ``report_waits``.

Two parts of a report say how long a read takes: its files and its wait events. Where they differ by more than
``FACTOR``, the events are believed. They are what sessions waited, and files' times were seen to be wrong by a factor
of 10,000.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import islice, takewhile

import numpy as np

from connectors.kit.assessment import NamedRows, Observation, UnusableFile, WaitKind, few_of
from connectors.model.formatting import format_seconds
from connectors.model.moves import UnitKind
from connectors.model.observation import (
    F64,
    I64,
    NO_PARENT,
    SIGNALS,
    Bools,
    Catalog,
    DatabaseDemand,
    Demand,
    Signal,
    Space,
    SpaceFigures,
    UnitTable,
)
from connectors.oracle.names import key_of
from connectors.oracle.report_formats import LARGEST
from connectors.oracle.report_waits import (
    DIRECT,
    SINGLE,
    UNTIMED,
    Divided,
    Ranged,
    Reads,
    divide,
    divided_kinds,
    kinds_of,
    ranged,
)
from connectors.oracle.reports import Segment, TablespaceIo, TopList, WorkloadReport, parse_report


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


SIZED = "OWNER", "OBJECT_NAME", "SUBOBJECT_NAME", "BYTES", "TABLESPACE_NAME"  # columns of sql/units.sql
MOST_BYTES = 2**62
WHOLE_UNITS = (
    "Save the result of the query units (hotplace assess --print-queries oracle) as it is, with its header line."
)


def sizes_of(named: NamedRows) -> Sizes:
    """Fold the result of ``sql/units.sql``.

    Raises:
        UnusableFile: a column is not there, a size is no number of bytes, or there is none.
    """
    segments: dict[tuple[str, str, str], int] = {}
    spaces: dict[str, int] = {}
    places = named.places(SIZED, WHOLE_UNITS)
    for line, row in named.rows:
        owner, name, part, cell, space = (row[place] for place in places)
        if cell is None or space is None:
            continue
        size = _size(cell)
        if size is None:
            problem = f"BYTES of {owner}.{name} is no number of bytes: {cell!r:.60}"
            raise UnusableFile(named.path, problem, advice=WHOLE_UNITS, line=line)
        key = str(owner), str(name), str(part or "")
        segments[key] = segments.get(key, 0) + size
        spaces[str(space)] = spaces.get(str(space), 0) + size
    if not segments:
        raise UnusableFile(named.path, "holds no segment with its size", advice=WHOLE_UNITS)
    return Sizes(segments, spaces)


def _size(cell: object) -> int | None:
    """Bytes as a cell says them; None: it is no such number. Beside a text all cells of its column are texts."""
    if isinstance(cell, str):
        return int(cell) if re.fullmatch(r"[0-9]{1,18}", cell.strip()) else None
    if isinstance(cell, bool) or not isinstance(cell, int | float):
        return None
    return int(cell) if 0 <= cell < MOST_BYTES and cell == int(cell) else None


NOT_MOVED = frozenset({"SYSTEM", "SYSAUX"})  # as in sql/sample.sql
TEMPORARY, UNDO = "TEMP", "UNDO"  # how these tablespaces are named by convention; reports do not say what they hold
SHORTEST_CUT = 8  # characters of a name that a text report may have cut
REST = "(all else)"
ELSEWHERE = "(space not in the report)"  # the space of what no list names, where nothing is counted by tablespace
FACTOR = 3.0  # between two measures of one read time, beyond which one of them is wrong
LARGEST_CALL_BYTES = 1 << 20
FEW_SEGMENTS = 10
_WHEN = datetime(2000, 1, 1, tzinfo=UTC)  # a report's own times have no zone; only the length is used
_KINDS = {"INDEX": UnitKind.INDEX, "TABLE": UnitKind.TABLE, "LOB": UnitKind.LOB}
STATISTICS = ("requests", "blocks", "direct")
_MORE_SEGMENTS = {
    "Statspack": "collect Statspack at level 7: exec statspack.snap(i_snap_level => 7)",
    "AWR": "collect with STATISTICS_LEVEL at TYPICAL",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unit:
    """A segment, the rest of a tablespace, or of all of them."""

    key: str
    kind: UnitKind
    space: int
    segment: Segment | None  # None: a rest
    bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """A tablespace, with its I/O where the report counts that."""

    name: str  # in the report
    io: TablespaceIo | None
    container: str = ""  # of several that the report names

    @property
    def label(self) -> str:
        """The name, behind that of the pluggable database where there are several."""
        return f"{self.container}:{self.name}" if self.container else self.name

    @property
    def stays(self) -> bool:
        """Whether it holds what no placement moves."""
        return self.name in NOT_MOVED or self.name.upper().startswith(UNDO)


def observe_report(path: str, text: str, sizes: NamedRows | None = None) -> Observation:
    """What a report tells.

    Args:
        path: for messages.
        text: of the report.
        sizes: the result of ``sql/units.sql``; None where it is not at hand.

    Raises:
        UnusableFile: see ``parse_report`` and ``sizes_of``.
    """
    return observation_of(parse_report(path, text), Sizes() if sizes is None else sizes_of(sizes), path)


def observation_of(report: WorkloadReport, sizes: Sizes, path: str = "the report") -> Observation:
    """The same for a report that was read already.

    Raises:
        UnusableFile: it says how much was read and not how long that took.
    """
    report = replace(report, totals=_totals(report))
    places, units = _places_and_units(report, sizes)
    space = np.array([unit.space for unit in units], dtype=np.int64)
    reads = _reads(report, places, units, space)
    kinds = kinds_of(
        {name: (waits.count, waits.seconds) for name, waits in report.events.items()}, may_be_cut=report.cuts_names
    )
    single = next((kind for kind in kinds if kind.name == SINGLE), None)
    divided = divide(
        reads, LARGEST_CALL_BYTES / report.block_bytes, space,
        np.array([np.nan if place.io is None else place.io.singles for place in places], dtype=np.float64),
        0.5 * report.seconds, single.waits if single is not None else np.nan,
    )  # fmt: skip
    by_files, counts = _file_seconds(places), _by_space(divided.single.likely, space, len(places))
    by_events = single.seconds / single.waits if single is not None and single.waits > 0 else np.nan
    times, doubt = _choose_read_times(by_files, counts, by_events, single)
    if not report.events:
        kinds = _kinds_by_read_times(reads, space, by_files, path, report)
    usual = by_events if by_events > 0 else _mean(times, counts)
    times = np.where(np.isfinite(times) & (times > 0), times, usual if usual > 0 else 1.0)
    rests = np.array([unit.segment is None for unit in units], dtype=np.bool_)
    kinds = list(divided_kinds(kinds, divided, times[space], rests))
    stays = np.array([places[unit.space].stays for unit in units], dtype=np.bool_)
    waited, least, most = (_over_kinds(kinds, column, len(units)) for column in ("by_unit", "least", "most"))
    return Observation(
        engine="oracle",
        database=report.database,
        source=f"{report.kind} report ({report.form}) of release {report.release}",
        catalog=_catalog(places, units, report),
        demand=_demand(report, places, space, divided, times, waited, kinds),
        size_known=np.array([unit.bytes is not None for unit in units], dtype=np.bool_) & ~stays,
        least=np.divide(least, waited, out=np.ones(len(units)), where=waited > 0),
        most=np.divide(most, waited, out=np.ones(len(units)), where=waited > 0),
        notes=tuple(_notes(report, places, units, reads, doubt, sizes)),
        kinds=tuple(kinds),
        space_reads={place.label: place.io.reads / report.seconds for place in places if place.io is not None},
        stays=stays,
        sections=_sections(report),
        logical_reads=report.logical_reads,
        database_id=report.database_id,
        instance=report.instance,
        marks=report.snapshots,
    )


def _totals(report: WorkloadReport) -> dict[str, float]:
    """Those of the report; no direct reads where no session waited for one and nothing counts them."""
    found = kinds_of(dict.fromkeys(report.events, (0.0, 0.0)), may_be_cut=report.cuts_names)
    waited = any(kind.name == DIRECT for kind in found)
    nothing = {"direct": 0.0} if report.events_whole and not waited and "direct" not in report.lists else {}
    return nothing | dict(report.totals)


def _over_kinds(kinds: Sequence[WaitKind], column: str, count: int) -> F64:
    """The sum of a column over the kinds that are divided among units. Shape ``(n,)``."""
    total = np.zeros(count)
    for kind in kinds:
        values = getattr(kind, column)
        if values is not None:
            total += values
    return total


# -- units -----------------------------------------------------------------------------------------------------------


def _places_and_units(report: WorkloadReport, sizes: Sizes) -> tuple[list[_Place], list[_Unit]]:
    """Tablespaces, each segment in one of them, and what no list names."""
    several = len(report.containers) > 1
    if several:
        sizes = Sizes()
    places = [
        _Place(name=io.name, io=io, container=io.container if several else "")
        for io in report.tablespaces if _is_read(io)
    ]  # fmt: skip
    row_of = {(place.container, place.name): row for row, place in enumerate(places)}
    names = sorted(row_of)
    segments: dict[int, list[Segment]] = {}
    for segment in dict.fromkeys(segment for top in report.lists.values() for segment in top.values):
        container = segment.container if several else ""
        name = _whole_name((container, segment.tablespace), row_of, names, may_be_cut=report.cuts_names)
        if name.upper().startswith(TEMPORARY):
            continue
        if (container, name) not in row_of:
            row_of[container, name] = len(places)
            places.append(_Place(name=name, io=None, container=container))
        segments.setdefault(row_of[container, name], []).append(segment)
    units: list[_Unit] = []
    seen: set[str] = set()
    for row, place in enumerate(places):
        listed = [_unit(segment, row, place, sizes, seen) for segment in segments.get(row, ())]
        units += listed
        if place.io is not None:
            units.append(_rest(place, row, listed, sizes))
    if not any(place.io is not None for place in places):
        units.append(
            _Unit(key=REST, kind=UnitKind.TABLE, space=len(places), segment=None, bytes=None)
        )  # fmt: skip
        places.append(_Place(name=ELSEWHERE, io=None))
    return places, units


def _is_read(io: TablespaceIo) -> bool:
    """Whether it holds units and was read: what temporary ones are read for is an event of its own."""
    return not io.name.upper().startswith(TEMPORARY) and io.reads > 0


def _whole_name(
    place: tuple[str, str], known: Mapping[tuple[str, str], int], names: Sequence[tuple[str, str]], *, may_be_cut: bool
) -> str:
    """The tablespace of that container and name; where a text report cut it, the only one that begins so."""
    container, name = place
    if place in known or not may_be_cut or len(name) < SHORTEST_CUT:
        return name
    begin = islice(names, bisect_left(names, place), None)
    found = list(islice(takewhile(lambda each: each[0] == container and each[1].startswith(name), begin), 2))
    return found[0][1] if len(found) == 1 else name


def _unit(segment: Segment, row: int, place: _Place, sizes: Sizes, seen: set[str]) -> _Unit:
    kind = _KINDS.get(segment.type.split()[0] if segment.type else "", UnitKind.TABLE)
    word = "" if kind is UnitKind.TABLE else kind.name
    key = key_of(segment.owner, segment.name, word=word, part_word="PARTITION", part=segment.part or None)
    if place.container:
        key = f"{place.container}:{key}"
    if key in seen:
        key = f"{key} in {place.label}"
    seen.add(key)
    return _Unit(key=key, kind=kind, space=row, segment=segment, bytes=sizes.segment(segment))


def _rest(place: _Place, row: int, listed: Sequence[_Unit], sizes: Sizes) -> _Unit:
    return _Unit(
        key=f"{REST} in {place.label}" if listed else f"tablespace {place.label}", kind=UnitKind.TABLE, space=row,
        segment=None, bytes=_bytes_left(sizes.tablespace(place.name), [unit.bytes for unit in listed]),
    )  # fmt: skip


def _bytes_left(whole: int | None, listed: Sequence[int | None]) -> int | None:
    """What a tablespace holds besides what is listed; None: not known, as where nothing is left that can be read."""
    known = [each for each in listed if each is not None]
    left = None if whole is None or len(known) < len(listed) else whole - sum(known)
    return left if left is not None and left > 0 else None


# -- reads -----------------------------------------------------------------------------------------------------------


def _reads(report: WorkloadReport, places: Sequence[_Place], units: Sequence[_Unit], space: I64) -> Reads:
    """Calls, blocks and direct blocks of each unit: of segments as listed, of rests what the totals leave."""
    largest = LARGEST_CALL_BYTES / report.block_bytes
    listed = np.array([unit.segment is not None for unit in units], dtype=np.bool_)
    values = {name: _values_of_list(report.lists.get(name), units) for name in STATISTICS}
    ends = {name: _most_unlisted(report, name) for name in STATISTICS}
    each = _blocks_a_call(report, places)[space]
    calls, blocks, direct = values["requests"], values["blocks"], values["direct"]
    # In order: a call moves one block at least and so many at most, and a direct block is a block.
    blocks_least = np.fmax(
        np.fmax(blocks, 0.0), np.fmax(np.nan_to_num(calls), np.where(np.isfinite(blocks), 0.0, np.nan_to_num(direct)))
    )
    blocks_most = np.where(
        np.isfinite(blocks), blocks_least, np.maximum(np.fmin(ends["blocks"], calls * largest), blocks_least)
    )
    calls_least = np.where(np.isfinite(calls), calls, blocks_least / largest)
    calls_most = np.where(np.isfinite(calls), calls, np.maximum(np.minimum(ends["requests"], blocks_most), calls_least))
    direct_most = np.where(
        np.isfinite(direct), np.minimum(direct, blocks_most), np.minimum(ends["direct"], blocks_most)
    )
    direct_least = np.where(np.isfinite(direct), direct_most, 0.0)
    likely_blocks = np.where(
        np.isfinite(blocks), blocks_least, np.fmax(np.nan_to_num(calls) * each, np.nan_to_num(direct))
    )
    likely_calls = np.where(np.isfinite(calls), calls, np.nan_to_num(likely_blocks) / each)
    likely_direct = _direct_share(report, listed, direct, likely_blocks - likely_calls)
    segments = Reads(
        calls=ranged(calls_least, likely_calls, calls_most),
        blocks=ranged(blocks_least, likely_blocks, blocks_most),
        direct=ranged(direct_least, np.where(np.isfinite(direct), direct_most, likely_direct), direct_most),
    )
    return _with_rests(report, places, segments, listed, space)


def _direct_share(report: WorkloadReport, listed: Bools, direct: F64, several: F64) -> F64:
    """Direct blocks that segments have which the list of these does not name.

    Of the blocks that calls for several read, the same share as in all that the list does not name.
    """
    total, blocks, calls = (report.totals.get(name, np.nan) for name in ("direct", "blocks", "requests"))
    named = listed & np.isfinite(direct)
    left = total - report.totals.get("direct temporary", 0.0) - float(direct[named].sum())
    others = blocks - calls - float(several[named].sum())
    share = min(1.0, max(0.0, left / others)) if others > 0 else 0.0  # NaN where a total is not known
    return np.maximum(0.0, several) * (share if share == share else 0.0)


def _values_of_list(top: TopList | None, units: Sequence[_Unit]) -> F64:
    """What a list says of each unit, NaN where it names it not."""
    nan = float("nan")
    return np.array(
        [nan if top is None or unit.segment is None else top.values.get(unit.segment, nan) for unit in units],
        dtype=np.float64,
    )


def _most_unlisted(report: WorkloadReport, statistic: str) -> float:
    """The most that a segment has which a list does not name, although another one does."""
    top, total = report.lists.get(statistic), report.totals.get(statistic, LARGEST)
    if top is None:
        return total
    return min(top.smallest, LARGEST, max(0.0, total - sum(value for value in top.values.values() if value == value)))


def _blocks_a_call(report: WorkloadReport, places: Sequence[_Place]) -> F64:
    """Of each tablespace on average, of the instance where it is not printed; 1 or more."""
    blocks, calls = report.totals.get("blocks", np.nan), report.totals.get("requests", np.nan)
    usual = max(1.0, blocks / calls) if calls > 0 and blocks > 0 else 1.0
    own = [usual if place.io is None else place.io.blocks_per_read for place in places]
    return np.array([max(1.0, each) if each == each else 1.0 for each in own], dtype=np.float64)


def _with_rests(report: WorkloadReport, places: Sequence[_Place], segments: Reads, listed: Bools, space: I64) -> Reads:
    """The reads with those of rests: by tablespace where that is counted, else of the instance."""
    if any(place.io is not None for place in places):
        calls = np.array([np.nan if place.io is None else place.io.reads for place in places], dtype=np.float64)
        blocks = calls * _blocks_a_call(report, places)
        group = space
    else:
        temporary = report.totals.get("direct temporary", 0.0)
        calls, blocks = (
            np.array([report.totals.get(name, np.nan)], dtype=np.float64) for name in ("requests", "blocks")
        )
        blocks = np.maximum(0.0, blocks - temporary)
        calls = np.where(np.isfinite(calls), calls, blocks)
        group = np.zeros(len(space), dtype=np.int64)
    calls, blocks = np.nan_to_num(calls), np.nan_to_num(blocks)
    rest_calls = _rest_of(calls, segments.calls, listed, group)
    rest_blocks = _rest_of(blocks, segments.blocks, listed, group)
    rest_blocks = ranged(
        np.maximum(rest_blocks.least, rest_calls.least), np.maximum(rest_blocks.likely, rest_calls.likely),
        np.maximum(rest_blocks.most, rest_calls.most),
    )  # fmt: skip
    rest_direct = _direct_left(report, segments.direct, listed, rest_calls, rest_blocks)
    return Reads(
        calls=_chosen(segments.calls, rest_calls, listed, group),
        blocks=_chosen(segments.blocks, rest_blocks, listed, group),
        direct=_chosen(segments.direct, rest_direct, listed, group),
    )  # fmt: skip


def _rest_of(totals: F64, of: Ranged, listed: Bools, group: I64) -> Ranged:
    """What the totals leave to what no list names, by group."""
    least, likely, most = (
        np.bincount(group, weights=np.where(listed, each, 0.0), minlength=len(totals))[: len(totals)]
        for each in (of.least, of.likely, of.most)
    )
    return ranged(totals - most, totals - likely, totals - least)


def _direct_left(report: WorkloadReport, of: Ranged, listed: Bools, calls: Ranged, blocks: Ranged) -> Ranged:
    """Direct blocks of what no list names: nothing places them, so each group may have all of them or none."""
    several = np.maximum(0.0, blocks.likely - calls.likely)
    total = report.totals.get("direct", np.nan)
    if total != total:
        return ranged(np.zeros(len(several)), np.zeros(len(several)), blocks.most)
    total = max(0.0, total - report.totals.get("direct temporary", 0.0))
    likely, most = (max(0.0, total - float(each[listed].sum())) for each in (of.likely, of.least))
    weights = several if several.any() else blocks.likely
    share = weights / weights.sum() if weights.sum() > 0 else weights
    return ranged(np.zeros(len(several)), likely * share, np.minimum(most, blocks.most))


def _chosen(segments: Ranged, rests: Ranged, listed: Bools, group: I64) -> Ranged:
    """Of listed units their own, of rests that of their group."""
    return Ranged(*(
        np.where(listed, own, rest[group])
        for own, rest in ((segments.least, rests.least), (segments.likely, rests.likely), (segments.most, rests.most))
    ))  # fmt: skip


# -- times -----------------------------------------------------------------------------------------------------------


def _file_seconds(places: Sequence[_Place]) -> F64:
    """Seconds of a read of one block in each tablespace by its files; NaN where it is not printed, or as 0."""
    found = np.array([np.nan if place.io is None else _read_seconds(place.io) for place in places], dtype=np.float64)
    return np.where(found > 0, found, np.nan)


def _read_seconds(io: TablespaceIo) -> float:
    return io.single_seconds if io.single_seconds == io.single_seconds else io.read_seconds


def _by_space(figures: F64, space: I64, count: int) -> F64:
    return np.bincount(space, weights=figures, minlength=count)[:count].astype(np.float64)


def _mean(times: F64, counts: F64) -> float:
    known = np.isfinite(times) & (counts > 0)
    return float((times[known] * counts[known]).sum() / counts[known].sum()) if known.any() else float("nan")


def _choose_read_times(by_files: F64, counts: F64, by_events: float, single: WaitKind | None) -> tuple[F64, str]:
    """Seconds of a read in each tablespace, NaN where that of the events is to be taken, and what is doubted."""
    if single is None or not by_events > 0:
        return by_files, ""
    mean = _mean(by_files, counts)
    if mean == mean and not by_events / FACTOR <= mean <= by_events * FACTOR:
        return np.full(len(by_files), np.nan), (
            f"the files say {format_seconds(mean)} a read on average, the wait events {format_seconds(by_events)}: the "
            "events are believed, and reads are taken to need the same time in all tablespaces"
        )
    # Both, since files count the reads of background processes too.
    much, long = np.nan_to_num(by_files) * counts > FACTOR * single.seconds, by_files > FACTOR * by_events
    impossible = much & long
    return np.where(impossible, np.nan, by_files), (
        "" if not impossible.any() else
        f"read times of {int(impossible.sum())} of {len(impossible)} tablespaces make more than sessions waited in "
        "all: those of the wait events are believed"
    )  # fmt: skip


def _kinds_by_read_times(reads: Reads, space: I64, by_files: F64, path: str, report: WorkloadReport) -> list[WaitKind]:
    """Reads times read times, where the report has no wait events.

    Raises:
        UnusableFile: it has no read times either.
    """
    calls = _by_space(reads.calls.likely, space, len(by_files))
    if not np.isfinite(by_files[calls > 0]).any():
        raise UnusableFile(
            path,
            f"the {report.kind} report counts reads and has neither wait events nor read times",
            advice="Give the whole report, made with TIMED_STATISTICS on.",
        )
    usual = _mean(by_files, calls)
    seconds = float((calls * np.where(np.isfinite(by_files), by_files, usual)).sum())
    return [WaitKind(name=UNTIMED, events=(), waits=float(calls.sum()), seconds=seconds)]


# -- the observation -------------------------------------------------------------------------------------------------


def _catalog(places: Sequence[_Place], units: Sequence[_Unit], report: WorkloadReport) -> Catalog:
    ids = np.arange(1, len(units) + 1, dtype=np.int64)
    used = [0] * len(places)
    for unit in units:
        used[unit.space] += unit.bytes or 0
    return Catalog(
        taken_at=_WHEN + timedelta(seconds=report.seconds),
        spaces=tuple(
            Space(name=place.label, path="", used_bytes=held, free_bytes=None, capacity_bytes=None)
            for place, held in zip(places, used, strict=True)
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


def _demand(
    report: WorkloadReport, places: Sequence[_Place], space: I64, divided: Divided, times: F64, waited: F64,
    kinds: Sequence[WaitKind],
) -> Demand:  # fmt: skip
    """Waits as reads of the time that the unit's tablespace needs for one; the kinds are in them already."""
    rates = np.zeros((SIGNALS, len(space)))
    rates[Signal.SYNC_READ] = waited / times[space] / report.seconds
    singles = _by_space(divided.single.likely, space, len(places)) / report.seconds
    measured = sum(kind.seconds for kind in kinds if kind.of_units) / report.seconds
    return Demand(
        ended_at=_WHEN + timedelta(seconds=report.seconds),
        seconds=report.seconds,
        physical_id=np.arange(1, len(space) + 1, dtype=np.int64),
        rates=rates,
        observed=np.ones(len(space), dtype=np.bool_),
        estimated=frozenset({Signal.SYNC_READ}),
        database=DatabaseDemand(
            reads=report.totals.get("blocks", np.nan) / report.seconds,
            read_wait=measured if report.events else np.nan,
            transactions=report.transactions,
            active=report.db_time / report.seconds,
        ),
        spaces=SpaceFigures(
            name=tuple(place.label for place in places),
            reads=singles,
            read_seconds=singles * times,
            writes=np.array(
                [np.nan if place.io is None else place.io.writes / report.seconds for place in places], dtype=np.float64
            ),
            write_seconds=np.full(len(places), np.nan),
        ),
        waited=waited / report.seconds,
    )


def _sections(report: WorkloadReport) -> dict[str, str]:
    """The titles under which each kind of figure stands."""
    lists = "Segments by Physical Reads" if report.lists else ""
    spaces = "Tablespace IO Stats" if report.tablespaces else ""
    return {"waits": report.events_title, "spaces": spaces or lists or report.events_title, "units": lists or spaces}


def _notes(
    report: WorkloadReport, places: Sequence[_Place], units: Sequence[_Unit], reads: Reads, doubt: str, sizes: Sizes
) -> Iterable[str]:
    yield from report.notes
    if doubt:
        yield doubt
    if not report.tablespaces:
        yield (
            "the report counts no reads by tablespace, as is usual since 12.2: "
            "objects are ranked by the segment lists, and reads of one kind are taken to need the same time everywhere"
        )
    if any(io.single_seconds != io.single_seconds and io.read_seconds == io.read_seconds for io in report.tablespaces):
        yield "read times of tablespaces are of all their reads, those of several blocks too (before 11.2.0.4)"
    yield from _notes_of_segments(report, units, reads)
    if not report.events_whole:
        yield "only the top events of the first page are there: waits that are not among them count as none"
    if not report.events:
        yield "the report has no wait events: waits are read times of tablespaces, background reads included"
    if not report.db_time > 0:
        yield "DB time is not in the report: what share of the sessions' time reads are is not known"
    if any(place.stays for place in places):
        yield "SYSTEM, SYSAUX and undo tablespaces are shown with their waits; no object of theirs is moved"
    if len(report.containers) > 1:
        yield (
            f"the report is of {len(report.containers)} pluggable databases: their names stand before the colon; sizes "
            "of units.sql, which are of one of them, are not used"
        )
    elif not sizes.segments:
        yield "sizes are not in reports: export units.sql (hotplace assess --print-queries oracle) as --sizes FILE"
    else:
        yield from _notes_of_sizes(places, units, sizes)


def _notes_of_sizes(places: Sequence[_Place], units: Sequence[_Unit], sizes: Sizes) -> Iterable[str]:
    """What the file of sizes lacks of what can be moved, so that its size is not known."""
    unknown = [unit for unit in units if unit.bytes is None and not places[unit.space].stays]
    spaces = [at for at in dict.fromkeys(unit.space for unit in unknown) if places[at].name != ELSEWHERE]
    absent = {at for at in spaces if sizes.tablespace(places[at].name) is None}
    segments = [unit for unit in unknown if unit.segment is not None and unit.space not in absent]
    taken = set(spaces) - absent - {unit.space for unit in segments}
    lacks = [
        f"{what} {few_of(names)}{which}"
        for what, names, which in (
            ("the size of", [unit.key for unit in segments], ""),
            ("all segments of", [places[at].label for at in sorted(absent)], ""),
            ("segments of", [places[at].label for at in sorted(taken)], " that the report does not list"),
        )
        if names
    ]
    if lacks:
        yield (
            f"--sizes lacks {'; '.join(lacks)}: save the whole result of units (hotplace assess --print-queries "
            "oracle) as that file"
        )
    if any(places[unit.space].name == ELSEWHERE for unit in unknown):
        yield f"the size of {REST} is not known: the report does not say which tablespaces it is in"


def _notes_of_segments(report: WorkloadReport, units: Sequence[_Unit], reads: Reads) -> Iterable[str]:
    """How many segments are named, what they are of the whole, and what the others can have."""
    if not report.lists:
        more = f"; {_MORE_SEGMENTS[report.kind]}" if report.whole else ""
        yield f"the report names no segments: only whole tablespaces can be told apart{more}"
        return
    calls = reads.calls.likely
    named = np.array([unit.segment is not None for unit in units], dtype=np.bool_)
    share = float(calls[named].sum() / calls.sum()) if calls.sum() > 0 else 0.0
    lower = "exec dbms_workload_repository.modify_snapshot_settings(topnsql => 100)"
    more = lower if report.kind == "AWR" else "lower i_seg_phy_reads_th in statspack.modify_statspack_parameter"
    statistic = "requests" if "requests" in report.lists else "blocks"
    smallest = report.lists[statistic].smallest if statistic in report.lists else np.inf
    word = "read calls" if statistic == "requests" else "blocks"
    limit = f"; any other that the snapshots captured made at most {smallest:,.0f} {word}" if smallest < np.inf else ""
    yield f"segments that the report names made {share:.0%} of the read calls{limit}. For more of them: {more}"
    captured = report.lists[statistic].captured if statistic in report.lists else np.nan
    if captured < 1:
        yield f"{1 - captured:.0%} of the {word} are of segments that the snapshots did not capture: {REST}"
    count = int(named.sum())
    if count < FEW_SEGMENTS:
        longest = max(len(top.values) for top in report.lists.values())
        are = "segment is" if count == 1 else "segments are"
        yield f"{count} {are} ranked: the report's lists of reads name no more ({longest} in the longest)"
    if "requests" not in report.lists:
        yield "read calls of segments are not listed (before 11.2): taken from the mean of their tablespace"
