"""Experiment 4: from 1 to 100 % of the bytes on SSD, measured, beside what ``hotplace sizing`` predicted before.

The load first runs until autovacuum has seen it: new statistics change plans, and a curve whose first point was
measured under other plans than the rest compares two programs. hotplace watches everything on the hdd; its sizing
curve is kept. Then the SSD grows step by step, and at each step hotplace watches the load, plans and moves, and
throughput and response time are measured. Moves run while the clients rest and at the machine's own speed: what
they cost is another experiment's question. Shares are of what everything on the SSD gains.

Saved time and gained throughput are not the same share. At a full disk throughput is what the disk serves over the
reads that a transaction leaves to it, so the last reads that leave bring most of it: a quarter of the reads left on the
hdd still is a full hdd. How much could be had at all is measured beside: the placement of whole units that leaves
fewest reads on the hdd, found by trying all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from typing import Any

from agent.model.clock import SystemClock
from agent.pages.plots import INK, MUTED, SERIES
from agent.studies.sizing import answer_of
from policies.placement.sizing import Sizing
from tests.bench.lab import analysis, mixed, wholesale
from tests.bench.lab.figures import measure, say, table
from tests.bench.lab.hotplace import watching
from tests.bench.lab.load import Figures, Workload, start
from tests.bench.lab.pace import FULL, Pace
from tests.bench.lab.picture import Line, picture
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import fewest_misses
from tests.bench.measurement import Measurement

SCALE, SHORTER = 0.5, 0.75  # of the pace's data and runs
PERCENT = {True: (1, 5, 10, 25, 50), False: (5, 25)}  # full; quick
THE_POINT = 25
HEAD_ROOM = 0.05  # of the SSD: tables grow
POLICY = f"half_life: 1min, minimum_history: 5s, cool_down: 1s, head_room: {HEAD_ROOM}"
COMMAND = "python -m tests.bench.lab curves"
HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One size of the SSD."""

    percent: float  # of the bytes
    used: float  # share of the bytes that hotplace put there
    predicted: float  # share of the all-SSD saving, by sizing
    today: float  # the same were queues to stay as long as they are
    per_second: float
    response: float  # seconds a transaction, thinking left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """The whole curve of one benchmark; the first step has no SSD, the last has everything on it."""

    name: str
    steps: tuple[Step, ...]
    best: Step  # at ``THE_POINT``, placed by hand by who tries every subset of the units

    def gain_share(self, step: Step) -> float:
        """Share of the throughput that everything on the SSD gains."""
        return (step.per_second - self.steps[0].per_second) / (self.steps[-1].per_second - self.steps[0].per_second)

    def saved_share(self, step: Step) -> float:
        """Share of the response time that everything on the SSD saves."""
        return (self.steps[0].response - step.response) / (self.steps[0].response - self.steps[-1].response)


BENCHMARKS: dict[str, tuple[ModuleType, float]] = {  # with the seconds that a client thinks after each transaction
    "tpcc": (wholesale, sum(wholesale.THINK_MS) / 2000),
    "tpch": (analysis, 0.0),
}


def sweep(name: str, pace: Pace, major: int) -> Sweep:
    """One benchmark from nothing to everything. Runs are many, and each is shorter than the pace says."""
    module, think = BENCHMARKS[name]
    pace = replace(pace.smaller(SCALE).shorter(SHORTER), observe_seconds=pace.observe_seconds * 0.7)
    # By its runs: the pace was changed above and is no longer FULL itself.
    steps = PERCENT[pace.runs == FULL.runs]
    with running_rig(pace, major=major) as rig:
        rig.build(module.statements(pace))
        work, total = module.workload(pace), rig.total_bytes()
        say(f"  {name}: {total / 2**20:,.0f} MiB")
        measured(rig, "settling", work)
        taken = [_step(0.0, rig, total, (0.0, 0.0), measured(rig, "all hdd", work), work, think)]
        units = mixed.candidates(rig)
        sizing = watched(rig, work)
        for percent in steps:
            decide(rig, work, total * percent // 100)
            figures = measured(rig, f"{percent} %", work)
            taken.append(_step(percent, rig, total, _predicted(sizing, percent), figures, work, think))
        rig.place(fewest_misses(units, int(total * THE_POINT / 100 * (1 - HEAD_ROOM))))
        best = _step(THE_POINT, rig, total, (math.nan, math.nan), measured(rig, "fewest reads left", work), work, think)
        rig.place({relation.key for relation in rig.relations()})
        taken.append(_step(100.0, rig, total, (1.0, 1.0), measured(rig, "all ssd", work), work, think))
    return Sweep(name=name, steps=tuple(taken), best=best)


def measured(rig: Rig, name: str, work: Workload) -> Figures:
    """One run."""
    return measure(rig, name, work, runs=1).runs[0]


def _predicted(sizing: Sizing, percent: int) -> tuple[float, float]:
    """Shares of what everything on the SSD saves: with shorter queues, and at today's latencies."""
    return sizing.share(sizing.at(percent)), sizing.at(percent).today_per_hour / sizing.at(100).today_per_hour


def _step(
    percent: float, rig: Rig, total: int, shares: tuple[float, float], figures: Figures, work: Workload, think: float
) -> Step:
    """Response by Little's law: in a short run the mean of those that ended leaves out the slow ones that did not."""
    keys = rig.on_ssd()
    used = sum(relation.size_bytes for relation in rig.relations() if relation.key in keys)
    return Step(
        percent=percent, used=used / total, predicted=shares[0], today=shares[1], per_second=figures.per_second,
        response=work.clients / figures.per_second - think,
    )  # fmt: skip


def watched(rig: Rig, work: Workload) -> Sizing:
    """Let hotplace see everything on the hdd; what it says about sizes."""
    pace = rig.pace
    clients = start(rig.server, rig.folder, work, pace.warm_seconds + pace.observe_seconds + 60, seed=97)
    try:
        clients.sleep_until(pace.warm_seconds)
        with watching(rig, policy=POLICY) as agent:
            agent.observe(pace.observe_seconds)
            agent.plan()
            config, ledger = agent.config, agent.ledger
            agent.watch.sampler.save()
            return answer_of(config.database(), ledger, SystemClock()).sizing
    finally:
        clients.stop()


def decide(rig: Rig, work: Workload, room: int) -> None:
    """Let hotplace fill an SSD of that size by what it sees; it remembers what it saw before."""
    clients = start(rig.server, rig.folder, work, 300.0, seed=96)
    try:
        with watching(rig, policy=POLICY, ssd_bytes=max(1, room)) as agent:
            agent.observe(rig.pace.observe_seconds / 3)
            wanted = agent.approve(agent.plan())
            clients.stop()
            if wanted:
                rig.disk.switch(False)
                rows = agent.watch.act()
                rig.disk.switch(True)
                say("  " + ", ".join(f"{row.move.key} to {row.move.to_space}: {row.state}" for row in rows))
    finally:
        clients.stop()


def draw(found: Sweep) -> str:
    """The curve as SVG."""
    across = [step.percent for step in found.steps]

    def line(name: str, share: Callable[[Step], float], color: str, **more: Any) -> Line:
        return Line(name=name, points=tuple(zip(across, map(share, found.steps), strict=True)), color=color, **more)

    return picture(
        f"{found.name}-like: what an SSD of so much of the bytes brings",
        "per cent of the bytes",
        "share of what everything on the SSD brings",
        (
            line("throughput gained", found.gain_share, INK, width=2.5),
            line("response time saved", found.saved_share, SERIES[0], dashes="2 3"),
            line("wait saved, as sizing predicts", lambda step: step.predicted, MUTED, dashes="8 4"),
        ),
    )


def measurements(pace: Pace, major: int = MAJOR, names: Sequence[str] = tuple(BENCHMARKS)) -> list[Measurement]:
    """Run and report; a full run leaves the pictures beside this file."""
    lines = []
    for name in names:
        found = sweep(name, pace, major)
        columns = ("of the bytes", "used", "transactions/s", "response", "of the gain", "of the time", "sizing")
        table(f"curve of {name}, PostgreSQL {major}", columns, [_row(found, step) for step in found.steps])
        if pace is FULL:
            (HERE / f"{name}.svg").write_text(draw(found), encoding="utf-8")
        lines += _figures(found)
    return lines


def _row(found: Sweep, step: Step) -> tuple[str, ...]:
    return (
        f"{step.percent:g} %", f"{step.used:.1%}", f"{step.per_second:,.1f}", f"{step.response * 1000:,.1f} ms",
        f"{found.gain_share(step):.0%}", f"{found.saved_share(step):.0%}", f"{step.predicted:.0%}",
    )  # fmt: skip


def _figures(found: Sweep) -> list[Measurement]:
    at = next(step for step in found.steps if step.percent == THE_POINT)
    inner = found.steps[1:-1]
    off = [abs(step.predicted - found.saved_share(step)) for step in inner]
    today = max(abs(step.today - found.saved_share(step)) for step in inner)
    suffix = "" if found.name == "tpcc" else f".{found.name}"
    say(f"  at {THE_POINT} %: {found.gain_share(at):.0%} of the gain, {found.saved_share(at):.0%} of the time; the "
        f"placement that leaves fewest reads on the hdd: {found.gain_share(found.best):.0%}")  # fmt: skip
    curve = ", ".join(f"{step.percent:g} %: {found.gain_share(step):.0%}" for step in inner)
    return [
        Measurement(
            name=f"lab.postgresql.share_of_all_ssd_gain_25pct{suffix}", value=found.gain_share(at),
            unit="of the throughput gain", better="higher", command=COMMAND,
            note=f"{found.name}-like; {found.steps[0].per_second:.1f} -> {at.per_second:.1f} of "
                 f"{found.steps[-1].per_second:.1f} transactions/s, fewest reads left on the hdd "
                 f"{found.best.per_second:.1f} ({found.gain_share(found.best):.0%}); response time saved "
                 f"{found.saved_share(at):.0%}; {curve}",
        ),
        Measurement(
            name=f"lab.postgresql.sizing_error_max.{found.name}", value=max(off), unit="share of the saving",
            better="lower", command=COMMAND,
            note=f"worst distance of sizing's curve from the response time saved, mean {sum(off) / len(off):.2f}; "
                 f"worst with queues as they were {today:.2f}",
        ),
    ]  # fmt: skip
