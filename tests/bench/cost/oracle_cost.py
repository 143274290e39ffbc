"""One sampling cycle over 100,000 segments of an emulated Oracle server; ``quick``: over 20,000.

The statements and what the agent does with the answers are real; the server's share of the time is the emulated
server's own and says nothing of Oracle. Statements per cycle must not depend on the number of segments.
"""

from __future__ import annotations

from collections import Counter

from tests.bench.measurement import Measurement, of_runs, timed
from tests.labs.oracle.harness import OWNER, OracleHarness, running_harness
from tests.labs.oracle.model import BLOCK, Table

SEGMENTS, QUICK_SEGMENTS = 100_000, 20_000
RUNS = 3
COMMAND = "python -m tests.bench oracle_cost"
NOTE = "emulated server, over the wire protocol through python-oracledb; its own work included"


def measurements(*, quick: bool = False) -> list[Measurement]:
    """Seconds and statements of a sample and of a catalog; quick: of a fifth of the segments."""
    segments = QUICK_SEGMENTS if quick else SEGMENTS
    size = f"{segments // 1000}k"
    with running_harness("bench") as lab:
        _fill(lab, segments)
        connector = lab.connector(statement_timeout=300.0)
        connector.identify()
        before = len(lab.server.statements)
        samples = timed(connector.sample, RUNS)
        statements = (len(lab.server.statements) - before) / RUNS
        catalogs = timed(connector.catalog, RUNS)
        connector.close()
    return [
        of_runs(f"oracle.sample_seconds.{size}", samples, "s", COMMAND, note=NOTE),
        of_runs(f"oracle.catalog_seconds.{size}", catalogs, "s", COMMAND, note=NOTE),
        {
            "name": f"oracle.sample_statements.{size}",
            "value": statements,
            "unit": "statements",
            "better": "lower",
            "command": COMMAND,
            "note": "emulated server; the same for any number of segments, SET TRANSACTION READ ONLY included",
        },
    ]


def _fill(lab: OracleHarness, segments: int) -> None:
    """Small tables, every one of them read."""
    of = lab.database
    for number in range(segments):
        own = of.segment(OWNER, f"T{number}", "TABLE", "SLOW", 8 * BLOCK)
        own.counters[0] = Counter({"logical reads": 9, "physical reads": 3, "physical read requests": 3})
        of.tables[OWNER, own.name] = Table(OWNER, own.name, own.object_id, [own])
    of.generation += 1
