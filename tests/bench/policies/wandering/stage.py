"""The simulator: one database on two tiers, played hour by hour by one policy; waits and copies are accounted for.

Independent of the product's own arithmetic. An I/O takes as long as its tier says, with no queue. Copies run one after
the other and take their time from the foreground: every active session loses ``SLOWED_BY_COPY`` of its time meanwhile.
A unit serves from its old home until its copy is done; what does not end within the hour, or finds no room, is not
begun. A unit that was dropped leaves its tier at once and for nothing. Where residents grow beyond the tier's capacity,
head-room included, that share of their reads is served by the slow tier: no policy gets room that does not exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from connectors.model.observation import F64, I64, Bools
from tests.bench.policies.stage import COMPUTING, COPY_BYTES_PER_SECOND, SLOWED_BY_COPY, Hop, Past
from tests.bench.policies.wandering.frozen import DAY
from tests.bench.policies.wandering.world import HOUR, World, saving, wait_on_slow

HEAD_ROOM = 0.1  # of the tier's bytes: kept free when it is filled, there for what grows


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """The beginning of an hour, as a policy sees it."""

    hour: int
    fast: Bools  # (n,)
    alive: Bools  # (n,)
    size: I64  # (n,) bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What came of it, over the whole play."""

    policy: str
    saved_seconds: float  # foreground wait that was not waited, compared with everything on the slow tier
    cost_seconds: float = 0.0  # session seconds that copying took
    moved_bytes: float = 0.0
    moves: int = 0
    taken_back: int = 0  # promotions that were reversed within a day
    unpaid: int = 0  # of those: saved less than both copies cost
    whole_units: bool = True  # False: it places pages, which no move of a unit can do
    days: tuple[float, ...] = ()  # the gain of each day

    @property
    def gain(self) -> float:
        """Session seconds won, copies paid for."""
        return self.saved_seconds - self.cost_seconds

    @property
    def cost_share(self) -> float:
        """Of what is saved, that copying costs."""
        return self.cost_seconds / self.saved_seconds if self.saved_seconds > 0 else 0.0


class Policy(Protocol):
    """Decides at the beginning of each hour from what it saw in the hours before."""

    name: str

    def decide(self, moment: Moment) -> Sequence[Hop]:
        """Moves in their order; those that find no room or no time are dropped."""
        ...

    def saw(self, past: Past) -> None:
        """The hour that has ended."""
        ...


def by_day(hours: F64) -> tuple[float, ...]:
    """Sums of 24 hours each, ``(hours,)`` in whole seconds."""
    return tuple(round(float(day.sum())) for day in np.split(hours, range(DAY, len(hours), DAY)))


class Stage:
    """One play of a world, from an empty fast tier."""

    def __init__(self, world: World) -> None:
        n = len(world.catalogue)
        self.world = world
        self._physical = world.capacity / (1 - HEAD_ROOM)
        self._fast: Bools = np.zeros(n, dtype=np.bool_)
        self._since = np.full(n, -np.inf)  # hour of the last promotion
        self._stay = np.zeros(n)  # seconds saved since, copies paid for
        self._saved = self._cost = self._bytes = 0.0
        self._gained = np.zeros(world.hours)
        self._moves = self._taken_back = self._unpaid = 0

    def play(self, policy: Policy) -> Score:
        """Every hour of the world."""
        for hour in range(self.world.hours):
            alive, size = self.world.alive[hour], self.world.size[hour]
            self._fast &= alive
            moment = Moment(hour=hour, fast=self._fast.copy(), alive=alive, size=size)
            before = self._saved - self._cost
            policy.saw(self._hour(moment, policy.decide(moment)))
            self._gained[hour] = self._saved - self._cost - before
        return Score(
            policy=policy.name, saved_seconds=self._saved, cost_seconds=self._cost, moved_bytes=self._bytes,
            moves=self._moves, taken_back=self._taken_back, unpaid=self._unpaid, days=by_day(self._gained),
        )  # fmt: skip

    def _hour(self, moment: Moment, hops: Sequence[Hop]) -> Past:
        rates = self.world.rates(moment.hour)
        done = self._carried_out(moment, hops)
        until = np.zeros(len(rates[0]))  # share of the hour that each unit spent in its old home
        copied = 0.0
        for hop, seconds in done:
            copied += seconds
            until[hop.row] = copied / HOUR
            self._stay[hop.row] *= not hop.up
        share = np.where(moment.fast, until, 0.0) + np.where(self._fast, 1.0 - until, 0.0)
        held = float(moment.size[self._fast].sum())
        saved = saving(rates) * share * min(1.0, self._physical / held if held else 1.0)
        self._stay += saved
        wait = float(wait_on_slow(rates).sum() - saved.sum()) / HOUR
        self._saved += float(saved.sum())
        self._pay(moment.hour, done, SLOWED_BY_COPY * (COMPUTING + wait))
        return Past(hour=moment.hour, rates=rates, fast=self._fast.copy(), copied_seconds=copied, wait=wait)

    def _carried_out(self, moment: Moment, hops: Sequence[Hop]) -> list[tuple[Hop, float]]:
        """What is moved, and how long each copy takes."""
        done: list[tuple[Hop, float]] = []
        room, left = self.world.capacity - int(moment.size[self._fast].sum()), HOUR
        for hop in hops:
            size = int(moment.size[hop.row])
            seconds = size / COPY_BYTES_PER_SECOND
            if self._fast[hop.row] == hop.up or not moment.alive[hop.row] or seconds > left:
                continue
            if any(before.row == hop.row for before, _ in done) or (hop.up and size > room):
                continue
            self._fast[hop.row] = hop.up
            room += -size if hop.up else size
            left -= seconds
            self._bytes += size
            done.append((hop, seconds))
        return done

    def _pay(self, hour: int, done: Sequence[tuple[Hop, float]], lost_per_second: float) -> None:
        """Charge the copies of an hour, and judge the stays that end with them."""
        for hop, seconds in done:
            cost = seconds * lost_per_second
            self._cost += cost
            self._moves += 1
            if hop.up:
                self._since[hop.row] = hour
                self._stay[hop.row] -= cost
            elif hour - self._since[hop.row] < DAY:
                self._taken_back += 1
                self._unpaid += int(self._stay[hop.row] < cost)
