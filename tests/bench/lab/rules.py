"""Experiments 2 and 3: one SSD budget, the mixed schema. What does each rule make of it, and was that forecast?

hotplace watches everything on the hdd. Then its command line is asked what throughput each of a fixed list of
placements would bring: its own as ``plan`` proposes it, the rules' and ten by chance as ``plan --mode preference``
says with everything pinned. It moves under the load what it proposed, and each placement is brought about and measured.

The rules rank by what the statistics views counted while everything was on the hdd; hotplace by what it saw itself.
All leave the same head-room: what is appended to would meet the end of a full SSD. All-SSD is printed and left out of
the forecast's error: there the processor is the bottleneck, which no counter of reads can know.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agent.model.states import MoveState
from connectors.model.formatting import format_seconds
from tests.bench.lab import mixed
from tests.bench.lab.asking import Answer, ask, hotplace
from tests.bench.lab.figures import SERIES_COLUMNS, Series, measure, say, series_row, table
from tests.bench.lab.hotplace import ORIGIN, USUAL_POLICY, WHO, Hotplace, NotPlaced, watching
from tests.bench.lab.load import start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import RULES, Candidate
from tests.bench.measurement import Measurement

SCALE = 0.5  # of the pace's: the scan comes round more often than a run is long
PROVEN = 3.0  # times the pace's to watch: a move waits until the waits of what it moves have added up to its cost
SHORT = 0.5  # of the pace's time for a run; a scan comes round in it
WARM = 0.25  # of the pace's time to warm up: the buffer pool is small, and full within seconds
NOTHING, HOTPLACE, ALL_SSD = "nothing", "hotplace", "all ssd"
GOALS = {"hottest first": 1.15, "all indexes": 1.25}
RANDOM_PLACEMENTS, SEED = {True: 10, False: 3}, 20  # full; quick
ASK_AND_MOVE_SECONDS = 180.0
GOAL_ERROR, GOAL_COVERAGE = 0.10, 0.9
COMMAND = "python -m tests.bench.lab rules"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One placement: who was on the SSD, what was predicted, what was measured."""

    keys: frozenset[str]
    predicted: Answer
    series: Series

    @property
    def name(self) -> str:
        """Of the placement."""
        return self.series.name

    @property
    def error(self) -> float:
        """Predicted throughput over that measured, less 1."""
        return self.predicted.per_second / self.series.per_second - 1

    @property
    def read_wait(self) -> float:
        """Measured, seconds a transaction; NaN where the server does not tell."""
        return self.series.median(lambda run: run.read_wait)

    @property
    def wait_error(self) -> float:
        """Predicted read wait of a transaction over that measured, less 1."""
        return self.predicted.read_wait / self.read_wait - 1

    @property
    def covered(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.predicted.low <= self.series.per_second <= self.predicted.high


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


def names_of(count: int) -> tuple[str, ...]:
    """The fixed list: all on the hdd, hotplace's own, the rules', and so many by chance."""
    rules = tuple(name for name in RULES if name != NOTHING)
    return (NOTHING, HOTPLACE, *rules, *(f"random {number}" for number in range(1, count + 1)))


def watch_and_decide(
    rig: Rig, wanted: Sequence[str], count: int
) -> tuple[dict[str, frozenset[str]], dict[str, Answer]]:
    """Let hotplace watch everything on the hdd, ask it for its forecasts, and let it move what it proposed.

    Args:
        rig: with all units on the hdd.
        wanted: names of placements, see ``names_of``.
        count: of placements by chance.

    Returns:
        Who is on the SSD and what was forecast, by the name of the placement.

    Raises:
        NotPlaced: a move did not succeed.
        Unanswered: a command failed.
    """
    pace = rig.pace
    clients = start(
        rig.server, rig.folder, mixed.workload(pace),
        pace.warm_seconds + PROVEN * pace.observe_seconds + ASK_AND_MOVE_SECONDS, seed=98,
    )  # fmt: skip
    try:
        clients.sleep_until(pace.warm_seconds)  # a cold buffer pool is no evidence of what it misses warm
        with watching(rig, policy=USUAL_POLICY + f"head_room: {mixed.HEAD_ROOM}") as agent:
            agent.observe(PROVEN * pace.observe_seconds)
            units = mixed.candidates(rig)
            assert rig.ssd_bytes is not None
            room, keys = int(rig.ssd_bytes * (1 - mixed.HEAD_ROOM)), [unit.key for unit in units]
            placements = {
                NOTHING: frozenset[str](), ALL_SSD: frozenset(keys), **by_rule_and_chance(units, room, count),
            }  # fmt: skip
            agent.watch.sampler.save()
            asked = [name for name in placements if name in wanted]
            answers = {name: ask(agent.config_path, placements[name], keys) for name in asked}
            if HOTPLACE in wanted:
                answers[HOTPLACE] = _propose_and_move(agent)
                placements[HOTPLACE] = rig.on_ssd()
        return placements, answers
    finally:
        clients.stop()


def _propose_and_move(agent: Hotplace) -> Answer:
    """What ``plan --propose`` forecasts, approved by its digest and carried out to the last move."""
    document = hotplace(agent.config_path, "plan", "--propose")
    stored = document["proposal"]
    agent.ledger.proposals.approve(stored["id"], who=WHO, origin=ORIGIN, digest=stored["digest"])
    rows = agent.watch.act()
    if len(rows) < len(document["moves"]) or any(row.state is not MoveState.PLACED for row in rows):
        raise NotPlaced("; ".join(f"{row.move.key}: {row.state}, {row.reason}" for row in rows) or "no moves ran")
    say("  hotplace moved " + ", ".join(f"{row.move.key} to {row.move.to_space}" for row in rows))
    return Answer.of(document)


def run(pace: Pace, major: int = MAJOR, part: tuple[int, int] = (1, 1)) -> list[Checked]:
    """Every placement, forecast and measured, the median of the pace's runs; of all-SSD one run.

    Args:
        pace: how large and how long.
        major: version of the server.
        part: which of how many parts of the list.
    """
    count = RANDOM_PLACEMENTS[pace is FULL]
    wanted = [*names_of(count)[part[0] - 1 :: part[1]], *([ALL_SSD] if part[0] == part[1] else [])]
    with running_rig(pace.smaller(SCALE), major=major) as rig:
        rig.fill(mixed.tables(rig.pace))
        rig.give_ssd(int(rig.total_bytes() * mixed.SSD_SHARE))
        work, found = mixed.workload(rig.pace), dict[str, Series]()
        quickly = replace(rig.pace.shorter(SHORT), warm_seconds=rig.pace.warm_seconds * WARM)
        if NOTHING in wanted:
            found[NOTHING] = measure(rig, NOTHING, work, quickly)
        placements, answers = watch_and_decide(rig, wanted, count)
        for name in sorted(set(wanted) - {NOTHING}, key=lambda name: (name != HOTPLACE, wanted.index(name))):
            if name == ALL_SSD:
                rig.give_ssd(None)
            if name != HOTPLACE:  # is there already
                rig.place(placements[name])
            found[name] = measure(rig, name, work, quickly, runs=1 if name == ALL_SSD else None)
    return [Checked(keys=placements[name], predicted=answers[name], series=found[name]) for name in wanted]


def measurements(pace: Pace, major: int = MAJOR, part: tuple[int, int] = (1, 1)) -> list[Measurement]:
    """Run and report; a part is judged by itself, the rules are compared where all of the list was measured."""
    checked = run(pace, major, part)
    table(f"rules compared, PostgreSQL {major}", SERIES_COLUMNS, [series_row(each.series) for each in checked])
    for each in checked:
        if each.name != ALL_SSD:
            on_ssd = ", ".join(sorted(key.removeprefix("public.") for key in each.keys))
            say(f"  {each.name}: {on_ssd or 'nothing on ssd'}")
    columns = ("placement", "predicted", "interval", "measured", "error", "covered", "wait", "measured", "error")
    table(f"forecast, PostgreSQL {major} (transactions/s; read wait of one)", columns, [_row(each) for each in checked])
    compared = _compared({each.name: each.series for each in checked}, pace) if part == (1, 1) else []
    return compared + _forecast(checked)


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
    """The forecast that users read, next to what came of it."""
    judged = [each for each in checked if each.name != ALL_SSD]
    worst, mean = max(judged, key=lambda each: abs(each.error)), float(np.mean([abs(each.error) for each in judged]))
    coverage = sum(each.covered for each in judged) / len(judged)
    say(f"  worst {worst.error:+.1%} at {worst.name} (goal {GOAL_ERROR:.0%}); covered {coverage:.0%}")
    ssd = next((each for each in checked if each.name == ALL_SSD), None)
    left_out = "" if ssd is None else (
        f"; all-SSD left out: bound by the processor, forecast {ssd.predicted.per_second:,.0f}, measured "
        f"{ssd.series.per_second:,.0f}"
    )  # fmt: skip
    runs = len(judged[0].series.runs)
    lines = [
        Measurement(
            name="lab.postgresql.forecast_error_max", value=abs(worst.error), unit="of the measured throughput",
            better="lower", command=COMMAND,
            note=f"goal {GOAL_ERROR}; as `hotplace plan` and `balance` print it; {len(judged)} placements, median of "
                 f"{runs} runs each, mean {mean:.1%}, worst {worst.name}{left_out}",
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
    low, high = each.predicted.low, each.predicted.high
    known = math.isfinite(each.wait_error)
    return (
        each.name,
        f"{each.predicted.per_second:,.1f}",
        f"{low:,.1f} to {high:,.1f}",
        f"{each.series.per_second:,.1f}",
        f"{each.error:+.1%}",
        "yes" if each.covered else "no",
        format_seconds(each.predicted.read_wait),
        format_seconds(each.read_wait) if known else "-",
        f"{each.wait_error:+.1%}" if known else "-",
    )
