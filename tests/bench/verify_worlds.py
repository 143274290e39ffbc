"""Worlds in which the effect of moves is known: a device with a queue, a load that changes, and noise that lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from agent.moving.control import Control
from agent.moving.usual_wait import Evidence
from connectors.model.observation import F64, I64

MINUTE = 60.0
BEFORE, AFTER, SETTLE = 1440, 960, 15  # minutes
EFFECTS = ("none", "helped", "spill", "hurt")
CHANGES = ("steady", "doubles", "falls", "mix", "season", "warming")
HURT, HURT_MUCH = 0.10, 0.20  # more wait
FADES, SQUARE, STEPS, RHYTHM, NEIGHBOURS = "fades", "square", "steps", "rhythm", "neighbours"  # shapes of noise
SHAPES = (FADES, SQUARE, STEPS, RHYTHM, NEIGHBOURS)
DAY, WEEK = 1440, 7 * 1440  # minutes
SIZE = (0.05, 0.30)  # by which noise makes reads slower: standard error of what fades and of steps, else the rise
ON_OFF = (0.7, 1.4)  # of its length, that square noise stays on or off
BACKUP, LATE = (60.0, 360.0), 15.0  # minutes that a rhythm's slow time lasts, and by which it begins early or late
WEEKEND = (0.3, 0.9)  # of the usual load, on two days of the week
NEIGHBOURS_A_DAY = 1.5
SHOWN = (0.6, 1.0)  # of such noise, that the control shows as well: some of its reads are served elsewhere
READING, OWN_NOISE = 3, 0.05  # minutes between readings of statements; standard error of the control's own noise


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """What slows the device down for minutes to hours, whatever is moved."""

    shape: str
    minutes: int  # time constant, time on or off, mean time at a level, period, or length of a neighbour's load


NOISES = {
    **{
        f"{shape} {minutes} min": Noise(shape=shape, minutes=minutes)
        for shape in (FADES, SQUARE, STEPS)
        for minutes in (1, 5, 15, 60, 180, 360)
    },
    "daily": Noise(shape=RHYTHM, minutes=DAY),
    "weekly": Noise(shape=RHYTHM, minutes=WEEK),
    **{f"neighbours {hours} h": Noise(shape=NEIGHBOURS, minutes=hours * 60) for hours in (1, 2, 3, 6)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One move in one world: what is seen of it, and what it did."""

    effect: str
    change: str
    before: Evidence
    history: Evidence  # days before, those that are compared included
    after: Evidence  # all that could be measured: the first minutes are measured first
    transactions_before: F64
    transactions_after: F64
    control: Control  # statements that read nothing of what moved
    truth: F64  # logarithm of the change of the wait per operation over the first 1, 2, ... intervals after


def make_case(generator: np.random.Generator, effect: str, change: str, *, days: int = 0) -> Case:
    """A world by chance, with a move in it, after so many days besides those that are compared.

    A slow device serves what moves and part of what stays, a fast one the rest. Read times on the slow one grow with
    its load as in a queue. Sessions come from outside: the load is what it is. Believed read times are wrong by chance.
    """
    until = days * DAY + BEFORE  # when the move comes
    count, minute = until + SETTLE + AFTER, np.arange(until + SETTLE + AFTER)
    placed = minute >= until
    phase, swing = generator.uniform(0, 2 * np.pi), generator.uniform(0.2, 0.5)
    day = np.sin(2 * np.pi * minute / DAY + phase)
    load = np.exp(swing * day + _lasting(generator, count, 0.10, 10.0))
    load *= {"doubles": 2.0, "falls": 0.5}.get(change, 1.0) ** placed
    slower, coupling = np.ones(count), 1.0
    if change in NOISES:
        chance = generator.spawn(1)[0]
        slower, coupling = _slower(NOISES[change], count, chance), chance.uniform(*SHOWN)
        load *= _weekend(count, chance) if NOISES[change].minutes == WEEK else 1.0
    cold = np.exp(-np.maximum(0, minute - until) / 15.0)
    warming = np.where(placed, 1 + 0.8 * cold, 1.0) if change == "warming" else 1.0
    kinds = generator.uniform(0.3, 0.7) * np.exp(_lasting(generator, count, 0.10, 30.0))
    kinds = np.clip(kinds * (generator.choice([0.6, 1.5]) if change == "mix" else 1.0) ** placed, 0.05, 0.95)
    moved = load * kinds * warming  # reads a second, relative
    stays = load * (1 - kinds) * generator.uniform(0.5, 1.5)
    fast = load * generator.uniform(0.0, 3.0)
    base = generator.uniform(0.05, 0.2) / (moved + stays)[:until].mean()
    servers = int(generator.choice([1, 2, 8]))

    def read_time(rate: F64) -> F64:
        return _read_time(np.minimum(base * rate, 0.9), servers)

    slow, ssd = 10.0, generator.uniform(0.3, 1.0)
    own = float(np.exp(generator.normal(0, 0.05)))  # read time of what moves over that of its neighbours on the device
    wait0 = slow * read_time(moved + stays) * (own * moved + stays) + ssd * fast
    wait1 = _wait_after(effect, wait0, moved, stays, fast, slow, ssd, read_time)
    noise = np.exp(_lasting(generator, count, generator.uniform(0.04, 0.10), generator.uniform(1.0, 6.0)))
    noise *= 1 + (0.10 if change == "season" else 0.0) * np.sin(2 * np.pi * minute / DAY + generator.uniform(0, 6))
    noise, shown = noise * slower, noise * slower**coupling
    waited = np.where(placed, wait1, wait0) * noise * generator.gamma(1 / 0.02**2, 0.02**2, count)
    believed = np.exp(generator.normal(0, 0.2, 2))
    priced = [slow * believed[0] * moved, slow * believed[0] * stays, ssd * believed[1] * fast]
    total = np.asarray(sum(priced))
    evidence = Evidence(
        at=minute.astype(np.float64) * MINUTE, seconds=np.full(count, MINUTE), waited=waited * MINUTE,
        expected=total * MINUTE, moved=priced[0] / total, elsewhere=priced[2] / total,
    )  # fmt: skip
    first = until + SETTLE
    now = read_time(stays if effect == "spill" else moved + stays)
    control = _control(np.where(placed, now, read_time(moved + stays)) * shown, generator.spawn(1)[0])
    later = slice(first, None)
    return Case(
        effect=effect, change=change, before=evidence.rows(slice(until - BEFORE, until)),
        history=evidence.rows(slice(0, until)), after=evidence.rows(later),
        transactions_before=load[until - BEFORE : until], transactions_after=load[later],
        control=control,
        truth=np.log(np.cumsum(wait1[later]) / np.cumsum(wait0[later])),
    )  # fmt: skip


def _wait_after(
    effect: str,
    wait0: F64,
    moved: F64,
    stays: F64,
    fast: F64,
    slow: float,
    ssd: float,
    read_time: Callable[[F64], F64],
) -> F64:
    """Wait with the move done, per minute."""
    if effect == "none":
        return wait0
    if effect in ("hurt", "hurt much"):
        return wait0 * (1 + (HURT if effect == "hurt" else HURT_MUCH))
    if effect == "spill":
        return ssd * (moved + fast) + slow * read_time(stays) * stays
    return ssd * (moved + fast) + slow * read_time(moved + stays) * stays


def _control(read_time: F64, generator: np.random.Generator) -> Control:
    """Statements that read from the slow device, and nothing of what moved; with noise of their own that lasts."""
    slower = np.log(read_time[: len(read_time) // READING * READING].reshape(-1, READING).mean(axis=1))
    slower += _lasting(generator, len(slower), OWN_NOISE, 10.0 / READING)
    until = np.asarray((np.arange(len(slower)) * READING + READING - 1) * MINUTE, dtype=np.float64)
    return Control(
        ids=("1", "2"), since=np.asarray(until - READING * MINUTE), until=until, slower=slower - slower.mean()
    )


def _slower(noise: Noise, count: int, generator: np.random.Generator) -> F64:
    """By how much noise slows reads down, each minute. Shape ``(count,)``."""
    size, minutes = float(generator.uniform(*SIZE)), noise.minutes
    if noise.shape == FADES:
        return np.exp(_lasting(generator, count, size, minutes))
    if noise.shape == SQUARE:
        lengths = minutes * generator.uniform(*ON_OFF, int(2 * count / minutes) + 4)
        on = (_spell_of(lengths, count, generator) + int(generator.integers(2))) % 2
        return np.asarray(1 + size * on)
    if noise.shape == STEPS:
        lengths = generator.exponential(minutes, int(2 * count / minutes) + 40)
        spell = _spell_of(lengths, count, generator)
        return np.exp(generator.normal(0, size, int(spell[-1]) + 1)[spell])
    if noise.shape == RHYTHM:
        starts = np.arange(-minutes, count, minutes) + generator.uniform(0, minutes)
        length, late = generator.uniform(*BACKUP), generator.uniform(-LATE, LATE, len(starts))
        return _slow_times(starts + late, length, np.full(len(starts), size), count)
    starts = generator.uniform(-minutes, count, generator.poisson(NEIGHBOURS_A_DAY * (count + minutes) / DAY))
    return _slow_times(starts, minutes, generator.uniform(*SIZE, len(starts)), count)


def _spell_of(lengths: F64, count: int, generator: np.random.Generator) -> I64:
    """Which of times that follow one another holds each minute, the first of them begun at any time before."""
    ends = np.cumsum(lengths) - generator.uniform(0, lengths[0])
    return np.searchsorted(ends, np.arange(count), side="right")


def _slow_times(starts: F64, length: float, sizes: F64, count: int) -> F64:
    """By how much reads are slower in times of one length; where several overlap, by all of them."""
    slower = np.ones(count)
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        slower[max(0, int(start)) : max(0, int(start + length))] *= 1 + size
    return slower


def _weekend(count: int, generator: np.random.Generator) -> F64:
    """Of the usual load, each minute: less on two days of the week."""
    day = ((np.arange(count) + generator.uniform(0, WEEK)) // DAY) % 7
    return np.where(day < 2, generator.uniform(*WEEKEND), 1.0)


def _lasting(generator: np.random.Generator, count: int, error: float, minutes: float) -> F64:
    """Noise of that standard error that fades with that time constant (AR(1))."""
    from scipy.signal import lfilter

    keep = float(np.exp(-1 / minutes))
    start = generator.normal(0, error)
    fresh = generator.normal(0, error * np.sqrt(1 - keep**2), count)
    return np.asarray(lfilter([1.0], [1.0, -keep], fresh, zi=[keep * start])[0])


def _read_time(busy: F64, servers: int) -> F64:
    """Of a device with that many servers and one queue, over that of an idle one (M/M/c, Erlang's C formula)."""
    blocked = np.ones_like(busy)
    for number in range(1, servers + 1):  # Erlang's B by its recursion
        offered = busy * servers
        blocked = offered * blocked / (number + offered * blocked)
    waits = blocked / (1 - busy * (1 - blocked))
    return np.asarray(1 + waits / (servers * (1 - busy)))
