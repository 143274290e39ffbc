"""A cache of pages instead of placed objects: least recently used goes out, every miss comes in.

By the characteristic-time approximation (Che, Tung, Wang 2002) with rates that change: a page is in the cache when it
was asked for within the last T seconds, and T is such that those pages fill the cache. Pages of a unit are equally hot.
Kind to the cache: a scan counts as random reads over its unit, admission costs the sessions nothing, and a database's
own working pages are not copied twice. Its bytes written are counted: every miss is one.
"""

from __future__ import annotations

import numpy as np

from connectors.model.observation import F64, Signal
from policies.evidence.prices import HOUR
from tests.bench.policies.stage import Score, Stage, saving
from tests.workloads.patterns import WEEK, Workload

PAGE = 8192
_HALVINGS = 40


def play_cache(workload: Workload) -> Score:
    """The whole workload through a cache as large as the fast tier."""
    size = workload.catalogue.size_bytes.astype(np.float64)
    capacity = Stage(workload).capacity
    asked = np.zeros((workload.hours + 1, len(size)))  # reads of one page of each unit, up to the end of each hour
    saved = written = 0.0
    for hour in range(workload.hours):
        rates = workload.rates(hour)
        reads = rates[Signal.SYNC_READ] + rates[Signal.PREFETCHED_READ] + rates[Signal.DIRECT_READ]
        asked[hour + 1] = asked[hour] + reads * HOUR * PAGE / size
        inside = 0.5 * (cached_shares(asked, hour, size, capacity) + cached_shares(asked, hour + 1, size, capacity))
        saved += float((saving(rates) * inside).sum())
        written += float((reads * (1 - inside)).sum()) * HOUR * PAGE
    return Score(
        policy="LRU cache",
        saved_seconds=saved,
        cost_seconds=0.0,
        moved_bytes=written,
        capacities_per_week=written / capacity / (workload.hours / WEEK),
        undone=0,
        moves=0,
    )


def cached_shares(asked: F64, now: int, size: F64, capacity: int) -> F64:
    """Share of each unit's pages that is in the cache at an hour's end, ``(n,)``."""
    low, high = 0.0, float(now)
    for _ in range(_HALVINGS):
        back = (low + high) / 2
        if float((_seen(asked, now, back) * size).sum()) > capacity:
            high = back
        else:
            low = back
    return _seen(asked, now, low)


def _seen(asked: F64, now: int, back: float) -> F64:
    """Probability that a page was asked for within the last ``back`` hours."""
    since = max(0.0, now - back)
    hour = int(since)
    then = asked[hour] + (asked[min(hour + 1, now)] - asked[hour]) * (since - hour)
    return np.asarray(1.0 - np.exp(-(asked[now] - then)), dtype=np.float64)
