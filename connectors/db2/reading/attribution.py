"""Which of a table space's reads and waits were those of which object. Pure.

Db2 tells a table space's reads by sessions and by prefetchers for each kind of page (DATA, INDEX, XDA, COL), and its
three waits; of an object it tells the pages read by both, those found in the buffer pool, and scans. So, kind by kind::

    reads by sessions of the space  = physical - asynchronous (POOL_ASYNC_k_READS)
    an object's pages not found     = OBJECT_k_L_READS - OBJECT_k_LBP_PAGES_FOUND

What was read ahead in time is found when its session asks for it, so pages not found are those that the session read
itself. They are believed where, over a space, they come to about what its sessions read; elsewhere (pureScale, where
the group pool answers too, or a version without the counter) prefetched pages are given to what scanned first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, I64

BELIEVED = 1.5  # pages not found may come to so many times what sessions read, before they are not believed


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOfPages:
    """One kind of page in an interval: of each object shape ``(n,)``, of each space shape ``(spaces,)``."""

    physical: F64
    not_found: F64  # asked for and not in the local buffer pool
    found: F64
    in_order: F64  # pages that scans may have read, at most ``physical``
    space_physical: F64  # NaN: not known
    space_async: F64


def divide(top: F64, bottom: F64) -> F64:
    """Their ratio; 0 where there is nothing to divide by."""
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom > 0)


def sums(values: F64, at: I64, spaces: int) -> F64:
    """What the objects of each space come to, shape ``(spaces,)``."""
    return np.asarray(np.bincount(at, weights=values, minlength=spaces), dtype=np.float64)


def session_reads(kind: KindOfPages, at: I64) -> F64:
    """Pages of each object that sessions read themselves, shape ``(n,)``; the rest was read ahead of them.

    Args:
        kind: of page.
        at: place of each object's table space, shape ``(n,)``.
    """
    spaces = len(kind.space_physical)

    of_objects = sums(kind.physical, at, spaces)
    ahead = _async_of_objects(kind, of_objects)
    by_sessions = of_objects - ahead
    own = np.minimum(kind.not_found, kind.physical)
    not_scanned = kind.physical - _spread(ahead, kind.in_order, kind.physical, at)
    # Where pages were read ahead and none was ever found, the version does not count them: all would look read by
    # sessions.
    some_found = (sums(kind.found, at, spaces) > 0) | (ahead == 0)
    believed = some_found & (sums(own, at, spaces) <= BELIEVED * by_sessions)
    return _spread(by_sessions, np.where(believed[at], own, not_scanned), kind.physical, at)


def _async_of_objects(kind: KindOfPages, of_objects: F64) -> F64:
    """Pages of the objects of each space that prefetchers read; where a space tells nothing, as in all others."""
    known = (kind.space_physical > 0) & ~np.isnan(kind.space_async)
    total = kind.space_physical[known].sum()
    usual = float(kind.space_async[known].sum() / total) if total > 0 else 1.0
    share = np.full(len(known), usual)
    share[known] = kind.space_async[known] / kind.space_physical[known]
    return np.asarray(of_objects * np.clip(share, 0.0, 1.0), dtype=np.float64)


def _spread(pages: F64, first: F64, most: F64, at: I64) -> F64:
    """Divide pages of each space among its objects, by ``first``; what is left over by what they can still take.

    Args:
        pages: of each space, at most the sum of ``most`` there.
        first: of each object, at most ``most``.
        most: that each object can take.
        at: place of each object's space.
    """
    spaces = len(pages)
    wanted = sums(first, at, spaces)
    given = first * np.minimum(1.0, divide(pages, wanted))[at]
    left = np.maximum(0.0, pages - sums(given, at, spaces))
    # What is left over goes by what each can still take: shared out by size alone, an object would get more reads than
    # it had.
    can_take = np.maximum(0.0, most - given)
    room = sums(can_take, at, spaces)
    return np.asarray(given + can_take * np.minimum(1.0, divide(left, room))[at], dtype=np.float64)


def spread_seconds(seconds: F64, weight: F64, of_space: F64, at: I64) -> F64:
    """Divide waits of each space among its objects by what they did of all that was done there.

    Args:
        seconds: of each space; NaN where it is not known.
        weight: of each object.
        of_space: the same of each space as a whole; what of it no object did keeps its part of the wait.
        at: place of each object's space.
    """
    done = np.maximum(np.nan_to_num(of_space), sums(weight, at, len(seconds)))
    return np.asarray(divide(weight, done[at]) * seconds[at], dtype=np.float64)
