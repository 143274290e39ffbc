"""The shapes: how demand moves among units, drawn from a seed. The numbers are in ``frozen``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I64, NO_PARENT, SIGNALS, Bools
from tests.bench.policies.wandering import frozen
from tests.bench.policies.wandering.frozen import DAY, HOURS, SPOT_READS, USUAL_SHARE, WEEK
from tests.bench.policies.wandering.world import World
from tests.workloads import patterns
from tests.workloads.catalogue import Catalogue, mixed

Draw = np.random.Generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Canvas:
    """What a shape begins with, and what it returns: by default nothing changes."""

    hours: int
    catalogue: Catalogue
    factors: F64  # (hours, n)
    spot: F64  # (hours, n)
    born: I64  # (n,) first hour; 0 or less: it exists at the start
    dropped: I64  # (n,) first hour in which it is gone
    grown: F64 | None = None  # (hours, n) size over the size at the start; None: nothing grows

    def usually(self, share: float) -> Canvas:
        """The usual demand times a share."""
        return replace(self, factors=self.factors * share)

    def joined(self, key: list[str], kind: UnitKind, size: F64, born: I64, dropped: I64) -> Canvas:
        """More units, at their hours, without any usual demand."""
        more, base = len(key), self.catalogue
        catalogue = Catalogue(
            key=[*base.key, *key],
            kind=np.concatenate((base.kind, np.full(more, kind, dtype=np.int8))),
            size_bytes=np.concatenate((base.size_bytes, size.astype(np.int64))),
            parent=np.concatenate((base.parent, np.full(more, NO_PARENT, dtype=np.int64))),
            rates=np.concatenate((base.rates, np.zeros((SIGNALS, more))), axis=1),
        )
        none = np.zeros((self.hours, more))
        return replace(
            self, catalogue=catalogue, factors=np.hstack((self.factors, none)), spot=np.hstack((self.spot, none)),
            born=np.concatenate((self.born, born)), dropped=np.concatenate((self.dropped, dropped)),
        )  # fmt: skip


Shape = Callable[[Canvas, Draw], Canvas]


def world(name: str, seed: int, *, hours: int = HOURS, units: int = frozen.UNITS) -> World:
    """One of ``SHAPES``. Everything follows from the seed.

    Raises:
        KeyError: there is no such shape.
    """
    draw = np.random.default_rng([seed, frozen.SHAPES.index(name)])
    return world_of(name, DRAWN[name], draw, seed, hours, units)


def world_of(name: str, shape: Shape, draw: Draw, seed: int, hours: int, units: int) -> World:
    """A shape on the usual database of a seed."""
    catalogue = mixed(units, seed, total_bytes=frozen.TOTAL_BYTES, sync_reads=frozen.READS)
    blank = Canvas(
        hours=hours, catalogue=catalogue, factors=np.ones((hours, units)), spot=np.zeros((hours, units)),
        born=np.zeros(units, dtype=np.int64), dropped=np.full(units, hours, dtype=np.int64),
    )  # fmt: skip
    drawn = shape(blank, draw)
    noise = draw.lognormal(-(frozen.NOISE**2) / 2, frozen.NOISE, drawn.factors.shape)
    hour = np.arange(hours)[:, np.newaxis]
    grown = np.ones(drawn.factors.shape) if drawn.grown is None else drawn.grown
    return World(
        name=name, seed=seed, catalogue=drawn.catalogue, factors=drawn.factors * noise, spot=drawn.spot * noise,
        size=(drawn.catalogue.size_bytes * grown).astype(np.int64), alive=(hour >= drawn.born) & (hour < drawn.dropped),
    )  # fmt: skip


def hot_spot(period: int) -> Shape:
    """The hot spot goes to other units every ``period`` hours; the hour of the day at which it does is drawn."""

    def drawn(canvas: Canvas, draw: Draw) -> Canvas:
        phase = int(draw.integers(0, period))
        spot = canvas.spot.copy()
        for number in range((canvas.hours + phase) // period + 1):
            hot = _some_hot(canvas.catalogue.size_bytes, draw)
            spot[max(0, number * period - phase) : max(0, (number + 1) * period - phase)] = SPOT_READS * hot
        return replace(canvas.usually(USUAL_SHARE), spot=spot)

    return drawn


def partition_a_day(half_life: float) -> Shape:
    """Every day a new partition, hottest when it is new; half of its reads are gone after ``half_life`` hours."""

    def drawn(canvas: Canvas, draw: Draw) -> Canvas:
        first = len(canvas.catalogue)
        days = range(-frozen.EARLIER_PARTITIONS, -(-canvas.hours // DAY))
        born = np.array(days, dtype=np.int64) * DAY + int(draw.integers(0, DAY))
        size = frozen.PARTITION_BYTES * draw.lognormal(0.0, 0.2, len(born))
        key = [f"app.events_p{number:04d}" for number in range(len(born))]
        canvas = canvas.joined(key, UnitKind.TABLE_PARTITION, size, born, np.full(len(born), canvas.hours))
        age = np.arange(canvas.hours)[:, np.newaxis] - born
        newest = SPOT_READS * DAY * np.log(2.0) / half_life  # so that all partitions together have SPOT_READS
        spot = canvas.spot.copy()
        spot[:, first:] = np.where(age >= 0, newest * 2.0 ** (-np.maximum(age, 0) / half_life), 0.0)
        return replace(canvas.usually(USUAL_SHARE), spot=spot)

    return drawn


def hot_for(days: int) -> Shape:
    """Units become hot one by one, stay so for that many days, and rest for a time drawn at random."""

    def drawn(canvas: Canvas, draw: Draw) -> Canvas:
        size, lasting = canvas.catalogue.size_bytes, days * DAY
        may = _may_be_hot(size)
        share = frozen.SPOT_BYTES * size.sum() / size[may].sum()
        weight = _weights(size, draw) * may
        hot = np.zeros((canvas.hours, len(size)))
        for row in np.flatnonzero(may):
            at = -float(draw.uniform(0, lasting)) if draw.random() < share else _rest(lasting, share, draw)
            while at < canvas.hours:
                hot[max(0, round(at)) : max(0, round(at + lasting)), row] = 1.0
                at += lasting + _rest(lasting, share, draw)
        return replace(canvas.usually(USUAL_SHARE), spot=hot * (SPOT_READS * weight / (share * weight.sum())))

    return drawn


def as_before(pattern: patterns.Shape) -> Shape:
    """A shape of ``tests.workloads.patterns``."""

    def drawn(canvas: Canvas, draw: Draw) -> Canvas:
        return replace(canvas, factors=pattern(canvas.hours, len(canvas.catalogue), draw))

    return drawn


def month_end(canvas: Canvas, draw: Draw) -> Canvas:
    """A quarter of the units work in three days of the month only, eight times as hard; the others always."""
    begins = int(draw.integers(frozen.MONTH_END_FROM, frozen.MONTH_END_UNTIL + 1)) * DAY
    hour = np.arange(canvas.hours)
    who = draw.random(len(canvas.catalogue)) < frozen.MONTH_END_UNITS
    last = (hour >= begins) & (hour < begins + 3 * DAY)
    times = np.where(last, frozen.MONTH_END_FACTOR, frozen.QUIET)
    return replace(canvas, factors=np.where(who, times[:, np.newaxis], 1.0))


def batch_scans(canvas: Canvas, draw: Draw) -> Canvas:
    """Reports and batch work read some units from 1 to 5 at night, on three nights of four; nobody else does."""
    factors = canvas.factors.copy()
    batch = draw.random(len(canvas.catalogue)) < frozen.BATCH_UNITS
    factors[:, batch] = frozen.QUIET
    for night in range(0, canvas.hours, DAY):
        tonight = batch & (draw.random(len(batch)) < frozen.BATCH_NIGHTS)
        factors[night + 1 : night + 5, tonight] = frozen.BATCH_FACTOR
    return replace(canvas, factors=factors)


def growth(canvas: Canvas, draw: Draw) -> Canvas:
    """Some units grow by 3 % a day, and so does what is asked of them."""
    who = draw.random(len(canvas.catalogue)) < frozen.GROWING_UNITS
    day = np.arange(canvas.hours)[:, np.newaxis] / DAY
    grown = np.where(who, (1.0 + frozen.GROWTH_PER_DAY) ** day, 1.0)
    return replace(canvas, factors=grown, grown=grown)


def churn(canvas: Canvas, draw: Draw) -> Canvas:
    """Units are created and dropped all the time, and most of the reads are theirs."""
    base, mean_life = canvas.catalogue.size_bytes, frozen.LIFE_DAYS * DAY
    first, living = len(base), int(frozen.BORN_PER_DAY * frozen.LIFE_DAYS)
    created = np.sort(draw.integers(1, canvas.hours, frozen.BORN_PER_DAY * canvas.hours // DAY))
    born = np.concatenate((np.zeros(living, dtype=np.int64), created))
    dropped = np.minimum(canvas.hours, born + 1 + draw.exponential(mean_life, len(born)).astype(np.int64))
    size = frozen.SPOT_BYTES * base.sum() / living * draw.lognormal(-0.5, 1.0, len(born))
    key = [f"app.work{number:05d}" for number in range(len(born))]
    canvas = canvas.joined(key, UnitKind.TABLE, size, born, dropped)
    weight = _weights(size, draw)
    spot = canvas.spot.copy()
    spot[:, first:] = SPOT_READS * weight / (living * weight.mean())
    return replace(canvas.usually(USUAL_SHARE), spot=spot)


def regime_change(canvas: Canvas, draw: Draw) -> Canvas:
    """Twice in four weeks all heat is dealt out again, by Zipf 0.9."""
    size, spot, since = canvas.catalogue.size_bytes, canvas.spot.copy(), 0
    for day in (*frozen.REGIME_DAYS, None):
        until = canvas.hours if day is None else day * DAY + int(draw.integers(-DAY, DAY + 1))
        weight = draw.permutation(1.0 / np.arange(1, len(size) + 1) ** 0.9) * size**frozen.SIZE_MATTERS
        spot[since:until] = SPOT_READS * weight / weight.sum()
        since = until
    return replace(canvas.usually(USUAL_SHARE), spot=spot)


DRAWN: dict[str, Shape] = {
    "hot_spot_24h": hot_spot(DAY),
    "hot_spot_72h": hot_spot(3 * DAY),
    "hot_spot_7d": hot_spot(WEEK),
    "partition_36h": partition_a_day(36.0),
    "partition_12h": partition_a_day(12.0),
    "hot_for_4d": hot_for(4),
    "hot_for_10d": hot_for(10),
    "drifting": as_before(patterns.drifting),
    "weekly": as_before(patterns.weekly),
    "flash_crowd": as_before(patterns.flash_crowd),
    "day_night": as_before(patterns.day_night),
    "month_end": month_end,
    "batch_scans": batch_scans,
    "growth": growth,
    "churn": churn,
    "regime_change": regime_change,
    "stationary": as_before(patterns.stationary),
}


def _may_be_hot(size: I64) -> Bools:
    return np.asarray(size <= frozen.LARGEST_HOT * size.sum(), dtype=np.bool_)


def _weights(size: I64 | F64, draw: Draw) -> F64:
    spread: F64 = draw.lognormal(0.0, frozen.SPOT_SPREAD, len(size))
    return np.asarray(size**frozen.SIZE_MATTERS * spread, dtype=np.float64)


def _some_hot(size: I64, draw: Draw) -> F64:
    """Shares of the hot spot's reads, ``(n,)``: units of ``SPOT_BYTES`` in all, chosen at random."""
    order = draw.permutation(np.flatnonzero(_may_be_hot(size)))
    hot = order[np.cumsum(size[order]) <= frozen.SPOT_BYTES * size.sum()]
    weight = np.zeros(len(size))
    weight[hot] = _weights(size, draw)[hot]
    return np.asarray(weight / weight.sum(), dtype=np.float64)


def _rest(lasting: float, share: float, draw: Draw) -> float:
    """Hours until a unit is hot again, so that it is hot for a share of the time."""
    return float(draw.exponential(lasting * (1 - share) / share))
