"""Drivers' keywords and errors."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from connectors.kit.contract import (
    AuthenticationFailed,
    CannotConnect,
    ConnectorError,
    DriverMissing,
    Interrupted,
    LockNotObtained,
    ObjectGone,
    PrivilegeMissing,
    Retry,
    SpaceFull,
    StatementFailed,
    TimedOut,
)
from connectors.sqlserver.sessions import cannot_connect, connection_broke, diagnose, open_connection, translate
from connectors.sqlserver.settings import DriverKind, connection_string, is_that_driver, kind_of
from tests.over import over
from tests.sqlserver.made import settings

pyodbc = pytest.importorskip("pyodbc", reason="no pyodbc here: make setup")
MICROSOFT, FREETDS = "ODBC Driver 18 for SQL Server", "FreeTDS"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (MICROSOFT, DriverKind.MICROSOFT_18),
        ("ODBC Driver 17 for SQL Server", DriverKind.MICROSOFT_17),
        ("/opt/lib/libmsodbcsql-18.6.so.2.1", DriverKind.MICROSOFT_18),
        ("/usr/lib/odbc/libtdsodbc.so", DriverKind.FREETDS),
        (FREETDS, DriverKind.FREETDS),
        ("SQL Server", DriverKind.UNKNOWN),
    ],
)
def test_the_family_of_a_driver(name: str, kind: DriverKind) -> None:
    """By name or by library; what is neither is not guessed."""
    assert kind_of(name) is kind


def test_pitfall_31_encryption_is_always_stated() -> None:
    """Pitfall 31: driver 17 and 18 differ in what they take it for, so it is never left out."""
    for driver in (MICROSOFT, "ODBC Driver 17 for SQL Server"):
        assert "Encrypt=yes" in connection_string(settings(driver=driver).wish(), "p", program="x").split(";")
        assert "Encrypt=no" in connection_string(settings(driver=driver, encrypt="no").wish(), "p", program="x")


@pytest.mark.parametrize(
    "values",
    [
        {},  # encrypted, and the certificate verified
        {"encrypt": "strict"},
        {"encrypt": "no", "hostname_in_certificate": "db"},
        {"encrypt": "no", "multi_subnet_failover": True},
        {"encrypt": "no", "server_certificate": "/c.pem"},
    ],
)
def test_pitfall_32_what_freetds_would_ignore_is_refused(values: dict[str, object]) -> None:
    """Pitfall 32: a keyword that it does not know would be dropped without a word."""
    with pytest.raises(ValidationError, match="FreeTDS"):
        settings(driver=FREETDS, **values)


def test_freetds_has_words_of_its_own() -> None:
    """Encryption=require, the port apart, the protocol's version stated."""
    text = connection_string(settings(driver=FREETDS, trust_server_certificate=True).wish(), "p", program="x")
    assert {"Encryption=require", "PORT=1433", "TDS_Version=7.4", "SERVER=localhost"} <= set(text.split(";"))
    assert "Encrypt=" not in text
    assert "TrustServerCertificate" not in text


def test_a_password_cannot_end_its_keyword() -> None:
    """Braces around it, closing ones doubled."""
    text = connection_string(settings().wish(), "a;}b={", program="hot place")
    assert "PWD={a;}}b={}" in text
    assert "APP={hot place}" in text


@pytest.mark.parametrize(
    ("password", "expected"), [("a b=}", "a b=}"), ("a;}b", "{a;}b}"), ("{a}", "{{a}}"), ("a}}b", "a}}b")]
)
def test_freetds_does_not_undouble(password: str, expected: str) -> None:
    """Tried against FreeTDS 1.3.17: braces around what holds a semicolon or begins with one, nothing doubled."""
    text = connection_string(settings(driver=FREETDS, trust_server_certificate=True).wish(), password, program="x")
    assert text.endswith(f"PWD={expected};")


def test_what_freetds_cannot_be_given_is_told() -> None:
    """A value that it would cut short; the message does not show it."""
    with pytest.raises(CannotConnect) as caught:
        connection_string(settings(driver=FREETDS, trust_server_certificate=True).wish(), "se};cret", program="x")
    assert "cret" not in str(caught.value)


def test_the_loaded_library_must_be_of_the_family() -> None:
    """A name in odbcinst.ini may lead anywhere."""
    assert is_that_driver(DriverKind.MICROSOFT_18, "libmsodbcsql-18.6.so.2.1")
    assert not is_that_driver(DriverKind.MICROSOFT_18, "libtdsodbc.so")
    assert not is_that_driver(DriverKind.FREETDS, "libmsodbcsql-18.6.so.2.1")


@pytest.mark.parametrize(
    "values",
    [
        {"driver": "SQL Server"},
        {"password": None},
        {"encrypt": "maybe"},
        {"encrypt": "no", "trust_server_certificate": True},
        {"encrypt": "strict", "trust_server_certificate": True},
        {"driver": "ODBC Driver 17 for SQL Server", "encrypt": "strict"},
        {"connect_timeout": "soon"},
        {"surprise": 1},
    ],
)
def test_settings_that_make_no_sense(values: dict[str, object]) -> None:
    """Told when the configuration is read, not when the first move fails."""
    with pytest.raises(ValidationError):
        settings(**values)


def test_a_bare_yes_of_yaml_is_yes() -> None:
    """YAML makes booleans of yes and no."""
    assert settings(encrypt=True).encrypt == "yes"
    assert settings(encrypt=False).encrypt == "no"


def raised(state: str, number: int, words: str = "words") -> ConnectorError:
    """What becomes of an error that Microsoft's driver raises."""
    text = f"[{state}] [Microsoft][ODBC Driver 18 for SQL Server][SQL Server]{words} ({number}) (SQLExecDirectW)"
    return translate(diagnose(pyodbc.Error(state, text)), "moving")


@over(
    ("number", "kind"),
    [
        (1222, LockNotObtained),
        (1205, LockNotObtained),
        (49516, LockNotObtained),
        (1912, LockNotObtained),
        (1105, SpaceFull),
        (9002, SpaceFull),
        (229, PrivilegeMissing),
        (297, PrivilegeMissing),
        (300, PrivilegeMissing),
        (1088, PrivilegeMissing),
        (208, ObjectGone),
        (7999, ObjectGone),
        (1921, ObjectGone),
        (1712, StatementFailed),
        (1907, StatementFailed),
        (10665, StatementFailed),
        (102, StatementFailed),
        (18456, AuthenticationFailed),
        (4060, CannotConnect),
        (40613, CannotConnect),
    ],
)
def test_numbers_say_what_may_be_done(number: int, kind: type[ConnectorError]) -> None:
    """By the server's number whatever the SQLSTATE; the number is kept."""
    for state in ("42000", "HY000"):
        error = raised(state, number)
        assert type(error) is kind
        assert error.native_code == str(number)


def test_states_that_drivers_make_themselves() -> None:
    """A time-out and a cancel have no number of the server's."""
    assert type(raised("HYT00", 0)) is TimedOut
    assert type(raised("HY008", 0)) is Interrupted
    assert raised("HYT00", 0).retry is Retry.LATER


def test_the_number_that_means_something_is_taken() -> None:
    """Errors come in chains; the one that is known is the one to act on."""
    first = "[42000] [FreeTDS][SQL Server]Could not create. (1750) (SQLExecDirectW)"
    text = f"{first}; [42000] [FreeTDS][SQL Server]Full. (1105)"
    seen = diagnose(pyodbc.Error("42000", text))
    assert seen.numbers == (1750, 1105)
    assert type(translate(seen, "moving")) is SpaceFull


@pytest.mark.parametrize(
    ("state", "number"), [("08S01", 20009), ("08001", 0), ("HY000", 596), ("HY000", 20006), ("01000", 20017)]
)
def test_a_broken_session_is_known_by_either(state: str, number: int) -> None:
    """Link failures by state, a killed session by number."""
    assert connection_broke(diagnose(pyodbc.Error(state, f"[{state}] [x]words ({number}) (SQLExecDirectW)")))
    assert not connection_broke(diagnose(pyodbc.Error("HYT00", "[HYT00] [x]Timeout expired (20003) (SQLExecDirectW)")))


@pytest.mark.parametrize("name", ["FreeTDS of nobody", "/nowhere/libtdsodbc.so"])
def test_a_driver_that_is_not_here_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the host nor the port is at fault: the advice is about drivers, and so is the error."""
    monkeypatch.setenv("SECRET", "x")
    found = settings(driver=name, encrypt="no")
    with pytest.raises(DriverMissing) as caught:
        open_connection(found, name="test")
    assert "odbcinst -q -d" in caught.value.advice


@pytest.mark.parametrize(
    ("state", "number", "kind"),
    [
        ("42000", 18456, AuthenticationFailed),  # FreeTDS
        ("28000", 18456, AuthenticationFailed),  # Microsoft
        ("08001", 0, CannotConnect),
        ("42000", 229, CannotConnect),
    ],
)
def test_refused_connections(state: str, number: int, kind: type[CannotConnect]) -> None:
    """Drivers give a wrong password different states and the same number."""
    seen = diagnose(pyodbc.Error(state, f"[{state}] [x][y]Login failed. ({number}) (SQLDriverConnect)"))
    error = cannot_connect(seen, "u@h:1433/app")
    assert type(error) is kind
    assert error.advice
