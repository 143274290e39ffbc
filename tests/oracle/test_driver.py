"""The adapter between python-oracledb and cx_Oracle, and errors by number. The old module is a stand-in here."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    DriverMissing,
    LockNotObtained,
    ObjectGone,
    PrivilegeMissing,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.kit.registry import install_command
from connectors.oracle.driver import (
    Driver,
    DriverConnection,
    cannot_connect,
    code_of,
    connection_broke,
    load_driver,
    outcome_unknown,
    translate,
    words_of,
)
from connectors.oracle.settings import OracleSettings
from tests.oracle.made import SETTINGS


class LegacyError(Exception):
    """As cx_Oracle.Error: an object with a number and a message, and no full_code."""


def _modern(code: str) -> Exception:
    return LegacyError(SimpleNamespace(full_code=code, code=0, message=f"{code}: words\nHelp: elsewhere"))


def _legacy_module() -> ModuleType:
    module = cast(Any, ModuleType("cx_Oracle"))
    module.Error = LegacyError
    module.given = {}

    def connect(**arguments: object) -> object:
        module.given = arguments
        return SimpleNamespace(callTimeout=0)

    module.connect = connect
    return cast(ModuleType, module)


def test_the_old_module_serves_where_only_it_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """It gets no argument that it does not know, and its time limit has another name."""
    module = _legacy_module()
    monkeypatch.setitem(sys.modules, "oracledb", None)
    monkeypatch.setitem(sys.modules, "cx_Oracle", module)
    driver = load_driver(SETTINGS)
    connection = driver.connect(SETTINGS)
    driver.limit_calls(connection, 1.5)
    assert cast(Any, connection).callTimeout == 1500
    assert cast(Any, module).given == {
        "user": "hotplace",
        "dsn": "(DESCRIPTION=(TRANSPORT_CONNECT_TIMEOUT=10)(ENABLE=BROKEN)"
        "(ADDRESS=(PROTOCOL=tcp)(HOST=localhost)(PORT=1521))(CONNECT_DATA=(SERVICE_NAME=pdb1)))",
    }


def test_a_missing_driver_is_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither of the two is installed, and neither is required by the package itself (oracle.md f36)."""
    monkeypatch.setitem(sys.modules, "oracledb", None)
    monkeypatch.setitem(sys.modules, "cx_Oracle", None)
    with pytest.raises(DriverMissing) as caught:
        load_driver(SETTINGS)
    assert caught.value.advice == f"Run: {install_command('oracle')}"


def test_thick_mode_without_its_client_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """DPI-1047 becomes advice; the folder is handed on."""
    module = cast(Any, _legacy_module())
    given: dict[str, str] = {}

    def refuse(**options: str) -> None:
        given.update(options)
        raise LegacyError("DPI-1047: cannot locate a client library")

    module.init_oracle_client = refuse
    monkeypatch.setitem(sys.modules, "oracledb", module)
    thick = OracleSettings(service="x", user="u", driver="thick", client_library="/opt/client")  # type: ignore[arg-type]  # as YAML has it
    with pytest.raises(DriverMissing) as caught:
        load_driver(thick)
    assert (caught.value.native_code, given) == ("DPI-1047", {"lib_dir": "/opt/client"})


def test_thick_mode_is_entered_once_and_gets_a_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in: the client library is loaded before the first connection; wallet and time-out go in the dsn."""
    module = cast(Any, _legacy_module())
    entered: list[dict[str, str]] = []
    module.init_oracle_client = lambda **options: entered.append(options)
    monkeypatch.setitem(sys.modules, "oracledb", module)
    thick = OracleSettings(service="x", user="u", driver="thick", protocol="tcps", wallet_location="/wallet")  # type: ignore[arg-type]  # as YAML has it
    driver = load_driver(thick)
    driver.connect(thick)
    assert (driver.thin, entered) == (False, [{}])
    assert module.given["dsn"].endswith("(SECURITY=(MY_WALLET_DIRECTORY=/wallet)(SSL_SERVER_DN_MATCH=yes)))")
    assert set(module.given) == {"user", "dsn"}


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        ({"authentication": "external"}, {"externalauth": True}),
        ({"authentication": "external", "user": "[app]"}, {"externalauth": True, "user": "[app]"}),
        (
            {"authentication": "token", "token": {"env": "A_TOKEN"}, "protocol": "tcps"},
            {"externalauth": True, "access_token": "a.b.c"},
        ),
    ],
)
def test_thick_mode_without_a_password(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], sent: dict[str, object]
) -> None:
    """By a stand-in: a password store, the operating system and Kerberos take no user name; nor does a token."""
    module = cast(Any, _legacy_module())
    module.__name__ = "oracledb"
    module.init_oracle_client = lambda **_: None
    monkeypatch.setitem(sys.modules, "oracledb", module)
    monkeypatch.setenv("A_TOKEN", "a.b.c")
    settings = OracleSettings(dsn="ORDERS", driver="thick", **given)
    load_driver(settings).connect(settings)
    assert module.given == {"dsn": "ORDERS", **sent}
    assert "a.b.c" not in settings.where() + repr(settings)


def test_the_old_module_is_external_where_nothing_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a stand-in: cx_Oracle has no argument for it, and knows no tokens."""
    module = _legacy_module()
    monkeypatch.setitem(sys.modules, "oracledb", None)
    monkeypatch.setitem(sys.modules, "cx_Oracle", module)
    monkeypatch.setenv("A_TOKEN", "a.b.c")
    external = OracleSettings(dsn="ORDERS", driver="thick", authentication="external")
    load_driver(external).connect(external)
    assert cast(Any, module).given == {"dsn": "ORDERS"}
    token = OracleSettings(dsn="ORDERS", driver="thick", authentication="token", token={"env": "A_TOKEN"})  # type: ignore[arg-type]  # as YAML has it
    with pytest.raises(DriverMissing, match="cx_Oracle knows no tokens"):
        load_driver(token)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "user is missing"),
        ({"authentication": "external"}, "driver: thick"),
        ({"authentication": "external", "driver": "thick", "user": "hotplace"}, "user is left out"),
        ({"authentication": "external", "driver": "thick", "password": {"env": "P"}}, "no password"),
        ({"authentication": "token"}, "token is missing"),
        ({"authentication": "token", "token": {"env": "T"}}, "protocol: tcps"),
        ({"user": "hotplace", "token": {"env": "T"}}, "authentication: token"),
    ],
)
def test_a_way_to_log_in_is_one_way(given: dict[str, Any], said: str) -> None:
    """What does not fit together is told when the configuration is read, not by ORA-01017."""
    with pytest.raises(ValueError, match=said):
        OracleSettings(service="pdb1", **given)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (_modern("ORA-00054"), "ORA-00054"),
        (LegacyError(SimpleNamespace(code=54, message="ORA-00054: busy")), "ORA-00054"),
        (LegacyError(SimpleNamespace(code=0, message="DPI-1067: late")), "DPI-1067"),
        (LegacyError("DPI-1067: call time-out"), "DPI-1067"),
        (LegacyError(), ""),
    ],
)
def test_codes_of_both_modules(error: Exception, code: str) -> None:
    """A full code, a number, or how the text of the driver's own errors begins."""
    assert code_of(error) == code


def test_words_are_one_line() -> None:
    """Help texts that follow are left out."""
    assert words_of(_modern("ORA-00054")) == "ORA-00054: words"


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ORA-00054", LockNotObtained),
        ("ORA-00060", LockNotObtained),
        ("ORA-01652", SpaceFull),
        ("ORA-01536", SpaceFull),
        ("ORA-30036", SpaceFull),
        ("ORA-01031", PrivilegeMissing),
        ("ORA-00942", ObjectGone),
        ("ORA-01418", ObjectGone),
        ("ORA-14257", StatementFailed),
        ("ORA-00439", StatementFailed),
        ("ORA-99999", StatementFailed),
        ("DPY-4024", TimedOut),
    ],
)
def test_numbers_decide(code: str, kind: type[ConnectorError]) -> None:
    """The words of a message never do: 23ai changed them (oracle.md f28)."""
    found = translate(_modern(code), "moving")
    assert type(found) is kind
    assert found.native_code == code


def test_a_view_that_is_not_there_is_a_grant_that_is_not_there() -> None:
    """For a reader of the dictionary ORA-00942 means exactly that."""
    assert type(translate(_modern("ORA-00942"), "reading", reading=True)) is PrivilegeMissing


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("ORA-01017", AuthenticationFailed),
        ("ORA-28000", AuthenticationFailed),
        ("DPY-6001", CannotConnect),
        ("DPY-3010", CannotConnect),
        ("ORA-01555", CannotConnect),
    ],
)
def test_refused_connections(code: str, kind: type[ConnectorError]) -> None:
    """Login, place, or a release too old for thin mode (oracle.md f38); whatever else it was, it is no connection."""
    found = cannot_connect(_modern(code), "u@h")
    assert type(found) is kind
    assert found.advice


@pytest.mark.parametrize("code", ["ORA-03113", "DPY-4011", "DPI-1080", "ORA-00028"])
def test_broken_sessions_mean_unknown(code: str) -> None:
    """Nobody knows what the server did."""
    assert connection_broke(_modern(code))
    assert outcome_unknown(_modern(code), "moving").native_code == code


def test_settings_are_one_address() -> None:
    """A service or a dsn; an address of numbers and colons is bracketed; no secret is in it."""
    assert OracleSettings(service="s", user="u", host="::1").address() == "[::1]:1521/s"
    assert OracleSettings(dsn="sales", user="u").address() == "sales"
    for wrong in ({"user": "u"}, {"user": "u", "service": "s", "dsn": "d"}):
        with pytest.raises(ValueError, match="exactly one"):
            OracleSettings(**cast(Any, wrong))


def test_durations_are_read() -> None:
    """As people write them; keepalive goes to the driver in minutes."""
    found = OracleSettings(service="s", user="u", lock_timeout="500ms", keepalive="5min")  # type: ignore[arg-type]  # as YAML has it
    assert (found.lock_timeout, found.network_arguments()["expire_time"]) == (0.5, 5)


class OldClient:
    """A connection over a client library that knows no limit of calls."""

    def __init__(self, code: str) -> None:
        self.code = code

    @property
    def call_timeout(self) -> int:
        """As cx_Oracle and thick mode answer it."""
        return 0

    @call_timeout.setter
    def call_timeout(self, milliseconds: int) -> None:
        raise LegacyError(f"{self.code}: Oracle Client library must be at version 18.1 or higher")


def test_a_limit_of_calls_is_in_milliseconds() -> None:
    """Where there is one: a client library before 18 has none, and that is no reason to stop."""
    connection = SimpleNamespace(call_timeout=7)
    driver = Driver(module=_legacy_module(), thin=False)
    driver.limit_calls(cast(DriverConnection, connection), 2.5)
    assert connection.call_timeout == 2500
    driver.limit_calls(cast(DriverConnection, OldClient("DPI-1050")), 2.5)
    with pytest.raises(LegacyError):
        driver.limit_calls(cast(DriverConnection, OldClient("DPI-1010")), 2.5)
