"""What is granted to users of a Db2 for Linux, UNIX and Windows, and which of the ways to its server lets them in.

Db2 has no users of its own: they are those of the server's system, or of LDAP. So the script grants, and a person makes
the users with the passwords that are written beside it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import SecretStr

from connectors.db2.settings import Db2Settings
from connectors.kit.contract import Clock, Connector
from connectors.kit.setting_up import LoginAnswer, Tried, Wanted, require_plain, try_ways
from connectors.kit.settings import SecretSource

TIMEOUT_SECONDS = 5.0
PLAIN = re.compile(r"[A-Za-z][\w@#$]*")
HEAD = """\
-- What the users of hotplace may do here. Db2 takes users from its system or from LDAP: make them there first, with the
-- passwords of the files beside this one. On the server, as root, for {logins}:  useradd NAME && passwd NAME
"""
OF_SCHEMA = """\
GRANT CREATEIN, ALTERIN, DROPIN ON SCHEMA {schema} TO USER {mover};
-- and of each of its tables that may be moved:
--   GRANT SELECT, INSERT, ALTER, INDEX ON TABLE {schema}.ORDERS TO USER {mover};
"""


class Db2SetUp:
    """Db2's part of ``hotplace setup``, for Linux, UNIX and Windows."""

    administrator = "db2inst1"
    needs_host = True
    makes_logins = False
    before_it_runs = (
        "it grants and makes no user: make them on the server first, or in LDAP, with these passwords. The right to "
        "each table that may be moved, and SYSCTRL for whole table spaces, are comments in it: choose them yourself"
    )
    advice = (
        "The users have to be there with these passwords. A server that takes TLS only wants --certificate; Db2 for i "
        "and z/OS are configured by hand."
    )

    def __init__(self, connect: Callable[[Db2Settings, Clock], Connector]) -> None:
        self._connect = connect

    def script(
        self,
        wanted: Wanted,
        texts: Mapping[str, str],
        passwords: Mapping[str, SecretStr],  # noqa: ARG002  # users are made elsewhere
    ) -> str:
        """As the protocol says, without passwords; owners are schemas."""
        require_plain((*wanted.databases, *wanted.logins, *wanted.owners), PLAIN)
        names = {"HOTPLACE": wanted.watcher.upper(), "HOTMOVE": wanted.mover.upper()}
        observe = texts["db2-observe.sql"]
        parts = [HEAD.format(logins=" and ".join(wanted.logins))]
        parts.append(_for_users(observe, names))
        if wanted.mover:
            grants = [line for line in observe.splitlines() if line.startswith("GRANT")]
            parts.append(_for_users("\n".join(grants), {"HOTPLACE": names["HOTMOVE"]}))
            parts.append(_for_users(texts["db2-move.sql"], names))
            parts += [OF_SCHEMA.format(schema=schema.upper(), mover=names["HOTMOVE"]) for schema in wanted.owners]
        return "\n".join(parts)

    def command(self, wanted: Wanted, administrator: str, script: str) -> str:  # noqa: ARG002  # who runs db2 is it
        """As the protocol says: on the server, once for each database."""
        return " && ".join(
            f"db2 connect to {shlex.quote(name)} && db2 -tvf {shlex.quote(script)}" for name in wanted.databases
        )

    def ways(self, wanted: Wanted, login: str, password: SecretSource, clock: Clock) -> Sequence[Tried]:
        """As the protocol says: TLS if there is a certificate, else the password encrypted, then as the server asks."""
        at: dict[str, Any] = {"host": wanted.host, **({"port": wanted.port} if wanted.port else {})}
        own = {"dbname": wanted.databases[0], "user": login, "password": password, "connect_timeout": TIMEOUT_SECONDS}

        def connect(settings: Mapping[str, Any]) -> Connector:
            return self._connect(Db2Settings.model_validate({**settings, **own}), clock)

        if wanted.certificate:
            secure = {**at, "security": "SSL", "server_certificate": wanted.certificate}
            return try_ways([(secure, "password, encrypted, verified")], connect)
        first = {**at, "authentication": "SERVER_ENCRYPT"}, "password, itself encrypted, the rest not"
        tried = try_ways([first], connect)
        if tried[-1].admission is LoginAnswer.ASKED:  # a server that does not encrypt passwords answers so, too
            in_clear = "password, in the clear on the network if the server's authentication is SERVER"
            tried += try_ways([(at, in_clear)], connect)
        return tried


def _for_users(text: str, names: Mapping[str, str]) -> str:
    """A script of privileges for other users than those of its text."""
    return re.sub(r"\bTO USER (\w+)", lambda found: f"TO USER {names.get(found[1], found[1])}", text)
