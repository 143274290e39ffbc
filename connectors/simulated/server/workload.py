"""How fast the sessions get on with a given placement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import numpy as np

from connectors.model import F64
from connectors.simulated.server.buffer_pool import hit_ratios
from connectors.simulated.server.devices import with_background
from connectors.simulated.server.placement import Placement, Running
from connectors.simulated.server.scenarios import Scenario
from connectors.simulated.server.units import COUNTERS, Units

COPY_SHARE = 0.5  # of a device that a running copy takes


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Per second of virtual time; the names are those of ``Sample.database``."""

    transactions: float
    reads: float
    read_seconds: float
    write_seconds: float
    active_seconds: float
    population_seconds: float
    processor_seconds: float
    processors_seconds: float

    def plain(self) -> dict[str, float]:
        """By name."""
        return asdict(self)


def pages_per_transaction(units: Units, pool_bytes: float) -> F64:
    """What one transaction adds to each counter of each unit, shape ``(len(COUNTERS), n)``, rows as in COUNTERS."""
    # Scans take no part in it: they go past the buffer pool (UnitSpec), and would else evict what lookups keep there.
    misses = units.random_reads * (1.0 - hit_ratios(units.random_reads, units.working_bytes, pool_bytes))
    logical = units.random_reads + units.sequential_reads
    return np.vstack([logical, misses, units.sequential_reads, units.writes])


def copy_seconds(placement: Placement, move: Running) -> float:
    """Virtual seconds the copy takes: that of the slower device of the two, at the share that the copy gets."""
    sources = {int(placement.units.space[row]) for row in move.rows}
    devices = [placement.spaces[row].device for row in sources | {move.to_space}]
    return move.total_bytes / (COPY_SHARE * min(device.bytes_per_second for device in devices))


class Workload:
    """The sessions of a scenario, running against a placement."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.devices = tuple({space.device.name: space.device for space in scenario.spaces}.values())
        at = {device.name: row for row, device in enumerate(self.devices)}
        self._device_of_space = np.array([at[space.device.name] for space in scenario.spaces], dtype=np.int64)

    def rates(self, placement: Placement, pages: F64) -> Rates:
        """Throughput and waits while nothing changes."""
        scenario = self.scenario
        if self._is_blocked(placement.running.values(), pages):
            stuck = float(scenario.sessions)
            return self._rates(0.0, reads=0.0, read_seconds=0.0, active_seconds=stuck)
        demand, background, reads = self._demands(placement, pages)
        throughput, residence = with_background(
            np.append(demand, scenario.cpu_seconds),
            np.append(background, 0.0),
            np.append(self._copy_share(placement), 0.0),
            np.array([*(device.channels for device in self.devices), scenario.cores], dtype=np.float64),
            scenario.sessions,
            scenario.think_seconds + scenario.commit_seconds,
        )
        return self._rates(
            throughput,
            reads=throughput * reads,
            read_seconds=throughput * float(residence[:-1].sum()),
            active_seconds=throughput * (float(residence.sum()) + scenario.commit_seconds),
        )

    def _rates(self, throughput: float, *, reads: float, read_seconds: float, active_seconds: float) -> Rates:
        """With what follows from the scenario and the throughput alone."""
        scenario = self.scenario
        return Rates(
            transactions=throughput,
            reads=reads,
            read_seconds=read_seconds,
            write_seconds=throughput * scenario.commit_seconds,
            active_seconds=active_seconds,
            population_seconds=float(scenario.sessions),
            processor_seconds=throughput * scenario.cpu_seconds,
            processors_seconds=float(scenario.cores),
        )

    def _demands(self, placement: Placement, pages: F64) -> tuple[F64, F64, float]:
        """Foreground and background seconds of each device per transaction, and pages read."""
        units = placement.units
        home = self._device_of_space[units.space]
        _, sync, ahead, writes = (
            np.bincount(home, weights=np.where(units.alive, row, 0.0), minlength=len(self.devices)) for row in pages
        )
        random_seconds = np.array([device.random_seconds for device in self.devices])
        sequential_seconds = np.array([device.sequential_seconds for device in self.devices])
        write_seconds = np.array([device.write_seconds for device in self.devices])
        demand = sync * random_seconds + ahead * sequential_seconds
        return demand, writes * write_seconds, float(sync.sum() + ahead.sum())

    def _copy_share(self, placement: Placement) -> F64:
        """Share of each device that copies take."""
        taken = np.zeros(len(self.devices))
        for move in placement.running.values():
            if move.paused:
                continue
            spaces = {int(placement.units.space[row]) for row in move.rows} | {move.to_space}
            taken[list({int(self._device_of_space[space]) for space in spaces})] = COPY_SHARE
        return taken

    @staticmethod
    def _is_blocked(running: Iterable[Running], pages: F64) -> bool:
        """Whether an offline move locks out a unit that the transactions need: then all sessions queue behind it."""
        needed = (COUNTERS.index("logical_reads"), COUNTERS.index("async_writes"))
        return any(not move.online and bool(pages[np.ix_(needed, move.rows)].any()) for move in running)
