"""Getting in, being kept out, and staying in."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from agent.model.clock import SystemClock
from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    DriverMissing,
    PrivilegeMissing,
    Retry,
    StatementFailed,
    TimedOut,
)
from connectors.kit.registry import find_engine, install_command
from connectors.kit.settings import SecretSource, parse_duration
from connectors.postgresql.engine import ENGINE
from connectors.postgresql.settings import PostgresqlSettings
from tests.labs.postgresql import PASSWORD, WRONG_PASSWORD, Cluster, wait_until


def secret(tmp_path: Path, text: str) -> SecretSource:
    """A password file."""
    place = tmp_path / "password"
    place.write_text(text)
    return SecretSource(file=place)


def refused(cluster: Cluster, **settings: Any) -> CannotConnect:
    """The error of a connection that does not come about."""
    connector = cluster.connector(**settings)
    with pytest.raises(CannotConnect) as caught:
        connector.identify()
    connector.close()
    return caught.value


def test_the_right_password(cluster: Cluster, tmp_path: Path) -> None:
    """SCRAM with the password from a file lets us in."""
    connector = cluster.connector(user="guarded", password=secret(tmp_path, PASSWORD))
    assert connector.identify().database == "postgres"
    connector.close()


def test_a_wrong_password(cluster: Cluster, tmp_path: Path) -> None:
    """Refused by SQLSTATE 28P01, for good, with advice, and the password is nowhere."""
    settings = cluster.settings(user="guarded", password=secret(tmp_path, WRONG_PASSWORD))
    error = refused(cluster, user="guarded", password=secret(tmp_path, WRONG_PASSWORD))
    assert isinstance(error, AuthenticationFailed)
    assert (error.native_code, error.retry) == ("28P01", Retry.NEVER)
    assert error.advice
    assert WRONG_PASSWORD not in f"{error}{error!r}{error.__context__!r}{settings!r}{settings.where()}"


def test_no_password_at_all(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A server that wants one and gets none is an authentication failure too."""
    monkeypatch.setenv("PGPASSFILE", str(tmp_path / "none"))
    monkeypatch.delenv("PGPASSWORD", raising=False)
    assert isinstance(refused(cluster, user="guarded"), AuthenticationFailed)


def test_a_user_nobody_knows(cluster: Cluster) -> None:
    """An unknown role is refused by SQLSTATE 28000."""
    error = refused(cluster, user="stranger")
    assert isinstance(error, AuthenticationFailed)
    assert error.native_code == "28000"


def test_a_database_that_is_not_there(cluster: Cluster) -> None:
    """The server's own state tells a missing database from a wrong password."""
    error = refused(cluster, dbname="nowhere")
    assert not isinstance(error, AuthenticationFailed)
    assert (error.native_code, error.retry) == ("3D000", Retry.LATER)


def test_a_port_where_nobody_listens() -> None:
    """Nobody there: try again later, and where was it?"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    connector = ENGINE.connect(PostgresqlSettings(host="127.0.0.1", port=port, dbname="d", user="u"), SystemClock())
    with pytest.raises(CannotConnect, match=f"u@127.0.0.1:{port}/d") as caught:
        connector.identify()
    assert (caught.value.native_code, caught.value.retry) == ("", Retry.LATER)


def test_a_server_that_never_answers() -> None:
    """Somebody accepts and says nothing: the time-out ends it."""
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1]
        settings = PostgresqlSettings.model_validate(
            {"host": "127.0.0.1", "port": port, "dbname": "d", "user": "u", "connect_timeout": "2s"}
        )
        with pytest.raises(CannotConnect):
            ENGINE.connect(settings, SystemClock()).identify()


def test_an_idle_session_that_died_is_replaced(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """A backend that somebody ended between two samples costs nothing but a new connection."""
    connector = cluster.connector(dbname)
    cleanup.callback(connector.close)
    connector.sample()
    with cluster.session() as dba:
        ended = dba.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (dbname,)
        ).fetchall()
    assert ended == [(True,)]
    connector.sample()


def test_a_reading_session_says_who_it_is_and_cannot_write(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Every session has its name, limits, and a read-only default; statistics are not copied into the backend."""
    connector = cluster.connector(dbname, statement_timeout="7s", lock_timeout="300ms")
    cleanup.callback(connector.close)
    names = ("application_name", "default_transaction_read_only", "statement_timeout", "lock_timeout")
    shown = [connector._session.rows(f"SHOW {name}".encode(), doing="looking")[0][0] for name in names]
    assert shown == ["hotplace", "on", "7s", "300ms"]
    with pytest.raises(StatementFailed) as caught:
        connector._session.rows(b"CREATE TABLE no (id int)", doing="writing")
    assert caught.value.native_code == "25006"
    if cluster.major >= 15:
        assert connector._session.rows(b"SHOW stats_fetch_consistency", doing="looking") == [("none",)]


def test_reading_ends_at_its_limit(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """A query that takes too long is a time-out, and the session goes on."""
    connector = cluster.connector(dbname, statement_timeout="1s")
    cleanup.callback(connector.close)
    with pytest.raises(TimedOut):
        connector._session.rows(b"SELECT pg_sleep(5)", doing="sleeping")
    connector.sample()


def test_an_interrupt_cancels_what_is_read(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """Ctrl-C in the middle of a query that would take an hour: the server stops it, and the session goes on."""
    connector = cluster.connector(dbname, statement_timeout="1h")
    cleanup.callback(connector.close)
    connector.identify()
    watcher = cleanup.enter_context(closing(cluster.session()))
    watcher.autocommit = True

    def sleeping() -> bool:
        found = watcher.execute("SELECT state FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(36%'").fetchall()
        return ("active",) in found

    def interrupt() -> None:
        wait_until(sleeping, "it sleeps")
        os.kill(os.getpid(), signal.SIGINT)

    person = threading.Thread(target=interrupt)
    person.start()
    with pytest.raises(KeyboardInterrupt):
        connector._session.rows(b"SELECT pg_sleep(3600)", doing="sleeping")
    person.join()
    assert not sleeping()
    connector.sample()


def test_a_missing_privilege_has_its_own_error(cluster: Cluster, dbname: str, cleanup: ExitStack) -> None:
    """SQLSTATE 42501."""
    connector = cluster.connector(dbname, user="looker")
    cleanup.callback(connector.close)
    with pytest.raises(PrivilegeMissing):
        connector._session.rows(b"SELECT rolpassword FROM pg_authid", doing="peeping")


def test_every_session_ends_with_its_connector(cluster: Cluster, dbname: str) -> None:
    """Nothing stays connected after close()."""
    connector = cluster.connector(dbname)
    connector.sample()
    connector.acquire_lease("me").release()
    with connector.open_mover():
        pass
    connector.close()
    with pytest.raises(ConnectorError):
        connector.identify()
    with cluster.session() as dba:
        left = dba.execute("SELECT application_name FROM pg_stat_activity WHERE datname = %s", (dbname,))
        for _ in range(200):
            if not left.fetchall():
                return
            left = dba.execute("SELECT application_name FROM pg_stat_activity WHERE datname = %s", (dbname,))
    raise AssertionError("a session stayed behind")


@pytest.mark.parametrize(
    ("text", "seconds"), [("500ms", 0.5), ("30s", 30), ("5min", 300), ("4h", 14400), ("1.5 s", 1.5)]
)
def test_durations(text: str, seconds: float) -> None:
    """Durations read as people write them."""
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("wrong", [{"lock_timeout": "soon"}, {"lock_timeout": 0}, {"lock_timeot": 1}, {"port": 0}])
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    """No limit of zero, no unknown key, no port zero."""
    with pytest.raises(ValidationError):
        PostgresqlSettings.model_validate({"dbname": "d", "user": "u", **wrong})


def test_the_sample_settings_are_valid() -> None:
    """What `hotplace init` writes is accepted as it stands."""
    settings = PostgresqlSettings(**yaml.safe_load(ENGINE.sample_settings))
    assert settings.lock_timeout == 0.5
    assert find_engine("postgresql") is ENGINE


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without psycopg the settings still validate, and connecting says what to install."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DriverMissing) as caught:
        ENGINE.connect(PostgresqlSettings(dbname="d", user="u"), SystemClock())
    assert caught.value.advice == f"Run: {install_command('postgresql')}"
