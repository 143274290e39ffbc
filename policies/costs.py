"""What a move costs, as earlier ones have taught: how fast bytes are copied, and how much sessions suffer meanwhile.

Both are fits over finished moves, drawn towards what is configured as if that had been seen for a while, so that one
odd move changes little. Rates are added up over bytes and seconds, not averaged over moves: a thousand small tables
say less about a large one than one large table does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from connectors.model import DatabaseDemand
from policies.benefit import waiting_sessions
from policies.plan import PolicySettings

PRIOR_COPY_SECONDS = 20.0  # of copying at the configured rate
PRIOR_SLOW_SECONDS = 20.0  # of copying at the configured slow-down
MOST_SLOW_DOWN = 3.0  # more than all work lost means that other work was in the way
SHORTEST_COPY_SECONDS = 0.05  # shorter ones measure the round trip
MOST_DEAR = 1e6  # times its cost: what brings more than that is worth passing the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A finished move."""

    size_bytes: int
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


def copy_rate(copies: Sequence[Copy], configured: float) -> float:
    """Bytes per second that copying really reaches, shrunk to the configured rate."""
    told = [copy for copy in copies if copy.seconds >= SHORTEST_COPY_SECONDS and copy.size_bytes > 0]
    seconds = PRIOR_COPY_SECONDS + sum(copy.seconds for copy in told)
    return (configured * PRIOR_COPY_SECONDS + sum(copy.size_bytes for copy in told)) / seconds


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
        lost += min(MOST_SLOW_DOWN * within, max(0.0, share * _seconds(interval)))
        copied += within
    return lost / copied


def learnt(
    settings: PolicySettings, copies: Sequence[Copy], disturbed: Sequence[Disturbed], work: DatabaseDemand
) -> PolicySettings:
    """Settings with the costs that earlier moves have taught.

    What is measured is work lost by all sessions together; a move is charged to those that wait for disk.

    Args:
        settings: configured.
        copies: finished moves.
        disturbed: intervals in which moves ran.
        work: of the whole database now, that says how many sessions wait.
    """
    of_all = waiting_sessions(work) / max(1.0, work.active) if work.active == work.active else 1.0
    return replace(
        settings,
        copy_bytes_per_second=copy_rate(copies, settings.copy_bytes_per_second),
        foreground_slow_down=slow_down(copies, disturbed, settings.foreground_slow_down * of_all) / of_all,
    )


def dearness(turned_over_ratio: float, settings: PolicySettings) -> float:
    """How many times its cost a resident's going counts, 1 or more.

    A week's turnover is a budget with a price: the less of it is left, the more a swap must bring to be worth it. So a
    load that changes all the time is followed where that matters most, and no week copies without end.

    Args:
        turned_over_ratio: share of the fastest tier's bytes that gave way within the last week.
        settings: with the share that may.
    """
    left = 1.0 - turned_over_ratio / settings.turnover_per_week
    return 1.0 / max(left, 1.0 / MOST_DEAR)


def _overlap(copy: Copy, interval: Disturbed) -> float:
    begin, end = max(copy.started_at, interval.started_at), min(copy.ended_at, interval.ended_at)
    return max(0.0, (end - begin).total_seconds())


def _seconds(interval: Disturbed) -> float:
    return (interval.ended_at - interval.started_at).total_seconds()
