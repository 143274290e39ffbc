"""hotplace where partitions are born every day, against the rules that place units; loads and seeds are frozen.

28 days of the loads of ``tests.bench.policies.wandering.rolling``, from an empty fast tier: one, three and seven hot
days, and a look back by a week. ``--shapes A,B`` and ``--seeds 21,22`` play a part, ``--quick`` plays four days with
one seed, ``--table`` prints each play for people and ``--write`` publishes the rows.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from tests.bench.measurement import Measurement
from tests.bench.policies.wandering import frozen
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.rolling import ROLLING, SEEDS, rolling_world
from tests.bench.policies.wandering.rules import rankers
from tests.bench.policies.wandering.run import Bench
from tests.bench.policies.wandering.stage import Score, Stage

COMMAND = "python -m tests.bench.policy_births"
ROWS = "policy.births."
CAPACITIES = 6.0  # of copies a week, at most


@dataclass(frozen=True, slots=True, kw_only=True)
class Births:
    """hotplace and the best rule on one load."""

    shape: str
    seed: int
    product: Score
    best: Score
    capacities: float  # bytes that hotplace copied in a week, in capacities of the fast tier

    @property
    def against_best(self) -> float:
        """The product's gain over that of the best rule."""
        return self.product.gain / self.best.gain

    @property
    def sentence(self) -> str:
        """The play in one line."""
        return (
            f"{self.shape} {self.seed}: {self.against_best:.3f} of {self.best.policy}; "
            f"{self.capacities:.2f} capacities copied a week; {self.product.unpaid} moves back unpaid"
        )


def play(task: tuple[str, int, int]) -> Births:
    """One load, by its name, seed and hours."""
    shape, seed, hours = task
    here = rolling_world(shape, seed, hours=hours)
    product = Stage(here).play(Hotplace(here))
    best = max((Stage(here).play(rule) for rule in rankers(here)), key=lambda score: score.gain)
    weeks = hours / frozen.WEEK
    return Births(
        shape=shape, seed=seed, product=product, best=best, capacities=product.moved_bytes / here.capacity / weeks
    )


def figures(played: Sequence[Births], command: str = COMMAND) -> list[Measurement]:
    """All rows, with the command that measures them again."""
    ratios = [each.against_best for each in played]
    worst, most = min(played, key=lambda each: each.against_best), max(played, key=lambda each: each.capacities)
    spread = f"{min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} values"
    unit = "of the best rule's gain"
    rows = [
        Measurement(
            name=f"{ROWS}vs_best_rule_mean", value=fmean(ratios), unit=unit, better="higher", command=command,
            spread=spread, note="one, three, seven hot days, looks back by a week; rules that place units; target 1.00",
        ),
        Measurement(
            name=f"{ROWS}vs_best_rule_min", value=worst.against_best, unit=unit, better="higher", command=command,
            note=f"the worst play: {worst.shape}, seed {worst.seed}, against {worst.best.policy}; target 1.00",
        ),
        Measurement(
            name=f"{ROWS}capacities_a_week_max", value=most.capacities, unit="capacities", better="lower",
            command=command, note=f"copied, up and down: {most.shape}, seed {most.seed}; target {CAPACITIES:g}",
        ),
        Measurement(
            name=f"{ROWS}unpaid_reversals", value=sum(each.product.unpaid for each in played), unit="moves",
            better="lower", command=command, note="promotions that went back within a day and had not paid for it",
        ),
    ]  # fmt: skip
    for shape in dict.fromkeys(each.shape for each in played):
        own = [each for each in played if each.shape == shape]
        copied = fmean(each.capacities for each in own)
        rows.append(
            Measurement(
                name=f"{ROWS}{shape}", value=fmean(each.against_best for each in own), unit=unit, better="higher",
                command=command, note=f"{copied:.2f} capacities copied a week",
            )
        )  # fmt: skip
    return rows


BENCH = Bench(
    command=COMMAND, rows=ROWS, description=__doc__, shapes=tuple(ROLLING), seeds=tuple(SEEDS),
    play=play, figures=figures,
)  # fmt: skip
measurements = BENCH.measurements


if __name__ == "__main__":
    sys.exit(BENCH.main(sys.argv[1:]))
