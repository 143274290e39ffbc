"""Encryption, passwords and time limits over real drivers, against an emulated server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError

from agent.model.clock import SystemClock
from connectors.kit.contract import CannotConnect, StatementFailed
from connectors.kit.settings import SecretSource
from connectors.model.observation import Identity
from connectors.sqlserver.connector import SqlserverConnector
from connectors.sqlserver.settings import SqlserverSettings
from tests.labs.sqlserver.instance import Instance
from tests.labs.sqlserver.session import SqlserverBackend, SqlserverSession
from tests.labs.sqlserver.world import READER, make_instance
from tests.labs.tds.backend import Login
from tests.labs.tds.certificate import make_certificate, tls_context
from tests.labs.tds.drivers import OdbcDriver
from tests.labs.tds.login import Encryption
from tests.labs.tds.server import TdsServer, running_server


@pytest.fixture
def instance() -> Instance:
    """An emulated Enterprise edition of 2022."""
    return make_instance()[0]


@pytest.fixture
def server(instance: Instance, tmp_path: Path) -> Iterator[TdsServer]:
    """It encrypts everything, with a certificate that no authority signed."""
    tls = tls_context(make_certificate(tmp_path))
    with running_server(SqlserverBackend(instance), encryption=Encryption.FULL, tls=tls) as running:
        yield running


def identify(server: TdsServer, driver: OdbcDriver, folder: Path, password: str, **values: object) -> Identity:
    """Who answers."""
    secret = folder / "secret"
    secret.write_text(password)
    given = {
        "host": "127.0.0.1",
        "port": server.port,
        "database": "shop",
        "user": READER.name,
        "password": SecretSource(file=secret),
        "driver": driver.path,
        "connect_timeout": 5,
    }
    connector = SqlserverConnector(SqlserverSettings.model_validate(given | values), SystemClock())
    try:
        return connector.identify()
    finally:
        connector.close()


def test_an_encrypted_session(server: TdsServer, driver: OdbcDriver, tmp_path: Path) -> None:
    """Whoever accepts any certificate is let in, over TLS."""
    found = identify(server, driver, tmp_path, READER.password, trust_server_certificate=True)
    assert found.database == "shop"
    assert found.version_number[0] == 16


def test_a_certificate_that_nobody_signed_is_refused(server: TdsServer, driver: OdbcDriver, tmp_path: Path) -> None:
    """By Microsoft's driver at the door; with FreeTDS, which would not look, when the settings are read."""
    refusal = CannotConnect if driver.microsoft else ValidationError
    with pytest.raises(refusal):
        identify(server, driver, tmp_path, READER.password)


@pytest.mark.parametrize("password", ["a;b", "{x}", "a b=c", "ü表", "a}b"])
def test_awkward_passwords(
    server: TdsServer, instance: Instance, driver: OdbcDriver, tmp_path: Path, password: str
) -> None:
    """Each reaches the server as it is, over either driver."""
    instance.accounts[READER.name] = replace(READER, password=password)
    assert identify(server, driver, tmp_path, password, trust_server_certificate=True).database == "shop"


@pytest.mark.parametrize("wanted", [False, True])
def test_who_is_content_with_a_secondary_says_so(
    instance: Instance, driver: OdbcDriver, tmp_path: Path, wanted: bool
) -> None:
    """The login itself carries the intent, with either driver; otherwise a listener leads to the primary."""
    seen: list[bool] = []

    class Noting(SqlserverBackend):
        def login(self, login: Login, spid: int, cut: threading.Event) -> SqlserverSession:
            seen.append(login.read_only)
            return super().login(login, spid, cut)

    with running_server(Noting(instance)) as server:
        identify(server, driver, tmp_path, READER.password, encrypt="no", read_intent=wanted)
    assert set(seen) == {wanted}


def test_a_closed_port_does_not_keep_us_long(driver: OdbcDriver, server: TdsServer, tmp_path: Path) -> None:
    """Nobody listens on port 1: CannotConnect with what to do next, within the connect timeout of a second."""
    with pytest.raises(CannotConnect) as caught:
        identify(server, driver, tmp_path, "x", trust_server_certificate=True, port=1, connect_timeout=1)
    assert caught.value.advice


def test_a_reading_session_sends_our_queries_only(server: TdsServer, driver: OdbcDriver, tmp_path: Path) -> None:
    """SQL Server has no read-only session, so anything else is refused before it is sent."""
    secret = tmp_path / "secret"
    secret.write_text(READER.password)
    settings = SqlserverSettings(
        host="127.0.0.1",
        port=server.port,
        database="shop",
        user=READER.name,
        password=SecretSource(file=secret),
        driver=driver.path,
        trust_server_certificate=True,
    )
    connector = SqlserverConnector(settings, SystemClock())
    with pytest.raises(StatementFailed):
        connector._session.rows("DROP TABLE [dbo].[orders]", doing="writing")
    connector.close()
