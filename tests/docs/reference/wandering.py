"""How hotplace does where hot spots move, load by load, from the plays that are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tests.bench.policies.wandering import days
from tests.bench.policies.wandering.days import Days
from tests.bench.policies.wandering.frozen import DELAY_HOURS
from tests.bench.policies.wandering.table import HINDSIGHT
from tests.docs.reference.blocks import table

CACHE = "LRU, 80/20 pages"
RULES = ("daily 24 h mean", "6 h mean, residents x2", "per 6 h, residents x2", "LFU with ageing", "busiest first")
OURS, DELAYED = "hotplace", f"hotplace +{DELAY_HOURS} h"
HEAD = (
    "load",
    "of the best of six",
    "possible",
    "its worst seed",
    "possible there",
    "of the best of five",
    f"with {DELAY_HOURS} h",
)


@dataclass(frozen=True, slots=True)
class Seed:
    """Gains of one play by contestant."""

    gains: Mapping[str, int | None]

    def best(self, names: Sequence[str]) -> str:
        """Who won most."""
        return max(names, key=self.gain)

    def gain(self, name: str) -> float:
        """Of a contestant that played."""
        gain = self.gains[name]
        assert gain is not None
        return gain

    def share(self, name: str) -> float:
        """Of what the best of the six wins."""
        return self.gain(name) / self.gain(self.best((*RULES, CACHE)))


def blocks() -> dict[str, str]:
    """The table of the published plays."""
    return {"wandering": table_of(days.read(days.PATH))}


def table_of(shapes: Mapping[str, Days]) -> str:
    """A row for each load; the loads of the least share first."""
    return table(HEAD, [cells for _, cells in sorted(_row(shape, of) for shape, of in shapes.items())])


def _row(shape: str, of: Days) -> tuple[float, tuple[str, ...]]:
    seeds = [Seed({name: gains[at] for name, gains in of["totals"].items()}) for at in range(len(of["seeds"]))]
    worst = min(seeds, key=lambda seed: seed.share(OURS))
    five = [seed.gain(OURS) / seed.gain(seed.best(RULES)) for seed in seeds]
    delayed = [seed.share(DELAYED) for seed in seeds if seed.gains.get(DELAYED) is not None]
    cells = (
        shape.replace("_", " "),
        f"{fmean(seed.share(OURS) for seed in seeds):.3f}",
        f"{fmean(seed.share(HINDSIGHT) for seed in seeds):.3f}",
        f"{worst.share(OURS):.3f} ({worst.best((*RULES, CACHE))})",
        f"{worst.share(HINDSIGHT):.3f}",
        f"{fmean(five):.3f}, {min(five):.3f} at worst",
        f"{fmean(delayed):.3f}" if delayed else "",
    )
    return worst.share(OURS), cells
