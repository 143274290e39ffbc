"""Databases on arrays of disks whose throughput in each placement is known exactly."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from connectors.model.observation import DatabaseDemand
from policies.model.plan import Situation
from policies.model.settings import Servers
from tests.unit.policies.situations import GIB, HDD, SSD, Site, Unit
from tests.workloads.exact_network import ExactStation, Solved, solve

READS = 4  # of a transaction
COUNTS = (1, 2, 4, 8, 20, 48, 96)
SESSIONS = (1, 2, 5, 10, 20, 40, 80)
ELSEWHERE = (0.1, 0.5, 2.0, 8.0)  # of the service of a transaction's reads by a disk
LEFT = (0.75, 0.5, 0.25, 0.1)  # share of the reads that stays on the disks


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayCase:
    """Sessions that read from an array and compute in between; a part of the reads may go to an SSD without a queue."""

    servers: int
    striped: bool
    sessions: int
    elsewhere: float  # of the seconds that disks serve a transaction
    left: float  # share of the reads that stays when ``tiers_after`` is carried out

    @property
    def servers_known(self) -> Servers:
        """As a configuration that is right says it."""
        count = float(self.servers)
        return Servers(count=count, least=count, most=count, source="configured", striped=self.striped)

    def solved(self, left: float) -> tuple[Solved, float]:
        """With that share of the reads on the array: the network, and read wait of a transaction, SSD included."""
        service = READS * HDD.random_read_seconds
        flash = READS * SSD.random_read_seconds * (1 - left)
        array = ExactStation(seconds=service * left, servers=self.servers, striped=self.striped)
        found = solve([array], self.elsewhere * service + flash, self.sessions)
        return found, found.wait() + flash

    def situation(self, servers: Servers | None = None) -> Situation:
        """As it is measured with everything on the array.

        Args:
            servers: what is known of the array; None: what is true.
        """
        found, wait = self.solved(1.0)
        database = DatabaseDemand(
            reads=found.rate * READS,
            read_wait=found.rate * wait,
            transactions=found.rate,
            active=float(self.sessions),
        )
        hdd = replace(
            HDD,
            random_read_seconds=wait / READS,  # as calibrated: with its queue
            idle_read_seconds=HDD.random_read_seconds,
            measured=True,
            servers=self.servers_known if servers is None else servers,
        )
        shares = {"stays": self.left, "goes": 1 - self.left}
        units = [Unit(key=key, sync=found.rate * READS * share, size=GIB) for key, share in shares.items()]
        tiers = (("ssd", SSD, ("fast",)), ("hdd", hdd, ("slow",)))
        return Site(room={"fast": 10 * GIB, "slow": 10**15}, database=database, tiers=tiers).situation(units)

    @property
    def tiers_after(self) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Tier of each unit once what is to go has gone."""
        return np.array([1, 0], dtype=np.int64)

    def gain(self) -> float:
        """Throughput after over throughput before, exactly."""
        return self.solved(self.left)[0].rate / self.solved(1.0)[0].rate

    def saved_share(self) -> float:
        """Share of the wait that all-SSD saves which what goes saves, per transaction, exactly."""
        before, after, least = (self.solved(left)[1] for left in (1.0, self.left, 0.0))
        return (before - after) / (before - least)


def cases(
    counts: Sequence[int] = COUNTS, sessions: Sequence[int] = SESSIONS, striped: Sequence[bool] = (True, False)
) -> Iterator[ArrayCase]:
    """All combinations, those with so many servers and sessions."""
    for count, active, elsewhere, left, own in product(counts, sessions, ELSEWHERE, LEFT, striped):
        yield ArrayCase(servers=count, striped=own, sessions=active, elsewhere=elsewhere, left=left)
