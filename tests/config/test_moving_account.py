"""What ``move_connection`` takes over from ``connection``, and what it never does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.config.errors import ConfigError
from agent.config.files import parse
from connectors.kit.registry import engine_names, find_engine
from tests.config.yaml_texts import values, written

WATCHING: dict[str, dict[str, Any]] = {
    "postgresql": {"host": "db1", "port": 6432, "dbname": "shop", "sslmode": "verify-full", "sslrootcert": "/ca.pem"},
    "sqlserver": {"host": "db1", "port": 1533, "database": "shop", "encrypt": "strict", "server_certificate": "/s.pem"},
    "oracle": {"host": "db1", "port": 2484, "service": "shop", "protocol": "tcps", "ssl_server_dn_match": False},
    "db2": {"host": "db1", "port": 50001, "dbname": "SHOP", "security": "SSL", "server_certificate": "/db2.arm"},
}
SERVERS = pytest.mark.parametrize("engine", sorted(WATCHING))
LOGIN = {"user": "watcher", "password": {"env": "WATCHES"}}
OTHER = {"user": "mover", "password": {"env": "MOVES"}}


def moving(engine: str, move_connection: dict[str, Any], **watching: Any) -> Any:
    """Settings of the account that moves, of a configuration with both accounts."""
    plain = values()
    connection = WATCHING.get(engine, {}) | (LOGIN if engine in WATCHING else {}) | watching
    plain["databases"][0] |= {"engine": engine, "connection": connection, "move_connection": move_connection}
    return parse(written(plain), folder=Path("/etc/hotplace")).database().move_connection


@SERVERS
def test_the_account_that_moves_goes_to_the_same_database(engine: str) -> None:
    """Host, port, database and the encryption of the way there, as if written twice; a login of its own."""
    assert moving(engine, OTHER) == moving(engine, {**WATCHING[engine], **OTHER})


@SERVERS
def test_what_it_names_itself_counts(engine: str) -> None:
    """One name of the place does not undo the others."""
    found = moving(engine, {**OTHER, "port": 7777})
    assert (found.host, found.port) == ("db1", 7777)


@SERVERS
def test_another_user_never_gets_the_password(engine: str) -> None:
    """Without a password of its own it has none, or is refused where a user needs one."""
    plain = {"user": "mover"}
    if engine == "sqlserver":
        with pytest.raises(ConfigError, match="give both user and password"):
            moving(engine, plain)
    else:
        assert moving(engine, plain).password is None


@SERVERS
def test_the_same_user_has_the_same_password(engine: str) -> None:
    """As long as it goes to the same server, and names none."""
    assert moving(engine, {"user": "watcher"}).password.env == "WATCHES"
    assert moving(engine, {"user": "watcher", "password": {"env": "MOVES"}}).password.env == "MOVES"
    if engine != "sqlserver":
        assert moving(engine, {"user": "watcher", "host": "elsewhere"}).password is None


@SERVERS
def test_who_moves_is_always_said(engine: str) -> None:
    """A user is not taken over: without one it is Kerberos on SQL Server, and a mistake elsewhere."""
    if engine == "sqlserver":
        assert moving(engine, {"maxdop": 2}).user is None
    else:
        with pytest.raises(ConfigError, match=r"move_connection(\.user\W+|: user )is missing"):
            moving(engine, {})


@SERVERS
def test_another_server_is_not_trusted_like_the_first(engine: str) -> None:
    """How a server is reached goes along only while it is the same one."""
    found, usual = moving(engine, {**OTHER, "host": "elsewhere"}), find_engine(engine).settings.model_fields
    for name in find_engine(engine).inheritance.server:
        assert getattr(found, name) == usual[name].default, name


LIMITS: dict[str, dict[str, Any]] = {
    "postgresql": {"wal_mib": 512, "replica_queue_mib": 64, "lock_timeout": "200ms", "online_lock_timeout": "2s"},
    "sqlserver": {"replica_queue_mib": 64, "lock_timeout": "1s", "low_priority_minutes": 2},
    "oracle": {"log_used_percent": 40, "online_lock_timeout": "5s"},
    "db2": {"log_used_percent": 40, "replica_queue_mib": 64},
}


@pytest.mark.parametrize("place", [{}, {"host": "elsewhere"}])
@SERVERS
def test_limits_hold_for_the_account_that_moves(engine: str, place: dict[str, str]) -> None:
    """Moves were planned with what stands under `connection`, and are carried out with it, unless it says otherwise."""
    limits = LIMITS[engine]
    found, watching = moving(engine, {**OTHER, **place}, **limits), find_engine(engine).settings.model_fields
    for name in limits:
        assert getattr(found, name) != watching[name].default, name
    name = next(iter(limits))
    assert getattr(moving(engine, {**OTHER, name: 7}, **limits), name) == 7


def test_who_moves_is_never_led_to_a_secondary() -> None:
    """Though who watches is."""
    assert not moving("sqlserver", OTHER, read_intent=True).read_intent


def test_oracle_names_its_place_in_one_way() -> None:
    """A dsn replaces host, port and service, and they replace a dsn."""
    found = moving("oracle", {**OTHER, "dsn": "SHOP_MOVES"})
    assert (found.dsn, found.service) == ("SHOP_MOVES", "")
    plain = {"service": "", "dsn": "SHOP"}
    assert moving("oracle", OTHER, **plain).dsn == "SHOP"
    assert moving("oracle", {**OTHER, "service": "shop_moves"}, **plain).dsn == ""


def test_a_wallet_may_hold_a_login() -> None:
    """It goes along for the same user only."""
    wallet = {"wallet_location": "/wallet", "wallet_password": {"env": "WALLET"}}
    assert moving("oracle", OTHER, **wallet).wallet_location is None
    assert moving("oracle", {"user": "watcher"}, **wallet).wallet_password.env == "WALLET"


def test_a_simulated_account_sees_the_same_world() -> None:
    """Its world is its place, the file that keeps it included."""
    found = moving("simulated", {"may_move": False}, scenario="synthetic", seed=3, units=50, state="world.json")
    assert (found.scenario, found.seed, found.units, found.may_move) == ("synthetic", 3, 50, False)
    assert found.state == Path("/etc/hotplace/world.json")


@pytest.mark.parametrize("engine", engine_names())
def test_every_engine_says_what_is_taken_over(engine: str) -> None:
    """Settings that exist; every secret is one of the login."""
    record = find_engine(engine)
    named = {*record.inheritance.server, *record.inheritance.login, *sum(record.inheritance.place, ())}
    assert record.inheritance.place
    assert named <= set(record.settings.model_fields)
    secrets = {name for name, field in record.settings.model_fields.items() if "SecretSource" in str(field.annotation)}
    assert secrets <= set(record.inheritance.login)


@SERVERS
def test_a_mistake_in_the_place_is_reported_once(engine: str) -> None:
    """A port that is none is the mistake of `connection`, which wrote it."""
    with pytest.raises(ConfigError) as refused:
        moving(engine, OTHER, port=0)
    assert [problem.path for problem in refused.value.problems] == ["databases[0].connection.port"]


def test_the_sample_shows_an_account_that_moves() -> None:
    """Its lines work when the comment signs are taken away."""
    from agent.config.sample import sample

    lines = sample("postgresql").splitlines()
    start = next(row for row, line in enumerate(lines) if "# move_connection:" in line)
    shown = yaml.safe_load("\n".join(line.replace("# ", "  ", 1) for line in lines[start : start + 3]))
    assert moving("postgresql", shown["move_connection"]).host == "db1"
