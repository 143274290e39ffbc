r"""How logins are made on a PostgreSQL, and which of the ways to its server lets them in.

One script for psql holds SCRAM verifiers (RFC 5803) in place of passwords, as psql's own \password sends them: what
is printed, run or logged gives no password away. psql reads it from its standard input, so another user of the system
can run a script that only its owner may read.
"""

from __future__ import annotations

import base64
import getpass
import hashlib
import hmac
import os
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr

from connectors.kit.contract import Clock, DriverMissing
from connectors.kit.setting_up import LoginAnswer, Tried, Wanted
from connectors.kit.settings import SecretSource

if TYPE_CHECKING:
    from psycopg.pq.abc import PGconn

SOCKET_FOLDER = "/var/run/postgresql"  # where servers of distributions listen; not /tmp, where anybody may
LOOPBACK = ("127.0.0.1", "localhost", "::1")
PORT = 5432
ITERATIONS = 4096  # PostgreSQL's own
SALT_BYTES = 16
TIMEOUT_SECONDS = 5
REFUSES_EXISTING = """\
DO $check$ BEGIN
  IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname IN ({names})) THEN
    RAISE EXCEPTION 'a role {shown} exists already and keeps its password'
      USING HINT = 'hotplace setup --force gives it a new one; --login and --mover name others.';
  END IF;
END $check$;
"""


class PostgresqlSetUp:
    """PostgreSQL's part of ``hotplace setup``."""

    administrator = "postgres"
    needs_host = False
    makes_logins = True
    before_it_runs = ""
    advice = (
        "Allow passwords for these logins in pg_hba.conf, for example "
        "`host all hotplace,hotplace_move 127.0.0.1/32 scram-sha-256`, and reload the server."
    )

    def script(self, wanted: Wanted, texts: Mapping[str, str], passwords: Mapping[str, SecretStr]) -> str:
        """As the protocol says; the scripts of privileges stand in it with their variables set."""
        driver()  # before any login is made: without it there is no way to try one
        parts = [
            "-- Makes the logins of hotplace in one transaction. Passwords are in it as verifiers only.",
            "\\set ON_ERROR_STOP on",
            "BEGIN;",
        ]
        if not wanted.replaces:
            names = ", ".join(map(_literal, wanted.logins))
            shown = " or ".join(wanted.logins).replace("'", "''").replace("%", "%%")
            parts.append(REFUSES_EXISTING.format(names=names, shown=shown))
        parts += [f"\\set login {_set(wanted.watcher)}", texts["postgresql-observe.sql"]]
        for owner in wanted.owners:
            for space in wanted.spaces:
                parts += [
                    f"\\set login {_set(wanted.mover)}",
                    f"\\set owner {_set(owner)}",
                    f"\\set space {_set(space)}",
                ]
                parts.append(texts["postgresql-move.sql"])
        for login in wanted.logins:
            parts.append(f"ALTER ROLE {_name(login)} PASSWORD {_literal(verifier(passwords[login]))};")
        return "\n".join([*parts, "COMMIT;", ""])

    def program(self, wanted: Wanted, administrator: str, *, asks: bool) -> tuple[str, ...]:
        """As the protocol says: psql, on this machine as the administrator's user of the system."""
        words = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", wanted.databases[0]]
        words += ["-p", str(wanted.port)] if wanted.port and wanted.port != PORT else []
        words += ["-h", wanted.host] if wanted.host else []
        words += [] if asks else ["-w"]
        if wanted.host and not wanted.host.startswith("/"):
            return (*words, "-U", administrator)
        if getpass.getuser() == administrator:
            return tuple(words)
        if os.geteuid() == 0:
            return ("runuser", "-u", administrator, "--", *words)
        return ("sudo", *(() if asks else ("-n",)), "-u", administrator, *words)

    def command(self, wanted: Wanted, administrator: str, script: str) -> str:
        """As the protocol says."""
        return f"{shlex.join(self.program(wanted, administrator, asks=True))} < {shlex.quote(script)}"

    def ways(
        self, wanted: Wanted, login: str, password: SecretSource, clock: Clock  # noqa: ARG002  # it needs no connector
    ) -> Sequence[Tried]:  # fmt: skip
        """As the protocol says: the socket first, then TCP; to another machine encrypted before unencrypted."""
        tried, secret = [], password.read()
        for settings in _candidates(wanted):
            tried.append(_try(settings, wanted.databases[0], login, secret))
            if tried[-1].admission is LoginAnswer.IN:
                break
        return tried


def driver() -> ModuleType:
    """psycopg, loaded with its first use.

    Raises:
        DriverMissing: it is not installed.
    """
    try:
        import psycopg
    except ImportError as error:
        from connectors.kit.registry import install_command

        raise DriverMissing(
            "the PostgreSQL driver psycopg is not installed", advice=f"Run: {install_command('postgresql')}"
        ) from error
    return psycopg


def verifier(password: SecretStr, salt: bytes | None = None) -> str:
    """What the server keeps of a password: ``SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>`` (RFC 5803)."""
    salt = secrets.token_bytes(SALT_BYTES) if salt is None else salt
    salted = hashlib.pbkdf2_hmac("sha256", password.get_secret_value().encode(), salt, ITERATIONS)
    stored = hashlib.sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"SCRAM-SHA-256${ITERATIONS}:{_base64(salt)}${_base64(stored)}:{_base64(server)}"


def _candidates(wanted: Wanted) -> Iterator[dict[str, Any]]:
    """Settings of each way that makes sense, the safest first."""
    port = {"port": wanted.port} if wanted.port and wanted.port != PORT else {}
    if not wanted.host:
        if Path(SOCKET_FOLDER, f".s.PGSQL.{wanted.port or PORT}").exists():
            yield {"host": SOCKET_FOLDER, **port}
        yield {"host": LOOPBACK[0], **port}
    elif wanted.host.startswith("/") or (wanted.host in LOOPBACK and not wanted.certificate):
        yield {"host": wanted.host, **port}
    elif wanted.certificate:
        yield {"host": wanted.host, **port, "sslmode": "verify-full", "sslrootcert": wanted.certificate}
    else:
        yield {"host": wanted.host, **port, "sslmode": "require"}
        yield {"host": wanted.host, **port}


def _try(settings: Mapping[str, Any], database: str, login: str, password: SecretStr) -> Tried:
    psycopg = driver()
    try:
        with psycopg.connect(
            **settings, dbname=database, user=login, password=password.get_secret_value(),
            connect_timeout=TIMEOUT_SECONDS,
        ) as connection:  # fmt: skip
            return Tried(settings=settings, admission=LoginAnswer.IN, how=_how(connection.pgconn))
    except psycopg.Error as error:
        refused = error.pgconn
        asked = refused is not None and refused.used_password
        words = " ".join(str(error).split())
    return Tried(settings=settings, admission=LoginAnswer.ASKED if asked else LoginAnswer.REFUSED, how=words)


def _how(connection: PGconn) -> str:
    """How a login was let in."""
    by = "password" if connection.used_password else "without a password (peer, trust or a certificate)"
    return f"{by}, encrypted" if connection.ssl_in_use else by


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _literal(text: str) -> str:
    """A literal of SQL, whatever standard_conforming_strings says."""
    quoted = text.replace("'", "''")
    return "E'" + quoted.replace("\\", "\\\\") + "'" if "\\" in quoted else f"'{quoted}'"


def _name(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _set(text: str) -> str:
    r"""A value of psql's \set, in which a backslash begins an escape."""
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
