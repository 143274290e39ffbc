"""How much of each unit's working set the buffer pool holds."""

from __future__ import annotations

import numpy as np

from connectors.model import F64

PAGE_BYTES = 8192
LONGEST = 1e30  # transactions; a page referenced more rarely than once in that many is never cached


def hit_ratios(random_reads: F64, working_bytes: F64, pool_bytes: float) -> F64:
    """Share of random reads that find their page, by Che's approximation of LRU (Che, Tung, Wang 2002).

    A page referenced at rate r is in the pool with probability ``1 - exp(-r * T)``; the characteristic time T is the
    one at which the expected content fills the pool. Reads within a working set are taken as uniform.

    Args:
        random_reads: page references per transaction of each unit, shape ``(n,)``.
        working_bytes: what they go to, shape ``(n,)``.
        pool_bytes: size of the pool.

    Returns:
        Hit ratio of each unit, 0 to 1, shape ``(n,)``; 1 for all when everything referenced fits.
    """
    referenced = (random_reads > 0) & (working_bytes > 0)
    pages = np.where(referenced, np.maximum(working_bytes / PAGE_BYTES, 1.0), 1.0)
    rate = np.where(referenced, random_reads / pages, 0.0)
    if float(working_bytes[referenced].sum()) <= pool_bytes:
        return np.ones_like(rate)
    size = np.where(referenced, pages * PAGE_BYTES, 0.0)
    low, high = 0.0, 1.0
    while high < LONGEST and float(size @ -np.expm1(-rate * high)) < pool_bytes:
        high *= 4.0
    for _ in range(50):
        middle = (low + high) / 2.0
        low, high = (middle, high) if float(size @ -np.expm1(-rate * middle)) < pool_bytes else (low, middle)
    return np.asarray(-np.expm1(-rate * high), dtype=np.float64)
