"""hotplace where partitions are born every day, against the rules that place units; loads and seeds are frozen.

28 days of the loads of ``tests.bench.policies.wandering.rolling``, from an empty fast tier: one, three and seven hot
days, and a look back by a week. ``--shapes A,B`` and ``--seeds 21,22`` play a part, ``--quick`` plays four days with
one seed, ``--table`` prints each play for people and ``--write`` publishes the rows.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean

from tests.bench.measurement import Measurement, in_process
from tests.bench.policies.wandering import frozen
from tests.bench.policies.wandering.product import Hotplace
from tests.bench.policies.wandering.rolling import ROLLING, SEEDS, rolling_world
from tests.bench.policies.wandering.rules import rankers
from tests.bench.policies.wandering.stage import Score, Stage
from tests.bench.published import write_rows

COMMAND = "python -m tests.bench.policy_births"
ROWS = "policy.births."
WORKERS = 2  # the figures do not depend on it
LONGEST_SECONDS = 3600.0
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


def measurements(*, quick: bool = False) -> list[Measurement]:
    """The figures of the whole bench or of its small version, from a fresh process."""
    arguments = ["--quick"] if quick else []
    return in_process("tests.bench.policy_births", *arguments, timeout_seconds=LONGEST_SECONDS)


def main(arguments: list[str]) -> int:
    """Print the figures as one line of JSON, or the plays."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("--shapes", default=",".join(ROLLING))
    parser.add_argument("--seeds", default=",".join(map(str, SEEDS)))
    for flag in ("--quick", "--table", "--write"):
        parser.add_argument(flag, action="store_true")
    given = parser.parse_args(arguments)
    seeds = SEEDS[:1] if given.quick else [int(seed) for seed in given.seeds.split(",")]
    hours = frozen.QUICK_HOURS if given.quick else frozen.HOURS
    if given.write and given.quick:
        parser.error("four days are not published: --write goes without --quick")
    tasks = [(shape, seed, hours) for seed in seeds for shape in given.shapes.split(",")]
    played = []
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as pool:
        for one in pool.map(play, tasks):
            played.append(one)
            if given.table:
                print(one.sentence, file=sys.stderr, flush=True)
    if given.write:
        write_rows(figures(played, command_of(given)), outdated=lambda name: name.startswith(ROWS))
    if not given.table:
        print(json.dumps(figures(played)))
    return 0


def command_of(given: argparse.Namespace) -> str:
    """What plays the same again."""
    usual = {"shapes": ",".join(ROLLING), "seeds": ",".join(map(str, SEEDS))}
    options = [f"--{name} {getattr(given, name)}" for name, value in usual.items() if getattr(given, name) != value]
    return " ".join([COMMAND, *options])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
