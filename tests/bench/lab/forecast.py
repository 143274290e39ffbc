"""Experiment 3: is the predicted throughput true? The rules' placements and ten random ones on the mixed schema.

hotplace watches everything on the hdd once, and predicts each placement from that (policies.forecast). Then each is
brought about and measured. All-SSD is printed and left out of the error: there the processor is the bottleneck, which
no counter of reads can know.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from policies.forecast import Forecast, forecast
from tests.bench.lab import mixed
from tests.bench.lab.figures import measure, say, table
from tests.bench.lab.hotplace import USUAL_POLICY, Hotplace, watching
from tests.bench.lab.load import start
from tests.bench.lab.pace import QUICK, Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import RULES, Candidate
from tests.bench.measurement import Measurement

RANDOM_PLACEMENTS, SEED = 10, 20
GOAL_ERROR, GOAL_COVERAGE = 0.10, 0.9
PRESENT = "nothing"
COMMAND = "python -m tests.bench.lab forecast"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One placement: predicted and measured."""

    name: str
    predicted: Forecast
    measured: float  # transactions a second

    @property
    def error(self) -> float:
        """Predicted over measured, less 1."""
        return self.predicted.transactions / self.measured - 1

    @property
    def covered(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.predicted.interval.low <= self.measured <= self.predicted.interval.high


def placements(units: Sequence[Candidate], room: int, count: int) -> dict[str, frozenset[str]]:
    """Who is on the SSD by each rule, and by chance: shuffled, filled to a random share of the room."""
    draw = random.Random(SEED)
    found = {name: rule(units, room) for name, rule in RULES.items()}
    ranked = sorted(units, key=lambda unit: unit.key)
    for number in range(1, count + 1):
        draw.shuffle(ranked)
        left, chosen = draw.uniform(0.3, 1.0) * room, set()
        for unit in ranked:
            if unit.size_bytes <= left:
                chosen.add(unit.key)
                left -= unit.size_bytes
        found[f"random {number}"] = frozenset(chosen)
    return found


def predict(agent: Hotplace, keys: Collection[str]) -> Forecast:
    """What the product says about a placement, from what it has seen so far."""
    planning = agent.plan()
    situation = planning.situation
    home = situation.tier_of_space[situation.units.space].astype(np.int64)
    fast = np.array([key in keys for key in situation.units.key])
    return forecast(situation, planning.settings, np.where(home < 0, -1, np.where(fast, 0, len(situation.tiers) - 1)))


def chosen_by(agent: Hotplace) -> frozenset[str]:
    """What hotplace would have on the SSD."""
    planning = agent.plan()
    return frozenset(
        key for key, chosen in zip(planning.situation.units.key, planning.plan.chosen, strict=True) if chosen
    )


def predictions(rig: Rig, count: int) -> tuple[dict[str, frozenset[str]], dict[str, Forecast]]:
    """Watch everything on the hdd, then predict."""
    pace, work = rig.pace, mixed.workload(rig.pace)
    assert rig.ssd_bytes is not None
    seconds = pace.warm_seconds + pace.observe_seconds
    clients = start(rig.server, rig.folder, work, seconds + 60, seed=98)
    try:
        clients.sleep_until(pace.warm_seconds)  # a cold buffer pool is no evidence of what it misses warm
        with watching(rig, policy=USUAL_POLICY + f"head_room: {mixed.HEAD_ROOM}") as agent:
            agent.observe(pace.observe_seconds)
            units = mixed.candidates(rig)
            chosen = placements(units, int(rig.ssd_bytes * (1 - mixed.HEAD_ROOM)), count)
            chosen["hotplace"] = chosen_by(agent)
            chosen["all ssd"] = frozenset(unit.key for unit in units)
            return chosen, {name: predict(agent, keys) for name, keys in chosen.items()}
    finally:
        clients.stop()


def run(pace: Pace, major: int = MAJOR) -> list[Checked]:
    """Predict all, measure all."""
    count = 3 if pace is QUICK else RANDOM_PLACEMENTS
    with running_rig(pace, major=major) as rig:
        rig.fill(mixed.tables(pace))
        rig.give_ssd(int(rig.total_bytes() * mixed.SSD_SHARE))
        chosen, predicted = predictions(rig, count)
        rig.give_ssd(None)
        checked = []
        for name, keys in chosen.items():
            rig.place(keys)
            measured = measure(rig, name, mixed.workload(pace), runs=1).per_second
            checked.append(Checked(name=name, predicted=predicted[name], measured=measured))
    return checked


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    checked = run(pace, major)
    table(
        f"forecast, PostgreSQL {major} (transactions/s)",
        ("placement", "predicted", "interval", "measured", "error", "covered"),
        [_row(c) for c in checked],
    )
    judged = [c for c in checked if c.name != "all ssd"]
    worst = max(judged, key=lambda c: abs(c.error))
    coverage = sum(c.covered for c in judged) / len(judged)
    say(f"  worst {worst.error:+.1%} at {worst.name} (goal {GOAL_ERROR:.0%}); covered {coverage:.0%}")
    mean = float(np.mean([abs(c.error) for c in judged]))
    ssd = next(c for c in checked if c.name == "all ssd")
    return [
        Measurement(
            name="lab.postgresql.forecast_error_max", value=abs(worst.error), unit="of the measured throughput",
            better="lower", command=COMMAND,
            note=f"goal {GOAL_ERROR}; {len(judged)} placements, mean {mean:.1%}, worst {worst.name}; all-SSD left out: "
                 f"bound by the processor, predicted {ssd.predicted.transactions:,.0f}, measured {ssd.measured:,.0f}",
        ),
        Measurement(
            name="lab.postgresql.interval_coverage", value=coverage, unit="of the placements", better="higher",
            command=COMMAND, note=f"goal {GOAL_COVERAGE}; intervals are to hold 90 % of outcomes",
        ),
    ]  # fmt: skip


def _row(c: Checked) -> tuple[str, ...]:
    low, high = c.predicted.interval.low, c.predicted.interval.high
    return (
        c.name,
        f"{c.predicted.transactions:,.1f}",
        f"{low:,.1f} to {high:,.1f}",
        f"{c.measured:,.1f}",
        f"{c.error:+.1%}",
        "yes" if c.covered else "no",
    )
