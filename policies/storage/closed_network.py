"""Mean value analysis of a closed queueing network: the waits that result if less is asked of a tier.

Sessions circulate between tiers, each a station with one or several servers (``stations``), and time spent elsewhere.
Approximate MVA needs only what a database counts::

    residence at a tier  R = D * stretch(X * D / servers)     D  seconds of service a transaction
    throughput           X = N / (Z + sum of R)               N  sessions, Z  seconds a transaction spends elsewhere

Solved backwards, the same equations give D and Z from measurements: the mean number of sessions waiting at a tier is
its wait seconds per second (Little's law), which gives its utilisation. The present placement therefore returns the
present throughput. A tier that is fast and has no known limit serves everybody at once.

A limit that is no tier's (processors, the log) shows once reads no longer hold sessions up: a transaction then spends
more time elsewhere than it did before the moves. What came on top is taken to be one more queue.

Many placements are solved at once: they are the last axis of every array here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from connectors.model import F64, Bools, DatabaseDemand
from policies.model.plan import Situation
from policies.model.settings import QUEUED_SECONDS
from policies.storage.stations import Stations, stations_of

HALVINGS = 64
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
    demand: F64  # (tiers, m) D, already stretched by what the background takes
    stations: Stations
    other: float = 0.0  # service a transaction at a limit that is no tier's, see ``Loop.alone``

    @property
    def found(self) -> float:
        """Share of the sessions at a tier that one which arrives there finds before it."""
        return (self.sessions - 1) / self.sessions

    def with_demand(self, demand_factor: float, more_elsewhere: float) -> Network:
        """The same with other demand on tiers and at the other limit, and more seconds elsewhere."""
        least = LEAST_ELSEWHERE * self.elsewhere
        return replace(
            self,
            elsewhere=max(least, self.elsewhere + more_elsewhere),
            demand=self.demand * demand_factor,
            other=self.other * demand_factor,
        )

    def solve(self) -> tuple[F64, F64]:
        """Transactions a second, and read wait a transaction. Shapes ``(m,)``.

        At a rate X the equations give the residences at once, and the sessions that such a rate keeps busy rise with
        it: so halve the interval in which they are as many as there are.
        """
        fixed = self.elsewhere + self.demand.sum(axis=0)
        low, high = np.zeros(len(fixed)), self.sessions / fixed
        # A fixed number of halvings reaches the last bit for all placements at once. The usual fixed-point iteration
        # over the queues would end in another round for each column, and needs most of them where a tier is nearly
        # saturated.
        for _ in range(HALVINGS):
            rate = (low + high) / 2
            full = rate * (self.elsewhere_at(rate) + self.wait_at(rate)) > self.sessions
            low, high = np.where(full, low, rate), np.where(full, rate, high)
        # The lower end: at the upper one a tier may already be saturated and its wait infinite.
        return low, self.sessions / low - self.elsewhere_at(low)

    def elsewhere_at(self, rate: F64) -> F64:
        """Seconds that a transaction spends at no tier at that rate; inf where the other limit is passed. ``(m,)``."""
        free = 1 - rate * self.other * self.found
        queued = np.where(free > 0, self.other / np.maximum(free, LEAST_WAITED), np.inf) if self.other else 0.0
        return np.asarray(self.elsewhere + queued, dtype=np.float64)

    def busy_at(self, rate: F64 | float) -> F64:
        """Utilisation of each tier's servers at that rate; 0 where everybody is served at once. ``(tiers, m)``."""
        return np.asarray(rate * self.demand / self.stations.servers[:, np.newaxis], dtype=np.float64)

    def wait_at(self, rate: F64 | float) -> F64:
        """Read wait of a transaction were they to come at that rate; inf where a tier cannot serve it. ``(m,)``."""
        stretch = self.stations.stretch(self.busy_at(rate), self.found)
        return np.asarray((self.demand * stretch).sum(axis=0), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A database at work as it is, and what its waits say about its tiers."""

    database: DatabaseDemand
    stations: Stations
    scale: F64  # (tiers,) by which waits at the speeds that are believed come to what was measured
    now: F64  # (ROWS, tiers) as measured
    alone: float = float("nan")  # seconds that a transaction spent elsewhere before another limit held it; NaN: none

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
        service = self.stations.service_share(waits, (sessions - 1) / sessions)
        everybody = np.maximum(1.0, self.stations.servers) + waits + reads
        taken_now = np.minimum(MOST_TAKEN, reads / everybody)[:, np.newaxis]
        taken_then = np.minimum(MOST_TAKEN, then[BACKGROUND] / everybody[:, np.newaxis])
        elsewhere = max(LEAST_ELSEWHERE, sessions - float(waits.sum())) / rate
        held = max(0.0, elsewhere - self.alone) if self.alone == self.alone else 0.0  # seconds, waits at that limit
        busy = rate * held / (1 + rate * held * (sessions - 1) / sessions)
        return Network(
            sessions=sessions,
            elsewhere=elsewhere - held,
            other=busy / rate,
            demand=then[TRANSACTIONS] * service[:, np.newaxis] / rate * (1 - taken_now) / (1 - taken_then),
            stations=self.stations,
        )


def queued_tiers(situation: Situation) -> Bools:
    """Which tiers are slow enough for queues to explain their waits. Shape ``(tiers,)``."""
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
    return Loop(
        database=database,
        stations=stations_of(situation.tiers),
        scale=scale,
        now=now * scale,
        alone=situation.elsewhere_alone,
    )


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
