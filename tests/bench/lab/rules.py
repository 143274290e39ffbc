"""Experiment 2: one SSD budget, the mixed schema, and what each rule makes of it."""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.lab import mixed
from tests.bench.lab.figures import SERIES_COLUMNS, Series, measure, say, series_row, table
from tests.bench.lab.headline import decide
from tests.bench.lab.hotplace import USUAL_POLICY
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import RULES
from tests.bench.measurement import Measurement

HOTPLACE, ALL_SSD = "hotplace", "all ssd"
GOALS = {"hottest first": 1.15, "all indexes": 1.25}
COMMAND = "python -m tests.bench.lab rules"


def placements(rig: Rig) -> Iterator[str]:
    """Bring each rule's placement about in turn, all within one budget, and name it.

    The rules rank by what the statistics views counted while everything was on the hdd; hotplace by what it saw itself.
    All leave the same head-room: what is appended to would meet the end of a full SSD.
    """
    rig.give_ssd(int(rig.total_bytes() * mixed.SSD_SHARE))
    assert rig.ssd_bytes is not None
    yield "nothing"
    units, room = mixed.candidates(rig), int(rig.ssd_bytes * (1 - mixed.HEAD_ROOM))
    decide(rig, mixed.workload(rig.pace), USUAL_POLICY + f"head_room: {mixed.HEAD_ROOM}")
    yield HOTPLACE
    for name, rule in RULES.items():
        if name != "nothing":
            rig.place(rule(units, room))
            yield name
    rig.give_ssd(None)
    rig.place({unit.key for unit in units})
    yield ALL_SSD


def run(pace: Pace, major: int = MAJOR) -> dict[str, tuple[Series, frozenset[str]]]:
    """Throughput of every placement, and who was on the SSD."""
    with running_rig(pace, major=major) as rig:
        rig.fill(mixed.tables(pace))
        return {name: (measure(rig, name, mixed.workload(pace)), rig.on_ssd()) for name in placements(rig)}


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major)
    table(f"rules compared, PostgreSQL {major}", SERIES_COLUMNS, [series_row(series) for series, _ in found.values()])
    for name, (_, keys) in found.items():
        if name != ALL_SSD:
            say(f"  {name}: {', '.join(sorted(key.removeprefix('public.') for key in keys)) or 'nothing on ssd'}")
    ours, _ = found[HOTPLACE]
    note = ", ".join(f"{name} {series.per_second:,.0f}" for name, (series, _) in found.items())
    spread = max(series.spread for name, (series, _) in found.items() if name != ALL_SSD)
    return [
        Measurement(
            name=f"lab.postgresql.vs_{rival.replace(' ', '_')}", value=ours.per_second / found[rival][0].per_second,
            unit="times", better="higher", command=COMMAND, spread=f"{spread:.1%} half range of {pace.runs} runs",
            note=f"goal {goal}; transactions/s: {note}; {mixed.SSD_SHARE:.0%} of the bytes on SSD",
        )
        for rival, goal in GOALS.items()
    ]  # fmt: skip
