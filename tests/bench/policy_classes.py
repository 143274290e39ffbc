"""What would it bring to know which units each class of statements reads, and to weigh what the slowest class pays?

No engine says which units a statement reads; here it is known exactly, which is the most that a map could bring. Four
classes of transactions read twelve units by chance, an SSD holds an eighth of the bytes, and eight sessions run one
transaction after another on one disk. The placement of least mean wait (the best of all, by trying each) stands beside
three that weigh the classes: by the square of what each waits, with half of the slowest one's wait added, and by the
square only among placements that cost at most 5 % more in the mean.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from connectors.model.observation import F64, Bools
from tests.bench.measurement import Measurement

COMMAND = "python -m tests.bench policy_classes"
WORLDS, WORLDS_QUICK = 160, 20
UNITS, CLASSES, SESSIONS = 12, 4, 8
SSD_SHARE = 0.125
DISK_SECONDS, SSD_SECONDS, OWN_SECONDS = 8e-3, 3e-4, 5e-4  # of a read, and of a transaction without any
TRANSACTIONS, WARM = 12_000, 500
RARE = 0.01  # of transactions: a class with fewer is no matter
NEAR = 1.05  # of the least mean wait
SEED = 42


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassedLoad:
    """Units and who reads them."""

    size: F64  # (units,)
    share: F64  # (classes,) of transactions
    reads: F64  # (classes, units) of a transaction

    @classmethod
    def by_chance(cls, generator: np.random.Generator) -> ClassedLoad:
        """Each class reads two to five of the units."""
        size = np.exp(generator.normal(0.0, 1.0, UNITS))
        share = generator.dirichlet(np.full(CLASSES, 1.5))
        reads = np.zeros((CLASSES, UNITS))
        for row in reads:
            for unit in generator.choice(UNITS, generator.integers(2, 6), replace=False):
                row[unit] = generator.gamma(1.0, 2.0)
        return cls(size=size, share=share, reads=reads)

    def placements(self) -> Bools:
        """All that fit: which units are on the SSD. Shape ``(placements, units)``."""
        every = np.array(list(itertools.product((False, True), repeat=UNITS)))
        return np.asarray(every[every @ self.size <= SSD_SHARE * self.size.sum()])

    def left(self, placements: Bools) -> F64:
        """Reads of a transaction that stay on the disk. Shape ``(placements, classes)``."""
        return np.asarray((self.reads[np.newaxis] * ~placements[:, np.newaxis, :]).sum(axis=2))


def _mean(load: ClassedLoad, left: F64) -> F64:
    return np.asarray(left @ load.share)


def _square(load: ClassedLoad, left: F64) -> F64:
    return np.asarray(left**2 @ load.share)


def _slowest(load: ClassedLoad, left: F64) -> F64:
    return np.asarray(_mean(load, left) + 0.5 * np.where(load.share > RARE, left, 0.0).max(axis=1))


def _near(load: ClassedLoad, left: F64) -> F64:
    mean = _mean(load, left)
    return np.where(mean <= NEAR * mean.min() + 1e-12, _square(load, left), np.inf)


WEIGHINGS: dict[str, Callable[[ClassedLoad, F64], F64]] = {"square": _square, "slowest": _slowest, "near": _near}


def ran(load: ClassedLoad, fast: Bools, seed: int) -> tuple[float, float]:
    """Transactions a second and the 99th percentile of their seconds, of all classes together."""
    generator = np.random.default_rng(seed)
    classes = iter(generator.choice(CLASSES, TRANSACTIONS, p=load.share).tolist())
    begun, left, due = [0.0] * SESSIONS, [list[bool]() for _ in range(SESSIONS)], [(0.0, s) for s in range(SESSIONS)]
    for session in range(SESSIONS):
        left[session] = _reads(load, fast, next(classes), generator)
    ends, disk = [], 0.0
    while True:
        now, session = heapq.heappop(due)
        if left[session]:
            if left[session].pop():
                now += generator.exponential(SSD_SECONDS)
            else:
                disk = now = max(disk, now) + generator.exponential(DISK_SECONDS)
        else:
            ends.append((now, now - begun[session]))
            following = next(classes, None)
            if following is None:
                break
            now += OWN_SECONDS
            begun[session], left[session] = now - OWN_SECONDS, _reads(load, fast, following, generator)
        heapq.heappush(due, (now, session))
    at, took = np.array(ends[WARM:]).T
    return len(at) / (at[-1] - at[0]), float(np.quantile(took, 0.99))


def _reads(load: ClassedLoad, fast: Bools, number: int, generator: np.random.Generator) -> list[bool]:
    """Those of one transaction in the order of time: whether each is on the SSD."""
    count = generator.poisson(load.reads[number])
    reads = [True] * int(count[fast].sum()) + [False] * int(count[~fast].sum())
    generator.shuffle(reads)
    return reads


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Throughput and p99 of each weighing over those of the least mean wait, where it places differently."""
    worlds = WORLDS_QUICK if quick else WORLDS
    ratios: dict[str, list[tuple[float, float]]] = {name: [] for name in WEIGHINGS}
    for number in range(worlds):
        load = ClassedLoad.by_chance(np.random.default_rng((SEED, number)))
        placements = load.placements()
        left = load.left(placements)
        usual = int(np.argmin(_mean(load, left)))
        base = None
        for name, weigh in WEIGHINGS.items():
            other = int(np.argmin(weigh(load, left)))
            if other == usual:
                continue
            base = base or ran(load, placements[usual], number)
            per_second, p99 = ran(load, placements[other], number)
            ratios[name].append((per_second / base[0], p99 / base[1]))
    rows: list[Measurement] = []
    for name, found in ratios.items():
        per_second, p99 = np.median(found, axis=0) if found else (1.0, 1.0)
        over_all = [float(1.0 + sum(each[at] - 1.0 for each in found) / worlds) for at in (0, 1)]
        rows.append(
            {"name": f"policy.classes_p99.{name}", "value": float(p99), "unit": "times that of the least mean wait",
             "better": "lower", "command": COMMAND,
             "note": f"another placement in {len(found)} of {worlds} worlds, there at {per_second:.3f} times the "
                     f"throughput in the median; mean over all worlds p99 {over_all[1]:.3f}, throughput "
                     f"{over_all[0]:.3f} times; which units each class reads is known exactly"}
        )  # fmt: skip
    return rows
