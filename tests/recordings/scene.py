"""A database of a lab or of PostgreSQL that is recorded while it is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agent.config.models import DatabaseConfig
from agent.model.clock import SystemClock
from agent.studies.recordings import Recorded, head_of, record
from connectors.kit.recorded_columns import Names
from tests.contract.harness import EngineHarness, PlayTable
from tests.labs.postgresql import PostgresqlHarness

READS = 100
POLICY = {  # decides at once, and whatever the gain
    "minimum_history": "0s", "minimum_gain": "0s", "regret": 0, "payback": "3000d", "horizon": "3000d", "slow_down": 0,
}  # fmt: skip
QUICK = {"name": "ssd", "random_read": "1us", "sequential_read": "0.1us", "write": "1us"}  # even next to page cache


class BusyClock(SystemClock):
    """Whoever waits by it works meanwhile."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.work = work

    def sleep(self, seconds: float) -> None:
        """Do the work, then wait."""
        self.work()
        super().sleep(seconds)


class Scene:
    """A database that is recorded under load."""

    def __init__(self, harness: EngineHarness, connector: Any, table: PlayTable) -> None:
        engine, settings = connector.identify().engine, connector._settings
        given = {name: getattr(settings, name) for name in settings.model_fields_set}
        self.entry = {
            "name": "shop", "engine": engine, "sample_every": "50ms", "plan_every": "1d", "policy": POLICY,
            "connection": {name: f"{v:g}s" if "timeout" in name else v for name, v in given.items()},
            "tiers": [
                {**QUICK, "spaces": [{"name": harness.target_space, "capacity": "1 GiB"}]},
                {"name": "hdd", "spaces": [harness.source_space]},
            ],
        }  # fmt: skip
        self.database = DatabaseConfig.model_validate({**self.entry, "connection": settings})
        self.clock = BusyClock(lambda: harness.read_randomly(table, READS))

    def record(self, path: Path, names: Names, seconds: float = 0.05) -> Recorded:
        """Two samples or more, and a plan."""
        head = head_of(self.entry, names)
        return record(self.database, head, path, names, self.clock, seconds=seconds)


@contextmanager
def scene_of(harness: EngineHarness, connector: Any, table: PlayTable) -> Iterator[Scene]:
    """A table that is read while it is recorded; what the disk answers is the same everywhere."""
    if not isinstance(harness, PostgresqlHarness):
        yield Scene(harness, connector, table)
        return
    # Its disk is the memory of this machine. Unless it is timed, the speeds that the configuration says count.
    timing = f"ALTER DATABASE {harness._dbname} {{}} track_io_timing"
    harness._dba.execute(f"{timing.format('SET')} = off")
    try:
        yield Scene(harness, connector, table)
    finally:
        harness._dba.execute(timing.format("RESET"))
