"""Noise of read waits that lasts for minutes or for hours, and what a regression finds amid it. Pure.

A device is slower for hours while a backup, a scrub or a neighbour uses it. Within one such spell hundreds of intervals
say the same thing, and by their scatter around it a mean seems sure. So noise is taken as a sum: what is new in each
interval, and what fades with a time constant (Ornstein-Uhlenbeck). Under each of a grid of these the regression is
solved by generalized least squares (Aitken 1936), and the answers are averaged by how well their noise explains what
was seen (Bayesian model averaging, Hoeting et al. 1999). Of a change at a known date, quick noise leaves the whole of
the time before and after as evidence, and slow noise what came shortly before and after that date.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from connectors.model.observation import F64, I64

TIME_CONSTANTS = (240.0, 720.0, 1800.0, 3600.0, 7200.0, 14_400.0, 28_800.0, 60_000.0)  # seconds
NEW = (0.03, 0.3, 0.7, 0.95)  # share of the variance that is new, in intervals of so many seconds
NEW_SECONDS = 900.0
LEAST_INTERVALS = 12  # before the moves: fewer do not show how long noise lasts
LEAST_TIMES = 10  # as long as noise tells the same: fewer say nothing for sure
LEAST_NOISE = 0.01**2  # variance of an interval: no model is better than that
UNLIKELY = 8.0  # by that much of the logarithm a noise explains less than the best: it counts for nothing
ROUNDS = 3  # the noise says what the priors weigh, and the fit what is noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Amid:
    """What is regressed on what; ``n`` intervals in the order of time."""

    end: F64  # of each interval, seconds
    seconds: F64  # length
    weight: F64  # how much of the usual work is in an interval for its length; what is new scatters the less
    values: F64  # shape (n,)
    columns: F64  # shape (n, c)
    designs: I64  # which columns each design has, shape (m, k): the first is the one that is asked for
    mean: F64  # of the prior of each coefficient, shape (k,)
    error: F64  # its standard error


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The first coefficient, by noise and design: shape ``(g, m)`` each, if not said otherwise."""

    chance: F64  # of the noise and the design together; the sum is 1
    value: F64
    variance: F64
    freedom: float  # intervals less what was fitted to them, where that explains best
    lasts_seconds: float  # the noise, by the geometric mean

    def average(self, designs: slice) -> tuple[float, float]:
        """Mean and standard error over some of the designs."""
        chance = self.chance[:, designs] / self.chance[:, designs].sum()
        mean = float((chance * self.value[:, designs]).sum())
        spread = self.variance[:, designs] + np.square(self.value[:, designs] - mean)
        return mean, float(np.sqrt((chance * spread).sum()))


def regress(amid: Amid) -> Found:
    """The first coefficient of each design amid each noise that may be."""
    count = len(amid.values)
    products, scales, noises = [], [], []
    both = np.column_stack((amid.columns, amid.values))
    # One after another, also where a clock was set back or two agents have watched the same time: what overlaps has no
    # covariance of this form.
    past = np.cumsum(amid.seconds)
    end = past + np.maximum.accumulate(amid.end - past)
    longest = float(end[-1] - end[0]) / 2  # what lasts longer than was seen is the level
    for fades in (each for each in TIME_CONSTANTS if each <= max(longest, TIME_CONSTANTS[0])):
        alike = _means_alike(end - amid.seconds / 2, amid.seconds, fades)
        for new in NEW:
            noise = (1 - new) * alike
            noise[np.diag_indices(count)] += new * NEW_SECONDS / (amid.seconds * amid.weight)
            noise *= count / np.trace(noise)
            products.append(both.T @ np.linalg.solve(noise, both))
            scales.append(2 * float(np.log(np.diag(np.linalg.cholesky(noise))).sum()))
            noises.append(_lasts(fades, new, float(amid.seconds.min())))
    product, scale = np.array(products), np.array(scales)  # all that the designs need of the intervals
    likely = _solve(product, scale, amid, amid.designs[:1])[0][:, 0]
    may_be = likely > likely.max() - UNLIKELY
    likely, value, variance, taken = _solve(product[may_be], scale[may_be], amid, amid.designs)
    chance = np.exp(likely - likely.max())
    best = np.unravel_index(int(np.argmax(chance)), chance.shape)
    return Found(
        chance=chance / chance.sum(),
        value=value,
        variance=variance,
        freedom=max(1.0, count - float(taken[best])),
        lasts_seconds=float(np.exp((chance.sum(axis=1) / chance.sum()) @ np.log(np.array(noises)[may_be]))),
    )


def _solve(product: F64, scale: F64, amid: Amid, designs: I64) -> tuple[F64, F64, F64, F64]:
    """By noise and design: how likely, the first coefficient, its variance, and how many coefficients were fitted.

    Args:
        product: of all columns and the values, weighted by each noise, shape ``(g, c + 1, c + 1)``.
        scale: logarithm of the determinant of each noise, shape ``(g,)``.
        amid: what is regressed.
        designs: some of its designs, shape ``(m, k)``.
    """
    count = len(amid.values)
    gram = product[:, designs[:, :, np.newaxis], designs[:, np.newaxis]]  # (g, m, k, k)
    moment = product[:, designs, -1] - gram @ amid.mean
    square = product[:, -1:, -1] - (product[:, designs, -1] + moment) @ amid.mean
    prior = np.diag(1 / np.square(amid.error))
    variance = np.full(square.shape, float(np.var(amid.values)) + LEAST_NOISE)
    for _ in range(ROUNDS):
        inverse = np.linalg.inv(gram / variance[..., np.newaxis, np.newaxis] + prior)
        found = (inverse @ moment[..., np.newaxis])[..., 0] / variance[..., np.newaxis]
        left = square - (found * (2 * moment - (gram @ found[..., np.newaxis])[..., 0])).sum(axis=-1)
        # Coefficients that the intervals decide and not their priors.
        taken = (gram * inverse).sum(axis=(-2, -1)) / variance
        variance = np.maximum(left / np.maximum(1.0, count - taken), LEAST_NOISE)
    inverse = np.linalg.inv(gram / variance[..., np.newaxis, np.newaxis] + prior)
    likely = -0.5 * (
        count * np.log(variance) + scale[:, np.newaxis] + left / variance
        + np.square(found / amid.error).sum(axis=-1) - np.linalg.slogdet(inverse)[1]
    )  # fmt: skip
    return likely, found[..., 0] + amid.mean[0], inverse[..., 0, 0], taken


def _lasts(fades: float, new: float, seconds: float) -> float:
    """How long noise tells the same, as intervals of that length see it.

    That is the integral of its autocorrelation; or as long as intervals must be averaged before what is new in them
    scatters less than what fades, if that is shorter: in less than that a change of the level shows.
    """
    fresh, rest = new * NEW_SECONDS, 1 - new
    whole = (2 * fades * rest + fresh) / (rest + fresh / seconds)
    return min(whole, float(np.sqrt(2 * fades * fresh / rest)))


def _means_alike(middle: F64, seconds: F64, fades: float) -> F64:
    """Covariance of means over intervals, of noise that fades with that time constant, of variance 1. ``(n, n)``."""
    lengths = seconds / fades
    ends = -np.expm1(-lengths) / lengths
    between = np.abs(middle[:, np.newaxis] - middle) - (seconds[:, np.newaxis] + seconds) / 2
    alike = np.exp(-np.maximum(between, 0.0) / fades) * np.outer(ends, ends)
    alike[np.diag_indices(len(lengths))] = 2 / lengths * (1 - ends)
    return np.asarray(alike)
