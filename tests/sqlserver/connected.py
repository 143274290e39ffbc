"""A connector of our own over the emulated server, for tests of what servers do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen
from typing import Any

from agent.model.clock import SystemClock
from connectors.kit.contract import Clock
from connectors.kit.settings import SecretSource
from connectors.model.moves import NoRoute, Route
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.cli.site import finish
from tests.contract.asking import bundle_of
from tests.labs.sqlserver.instance import Account
from tests.labs.sqlserver.lab import Lab, wait_until
from tests.labs.sqlserver.world import FAST, MOVER
from tests.labs.tds.drivers import OdbcDriver

Connect = Callable[..., SqlserverConnector]


@contextmanager
def connected(
    lab: Lab, driver: OdbcDriver, folder: Path, account: Account = MOVER, clock: Clock | None = None, **others: Any
) -> Iterator[SqlserverConnector]:
    """As that account, closed at the end; ``others`` are connection settings."""
    secret = folder / f"{account.name}.secret"
    secret.write_text(account.password)
    wanted = SqlserverSettings(
        host="127.0.0.1",
        port=lab.server.port,
        database=lab.shop.name,
        user=account.name,
        password=SecretSource(file=secret),
        driver=driver.path,
        encrypt="no",
        **others,
    )
    found = SqlserverConnector(wanted, clock or SystemClock())
    try:
        yield found
    finally:
        found.close()


def kill_at(lab: Lab, statement: str, start: Callable[[], Popen[str]]) -> None:
    """Kill -9 of the agent that ``start`` starts, while the server is in that statement; it has noticed at the end."""
    with lab.stopped_at(statement):
        agent = start()
        wait_until(lambda: lab.instance.stopped.is_set() or agent.poll() is not None, "it is there")
        assert agent.poll() is None, finish(agent)
        agent.kill()
        finish(agent)
        wait_until(lambda: not lab.instance.sessions, "the server noticed")


def ways(connector: SqlserverConnector, key: str, space: str = FAST) -> tuple[Route, ...] | NoRoute:
    """Of the unit's bundle to that space."""
    return connector.routes(bundle_of(connector.catalog(), key), space)
