"""Mean value analysis of a closed queueing network: the waits that result if less is asked of a tier.

Sessions circulate between queues, one for each slow tier, and time spent elsewhere. Schweitzer's approximation of MVA
needs only what a database counts::

    residence at a tier  R = D * (1 + Q * (N - 1) / N)        D  seconds of service a transaction, N sessions
    throughput           X = N / (Z + sum of R)               Z  seconds a transaction spends elsewhere
    queue at a tier      Q = X * R

Solved backwards, the same equations give D and Z from measurements: the mean number of sessions waiting at a tier is
its wait seconds per second (Little's law), so its utilisation is ``Q / (1 + Q * (N - 1) / N)``. The present placement
therefore returns the present throughput. A tier faster than ``QUEUED_SECONDS`` per read is modelled as a delay without
a queue.

Many placements are solved at once: they are the last axis of every array here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model import F64, Bools, DatabaseDemand
from policies.model.plan import Situation

QUEUED_SECONDS = 0.001  # a slower random read is a spindle's
HALVINGS = 100
LEAST_ELSEWHERE = 0.01  # of a session, or of what was measured: every transaction computes a little
LEAST_QUEUED = 1e-9  # of all waits, at queued tiers
LEAST_WAITED = 1e-12  # sessions at a time: below it nothing that was measured is a wait, and ratios to it are noise
MOST_TAKEN = 0.95  # of a tier by the background
# Rows of seconds per second by tier, at the speeds that are believed.
ROWS = 2
TRANSACTIONS = 0  # that their sessions wait
BACKGROUND = 1  # that reads take which go at a pace of their own


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A closed network for each of ``m`` placements; seconds are per transaction."""

    sessions: float  # N
    elsewhere: float  # Z
    demand: F64  # (queued tiers, m) D, already stretched by what the background takes
    delay: F64  # (m,) at tiers that serve everybody at once

    def with_demand(self, demand_factor: float, more_elsewhere: float) -> Network:
        """The same with other demand on tiers, and more seconds elsewhere."""
        least = LEAST_ELSEWHERE * self.elsewhere
        return Network(
            sessions=self.sessions,
            elsewhere=max(least, self.elsewhere + more_elsewhere),
            demand=self.demand * demand_factor,
            delay=self.delay * demand_factor,
        )

    def solve(self) -> tuple[F64, F64]:
        """Transactions a second, and read wait a transaction. Shapes ``(m,)``.

        At a rate X the equations give the queues at once, ``Q = X D / (1 - X D (N - 1) / N)``, and the sessions that
        such a rate keeps busy rise with it: so halve the interval in which they are as many as there are.
        """
        fixed = self.elsewhere + self.delay
        low, high = np.zeros(len(fixed)), self.sessions / fixed
        for _ in range(HALVINGS):
            rate = (low + high) / 2
            full = rate * (self.elsewhere + self.wait_at(rate)) > self.sessions
            low, high = np.where(full, low, rate), np.where(full, rate, high)
        return low, self.sessions / low - self.elsewhere

    def wait_at(self, rate: F64 | float) -> F64:
        """Read wait of a transaction were they to come at that rate; inf where a tier cannot serve it. ``(m,)``."""
        free = 1 - rate * self.demand * (self.sessions - 1) / self.sessions
        queued = np.divide(self.demand, free, out=np.full(self.demand.shape, np.inf), where=free > 0)
        return np.asarray(self.delay + queued.sum(axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A database at work as it is, and what its waits say about its tiers."""

    database: DatabaseDemand
    queued: Bools  # (tiers,)
    scale: F64  # (tiers,) by which waits at the speeds that are believed come to what was measured
    now: F64  # (ROWS, tiers) as measured

    def network(self, then: F64) -> Network:
        """The network of other placements.

        Args:
            then: what there would be, at the speeds that are believed, shape ``(ROWS, tiers, m)``.
        """
        then = then * self.scale[:, np.newaxis]
        waits, reads = self.now[TRANSACTIONS], self.now[BACKGROUND]
        sessions = max(1.0, self.database.active - float(reads.sum()))
        rate = self.database.transactions
        # what one second of wait is in seconds of service: less the longer the queue; 1 where nothing waited yet
        service = 1 / (1 + waits * (sessions - 1) / sessions)
        everybody = 1 + waits + reads
        taken_now = np.minimum(MOST_TAKEN, reads / everybody)[:, np.newaxis]
        taken_then = np.minimum(MOST_TAKEN, then[BACKGROUND] / everybody[:, np.newaxis])
        demand = then[TRANSACTIONS] * service[:, np.newaxis] / rate * (1 - taken_now) / (1 - taken_then)
        return Network(
            sessions=sessions,
            elsewhere=max(LEAST_ELSEWHERE, sessions - float(waits.sum())) / rate,
            demand=demand[self.queued],
            delay=np.asarray(then[TRANSACTIONS, ~self.queued].sum(axis=0) / rate, dtype=np.float64),
        )


def queued_tiers(situation: Situation) -> Bools:
    """Which tiers serve one after the other. Shape ``(tiers,)``."""
    return np.array([each.speed.random_read_seconds > QUEUED_SECONDS for each in situation.tiers], dtype=np.bool_)


def closed_loop(now: F64, situation: Situation) -> Loop | None:
    """The loop that a database is; None where the engine counts no transactions or no sessions' time.

    Args:
        now: what there is where everything is, at the speeds that are believed, shape ``(ROWS, tiers)``.
        situation: its database and tiers.
    """
    database, queued = situation.database, queued_tiers(situation)
    if not (database.transactions > 0 and database.active > 0 and now.sum() > LEAST_WAITED):
        return None
    scale = _scale(now, queued, database)
    return Loop(database=database, queued=queued, scale=scale, now=now * scale)


def _scale(now: F64, queued: Bools, database: DatabaseDemand) -> F64:
    """Factors for the model's waits at each tier, so that their sum equals the measured wait.

    The queued tiers take up the difference: how long their queues are is what no configured speed knows. Where less was
    measured than the others alone are believed to take, all of them are taken to be so much faster. Sessions cannot
    wait for longer than they are at work, which bounds what is believed where waits are not measured. Where next to
    nothing waits at queued tiers, no queue of theirs can be the reason.
    """
    slow, fast = float(now[:, queued].sum()), float(now[:, ~queued].sum())
    waits = database.read_wait if database.read_wait >= 0 else slow + fast
    waits = min(waits, database.active)
    if slow > LEAST_QUEUED * (slow + fast) and waits > fast:
        return np.where(queued, (waits - fast) / slow, 1.0)
    return np.full(len(queued), min(1.0, waits / (slow + fast)))
