"""The contract's harness over the emulated server: one for each ODBC driver."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from agent.model.clock import SystemClock
from agent.studies.prove.script import Script, script_of
from connectors.kit.contract import Connector, ConnectorError, Mover, StatementFailed
from connectors.kit.proving import ProofSession, Scratch
from connectors.kit.settings import SecretSource
from connectors.model.moves import Route, Step
from tests.contract.asking import route_to
from tests.contract.harness import Ability, EngineHarness, HarnessFactory, PlayTable
from tests.labs.silence import Address, SilentWay
from tests.labs.sqlserver.instance import Account, Connected
from tests.labs.sqlserver.lab import Lab, running_lab, wait_until
from tests.labs.sqlserver.objects import Table
from tests.labs.sqlserver.world import FAST, MOVER, PROVER, READER, SLOW, add_scratch, add_table
from tests.labs.tds.certificate import make_certificate
from tests.labs.tds.drivers import OdbcDriver, drivers

if TYPE_CHECKING:
    from connectors.sqlserver.settings import SqlserverSettings

_NUMBERS = count(1)
QUICK_CASES = frozenset({"columnstore_index", "large_objects", "names"})  # `python -m tests.prove` carries out all


def quoted(name: str) -> str:
    """As QUOTENAME does."""
    return "[" + name.replace("]", "]]") + "]"


class SqlserverHarness:
    """An emulated server as the contract wants it."""

    refusals: tuple[type[Exception], ...] = (StatementFailed,)
    secret = "wr0ng;and{s3cret"
    source_space = SLOW
    target_space = FAST
    cannot: Mapping[Ability, str] = {}

    def __init__(self, lab: Lab, driver: OdbcDriver, folder: Path) -> None:
        self.name = f"sqlserver emulated server, {driver.name}"
        if driver != next(each for each in drivers() if not each.missing):
            why = "statements are not the driver's matter: another one has carried them out"
            self.cannot = {Ability.CASES: why, Ability.WEIRD_NAMES: f"{why}; tests/sqlserver/test_ways has its escapes"}
        self.clock = SystemClock()
        self._lab = lab
        self._driver = driver
        self._folder = folder
        self._tables: dict[str, Table] = {}

    def settings(self, account: Account, password: str = "", **other: Any) -> SqlserverSettings:
        """Connection settings of that account."""
        from connectors.sqlserver.settings import SqlserverSettings

        place = self._folder / f"password{next(_NUMBERS)}"
        place.write_text(password or account.password)
        usual: dict[str, Any] = {
            "host": "127.0.0.1", "port": self._lab.server.port, "database": self._lab.shop.name, "user": account.name,
            "password": SecretSource(file=place), "driver": self._driver.path, "encrypt": "yes",
            "trust_server_certificate": True,  # it has signed itself
            "connect_timeout": 5, "lob_moves": True, "resumable": "indexes",
        }  # fmt: skip
        return SqlserverSettings(**{**usual, **other})

    def _connector(self, settings: SqlserverSettings) -> Connector:
        from connectors.sqlserver.connector import SqlserverConnector

        return SqlserverConnector(settings, self.clock)

    def connect(self) -> Connector:
        """As a login that may alter tables; the emulated server has no other DBA's right to need."""
        return self._connector(self.settings(MOVER))

    @property
    def server_address(self) -> Address:
        """Its port."""
        return "127.0.0.1", self._lab.server.port

    def connect_through(self, way: SilentWay) -> Connector:
        """As a login that may alter tables."""
        limits: dict[str, Any] = dict.fromkeys(("connect_timeout", "statement_timeout", "move_timeout"), 1.0)
        return self._connector(self.settings(MOVER, port=way.port, **limits))

    def refused_connect(self) -> Connector:
        """With another password."""
        connector = self._connector(self.settings(MOVER, self.secret))
        connector.identify()
        return connector

    def restricted_connect(self) -> Connector:
        """As a login that may look at everything and alter nothing."""
        return self._connector(self.settings(READER))

    def create(self, name: str, *, lob: bool = False) -> PlayTable:
        """62 MiB of rows under a clustered primary key, and an index of 8 MiB."""
        table = add_table(self._lab.shop, name, lob_pages=512 if lob else 0)
        table.indexes[2].name = f"i{next(_NUMBERS)}"
        self._tables[name] = table
        key = f"[dbo].{quoted(name)}"
        return PlayTable(
            name=name, key=key, index_key=f"{key}.[{table.indexes[2].name}]", lob_key=f"{key} lob" if lob else None
        )

    def drop(self, table: PlayTable) -> None:
        """With its pages."""
        gone = self._tables.pop(table.name, None)
        if gone is None:
            return
        with self._lab.instance.lock:
            del self._lab.shop.tables[gone.object_id]
            for index in gone.indexes.values():
                for partition in index.partitions:
                    for unit in partition.units.values():
                        self._lab.shop.storage.free(unit)

    @contextmanager
    def scratch(self) -> Iterator[tuple[Script, ProofSession]]:
        """A schema, and a session of its owner."""
        from connectors.sqlserver.engine import ENGINE

        assert ENGINE.proof is not None
        add_scratch(self._lab.shop)
        session = ENGINE.proof.open_session(self.settings(PROVER), self.clock)
        whole = script_of(ENGINE.proof, Scratch(schema="scratch", slow=SLOW, fast=FAST))
        script = replace(whole, cases=tuple(case for case in whole.cases if case.name in QUICK_CASES))
        try:
            yield script, session
        finally:
            for statement in (each for case in script.cases for each in case.part("drop")):
                with suppress(ConnectorError):
                    session.run(statement.sql)
            session.close()
            self._lab.shop.schemas.remove("scratch")

    def read_randomly(self, table: PlayTable, reads: int) -> None:
        """Each look-up waits for a page of the table."""
        base = self._tables[table.name].base
        self._lab.instance.read_randomly(self._lab.shop, base.partitions[0], reads)

    def scan(self, table: PlayTable) -> None:
        """From the first page to the last, read ahead."""
        base = self._tables[table.name].base
        self._lab.instance.scan(self._lab.shop, base.partitions[0])

    def commit(self, transactions: int) -> None:
        """Of one session."""
        self._lab.instance.commit(self._lab.shop, transactions)

    def spill(self) -> None:
        """8 MB into tempdb."""
        self._lab.instance.spill(1024)

    def reset_counters(self) -> None:
        """As a restart of the service does."""
        self._lab.instance.restart()

    def hold_lock(self, table: PlayTable) -> AbstractContextManager[None]:
        """An open transaction that has written all of it."""
        return self._lab.held(self._tables[table.name])

    def target_full(self) -> AbstractContextManager[None]:
        """No free page in the target's file, and it may not grow."""
        return self._lab.full(FAST)

    def execute_interrupted(self, mover: Mover, step: Step) -> None:
        """Cancel it while it copies."""
        self._execute_disturbed(mover, step, lambda _: mover.interrupt())

    def pausable_route(self, connector: Connector, table: PlayTable) -> Route:
        """The index of the table, built beside the old one."""
        return route_to(connector, table.index_key, self.target_space)

    def execute_paused(self, mover: Mover, step: Step) -> None:
        """Pause it while it copies."""
        self._execute_disturbed(mover, step, lambda _: wait_until(mover.pause, "the build is held"))

    def execute_broken(self, mover: Mover, step: Step) -> None:
        """End its session while it copies."""
        self._execute_disturbed(mover, step, lambda session: session.cut.set())

    def _execute_disturbed(self, mover: Mover, step: Step, disturb: Callable[[Connected], None]) -> None:
        disturber = threading.Thread(target=lambda: disturb(self._lab.running(step.sql)))
        with self._lab.slow():
            disturber.start()
            try:
                mover.execute(step)
            finally:
                disturber.join()

    def write_while_reading(self, connector: Connector, table: PlayTable) -> None:
        """Over the connector's own session, which sends nothing but the connector's queries."""
        session: Any = connector._session  # type: ignore[attr-defined]  # looks inside
        session.rows(f"DROP TABLE [dbo].{quoted(table.name)}", doing="writing")


def _encrypted_lab(folder: Path) -> AbstractContextManager[Lab]:
    """As production is: everything in TLS."""
    return running_lab(certificate=make_certificate(folder))


@contextmanager
def running_harness(driver: OdbcDriver) -> Iterator[EngineHarness]:
    """The contract's harness over a server of its own."""
    if driver.missing:
        pytest.skip(driver.missing)
    with TemporaryDirectory() as folder, _encrypted_lab(Path(folder)) as lab:
        add_table(lab.shop, "standing", pages=8)  # so that there is always something that a login may not alter
        yield SqlserverHarness(lab, driver, Path(folder))


def contract_harnesses() -> dict[str, HarnessFactory]:
    """One for each driver. Starts nothing."""
    return {
        f"sqlserver emulated server, {driver.name}": lambda driver=driver: running_harness(driver)  # type: ignore[misc]  # a default binds the loop's value
        for driver in drivers()
    }
