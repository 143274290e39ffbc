"""The simulated engine, as the contract wants it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import cast

from connectors.kit.contract import Connector, Mover, StatementFailed
from connectors.model.moves import Route, Step, UnitKind
from connectors.simulated.connector import SimulatedConnector
from connectors.simulated.language import qualify, quote
from connectors.simulated.scenarios import UnitSpec
from connectors.simulated.settings import FaultKind, SimulatedSettings
from connectors.simulated.world import World
from tests.contract.asking import route_to
from tests.contract.harness import Ability, EngineHarness, HarnessFactory, PlayTable
from tests.virtual_clock import VirtualClock

TABLE_BYTES = 200_000_000
PAGE_BYTES = 8192

WITHOUT: Mapping[Ability, str] = {
    Ability.PASSWORD: "its logins have none",
    Ability.SPILL: "it has no sort space",
    Ability.SLOW_LOG: "its log is quick",
    Ability.SILENCE: "no network leads to it",
}
NEVER: Mapping[str, Mapping[Ability, str]] = {"simulated": WITHOUT}


class SimulatedHarness:
    """One world in memory, on a clock that moves when somebody sleeps."""

    name = "simulated"
    refusals: tuple[type[Exception], ...] = (StatementFailed,)
    secret = ""
    source_space = "hdd"
    target_space = "ssd"
    cannot: Mapping[Ability, str] = WITHOUT

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.world = World(SimulatedSettings(scenario="oltp"), self.clock)

    def connect(self) -> Connector:
        """A connector that may do everything."""
        return SimulatedConnector(self.world)

    def refused_connect(self) -> Connector:
        """There are no passwords here."""
        raise NotImplementedError(self.cannot[Ability.PASSWORD])

    def restricted_connect(self) -> Connector:
        """One that may look only."""
        return SimulatedConnector(self.world, may_move=False)

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """A table without a workload of its own."""
        key, index_key = qualify("play", name), qualify("play", f"{name}_pkey")
        lob_key = f"{key} LOB {quote('body')}" if lob else None
        specs = [
            UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=TABLE_BYTES, space="hdd"),
            UnitSpec(key=index_key, kind=UnitKind.INDEX, size_bytes=TABLE_BYTES // 10, space="hdd", parent=key),
        ]
        if lob_key:
            specs.append(
                UnitSpec(
                    key=lob_key, kind=UnitKind.LOB, size_bytes=TABLE_BYTES, space="hdd", parent=key, with_parent=True
                )
            )
        with self.world.turn():
            self.world.create(specs)
        return PlayTable(name=name, key=key, index_key=index_key, lob_key=lob_key)

    def drop(self, table: PlayTable) -> None:
        """With all that belongs to it."""
        with self.world.turn():
            self.world.drop(table.key)

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """One page of the index and one of the table for each row."""
        with self.world.turn():
            self.world.touch(table.key, random_pages=reads)
            self.world.touch(table.index_key, random_pages=reads)
        self.clock.sleep(1.0)

    def scan(self, table: PlayTable) -> None:
        """Every page once, read ahead."""
        with self.world.turn():
            self.world.touch(table.key, scanned_pages=TABLE_BYTES // PAGE_BYTES)
        self.clock.sleep(1.0)

    def commit(self, transactions: int) -> None:
        """As many as the sessions of the world make meanwhile."""
        self.clock.sleep(transactions / self.world.rates().transactions)

    def spill(self) -> None:
        """It has no sort space."""
        raise NotImplementedError(self.cannot[Ability.SPILL])

    def reset_counters(self) -> None:
        """As a DBA would."""
        with self.world.turn():
            self.world.reset_counters()

    def hold_lock(self, table: PlayTable) -> AbstractContextManager[None]:
        """A session that uses the table."""
        return self.world.lock(table.key)

    @contextmanager
    def target_full(self) -> Iterator[None]:
        """Somebody fills the target to the last byte, and clears it again."""
        key = qualify("play", "filler")
        with self.world.turn():
            free = int(self.world.placement.free_bytes()[self.world.placement.space_row(self.target_space)])
            spec = UnitSpec(key=key, kind=UnitKind.TABLE, size_bytes=free, space=self.target_space)
            self.world.create([spec])
        try:
            yield
        finally:
            with self.world.turn():
                self.world.drop(key)

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """The clock interrupts after a tenth of a second, in mid-copy."""
        self.clock.call_later(0.1, mover.interrupt)
        mover.execute(step)

    def execute_paused(self, mover: Mover, step: Step) -> None:
        """The clock holds it after a tenth of a second, in mid-copy."""
        self.clock.call_later(0.1, lambda: _held(mover))
        mover.execute(step)

    def pausable_route(self, connector: Connector, table: PlayTable) -> Route:
        """The online one, which is the kindest."""
        return route_to(connector, table.key, self.target_space)

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """The session breaks in mid-copy."""
        self.world.faults.arm(FaultKind.BROKEN_BEFORE)
        mover.execute(step)

    def write_while_reading(self, connector: Connector, table: PlayTable) -> None:
        """Send a move over the session that only reads."""
        session = cast(SimulatedConnector, connector).session
        session.run(f"MOVE TABLE {table.key} TO SPACE {quote(self.target_space)}")


def _held(mover: Mover) -> None:
    assert mover.pause()


def contract_harnesses() -> dict[str, HarnessFactory]:
    """What the contract runs on."""
    return {"simulated": simulated_harness}


@contextmanager
def simulated_harness() -> Iterator[EngineHarness]:
    """A harness with a world of its own."""
    yield SimulatedHarness()
