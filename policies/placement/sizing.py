"""How much fast storage is worth buying: the curve of its sizes, also with units split.

``ShorterQueues`` compares savings with shorter queues. What leaves a busy tier shortens its queue for all that stays.
The network of the forecast (``queueing.Loop``) says by how much, for tiers that hold from none to all of what could be
saved. Sessions of every kind count as one here, since they queue for the same tier. Each saving has three figures, all
against everything on the slowest tier, and scaled down if sessions would wait for longer than they are there:

- **at today's latencies**: as a plan says it, as if queues stayed as long as they are;
- **likely**: the same sessions ask again sooner. Wait is stated for the work done now; otherwise a system that gets
  more done would look worse. Where the engine does not count sessions, this figure is unknown. Of a load that is known
  to be open (``workload``) it is the next one;
- **at most**: sessions ask for no more however little they wait. Without counted sessions it is derived from the time
  of a read on an idle disk (``queueing.relief``).

Likely rises with the saving at today's latencies, so the ranking of units stays the same. It is concave in the share,
because the wait of a closed network is jointly convex in its demands, and so is the equation that gives it:
``N v = Z + sum of D + b * sum of D^2 / (v - b D)`` with ``v`` the time of one round.

``select`` fills one room regardless of where things are, as the curve asks for many sizes. Greedy by density is within
0.1 % of the optimum from some thousand items on. It errs around the threshold with few or large items, so those items
are decided exactly; with at most ``CORE`` items the result is the optimum. ``solver`` handles what a plan asks.

``sizing`` draws bytes of the fastest tier against foreground wait saved per hour, with the benefit and bundles of
``make_plan``. Guards of the next move (cool-down, history, floors, payback) do not count. Pins do: what must be on the
tier takes its room first, what must never be there is left out. A preference saves no wait and is no reason to buy. The
upper curve takes bundles by density and the last one in part (linear relaxation): concave beyond the pinned bytes, and
no placement beats it. The lower curve is what whole bundles reach. They meet where whole bundles fill a size.

The **knee** is the point of the upper curve farthest from the chord between its ends, among those that whole bundles
fill. From there the next bundle saves less per byte than the average byte of the database would. The knee depends on
the scale of neither axis and needs no smoothing.

``with_splits`` is the database with units split into a hot part and the rest, for the curve and for a forecast. Which
writes go to which part is unknown, so all demand is divided as the reads are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import inf

import numpy as np

from connectors.model.observation import F64, I64, Bools
from policies.evidence.borders import Split
from policies.evidence.bundles import MICRO, Bundles, bundles_of
from policies.evidence.capacity import room_bytes
from policies.evidence.guards import physical_reads, writes
from policies.evidence.prices import HOUR, most_waiting
from policies.evidence.queueing import LEAST_WAITED, ROWS, TRANSACTIONS, change_ratio, closed_loop, stations_of
from policies.evidence.workload import OPEN
from policies.model.columns import KeysOf, canonical_order, compute_density
from policies.model.plan import Plan, Situation
from policies.model.settings import GIB, Pin, PolicySettings
from policies.placement.forecast import forecast, tiers_after
from policies.placement.forecast_figures import Forecast, mixture_of
from policies.placement.ranges import with_splits

# Shares of the saving at which the network is asked: closer towards the end, where queues vanish.
_LEFT = np.unique(np.concatenate((np.linspace(0.0, 1.0, 129), np.geomspace(1e-4, 1.0, 65))))
SHARES: F64 = 1.0 - _LEFT[::-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShorterQueues:
    """Savings of one database by those at today's latencies, straight between the rows; in the unit of these."""

    today: F64  # (g,) rising from 0, by the model alone
    said: F64  # (g,) the same, no more in all than sessions can wait
    likely: F64  # (g,) rising, concave
    most: F64  # (g,) rising
    sessions_known: bool  # False: likely is today

    def likely_of(self, today: F64 | float) -> F64:
        """Likely for each saving at today's latencies, shape as given."""
        return np.asarray(np.interp(today, self.today, self.likely), dtype=np.float64)

    def said_of(self, today: float) -> float:
        """A saving at today's latencies, bounded by what sessions can wait."""
        return float(np.interp(today, self.today, self.said))

    def most_of(self, today: float) -> float:
        """At most for a saving at today's latencies."""
        return float(np.interp(today, self.today, self.most))

    def slope_at(self, today: float) -> float:
        """Slope of the likely saving over the saving at today's latencies."""
        at = min(int(np.searchsorted(self.today, today, side="right")), len(self.today) - 1)
        width = float(self.today[at] - self.today[at - 1])
        return float(self.likely[at] - self.likely[at - 1]) / width if width > 0 else 1.0


def shorter_queues(bundles: Bundles, situation: Situation, gain: F64) -> ShorterQueues:
    """Ask the model for tiers of every size.

    Args:
        bundles: waits by tier.
        situation: where they are now, the speeds of tiers, and the database's own figures.
        gain: microseconds per hour that each bundle saves on the fastest tier over the slowest, 0 or more, 0 where it
            is not managed.
    """
    today = SHARES * float(gain.sum())
    waits = _waits(bundles, gain, len(situation.tiers))
    now = np.array([bundles.wait[row, bundles.tier == row].sum() for row in range(len(situation.tiers))]) / MICRO / HOUR
    found = _by_sessions(waits, now, situation)
    likely, most = _by_latency(waits, now, situation) if found is None else found
    limit = most_waiting(situation) * HOUR * MICRO
    likely, said = _within(_rising(likely) * today[-1], limit), _within(today, limit)
    above = np.maximum(_within(_rising(most) * today[-1], limit), np.maximum(likely, said))
    return ShorterQueues(today=today, said=said, likely=likely, most=above, sessions_known=found is not None)


def _within(saved: F64, limit: float) -> F64:
    """The savings, all of them less by the same share where the largest is more than sessions can wait at all."""
    return saved * (limit / saved[-1]) if saved[-1] > limit else saved


def _waits(bundles: Bundles, gain: F64, tiers: int) -> F64:
    """Session seconds waited per second on each tier, at believed speeds, for each of ``SHARES``. ``(tiers, g)``."""
    managed, better = bundles.tier >= 0, gain > 0
    waits = np.zeros((tiers, len(SHARES)))
    slow, stays = (float(bundles.wait[-1, rows].sum()) for rows in (managed, managed & ~better))
    waits[-1] = stays + (slow - stays) * (1 - SHARES)
    waits[0] += float(bundles.wait[0, better].sum()) * SHARES
    return waits / MICRO / HOUR


def _by_sessions(waits: F64, now: F64, situation: Situation) -> tuple[F64, F64] | None:
    """Likely and most, over all that is saved at today's latencies; None where sessions are not counted.

    Of two kinds of sessions only those that wait for reads queue at tiers, and come back sooner.
    """
    mixture = mixture_of(situation.database)
    if mixture is not None:
        situation = replace(situation, database=mixture.readers)
    loop = closed_loop(_of_transactions(now), situation)
    if loop is None:
        return None
    network = loop.network(_of_transactions(waits))
    rate, wait = network.solve()
    present = situation.database.transactions
    at_rate = np.minimum(wait, network.wait_at(np.minimum(rate, present)))
    linear = loop.scale @ waits
    most = _share((wait[0] - at_rate) * present, linear)
    return (most if situation.load == OPEN else _share((wait[0] - wait) * present, linear)), most


def _of_transactions(waits: F64) -> F64:
    """Rows of the closed network without background work."""
    rows = np.zeros((ROWS, *waits.shape))
    rows[TRANSACTIONS] = waits
    return rows


def _by_latency(waits: F64, now: F64, situation: Situation) -> tuple[F64, F64]:
    """The same by how busy the slowest tier's own latency says it is, which only bounds the saving."""
    speed = situation.tiers[-1].speed
    left = waits[-1] / now[-1] if now[-1] > 0 else np.ones(waits.shape[1])
    times, queue = (speed.random_read_seconds, speed.idle_read_seconds), stations_of(situation.tiers).queue(-1)
    ratio = np.array([change_ratio(*times, each, queue) for each in left.tolist()])
    linear = waits.sum(axis=0)
    wait = waits[:-1].sum(axis=0) + waits[-1] * ratio
    return SHARES, _share(wait[0] - wait, linear)


def _share(saved: F64, linear: F64) -> F64:
    """A saving over all of that at today's latencies; as it is then where nothing is saved."""
    whole = float(linear[0] - linear[-1])
    return saved / whole if whole > LEAST_WAITED else SHARES


def _rising(values: F64) -> F64:
    """The same with nothing lost by more room: what does not help is left where it is."""
    return np.asarray(np.maximum.accumulate(np.maximum(values, 0.0)), dtype=np.float64)


CORE = 16  # items decided by trying every subset
_FILL_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Knapsack:
    """Items in canonical order, so that ties are broken the same way whatever order they came in."""

    size: F64  # bytes, whole numbers, > 0
    value: F64  # of being inside, whole microseconds per hour
    capacity: float  # bytes

    def __len__(self) -> int:
        return len(self.size)


def select(sack: Knapsack) -> Bools:
    """Which items to have inside: never over capacity."""
    if len(sack) <= CORE:
        return _subset(sack.size, sack.value, sack.capacity)
    worth = np.flatnonzero(sack.value > 0)
    order = worth[np.argsort(-compute_density(sack.value[worth], sack.size[worth]), kind="stable")]
    plain, cut = _fill(sack.size, order, sack.capacity)
    before, core, after = np.split(order, [max(0, cut - CORE // 2), cut + CORE // 2])
    room = sack.capacity - float(sack.size[before].sum())
    within = core[_subset(sack.size[core], sack.value[core], room)]
    rest, _ = _fill(sack.size, after, room - float(sack.size[within].sum()))
    exact = np.concatenate((before, within, rest))
    chosen = np.zeros(len(sack), dtype=np.bool_)
    chosen[exact if sack.value[exact].sum() > sack.value[plain].sum() else plain] = True
    return chosen


def _fill(size: F64, order: I64, capacity: float) -> tuple[I64, int]:
    """Take items in that order while they fit, skipping those that do not; also where the first one was skipped."""
    taken: list[I64] = []
    first_skipped = len(order)
    for attempt in range(_FILL_ROUNDS):
        filled = np.cumsum(size[order])
        count = int(np.searchsorted(filled, capacity, side="right"))
        if attempt == 0:
            first_skipped = count
        taken.append(order[:count])
        if count == len(order):
            break
        capacity -= float(filled[count - 1]) if count else 0.0
        order = order[count + 1 :]
        order = order[size[order] <= capacity]
        if not len(order):
            break
    return np.concatenate(taken), first_skipped


@cache
def _subsets(items: int) -> F64:
    """Every subset of that many items as rows of 0 and 1. Shape ``(2 ** items, items)``."""
    return ((np.arange(2**items)[:, np.newaxis] >> np.arange(items)) & 1).astype(np.float64)


def _subset(size: F64, value: F64, room: float) -> Bools:
    """The most valuable subset that fits; the first of equals."""
    rows = _subsets(len(size))
    worth = np.where(rows @ size <= room, rows @ value, -inf)
    return np.asarray(rows[int(np.argmax(worth))] > 0, dtype=np.bool_)


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
    load: str  # whether clients ask again once answered, see ``workload``; "": not known, and savings are as if
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
        load=situation.load,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSizing:
    """What the fastest tier as it is does with the splits, next to what it does without them."""

    units: int  # that are split
    size_bytes: int  # of the tier that is compared: as it is, or the knee with splits where it has no size yet
    saved_per_hour: float  # by whole bundles, as ``Point`` has it
    split_saved_per_hour: float  # the same with the splits
    alike_bytes: int  # of whole units on it that save as much without splits; all managed bytes where none do


def size_with_splits(
    situation: Situation, settings: PolicySettings, splits: Sequence[Split], without: Sizing
) -> SplitSizing | None:
    """Compare the curve without splits with that of the database in which these units are split; None: no unit is."""
    if not splits:
        return None
    split = sizing(with_splits(situation, splits), settings)
    there = split.present if split.present.size_bytes else split.knee
    here = _nearest(without.points, there.size_bytes)
    return SplitSizing(
        units=len(splits),
        size_bytes=there.size_bytes,
        saved_per_hour=here.saved_per_hour,
        split_saved_per_hour=there.saved_per_hour,
        alike_bytes=_bytes_that_save(without, there.saved_per_hour),
    )


def forecast_with_splits(
    situation: Situation, settings: PolicySettings, plan: Plan, splits: Sequence[Split]
) -> Forecast:
    """Throughput after a plan and these splits, hot parts on the fastest tier."""
    hot = np.zeros(len(splits), dtype=np.int64)
    return forecast(with_splits(situation, splits), settings, np.concatenate((tiers_after(situation, plan), hot)))


def _nearest(points: Sequence[Point], size_bytes: int) -> Point:
    """The largest point of at most that size."""
    return max((each for each in points if each.size_bytes <= size_bytes), key=lambda each: each.size_bytes)


def _bytes_that_save(z: Sizing, saved: float) -> int:
    """Least bytes of whole units that save so much, of the sizes of the curve; all managed bytes where none does."""
    return min((each.used_bytes for each in z.points if each.saved_per_hour >= saved), default=z.managed_bytes)
