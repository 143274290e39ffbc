"""Whether the hot part of a unit is a range of one of its columns, and how its border wanders.

``Split`` and ``Unsplit`` are the answers: what splitting off the hot part would bring, or why no split helps.

``find_border`` knows the reads of each range of blocks, and the least and the greatest value in the blocks at its ends.
It assumes that the rows of a range lie evenly between these two values, so reads and blocks can be counted by value
instead of by place. Among values it then seeks what ``range_heat`` seeks among blocks: the run that takes most beyond
its share. A column with values scattered over the file has every value in every range. Then no run takes more than its
share, and the column is not the one.

``wandering`` follows the border over repeated looks at the values (``BorderLook``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from connectors.model.blocks import BlockValues, CandidateColumn
from connectors.model.observation import F64, I64
from policies.evidence.range_heat import (
    AS_GOOD,
    HeatShape,
    RangeHeat,
    greatest_sum,
    hottest_reads,
    pays_by_byte,
    share_with_interval,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueBorder:
    """The hot part of a unit as a range of one of its columns: ``least`` <= column < ``below``.

    Values are user data: they may be shown to who asks and stand in a proposal, and never in metrics, logs, recordings
    or bundles for support.
    """

    column: str  # not quoted
    type_name: str  # as the engine writes it, for example "bigint" or "timestamp with time zone"
    least: str | None  # as text that the engine reads back as this type; None: the part begins with the first row
    below: str | None  # None: it goes on to the newest row, and to those still to come
    fit: float  # of the reads that the best split by blocks takes beyond its share, how much this range takes, 0 to 1
    of_rows: float  # share of the unit's blocks that rows in this range fill
    of_reads: float  # share of the unit's reads from storage that go to them

    @property
    def rolls(self) -> bool:
        """Whether the part is the newest rows: those to come are born in it."""
        return self.below is None and self.least is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What splitting off the hot part of a unit would bring: it on the fastest tier, the rest where it is.

    Seconds of session wait per hour at today's latencies, as plans have them.
    """

    key: str  # of the unit
    physical_id: int
    border: ValueBorder | None  # None: the part is known by its blocks only
    hot_bytes: int
    whole_bytes: int
    of_reads: float  # share of the unit's reads from storage that go to the hot part
    low_of_reads: float  # 90 of 100 such shares lie between these two
    high_of_reads: float
    saves_per_hour: float  # expected, what gives way to it already taken off
    saves_low_per_hour: float
    saves_high_per_hour: float
    fits: bool  # the hot part fits on the fastest tier, if need be by what is worth less giving way
    whole_saves_per_hour: float  # all of it on the fastest tier, were there room
    whole_fits: bool  # whether there is, or can be made for less than it saves
    memory_saves_per_hour: float  # at most, of as much more buffer pool as the hot part has bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsplit:
    """A unit that was looked into and that no split helps, and what would help. Seconds of wait per hour."""

    key: str
    shape: HeatShape  # where its heat is: all over it, in parts that lie apart, or in all of it alike
    whole_bytes: int
    whole_saves_per_hour: float  # all of it on the fastest tier, were there room
    whole_fits: bool  # as of a split
    memory_bytes: int  # of its hottest tenth
    memory_saves_per_hour: float  # at most, of so much more buffer pool


MOST_COLUMNS = 3  # of a unit whose values are read
LEAST_FIT = 0.7  # of what the best split by blocks takes beyond its share, that a range of values has to take too
_IN_ORDER = 0.3  # correlation below which the values of a column are scattered over the file
_SIZES = tuple(step / 20 for step in range(1, 20))  # shares of the blocks among which the best split is sought
_ALIKE = 0.05  # two columns that fit so nearly as well fit alike: ids and dates of the same rows


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundBorder:
    """A border with the numbers behind it, for comparing looks; user data like the border."""

    border: ValueBorder
    is_time: bool  # numbers are seconds since the epoch
    least: float | None
    below: float | None
    newest: float  # greatest value that was seen


def columns_to_read(columns: Sequence[CandidateColumn]) -> tuple[CandidateColumn, ...]:
    """The columns whose values are worth reading: in the order of the file as far as is known, keys first, then times.

    Without statistics only keys and times are: rows are often appended in their order.
    """
    known = [each for each in columns if abs(each.correlation) >= _IN_ORDER]
    unknown = [each for each in columns if np.isnan(each.correlation) and (each.is_key or each.is_time)]
    ordered = sorted([*known, *unknown], key=lambda each: (not each.is_key, not each.is_time, -_order(each)))
    return tuple(ordered[:MOST_COLUMNS])


def _order(column: CandidateColumn) -> float:
    return 0.0 if np.isnan(column.correlation) else abs(column.correlation)


def borders_to_look_at(heat: RangeHeat) -> I64:
    """First blocks of all ranges and the one behind the last: where values are read."""
    return np.minimum(np.arange(heat.ranges + 1, dtype=np.int64) * heat.width, heat.blocks)


def find_border(heat: RangeHeat, column: CandidateColumn, values: Sequence[BlockValues]) -> FoundBorder | None:
    """The range of values that is the hot part; None where no range of this column is.

    Args:
        heat: reads by range.
        column: whose values were read.
        values: in the blocks at the ends of ranges, of some or all of them.
    """
    first_range, behind, least, greatest = _by_cell(heat, values)
    reads_of_cells = _sums(heat.reads.sum(axis=0), first_range, behind)
    if len(first_range) < 2 or not reads_of_cells.sum() > 0:
        return None
    points = np.unique(np.concatenate((least, greatest)))
    shares = _shares(points, least, greatest)
    reads, blocks = reads_of_cells @ shares, _sums(heat.range_blocks, first_range, behind) @ shares
    of_reads, of_blocks = reads / heat.reads.sum(), blocks / heat.blocks
    first, end = _run(reads / reads.sum() - blocks / blocks.sum())
    taken, filled = float(of_reads[first:end].sum()), float(of_blocks[first:end].sum())
    whole = first == 0 and end == len(reads)
    if whole or not pays_by_byte(share_with_interval(heat, filled, taken)):
        return None
    fit = _fit(heat, taken, filled)
    if fit < LEAST_FIT:
        return None
    begin, beyond = (None if first == 0 else points[first]), (None if end == len(reads) else points[end])
    text = {value.number: value.text for each in values for value in (each.least, each.greatest)}
    return FoundBorder(
        border=ValueBorder(
            column=column.name, type_name=column.type_name,
            least=None if begin is None else text[float(begin)], below=None if beyond is None else text[float(beyond)],
            fit=fit, of_rows=filled, of_reads=taken,
        ),
        is_time=column.is_time,
        least=None if begin is None else float(begin), below=None if beyond is None else float(beyond),
        newest=float(points[-1]),
    )  # fmt: skip


def best_border(found: Sequence[tuple[CandidateColumn, FoundBorder]]) -> FoundBorder | None:
    """The border that fits best; of those that fit alike a key, which may stay unique when split, then a time."""
    if not found:
        return None
    best = max(each.border.fit for _, each in found)
    alike = [pair for pair in found if pair[1].border.fit >= best - _ALIKE]
    return min(alike, key=lambda pair: (not pair[0].is_key, pair[0].nullable, not pair[0].is_time, pair[0].name))[1]


def _by_cell(heat: RangeHeat, values: Sequence[BlockValues]) -> tuple[I64, I64, F64, F64]:
    """First ranges of cells and those behind them, with the least and the greatest value of each cell.

    A cell lies between two borders at which values were read: one range, or several where the time ended before all
    borders were reached. Where nothing was read on one side, the range at the last border alone is known.
    """
    known = [each for each in values if each.block < heat.ranges * heat.width]  # the unit may have grown since
    cuts = {each.block // heat.width for each in known if each.block % heat.width == 0}
    cuts |= {each.block // heat.width + 1 for each in known if (each.block + 1) % heat.width == 0}
    cuts |= {heat.ranges for each in known if each.block + 1 >= heat.blocks}
    if cuts:
        cuts |= {max(0, min(cuts) - 1), min(heat.ranges, max(cuts) + 1)}
    borders = np.array(sorted(cuts), dtype=np.int64)
    found: dict[int, tuple[float, float]] = {}
    for each in known:
        cell = int(np.searchsorted(borders, each.block // heat.width, side="right")) - 1
        low, high = found.get(cell, (np.inf, -np.inf))
        found[cell] = min(low, each.least.number), max(high, each.greatest.number)
    cells = np.array(sorted(found), dtype=np.int64)
    ends = np.array([found[cell] for cell in cells], dtype=np.float64).reshape(-1, 2)
    return borders[cells], borders[cells + 1], ends[:, 0], ends[:, 1]


def _sums(figures: F64, first: I64, behind: I64) -> F64:
    """Of each cell."""
    upto = np.concatenate(([0.0], np.cumsum(figures)))
    return np.asarray(upto[behind] - upto[first], dtype=np.float64)


def _shares(points: F64, least: F64, greatest: F64) -> F64:
    """Share of each range between two points, and beyond the last one. Shape ``(ranges, points)``, rows add up to 1.

    The last column holds the rows at the greatest value: of ranges that have this value alone.
    """
    length = np.maximum(greatest - least, np.finfo(np.float64).tiny)
    with np.errstate(over="ignore"):  # of a range of one value: what overflows is beyond it
        upto = np.clip((points[np.newaxis, :] - least[:, np.newaxis]) / length[:, np.newaxis], 0.0, 1.0)
    # A range of one single value lies at it: none of it is below.
    upto[(least == greatest)[:, np.newaxis] & (points[np.newaxis, :] <= least[:, np.newaxis])] = 0.0
    return np.diff(np.concatenate((upto, np.ones((len(least), 1))), axis=1), axis=1)


def _run(excess: F64) -> tuple[int, int]:
    """The run of values with most excess; up to the newest value if that is as good, since such a border can roll."""
    first, end = greatest_sum(excess)
    from_end = np.cumsum(excess[::-1])
    if from_end.max() >= AS_GOOD * excess[first:end].sum():
        return len(excess) - 1 - int(from_end.argmax()), len(excess)
    return first, end


def _fit(heat: RangeHeat, taken: float, filled: float) -> float:
    """What the rows take beyond their share over the most that any number of the hottest blocks do, 0 to 1.

    Compared with as many of the hottest blocks, half of a table would always fit well.
    """
    most = max(hottest_reads(heat, share) - share for share in _SIZES)
    return min(1.0, max(0.0, (taken - filled) / most)) if most > 0 else 0.0


KEPT_LOOKS = 56  # two weeks at four a day
HOURS_A_DAY = 24.0
_LEAST_HOURS = 6.0  # between first and last look before a speed is worth a word


@dataclass(frozen=True, slots=True, kw_only=True)
class BorderLook:
    """What one look at values found; None: no column has the hot part as a range of its values."""

    at_hour: float  # hours since the epoch
    found: FoundBorder | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wandering:
    """How the border of one column moved over looks; numbers are the column's, of times seconds."""

    looks: int  # that found this column
    of_looks: int  # in all
    hours: float  # between the first and the last of them
    per_day: float  # by which the border rises; NaN: not watched for long enough
    low_distance: float  # from the border to the newest value, least and greatest over looks; NaN: no newest part
    high_distance: float

    @property
    def agreement(self) -> float:
        """Share of all looks that found this column."""
        return self.looks / self.of_looks


def with_look(before: tuple[BorderLook, ...], look: BorderLook) -> tuple[BorderLook, ...]:
    """The history with one more look."""
    return (*before, look)[-KEPT_LOOKS:]


def wandering(looks: Iterable[BorderLook]) -> tuple[FoundBorder, Wandering] | None:
    """The latest border and how it got there; None where the latest look found none.

    The speed is the median over pairs of looks (Theil 1950, Sen 1968): one look that errs does not bend it.
    """
    all_looks = list(looks)
    latest = all_looks[-1].found if all_looks else None
    if latest is None:
        return None
    alike = [
        (each.at_hour, each.found)
        for each in all_looks
        if each.found is not None and each.found.border.column == latest.border.column
    ]
    hours = np.array([hour for hour, _ in alike])
    distances = [found.newest - found.least for _, found in alike if found.border.rolls and found.least is not None]
    return latest, Wandering(
        looks=len(alike), of_looks=len(all_looks), hours=float(hours[-1] - hours[0]),
        per_day=_median_slope(hours, [_number(found) for _, found in alike]) * HOURS_A_DAY,
        low_distance=min(distances, default=float("nan")), high_distance=max(distances, default=float("nan")),
    )  # fmt: skip


def _number(found: FoundBorder) -> float:
    """The end of the part that is a border."""
    number = found.below if found.least is None else found.least
    assert number is not None, "a part has at least one end"
    return number


def _median_slope(hours: np.ndarray[Any, np.dtype[np.float64]], numbers: list[float]) -> float:
    if hours[-1] - hours[0] < _LEAST_HOURS:
        return float("nan")
    first, second = np.triu_indices(len(hours), k=1)
    apart = hours[second] - hours[first]
    column = np.array(numbers)
    rises = (column[second] - column[first])[apart > 0] / apart[apart > 0]
    return float(np.median(rises))


def history_document(looks: Iterable[BorderLook]) -> list[dict[str, Any]]:
    """For the ledger, as JSON values."""
    return [{"at_hour": each.at_hour, "found": None if each.found is None else asdict(each.found)} for each in looks]


def history_from_document(document: Iterable[Mapping[str, Any]]) -> tuple[BorderLook, ...]:
    """From the ledger."""
    return tuple(BorderLook(at_hour=each["at_hour"], found=_border_from(each["found"])) for each in document)


def _border_from(document: Mapping[str, Any] | None) -> FoundBorder | None:
    if document is None:
        return None
    return FoundBorder(**{**document, "border": ValueBorder(**document["border"])})
