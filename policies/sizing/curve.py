"""How much fast storage is worth buying: fastest-tier bytes against foreground wait saved per hour.

Benefit numbers and bundles are those of ``make_plan``; where things are now is ignored, since the question is what a
tier of another size would do. Savings are against everything on the slowest tier. Guards of the moment (cool-down,
history, floors, payback) speak about the next move, not about storage, and do not count; pins do: what must be on the
tier takes its room first, what must never be is left out. A preference only orders the units and saves no
wait, so it is no reason to buy.

What leaves a busy disk shortens its queue for all that stays. So each saving is given three times: with shorter queues
(``shorter_queues``), at today's latencies, and at most. The first rises with the second, so the ranking of units for
the room stays the same.

Two curves. The upper one takes bundles by density, the last one in part (linear relaxation): concave beyond the pinned
bytes, and no placement beats it. The other one is what whole bundles reach (``knapsack.select`` around the threshold).
They meet wherever whole bundles fill a size.

The **knee** is the point of the upper curve farthest from the chord between its ends, of those that whole bundles fill.
For a concave curve that is where the next bundle saves less by the byte than the average byte of the database would; it
does not depend on the scale of either axis and needs no smoothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64
from policies.benefit.bundles import MICRO, Bundles, bundles_of
from policies.benefit.guards import physical_reads, writes
from policies.model.density import KeysOf, canonical_order, compute_density
from policies.model.plan import Pin, PolicySettings, Situation
from policies.sizing.contention_relief import ShorterQueues, shorter_queues
from policies.sizing.knapsack import Knapsack, select
from policies.storage.capacity import room_bytes
from policies.storage.purchase import GIB

# Where the curve is drawn, in per cent of the managed bytes and in quarters of the knee: closer where it bends.
PERCENT = (*range(30), *range(30, 101, 2), 75)
_KNEE_QUARTERS = (1, 2, 3, 6, 8)
_BEFORE, _WINDOW = 64, 256  # bundles around the threshold that are decided again at each size
_FLAT = 1e-9  # a curve nearer to its chord than this has no knee


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A size of the fastest tier, and what the best use of it brings."""

    size_bytes: int  # that bundles may fill: head-room comes on top
    bound_per_hour: float  # wait seconds saved in an hour's work of now, upper curve
    saved_per_hour: float  # the same, by whole bundles
    today_per_hour: float  # the same at today's latencies, as a plan says it
    most_per_hour: float  # the same if no more work is asked for however little sessions wait
    shadow_price: float  # wait seconds per hour that the next byte saves, by the GiB, upper curve
    units: int  # that are on the tier
    used_bytes: int  # of those units
    reads: float  # per second, of those units, that reach storage
    writes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizing:
    """The curve of one database, with its figures of reference."""

    managed_bytes: int
    managed_units: int
    reads: float  # per second, of all managed units
    writes: float
    pinned_bytes: int  # that must be on the fastest tier
    all_fast_per_hour: float  # wait seconds saved per hour with room for everything
    saved_now_per_hour: float  # by where things are now
    saved_now_today_per_hour: float  # the same at today's latencies, as a plan says it
    present: Point  # the size that the tier has
    sessions_known: bool  # False: the engine does not count them, so savings are at today's latencies
    present_known: bool  # False: the room of a space is unknown, the present size is what units take up there
    knee: Point
    knee_distance: float  # from the chord, as a share of the curve's height; 0: no knee, every byte is worth the same
    points: tuple[Point, ...]  # by size, knee and present size among them

    def share(self, point: Point) -> float:
        """Share of the all-fast saving that whole bundles reach at a point, 0 to 1; 0 if there is nothing to save."""
        return point.saved_per_hour / self.all_fast_per_hour if self.all_fast_per_hour > 0 else 0.0

    def next_gib(self, point: Point) -> float:
        """Wait seconds per hour that another GiB saves at most: what is left to save, where less than a GiB is left."""
        return min(point.shadow_price, max(0.0, self.all_fast_per_hour - point.bound_per_hour))

    def at(self, percent: int) -> Point:
        """The point at one of ``PERCENT`` of the managed bytes."""
        size = self.managed_bytes * percent // 100
        return next(point for point in self.points if point.size_bytes == size)


VALUE, SIZE, UNITS, READS, WRITES = range(5)  # lines of a competition's figures


@dataclass(frozen=True, slots=True)
class _Items:
    """Bundles that compete for the tier, densest first, what has no bytes before all."""

    figures: F64  # (5, m): microseconds per hour, bytes, units, reads and writes per second
    totals: F64  # (5, m + 1) of the first none, one, two ... of them

    def __len__(self) -> int:
        return int(self.figures.shape[1])

    @property
    def all(self) -> F64:
        """Figures of all together, shape ``(5,)``."""
        return self.totals[:, -1]

    def fitting(self, room: float) -> int:
        """How many of the densest fit together."""
        return int(np.searchsorted(self.totals[SIZE], room, side="right")) - 1


def sizing(situation: Situation, settings: PolicySettings) -> Sizing:
    """The curve of a situation. The same situation gives the same curve, in whatever order its units are listed.

    Raises:
        ValueError: there is no tier.
    """
    if not situation.tiers:
        raise ValueError("without tiers there is nothing to size")
    bundles = bundles_of(situation, settings)
    managed = bundles.tier >= 0
    gain = np.maximum(0.0, bundles.wait[-1] - bundles.wait[0])
    figures = np.stack(
        (gain, bundles.size, np.diff(bundles.start), physical_reads(bundles.rates), writes(bundles.rates))
    )
    names = KeysOf(situation.units.key, bundles.lead)
    pinned = _items(np.flatnonzero(managed & (bundles.pin == Pin.MUST)), figures, names)
    free = managed & (gain > 0) & ~np.isin(bundles.pin, (Pin.MUST, Pin.NEVER))
    others = _items(np.flatnonzero(free), figures, names)
    queues = shorter_queues(bundles, situation, np.where(managed, gain, 0.0))
    _, total, units, reads, written = figures[:, managed].sum(axis=1).tolist()
    present, known = _present_bytes(situation, bundles, settings)
    knee, distance = _knee(pinned, others, queues, total)
    grid = {int(total) * percent // 100 for percent in PERCENT} | {knee * quarter // 4 for quarter in _KNEE_QUARTERS}
    sizes = sorted({size for size in grid if size <= total} | {present, knee})
    points = tuple(_points(pinned, others, queues, sizes))
    by_size = {point.size_bytes: point for point in points}
    here = np.take_along_axis(bundles.wait, np.maximum(bundles.tier, 0)[np.newaxis, :], axis=0)[0]
    saved_now = float((bundles.wait[-1] - here)[managed].sum())
    return Sizing(
        managed_bytes=int(total),
        managed_units=int(units),
        reads=reads,
        writes=written,
        pinned_bytes=int(pinned.all[SIZE]),
        all_fast_per_hour=float(queues.likely_of(pinned.all[VALUE] + others.all[VALUE])) / MICRO,
        saved_now_per_hour=float(queues.likely_of(saved_now)) / MICRO,
        saved_now_today_per_hour=queues.said_of(saved_now) / MICRO,
        present=by_size[present],
        sessions_known=queues.sessions_known,
        present_known=known,
        knee=by_size[knee],
        knee_distance=distance,
        points=points,
    )


def _items(rows: I64, figures: F64, names: KeysOf) -> _Items:
    """The bundles of those rows, sorted and added up."""
    value, size = figures[VALUE, rows], figures[SIZE, rows]
    density = np.where(size > 0, compute_density(value, size), np.inf)  # an empty unit takes no room: always first
    order = rows[canonical_order(density, size, KeysOf(names, rows))]
    chosen = figures[:, order]
    return _Items(chosen, np.concatenate((np.zeros((len(chosen), 1)), np.cumsum(chosen, axis=1)), axis=1))


def _present_bytes(situation: Situation, bundles: Bundles, settings: PolicySettings) -> tuple[int, bool]:
    """Bytes that bundles may fill on the fastest tier as it is, and whether the room of all its spaces is known."""
    held = np.zeros(len(situation.spaces), dtype=np.int64)
    np.add.at(held, bundles.space, bundles.size)
    rooms = [
        (int(held[row]), room_bytes(space, settings.head_room_ratio))
        for row, space in enumerate(situation.spaces)
        if situation.tier_of_space[row] == 0
    ]
    return sum(max(0, used + (room or 0)) for used, room in rooms), all(room is not None for _, room in rooms)


def _knee(pinned: _Items, others: _Items, queues: ShorterQueues, total: float) -> tuple[int, float]:
    """Size at which the upper curve beyond the pinned bytes is farthest above its chord, and how far.

    Both axes run from 0 to 1, so vertical and perpendicular distance have their maximum at the same point.
    """
    begin = int(pinned.all[SIZE])
    if total <= begin or not len(others):
        return begin, 0.0
    saved = queues.likely_of(pinned.all[VALUE] + others.totals[VALUE])
    if saved[-1] <= saved[0]:
        return begin, 0.0
    distance = (saved - saved[0]) / (saved[-1] - saved[0]) - others.totals[SIZE] / (total - begin)
    best = int(np.argmax(distance))
    if distance[best] < _FLAT:
        return begin, 0.0
    return begin + int(others.totals[SIZE, best]), float(distance[best])


def _points(pinned: _Items, others: _Items, queues: ShorterQueues, sizes: Iterable[int]) -> Iterator[Point]:
    """A point at each of the rising sizes. What fits a smaller tier fits a larger one, so value never falls."""
    best = np.zeros(len(pinned.all))
    pins = int(pinned.all[SIZE])
    for size in sizes:
        items, room = (pinned, size) if size < pins else (others, size - pins)
        settled = pinned.all if size >= pins else np.zeros_like(best)
        found = settled + _select(items, room)
        if found[VALUE] >= best[VALUE]:
            # What fitted a smaller size is kept if the search around the threshold finds less for a larger one, or the
            # curve would fall.
            best = found
        bound, price = _upper(items, room)
        bound += float(settled[VALUE])
        value, used, units, reads, written = best.tolist()
        yield Point(
            size_bytes=size,
            bound_per_hour=float(queues.likely_of(bound)) / MICRO,
            saved_per_hour=float(queues.likely_of(value)) / MICRO,
            today_per_hour=queues.said_of(value) / MICRO,
            most_per_hour=queues.most_of(value) / MICRO,
            shadow_price=price * queues.slope_at(bound) * GIB / MICRO,
            units=int(units),
            used_bytes=int(used),
            reads=reads,
            writes=written,
        )


def _upper(items: _Items, room: int) -> tuple[float, float]:
    """Value of the best fractional selection, and what one more byte adds to it."""
    cut = items.fitting(room)
    value = float(items.totals[VALUE, cut])
    if cut == len(items):
        return value, 0.0
    density = float(items.figures[VALUE, cut] / items.figures[SIZE, cut])
    return value + density * (room - float(items.totals[SIZE, cut])), density


def _select(items: _Items, room: int) -> F64:
    """Figures of whole bundles that fit: the dense ones, and around the threshold what the solver takes."""
    cut = items.fitting(room)
    if cut == len(items):
        return items.all
    settled = max(items.fitting(0), cut - _BEFORE)  # what has no bytes always fits
    left = room - float(items.totals[SIZE, settled])
    # Some bundles before the threshold are decided again as well: often one large bundle that just misses is worth a
    # few small ones that fit.
    window = settled + np.flatnonzero(items.figures[SIZE, settled:] <= left)[:_WINDOW]
    sack = Knapsack(
        size=items.figures[SIZE, window],
        value=items.figures[VALUE, window],
        capacity=left,
    )
    taken: F64 = items.figures[:, window[select(sack)]].sum(axis=1)
    return items.totals[:, settled] + taken
