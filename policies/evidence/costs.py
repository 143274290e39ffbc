"""What moving costs: how long copies take, and what earlier moves have taught.

``route_seconds`` adds up transfers, because a copy reads and writes one thing after the other. A transfer takes

- the device's time for a sequential run, ``bytes / block * seconds of a block in a run that finds no queue``;
- one turn in the queue for each stretch of read-ahead. With ``n`` sessions waiting for the device, a turn takes as long
  as a random read under this load, plus one without load to bring the head back. With ``n`` below one, only that share
  of turns is lost. Writes wait for no turn: caches take them and write them behind the session;
- the server's own work on the bytes, at ``copy_bytes_per_second``.

``n`` is what waits on the tier per second (Little's law). The shape is that of a closed queue with one device served in
order (Denning and Buzen 1978), measured in the laboratory (``lab.postgresql.copy_time_factor_max``).

A lock frees the devices of the sessions that wait for it. Where each session touches the locked units ``h`` times a
second, ``n`` sessions are fewer than one after ``log(1 + n) / h`` seconds. They slow a copy for no longer than that.

``copy_factors`` learns by kind of move what this model cannot know, such as the length of read-ahead or a slower log.
``slow_down`` learns how much sessions suffer meanwhile. Both are fits over finished moves, shrunk towards the figure
assumed without them, so that one odd move changes little.

``route_cost`` is what a route adds to its copying by log, locks and follow-up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import exp, log

import numpy as np

from connectors.model.moves import CopyHabits, Locked, Route, Transfer, UnitKind
from connectors.model.observation import F32, F64, I64, DatabaseDemand, Role, RoleFigures, Signal, UnitTable
from policies.evidence.durations import copy_interval
from policies.evidence.prices import own_waits, present_waits, waiting_sessions
from policies.model.moves import RouteCost
from policies.model.plan import Situation
from policies.model.settings import CopyFactor, PolicySettings, TaughtCopy, TierSpeed

STATEMENT_SECONDS = 0.02  # of a statement that copies nothing: catalog, locks; its commits, of a few ms each
BLOCKS_A_TOUCH = 4  # logical reads of a session that looks something up
PRIOR_MOVES = 1.0  # what a factor is shrunk by, as if so many moves had taken just as long as predicted
SURE_SECONDS = 1.0  # a move of that length says as much as a longer one
MOST_FACTOR = 100.0  # a measurement further off than this was held up by something else
_INDEXES = (UnitKind.INDEX, UnitKind.INDEX_PARTITION)


@dataclass(frozen=True, slots=True)
class Device:
    """A tier as one more reader finds it."""

    speed: TierSpeed
    waiting: float  # sessions that wait for it at a time


def devices_of(situation: Situation, settings: PolicySettings) -> tuple[Device, ...]:
    """Every tier with the sessions that wait there at a time; no more than are at work in all."""
    waiting = present_waits(situation, settings)
    active = situation.database.active
    most = active if active == active else np.inf
    # Reads of the long horizon at today's read times can come to more than all sessions have time for, and a copy would
    # be forecast to queue behind sessions that do not exist.
    shrunk = waiting * min(1.0, most / waiting.sum()) if waiting.sum() > 0 else waiting
    return tuple(Device(each.speed, float(n)) for each, n in zip(situation.tiers, shrunk, strict=True))


def run_seconds(size: F64, device: Device, settings: PolicySettings) -> F64:
    """Seconds the device takes for that many bytes in a run without competing I/O. Shape as given."""
    speed = device.speed
    idle = 1.0  # what is measured of a run holds the queue of random reads in it
    if speed.idle_read_seconds > 0 and speed.random_read_seconds > speed.idle_read_seconds:
        idle = speed.idle_read_seconds / speed.random_read_seconds
    return np.asarray(size / settings.block_bytes * speed.sequential_read_seconds * idle, dtype=np.float64)


def turns_seconds(size: F64, device: Device) -> F64:
    """Seconds that a reader of that many bytes in a run waits for its turns among others. Shape as given."""
    speed = device.speed
    own = speed.idle_read_seconds or speed.random_read_seconds
    turn = min(1.0, device.waiting) * (speed.random_read_seconds + min(own, speed.random_read_seconds))
    return np.asarray((size / speed.read_ahead_bytes + 1.0) * turn, dtype=np.float64)


def transfer_seconds(transfer: Transfer, device: Device | None, settings: PolicySettings) -> float:
    """How long one transfer takes, factors aside; ``device``: None where its space has no tier."""
    size = np.array([float(transfer.bytes)])
    seconds = transfer.bytes * transfer.work_ratio / settings.copy_bytes_per_second
    if device is not None and transfer.bytes:
        seconds += float(run_seconds(size, device, settings)[0])
        if not transfer.written and not transfer.whole:
            seconds += float(turns_seconds(size, device)[0])
    return seconds


def route_seconds(
    route: Route,
    rows: Sequence[int],
    situation: Situation,
    settings: PolicySettings,
    *,
    brought: Mapping[str, str] | None = None,
    devices: Sequence[Device] | None = None,
) -> tuple[float, ...]:
    """Seconds of each transfer of a route, factors aside.

    Args:
        route: as the engine offers it.
        rows: of the units that it moves.
        situation: the tiers, and who uses them.
        settings: how fast the server itself is.
        brought: unit key -> space, where moves that come before bring units.
        devices: of the situation, where they are known already.
    """
    tier_of = {space.name: int(t) for space, t in zip(situation.spaces, situation.tier_of_space, strict=True)}
    tiers = [tier_of.get((brought or {}).get(each.unit, each.space), -1) for each in route.transfers]
    known = devices_of(situation, settings) if devices is None else devices

    def seconds(found: Sequence[Device]) -> tuple[float, ...]:
        at = [found[tier] if tier >= 0 else None for tier in tiers]
        pairs = zip(route.transfers, at, strict=True)
        return tuple(transfer_seconds(transfer, device, settings) for transfer, device in pairs)

    among = seconds(known)
    if route.locked is not Locked.ALL:
        return among
    alone = seconds([replace(device, waiting=0.0) for device in known])
    touches = touches_per_second(np.array(rows, dtype=np.int64), situation)
    lost = sum(among) - sum(alone)
    if not touches > 0 or lost <= 0:
        return among
    # Sessions that touch the locked units stop one after the other. To count the device as busy for the whole copy
    # would charge for sessions that are long stuck, to count it as free at once would forget those that are not yet.
    stuck = log(1.0 + sum(device.waiting for device in known)) / touches
    share = min(1.0, stuck / lost)
    return tuple(a + (b - a) * share for a, b in zip(alone, among, strict=True))


def touches_per_second(rows: I64, situation: Situation) -> float:
    """How often one session looks something up in these units, or in a table or index that is locked with them."""
    reads, active = _reads_together(rows, situation), situation.database.active
    return reads / BLOCKS_A_TOUCH / (max(1.0, active) if active == active else 1.0)


def _reads_together(rows: I64, situation: Situation) -> float:
    """Logical reads per second of these units and of all tables and indexes that are locked with them."""
    units = situation.units
    if not len(units):
        return 0.0
    ids = units.physical_id[rows]
    tables = np.where(units.parent[rows] >= 0, units.parent[rows], ids)
    together = np.isin(units.physical_id, np.concatenate((ids, tables))) | np.isin(units.parent, tables)
    return float(situation.heat.rates[Signal.LOGICAL_READ, together].sum())


def around_seconds(route: Route, rows: Sequence[int], situation: Situation) -> float:
    """Seconds of a route's statements outside its transfers: their own, and the transactions whose end it waits for.

    What is open now goes on for as long as it has been open, on average; so a wait for all of it lasts as long as the
    oldest of them has been open on average, and at most as long as their ages together where the oldest was not seen.
    Where no ages were seen a transaction takes sessions at work over transactions a second (Little's law); 0 where
    these are not counted. Whether one that uses the units is there when the route waits for those: as many as look
    something up there; half of these waits of PostgreSQL are for writers alone.
    """
    own, work = STATEMENT_SECONDS * len(route.steps), situation.database
    if not work.transactions > 0 or not work.active >= 0:
        return own
    lasts = work.active / work.transactions
    touched = _reads_together(np.array(rows, dtype=np.int64), situation) / BLOCKS_A_TOUCH
    users = min(1.0, touched * lasts)
    together = work.open_ages if work.open_ages >= 0 else lasts  # NaN: not seen
    every = work.oldest_open if work.oldest_open >= 0 else together
    one = together / work.active if work.open_ages >= 0 and work.active > 1 else together
    return own + route.drains * every + route.drains_users * users * one


def usual_seconds(situation: Situation, settings: PolicySettings, habits: CopyHabits) -> F32:
    """How long moving each unit takes if its route has not been requested. Shape ``(n,)``.

    What is on the fastest tier is taken to go to the slowest, everything else to the fastest.
    """
    units, tiers = situation.units, len(situation.tiers)
    seconds = units.size_bytes / settings.copy_bytes_per_second + STATEMENT_SECONDS
    if not tiers or not len(units):
        return np.asarray(seconds, dtype=np.float32)
    devices = devices_of(situation, settings)
    home = situation.tier_of_space[units.space].astype(np.int64)
    size, source, read = _read(situation, habits)
    for tier, device in enumerate(devices):
        reads = size[source == tier]
        turns = 0.0 if habits.whole else turns_seconds(reads, device)
        seconds[source == tier] += read[source == tier] * (run_seconds(reads, device, settings) + turns)
        comes = (home == 0) if tier == tiers - 1 else np.zeros(len(home), dtype=np.bool_)
        comes = comes | (home != 0) if tier == 0 else comes
        seconds[comes] += run_seconds(units.size_bytes[comes].astype(np.float64), device, settings)
    return np.asarray(seconds * factor_of(settings.copy_factors, ("", "", "")), dtype=np.float32)


def _read(situation: Situation, habits: CopyHabits) -> tuple[F64, I64, F64]:
    """Bytes, tier and times of what moving each unit reads: itself, or its table where an index is built from it."""
    units = situation.units
    size, times = units.size_bytes.astype(np.float64), np.ones(len(units))
    source = situation.tier_of_space[units.space].astype(np.int64)
    if habits.index_reads_table:
        parent = _parents(units)
        built = np.isin(units.kind, _INDEXES) & (parent >= 0)
        source = np.where(built, source[parent], source)
        size, times = np.where(built, size[parent], size), np.where(built, float(habits.index_reads_table), times)
    return size, source, times


def _parents(units: UnitTable) -> I64:
    """Row of each unit's table, -1 where there is none."""
    return units.rows_of(units.parent)


def factor_of(factors: Sequence[CopyFactor], kind: tuple[str, str, str]) -> float:
    """How many times as long as predicted a kind of move takes, as far as moves have taught it; else as all do."""
    by_kind = {(each.route, each.from_tier, each.to_tier): each.factor for each in factors}
    return by_kind.get(kind, by_kind.get(("", "", ""), 1.0))


def copy_factors(taught: Sequence[TaughtCopy]) -> tuple[CopyFactor, ...]:
    """Copy factors learnt from finished moves: that of all kinds first, then each kind's, shrunk towards that of all.

    A factor is the mean of how many times as long each took, by their logarithms, so that twice as long and half as
    long cancel. Short moves weigh less, and what never happened weighs like ``PRIOR_MOVES`` that took just as long.
    """
    if not taught:
        return ()
    overall = _shrunk_mean(taught, 0.0)
    kinds = sorted({each.kind for each in taught})
    own = {kind: _shrunk_mean([each for each in taught if each.kind == kind], overall) for kind in kinds}
    logs = {("", "", ""): overall, **own}
    return tuple(
        CopyFactor(route=route, from_tier=from_tier, to_tier=to_tier, factor=exp(value))
        for (route, from_tier, to_tier), value in logs.items()
    )


def _shrunk_mean(taught: Sequence[TaughtCopy], towards: float) -> float:
    """Mean logarithm of measured over predicted, shrunk towards another one."""
    weights, logs = PRIOR_MOVES, PRIOR_MOVES * towards
    for each in taught:
        # Clipped: one move that waited for hours behind a lock would otherwise teach that all copies take a hundred
        # times as long.
        ratio = min(max(each.seconds / each.predicted_seconds, 1 / MOST_FACTOR), MOST_FACTOR)
        weight = min(1.0, each.seconds / SURE_SECONDS)
        weights, logs = weights + weight, logs + weight * log(ratio)
    return logs / weights


PRIOR_SLOW_SECONDS = 20.0  # of copying at the configured slow-down
MOST_SLOW_DOWN = 3.0  # more than all work lost means that other work was in the way
_WRITES = [Signal.ASYNC_WRITE, Signal.SYNC_WRITE]


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A finished move."""

    started_at: datetime
    ended_at: datetime

    @property
    def seconds(self) -> float:
        """How long its statements ran."""
        return (self.ended_at - self.started_at).total_seconds()


@dataclass(frozen=True, slots=True, kw_only=True)
class Disturbed:
    """An interval in which moves ran, with the work done in it and what was done in calm times."""

    started_at: datetime
    ended_at: datetime
    transactions: float  # per second
    calm_transactions: float  # per second, before


def slow_down(copies: Sequence[Copy], disturbed: Sequence[Disturbed], configured: float) -> float:
    """Share of the sessions' work that stands still while a move copies, shrunk to the configured share.

    An interval of 60 s that did half the usual work lost 30 s of it; 10 s of copying in it then cost 3 each. Intervals
    of one copy are added up first: work goes up and down without any copy, and if only what goes down counted, noise
    alone would make copies dear. Different copies are not: the first may have sped up what the next slows.
    """
    lost, copied = np.zeros(len(copies)), np.zeros(len(copies))
    for interval in disturbed:
        within = np.array([_overlap(copy, interval) for copy in copies])
        if not within.sum() > 0 or not interval.calm_transactions > 0 or not interval.transactions >= 0:
            continue
        share = 1.0 - interval.transactions / interval.calm_transactions
        most = int(np.argmax(within))
        lost[most] += share * _seconds(interval)
        copied[most] += within.sum()
    # A copy in whose time more work than usual was done counts as no loss, not as a gain: copies speed nothing up, its
    # load was higher.
    counted = np.clip(lost, 0.0, MOST_SLOW_DOWN * copied).sum()
    return float((configured * PRIOR_SLOW_SECONDS + counted) / (PRIOR_SLOW_SECONDS + copied.sum()))


def learnt(
    settings: PolicySettings,
    copies: Sequence[Copy],
    disturbed: Sequence[Disturbed],
    work: DatabaseDemand,
    taught: Sequence[TaughtCopy] = (),
) -> PolicySettings:
    """Settings with the costs that earlier moves have taught.

    What is measured is work lost by all sessions together; a move is charged to those that wait for disk.

    Args:
        settings: configured.
        copies: finished moves.
        disturbed: intervals in which moves ran.
        work: of the whole database now, that says how many sessions wait.
        taught: what finished moves were predicted to take, and took.
    """
    of_all = waiting_sessions(work) / max(1.0, work.active) if work.active == work.active else 1.0
    return replace(
        settings,
        copy_factors=copy_factors(taught),
        taught_copies=tuple(taught),
        foreground_slow_down=slow_down(copies, disturbed, settings.foreground_slow_down * of_all) / of_all,
    )


def route_cost(
    route: Route,
    rows: Sequence[int],
    situation: Situation,
    settings: PolicySettings,
    *,
    brought: Mapping[str, str] | None = None,
    devices: Sequence[Device] | None = None,
) -> RouteCost:
    """What a route costs apart from its copying, and how long it copies; estimated from what sessions do now.

    Args:
        route: as the engine offers it.
        rows: of the units that it moves.
        situation: what they are used for, and what sessions wait for.
        settings: rates and the slow-down that copying is already taken to cost.
        brought: unit key -> space, where moves that come before bring units.
        devices: of the situation, where they are known already.
    """
    known = (work.seconds for work in route.follow_up if work.seconds is not None)
    parts = route_seconds(route, rows, situation, settings, brought=brought, devices=devices)
    tiers = {space.name: int(t) for space, t in zip(situation.spaces, situation.tier_of_space, strict=True)}
    names = (
        situation.tiers[tiers[s]].name if tiers.get(s, -1) >= 0 else "" for s in (route.bundle.space, route.to_space)
    )
    from_tier, to_tier = names
    around = around_seconds(route, rows, situation)
    kind = route.name, from_tier, to_tier
    copying = (sum(parts) + around) * factor_of(settings.copy_factors, kind)
    waited = around - STATEMENT_SECONDS * len(route.steps)
    between = copy_interval(settings.taught_copies, kind, sum(parts) + around, waited)
    return RouteCost(
        log_seconds=_log_seconds(route, situation, settings),
        blocked_seconds=_blocked_seconds(route, np.array(rows, dtype=np.int64), situation, settings, copying),
        follow_up_seconds=sum(known, 0.0),
        copying=parts,
        around_seconds=around,
        copy_seconds=copying,
        copy_low_seconds=min(copying, between.low),
        copy_high_seconds=max(copying, between.high),
    )


def log_rate(roles: Sequence[RoleFigures], configured: float) -> float:
    """Bytes per second that the log's device takes: what is configured, or what it was seen to do where that is more.

    Small flushes are slow for their bytes, so a measured rate only says how fast it is at least.
    """
    seen = (f.written_bytes / f.write_seconds for f in roles if f.role is Role.LOG and f.write_seconds > 0)
    return max((rate for rate in seen if rate > configured), default=configured)


def _log_seconds(route: Route, situation: Situation, settings: PolicySettings) -> float:
    """While the log takes the move's bytes, sessions that wait for it wait about twice as long."""
    waiting = sum(own_waits(figures, situation.database) for figures in situation.roles if figures.role is Role.LOG)
    return waiting * route.log_bytes / log_rate(situation.roles, settings.log_bytes_per_second)


def _blocked_seconds(
    route: Route, rows: I64, situation: Situation, settings: PolicySettings, copy_seconds: float
) -> float:
    """Sessions at work on these units, for as long as a lock or the wait for it may hold them up.

    What a copy is taken to cost everybody is counted there; who is locked out of it loses the rest of the time as well.
    """
    if route.locked in {None, Locked.NOTHING}:
        return 0.0
    users, writers = _sessions_at_work(rows, situation)
    if route.locked is Locked.WRITES:
        users = writers
    copying = 0.0 if route.locked is Locked.BRIEFLY else copy_seconds * route.locked_ratio
    return users * (route.lock_seconds + copying * max(0.0, 1.0 - settings.foreground_slow_down))


def _sessions_at_work(rows: I64, situation: Situation) -> tuple[float, float]:
    """How many sessions use the units at any time, by their share of all logical reads, and how many of them write."""
    rates, active = situation.heat.rates, situation.database.active
    reads, writes = float(rates[Signal.LOGICAL_READ, rows].sum()), float(rates[_WRITES][:, rows].sum())
    total = float(rates[Signal.LOGICAL_READ].sum() + rates[_WRITES].sum())
    if not total > 0:
        return 0.0, 0.0
    sessions = max(1.0, active) if active == active else 1.0
    return sessions * (reads + writes) / total, sessions * writes / total


def _overlap(copy: Copy, interval: Disturbed) -> float:
    begin, end = max(copy.started_at, interval.started_at), min(copy.ended_at, interval.ended_at)
    return max(0.0, (end - begin).total_seconds())


def _seconds(interval: Disturbed) -> float:
    return (interval.ended_at - interval.started_at).total_seconds()
