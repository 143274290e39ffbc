"""Experiment 1: eight tables, 85 % of the look-ups on one, an SSD of 12.5 % of the bytes, and hotplace decides.

The load runs while hotplace watches, plans and moves. Then each placement is measured: everything on the hdd, what
hotplace made of it, everything on the SSD.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.bench.lab.figures import SERIES_COLUMNS, Series, measure, say, series_row, table
from tests.bench.lab.hotplace import FULL_POLICY, watching
from tests.bench.lab.load import Group, Script, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

TABLES = 8
ROWS = 500_000  # at scale 1: a heap of 64 MB and an index of 11 MB
HOT_ROWS_SHARE = 0.98  # of the others': the hot table with its key is just below an eighth of the bytes
HOT_PERCENT = 85
SSD_SHARE = 0.125
CLIENTS = 8
MOVE_LIMIT_SECONDS = 60.0
GOAL, GOAL_SPREAD = 4.5, 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """What one run of the experiment found."""

    hdd: Series
    placed: Series
    ssd: Series
    moved: frozenset[str]
    moved_bytes: int
    total_bytes: int

    @property
    def gain(self) -> float:
        """Throughput by hotplace's placement over that of everything on the hdd."""
        return self.placed.per_second / self.hdd.per_second


def tables(pace: Pace) -> tuple[Table, ...]:
    """The hot one first."""
    rows = round(ROWS * pace.scale)
    return tuple(
        Table(name=f"t{number}", rows=round(rows * (HOT_ROWS_SHARE if number == 0 else 1))) for number in range(TABLES)
    )


def workload(made: tuple[Table, ...], clients: int = CLIENTS) -> Workload:
    """Look-ups by key, uniform within a table."""
    others = len(made) - 1
    weights = [HOT_PERCENT * others] + [100 - HOT_PERCENT] * others
    return Workload(
        groups=(Group(scripts=tuple(look_up(t, w) for t, w in zip(made, weights, strict=True)), clients=clients),)
    )


def look_up(at: Table, weight: int) -> Script:
    """One row by its key."""
    text = f"\\set id random(1, {at.rows})\nSELECT n FROM {at.name} WHERE id = :id;\n"
    return Script(name=at.name, text=text, weight=weight)


def decide(rig: Rig, work: Workload, policy: str = FULL_POLICY) -> None:
    """Let hotplace watch the load, and carry out what it proposes while the load goes on."""
    pace = rig.pace
    seconds = pace.warm_seconds + pace.observe_seconds
    clients = start(rig.server, rig.folder, work, seconds + MOVE_LIMIT_SECONDS, seed=99)
    try:
        with watching(rig, policy=policy) as agent:
            agent.observe(seconds)
            planning, moved = agent.decide()
        for row in moved:
            say(f"  hotplace moved {row.move.key} to {row.move.to_space}: {row.reason}")
        say(f"  plan: {planning.plan.wait_saved_per_hour:,.0f} of {planning.plan.wait_per_hour:,.0f} s of wait an hour")
    finally:
        clients.stop()


def run(pace: Pace, major: int = MAJOR, *, reference: bool = True) -> Headline:
    """The whole experiment; without ``reference`` everything on the SSD is left out."""
    made = tables(pace)
    with running_rig(pace, major=major) as rig:
        rig.fill(made)
        work, total = workload(made), rig.total_bytes()
        rig.give_ssd(int(total * SSD_SHARE))
        hdd = measure(rig, "all hdd", work)
        decide(rig, work)
        relations = [relation for relation in rig.relations() if relation.key in rig.on_ssd()]
        placed = measure(rig, "hotplace, 12.5 % ssd", work)
        rig.give_ssd(None)
        rig.place({relation.key for relation in rig.relations()} if reference else rig.on_ssd())
        ssd = measure(rig, "all ssd", work) if reference else placed
    return Headline(
        hdd=hdd, placed=placed, ssd=ssd, moved=frozenset(relation.key for relation in relations),
        moved_bytes=sum(relation.size_bytes for relation in relations), total_bytes=total,
    )  # fmt: skip


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report."""
    found = run(pace, major)
    series = (found.hdd, found.placed, found.ssd)
    table(f"headline, PostgreSQL {major}", SERIES_COLUMNS, [series_row(each) for each in series])
    share = found.moved_bytes / found.total_bytes
    spread = max(each.spread for each in series[:2])
    say(f"  gain {found.gain:.2f} with {share:.1%} of the bytes (goal {GOAL})")
    say(f"  spread {spread:.1%} (goal {GOAL_SPREAD:.0%})")
    command = "python -m tests.bench.lab headline" + (f" --major {major}" if major != MAJOR else "")
    name = "lab.postgresql" if major == MAJOR else f"lab.postgresql{major}"
    runs = " ".join(f"{run.per_second:.0f}" for run in found.placed.runs)
    gain = Measurement(
        name=f"{name}.gain_12_5pct", value=found.gain, unit="times all-HDD", better="higher", command=command,
        spread=f"{spread:.1%} half range of {pace.runs} runs",
        note=f"goal {GOAL}; transactions/s {found.hdd.per_second:.0f} -> {runs} (all SSD {found.ssd.per_second:,.0f}); "
             f"{', '.join(sorted(found.moved))}; PostgreSQL {major}, modelled disks",
    )  # fmt: skip
    p99 = Measurement(
        name=f"{name}.p99_12_5pct", value=found.placed.median(lambda run: run.p99), unit="s", better="lower",
        command=command, note=f"all-HDD {found.hdd.median(lambda run: run.p99):.3f} s",
    )  # fmt: skip
    return [gain, p99]
