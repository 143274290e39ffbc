"""How logins are made on a SQL Server: one script for sqlcmd, which a person runs, and the ways that let them in.

CREATE LOGIN takes a password in the clear or a hash whose form Microsoft does not document, so the script holds
passwords. It is for its owner only and has to go once it has run.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from connectors.kit.contract import Clock, Connector
from connectors.kit.setting_up import Tried, Wanted, require_plain, try_ways
from connectors.kit.settings import SecretSource
from connectors.sqlserver.settings import DriverKind, SqlserverSettings, kind_of

PLAIN = re.compile(r"[\w.$#@ -]+")
PORT = 1433
REFUSES_EXISTING = """\
IF SUSER_ID(N'{login}') IS NOT NULL
    RAISERROR(N'login {login} exists already and keeps its password: hotplace setup --force gives it a new one', 16, 1);
"""
MAKES = """\
IF SUSER_ID(N'{login}') IS NULL
    CREATE LOGIN [{login}] WITH PASSWORD = N'{password}', DEFAULT_DATABASE = [{database}];
ELSE
    ALTER LOGIN [{login}] WITH PASSWORD = N'{password}';
"""


class SqlserverSetUp:
    """SQL Server's part of ``hotplace setup``."""

    administrator = "sa"
    needs_host = True
    makes_logins = True
    before_it_runs = (
        "it holds the new passwords: delete it once it has run. sqlcmd ends at the first error, and what ran before "
        "that stays; --force goes on from there"
    )
    advice = (
        "The server has to allow SQL logins (mixed mode) and to listen on TCP. Where no authority known here signed "
        "its certificate, name that certificate with --certificate."
    )

    def __init__(self, connect: Callable[[SqlserverSettings, Clock], Connector]) -> None:
        self._connect = connect

    def script(self, wanted: Wanted, texts: Mapping[str, str], passwords: Mapping[str, SecretStr]) -> str:
        """As the protocol says; owners are schemas."""
        require_plain((*wanted.databases, *wanted.logins, *wanted.owners), PLAIN)
        parts = [
            "-- Makes the logins of hotplace. It holds their passwords: delete it once it has run.",
            ":on error exit",
        ]
        parts += ["USE [master];", "GO"]
        for login in wanted.logins:
            if not wanted.replaces:
                parts += [f"{REFUSES_EXISTING.format(login=login)}GO"]
        for login in wanted.logins:
            secret = passwords[login].get_secret_value()
            made = MAKES.format(login=login, password=secret, database=wanted.databases[0])
            parts += [f"{made}GO"]
        for database in wanted.databases:
            for login in wanted.logins:
                parts += [f':setvar database "{database}"', f':setvar login "{login}"', texts["sqlserver-observe.sql"]]
            for schema in wanted.owners if wanted.mover else ():
                parts += [f':setvar schema "{schema}"', texts["sqlserver-move.sql"]]
        return "\n".join([*parts, ""])

    def command(self, wanted: Wanted, administrator: str, script: str) -> str:
        """As the protocol says; sqlcmd asks for the administrator's password."""
        server = f"tcp:{wanted.host},{wanted.port or PORT}"
        return shlex.join(["sqlcmd", "-S", server, "-U", administrator, "-b", "-i", script])

    def ways(self, wanted: Wanted, login: str, password: SecretSource, clock: Clock) -> Sequence[Tried]:
        """As the protocol says: encrypted and verified before encrypted alone."""

        def connect(settings: Mapping[str, Any]) -> Connector:
            whole = {**settings, "database": wanted.databases[0], "user": login, "password": password}
            return self._connect(SqlserverSettings.model_validate(whole), clock)

        return try_ways(_candidates(wanted), connect)


def _candidates(wanted: Wanted) -> Iterator[tuple[dict[str, Any], str]]:
    """Settings of each way that the driver of this machine can go, the safest first."""
    driver = _driver()
    at: dict[str, Any] = {"host": wanted.host, **({"port": wanted.port} if wanted.port else {})}
    at |= {"driver": driver} if driver else {}
    verifies = kind_of(driver or "") is not DriverKind.FREETDS
    if wanted.certificate and verifies:
        yield {**at, "encrypt": "strict", "server_certificate": wanted.certificate}, "password, encrypted, verified"
        return
    if verifies:
        yield at, "password, encrypted, the certificate verified"
    yield {**at, "trust_server_certificate": True}, "password, encrypted, the certificate not verified"


def _driver() -> str | None:
    """The driver to name in the configuration; None: the usual one, or none is here."""
    try:
        import pyodbc
    except ImportError:
        return None
    known = {kind_of(name): name for name in sorted(pyodbc.drivers())}
    if DriverKind.MICROSOFT_18 in known:
        return None
    return known.get(DriverKind.MICROSOFT_17) or known.get(DriverKind.FREETDS)
