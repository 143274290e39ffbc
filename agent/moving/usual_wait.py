"""How the wait per operation depends on load, mix and hour, and by how much it changed with the moves.

The logarithm of the wait per operation is linear in a queue's curve, the share of what moves, the share of other tiers,
the hour of the day, and, where it is known, in how slow the reads of what did not move are (``control``). Few intervals
do not show which queue it is: several are fitted, and averaged by how well they explain what was seen. The change is
one more coefficient, and what it may be wrong by follows from the noise (``lasting_noise``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agent.moving.lasting_noise import Amid, regress
from connectors.model.observation import F64, I64

DAY, HOUR_SECONDS = 86_400.0, 3600.0
# Prior mean and standard error of the coefficients.
CHANGE, LEVEL = (0.0, 10.0), (0.0, 100.0)
QUEUE, MOVED, ELSEWHERE, HOUR = (1.0, 0.3), (0.0, 0.1), (0.0, 0.25), (0.0, 0.1)
CLASS = (0.0, 0.3)  # no queue of a handful is that of the device, and a noisy load flattens the fit
BEYOND = (1.0, 0.5)  # what the curve adds at loads that were not seen before
CONTROL = (0.5, 0.5)  # from units of another device to units of the same
UTILISATIONS = (0.03, 0.12, 0.25, 0.4, 0.55, 0.75)  # at the mean load
SERVERS = (1, 4)
QUEUES = tuple((used, servers) for servers in SERVERS for used in UTILISATIONS)
# The curve has a pole at 1, and a load above the mean may come near to it or pass it.
MOST_BUSY = 0.97
HARMONICS = 2  # of the day
LOAD_CLASSES = 5  # of loads before the moves, with as many intervals in each
LEAST_DAYS = 1.8  # seen before hours are known: what one day shows at an hour may be noise that lasts for hours
STEPS_AFTER, LONGEST_STEP = 12, 300.0  # that the time after is cut into at least; seconds of those next to the moves
COARSE, LEAST_FINE = 2.5, 30  # times as long as others, an interval is coarse; fewer fine ones are not enough
NEAR, LONGEST_GROUP = 8, 3600.0  # of the distance from the moves, what is taken as one; seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Intervals in the order of time; columns of one length."""

    at: F64  # end, seconds on any clock that knows the hour of the day
    seconds: F64  # length
    waited: F64  # seconds that sessions waited for reads
    expected: F64  # seconds that its reads take where units were before the moves, by the read times of the tiers
    moved: F64  # share of ``expected`` of the units that moved
    elsewhere: F64  # share of ``expected`` of units on other tiers than the slowest
    others: F64 | None = None  # load of the whole database, where this is the evidence of a part of it
    control: F64 | None = None  # logarithm of how slow reads of what did not move are; None: not known

    def __len__(self) -> int:
        return len(self.seconds)

    @property
    def load(self) -> F64:
        """Expected wait per second, of all that shares the devices."""
        return self.expected / self.seconds if self.others is None else self.others

    def rows(self, which: slice | NDArray[np.bool_]) -> Evidence:
        """Some of the intervals."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        some: dict[str, Any] = {name: None if each is None else each[which] for name, each in columns.items()}
        return Evidence(**some)

    def without_control(self) -> Evidence:
        """The same with what the control shows taken off the waits."""
        return self if self.control is None else replace(self, waited=self.waited * np.exp(-self.control), control=None)

    def by_hour(self) -> Evidence:
        """The intervals of each hour as one, or what is known by the hour only could not be compared with them."""
        return self.joined(self.hours())

    def hours(self) -> I64:
        """Where each hour begins among the intervals."""
        number = np.ceil(self.at / HOUR_SECONDS)
        return np.flatnonzero(np.diff(number, prepend=-1.0))

    def joined(self, starts: I64) -> Evidence:
        """One interval from each of some rows to before the next of them."""
        if not len(starts):
            return self

        def sums(values: F64) -> F64:
            return np.asarray(np.add.reduceat(values, starts))

        expected = sums(self.expected)
        read = np.where(expected > 0, expected, 1.0)
        return Evidence(
            at=self.at[np.append(starts[1:], len(self)) - 1], seconds=sums(self.seconds), waited=sums(self.waited),
            expected=expected, moved=sums(self.moved * self.expected) / read,
            elsewhere=sums(self.elsewhere * self.expected) / read,
            others=None if self.others is None else sums(self.others * self.seconds) / sums(self.seconds),
            control=None if self.control is None else sums(self.control * self.seconds) / sums(self.seconds),
        )  # fmt: skip

    def with_reads(self) -> Evidence:
        """The intervals in which something was read and waited for."""
        known = np.isfinite(self.waited) & np.isfinite(self.expected) & (self.waited > 0) & (self.expected > 0)
        return self.rows(known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """By how much the logarithm of the wait per operation differs between two times: means and standard errors."""

    near: tuple[float, float]  # at the loads after, or the nearest that were seen before
    whole: tuple[float, float]  # at the loads as they are
    freedom: float  # degrees of freedom of the errors
    lasts_seconds: float  # the noise
    hours_known: bool  # whether the same hours of the day were seen before


def change_between(before: Evidence, after: Evidence) -> Change:
    """The usual wait fitted to both times, with a change from the first to the second.

    Args:
        before: intervals with reads, in the order of time.
        after: the same of the time after.
    """
    was, now = _alike(before, after)
    usual = _Usual(was, now)
    interval = float(np.median(now.seconds))
    shortest = min(float(now.seconds.sum()) / STEPS_AFTER, LONGEST_STEP) / interval
    longest = LONGEST_GROUP / interval
    found = regress(usual.by_groups(_groups(len(was), shortest, longest)[::-1], _groups(len(now), shortest, longest)))
    count = len(QUEUES)
    return Change(
        near=found.average(slice(count)),
        whole=found.average(slice(count, None) if usual.goes_beyond else slice(count)),
        freedom=found.freedom,
        lasts_seconds=found.lasts_seconds,
        hours_known=usual.knows_hours,
    )


class _Usual:
    """What the wait per operation depends on, and the change that is asked for."""

    def __init__(self, was: Evidence, now: Evidence) -> None:
        self._at, self._seconds, self._expected, load, waited = (
            _both(each, was, now) for each in ("at", "seconds", "expected", "load", "waited")
        )
        self._values = np.log(waited / self._expected)
        self.knows_hours = float(was.at[-1] - was.at[0]) >= LEAST_DAYS * DAY
        middle = float(np.average(was.load, weights=was.expected))
        seen = np.clip(load, was.load.min(), was.load.max())
        self._curves = [queue_curve(seen / middle, *queue) for queue in QUEUES]
        whole = [queue_curve(load / middle, *queue) for queue in QUEUES]
        self._beyond = [more - less for more, less in zip(whole, self._curves, strict=True)]
        self.goes_beyond = bool(np.any(self._beyond))
        self._shared = [np.repeat([0.0, 1.0], [len(was), len(now)]), np.ones(len(load))]
        self._priors = [CHANGE, LEVEL]
        for name, prior in (("moved", MOVED), ("elsewhere", ELSEWHERE)):
            self._add(_both(name, was, now) - np.average(getattr(was, name), weights=was.expected), prior)
        ends = np.quantile(was.load, np.arange(1, LOAD_CLASSES) / LOAD_CLASSES)
        for each in np.eye(LOAD_CLASSES)[np.searchsorted(ends, load)].T:
            self._add(each, CLASS)
        turns = 2 * math.pi * self._at / DAY
        for number in range(1, HARMONICS + 1) if self.knows_hours else ():
            self._add(np.sin(turns * number), HOUR)
            self._add(np.cos(turns * number), HOUR)
        if was.control is not None and now.control is not None:
            self._add(_both("control", was, now), CONTROL)

    def _add(self, column: F64, prior: tuple[float, float]) -> None:
        self._shared.append(column)
        self._priors.append(prior)

    def by_groups(self, before: I64, after: I64) -> Amid:
        """What is regressed, by means over groups of so many intervals; designs without what is beyond come first."""
        groups = np.concatenate((before, after))
        firsts = np.concatenate(([0], np.cumsum(groups)[:-1]))
        work, seconds = (np.add.reduceat(each, firsts) for each in (self._expected, self._seconds))
        columns = [*self._shared, np.zeros(len(self._at)), *self._curves, *self._beyond]
        means = [np.add.reduceat(each * self._expected, firsts) / work for each in (*columns, self._values)]
        none, count = len(self._shared), len(QUEUES)
        shared = list(range(none))
        near = [[*shared, none + 1 + each, none] for each in range(count)]
        whole = [[*shared, none + 1 + each, none + 1 + count + each] for each in range(count)]
        mean, error = np.array([*self._priors, QUEUE, BEYOND]).T
        return Amid(
            end=self._at[firsts + groups - 1],
            seconds=seconds,
            weight=work / seconds / (work.sum() / seconds.sum()),
            values=means[-1],
            columns=np.column_stack(means[:-1]),
            designs=np.array([*near, *whole] if self.goes_beyond else near),
            mean=mean,
            error=error,
        )


def _both(name: str, was: Evidence, now: Evidence) -> F64:
    return np.concatenate((getattr(was, name), getattr(now, name)))


def _alike(before: Evidence, after: Evidence) -> tuple[Evidence, Evidence]:
    """Both in intervals of one length: the mean wait of ten minutes is not the mean of its minutes.

    Where the time after is short, older days that are known in coarser intervals are left out.
    """
    interval = float(np.median(after.seconds))
    fine = before.rows(before.seconds < COARSE * interval)
    if len(fine) == len(before):
        return before, after
    if float(after.seconds.sum()) < STEPS_AFTER * LONGEST_STEP:
        return (fine if len(fine) >= LEAST_FINE else before), after
    long = max(interval, LONGEST_STEP)
    some = before.rows(before.seconds < COARSE * long)
    before = some if len(some) >= LEAST_FINE else before
    return (
        before.joined(_firsts((before.at[-1] - before.at) // long)),
        after.joined(_firsts(np.ceil((after.at - after.at[0] + after.seconds[0]) / long))),
    )


def _firsts(numbers: F64) -> I64:
    """Where each run of one number begins."""
    return np.flatnonzero(np.diff(numbers, prepend=np.nan) != 0)


def _groups(count: int, shortest: float, longest: float) -> I64:
    """How many of so many intervals are taken as one, from the moves on: the farther away, the less each one tells."""
    found, past = [], 0
    while past < count:
        found.append(int(max(1, min(max(shortest, past // NEAR), longest, count - past))))
        past += found[-1]
    return np.array(found)


def queue_curve(load: F64, used: float, servers: int) -> F64:
    """Logarithm of the read time of a device over that when idle.

    Sakasegawa's approximation of M/M/c (1977): a read waits ``r ** (sqrt(2 (c + 1)) - 1) / (c (1 - r))`` services.

    Args:
        load: relative to the mean.
        used: utilisation at the mean load.
        servers: requests that it serves at a time.
    """
    busy = np.minimum(load * used, MOST_BUSY)
    waits = busy ** (math.sqrt(2 * (servers + 1)) - 1) / (servers * (1 - busy))
    return np.asarray(np.log1p(waits))
