"""Sessions at work on banks of drives, event by event under a virtual clock: what a placement does to their waits.

A session computes, then reads one block and waits for it; some of its reads bring a batch read ahead with them. Units
are striped over all drives of their bank, and a drive serves one request after the other. Nothing of the policies' own
models is in it: neither waits at unchanged latency nor the equations of ``policies.evidence.queueing``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F64, I64, Signal
from tests.workloads.catalogue import Catalogue

BATCH_BLOCKS = 32  # read ahead by one request
WARM = 0.1  # of the reads, before anything is measured
NOTHING = -1  # instead of a drive


@dataclass(frozen=True, slots=True, kw_only=True)
class Bank:
    """Equal drives over which units are striped."""

    drives: int
    read_seconds: float  # of a random read, mean; exponentially distributed
    block_seconds: float  # of a block within a batch, likewise


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """A closed population."""

    count: int
    compute_seconds: float  # between two reads, mean; exponentially distributed
    waits_for_batch: float  # share of the batches that their session waits for


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What was measured once warm."""

    reads_per_second: float
    wait_seconds: float  # of a session per read, batches included


def run(
    units: Catalogue, tier: I64, banks: Sequence[Bank], sessions: Sessions, *, reads: int = 200_000, seed: int = 0
) -> Ran:
    """Let the sessions work with each unit on the bank given.

    Args:
        units: their synchronous and prefetched reads say where reads and batches go, and how many batches there are.
        tier: row of ``banks`` for each unit, shape ``(n,)``.
        banks: the drives.
        sessions: who works.
        reads: that are played in all.
        seed: decides everything that is drawn.

    Returns:
        What the reads after the first tenth came to.
    """
    draw = np.random.default_rng(seed)
    sync, ahead = units.rates[Signal.SYNC_READ], units.rates[Signal.PREFETCHED_READ]
    read, takes = _requests(draw, sync, tier, banks, [bank.read_seconds for bank in banks], reads)
    batch, longer = _requests(draw, ahead, tier, banks, [bank.block_seconds * BATCH_BLOCKS for bank in banks], reads)
    batch[draw.random(reads) >= ahead.sum() / BATCH_BLOCKS / sync.sum()] = NOTHING
    for_both = draw.random(reads) < sessions.waits_for_batch
    compute = draw.exponential(sessions.compute_seconds, reads)
    due = draw.exponential(sessions.compute_seconds, sessions.count).tolist()
    begun, done = _served((read, takes, batch, longer, for_both, compute), due, sum(bank.drives for bank in banks))
    warm = slice(int(WARM * reads), None)
    begun, done = begun[warm], done[warm]
    return Ran(
        reads_per_second=float((len(begun) - 1) / (begun[-1] - begun[0])),
        wait_seconds=float((done - begun).mean()),
    )


def _requests(
    draw: np.random.Generator, rates: F64, tier: I64, banks: Sequence[Bank], seconds: Sequence[float], count: int
) -> tuple[I64, F64]:
    """The drive of each request, drives of all banks counted on, and how long it is served. Shapes ``(count,)``."""
    drives = np.array([bank.drives for bank in banks])
    total = rates.sum()  # nothing: then nobody uses what is drawn
    bank = tier[draw.choice(len(rates), count, p=rates / total if total else None)]
    drive = (np.cumsum(drives) - drives)[bank] + (draw.random(count) * drives[bank]).astype(np.int64)
    return drive, draw.exponential(1.0, count) * np.array(seconds)[bank]


def _served(requests: tuple[NDArray[Any], ...], due: list[float], drives: int) -> tuple[F64, F64]:
    """When each read was asked for and when its session went on, first come first served at every drive.

    The sessions are alike, so all that is known of them is when the next of them will ask.
    """
    heapify(due)
    free = [0.0] * drives
    asked, went_on = [], []
    for drive, takes, batch, longer, for_both, computes in zip(*(c.tolist() for c in requests), strict=True):
        now = due[0]
        done = free[drive] = max(now, free[drive]) + takes
        if batch != NOTHING:
            free[batch] = max(now, free[batch]) + longer
            if for_both:
                done = max(done, free[batch])
        heapreplace(due, done + computes)
        asked.append(now)
        went_on.append(done)
    return np.array(asked), np.array(went_on)
