"""The stage: one database on two tiers, played hour by hour by one policy, with everybody's waits and moves counted.

What is true here: an I/O takes as long as its tier says, with no queue (no policy is helped by relief of what stays
behind); a read that was prefetched is waited for by three tenths. While bytes are copied, every active session loses
two thirds of its time: a real PostgreSQL with eight clients went from 120 to 41 transactions a second meanwhile. A unit
serves from its old home until its copy is done; copies run one after the other at 50 MB/s and what does not end within
the hour is not begun.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from connectors.model.observation import F64, Bools
from policies.evidence.prices import HOUR, wait_per_hour
from policies.model.settings import PolicySettings, TierSpeed
from tests.workloads.patterns import WEEK, Workload

SPEEDS = (
    TierSpeed(random_read_seconds=0.0002, sequential_read_seconds=0.00002, write_seconds=0.0001),
    TierSpeed(random_read_seconds=0.0055, sequential_read_seconds=0.00005, write_seconds=0.005),
)
FAST_SHARE = 0.1  # of all bytes may be on the fast tier, head-room not counted
COPY_BYTES_PER_SECOND = 50e6
SLOWED_BY_COPY = 2 / 3
COMPUTING = 4.0  # sessions that compute and do not wait, always
TRUTH = PolicySettings()  # only for the shares that sessions wait for, which are definitions of the stage


@dataclass(frozen=True, slots=True)
class Hop:
    """One unit, by its row, up to the fast tier or down from it."""

    row: int
    up: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What came of it, over the whole play."""

    policy: str
    saved_seconds: float  # foreground wait that was not waited, against everything on the slow tier
    cost_seconds: float  # session seconds that copying took
    moved_bytes: float
    capacities_per_week: float  # bytes copied, up and down, in capacities of the fast tier
    undone: int  # moves of a unit that had moved less than 24 h before
    moves: int
    unpaid: int = 0  # times that a unit came up and went down within 24 h, and saved less than both copies cost

    @property
    def gain(self) -> float:
        """Session seconds won, move costs taken off."""
        return self.saved_seconds - self.cost_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What a policy may know of the hour that has just ended."""

    hour: int
    rates: F64  # (SIGNALS, n) per second
    fast: Bools  # (n,) at its end
    copied_seconds: float  # at its beginning, of copying; reads of that time are the copies' too
    wait: float  # foreground read wait, seconds per second


class Policy(Protocol):
    """Decides at the beginning of each hour from what it saw in the hours before."""

    name: str

    def decide(self, hour: int, fast: Bools) -> Sequence[Hop]:
        """Moves in their order; those that find no room or no time are dropped."""
        ...

    def saw(self, past: Past) -> None:
        """The hour that has ended."""
        ...


class Stage:
    """One play of a workload, from an empty fast tier."""

    def __init__(self, workload: Workload) -> None:
        self.workload = workload
        self.size = workload.catalogue.size_bytes
        self.capacity = int(self.size.sum() * FAST_SHARE)
        self._fast: Bools = np.zeros(len(self.size), dtype=np.bool_)
        self._moved_at = np.full(len(self.size), -np.inf)  # hour of the last move
        self._saved = self._cost = self._bytes = 0.0
        self._moves = self._undone = self._unpaid = 0
        self._stay = np.zeros(len(self.size))  # saved by each unit since it came up, its copy paid for

    def play(self, policy: Policy) -> Score:
        """Every hour of the workload."""
        for hour in range(self.workload.hours):
            policy.saw(self._hour(hour, policy.decide(hour, self._fast.copy())))
        return Score(
            policy=policy.name,
            saved_seconds=self._saved,
            cost_seconds=self._cost,
            moved_bytes=self._bytes,
            capacities_per_week=self._bytes / self.capacity / (self.workload.hours / WEEK),
            undone=self._undone,
            moves=self._moves,
            unpaid=self._unpaid,
        )

    def _hour(self, hour: int, hops: Sequence[Hop]) -> Past:
        rates = self.workload.rates(hour)
        on_fast, on_slow = wait_per_hour(rates, SPEEDS, TRUTH)
        before = self._fast.copy()
        since = self._moved_at.copy()
        until, done = self._carried_out(hour, hops)  # share of the hour that each unit spent in its old home
        copied = sum(done.values())
        # Until its copy is done a unit is read where it was: a move is worth nothing before its end, and that is what
        # makes large ones slow to pay.
        share = np.where(before, until, 0.0) + np.where(self._fast, 1.0 - until, 0.0)
        saved_by_unit = (on_slow - on_fast) * share
        saved = float(saved_by_unit.sum())
        wait = (float(on_slow.sum()) - saved) / HOUR
        self._saved += saved
        # Charged to all sessions and not to the units that move: a copy takes the disk's time from whoever reads.
        self._cost += SLOWED_BY_COPY * (COMPUTING + wait) * copied
        self._judge_stays(hour - since, done, saved_by_unit, SLOWED_BY_COPY * (COMPUTING + wait))
        return Past(hour=hour, rates=rates, fast=self._fast.copy(), copied_seconds=copied, wait=wait)

    def _judge_stays(self, stayed: F64, done: Mapping[int, float], saved: F64, lost_per_second: float) -> None:
        """Charge each stay on the fast tier with its copies, and count those that ended within a day without paying."""
        self._stay += saved
        for row, seconds in done.items():
            if self._fast[row]:
                self._stay[row] = saved[row] - seconds * lost_per_second
            else:
                self._unpaid += int(stayed[row] < 24 and self._stay[row] < seconds * lost_per_second)

    def _carried_out(self, hour: int, hops: Sequence[Hop]) -> tuple[F64, dict[int, float]]:
        """Share of the hour until each unit's copy is done, and how long the copy of each that moves takes."""
        until = np.zeros(len(self.size))
        done: dict[int, float] = {}
        seconds = 0.0
        for hop in hops:
            size = int(self.size[hop.row])
            needed = size / COPY_BYTES_PER_SECOND
            if self._fast[hop.row] == hop.up or seconds + needed > HOUR:
                continue
            if hop.up and int(self.size[self._fast].sum()) + size > self.capacity:
                continue
            seconds += needed
            until[hop.row] = seconds / HOUR
            done[hop.row] = needed
            self._note(hour, hop, size)
        return until, done

    def _note(self, hour: int, hop: Hop, size: int) -> None:
        self._fast[hop.row] = hop.up
        self._moves += 1
        self._undone += int(hour - self._moved_at[hop.row] < 24)
        self._moved_at[hop.row] = hour
        self._bytes += size


def saving(rates: F64) -> F64:
    """Wait seconds per hour that each unit saves on the fast tier, ``(n,)``."""
    on_fast, on_slow = wait_per_hour(rates, SPEEDS, TRUTH)
    return np.asarray(on_slow - on_fast, dtype=np.float64)
