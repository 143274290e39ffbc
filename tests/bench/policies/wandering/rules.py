"""Six strong simple rules, which act at once, and the other LRU baseline: what a site could do without hotplace.

Five place whole units, from the top of a ranking; each act moves up what the ranking wants and down the lowest of the
others as far as room is needed. The sixth is an LRU cache of pages as large as the tier. It is given its fills for
nothing and no unit-wise placement can do what it does, so figures are published with it and without it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from connectors.model.observation import F64, Signal
from tests.bench.policies.baselines import filled, swaps
from tests.bench.policies.cache import PAGE, cached_shares
from tests.bench.policies.stage import Hop, Past
from tests.bench.policies.wandering.frozen import DAY
from tests.bench.policies.wandering.stage import Moment, Policy, Score, Stage, by_day
from tests.bench.policies.wandering.world import HOUR, World, saving

Figure = Callable[[F64], F64]  # rates of an hour (SIGNALS, n) -> what is averaged, (n,)
HOT_PAGES, HOT_READS = 0.2, 0.8  # this share of a unit's pages takes this share of its reads
LFU_HALF_LIFE = 12.0  # hours in which a count loses half of its weight
BLOCK = 6  # hours


def busy(rates: F64) -> F64:
    """Logical reads, whatever they cost."""
    return np.asarray(rates[Signal.LOGICAL_READ], dtype=np.float64)


def used(rates: F64) -> F64:
    """Page reads that reach storage, waited for or not."""
    return np.asarray(rates[[Signal.SYNC_READ, Signal.PREFETCHED_READ]].sum(axis=0), dtype=np.float64)


class Ranker:
    """Ranks by a decaying or a plain mean of a figure, and fills the tier from the top.

    Args:
        name: in tables.
        figure: of each hour.
        world: with the tier's capacity.
        every: hours between two acts.
        window: hours whose plain mean counts; None: ``half_life`` counts.
        half_life: hours in which the weight of what was seen halves.
        residents: factor on the figure of what is on the fast tier.
        per_byte: rank by the figure per byte.
    """

    def __init__(
        self, name: str, figure: Figure, world: World, *, every: int, window: int | None = None,
        half_life: float = LFU_HALF_LIFE, residents: float = 1.0, per_byte: bool = True,
    ) -> None:  # fmt: skip
        self.name = name
        self._figure = figure
        self._capacity = world.capacity
        self._every = every
        self._window = window
        self._fading = 2.0 ** (-1.0 / half_life)
        self._residents = residents
        self._per_byte = per_byte
        self._seen: list[F64] = []
        self._aged = np.zeros(len(world.catalogue))

    def decide(self, moment: Moment) -> list[Hop]:
        """Up what the ranking wants, down the lowest of the others as far as room is needed."""
        if not self._seen or moment.hour % self._every:
            return []
        figure = self._aged if self._window is None else np.mean(self._seen[-self._window :], axis=0)
        score = np.where(moment.alive, figure, 0.0) * np.where(moment.fast, self._residents, 1.0)
        score = score / moment.size if self._per_byte else score
        wanted = filled(score, moment.size, self._capacity)
        leaving = [int(row) for row in np.argsort(score) if moment.fast[row] and not wanted[row]]
        room = self._capacity - int(moment.size[moment.fast].sum())
        return swaps(score, wanted & ~moment.fast, leaving, moment.size, room)

    def saw(self, past: Past) -> None:
        """Remember the hour."""
        figure = self._figure(past.rates)
        self._aged = self._aged * self._fading + figure
        self._seen = [*self._seen[-DAY:], figure]


def rankers(world: World) -> list[Policy]:
    """The rules that place whole units."""
    return [
        Ranker("daily 24 h mean", saving, world, every=DAY, window=DAY),
        Ranker("6 h mean, residents x2", saving, world, every=1, window=BLOCK, residents=2.0),
        Ranker("per 6 h, residents x2", saving, world, every=BLOCK, window=BLOCK, residents=2.0),
        Ranker("LFU with ageing", used, world, every=BLOCK),
        Ranker("busiest first", busy, world, every=DAY, window=DAY, per_byte=False),
    ]


def play_rules(world: World) -> list[Score]:
    """The six rules."""
    return [*(Stage(world).play(ranker) for ranker in rankers(world)), play_lru(world, "LRU, 80/20 pages")]


def play_lru(world: World, name: str, hot_pages: float = HOT_PAGES, hot_reads: float = HOT_READS) -> Score:
    """An LRU cache of pages as large as the fast tier, by the characteristic time of each hour (Che 2002).

    Args:
        world: played.
        name: in tables.
        hot_pages: share of each unit's pages ...
        hot_reads: ... that takes this share of its reads; equal shares: all pages of a unit are equally hot.
    """
    hours, n = world.alive.shape
    pages = np.repeat([hot_pages, 1 - hot_pages], n)
    reads = np.repeat([hot_reads, 1 - hot_reads], n)
    asked = np.zeros((hours + 1, 2 * n))  # reads of one page of each half of a unit, up to the end of each hour
    saved, filled_bytes = np.zeros(hours), 0.0
    for hour in range(hours):
        size = np.tile(np.where(world.alive[hour], world.size[hour], 0), 2) * pages
        per_unit = used(world.rates(hour))
        per_page = np.divide(np.tile(per_unit, 2) * reads * HOUR * PAGE, size, out=np.zeros(2 * n), where=size > 0)
        asked[hour + 1] = asked[hour] + per_page
        begin, end = (cached_shares(asked, at, size, world.capacity) for at in (hour, hour + 1))
        inside = reads * 0.5 * (begin + end)
        inside = inside[:n] + inside[n:]
        saved[hour] = (world.saving[hour] * inside).sum()
        filled_bytes += float((per_unit * (1 - inside)).sum()) * HOUR * PAGE
    return Score(
        policy=name, saved_seconds=float(saved.sum()), moved_bytes=filled_bytes, whole_units=False, days=by_day(saved)
    )


def play_lru_of_equal_pages(world: World) -> Score:
    """The kinder baseline: every page of a unit is as hot as the others."""
    return play_lru(world, "LRU, equal pages", 0.5, 0.5)
