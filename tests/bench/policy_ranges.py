"""hotplace with splits and without, where a fifth of each table takes four fifths of its reads; loads are frozen.

28 days of the loads of ``tests.bench.policies.wandering.parts``, from an empty fast tier. Splits are weighed by the
product's own planner, by what looks into the pool have shown until then, at most ten in a play; who works with a table
waits while it is split. Next to it any number of them, as the product has it; ten splits for nothing, made before the
play of what sessions then wait for most; and the best of three caches of pages whose fills are charged as copies are.

``--shapes A,B`` and ``--seeds 31,32`` play a part, ``--quick`` plays four days with one seed, ``--table`` prints each
play for people and ``--write`` publishes the rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from connectors.model.formatting import format_seconds
from tests.bench.measurement import Measurement
from tests.bench.policies.wandering.page_caches import play_caches
from tests.bench.policies.wandering.parts import MAXIMUM_STALL, SEEDS, SHAPES, PartsStage, parts_world, policies
from tests.bench.policies.wandering.run import Bench
from tests.bench.policies.wandering.shapes import world

COMMAND = "python -m tests.bench.policy_ranges"
ROWS = "policy.ranges."
GOAL, GOAL_OF_FREE = 1.08, 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranged:
    """Gains of one load, in session seconds, copies and locks paid for."""

    shape: str
    seed: int
    whole: float  # by whole units
    ranges: float  # with ten splits at most that are learned and paid
    unlimited: float  # with any number of them
    free: float  # with those that are known and cost nothing
    cache: float  # by the best of the page caches whose fills are charged
    splits: int  # of ten at most
    unlimited_splits: int

    @property
    def gain(self) -> float:
        """With splits over without."""
        return self.ranges / self.whole

    @property
    def of_free(self) -> float:
        """With paid splits over with free ones."""
        return self.ranges / self.free

    @property
    def sentence(self) -> str:
        """The play in one line."""
        return (
            f"{self.shape} {self.seed}: {self.gain:.3f} of whole units with {self.splits} splits, {self.of_free:.3f} "
            f"of free ones (which have {self.free / self.whole:.3f}); {self.unlimited / self.whole:.3f} with "
            f"{self.unlimited_splits} where any number may be made; best page cache {self.cache / self.whole:.3f}"
        )


def play(task: tuple[str, int, int]) -> Ranged:
    """One load, by its name, seed and hours."""
    shape, seed, hours = task
    here = parts_world(shape, seed, hours=hours)
    players = policies(here)
    gain = {name: PartsStage(here, player).play(player).gain for name, player in players.items()}
    caches = play_caches(world(shape, seed, hours=hours))
    return Ranged(
        shape=shape, seed=seed, **gain, cache=max(each.gain for each in caches if "charged" in each.policy),
        splits=players["ranges"].splits, unlimited_splits=players["unlimited"].splits,
    )  # fmt: skip


def figures(played: Sequence[Ranged], command: str = COMMAND) -> list[Measurement]:
    """All rows, with the command that measures them again."""
    gains = [each.gain for each in played]
    worst = min(played, key=lambda each: each.gain)
    spread = f"{min(gains):.3f} to {max(gains):.3f}, {len(gains)} values"
    unit = "of the gain by whole units"
    rows = [
        Measurement(
            name=f"{ROWS}gain", value=fmean(gains), unit=unit, better="higher", command=command, spread=spread,
            note=f"splits learned and paid, ten in 28 days at most, maximum_stall {format_seconds(MAXIMUM_STALL)}; "
            f"goal {GOAL}; free and known from the start {fmean(each.free / each.whole for each in played):.3f}",
        ),
        Measurement(
            name=f"{ROWS}unlimited", value=fmean(each.unlimited / each.whole for each in played), unit=unit,
            better="higher", command=command, spread=f"{min(each.unlimited / each.whole for each in played):.3f} to "
            f"{max(each.unlimited / each.whole for each in played):.3f}, {len(gains)} values",
            note="any number of splits in 28 days, ten weighed at a time, as a plan does; at most "
            f"{max(each.unlimited_splits for each in played)} were made",
        ),
        Measurement(
            name=f"{ROWS}gain_min", value=worst.gain, unit=unit, better="higher", command=command,
            note=f"the worst play: {worst.shape}, seed {worst.seed}; goal 1.00",
        ),
        Measurement(
            name=f"{ROWS}vs_free", value=fmean(each.of_free for each in played), unit="of the gain with free splits",
            better="higher", command=command, note=f"worst {min(each.of_free for each in played):.3f}; goal "
            f"{GOAL_OF_FREE} on every shape",
        ),
        Measurement(
            name=f"{ROWS}page_cache", value=fmean(each.cache / each.whole for each in played), unit=unit,
            better="lower", command=command, note="the best of LRU, ARC and W-TinyLFU, each page filled at the price "
            "of a copy; no goal",
        ),
    ]  # fmt: skip
    for shape in dict.fromkeys(each.shape for each in played):
        own = [each for each in played if each.shape == shape]
        splits, free = fmean(each.splits for each in own), fmean(each.free / each.whole for each in own)
        more, made = fmean(each.unlimited / each.whole for each in own), fmean(each.unlimited_splits for each in own)
        rows.append(
            Measurement(
                name=f"{ROWS}{shape}", value=fmean(each.gain for each in own), unit=unit, better="higher",
                command=command, note=f"{splits:g} splits; free ones {free:.3f}; any number {more:.3f} with {made:g}",
            )
        )  # fmt: skip
    return rows


BENCH = Bench(
    command=COMMAND, rows=ROWS, description=__doc__, shapes=tuple(SHAPES), seeds=tuple(SEEDS),
    play=play, figures=figures,
)  # fmt: skip
measurements = BENCH.measurements


if __name__ == "__main__":
    sys.exit(BENCH.main(sys.argv[1:]))
