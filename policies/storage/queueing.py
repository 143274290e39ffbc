"""Queueing relief: when hot units leave a busy disk, what stays behind waits less in its queue.

How busy a disk is shows in its own reads: they take ``R`` seconds where an idle disk takes ``S``. For one queue with
random arrivals ``R = S / (1 - u)``, so ``u = 1 - S / R``; with ``x`` of the I/Os left, ``R' = S / (1 - x u)``. On the
tier that gets them, ``x`` is more than 1 and its own units pay. Disks with a queue each are one queue each; of several
servers that share one, an arrival waits for a part ``w`` only (``stations``): ``R = S (1 + w u / (1 - u))``.

That holds while as many requests come as before. Sessions that wait less ask for more, and where they keep the disk as
busy as it was, relief is nothing. So relief is no part of a plan's saving: it is given as a figure of its own, and
widens the upper end of the saving's interval. What the faster tier's own units may lose widens the lower end.
"""

from __future__ import annotations

MOST_BUSY = 0.95  # beyond it a queue has no steady length that anybody could predict


def utilisation(read_seconds: float, idle_seconds: float, share: float = 1.0) -> float:
    """How busy a device is by its reads, 0 to ``MOST_BUSY``; 0 where it is not known how fast it is when idle.

    Args:
        read_seconds: of a read now, its queue included.
        idle_seconds: without a queue, 0 where that is not known.
        share: w, of a server's queue that an arrival waits for.
    """
    if idle_seconds <= 0 or read_seconds <= idle_seconds:
        return 0.0
    queued = read_seconds - idle_seconds
    return min(MOST_BUSY, queued / (share * idle_seconds + queued))


def change_ratio(read_seconds: float, idle_seconds: float, left: float, share: float = 1.0) -> float:
    """Time of a read with ``left`` times the I/Os, over its time now: below 1 is relief.

    Raises:
        ValueError: less than nothing would be left.
    """
    if left < 0:
        raise ValueError(f"{left} of the I/Os cannot be left")
    busy = utilisation(read_seconds, idle_seconds, share)
    now, then = (1.0 + share * each / (1.0 - each) for each in (busy, min(MOST_BUSY, busy * left)))
    return then / now


def relief(
    staying_wait: float, read_seconds: float, idle_seconds: float, io_now: float, io_after: float, share: float = 1.0
) -> float:
    """Wait that units which stay on a tier are spared, negative where they wait more; in the unit of their wait.

    Args:
        staying_wait: of those units now.
        read_seconds: of the tier now, its queue included.
        idle_seconds: of the tier without a queue, 0 where that is not known.
        io_now: of all units on the tier.
        io_after: of those that will be there.
        share: w, of a server's queue that an arrival waits for.
    """
    if io_now <= 0:
        return 0.0
    return staying_wait * (1.0 - change_ratio(read_seconds, idle_seconds, io_after / io_now, share))
