"""Experiments 2 and 3: one SSD budget, the mixed schema. What does each rule make of it, and was that predicted?

hotplace watches everything on the hdd, decides and moves under the load. From the same situation it predicts every
other placement (policies.forecast): the rules' and some by chance. Then each is brought about and measured.

The rules rank by what the statistics views counted while everything was on the hdd; hotplace by what it saw itself.
All leave the same head-room: what is appended to would meet the end of a full SSD. All-SSD is printed and left out of
the forecast's error: there the processor is the bottleneck, which no counter of reads can know.
"""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agent.planner import Planning
from connectors.amounts import format_seconds
from policies.forecast import Forecast, forecast
from tests.bench.lab import mixed
from tests.bench.lab.figures import SERIES_COLUMNS, Series, measure, say, series_row, table
from tests.bench.lab.hotplace import USUAL_POLICY, watching
from tests.bench.lab.load import start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import RULES, Candidate
from tests.bench.measurement import Measurement

SCALE = 0.5  # of the pace's: the scan comes round more often than a run is long
ONCE = 0.6  # of the pace's times for placements that no goal is about; a scan comes round twice in it
NOTHING, HOTPLACE, ALL_SSD = "nothing", "hotplace", "all ssd"
GOALS = {"hottest first": 1.15, "all indexes": 1.25}
RANDOM_PLACEMENTS, SEED = {True: 10, False: 3}, 20  # full; quick
MOVE_LIMIT_SECONDS = 120.0
GOAL_ERROR, GOAL_COVERAGE = 0.10, 0.9
COMMAND = "python -m tests.bench.lab rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One placement: who was on the SSD, what was predicted, what was measured."""

    keys: frozenset[str]
    predicted: Forecast
    series: Series

    @property
    def name(self) -> str:
        """Of the placement."""
        return self.series.name

    @property
    def error(self) -> float:
        """Predicted throughput over that measured, less 1."""
        return self.predicted.transactions / self.series.per_second - 1

    @property
    def read_wait(self) -> float:
        """Measured, seconds a transaction; NaN where the server does not tell."""
        return self.series.median(lambda run: run.read_wait)

    @property
    def wait_error(self) -> float:
        """Predicted read wait of a transaction over that measured, less 1."""
        return self.predicted.wait_per_transaction / self.read_wait - 1

    @property
    def covered(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.predicted.interval.low <= self.series.per_second <= self.predicted.interval.high


def by_rule_and_chance(units: Sequence[Candidate], room: int, count: int) -> dict[str, frozenset[str]]:
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


def predict(planning: Planning, keys: Collection[str]) -> Forecast:
    """What the product says about a placement, from what it had seen when it planned."""
    situation = planning.situation
    home = situation.tier_of_space[situation.units.space].astype(np.int64)
    fast = np.array([key in keys for key in situation.units.key])
    return forecast(situation, planning.settings, np.where(home < 0, -1, np.where(fast, 0, len(situation.tiers) - 1)))


def watch_and_decide(rig: Rig) -> tuple[Planning, tuple[Candidate, ...]]:
    """Let hotplace watch everything on the hdd and move what it will; its plan, and what the counters said by then."""
    pace = rig.pace
    clients = start(
        rig.server, rig.folder, mixed.workload(pace),
        pace.warm_seconds + pace.observe_seconds + MOVE_LIMIT_SECONDS, seed=98,
    )  # fmt: skip
    try:
        clients.sleep_until(pace.warm_seconds)  # a cold buffer pool is no evidence of what it misses warm
        with watching(rig, policy=USUAL_POLICY + f"head_room: {mixed.HEAD_ROOM}") as agent:
            agent.observe(pace.observe_seconds)
            units = mixed.candidates(rig)
            planning, moved = agent.decide()
        say("  hotplace moved " + ", ".join(f"{row.move.key} to {row.move.to_space}" for row in moved))
        return planning, units
    finally:
        clients.stop()


def run(pace: Pace, major: int = MAJOR) -> list[Checked]:
    """Every placement, predicted and measured; those that a goal is about as often as the pace says, others once."""
    with running_rig(pace.smaller(SCALE), major=major) as rig:
        rig.fill(mixed.tables(rig.pace))
        rig.give_ssd(int(rig.total_bytes() * mixed.SSD_SHARE))
        assert rig.ssd_bytes is not None
        work, room = mixed.workload(rig.pace), int(rig.ssd_bytes * (1 - mixed.HEAD_ROOM))
        quickly = rig.pace.shorter(ONCE)

        def once(name: str) -> Series:
            return measure(rig, name, work, quickly, runs=1)

        found = {NOTHING: once(NOTHING)}
        planning, units = watch_and_decide(rig)
        placements = {HOTPLACE: rig.on_ssd(), **by_rule_and_chance(units, room, RANDOM_PLACEMENTS[pace is FULL])}
        found[HOTPLACE] = measure(rig, HOTPLACE, work)
        for name, keys in placements.items():
            if name not in found:
                rig.place(keys)
                found[name] = measure(rig, name, work) if name in GOALS else once(name)
        placements[ALL_SSD] = frozenset(unit.key for unit in units)
        rig.give_ssd(None)
        rig.place(placements[ALL_SSD])
        found[ALL_SSD] = once(ALL_SSD)
    return [
        Checked(keys=placements[name], predicted=predict(planning, placements[name]), series=series)
        for name, series in found.items()
    ]


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    checked = run(pace, major)
    table(f"rules compared, PostgreSQL {major}", SERIES_COLUMNS, [series_row(each.series) for each in checked])
    for each in checked[:-1]:
        on_ssd = ", ".join(sorted(key.removeprefix("public.") for key in each.keys))
        say(f"  {each.name}: {on_ssd or 'nothing on ssd'}")
    columns = ("placement", "predicted", "interval", "measured", "error", "covered", "wait", "measured", "error")
    table(f"forecast, PostgreSQL {major} (transactions/s; read wait of one)", columns, [_row(each) for each in checked])
    return _compared({each.name: each.series for each in checked}, pace) + _forecast(checked)


def _compared(found: Mapping[str, Series], pace: Pace) -> list[Measurement]:
    """Hotplace beside the rules people use."""
    ours, rivals = found[HOTPLACE], [*RULES, HOTPLACE, ALL_SSD]
    note = ", ".join(f"{name} {found[name].per_second:,.0f}" for name in rivals)
    spread = max(found[name].spread for name in (HOTPLACE, *GOALS))
    return [
        Measurement(
            name=f"lab.postgresql.vs_{rival.replace(' ', '_')}", value=ours.per_second / found[rival].per_second,
            unit="times", better="higher", command=COMMAND, spread=f"{spread:.1%} half range of {pace.runs} runs",
            note=f"goal {goal}; transactions/s: {note}; {mixed.SSD_SHARE:.0%} of the bytes on SSD",
        )
        for rival, goal in GOALS.items()
    ]  # fmt: skip


def _forecast(checked: Sequence[Checked]) -> list[Measurement]:
    """The forecast beside what came of it."""
    judged = [each for each in checked if each.name != ALL_SSD]
    worst, mean = max(judged, key=lambda each: abs(each.error)), float(np.mean([abs(each.error) for each in judged]))
    coverage = sum(each.covered for each in judged) / len(judged)
    say(f"  worst {worst.error:+.1%} at {worst.name} (goal {GOAL_ERROR:.0%}); covered {coverage:.0%}")
    ssd = next(each for each in checked if each.name == ALL_SSD)
    lines = [
        Measurement(
            name="lab.postgresql.forecast_error_max", value=abs(worst.error), unit="of the measured throughput",
            better="lower", command=COMMAND,
            note=f"goal {GOAL_ERROR}; {len(judged)} placements, mean {mean:.1%}, worst {worst.name}; all-SSD left out: "
                 f"bound by the processor, predicted {ssd.predicted.transactions:,.0f}, measured "
                 f"{ssd.series.per_second:,.0f}",
        ),
        Measurement(
            name="lab.postgresql.interval_coverage", value=coverage, unit="of the placements", better="higher",
            command=COMMAND, note=f"goal {GOAL_COVERAGE}; intervals are to hold 90 % of outcomes",
        ),
    ]  # fmt: skip
    if all(math.isfinite(each.wait_error) for each in judged):
        waits = [abs(each.wait_error) for each in judged]
        far = max(judged, key=lambda each: abs(each.wait_error))
        say(f"  read wait: worst {far.wait_error:+.1%} at {far.name}")
        lines.append(
            Measurement(
                name="lab.postgresql.forecast_wait_error_max", value=max(waits), unit="of the measured read wait",
                better="lower", command=COMMAND,
                note=f"goal {GOAL_ERROR}; read wait of a transaction by the server's own clock, {len(judged)} "
                     f"placements, mean {float(np.mean(waits)):.1%}, worst {far.name}",
            )
        )  # fmt: skip
    return lines


def _row(each: Checked) -> tuple[str, ...]:
    low, high = each.predicted.interval.low, each.predicted.interval.high
    known = math.isfinite(each.wait_error)
    return (
        each.name,
        f"{each.predicted.transactions:,.1f}",
        f"{low:,.1f} to {high:,.1f}",
        f"{each.series.per_second:,.1f}",
        f"{each.error:+.1%}",
        "yes" if each.covered else "no",
        format_seconds(each.predicted.wait_per_transaction),
        format_seconds(each.read_wait) if known else "-",
        f"{each.wait_error:+.1%}" if known else "-",
    )
