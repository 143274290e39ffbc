"""Tiers as queues: stations, relief, and mean value analysis of a closed network.

``relief`` is what units that stay on a busy disk are spared when hot ones leave. Reads take ``R`` seconds there and
``S`` on an idle disk. For one queue with random arrivals ``R = S / (1 - u)``, so ``u = 1 - S / R``. With ``x`` of the
I/Os left, ``R' = S / (1 - x u)``; on the receiving tier ``x`` exceeds 1, and its own units pay. This holds only while
as many requests come as before, but sessions that wait less ask for more. So relief is not part of a plan's saving: it
is a figure of its own, and it widens the upper end of the saving's interval. What the receiving tier's own units may
lose widens the lower end.

``Stations`` models a tier with ``m`` servers, each at utilisation ``u``. A request of ``S`` seconds of service
spends::

    R = S * (1 + w * (u * b)**k / (1 - u * b))      b = (N - 1) / N of N sessions: an arrival does not wait for itself

- ``w = 1, k = 1``: each of ``m`` disks has its own queue, chosen by what is read (striping). This is Schweitzer's
  approximation of mean value analysis (1979).
- ``w = 1 / m, k = sqrt(2 (m + 1)) - 1``: the next free server takes the request (Sakasegawa, "An approximation formula
  Lq = a rho^b / (1 - rho)", Annals of the Institute of Statistical Mathematics 29, 1977). Many servers queue late and
  then steeply, which one fast server with a delay (Seidmann and others) does not show.
- ``w = 1 / sqrt(m)`` and a quarter of the way to that ``k``: it is unknown which of the two applies. Forecast and
  sizing then miss by about the same in either case. ``tests.bench.policy_arrays`` compares all three with exact
  networks.

``Network`` is the closed network of another placement. ``N`` sessions circulate between tiers, processors (where known)
and time spent elsewhere, most of it between two transactions::

    residence at a station  R = D * stretch(X * D / servers)     D  seconds of service a transaction
    throughput              X = N / (Z + sum of R)               Z  seconds a transaction spends elsewhere

The first line is Schweitzer's approximation of the exact recursion of Reiser and Lavenberg ("Mean-value analysis of
closed multichain queuing networks", Journal of the ACM 27, 1980). The second is the interactive response time law
(Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys 10, 1978). ``N`` counts
the sessions in use, thinking ones included (``population``). Where only those at work are known, they stand in, as if
no session paused between transactions: the result is then what the placement allows, not what sessions will ask for.

Background work takes its share of a tier: of reads ahead and of writes, one part comes with the transactions and the
rest keeps its own pace. Many placements are solved at once: they are the last axis of every array.

A tier whose volume or controller carries no more than so many bytes a second has one queue more, for bytes: its part of
the wait that is measured now is taken off the wait for the devices.

``Loop`` solves the same equations backwards for D and Z. Wait seconds per second at a tier are the sessions waiting
there (Little's law), which gives its utilisation, so the present placement returns the present throughput. A fast tier
without a known limit serves everybody at once, as if it had infinitely many servers. A limit outside tiers and
processors (locks, the log) shows as more time elsewhere after moves than before; the extra time becomes one more queue.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, isnan, log

import numpy as np

from connectors.model.observation import F64, Bools, DatabaseDemand
from policies.model.plan import Situation
from policies.model.settings import Servers, Tier

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


# Parts of the way from one queue a server to one for all, where it is not known which: of w's logarithm, and of k.
UNKNOWN_SHARE, UNKNOWN_POWER = 0.5, 0.25


@dataclass(frozen=True, slots=True)
class Stations:
    """Columns by tier, shape ``(tiers,)``."""

    servers: F64  # m; inf: everybody is served at once; below 1: a limit on the rate, not a device
    share: F64  # w
    power: F64  # k

    def utilisation(self, waiting: F64, found: float) -> F64:
        """Utilisation of each server with that many sessions at each tier on average; 0 of infinitely many.

        The inverse of ``R``, by Little's law: ``Q = u m (1 + w (u b)**k / (1 - u b))`` solved for ``u``.

        Args:
            waiting: sessions at each tier, those being served included.
            found: b, share of them that an arrival finds there.
        """
        # Infinitely many servers are calculated as one and masked at the end, since inf - inf is NaN.
        several, most = np.isfinite(self.servers), np.where(np.isfinite(self.servers), self.servers, 1.0)
        low = np.zeros(np.broadcast_shapes(waiting.shape, most.shape))
        high = np.minimum(waiting / most, 1 / found if found else np.inf) + low
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            less = middle * most * (1 + services_ahead(self.share, self.power, middle * found)) < waiting
            low, high = np.where(less, middle, low), np.where(less, high, middle)
        return np.where(several, low, 0.0)

    def service_share(self, waiting: F64, found: float) -> F64:
        """Seconds of service in each second that is spent at a tier: 1 where nothing queues. Arguments as above."""
        served = np.where(np.isfinite(self.servers), self.servers, 0.0) * self.utilisation(waiting, found)
        return np.divide(served, waiting, out=np.ones(len(waiting)), where=(served > 0) & (waiting > 0))

    def stretch(self, busy: F64, found: float) -> F64:
        """``R / S`` at each tier, inf where it cannot serve what is asked of it.

        Args:
            busy: u of each server, shape ``(tiers, m)``.
            found: b, share of the sessions at a tier that an arrival finds there.
        """
        share, power = self.share[:, np.newaxis], self.power[:, np.newaxis]
        return np.asarray(1 + services_ahead(share, power, busy * found), dtype=np.float64)

    def queue(self, tier: int) -> Queue:
        """Of one tier."""
        return Queue(float(self.share[tier]), float(self.power[tier]))


def stations_of(tiers: Sequence[Tier]) -> Stations:
    """The stations that tiers are."""
    found = [_station(tier) for tier in tiers]
    servers = np.array([count for count, _ in found], dtype=np.float64)
    return Stations(servers, *columns([queue for _, queue in found]))


def columns(queues: Sequence[Queue]) -> tuple[F64, F64]:
    """``w`` and ``k`` of some queues."""
    return np.array([each.share for each in queues]), np.array([each.power for each in queues])


@lru_cache(maxsize=256)
def queue_of(servers: float, striped: bool | None) -> Queue:
    """What an arrival waits for at so many servers, see above; a limit on the rate is one queue."""
    if servers < 1:
        return Queue(share=1 / servers)
    if striped:
        return Queue()
    share, power = (UNKNOWN_SHARE, UNKNOWN_POWER) if striped is None else (1.0, 1.0)
    return Queue(share=servers**-share, power=1 + power * (math.sqrt(2 * (servers + 1)) - 2))


def rate_limit(tier: Tier) -> float:
    """Servers that a tier's configured I/Os per second keep busy; inf where none are configured."""
    most, speed = tier.limits.io_per_second, tier.speed
    return float("inf") if most is None else most * (speed.idle_read_seconds or speed.random_read_seconds)


def is_limited(tier: Tier) -> bool:
    """Whether its configured I/Os per second bind before its servers do, or are all that is known of them."""
    known = tier.speed.servers.source == "configured"
    return tier.limits.io_per_second is not None and (not known or rate_limit(tier) < tier.speed.servers.count)


def queues(tier: Tier) -> bool:
    """Whether requests wait for one another on a tier."""
    return tier.speed.is_queued or tier.limits.io_per_second is not None or tier.speed.servers.source != "assumed"


def _station(tier: Tier) -> tuple[float, Queue]:
    """Servers, and what an arrival waits for."""
    servers: Servers = tier.speed.servers
    if not queues(tier):
        return float("inf"), Queue()
    count = rate_limit(tier) if is_limited(tier) else servers.count
    return count, queue_of(count, servers.striped)


NETWORK_HALVINGS = 64
SURE_HALVINGS = 50  # before which an interval that began at 0 hardly comes to its end
LEAST_ELSEWHERE = 0.01  # of a session, or of what was measured: every transaction computes a little
LEAST_QUEUED = 1e-9  # of all waits, at queued tiers
LEAST_WAITED = 1e-12  # sessions at a time: below it nothing that was measured is a wait, and ratios to it are noise
MOST_TAKEN = 0.95  # of a tier by the background
# Of the processors, what other programs may keep next to a server that has work for all of them. Linux's fair scheduler
# runs each ready task at 1 / nr_running of the whole (sched-design-CFS), so that k others keep k / (N + k) against N
# sessions: half where they are as many. That they are no more is an assumption; no counter shows how many are ready.
MOST_CONTESTED = 0.5
MOST_CARRIED = 0.9  # of a wait: what is left is the devices', which a read always uses
# Rows by tier: of seconds per second at the speeds that are believed, and of bytes a second.
ROWS = 6
TRANSACTIONS = 0  # that their sessions wait
BACKGROUND = 1  # that reads ahead take
WRITES = 2  # that writes take which no session waits for, by the configured speed
CARRIED = 3  # bytes that sessions wait for
CARRIED_AHEAD = 4  # of reads ahead
CARRIED_WRITES = 5  # of writes that no session waits for
READ_ROWS = [TRANSACTIONS, BACKGROUND]


@dataclass(frozen=True, slots=True)
class Processors:
    """A station of its own: whichever processor is free takes the next session."""

    count: float
    seconds: float  # of service a transaction

    def busy_at(self, rate: F64 | float) -> F64:
        """Utilisation of each at that rate."""
        return np.asarray(rate * self.seconds / self.count, dtype=np.float64)

    def residence(self, rate: F64 | float, found: float) -> F64:
        """Seconds that a transaction spends there, inf where they cannot serve that rate."""
        queue = queue_of(self.count, striped=False)
        waits = services_ahead(np.array(queue.share), np.array(queue.power), self.busy_at(rate) * found)
        return np.asarray(self.seconds * (1 + waits), dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Volumes:
    """The queue for bytes of each tier, whose volume or controller carries so many a second. Shapes ``(tiers, m)``."""

    demand: F64  # seconds that a transaction's bytes take
    taken: F64  # share of a volume that goes to work at a pace of its own
    growing: F64  # and to work that comes with transactions, for one of them a second

    def busy_at(self, rate: F64 | float) -> F64:
        """Utilisation by all work at that rate; more than 1 is more than it can carry."""
        return np.asarray(self.taken + (self.growing + self.demand) * rate, dtype=np.float64)

    def residence(self, rate: F64 | float, found: float) -> F64:
        """Seconds that a transaction spends at each, inf where they cannot carry that rate."""
        left = 1 - np.minimum(MOST_TAKEN, self.taken + self.growing * rate)
        demand = self.demand / left
        free = 1 - rate * demand * found
        return np.where(demand > 0, np.where(free > 0, demand / np.maximum(free, LEAST_WAITED), np.inf), 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A closed network for each of ``m`` placements; seconds are per transaction."""

    sessions: float  # N
    elsewhere: float  # Z
    demand: F64  # (tiers, m) D, were there no work in the background
    stations: Stations
    other: float = 0.0  # service a transaction at a limit that is no tier's, see ``Loop.alone``
    taken: F64 | float = 0.0  # (tiers, m) share of a tier that goes to work at a pace of its own
    growing: F64 | float = 0.0  # (tiers, m) and to work that comes with transactions, for one of them a second
    volumes: Volumes | None = None  # limits in bytes; None: no tier has one
    processors: Processors | None = None

    @property
    def found(self) -> float:
        """Share of the sessions at a tier that one which arrives there finds before it."""
        return (self.sessions - 1) / self.sessions

    def with_demand(self, demand_factor: float, more_elsewhere: float) -> Network:
        """The same with other demand on tiers and at the other limit, and more seconds elsewhere; never none."""
        # A figure that may be off by its own size is scaled down: subtracting could leave nothing, or less.
        factor = exp(max(log(LEAST_ELSEWHERE), min(0.0, more_elsewhere) / self.elsewhere))
        return replace(
            self,
            elsewhere=self.elsewhere * factor + max(0.0, more_elsewhere),
            demand=self.demand * demand_factor,
            other=self.other * demand_factor,
            volumes=self.volumes and replace(self.volumes, demand=self.volumes.demand * demand_factor),
        )

    def solve(self) -> tuple[F64, F64]:
        """Transactions a second, and read wait a transaction. Shapes ``(m,)``.

        At a rate X the equations give the residences at once, and the sessions that such a rate keeps busy rise with
        it: so halve the interval in which they are as many as there are.
        """
        fixed = self.elsewhere + self.demand_at(0.0).sum(axis=0)
        low, high = np.zeros(len(fixed)), self.sessions / fixed
        # A fixed number of halvings reaches the last bit for all placements at once. The usual fixed-point iteration
        # over the queues would end in another round for each column, and needs most of them where a tier is nearly
        # saturated.
        for halving in range(NETWORK_HALVINGS):
            before, rate = (low, high), (low + high) / 2
            full = rate * (self.elsewhere_at(rate) + self.wait_at(rate)) > self.sessions
            low, high = np.where(full, low, rate), np.where(full, rate, high)
            if halving > SURE_HALVINGS and np.array_equal(before, (low, high)):
                break  # no number lies between them
        # The lower end: at the upper one a tier may already be saturated and its wait infinite.
        return low, self.sessions / low - self.elsewhere_at(low)

    def elsewhere_at(self, rate: F64 | float) -> F64:
        """Seconds that a transaction spends at no tier at that rate; inf where another limit is passed. ``(m,)``."""
        free = 1 - rate * self.other * self.found
        queued = np.where(free > 0, self.other / np.maximum(free, LEAST_WAITED), np.inf) if self.other else 0.0
        computed = 0.0 if self.processors is None else self.processors.residence(rate, self.found)
        return np.asarray(self.elsewhere + queued + computed, dtype=np.float64)

    def background_at(self, rate: F64 | float) -> F64:
        """Share of each tier that is taken by work that no one waits for, at that rate. ``(tiers, m)``."""
        return np.minimum(MOST_TAKEN, np.zeros_like(self.demand) + self.taken + self.growing * rate)

    def demand_at(self, rate: F64 | float) -> F64:
        """Seconds of service a transaction at each tier, made longer by the work that no one waits for."""
        return np.asarray(self.demand / (1 - self.background_at(rate)), dtype=np.float64)

    def busy_at(self, rate: F64 | float) -> F64:
        """Utilisation of each tier's servers by transactions at that rate, of what the background leaves them.

        0 where everybody is served at once. Shape ``(tiers, m)``.
        """
        return self._busy_with(rate, self.demand_at(rate))

    def _busy_with(self, rate: F64 | float, demand: F64) -> F64:
        return np.asarray(rate * demand / self.stations.servers[:, np.newaxis], dtype=np.float64)

    def used_at(self, rate: F64 | float) -> F64:
        """Utilisation of each tier's servers at that rate by all work, at most 1. ``(tiers, m)``."""
        taken = self.background_at(rate)
        used = taken + self.busy_at(rate) * (1 - taken)
        carried = 0.0 if self.volumes is None else self.volumes.busy_at(rate)
        return np.asarray(np.minimum(1.0, np.maximum(used, carried)), dtype=np.float64)

    def wait_at(self, rate: F64 | float) -> F64:
        """Read wait of a transaction were they to come at that rate; inf where a tier cannot serve it. ``(m,)``."""
        demand = self.demand_at(rate)  # once: a network asks for it some sixty times
        waits = demand * self.stations.stretch(self._busy_with(rate, demand), self.found)
        if self.volumes is not None:
            waits = waits + self.volumes.residence(rate, self.found)
        return np.asarray(waits.sum(axis=0), dtype=np.float64)


def contested_processors(database: DatabaseDemand) -> float:
    """Processors for which the server competes with other programs, 0 where these are not counted.

    How far they give way is not known, from wholly (idle priority, control groups of small weight) to not at all: the
    forecast takes half of what they use now. A server that has work for all processors gets half of them, unless more
    of the others' tasks than of its sessions are ready to run.
    """
    others = database.others_processor
    return min(others, MOST_CONTESTED * database.processors) if others > 0 and database.processors > 0 else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """A database at work as it is, and what its waits say about its tiers."""

    database: DatabaseDemand
    stations: Stations
    scale: F64  # (tiers,) by which waits at the speeds that are believed come to what was measured
    now: F64  # (ROWS, tiers) as measured
    alone: float = float("nan")  # seconds that a transaction spent elsewhere before another limit held it; NaN: none
    paced: float = 0.0  # share of the reads ahead that come with transactions; the rest keep their own pace
    paced_writes: float = 1.0  # the same of the writes that no session waits for
    seeks: F64 | float = 1.0  # (tiers,) what a tier does for a read ahead, over what its reader waits for
    carries: F64 | float = math.inf  # (tiers,) bytes a second of its volume or controller; inf: no limit is known

    def network(self, then: F64) -> Network:
        """The network of other placements.

        Args:
            then: what there would be, at the speeds that are believed, shape ``(ROWS, tiers, m)``.
        """
        ahead_then = then[BACKGROUND] * (self.scale * self.seeks)[:, np.newaxis]
        waits, reads = self.now[TRANSACTIONS], self.now[BACKGROUND]
        rate, sessions = self.database.transactions, self.sessions
        found = (sessions - 1) / sessions
        at_devices = self._at_devices(found)
        # what one second of wait is in seconds of service: less the longer the queue; 1 where nothing waited yet
        service = at_devices * self.stations.service_share(waits * at_devices, found)
        everybody = np.maximum(1.0, self.stations.servers) + waits + reads
        taken_now = np.minimum(MOST_TAKEN, reads * self.seeks / everybody + self._write_share(self.now[WRITES]))
        shares = ahead_then / everybody[:, np.newaxis]
        written = self._write_share(then[WRITES].T).T
        elsewhere = max(LEAST_ELSEWHERE, sessions - float(waits.sum())) / rate
        processors = self.processors
        if processors is not None:
            elsewhere = max(LEAST_ELSEWHERE / rate, elsewhere - float(processors.residence(rate, found)))
        held = self._time_held(elsewhere)
        busy = rate * held / (1 + rate * held * found)
        demand = then[TRANSACTIONS] * (self.scale * service * (1 - taken_now) / rate)[:, np.newaxis]
        return Network(
            sessions=sessions,
            elsewhere=elsewhere - held,
            other=busy / rate,
            demand=demand,
            stations=self.stations,
            taken=shares * (1 - self.paced) + written * (1 - self.paced_writes),
            growing=(shares * self.paced + written * self.paced_writes) / rate,
            volumes=self._volumes(then),
            processors=processors,
        )

    def _volumes(self, rows: F64) -> Volumes | None:
        """Of another placement, shape ``(ROWS, tiers, m)``; None where no volume is limited."""
        if not np.isfinite(self.carries).any():
            return None
        rate, limits = self.database.transactions, np.asarray(self.carries)[:, np.newaxis]
        own, ahead, written = (rows[each] / limits for each in (CARRIED, CARRIED_AHEAD, CARRIED_WRITES))
        return Volumes(
            demand=own / rate,
            taken=ahead * (1 - self.paced) + written * (1 - self.paced_writes),
            growing=(ahead * self.paced + written * self.paced_writes) / rate,
        )

    def _at_devices(self, found: float) -> F64:
        """Share of each tier's present wait that is for its devices, and not for its volume. Shape ``(tiers,)``."""
        volumes, waits = self._volumes(self.now[:, :, np.newaxis]), self.now[TRANSACTIONS]
        if volumes is None:
            return np.ones(len(waits))
        rate = self.database.transactions
        carried = rate * volumes.residence(rate, found)[:, 0]
        share = np.divide(carried, waits, out=np.zeros(len(waits)), where=waits > LEAST_WAITED)
        return np.asarray(1 - np.minimum(MOST_CARRIED, share), dtype=np.float64)

    def _time_held(self, elsewhere: float) -> float:
        """Seconds that a transaction spends at a limit that is no tier's, of those elsewhere; 0 where none showed."""
        if isnan(self.alone):
            return 0.0
        at_work = (self.database.active - float(self.now[TRANSACTIONS].sum())) / self.database.transactions
        return min(elsewhere, max(0.0, at_work - self.alone))

    @property
    def sessions(self) -> float:
        """Those that do transactions: in use, or at work where only that is known, less those that read ahead."""
        everybody = np.fmax(self.database.active, self.database.population)  # NaN is left out
        return max(1.0, float(everybody - self.now[BACKGROUND].sum()))

    @property
    def processors(self) -> Processors | None:
        """The processors; None where the engine does not tell what they do."""
        database = self.database
        if not (database.processor > 0 and database.processors > 0):
            return None
        count = database.processors - contested_processors(database) / 2
        used = min(database.processor, MOST_TAKEN * count, database.active)
        return Processors(count, used / database.transactions)

    def _write_share(self, seconds: F64) -> F64:
        """Share of each tier that writes of so many seconds a second take. Shape as given, tiers last."""
        return np.asarray(seconds / self.stations.servers, dtype=np.float64)


def queued_tiers(situation: Situation) -> Bools:
    """Which tiers are slow enough for queues to explain their waits. Shape ``(tiers,)``."""
    return np.array([each.speed.is_queued for each in situation.tiers], dtype=np.bool_)


def closed_loop(
    now: F64, situation: Situation, *, paced: float = 0.0, paced_writes: float = 1.0, seeks: F64 | float = 1.0
) -> Loop | None:
    """The loop that a database is; None where the engine counts no transactions or no sessions' time.

    Args:
        now: what there is where everything is, at the speeds that are believed, shape ``(ROWS, tiers)``.
        situation: its database and tiers.
        paced: share of the reads ahead that come with transactions.
        paced_writes: the same of the writes that no session waits for.
        seeks: what a tier does for a read ahead, over what its reader waits for.
    """
    database, queued = situation.database, queued_tiers(situation)
    if not (database.transactions > 0 and database.active > 0 and now[READ_ROWS].sum() > LEAST_WAITED):
        return None
    scale = _scale(now[READ_ROWS], queued, database)
    factors = np.ones_like(now)
    factors[READ_ROWS] = scale  # how long writes take shows in no wait
    return Loop(
        database=database,
        stations=stations_of(situation.tiers),
        scale=scale,
        now=now * factors,
        alone=situation.elsewhere_alone,
        paced=paced,
        paced_writes=paced_writes,
        seeks=seeks,
        carries=np.array([each.limits.bytes_per_second or math.inf for each in situation.tiers]),
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
