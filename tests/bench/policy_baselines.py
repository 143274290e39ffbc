"""hotplace against what a site could do instead, on the same seeded workloads; the best fixed placement is the measure.

Six kinds of workload, several seeds each, six weeks of hours (thirteen where months matter), 300 units, fast storage
for a tenth of the bytes. Everybody starts from an empty fast tier and pays for every byte copied. ``--quick`` plays
eight days (a month and a day where months matter) with one seed. ``--show`` prints every play as it ends.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import fmean
from typing import Literal

from tests.bench.measurement import Measurement, in_process
from tests.bench.policies import published
from tests.bench.policies.baselines import AllIndexes, Ranker, busiest, misses_per_byte, saving_per_byte
from tests.bench.policies.cache import play_cache
from tests.bench.policies.hindsight import Hindsight
from tests.bench.policies.product import Hotplace
from tests.bench.policies.stage import Policy, Score, Stage
from tests.workloads.patterns import DAY, SHAPES, WEEK, Workload, workload

COMMAND = "python -m tests.bench.policy_baselines"
HOURS, QUICK_HOURS = 6 * WEEK, WEEK + DAY
MONTHS, QUICK_MONTHS = 13 * WEEK, 32 * DAY  # for what happens once a month
SEEDS = (1, 2, 3)
WORKERS = 2  # the figures do not depend on it
LONGEST_SECONDS = 3600.0
PRODUCT = "hotplace"
HINDSIGHT_UNIT = "of the hindsight gain"
TARGETS = {"stationary": 0.95, "changing": 0.88}


@dataclass(frozen=True, slots=True, kw_only=True)
class Play:
    """One policy on one workload."""

    shape: str
    seed: int
    share: float  # of the gain of the static hindsight optimum
    score: Score


def plays(*, quick: bool = False) -> Iterator[Play]:
    """Every policy on every workload, hindsight first; two workloads at a time, the longest begun first."""
    tasks = [(shape, seed, _hours(shape, quick=quick)) for shape in SHAPES for seed in SEEDS[: 1 if quick else None]]
    tasks.sort(key=lambda task: -task[2])
    with ProcessPoolExecutor(WORKERS, mp_context=get_context("spawn")) as workers:
        for played in workers.map(_on_task, tasks):
            yield from played


def _hours(shape: str, *, quick: bool) -> int:
    if shape == "month_end":
        return QUICK_MONTHS if quick else MONTHS
    return QUICK_HOURS if quick else HOURS


def _on_task(task: tuple[str, int, int]) -> list[Play]:
    shape, seed, hours = task
    return list(on_workload(workload(shape, seed, hours=hours), seed))


def on_workload(work: Workload, seed: int) -> Iterator[Play]:
    """Every policy on one workload, hindsight first."""
    best = Stage(work).play(Hindsight(work, Stage(work).capacity))
    yield Play(shape=work.name, seed=seed, share=1.0, score=best)
    for score in (*(Stage(work).play(policy) for policy in contestants(work)), play_cache(work)):
        yield Play(shape=work.name, seed=seed, share=score.gain / best.gain, score=score)


def contestants(work: Workload) -> list[Policy]:
    """Those that know no future; the cache of pages is played by itself."""
    units, capacity = work.catalogue, Stage(work).capacity
    return [
        Hotplace(units, capacity, PRODUCT),
        Ranker("busiest first, daily", busiest, units, capacity, every=24, window=24),
        Ranker("miss rate, daily", misses_per_byte, units, capacity, every=24, window=24),
        AllIndexes(units, capacity),
        Ranker("hourly without guards", saving_per_byte, units, capacity, every=1, window=1),
        Ranker("daily 24 h mean", saving_per_byte, units, capacity, every=24, window=24),
    ]


def figures(played: list[Play]) -> list[Measurement]:
    """What is published of the plays."""
    ours = [play for play in played if play.score.policy == PRODUCT]
    return [*_against_targets(ours), _margin(played, ours), *_by_shape(ours), *_by_policy(played)]


def _against_targets(ours: list[Play]) -> Iterator[Measurement]:
    """The worst play by each figure that has a target."""
    for name, target in TARGETS.items():
        worst = min((play for play in ours if (play.shape == "stationary") == (name == "stationary")), key=_share)
        note = f"move costs included; target {target:g}"
        yield _figure(f"policy.hindsight.{name}_min", worst, worst.share, HINDSIGHT_UNIT, "higher", note)
    worst = max(ours, key=lambda play: play.score.capacities_per_week)
    yield _figure(
        "policy.churn.capacities_per_week_max", worst, worst.score.capacities_per_week,
        "capacities of the fast tier a week", "lower", "copied up and down, the first filling included",
    )  # fmt: skip
    worst = max(ours, key=lambda play: play.score.unpaid)
    note = "stays on the fast tier of less than a day that saved less than both their copies cost; target 0"
    yield _figure("policy.pingpong_max", worst, worst.score.unpaid, "moves", "lower", note)


def _margin(played: list[Play], ours: list[Play]) -> Measurement:
    """How far the product is before the best of the others, where it is least."""

    def best_other(ours_here: Play) -> Play:
        same = (play for play in played if (play.shape, play.seed) == (ours_here.shape, ours_here.seed))
        return max((play for play in same if play.score.policy not in (PRODUCT, Hindsight.name)), key=_share)

    closest = min(ours, key=lambda play: play.share / best_other(play).share)
    other = best_other(closest)
    return Measurement(
        name="policy.versus_best_baseline_min",
        value=closest.share / other.share,
        unit="times its gain",
        better="higher",
        command=COMMAND,
        note=f"{closest.shape}, seed {closest.seed}, against {other.score.policy}; target above 1",
    )


def _by_shape(ours: list[Play]) -> Iterator[Measurement]:
    for shape in SHAPES:
        here = [play for play in ours if play.shape == shape]
        churn = max(play.score.capacities_per_week for play in here)
        yield Measurement(
            name=f"policy.hindsight.{shape}",
            value=fmean(map(_share, here)),
            unit=HINDSIGHT_UNIT,
            better="higher",
            command=COMMAND,
            spread=f"{min(map(_share, here)):.3f} to {max(map(_share, here)):.3f}, {len(here)} seeds",
            note=f"at most {churn:.2f} capacities moved a week",
        )


def _by_policy(played: list[Play]) -> Iterator[Measurement]:
    for policy in dict.fromkeys(play.score.policy for play in played):
        mine = [play for play in played if play.score.policy == policy]
        churn = fmean(play.score.capacities_per_week for play in mine)
        undone = sum(play.score.undone for play in mine)
        yield Measurement(
            name=f"policy.compared.{policy.replace(',', '').replace(' ', '_')}",
            value=fmean(map(_share, mine)),
            unit=HINDSIGHT_UNIT,
            better="higher",
            command=COMMAND,
            spread=f"{min(map(_share, mine)):.3f} to {max(map(_share, mine)):.3f}, {len(mine)} plays",
            note=f"{churn:.2f} capacities moved a week on average, {undone} moves undone within 24 h",
        )


def _figure(
    name: str, worst: Play, value: float, unit: str, better: Literal["lower", "higher"], note: str
) -> Measurement:
    note = f"the worst play: {worst.shape}, seed {worst.seed}; {note}"
    return Measurement(name=name, value=value, unit=unit, better=better, command=COMMAND, note=note)


def _share(play: Play) -> float:
    return play.share


def measurements(*, quick: bool = False) -> list[Measurement]:
    """The figures of the whole bench or of its small version, from a fresh process."""
    arguments = ["--quick"] if quick else []
    return in_process("tests.bench.policy_baselines", *arguments, timeout_seconds=LONGEST_SECONDS)


def main(arguments: list[str]) -> int:
    """Print the figures as one line of JSON, or with ``--show`` every play as it ends."""
    played = []
    for play in plays(quick="--quick" in arguments):
        played.append(play)
        if "--show" in arguments:
            score = play.score
            print(
                f"{play.shape:12} {play.seed} {score.policy:22} {play.share:7.3f} of hindsight "
                f"{score.capacities_per_week:7.2f} capacities/week {score.undone:6d} undone {score.moves:6d} moves",
                flush=True,
            )
    print(json.dumps([*published.figures(COMMAND), *figures(played)]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
