"""How the wait per operation depended on load, mix and hour before the moves: what it would be without them.

The logarithm of the wait per operation is linear in a queue's curve, the share of what moves, the share of other tiers,
the hour of the day, and, where it is known, in how slow the reads of what did not move are (``control``). Few intervals
do not show which queue it is: several are fitted, and drawn by how well they explain the time before (Bayesian model
averaging, Hoeting et al. 1999). Coefficients that this time says little about keep the error of their prior, which is
drawn as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from connectors.model.observation import F64, I64

DAY, HOUR_SECONDS = 86_400.0, 3600.0
# Prior mean and standard error of the coefficients.
LEVEL, QUEUE, MOVED, ELSEWHERE, HOUR = (0.0, 100.0), (1.0, 0.3), (0.0, 0.1), (0.0, 0.25), (0.0, 0.1)
CONTROL = (0.5, 0.5)  # from units of another device to units of the same
UTILISATIONS = (0.03, 0.12, 0.25, 0.4, 0.55, 0.75)  # at the mean load
SERVERS = (1, 4)
# The curve has a pole at 1, and a load above the mean may come near to it or pass it.
MOST_BUSY = 0.97
LEAST_NOISE = 0.01**2  # variance of an interval: no model is better than that
HARMONICS = 2  # of the day
LOAD_CLASSES = 5  # of loads before the moves, with as many intervals in each
LEAST_SHARE = 0.002  # of the work, added to each class: none counts for nothing, and none without end
LEAST_DAY = 20 / 24  # of a day must have been seen before hours of it are known


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

    def merge(self, count: int) -> Evidence:
        """Intervals of that many neighbours each; what is left over at the beginning is left out."""
        if count <= 1:
            return self
        some = self.rows(slice(len(self) % count, None))
        return some.joined(np.arange(0, len(some), count))

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


class UsualWait:
    """The wait per operation as it was, by a handful of queues."""

    def __init__(self, before: Evidence, block: int, least_days: float = LEAST_DAY) -> None:
        """Fit it.

        Args:
            before: the intervals.
            block: intervals within which noise lasts.
            least_days: that must have been seen before the hour of the day counts.
        """
        self._before, self._block = before, block
        self._middle = float(np.average(before.load, weights=before.expected))
        self._shares = {
            name: float(np.average(getattr(before, name), weights=before.expected)) for name in ("moved", "elsewhere")
        }
        self.knows_hours = float(before.at[-1] - before.at[0]) >= least_days * DAY
        self._weight = before.expected / before.expected.mean()
        self._y = np.log(before.waited / before.expected)
        self._queues = [(used, servers) for servers in SERVERS for used in UTILISATIONS]
        self._designs = np.array([self._design(before, before.load, queue) for queue in self._queues])  # (queues, n, k)
        priors = [LEVEL, QUEUE, MOVED, ELSEWHERE] + [HOUR] * (2 * HARMONICS * self.knows_hours)
        priors += [CONTROL] * (before.control is not None)
        self._mean, self._error = np.array(priors).T
        weighted = self._designs * self._weight[:, np.newaxis]
        self._weighted = weighted
        self._noise, self._chances, self._betas = self._fit()
        self._classes = self._class_of(before.load)

    def seen_load(self, evidence: Evidence) -> F64:
        """The load of intervals, or the nearest that was seen before. Shape ``(n,)``."""
        return np.clip(evidence.load, self._before.load.min(), self._before.load.max())

    def expect(self, evidence: Evidence) -> F64:
        """Seconds that its reads would have been waited for, by the most probable queue. Shape ``(n,)``."""
        best = int(np.argmax(self._chances))
        design = self._design(evidence, evidence.load, self._queues[best])
        return np.asarray(evidence.expected * np.exp(design @ self._betas[best]))

    def draw(self, seed: int, count: int) -> DrawnWaits:
        """The same wait by drawn blocks, queues and priors: how it scatters says how well it is known.

        Args:
            seed: of the draws.
            count: of draws.
        """
        generator = np.random.default_rng(seed)
        blocks = max(1, round(len(self._before) / self._block))
        starts = generator.integers(len(self._before) - self._block + 1, size=(count, blocks))
        priors = self._mean + generator.normal(size=(count, len(self._mean))) * self._error
        queues = generator.choice(len(self._queues), size=count, p=self._chances)
        times = self._times_drawn(starts)
        by_queue = ((int(queue), np.flatnonzero(queues == queue)) for queue in np.unique(queues))
        return DrawnWaits(self, [self._draw_of(queue, rows, times[rows], priors[rows]) for queue, rows in by_queue])

    def _times_drawn(self, starts: I64) -> F64:
        """How often each interval is in the blocks of each draw. Shape ``(draws, n)``."""
        edges = np.zeros((len(starts), len(self._before) + 1))
        draws = np.broadcast_to(np.arange(len(starts))[:, np.newaxis], starts.shape)
        np.add.at(edges, (draws, starts), 1.0)
        np.add.at(edges, (draws, starts + self._block), -1.0)
        return np.asarray(np.cumsum(edges, axis=1)[:, :-1])

    def _draw_of(self, queue: int, rows: I64, times: F64, priors: F64) -> _Drawn:
        """The draws that have one queue."""
        design, weighted, before = self._designs[queue], self._weighted[queue], self._before
        squares = (weighted[:, :, np.newaxis] * design[:, np.newaxis]).reshape(len(design), -1)
        gram = (times @ squares).reshape(len(rows), design.shape[1], design.shape[1])
        betas = self._solve(gram, times @ (weighted * self._y[:, np.newaxis]), priors)
        expected = before.expected * np.exp(betas @ design.T)
        return _Drawn(queue, rows, betas, (times * before.waited) @ self._classes, (times * expected) @ self._classes)

    def alike(self, evidence: Evidence, load: F64) -> F64:
        """How much each class of loads before counts in a comparison with other intervals. Shape ``(LOAD_CLASSES,)``.

        No queue of a handful is that of the device, and a load that is counted over short intervals is noisy, which
        flattens the fit. What is left over is largest at the ends of the loads; so the time before is weighted to have
        the same share of work in each class (post-stratification of the residuals).
        """
        was, now = self._before.expected @ self._classes, evidence.expected @ self._class_of(load)
        return np.asarray((now / now.sum() + LEAST_SHARE) / (was / was.sum() + LEAST_SHARE))

    def _class_of(self, load: F64) -> F64:
        """1 in the column of the class of each load. Shape ``(n, LOAD_CLASSES)``."""
        ends = np.quantile(self._before.load, np.arange(1, LOAD_CLASSES) / LOAD_CLASSES)
        return np.asarray(np.eye(LOAD_CLASSES)[np.searchsorted(ends, load)])

    def expect_by(self, queue: int, betas: F64, evidence: Evidence, load: F64) -> F64:
        """Seconds that all its reads would have been waited for, by coefficients ``(draws, k)``. Shape ``(draws,)``."""
        return np.asarray(evidence.expected @ np.exp(self._design(evidence, load, self._queues[queue]) @ betas.T))

    def _fit(self) -> tuple[float, F64, F64]:
        """Variance of the noise as if intervals were independent, probability of each queue, its coefficients."""
        gram = self._weighted.transpose(0, 2, 1) @ self._designs
        moment = self._y @ self._weighted
        prior = np.broadcast_to(self._mean, moment.shape)
        self._noise = (
            float(np.average(np.square(self._y - np.average(self._y, weights=self._weight)), weights=self._weight))
            + 1e-9
        )
        for _ in range(2):  # the noise says what the prior weighs, and the fit what is noise
            betas = self._solve(gram, moment, prior)
            residuals = self._y - np.einsum("mik,mk->mi", self._designs, betas)
            missed = np.average(np.square(residuals), axis=1, weights=self._weight)
            best = residuals[int(np.argmin(missed))]
            # Where noise lasts for minutes, sums over a block scatter more than so many independent intervals would: by
            # the variance of single ones the fit would be too sure.
            lasting = float(np.var(runs(best, self._block))) / self._block
            self._noise = max(lasting, float(np.var(best)), LEAST_NOISE)
        cost = missed * len(self._y) / self._noise + np.square((betas - self._mean) / self._error).sum(axis=1)
        chances = np.exp(-0.5 * (cost - cost.min()))
        return self._noise, chances / chances.sum(), betas

    def _solve(self, gram: F64, moment: F64, prior: F64) -> F64:
        precision = self._noise / np.square(self._error)
        return np.asarray(
            np.linalg.solve(gram + np.diag(precision), (moment + precision * prior)[..., np.newaxis])[..., 0]
        )

    def _design(self, evidence: Evidence, load: F64, queue: tuple[float, int]) -> F64:
        """Columns of the regression. Shape ``(n, k)``."""
        columns = [np.ones(len(evidence)), queue_curve(load / self._middle, *queue)]
        columns += [getattr(evidence, name) - mean for name, mean in self._shares.items()]
        if self.knows_hours:
            turns = 2 * math.pi * evidence.at / DAY
            columns += [wave(turns * number) for number in range(1, HARMONICS + 1) for wave in (np.sin, np.cos)]
        if evidence.control is not None:
            columns.append(evidence.control)
        return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Draws that have the same queue."""

    queue: int
    rows: I64  # which draws
    betas: F64  # coefficients, shape (draws, k)
    waited: F64  # before, by class of loads, shape (draws, LOAD_CLASSES)
    expected: F64  # the same by the fit


@dataclass(frozen=True, slots=True)
class DrawnWaits:
    """The wait per operation as it may have been. Made by ``UsualWait.draw``."""

    usual: UsualWait
    drawn: list[_Drawn]

    def changes(self, after: Evidence, load: F64) -> F64:
        """Logarithms of what was waited over what would have been, 0 where nothing has changed. Shape ``(draws,)``.

        Args:
            after: the intervals after the moves.
            load: of each, at which it would have been.
        """
        waited, alike = after.waited.sum(), self.usual.alike(after, load)
        found = np.empty(sum(len(each.rows) for each in self.drawn))
        for each in self.drawn:
            level = np.log((each.waited @ alike) / (each.expected @ alike))
            found[each.rows] = np.log(waited / self.usual.expect_by(each.queue, each.betas, after, load)) - level
        return found


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


def runs(values: F64, length: int) -> F64:
    """Sums over each run of that many neighbours along the first axis."""
    total = np.concatenate((np.zeros_like(values[:1]), np.cumsum(values, axis=0)))
    return np.asarray(total[length:] - total[:-length])
