"""How hotplace does where hot spots move, load by load, from the plays that are published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from tests.bench.policies.wandering import days
from tests.bench.policies.wandering.days import Days
from tests.bench.policies.wandering.frozen import DELAY_HOURS
from tests.bench.policies.wandering.page_caches import CACHES, CHARGED, NAMES, gains_over
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
    published = days.read(days.PATH)
    return {"wandering": table_of(published), "page-caches": table_of_caches(published)}


def table_of_caches(shapes: Mapping[str, Days]) -> str:
    """What caches of pages win of what hotplace wins: fills for nothing, then charged; those played of each load."""
    over = {name: gains_over(shapes, name, OURS) for name in NAMES}
    rows = []
    for shape in shapes:
        own = {name: [ratio for (of, _), ratio in ratios.items() if of == shape] for name, ratios in over.items()}
        if all(own.values()):
            pairs = (f"{fmean(own[name]):.3f}, {fmean(own[name + CHARGED]):.3f}" for name in CACHES)
            rows.append((shape.replace("_", " "), *pairs, str(len(own[NAMES[0]]))))
    rows.sort(key=lambda row: row[-2], reverse=True)
    return table(("load", *CACHES, "seeds"), rows)


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
