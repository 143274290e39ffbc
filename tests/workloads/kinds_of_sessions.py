"""Sessions of several kinds on one server, event by event under a virtual clock: what a placement does to each of them.

A session thinks, takes a processor, then reads its blocks one after the other and waits for each. One disk and a few
processors serve first come first served; what is on the fast tier takes a fixed time. Nothing of the policies' own
models is in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

import numpy as np

WARM = 0.2  # of the events, before anything is measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A closed population; all times are means of exponential ones."""

    count: int
    think_seconds: float
    compute_seconds: float  # of a processor, each transaction
    reads: int = 0  # of a transaction


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """What they share."""

    disk_seconds: float  # of a read
    fast_seconds: float  # of a read that the fast tier serves
    fast_share: float = 0.0  # of the reads
    processors: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Did:
    """What sessions of one kind did, once warm."""

    transactions: float  # a second
    active: float  # sessions at work on average
    waiting: float  # sessions that waited for reads on average
    computing: float  # processors busy with them on average


def run(kinds: Sequence[Kind], server: Server, *, events: int = 60_000, seed: int = 0) -> list[Did]:
    """Let them work; one answer for each kind."""
    draw = np.random.default_rng(seed)
    chances, lengths = iter(draw.random(events).tolist()), iter(draw.exponential(1.0, events).tolist())
    kind_of = [at for at, kind in enumerate(kinds) for _ in range(kind.count)]
    # When it goes on, which session, how many reads are left (-1: it has thought), when its transaction began.
    due = [(float(t) * kinds[k].think_seconds, s, -1, 0.0) for s, (k, t) in
           enumerate(zip(kind_of, draw.exponential(1.0, len(kind_of)), strict=True))]  # fmt: skip
    heapify(due)
    disk, processors = 0.0, [0.0] * server.processors
    sums = np.zeros((4, len(kinds)))
    since, now = 0.0, 0.0
    for event in range(events):
        now, session, left, began = due[0]
        kind = kinds[kind_of[session]]
        if event == int(WARM * events):
            sums[:], since = 0.0, now
        length = next(lengths)
        of = kind_of[session]
        if left < 0:
            takes = length * kind.compute_seconds
            done = max(now, min(processors)) + takes
            processors[processors.index(min(processors))] = done
            sums[3, of] += takes
            heapreplace(due, (done, session, kind.reads, now))
        elif left > 0:
            if next(chances) < server.fast_share:
                done = now + server.fast_seconds
            else:
                done = disk = max(now, disk) + length * server.disk_seconds
            sums[2, of] += done - now
            heapreplace(due, (done, session, left - 1, began))
        else:
            sums[0, of] += 1
            sums[1, of] += now - began
            heapreplace(due, (now + length * kind.think_seconds, session, -1, 0.0))
    rates = sums / (now - since)
    return [Did(transactions=t, active=a, waiting=w, computing=c) for t, a, w, c in rates.T.tolist()]
