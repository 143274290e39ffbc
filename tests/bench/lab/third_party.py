"""Loads of others on tables of their own: what does hotplace make of a load that nobody here wrote?

``oltp_read_write`` of Debian's sysbench, with the distribution of ids that it has by default, and TPC-C by go-tpc (both
optional components, see ``tests/components.py``), on an SSD of a quarter of the bytes: everything on the hdd, what
hotplace chose while the load ran, and what people place by hand in the same room: all indexes as far as they fit, and
the tables and indexes with most misses.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from agent.cli.under_way import under_way_of
from agent.demo.load import HDD_SPACE
from agent.ledger.rows import MoveRow
from agent.model.clock import SystemClock
from agent.model.states import ACTIONABLE
from agent.planning.planner import Planning
from policies.model.plan import Verdict
from policies.placement.verdicts import explain_verdict
from tests.bench.lab.figures import say, table
from tests.bench.lab.hotplace import FULL_POLICY, Hotplace, watching
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.lab.rules_of_thumb import Candidate, all_indexes, hottest_first
from tests.bench.measurement import Measurement
from tests.components import GO_TPC

CLIENTS = 8
SSD_SHARE = 0.25
WATCH_SECONDS = 300  # until what has waited for as long as its move costs is most of what matters
GROWS = 0.97  # of the SSD that rules by hand fill: tables and indexes grow while they are measured
MOVE_LIMIT_SECONDS = 300  # of about ten rebuilds, which wait for the transactions of a busy disk
SHOWN = 10  # units with the highest gain, with what was decided about them
RUN_SECONDS = 60  # a transaction takes a second here: the p99 of shorter runs would be that of the longest one
COMMAND = "python -m tests.bench.lab third_party"
_MISSES = """
SELECT schemaname || '.' || relname, heap_blks_read FROM pg_statio_user_tables
UNION ALL SELECT schemaname || '.' || indexrelname, idx_blks_read FROM pg_statio_user_indexes
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class OthersLoad:
    """A program of others that makes its tables, runs, and reports in words of its own."""

    name: str  # of rows
    says: str  # what it runs
    program: Path
    prepare: Callable[[Rig], list[str]]
    command: Callable[[Rig, float], list[str]]  # for so many seconds
    per_second: re.Pattern[str]  # transactions, or what it counts of them
    in_seconds: float  # that such a figure is about
    p99: re.Pattern[str]  # milliseconds

    @property
    def is_installed(self) -> bool:
        """Whether it can run here."""
        return self.program.exists()


SYSBENCH, SYSBENCH_TABLES, SYSBENCH_ROWS = "oltp_read_write", 6, 400_000  # rows of each at scale 1: 100 MB with indexes
WAREHOUSES = 4  # at scale 1: 100 MB each with indexes


def _sysbench(rig: Rig, *words: str) -> list[str]:
    rows = round(SYSBENCH_ROWS * rig.pace.scale)
    return [
        "sysbench", SYSBENCH, "--db-driver=pgsql", f"--pgsql-host={rig.server.folder}", "--pgsql-user=postgres",
        "--pgsql-db=postgres", f"--tables={SYSBENCH_TABLES}", f"--table-size={rows}", f"--threads={CLIENTS}",
        "--percentile=99", "--rand-seed=1", *words,
    ]  # fmt: skip


def _go_tpc(rig: Rig, *words: str) -> list[str]:
    # A host that is a folder does not fit into its address. Of two the driver takes the last by the alphabet.
    where = f"host={rig.server.folder}&sslmode=disable"
    return [
        str(GO_TPC), "tpcc", "--driver", "postgres", "--user", "postgres", "--db", "postgres", "--conn-params", where,
        "--host", ".", "--port", "5432",
        "--warehouses", str(max(1, round(WAREHOUSES * rig.pace.scale))), "--threads", str(CLIENTS), "--ignore-error",
        *words,
    ]  # fmt: skip


LOADS = (
    OthersLoad(
        name="sysbench", says=f"sysbench {SYSBENCH}", program=Path(shutil.which("sysbench") or "/nowhere"),
        prepare=lambda rig: _sysbench(rig, "prepare"),
        command=lambda rig, seconds: _sysbench(rig, "run", f"--time={seconds:g}"),
        per_second=re.compile(r"transactions:\s+\d+\s+\(([\d.]+) per sec\.\)"), in_seconds=1.0,
        p99=re.compile(r"99th percentile:\s+([\d.]+)"),
    ),
    OthersLoad(
        name="tpcc", says="new orders of TPC-C by go-tpc", program=GO_TPC,
        prepare=lambda rig: _go_tpc(rig, "prepare", "--no-check"),
        command=lambda rig, seconds: _go_tpc(rig, "run", "--time", f"{seconds:g}s"),
        per_second=re.compile(r"tpmC: ([\d.]+)"), in_seconds=60.0,
        p99=re.compile(r"\[Summary\] NEW_ORDER - .*?99th\(ms\): ([\d.]+)"),
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One placement by sysbench's own figures."""

    name: str
    per_second: float  # transactions
    p99: float  # seconds of one


def run(pace: Pace, load: OthersLoad, *, major: int = MAJOR) -> list[Ran]:
    """All placements: nothing, hotplace's, all indexes, the hottest."""
    with running_rig(replace(pace, run_seconds=RUN_SECONDS), major=major) as rig:
        rig.disk.switch(False)
        output_of(load.prepare(rig))
        rig.build(())  # vacuumed, and the model on
        rig.give_ssd(int(rig.total_bytes() * SSD_SHARE))
        found = [measured(rig, load, "all hdd")]
        before = misses(rig)
        with under(rig, load), watching(rig, policy=FULL_POLICY) as agent:
            agent.observe(WATCH_SECONDS)
            missed = misses(rig)
            planning, moved = agent.decide(strict=False, seconds=MOVE_LIMIT_SECONDS)
            tell(agent, planning, moved)
        found.append(measured(rig, load, "hotplace"))
        units = [
            Candidate(
                key=each.key, index=each.index, size_bytes=each.size_bytes, misses=missed[each.key] - before[each.key]
            )
            for each in rig.relations()
        ]
        for name, rule in (("all indexes", all_indexes), ("hottest first", hottest_first)):
            rig.place(rule(units, int(GROWS * (rig.ssd_bytes or 0))))
            found.append(measured(rig, load, name))
    return found


def tell(agent: Hotplace, planning: Planning, moved: Sequence[MoveRow]) -> None:
    """What was planned, what became of each move, and why what was approved has not ended."""
    plan = planning.plan
    said = ", ".join(f"{Verdict(each).code} {count}" for each, count in Counter(plan.verdict.tolist()).items())
    say(f"  plan: {plan.wait_saved_per_hour:,.0f} of {plan.wait_per_hour:,.0f} s an hour; {said}")
    situation = planning.situation
    for at in np.argsort(-plan.wait_saved_if_moved)[:SHOWN].tolist():
        say(f"  {explain_verdict(situation, plan, at, planning.settings)}")
    for row in moved:
        say(f"  hotplace moved {row.move.key} to {row.move.to_space}: {row.state} {row.reason}")
    database = agent.watch.database
    now = under_way_of(agent.ledger, database, SystemClock().now())
    for row in agent.ledger.moves.rows(database=database.name, states=ACTIONABLE):
        say(f"  not yet: {now.line(row)}")


def misses(rig: Rig) -> dict[str, int]:
    """Blocks of each unit that the buffer pool did not have, since the server began to count."""
    with rig.session() as session:
        return dict(session.execute(_MISSES).fetchall())


def measured(rig: Rig, load: OthersLoad, name: str) -> Ran:
    """The load on the present placement, after a shorter run that warms up."""
    output_of(load.command(rig, rig.pace.warm_seconds))
    said = output_of(load.command(rig, rig.pace.run_seconds))
    per_second, p99 = load.per_second.search(said), load.p99.search(said)
    assert per_second is not None, said
    assert p99 is not None, said
    return Ran(name=name, per_second=float(per_second[1]) / load.in_seconds, p99=float(p99[1]) / 1000)


def output_of(command: list[str]) -> str:
    """What a program of others prints; what it makes goes to the hdd."""
    done = subprocess.run(command, env=_environment(), check=True, capture_output=True, text=True, timeout=600)
    return done.stdout


@contextmanager
def under(rig: Rig, load: OthersLoad) -> Iterator[None]:
    """The load runs meanwhile."""
    seconds = WATCH_SECONDS + 2 * MOVE_LIMIT_SECONDS
    running = subprocess.Popen(load.command(rig, seconds), env=_environment(), stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        running.kill()
        running.wait()


def _environment() -> dict[str, str]:
    return {**os.environ, "PGOPTIONS": f"-c default_tablespace={HDD_SPACE}"}


def measurements(pace: Pace, major: int = MAJOR, only: Sequence[str] = ()) -> list[Measurement]:
    """Run and report; nothing of a load that is not installed."""
    rows: list[Measurement] = []
    for load in LOADS:
        if only and load.name not in only:
            continue
        if not load.is_installed:
            say(f"  {load.says} is not installed: python -m tests.components --loads")
            continue
        rows += _rows(pace, load, major)
    return rows


def _rows(pace: Pace, load: OthersLoad, major: int) -> list[Measurement]:
    before = os.getloadavg()[0]
    hdd, placed, *by_hand = found = run(pace, load, major=major)
    rows = [(each.name, f"{each.per_second:.1f}", f"{1000 * each.p99:.0f} ms") for each in found]
    table(f"{load.says}, PostgreSQL {major}", ("placement", "transactions/s", "p99"), rows)
    loaded = f"load of the machine {before:.1f} before, {os.getloadavg()[0]:.1f} after; PostgreSQL {major}"
    rules = ", ".join(f"{each.name} {each.per_second / hdd.per_second:.2f} times" for each in by_hand)
    return [
        {"name": f"lab.{load.name}.gain_25pct", "value": placed.per_second / hdd.per_second, "unit": "times all-HDD",
         "better": "higher", "command": COMMAND,
         "note": f"{load.says}: {hdd.per_second:.1f} -> {placed.per_second:.1f} a second; {WATCH_SECONDS} s watched; "
                 f"in the same room by hand {rules}; {loaded}"},
        {"name": f"lab.{load.name}.p99_25pct", "value": placed.p99, "unit": "s", "better": "lower", "command": COMMAND,
         "note": f"all-HDD {hdd.p99:.3f} s, by hand "
                 f"{', '.join(f'{each.name} {each.p99:.3f} s' for each in by_hand)}; {loaded}"},
    ]  # fmt: skip
