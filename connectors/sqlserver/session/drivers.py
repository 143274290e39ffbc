"""ODBC drivers: what each calls an option, and what it would silently ignore. Pure.

Microsoft's drivers: sql-docs, "DSN and Connection String Keywords and Attributes". FreeTDS: its user guide, "ODBC
connection attributes"; it ignores keywords that it does not know, so that a string written for Microsoft's driver gives
a session that is not encrypted or not verified, without a word. Such wishes are refused instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from connectors.base import CannotConnect


class DriverKind(StrEnum):
    """Families of drivers that agree on keywords."""

    MICROSOFT_18 = "Microsoft ODBC Driver 18"
    MICROSOFT_17 = "Microsoft ODBC Driver 17"
    FREETDS = "FreeTDS"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverOption:
    """Properties of a connection, without the password."""

    driver: str
    host: str
    port: int
    database: str
    user: str | None
    encrypt: str  # yes, no, strict
    trust_server_certificate: bool
    hostname_in_certificate: str | None
    server_certificate: str | None
    multi_subnet_failover: bool
    read_intent: bool


def kind_of(driver: str) -> DriverKind:
    """The family, by the name in odbcinst.ini or that of the library's file."""
    name = PurePath(driver).name.lower()
    if "tdsodbc" in name or "freetds" in name:
        return DriverKind.FREETDS
    if "msodbcsql18" in name or "msodbcsql-18" in name or name.startswith("odbc driver 18"):
        return DriverKind.MICROSOFT_18
    if "msodbcsql17" in name or "msodbcsql-17" in name or name.startswith("odbc driver 17"):
        return DriverKind.MICROSOFT_17
    return DriverKind.UNKNOWN


def objections(kind: DriverKind, wish: DriverOption) -> tuple[str, ...]:
    """What this driver cannot do of the wish, in words; empty when it can do all."""
    if kind is DriverKind.UNKNOWN:
        return (
            f"driver {wish.driver!r} is none of ODBC Driver 18, ODBC Driver 17 and FreeTDS: its options are unknown",
        )
    pinned = wish.server_certificate is not None
    if kind is DriverKind.FREETDS:
        checks = (
            (wish.encrypt == "strict", "FreeTDS does not know encrypt: strict"),
            (
                wish.encrypt == "yes" and not wish.trust_server_certificate,
                "FreeTDS does not verify certificates: set trust_server_certificate: true, or use Microsoft's driver",
            ),
            (wish.hostname_in_certificate is not None, "FreeTDS does not know hostname_in_certificate"),
            (pinned, "FreeTDS does not know server_certificate"),
            (wish.multi_subnet_failover, "FreeTDS does not know multi_subnet_failover"),
        )
    else:
        old = kind is DriverKind.MICROSOFT_17
        checks = (
            (old and wish.encrypt == "strict", "ODBC Driver 17 does not know encrypt: strict"),
            (old and pinned, "ODBC Driver 17 does not know server_certificate"),
            (not old and pinned and wish.encrypt != "strict", "server_certificate needs encrypt: strict"),
            (
                wish.encrypt == "strict" and wish.trust_server_certificate,
                "encrypt: strict always verifies the certificate; leave trust_server_certificate out",
            ),
            (wish.encrypt == "no" and wish.trust_server_certificate, "trust_server_certificate needs encrypt: yes"),
        )
    return tuple(sentence for applies, sentence in checks if applies)


def connection_string(wish: DriverOption, password: str | None, *, program: str) -> str:
    """What ``pyodbc.connect`` is given; holds the password: never log it.

    Args:
        wish: checked by ``objections``.
        password: None for Kerberos.
        program: what a DBA sees as program_name.

    Raises:
        CannotConnect: the driver has no way to be given a value; the text does not show it.
    """
    kind = kind_of(wish.driver)
    keywords = {"DRIVER": wish.driver, "DATABASE": wish.database, "APP": program}
    keywords |= _freetds(wish) if kind is DriverKind.FREETDS else _microsoft(wish)
    if wish.read_intent:
        keywords["ApplicationIntent"] = "ReadOnly"
    if password is None or wish.user is None:
        keywords["Trusted_Connection"] = "yes"
    else:
        keywords |= {"UID": wish.user, "PWD": password}
    quoted = _freetds_quoted if kind is DriverKind.FREETDS else _quote
    return "".join(f"{name}={quoted(value)};" for name, value in keywords.items())


def is_that_driver(kind: DriverKind, library: str) -> bool:
    """Whether the library that was loaded (SQL_DRIVER_NAME) is of the family that the options were chosen for."""
    return (kind is DriverKind.FREETDS) == ("tdsodbc" in library.lower())


def _microsoft(wish: DriverOption) -> dict[str, str]:
    optional = {
        "HostNameInCertificate": wish.hostname_in_certificate,
        "ServerCertificate": wish.server_certificate,
        "MultiSubnetFailover": "yes" if wish.multi_subnet_failover else None,
        "TrustServerCertificate": "yes" if wish.trust_server_certificate else None,
    }
    return {
        "SERVER": f"tcp:{wish.host},{wish.port}",
        "Encrypt": wish.encrypt,
        "ConnectRetryCount": "0",  # the driver's own reconnect would lose the session's settings and its lease
        **{name: value for name, value in optional.items() if value is not None},
    }


def _freetds(wish: DriverOption) -> dict[str, str]:
    return {
        "SERVER": wish.host,
        "PORT": str(wish.port),
        "TDS_Version": "7.4",
        "ClientCharset": "UTF-8",
        "Encryption": "require" if wish.encrypt == "yes" else "off",
    }


def _freetds_quoted(value: str) -> str:
    """Braces only where they must be: FreeTDS 1.3 knows no doubling, and ends a value at ``};``."""
    if "};" in value:
        raise CannotConnect(
            "FreeTDS cannot be given a user, password or name with a closing brace before a semicolon",
            advice="Use Microsoft's driver, or another password.",
        )
    return "{" + value + "}" if ";" in value or value.startswith("{") else value


def _quote(value: str) -> str:
    """Braces where the value holds anything but plain characters; a closing brace is doubled."""
    if value.replace(".", "").replace(",", "").replace(":", "").replace("/", "").replace("-", "").isalnum():
        return value
    return "{" + value.replace("}", "}}") + "}"
