"""Where the reads of one table go, by looks at the buffer pool against the truth, and what the looks cost.

The same look-ups run twice: against a copy of the table in twenty partitions, whose counters are the truth, and against
the table itself, into which hotplace's own looker looks within its budget. Three loads: four fifths of the look-ups
among the newest tenth of the rows, the same in one stripe of every ten, and all rows alike. What counts is the largest
difference, over the twentieths of the table, between the share of the reads that was true and the one that was seen.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psycopg

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.sampling.block_heat import UnitBorders, load_block_heat, load_borders
from agent.sampling.block_looks import BlockLooker, BorderLooker, LookedAt
from connectors.model.observation import F64
from connectors.postgresql.connector import PostgresqlConnector
from connectors.postgresql.settings import PostgresqlSettings
from policies.evidence.range_heat import HeatShape, RangeHeat, concentrate
from tests.bench.lab.figures import say, table
from tests.bench.lab.load import Group, Script, Workload, start
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import LabUnavailable, Rig, running_rig
from tests.bench.lab.schema import Table
from tests.bench.measurement import Measurement

COMMAND = "python -m tests.bench.lab inside"
DEBIAN = 15  # the embedded servers lack pg_buffercache
ROWS, PARTS, CLIENTS = 1_200_000, 20, 4  # rows at scale 1
TRUE_RUNS, SEEN_RUNS = 2, 7  # times ``Pace.run_seconds``
SHARE = 0.002  # of one session's time for looks, the goal; the default is a quarter of it
GOAL_ERROR, GOAL_SHARE, GOAL_BORDER = 0.05, 0.002, 0.03
ERROR, COST, BORDER = (
    "lab.inside.hot_share_error",
    "lab.inside.server_share",
    "lab.inside.border_error",
)  # names of rows
EXPECTED = {"newest tenth": HeatShape.NEWEST, "stripes": HeatShape.SCATTERED, "all alike": HeatShape.EVEN}


def loads(rows: int) -> dict[str, str]:
    """By name, in pgbench's language, which row is looked up."""
    part = rows // PARTS
    mostly = "\\set cold random(1, 5)\n\\if :cold > 1\n{hot}\\else\n{any}\\endif\n"
    anywhere = f"\\set id random(1, {rows})\n"
    newest = f"\\set id random({rows * 9 // 10 + 1}, {rows})\n"
    stripes = f"\\set at random(0, {PARTS - 1})\n\\set id :at * {part} + random(1, {part // 10})\n"
    return {
        "newest tenth": mostly.format(hot=newest, any=anywhere),
        "stripes": mostly.format(hot=stripes, any=anywhere),
        "all alike": anywhere,
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One load: the truth and what was seen."""

    load: str
    true: F64  # (PARTS,) shares of the reads
    seen: F64
    shape: HeatShape
    coverage: float
    server_share: float
    pairs: int
    border: float | None  # first id of the hot part by the values that were read; None: no column has it as a range
    border_seconds: float  # that the look at values took
    rows: int

    @property
    def border_error(self) -> float:
        """Distance from the true border, or of finding one where there is none, as a share of the rows."""
        if self.load != "newest tenth":
            return 0.0 if self.border is None else 1.0
        return 1.0 if self.border is None else abs(self.border - 0.9 * self.rows) / self.rows

    @property
    def error(self) -> float:
        """Largest difference of a part's share."""
        return float(np.abs(self.true - self.seen).max())


def run(pace: Pace, major: int = DEBIAN, part: tuple[int, int] = (1, 1)) -> list[Seen]:
    """All loads, or a part of them: 2/3 is the second of three.

    Raises:
        LabUnavailable: this server has no pg_buffercache.
    """
    with running_rig(pace, major=major) as rig:
        rows = round(ROWS * pace.scale) // (10 * PARTS) * 10 * PARTS
        rig.fill([Table(name="whole", rows=rows)])
        with rig.session() as dba:
            if not dba.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_buffercache'").fetchone():
                raise LabUnavailable(f"PostgreSQL {major} here lacks pg_buffercache: --major {DEBIAN}")
            dba.execute("CREATE EXTENSION pg_buffercache")
        rig.build(_split(rows))
        wanted = list(loads(rows).items())[part[0] - 1 :: part[1]]
        return [_seen(rig, load, script, pace, rows) for load, script in wanted]


def _split(rows: int) -> list[str]:
    """The copy in parts of equal rows."""
    step = rows // PARTS
    parts = [
        f"CREATE TABLE part{at} PARTITION OF parts FOR VALUES FROM ({at * step + 1}) TO ({(at + 1) * step + 1})"
        for at in range(PARTS)
    ]
    create = "CREATE TABLE parts (id int PRIMARY KEY, n int, filler text) PARTITION BY RANGE (id)"
    return [create, *parts, "INSERT INTO parts SELECT * FROM whole ORDER BY id"]


def _seen(rig: Rig, load: str, text: str, pace: Pace, rows: int) -> Seen:
    true_seconds, seen_seconds = TRUE_RUNS * pace.run_seconds, SEEN_RUNS * pace.run_seconds
    with _clients(rig, text, "parts", pace.warm_seconds + true_seconds), rig.session() as dba:
        time.sleep(pace.warm_seconds)
        before = _reads(dba)
        time.sleep(true_seconds)
        true = _reads(dba) - before
    with _clients(rig, text, "whole", pace.warm_seconds + seen_seconds):
        time.sleep(pace.warm_seconds)
        heat, share, border, border_seconds = _look(rig, load, seen_seconds)
    seen = _by_part(heat)
    found = Seen(
        load=load, true=true / true.sum(), seen=seen / seen.sum(), shape=concentrate(heat).shape,
        coverage=heat.coverage, server_share=share, pairs=heat.pairs,
        border=border, border_seconds=border_seconds, rows=rows,
    )  # fmt: skip
    say(f"  {load}: error {found.error:.3f}, {found.shape}, {found.pairs} pairs, {share:.5f} of a session")
    say(f"  {load}: border {border}, {found.border_error:.3f} off, {border_seconds:.3f} s")
    return found


@contextmanager
def _clients(rig: Rig, text: str, name: str, seconds: float) -> Iterator[None]:
    script = Script(name="lookup", text=f"{text}SELECT n FROM {name} WHERE id = :id;\n")
    workload = Workload(groups=(Group(scripts=(script,), clients=CLIENTS),))
    clients = start(rig.server, rig.folder, workload, 2 * seconds, seed=7)
    try:
        yield
    finally:
        clients.stop()


def _reads(dba: psycopg.Connection) -> F64:
    rows = dba.execute(
        "SELECT heap_blks_read FROM pg_statio_user_tables WHERE relname ~ '^part[0-9]' ORDER BY substr(relname, 5)::int"
    ).fetchall()
    return np.array([row[0] for row in rows], dtype=np.float64)


def _look(rig: Rig, load: str, seconds: float) -> tuple[RangeHeat, float, float | None, float]:
    """What the looker makes of it in so many seconds, its share of a session, the border and what that took."""
    clock, name = SystemClock(), load.replace(" ", "_")
    settings = PostgresqlSettings.model_validate(
        {"host": str(rig.server.folder), "dbname": "postgres", "user": "postgres"}
    )
    connector = PostgresqlConnector(settings, clock)
    with rig.session() as dba, Ledger.open(rig.folder / f"{name}.db", clock) as ledger:
        row = dba.execute("SELECT 'whole'::regclass::oid::bigint").fetchone()
        assert row is not None, "it was built"
        looker = BlockLooker(name, SHARE, lambda: connector, ledger, clock)
        looker.choose((LookedAt(key="whole", physical_id=row[0]),))
        started = clock.monotonic()
        while clock.monotonic() - started < seconds:
            looker.take_turn()
            clock.sleep(0.5)
        share = looker.server_seconds / (clock.monotonic() - started)
        looker.close(save=True)
        heat, unit = load_block_heat(ledger, name)["whole"], LookedAt(key="whole", physical_id=row[0])
        values = BorderLooker(f"{name} values", ledger, clock, may_read=True)
        took = values.look(connector, unit, heat)
        values.close()
        connector.close()
        looks = load_borders(ledger, f"{name} values").get("whole", UnitBorders()).looks
        return heat, share, looks[-1].found.least if looks and looks[-1].found else None, took


def _by_part(heat: RangeHeat) -> F64:
    """Reads of each twentieth of the blocks; a range that lies in two of them is shared out."""
    edges = np.minimum(np.arange(heat.ranges + 1) * heat.width, heat.blocks)
    upto = np.concatenate(([0.0], np.cumsum(heat.reads.sum(axis=0))))
    return np.diff(np.interp(np.linspace(0, heat.blocks, PARTS + 1), edges, upto))


def measurements(pace: Pace, major: int = DEBIAN, part: tuple[int, int] = (1, 1)) -> list[Measurement]:
    """Run and report: a row for each load, and those of the worst where all loads were run."""
    found = run(pace, major, part)
    columns = ("load", "pairs", "error", "shape", "covered", "of a session")
    rows = [
        (
            each.load, str(each.pairs), f"{each.error:.3f}", str(each.shape), f"{each.coverage:.0%}",
            f"{each.server_share:.5f}",
        )
        for each in found
    ]  # fmt: skip
    table(f"heat inside a table, PostgreSQL {major}", columns, rows)
    lines = [line for each in found for line in _lines(each, major)]
    return lines if part != (1, 1) else [*lines, *worst(lines)]


def _lines(seen: Seen, major: int) -> list[Measurement]:
    load = seen.load.replace(" ", "_")
    wrong = "" if seen.shape is EXPECTED[seen.load] else f", wrong: it is {EXPECTED[seen.load]}"
    return [
        Measurement(
            name=f"{ERROR}.{load}", value=seen.error, unit="of the reads", better="lower", command=COMMAND,
            note=f"{seen.load}: {seen.shape}{wrong}; {PARTS} parts of the table; PostgreSQL {major}",
        ),
        Measurement(
            name=f"{BORDER}.{load}", value=seen.border_error, unit="of the rows", better="lower", command=COMMAND,
            note=f"{seen.load}: from the first id of the hot part, or 1 where one is found that is not there; "
                 f"{seen.border_seconds:.2f} s for a look at values; PostgreSQL {major}",
        ),
        Measurement(
            name=f"{COST}.{load}", value=seen.server_share, unit="of one session's time", better="lower",
            command=COMMAND, note=f"{seen.load}: {seen.pairs} pairs of looks, 16 MB of shared buffers",
        ),
    ]  # fmt: skip


def worst(lines: list[Measurement]) -> list[Measurement]:
    """The rows that goals are about, from those of all loads."""
    found = list[Measurement]()
    for name, whole, goal in (
        (ERROR, f"{ERROR}_max", GOAL_ERROR),
        (COST, COST, GOAL_SHARE),
        (BORDER, f"{BORDER}_max", GOAL_BORDER),
    ):
        of_loads = [line for line in lines if line["name"].startswith(f"{name}.")]
        largest = max(of_loads, key=lambda line: line["value"])
        note = f"goal {goal:g}; the worst of {len(of_loads)}: {largest.get('note', '')}"
        value, unit = largest["value"], largest["unit"]
        found.append(Measurement(name=whole, value=value, unit=unit, better="lower", command=COMMAND, note=note))
    return found
