"""What a scrape costs with 100,000 units tracked and 1,000 of them exported, beside prometheus_client's usual ways.

Three renderings in processes of their own: hotplace's collector (columns in memory, the top units and *other*),
prometheus_client's Gauge objects at equal series, which most exporters keep, and Gauge objects of every unit, which is
what "just export all" costs.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import RANKING
from agent.planning.ranking import Ranking, ranking_from_arrays
from agent.service.metrics import AgentCollector
from agent.service.watch import Watch
from tests.bench.cost.agent_cost import UNITS, configuration
from tests.bench.cost.processes import rss_mib
from tests.bench.measurement import Measurement, in_process, of_runs, timed
from tests.virtual_clock import VirtualClock

COMMAND = "python -m tests.bench.cost.exposition"
EXPORTED = 1_000
RUNS = 15
COLUMNS = ("benefit_per_hour", "saved_if_moved", "sync_reads", "size_bytes")  # what hotplace exports of a unit
KINDS = ("ours", "gauges", "all")


def inside(kind: str) -> list[Measurement]:
    """One rendering, in this process."""
    with tempfile.TemporaryDirectory() as name:
        watch, ledger = _watched(Path(name))
        stored = ledger.state.load_arrays(watch.database.name, RANKING)
        assert stored is not None
        ranking = ranking_from_arrays(stored[1])
        before = rss_mib(os.getpid())
        registry = CollectorRegistry()
        if kind == "ours":
            registry.register(AgentCollector(lambda: [watch.snapshot], top_units=EXPORTED))
        else:
            _gauges(registry, ranking, EXPORTED if kind == "gauges" else len(ranking))
        started = time.perf_counter()
        size = len(generate_latest(registry))
        first = time.perf_counter() - started
        runs = timed(lambda: generate_latest(registry), RUNS if kind != "all" else 3)
        more = rss_mib(os.getpid()) - before
        watch.close()
        ledger.close()
    note = f"{size:,} bytes, the first took {first * 1000:.0f} ms; {UNITS:,} units tracked"
    return [
        of_runs(f"agent.exposition.{kind}.ms", [1000 * seconds for seconds in runs], "ms", COMMAND, note=note),
        of_runs(f"agent.exposition.{kind}.rss_mib", [more], "MiB", COMMAND, note="memory that rendering added"),
    ]


def _watched(folder: Path) -> tuple[Watch, Ledger]:
    """A watch that has ranked its units."""
    config, clock = configuration(folder, UNITS), VirtualClock()
    ledger = Ledger.open(config.ledger.path, clock)
    watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=True)
    for _ in range(3):
        clock.sleep(60.0)
        watch.sample()
    watch.plan()
    return watch, ledger


def _gauges(registry: CollectorRegistry, ranking: Ranking, count: int) -> None:
    """A Gauge a column with a child a unit, as instrumented programs keep them."""
    for column in COLUMNS:
        gauge = Gauge(f"peer_unit_{column}", "The same figure.", ("database", "unit", "tier"), registry=registry)
        values = getattr(ranking, column)
        for row in range(count):
            tier = int(ranking.tier[row])
            gauge.labels("big", ranking.key[row], ranking.tier_names[tier] if tier >= 0 else "").set(float(values[row]))


def measurements() -> list[Measurement]:
    """All three, each from a fresh process, and the ratios."""
    lines = [line for kind in KINDS for line in in_process("tests.bench.cost.exposition", "--inside", kind)]
    value = {line["name"]: line["value"] for line in lines}
    for peer, words in (("gauges", "at equal series"), ("all", "of every unit")):
        ratio = value[f"agent.exposition.{peer}.ms"] / value["agent.exposition.ours.ms"]
        note = f"time of prometheus_client's Gauge objects {words} over ours"
        lines.append(
            Measurement(name=f"agent.exposition.vs_{peer}", value=ratio, unit="times", better="higher", command=COMMAND,
                        note=note)
        )  # fmt: skip
    return lines


if __name__ == "__main__":
    print(json.dumps(inside(sys.argv[2]) if "--inside" in sys.argv else measurements()))
