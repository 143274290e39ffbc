"""Ctrl-C while a database is being connected to that does not answer."""

from __future__ import annotations

import signal
import socket
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.site import Site, finish
from tests.labs.tds.drivers import OdbcDriver, drivers

PATIENCE = "1min"  # that every connection is given
AT_ONCE_SECONDS = 20.0  # well below it, and more than a busy machine takes to end a process
FREETDS, MICROSOFT = drivers()


def database(engine: str, folder: Path, **connection: Any) -> dict[str, Any]:
    """A database of that engine on this machine."""
    secret = folder / "secret"
    secret.write_text("x")
    return {
        "name": "shop",
        "engine": engine,
        "connection": {
            "host": "127.0.0.1",
            "user": "somebody",
            "password": {"file": str(secret)},
            "connect_timeout": PATIENCE,
            **connection,
        },
        "tiers": [{"name": "ssd", "spaces": ["fast"]}, {"name": "hdd", "spaces": ["slow"]}],
    }


def over(driver: OdbcDriver) -> Any:
    """A case of SQL Server through one driver."""
    return pytest.param(
        "sqlserver",
        {"database": "shop", "driver": driver.path, "encrypt": "no"},
        id=f"sqlserver, {driver.name}",
        marks=pytest.mark.skipif(bool(driver.missing), reason=driver.missing),
    )


@pytest.mark.parametrize(
    ("engine", "named"),
    [
        pytest.param("postgresql", {"dbname": "shop"}, id="postgresql"),
        pytest.param("oracle", {"service": "shop"}, id="oracle"),
        pytest.param("db2", {"dbname": "shop"}, id="db2"),
        over(FREETDS),
        over(MICROSOFT),
    ],
)
def test_one_interrupt_gives_up_connecting(engine: str, named: dict[str, str], tmp_path: Path) -> None:
    """The server takes the connection and says nothing: the command ends at once with 130, not after its patience."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(AT_ONCE_SECONDS)
        site = Site(tmp_path, database(engine, tmp_path, port=silent.getsockname()[1], **named))
        process = site.start("run", "--once")
        try:
            connection, _ = silent.accept()
        except TimeoutError:
            pytest.fail(f"it did not connect: {finish(process)}")
        with connection:
            time.sleep(0.3)  # the driver says hello, and waits
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            done = finish(process)
    assert (done.code, done.err.splitlines()[-1]) == (130, "error: interrupted"), done
    assert time.monotonic() - began < AT_ONCE_SECONDS
