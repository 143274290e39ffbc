"""The whole agent over 100,000 simulated units: memory, one cycle, one plan, one scrape.

Runs in a process of its own (``--inside``), so that its peak memory is its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from prometheus_client import CollectorRegistry

from agent.config.files import load
from agent.config.models import Config
from agent.ledger.ledger import Ledger
from agent.service.httpd import MetricsServer
from agent.service.metrics import AgentCollector
from agent.service.process import return_large_blocks
from agent.service.watch import Watch
from tests.bench.measurement import Measurement, in_process, of_runs, peak_rss_mib, timed
from tests.virtual_clock import VirtualClock

COMMAND = "python -m tests.bench.cost.agent_cost"
UNITS = 100_000
CYCLES = 8
SCRAPES = 15


def configuration(folder: Path, units: int) -> Config:
    """One simulated database of that many units."""
    path = folder / "hotplace.yaml"
    path.write_text(
        f"""
level: propose
ledger: {{path: ledger.db}}
databases:
  - name: big
    engine: simulated
    connection: {{scenario: synthetic, units: {units}, seed: 7}}
    sample_every: 60s
    tiers:
      - {{name: ssd, kind: ssd, spaces: [ssd]}}
      - {{name: hdd, kind: hdd, spaces: [hdd]}}
    policy: {{minimum_history: 1min}}
""",
        encoding="utf-8",
    )
    return load(path)


def inside() -> list[Measurement]:
    """Measure in this process."""
    return_large_blocks()  # as `hotplace run` does
    with tempfile.TemporaryDirectory() as name:
        config = configuration(Path(name), UNITS)
        clock = VirtualClock()
        with Ledger.open(config.ledger.path, clock) as ledger:
            watch = Watch(config.database(), ledger, clock, level=config.level, dry_run=True)
            cpu, wall = _cycles(watch, clock)
            plan = timed(watch.plan, 3)
            scrapes, size = _scrapes(watch)
            watch.close()
    units = f"{UNITS // 1000}k"
    return [
        of_runs(f"agent.cycle_cpu_seconds.{units}", cpu, "s", COMMAND, note="simulated engine included"),
        of_runs(f"agent.cycle_seconds.{units}", wall, "s", COMMAND, note="simulated engine included"),
        of_runs(f"agent.plan_seconds.{units}", plan, "s", COMMAND),
        of_runs(f"agent.scrape_ms.{units}", scrapes, "ms", COMMAND, note=f"{size} bytes, top 100 units and other"),
        of_runs(f"agent.rss_mib.{units}", [peak_rss_mib()], "MiB", COMMAND, note="peak, simulated engine included"),
    ]


def _cycles(watch: Watch, clock: VirtualClock) -> tuple[list[float], list[float]]:
    cpu, wall = [], []
    for _ in range(CYCLES):
        clock.sleep(60.0)
        started, used = time.perf_counter(), time.process_time()
        watch.sample()
        wall.append(time.perf_counter() - started)
        cpu.append(time.process_time() - used)
    return cpu[2:], wall[2:]  # the first reads the catalog, the second has the first demand


def _scrapes(watch: Watch) -> tuple[list[float], int]:
    registry = CollectorRegistry()
    registry.register(AgentCollector(lambda: [watch.snapshot], top_units=100))
    server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
    server.start()
    try:
        sizes: list[int] = []

        def scrape() -> None:
            with urllib.request.urlopen(server.url, timeout=30) as answer:
                sizes.append(len(answer.read()))

        return [1000 * seconds for seconds in timed(scrape, SCRAPES)], sizes[-1]
    finally:
        server.stop()


def measurements() -> list[Measurement]:
    """The figures, from a fresh process."""
    return in_process("tests.bench.cost.agent_cost", "--inside")


if __name__ == "__main__":
    print(json.dumps(inside() if "--inside" in sys.argv else measurements()))
