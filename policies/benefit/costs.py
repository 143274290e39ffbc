"""What moving costs: what earlier moves have taught of copying, and what a route adds by log, locks and follow-up.

How much longer copies take than predicted (``copy_time``), and how much sessions suffer meanwhile, are fits over
finished moves, drawn towards what was said without them as if that had been seen for a while: one odd move changes
little.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from connectors.model import I64, DatabaseDemand, Route, Signal
from connectors.move_effects import Locked
from connectors.storage_io import Role, RoleFigures
from policies.benefit.copy_time import Device, Taught, around_seconds, copy_factors, factor_of, route_seconds
from policies.benefit.move_cost import waiting_sessions
from policies.benefit.roles import own_waits
from policies.model.plan import PolicySettings, RouteCost, Situation

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

    An interval of 60 s that did half the usual work lost 30 s of it; 10 s of copying in it then cost 3 each.
    """
    lost = configured * PRIOR_SLOW_SECONDS
    copied = PRIOR_SLOW_SECONDS
    for interval in disturbed:
        within = sum(_overlap(copy, interval) for copy in copies)
        if within <= 0 or not interval.calm_transactions > 0 or not interval.transactions >= 0:
            continue
        share = 1.0 - interval.transactions / interval.calm_transactions
        # An interval that did more work than usual counts as no loss, not as a gain: copies speed nothing up, its load
        # was higher.
        lost += min(MOST_SLOW_DOWN * within, max(0.0, share * _seconds(interval)))
        copied += within
    return lost / copied


def learnt(
    settings: PolicySettings,
    copies: Sequence[Copy],
    disturbed: Sequence[Disturbed],
    work: DatabaseDemand,
    taught: Sequence[Taught] = (),
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
    copying = (sum(parts) + around) * factor_of(settings.copy_factors, (route.name, from_tier, to_tier))
    return RouteCost(
        log_seconds=_log_seconds(route, situation, settings),
        blocked_seconds=_blocked_seconds(route, np.array(rows, dtype=np.int64), situation, settings, copying),
        follow_up_seconds=sum(known, 0.0),
        copying=parts,
        around_seconds=around,
        copy_seconds=copying,
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
    copying = 0.0 if route.locked is Locked.BRIEFLY else copy_seconds
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
