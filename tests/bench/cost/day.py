"""A day in the life: 24 simulated hours of the whole agent over 100,000 units. Memory and processor time stay flat.

Each minute a sample with its verification and status, each hour a plan, its proposal approved and carried out, the
history folded; a scrape every five minutes. What the first hours need to warm up is no leak, so the second half of the
day is compared with the quarter before it.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client import CollectorRegistry

from agent.ledger.ledger import Ledger
from agent.ledger.state_names import STATUS
from agent.model.states import ProposalState
from agent.service.httpd import MetricsServer
from agent.service.metrics import AgentCollector
from agent.service.process import return_large_blocks
from agent.service.snapshot import status_document
from agent.service.watch import Watch
from tests.bench.cost.agent_cost import UNITS, configuration
from tests.bench.cost.processes import open_files, rss_mib
from tests.bench.measurement import Measurement, of_runs, peak_rss_mib
from tests.virtual_clock import VirtualClock

COMMAND = "python -m tests.bench.cost.day"
HOURS, QUICK_HOURS = 24, 4
QUICK_UNITS = 10_000
SCRAPE_EVERY_MINUTES = 5


@dataclass(slots=True)
class Day:
    """What was seen, one value an hour."""

    rss_mib: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    files: list[int] = field(default_factory=list)
    moves: int = 0


class Life:
    """One agent over one simulated database, with its metrics served."""

    def __init__(self, folder: Path, units: int) -> None:
        self._clock = VirtualClock()
        config = configuration(folder, units)
        self._ledger = Ledger.open(config.ledger.path, self._clock)
        self._watch = Watch(config.database(), self._ledger, self._clock, level=config.level, dry_run=False)
        registry = CollectorRegistry()
        registry.register(AgentCollector(lambda: [self._watch.snapshot], top_units=100, now=self._clock.now))
        self._server = MetricsServer(registry, lambda: (True, "ready"), listen="127.0.0.1", port=0)
        self._server.start()

    def hour(self) -> int:
        """Sixty samples, then what happens once an hour; how many moves ended."""
        for minute in range(60):
            self._clock.sleep(60.0)
            self._sample()
            if minute % SCRAPE_EVERY_MINUTES == 0:
                with urllib.request.urlopen(self._server.url, timeout=30) as page:
                    page.read()
        planning = self._watch.plan()
        if planning is not None:
            self._watch.propose(planning)
        self._approve()
        ended = self._watch.act()
        self._ledger.history.fold(self._clock.now())
        return len(ended)

    def _sample(self) -> None:
        self._watch.sample()
        self._watch.count_proposals()
        self._watch.verify()
        document = status_document(self._watch.snapshot, self._clock.now(), os.getpid())
        self._ledger.state.save_document(self._watch.database.name, STATUS, document)

    def _approve(self) -> None:
        for stored in self._ledger.proposals.rows(states=[ProposalState.PROPOSED]):
            self._ledger.proposals.approve(stored.id, who="bench", origin="bench", digest=stored.digest)

    def end(self) -> None:
        """Close everything."""
        self._server.stop()
        self._watch.close()
        self._ledger.close()


def live(units: int, hours: int) -> Day:
    """So many hours with so many units."""
    return_large_blocks()  # as `hotplace run` does
    day, me = Day(), os.getpid()
    with tempfile.TemporaryDirectory() as name:
        life = Life(Path(name), units)
        try:
            for _ in range(hours):
                used = time.process_time()
                day.moves += life.hour()
                day.cpu_seconds.append(time.process_time() - used)
                day.rss_mib.append(rss_mib(me))
                day.files.append(open_files(me))
        finally:
            life.end()
    return day


def measurements(*, quick: bool = False) -> list[Measurement]:
    """How flat the day was; quick: four hours of 10,000 units."""
    units, hours = (QUICK_UNITS, QUICK_HOURS) if quick else (UNITS, HOURS)
    day = live(units, hours)
    about = f"{hours} simulated hours, {units:,} units, {day.moves} moves, simulated engine included"
    return [
        of_runs("agent.day.rss_mib", day.rss_mib, "MiB", COMMAND, note=f"each hour; {about}"),
        of_runs("agent.day.peak_rss_mib", [peak_rss_mib()], "MiB", COMMAND, note=about),
        of_runs("agent.day.cpu_seconds_per_hour", day.cpu_seconds, "s", COMMAND, note=about),
        of_runs("agent.day.open_files", [float(count) for count in day.files], "files", COMMAND, note=about),
        _growth("agent.day.rss_growth", day.rss_mib, about),
        _growth("agent.day.cpu_growth", day.cpu_seconds, about),
    ]


def _growth(name: str, values: list[float], about: str) -> Measurement:
    """Median of the second half over that of the quarter before it."""
    half = len(values) // 2
    ratio = statistics.median(values[half:]) / statistics.median(values[half // 2 : half])
    note = f"second half of the time over the quarter before it; {about}"
    return Measurement(name=name, value=ratio, unit="times", better="lower", command=COMMAND, note=note)


if __name__ == "__main__":
    print(json.dumps(measurements(quick="--quick" in sys.argv), indent=2))
