"""How users are made on an Oracle database: one script for SQL*Plus, which a person runs in each PDB.

Oracle commits every CREATE USER and GRANT at once, so no script of these runs whole or not at all. The verifiers that
IDENTIFIED BY VALUES takes are not documented, so the script holds passwords: it is for its owner only and has to go.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from connectors.kit.contract import Clock, Connector
from connectors.kit.setting_up import Tried, Wanted, require_plain, try_ways
from connectors.kit.settings import SecretSource
from connectors.oracle.settings import OracleSettings

PLAIN = re.compile(r"[A-Za-z][\w$#]*")
SERVICE = re.compile(r"[\w.$#-]+")
PORT = 1521
HEAD = """\
-- Makes the users of hotplace. It holds their passwords: delete it once it has run.
SET VERIFY OFF
SET DEFINE ON
WHENEVER SQLERROR EXIT FAILURE
"""
MAKES = """\
DECLARE
  there NUMBER;
BEGIN
  SELECT COUNT(*) INTO there FROM SYS.DBA_USERS WHERE USERNAME = '{login}';
  IF there = 0 THEN
    EXECUTE IMMEDIATE 'CREATE USER {login} IDENTIFIED BY "{password}"';
  ELSE
    {there}
  END IF;
END;
/
"""
REFUSES = (
    "RAISE_APPLICATION_ERROR(-20001, 'the user {login} exists already and keeps its password: "
    "hotplace setup --force gives it a new one');"
)
REPLACES = "EXECUTE IMMEDIATE 'ALTER USER {login} IDENTIFIED BY \"{password}\" ACCOUNT UNLOCK';"
_PARAMETER = re.compile(r"^DEFINE (\w+) = &\d$", re.MULTILINE)


class OracleSetUp:
    """Oracle's part of ``hotplace setup``."""

    administrator = "sys"
    needs_host = True
    makes_logins = True
    before_it_runs = (
        "it holds the new passwords: delete it once it has run. Oracle commits each statement, so after an error part "
        "of it stays; --force goes on from there. ORA-00942 for a view that an older version lacks does no harm"
    )
    advice = (
        "Name the service of the PDB as the database, not the root. Native encryption, wallets and tcps are keys of "
        "connection; hotplace init --full --engine oracle has them."
    )

    def __init__(self, connect: Callable[[OracleSettings, Clock], Connector]) -> None:
        self._connect = connect

    def script(self, wanted: Wanted, texts: Mapping[str, str], passwords: Mapping[str, SecretStr]) -> str:
        """As the protocol says; run in each PDB, whose services are the databases."""
        require_plain((*wanted.logins, *wanted.owners, *(wanted.spaces if wanted.mover else ())), PLAIN)
        require_plain(wanted.databases, SERVICE)
        parts = [HEAD]
        for login in wanted.logins:
            names = {"login": login.upper(), "password": passwords[login].get_secret_value()}
            parts.append(MAKES.format(there=(REPLACES if wanted.replaces else REFUSES).format(**names), **names))
        observe, move = texts["oracle-observe.sql"], texts["oracle-move.sql"]
        parts += [_with_parameters(observe, login=login.upper()) for login in wanted.logins]
        for owner in wanted.owners if wanted.mover else ():
            for space in wanted.spaces:
                parts.append(
                    _with_parameters(move, login=wanted.mover.upper(), owner=owner.upper(), space=space.upper())
                )
        return "\n".join([*parts, "EXIT", ""])

    def command(self, wanted: Wanted, administrator: str, script: str) -> str:
        """As the protocol says, once for each PDB; SQL*Plus asks for the administrator's password."""
        address = f"{administrator}@//{wanted.host}:{wanted.port or PORT}/"
        role = ("as", "sysdba") if administrator.upper() == "SYS" else ()
        return " && ".join(
            shlex.join(["sqlplus", "-L", f"{address}{service}", *role, f"@{script}"]) for service in wanted.databases
        )

    def ways(self, wanted: Wanted, login: str, password: SecretSource, clock: Clock) -> Sequence[Tried]:
        """As the protocol says: the one way, in which the password itself never crosses the network."""
        at: dict[str, Any] = {"host": wanted.host, **({"port": wanted.port} if wanted.port else {})}

        def connect(settings: Mapping[str, Any]) -> Connector:
            whole = {**settings, "service": wanted.databases[0], "user": login, "password": password}
            return self._connect(OracleSettings.model_validate(whole), clock)

        return try_ways([(at, "password; encrypted only if the server asks for native encryption")], connect)


def _with_parameters(text: str, **values: str) -> str:
    """A script of privileges with its parameters set in it."""
    return _PARAMETER.sub(lambda found: f"DEFINE {found[1]} = {values[found[1]]}", text)
