"""Queueing relief: when hot units leave a busy disk, what stays behind waits less in its queue.

How busy a disk is shows in its own reads: they take ``R`` seconds where an idle disk takes ``S``. For one queue with
random arrivals ``R = S / (1 - u)``, so ``u = 1 - S / R``; with ``x`` of the I/Os left, ``R' = S / (1 - x u)``. On the
tier that gets them, ``x`` is more than 1 and its own units pay. Disks with a queue each are one queue each; where
several servers share one, ``R = S (1 + w u**k / (1 - u))``: see ``stations``.

That holds while as many requests come as before. Sessions that wait less ask for more, and where they keep the disk as
busy as it was, relief is nothing. So relief is no part of a plan's saving: it is given as a figure of its own, and
widens the upper end of the saving's interval. What the faster tier's own units may lose widens the lower end.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64

MOST_BUSY = 0.95  # beyond it a queue has no steady length that anybody could predict
LEAST_FREE = 1e-300  # of a server
HALVINGS = 60  # of an interval in which a utilisation lies: to the last bits


@dataclass(frozen=True, slots=True)
class Queue:
    """What an arrival waits for, in services, at utilisation ``u``: ``share * u**power / (1 - u)``."""

    share: float = 1.0  # w
    power: float = 1.0  # k

    def services_ahead(self, busy: float) -> float:
        """At that utilisation, below 1."""
        return float(self.share * busy**self.power / (1.0 - busy))


ONE_SERVER = Queue()


def services_ahead(share: F64, power: F64, busy: F64) -> F64:
    """``Queue.services_ahead`` of many; inf where a server has no time left."""
    return np.where(busy < 1, share * np.minimum(busy, 1) ** power / np.maximum(1 - busy, LEAST_FREE), np.inf)


def utilisation(read_seconds: float, idle_seconds: float, queue: Queue = ONE_SERVER) -> float:
    """How busy a device is by its reads, 0 to ``MOST_BUSY``; 0 where it is not known how fast it is when idle.

    Args:
        read_seconds: of a read now, its queue included.
        idle_seconds: without a queue, 0 where that is not known.
        queue: what an arrival waits for.
    """
    if idle_seconds <= 0 or read_seconds <= idle_seconds:
        return 0.0
    found = read_seconds / idle_seconds - 1.0
    if found >= queue.services_ahead(MOST_BUSY):
        return MOST_BUSY
    low, high = 0.0, MOST_BUSY
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if queue.services_ahead(middle) < found else (low, middle)
    return low


def change_ratio(read_seconds: float, idle_seconds: float, left: float, queue: Queue = ONE_SERVER) -> float:
    """Time of a read with ``left`` times the I/Os, over its time now: below 1 is relief.

    Raises:
        ValueError: less than nothing would be left.
    """
    if left < 0:
        raise ValueError(f"{left} of the I/Os cannot be left")
    busy = utilisation(read_seconds, idle_seconds, queue)
    now, then = (1.0 + queue.services_ahead(each) for each in (busy, min(MOST_BUSY, busy * left)))
    return then / now


def relief(
    staying_wait: float,
    read_seconds: float,
    idle_seconds: float,
    io_now: float,
    io_after: float,
    queue: Queue = ONE_SERVER,
) -> float:
    """Wait that units which stay on a tier are spared, negative where they wait more; in the unit of their wait.

    Args:
        staying_wait: of those units now.
        read_seconds: of the tier now, its queue included.
        idle_seconds: of the tier without a queue, 0 where that is not known.
        io_now: of all units on the tier.
        io_after: of those that will be there.
        queue: what an arrival waits for.
    """
    if io_now <= 0:
        return 0.0
    return staying_wait * (1.0 - change_ratio(read_seconds, idle_seconds, io_after / io_now, queue))
