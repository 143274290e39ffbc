"""What a wait is worth: prices by kind and tier, bounds, costs of moves, and logs and temporary space.

``Prices`` is the only place that prices an I/O: plans, explanations, advice, sizing, forecasts and assessments all ask
it, so they agree on every unit. The price is the seconds that sessions wait for one I/O of each kind on each tier:
``wait = sum over I/O classes of rate * share of its time that sessions wait * seconds on that tier``. A read that the
buffer pool answers and a write that a background process does later weigh nothing, unless settings say otherwise. So
neither the busiest nor the most written unit wins for that reason alone.

``with_bounded_waits`` limits modelled waits to what sessions can wait. The model multiplies reads by the time of one,
which on a busy day can exceed the time of all sessions together. Where the engine counts how long sessions execute,
that is the limit, and read times are cut to meet it. Queued tiers give way first (``queueing.Loop``), because no
configured speed says how long their queues are.

``move_cost_seconds`` is what a move costs sessions, ``payback_seconds`` how long it must last to earn that, and
``ceiling_ratio`` the most of foreground I/O that any placement could save.

``advice_of_roles`` judges logs, temporary and undo space by their own measured waits: a faster device, a device of
their own, or no change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from connectors.model.formatting import format_bytes, format_seconds
from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I64, SIGNALS, Bools, DatabaseDemand, Role, RoleFigures, Signal
from policies.evidence.queueing import LEAST_QUEUED, queued_tiers
from policies.model.columns import row_chunks
from policies.model.plan import Advice, AdviceCode, Situation
from policies.model.settings import PolicySettings, Tier, TierSpeed

HOUR = 3600.0
DAY = 24 * HOUR
ALL = slice(None)
ENOUGH_OF_TIER = 0.25  # held by partitions in series: from here on all copies count twice
# Share of these prices that an I/O of a kind of unit counts; what is not named counts whole.
SHARES: Mapping[UnitKind, float] = {}


def wait_weights(speeds: Sequence[TierSpeed], settings: PolicySettings) -> F64:
    """Seconds that sessions wait for one I/O of each signal on each tier. Shape ``(tiers, SIGNALS)``."""
    weights = np.zeros((len(speeds), SIGNALS))
    for tier, speed in enumerate(speeds):
        weights[tier, Signal.SYNC_READ] = speed.random_read_seconds
        weights[tier, Signal.PREFETCHED_READ] = speed.sequential_read_seconds * settings.prefetched_wait_share
        weights[tier, Signal.DIRECT_READ] = speed.sequential_read_seconds
        weights[tier, Signal.ASYNC_WRITE] = speed.write_seconds * settings.write_wait_share
        weights[tier, Signal.SYNC_WRITE] = speed.write_seconds
    return weights


@dataclass(frozen=True, slots=True)
class Prices:
    """What the units of a situation cost their sessions on each tier.

    Attributes:
        weights: ``(tiers, SIGNALS)`` seconds waited for one I/O.
        shares: ``(n,)`` what each unit's I/Os count of that; None: all count whole.
    """

    weights: F64
    shares: F64 | None = None

    @classmethod
    def of(cls, situation: Situation, settings: PolicySettings) -> Self:
        """The prices in a situation: by the speeds of its tiers and the shares that sessions wait for."""
        shares = None
        if SHARES:
            by_kind = np.array([SHARES.get(kind, 1.0) for kind in UnitKind])
            shares = by_kind[np.searchsorted([kind.value for kind in UnitKind], situation.units.kind)]
        return cls(wait_weights([tier.speed for tier in situation.tiers], settings), shares)

    def per_hour(self, rates: F64, rows: slice | I64 = ALL) -> F64:
        """Wait seconds per hour of each unit, were it on each tier.

        Args:
            rates: shape ``(SIGNALS, n)``, per second.
            rows: of the situation's units, which units these are; all of them by default.

        Returns:
            Shape ``(tiers, n)``. Summed signal by signal, so a unit's figure never depends on its neighbours.
        """
        wait = np.zeros((len(self.weights), rates.shape[1]))
        for tier, weights in enumerate(self.weights):
            # Signal by signal instead of one matrix product: a product adds in an order that depends on the shape, so
            # the last digit of a unit's wait would depend on its neighbours.
            for signal in np.flatnonzero(weights):
                wait[tier] += rates[signal] * (weights[signal] * HOUR)
        return wait if self.shares is None else wait * self.shares[rows]

    def by_tier(self, rates: F64, tier: I64, signals: Bools | None = None) -> F64:
        """Seconds a second that are waited on each tier, with each unit on the tier given. Shape ``(tiers,)``.

        Args:
            rates: shape ``(SIGNALS, n)``, per second.
            tier: of each unit, shape ``(n,)``; -1: it is not managed and does not count.
            signals: which signals count; None: all.
        """
        counted = self if signals is None else replace(self, weights=self.weights * signals)
        waits = np.zeros(len(self.weights))
        for part in row_chunks(len(tier)):
            managed = np.flatnonzero(tier[part] >= 0)
            home = tier[part][managed].astype(np.int64)
            wait = counted.per_hour(rates[:, part], part)[home, managed] / HOUR
            waits += np.bincount(home, weights=wait, minlength=len(waits))
        return waits


def wait_per_hour(rates: F64, speeds: Sequence[TierSpeed], settings: PolicySettings) -> F64:
    """As ``Prices.per_hour``, of units that belong to no situation. Shape ``(tiers, n)``."""
    return Prices(wait_weights(speeds, settings)).per_hour(rates)


def most_waiting(situation: Situation) -> float:
    """Session seconds a second that can be waited, on average over the time that heat speaks of; inf: not known."""
    known = [each for each in (situation.sessions, situation.database.active) if each > 0]  # NaN is left out
    return max(known, default=float("inf"))


def session_share(situation: Situation, waits_per_hour: F64) -> float:
    """Share of each unit's wait that leaves their sum within what sessions can wait, 0 to 1.

    One share for all units keeps their order and their proportions; a bound on each unit alone would make the hottest
    equal, and their sum would still exceed the wait of all sessions.

    Args:
        situation: how many sessions are at work.
        waits_per_hour: seconds per hour of each unit, 0 or more.
    """
    total, most = float(waits_per_hour.sum()), most_waiting(situation) * HOUR
    return most / total if total > most else 1.0


def with_bounded_waits(situation: Situation, settings: PolicySettings) -> Situation:
    """The situation with read times cut so that, in the present placement, sessions wait no longer than they can.

    Unchanged where the waits are within that, or where the engine does not count sessions.
    """
    most = most_waiting(situation)
    waits = present_waits(situation, settings)
    if waits.sum() <= most:
        return situation
    queued = queued_tiers(situation)
    slow, fast = float(waits[queued].sum()), float(waits[~queued].sum())
    if slow > LEAST_QUEUED * (slow + fast) and most > fast:
        factor = np.where(queued, (most - fast) / slow, 1.0)
    else:
        factor = np.full(len(queued), most / (slow + fast))
    return replace(situation, tiers=_faster(situation.tiers, factor))


def present_waits(situation: Situation, settings: PolicySettings) -> F64:
    """Seconds a second that are waited on each tier where everything is, by the model. Shape ``(tiers,)``."""
    homes = situation.tier_of_space[situation.units.space].astype(np.int64)
    return Prices.of(situation, settings).by_tier(situation.heat.rates, homes)


def _faster(tiers: tuple[Tier, ...], factor: F64) -> tuple[Tier, ...]:
    """Tiers with shorter read times; none comes out slower than the one below it."""
    found: list[Tier] = []
    for tier, share in zip(reversed(tiers), reversed(factor.tolist()), strict=True):
        below = found[-1].speed if found else None
        found.append(replace(tier, speed=tier.speed.scale(share).cap(below)))
    return tuple(reversed(found))


def ceiling_ratio(database: DatabaseDemand) -> float:
    """Amdahl: the share of session time that is foreground I/O, at most 1; NaN where the engine cannot tell.

    No placement saves more of these waits than there is. Commits and other waits may become shorter with them: a
    published payroll of 0.112 got done in 0.838 of its time.
    """
    writes = 0.0 if np.isnan(database.write_wait) else database.write_wait
    if not database.active > 0 or np.isnan(database.read_wait):
        return float("nan")
    return float(min(1.0, (database.read_wait + writes) / database.active))


def copy_seconds(size_bytes: I64, settings: PolicySettings) -> F64:
    """How long copying takes by size alone, where nothing else is known; shape as given. See ``costs``."""
    return np.asarray(size_bytes / settings.copy_bytes_per_second, dtype=np.float64)


def move_cost_seconds(copying_seconds: F64, database: DatabaseDemand, settings: PolicySettings) -> F64:
    """Session seconds a move costs: of every session that waits for disk, the share that stands still meanwhile."""
    lost = waiting_sessions(database) * settings.foreground_slow_down
    return np.asarray(copying_seconds * lost, dtype=np.float64)


def cool_down_left(
    since: F64, earned: F64, came_up: Bools, gave_way: Bools, size_bytes: I64, database: DatabaseDemand,
    settings: PolicySettings, dearest: float = 1.0,
) -> F64:  # fmt: skip
    """Seconds for which each unit that moved has to stay where it is, shape ``(n,)``.

    Until the cool-down has passed; what is on the fastest tier only until it was spared as much wait as both copies
    cost, each in its hour. Ski rental: it costs at most twice what hindsight would have paid. What made room for others
    may come back at once, and then stays in turn; what a person sent down rests.

    Args:
        since: seconds since each moved, inf where it did not.
        earned: wait seconds spared since then, less what that copy cost (``horizons.earned_seconds``).
        came_up: on the fastest tier.
        gave_way: moved last to make room for others.
        size_bytes: of each.
        database: whose sessions a copy holds up.
        settings: cool-down and speed of copies.
        dearest: times its present price that the copy back may cost (``horizons.dearest_copy``).
    """
    cost = move_cost_seconds(copy_seconds(size_bytes, settings), database, settings)
    stays = np.where(came_up, earned < dearest * cost, ~gave_way)
    return np.where(stays, np.maximum(0.0, settings.cool_down_seconds - since), 0.0)


def may_return(gave_way: Bools, series: Bools) -> Bools:
    """Which of the units that gave way may come back within their cool-down. Shape ``(n,)``.

    Where partitions are born, the partitions alone: the next one needs the room of the others within a day, and they
    would be copied to and fro for a few hours each night.

    Args:
        gave_way: moved last to make room for others.
        series: partitions that are planned by their place (``horizons.are_in_series``).
    """
    return np.asarray(gave_way & (series | (not series.any())), dtype=np.bool_)


def owed_seconds(
    earned: F64, came_up: Bools, series: Bools, size_bytes: I64, database: DatabaseDemand, settings: PolicySettings
) -> F64:
    """What each unit has not spared yet of the copy that brought it, in session seconds; shape ``(n,)``.

    inf: it does not leave during its cool-down, whoever would pay.

    Args:
        earned: wait seconds spared since it came, less what that copy cost (``horizons.earned_seconds``).
        came_up: on the fastest tier.
        series: partitions that are planned by their place: their heat ends with the next birth, and they may always
            leave. Next to them so may what has paid for both copies at the present price: what came up overnight would
            keep out the partition that is read by day. Without any nothing leaves early: it may be hot again in hours.
        size_bytes: of each.
        database: whose sessions a copy holds up.
        settings: speed of copies.
    """
    cost = move_cost_seconds(copy_seconds(size_bytes, settings), database, settings)
    # No more than a copy: what waited long before it came is not lost by leaving.
    yields = came_up & (series | (series.any() & (earned >= cost)))
    return np.where(yields, np.clip(-earned, 0.0, cost), np.inf)


def copies_caused(series: Bools, came_up: Bools, size_bytes: I64, between_births: float) -> F64 | None:
    """How many copies of as many bytes each unit causes by coming up, besides its own; shape ``(n,)``, 0 to 2.

    The next birth, and the next look back at a partition, wants room within the day. Where series hold most of the
    fastest tier, almost all that another unit takes is then missing: it or a partition leaves, and comes back. That
    copy is counted for who took the room; at the usual price alone it comes and goes for little more than its copies.

    Births do not end, so each copy is one of a row of them, and counts twice: what comes and goes for little more than
    its copies would wear the tier for as long as partitions are born. For a series that is small, or born monthly,
    hardly anything is added. None: there is no series.

    Args:
        series: partitions that are planned by their place (``horizons.are_in_series``).
        came_up: on the fastest tier.
        size_bytes: of each.
        between_births: seconds, inf: not known yet.
    """
    if not series.any():
        return None
    held = float(size_bytes[came_up].sum())
    share = float(size_bytes[came_up & series].sum()) / held if held else 0.0
    again = min(1.0, share / ENOUGH_OF_TIER)
    return np.where(series, again, again + share) * min(1.0, DAY / between_births)


def waiting_sessions(database: DatabaseDemand) -> float:
    """Sessions that wait for disk at a time, which a copy can hold up; at least one.

    A session that computes does not wait for a copy. Where the waits are not measured, all active sessions count.
    """
    share = ceiling_ratio(database)
    waiting = database.active if np.isnan(share) else database.active * share
    return float(max(1.0, waiting)) if waiting == waiting else 1.0


def payback_seconds(cost_seconds: F64, saved_per_hour: F64) -> F64:
    """How long a move must last to earn its cost; inf where it saves nothing."""
    hours = np.divide(
        cost_seconds, saved_per_hour, out=np.full(np.shape(cost_seconds), np.inf), where=saved_per_hour > 0
    )
    return np.asarray(hours * HOUR, dtype=np.float64)


NOTICEABLE = 0.05  # share of session time; waits below it need no action
BEST_HALF = 0.5  # a device that halves a wait is worth naming
TINY = 1e-12


def is_measured(figures: RoleFigures) -> bool:
    """Whether the time that sessions wait for it is measured."""
    return figures.waited_seconds >= 0 or (figures.writes > 0 and figures.write_seconds >= 0)


def waited_seconds(figures: RoleFigures) -> float:
    """Seconds per second that sessions wait for it; where the engine does not count those, that writes took."""
    return figures.waited_seconds if figures.waited_seconds >= 0 else figures.write_seconds


def own_waits(figures: RoleFigures, database: DatabaseDemand) -> float:
    """Seconds per second that sessions of this database wait for it; 0 where it is not measured.

    The waits for one that serves other databases too are shared out by the time that sessions spend executing.
    """
    if not is_measured(figures):
        return 0.0
    others = figures.active_seconds
    return waited_seconds(figures) * (
        min(1.0, database.active / others) if others > 0 and database.active >= 0 else 1.0
    )


def advice_of_roles(situation: Situation, settings: PolicySettings) -> Iterator[Advice]:
    """Advice on each log, temporary and undo space that is worth any."""
    for figures in situation.roles:
        if is_measured(figures):
            yield _role(figures, situation, settings)
        elif figures.note and _may_matter(figures, situation, settings):
            yield _untimed_advice(figures)


def _may_matter(figures: RoleFigures, situation: Situation, settings: PolicySettings) -> bool:
    """Whether sessions could lose more than the floor, were each block of it an I/O on the slowest tier."""
    slowest = max(tier.speed.random_read_seconds + tier.speed.write_seconds for tier in situation.tiers)
    blocks = figures.written_bytes / settings.block_bytes
    most = max((count for count in (blocks, figures.reads, figures.writes) if count > 0), default=0.0)
    return most * slowest * HOUR > settings.minimum_wait_saved_per_hour


def _untimed_advice(figures: RoleFigures) -> Advice:
    """It is used, but its waits are not measured: the advice says that, and no more."""
    written = figures.written_bytes
    much = f", {format_bytes(round(written))}/s written," if written > 0 else ""
    return Advice(
        code=AdviceCode.UNKNOWN,
        subject=figures.name,
        sentence=f"{_what(figures)} is used{much} and how long sessions wait for it is not known: {figures.note}.",
        saves_per_hour=0.0,
    )


def _role(figures: RoleFigures, situation: Situation, settings: PolicySettings) -> Advice:
    """A log, temporary or undo space by its own waits: a faster device, one of its own, or as it is."""
    waited = waited_seconds(figures)
    if waited * HOUR < settings.minimum_wait_saved_per_hour or not _is_noticeable(figures, situation):
        return _leave_advice(figures, situation)
    waits = f"{_what(figures)}: sessions wait {format_seconds(waited * HOUR)} per hour for it"
    note = f" ({figures.note})" if figures.note else ""
    best = min(situation.tiers, key=lambda tier: tier.speed.write_seconds)
    spared = _spared_share(figures, best.speed)
    if spared > BEST_HALF:
        saves = waited * HOUR * spared
        return Advice(
            code=AdviceCode.FASTER_DEVICE,
            subject=figures.name,
            sentence=f"{waits}, {_latencies(figures)}; {best.name} would save about {format_seconds(saves)} per hour, "
            f"with {format_seconds(best.speed.write_seconds)} a write{note}.",
            saves_per_hour=saves,
        )
    return Advice(
        code=AdviceCode.OWN_DEVICE,
        subject=figures.name,
        sentence=f"{waits}, and no tier is known to serve it much faster than it is served now; give it a device that "
        f"it does not share{note}.",
        saves_per_hour=0.0,
    )


def _is_noticeable(figures: RoleFigures, situation: Situation) -> bool:
    share, _ = _share(figures, situation)
    return share >= NOTICEABLE


def _leave_advice(figures: RoleFigures, situation: Situation) -> Advice:
    share, of = _share(figures, situation)
    note = f" ({figures.note})" if figures.note else ""
    return Advice(
        code=AdviceCode.LEAVE,
        subject=figures.name,
        sentence=f"{_what(figures)} is best left where it is: sessions spend {share:.1%} of {of} waiting for it{note}.",
        saves_per_hour=0.0,
    )


def _share(figures: RoleFigures, situation: Situation) -> tuple[float, str]:
    """The share of session time that the waits are, and of whose; of all waits where session time is not known."""
    waited, database = waited_seconds(figures), situation.database
    if figures.active_seconds == figures.active_seconds:
        return waited / max(figures.active_seconds, waited, TINY), "the time of all sessions that it serves"
    if database.active == database.active:
        return waited / max(database.active, waited, TINY), "their time"
    others = sum(wait for wait in (database.read_wait, database.write_wait) if wait >= 0)
    return waited / max(waited + others, TINY), "all that they are known to wait for storage"


def _spared_share(figures: RoleFigures, speed: TierSpeed) -> float:
    """Share of the waits that a device of that speed would spare, by the mean times of reads and writes."""
    kinds = (
        (figures.reads, figures.read_seconds, speed.random_read_seconds),
        (figures.writes, figures.write_seconds, speed.write_seconds),
    )
    known = [(seconds, count * there) for count, seconds, there in kinds if count > 0 and seconds > 0]
    now = sum(seconds for seconds, _ in known)
    # Kind by kind the better of now and then: a tier that reads faster and writes slower must not be charged for writes
    # that would stay where they are.
    return 1.0 - sum(min(seconds, then) for seconds, then in known) / now if now > 0 else 0.0


def _what(figures: RoleFigures) -> str:
    word = _WORDS[figures.role]
    return word if figures.name in word else f"{word} ({figures.name})"


_WORDS = {Role.LOG: "the log", Role.TEMP: "the temporary space", Role.UNDO: "the undo space"}


def _latencies(figures: RoleFigures) -> str:
    kinds = ((figures.reads, figures.read_seconds, "a read"), (figures.writes, figures.write_seconds, "a write"))
    means = [f"{format_seconds(seconds / count)} {word}" for count, seconds, word in kinds if count > 0 and seconds > 0]
    return ", ".join(means)
