"""Caches of pages as large as the fast tier, played read by read: LRU, ARC and W-TinyLFU.

One page in ``ONE_IN`` is played, in a cache that is as much smaller: which pages are drawn does not depend on how hot
they are, so its hits are those of the whole (Waldspurger et al., Efficient MRC construction with SHARDS, FAST 2015). As
with the analytic LRU a fifth of a unit's pages takes four fifths of its reads. A page that is filled is either free or
costs what a copy of as many bytes costs.

ARC: Megiddo and Modha, FAST 2003. W-TinyLFU: Einziger, Friedman and Manes, ACM Transactions on Storage 13(4), 2017: a
window of a hundredth, a segmented LRU behind it, and counts that are halved every ten capacities of reads.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from statistics import fmean
from typing import Protocol

import numpy as np

from connectors.model.observation import F64, I64
from tests.bench.measurement import Measurement
from tests.bench.policies.cache import PAGE
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY
from tests.bench.policies.wandering.days import Days
from tests.bench.policies.wandering.rules import HOT_PAGES, HOT_READS, used
from tests.bench.policies.wandering.stage import Score, by_day
from tests.bench.policies.wandering.world import HOUR, World, wait_on_slow

ROWS = "policy.page_cache."
ONE_IN = 2_000  # pages; 4,000 of a fast tier of 60 GiB, and three million reads in 28 days
WINDOW, PROTECTED = 0.01, 0.8  # shares of W-TinyLFU
CHARGED = ", fills charged"  # after the name of a cache
RESET = 10  # capacities of reads after which counts are halved
_HALVES = ((HOT_PAGES, HOT_READS), (1 - HOT_PAGES, 1 - HOT_READS))
Pages = OrderedDict[int, None]


class Cache(Protocol):
    """So many pages."""

    fills: int  # pages that were brought in

    def read(self, page: int) -> bool:
        """Whether it was there; if not, it may be now."""
        ...


class Lru:
    """What was read longest ago goes."""

    def __init__(self, size: int) -> None:
        self._size, self._pages, self.fills = size, Pages(), 0

    def read(self, page: int) -> bool:
        """Every miss is filled."""
        if page in self._pages:
            self._pages.move_to_end(page)
            return True
        if len(self._pages) >= self._size:
            self._pages.popitem(last=False)
        self._pages[page] = None
        self.fills += 1
        return False


class Arc:
    """Once read and often read share the room by what has been missed of either lately."""

    def __init__(self, size: int) -> None:
        self._size, self._target, self.fills = size, 0.0, 0
        self._once, self._often, self._once_gone, self._often_gone = Pages(), Pages(), Pages(), Pages()

    def read(self, page: int) -> bool:
        """Every miss is filled."""
        if page in self._once or page in self._often:
            self._once.pop(page, None)
            self._often.pop(page, None)
            self._often[page] = None
            return True
        self.fills += 1
        once_gone, often_gone = len(self._once_gone), len(self._often_gone)
        if page in self._once_gone:
            self._target = min(float(self._size), self._target + max(1.0, often_gone / once_gone))
            self._replace(again=False)
            del self._once_gone[page]
            self._often[page] = None
        elif page in self._often_gone:
            self._target = max(0.0, self._target - max(1.0, once_gone / often_gone))
            self._replace(again=True)
            del self._often_gone[page]
            self._often[page] = None
        else:
            self._make_room()
            self._once[page] = None
        return False

    def _make_room(self) -> None:
        once = len(self._once) + len(self._once_gone)
        if once == self._size:
            if len(self._once) < self._size:
                self._once_gone.popitem(last=False)
                self._replace(again=False)
            else:
                self._once.popitem(last=False)
        elif once + len(self._often) + len(self._often_gone) >= self._size:
            if once + len(self._often) + len(self._often_gone) >= 2 * self._size:
                self._often_gone.popitem(last=False)
            self._replace(again=False)

    def _replace(self, *, again: bool) -> None:
        if len(self._once) + len(self._often) < self._size:
            return
        too_many = len(self._once) > self._target or (again and len(self._once) == self._target)
        from_once = (bool(self._once) and too_many) or not self._often
        source, ghost = (self._once, self._once_gone) if from_once else (self._often, self._often_gone)
        ghost[source.popitem(last=False)[0]] = None


class WTinyLfu:
    """What leaves the window comes into the cache only if it was read more often than what would have to go."""

    def __init__(self, size: int) -> None:
        self._window_size = max(1, round(WINDOW * size))
        self._main_size = size - self._window_size
        self._protected_size = int(PROTECTED * self._main_size)
        self._window, self._probation, self._protected = Pages(), Pages(), Pages()
        self._counts, self._reads, self._reset, self.fills = dict[int, int](), 0, RESET * size, 0

    def read(self, page: int) -> bool:
        """A miss comes into the window."""
        self._count(page)
        for segment in (self._window, self._protected):
            if page in segment:
                segment.move_to_end(page)
                return True
        if page in self._probation:
            del self._probation[page]
            self._protected[page] = None
            if len(self._protected) > self._protected_size:
                self._probation[self._protected.popitem(last=False)[0]] = None
            return True
        self._window[page] = None
        self.fills += 1
        if len(self._window) > self._window_size:
            self._admit(self._window.popitem(last=False)[0])
        return False

    def _admit(self, page: int) -> None:
        if len(self._probation) + len(self._protected) >= self._main_size:
            segment = self._probation or self._protected
            victim = next(iter(segment))
            if self._counts.get(page, 0) <= self._counts.get(victim, 0):
                return
            del segment[victim]
        self._probation[page] = None

    def _count(self, page: int) -> None:
        self._counts[page] = min(15, self._counts.get(page, 0) + 1)
        self._reads += 1
        if self._reads >= self._reset:
            self._reads //= 2
            self._counts = {known: count // 2 for known, count in self._counts.items() if count > 1}


CACHES: dict[str, Callable[[int], Cache]] = {"LRU": Lru, "ARC": Arc, "W-TinyLFU": WTinyLfu}
NAMES = tuple(f"{name}{fills}" for name in CACHES for fills in ("", CHARGED))


def play_caches(world: World, one_in: int = ONE_IN) -> list[Score]:
    """Each of ``CACHES`` twice: its fills for nothing, and charged like copies."""
    draw = np.random.default_rng([world.seed, one_in])
    size = max(2, round(world.capacity / PAGE / one_in))
    caches = {name: cache(size) for name, cache in CACHES.items()}
    saved = {name: np.zeros(world.hours) for name in caches}
    filled = {name: np.zeros(world.hours) for name in caches}
    first = np.concatenate(([0], np.cumsum(_most_pages(world, one_in))))
    rounding = draw.random(2 * len(world.catalogue))
    for hour in range(world.hours):
        unit, page = _reads(world, hour, one_in, first, rounding, draw)
        asked = np.bincount(unit, minlength=len(world.catalogue))
        numbers = page.tolist()
        for name, cache in caches.items():
            before = cache.fills
            hits = np.fromiter(map(cache.read, numbers), dtype=np.bool_, count=len(numbers))
            inside = np.bincount(unit[hits], minlength=len(asked)) / np.maximum(1, asked)
            saved[name][hour] = (world.saving[hour] * inside).sum()
            filled[name][hour] = (cache.fills - before) * one_in * PAGE
    slow = np.array([wait_on_slow(world.rates(hour)).sum() for hour in range(world.hours)])
    return [score for name in caches for score in charged(name, saved[name], filled[name], slow)]


def charged(name: str, saved: F64, filled: F64, slow: F64) -> tuple[Score, Score]:
    """A cache whose fills are free, and the same one whose fills cost what copies cost.

    Args:
        name: of the cache.
        saved: (hours,) wait seconds that its hits save.
        filled: (hours,) bytes that it brought in.
        slow: (hours,) wait seconds if everything is on the slow tier.
    """
    waiting = (slow - saved) / HOUR
    cost = filled / COPY_BYTES_PER_SECOND * SLOWED_BY_COPY * (COMPUTING + waiting)
    free = Score(
        policy=name, saved_seconds=float(saved.sum()), moved_bytes=float(filled.sum()), whole_units=False,
        days=by_day(saved),
    )  # fmt: skip
    policy = f"{name}{CHARGED}"
    return free, replace(free, policy=policy, cost_seconds=float(cost.sum()), days=by_day(saved - cost))


def _most_pages(world: World, one_in: int) -> I64:
    """Pages that are played at most, of the hotter and then the colder part of each unit. ``(2 n,)``."""
    largest = world.size.max(axis=0)
    pages = [np.ceil(largest * share / PAGE / one_in) + 1 for share, _ in _HALVES]
    return np.concatenate(pages).astype(np.int64)


def _reads(
    world: World, hour: int, one_in: int, first: I64, rounding: F64, draw: np.random.Generator
) -> tuple[I64, I64]:
    """Units and pages that are read within an hour, in the order of the reads."""
    n = len(world.catalogue)
    size = np.where(world.alive[hour], world.size[hour], 0)
    wanted = np.concatenate([size * share / PAGE / one_in for share, _ in _HALVES])
    # A part smaller than a played page is played with its chance, and then with all of its reads.
    pages = np.floor(wanted + rounding).astype(np.int64)
    rates = used(world.rates(hour)) * HOUR / one_in
    expected = np.concatenate([rates * share for _, share in _HALVES])
    expected = np.divide(expected * pages, wanted, out=np.zeros(2 * n), where=wanted > 0)
    part = np.repeat(np.arange(2 * n), draw.poisson(expected))
    part = draw.permutation(part)
    page = first[part] + (draw.random(len(part)) * pages[part]).astype(np.int64)
    return part % n, page


def cache_rows(published: Mapping[str, Days], command: str) -> Iterator[Measurement]:
    """Each cache over hotplace on the same loads, and over the LRU cache whose fills are free; where it was played."""
    for name in NAMES:
        over, over_lru = (gains_over(published, name, other) for other in ("hotplace", NAMES[0]))
        if not over:
            continue
        most = max(over, key=lambda played: over[played])
        ratios = list(over.values())
        row = name.lower().replace(CHARGED, "_charged").replace("-", "_")
        yield Measurement(
            name=f"{ROWS}{row}", value=fmean(ratios), unit="of hotplace's gain", better="lower", command=command,
            spread=f"{min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} values",
            note=f"most on {most[0]}, seed {most[1]}; {fmean(over_lru.values()):.3f} of an LRU cache with free fills",
        )  # fmt: skip


def gains_over(published: Mapping[str, Days], name: str, other: str) -> dict[tuple[str, int], float]:
    """By shape and seed: the gain of a contestant over that of another one, where both were played."""
    over = {}
    for shape, of in published.items():
        mine, theirs = (of["totals"].get(each, [None] * len(of["seeds"])) for each in (name, other))
        for seed, gain, other_gain in zip(of["seeds"], mine, theirs, strict=True):
            if gain is not None and other_gain is not None:
                over[shape, seed] = gain / other_gain
    return over
