"""Sysbench's OLTP on tables of its own: what does hotplace make of a load that nobody here wrote?

``oltp_read_write`` of Debian's sysbench (an optional component, see ``tests/components.py``), with the distribution of
ids that it has by default, on an SSD of a quarter of the bytes: everything on the hdd, what hotplace chose while the
load ran, and all indexes as far as there is room, placed by hand.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from agent.demo.load import HDD_SPACE
from policies.model.plan import Verdict
from tests.bench.lab.figures import say, table
from tests.bench.lab.hotplace import FULL_POLICY, watching
from tests.bench.lab.pace import Pace
from tests.bench.lab.rig import MAJOR, Rig, running_rig
from tests.bench.measurement import Measurement

PROGRAM, LOAD = "sysbench", "oltp_read_write"
TABLES, ROWS, CLIENTS = 6, 400_000, 8  # rows of each at scale 1: 100 MB with both indexes
SSD_SHARE = 0.25
MOVE_LIMIT_SECONDS, WATCH_SECONDS = 60, 120
COMMAND = "python -m tests.bench.lab third_party"
_PER_SECOND = re.compile(r"transactions:\s+\d+\s+\(([\d.]+) per sec\.\)")
_P99 = re.compile(r"99th percentile:\s+([\d.]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """One placement by sysbench's own figures."""

    name: str
    per_second: float  # transactions
    p99: float  # seconds of one


def run(pace: Pace, *, major: int = MAJOR) -> list[Ran]:
    """All placements."""
    with running_rig(pace, major=major) as rig:
        rows = round(ROWS * pace.scale)
        rig.disk.switch(False)
        _sysbench(rig, rows, "prepare")
        rig.build(())  # vacuumed, and the model on
        rig.give_ssd(int(rig.total_bytes() * SSD_SHARE))
        found = [_measured(rig, rows, "all hdd")]
        with _running(rig, rows, pace), watching(rig, policy=FULL_POLICY) as agent:
            agent.observe(pace.warm_seconds + pace.observe_seconds)
            # What has not waited for as long yet as its move costs stays where it is, indexes longer than their tables.
            agent.observe(WATCH_SECONDS)
            planning, moved = agent.decide(strict=False)
        plan = planning.plan
        said = ", ".join(f"{Verdict(each).code} {count}" for each, count in Counter(plan.verdict.tolist()).items())
        say(f"  plan: {plan.wait_saved_per_hour:,.0f} of {plan.wait_per_hour:,.0f} s an hour; {said}")
        for row in moved:
            say(f"  hotplace moved {row.move.key} to {row.move.to_space}: {row.state}")
        found.append(_measured(rig, rows, "hotplace"))
        rig.place(_indexes(rig))
        found.append(_measured(rig, rows, "all indexes"))
    return found


def _indexes(rig: Rig) -> frozenset[str]:
    """The smallest of them, as many as there is room for."""
    left, chosen = rig.ssd_bytes or 0, set()
    for relation in sorted((each for each in rig.relations() if each.index), key=lambda each: each.size_bytes):
        left -= relation.size_bytes
        if left >= 0:
            chosen.add(relation.key)
    return frozenset(chosen)


def _measured(rig: Rig, rows: int, name: str) -> Ran:
    _sysbench(rig, rows, "run", f"--time={rig.pace.warm_seconds:g}")
    said = _sysbench(rig, rows, "run", f"--time={rig.pace.run_seconds:g}")
    per_second, p99 = _PER_SECOND.search(said), _P99.search(said)
    assert per_second is not None, said
    assert p99 is not None, said
    return Ran(name=name, per_second=float(per_second[1]), p99=float(p99[1]) / 1000)


def _sysbench(rig: Rig, rows: int, *words: str) -> str:
    done = subprocess.run(
        _command(rig, rows, *words), env=_environment(), check=True, capture_output=True, text=True, timeout=600
    )
    return done.stdout


@contextmanager
def _running(rig: Rig, rows: int, pace: Pace) -> Iterator[None]:
    seconds = pace.warm_seconds + pace.observe_seconds + WATCH_SECONDS + MOVE_LIMIT_SECONDS
    load = subprocess.Popen(
        _command(rig, rows, "run", f"--time={seconds:g}"), env=_environment(), stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        load.kill()
        load.wait()


def _command(rig: Rig, rows: int, *words: str) -> list[str]:
    return [
        PROGRAM, LOAD, "--db-driver=pgsql", f"--pgsql-host={rig.server.folder}", "--pgsql-user=postgres",
        "--pgsql-db=postgres", f"--tables={TABLES}", f"--table-size={rows}", f"--threads={CLIENTS}",
        "--percentile=99", "--rand-seed=1", *words,
    ]  # fmt: skip


def _environment() -> dict[str, str]:
    return {**os.environ, "PGOPTIONS": f"-c default_tablespace={HDD_SPACE}"}


def measurements(pace: Pace, major: int = MAJOR) -> list[Measurement]:
    """Run and report; nothing where sysbench is not installed."""
    if shutil.which(PROGRAM) is None:
        say("  no sysbench here: python -m tests.components --loads")
        return []
    before = os.getloadavg()[0]
    hdd, placed, indexes = found = run(pace, major=major)
    rows = [(each.name, f"{each.per_second:.1f}", f"{1000 * each.p99:.0f} ms") for each in found]
    table(f"sysbench {LOAD}, PostgreSQL {major}", ("placement", "transactions/s", "p99"), rows)
    loaded = f"load of the machine {before:.1f} before, {os.getloadavg()[0]:.1f} after; PostgreSQL {major}"
    return [
        {"name": "lab.sysbench.gain_25pct", "value": placed.per_second / hdd.per_second, "unit": "times all-HDD",
         "better": "higher", "command": COMMAND,
         "note": f"transactions/s {hdd.per_second:.1f} -> {placed.per_second:.1f}; all indexes that fit by hand "
                 f"{indexes.per_second / hdd.per_second:.2f} times; {loaded}"},
        {"name": "lab.sysbench.p99_25pct", "value": placed.p99, "unit": "s", "better": "lower", "command": COMMAND,
         "note": f"all-HDD {hdd.p99:.3f} s, all indexes that fit by hand {indexes.p99:.3f} s"},
    ]  # fmt: skip
