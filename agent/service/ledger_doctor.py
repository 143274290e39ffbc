"""What doctor says of the ledger: which one it is, and whether it can be written and keeps what it was given."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path

from agent.config.ledger import LedgerConfig, LedgerServer
from connectors.base import HotplaceError
from connectors.findings import Finding, Remedy
from connectors.installing import install_command

TIMEOUT_SECONDS = 5.0  # for a lock; doctor asks for none that is ever kept long


def ledger_findings(config: LedgerConfig, databases: Collection[str] = ()) -> Iterator[Finding]:
    """Every finding about the ledger; on a server also whether its teams own these databases."""
    if config.postgresql is None:
        yield ledger_finding(config.path)
        return
    try:
        yield from _server_findings(config.postgresql, databases)
    except ModuleNotFoundError:
        remedy = install_command("postgresql")
        yield Finding.error("ledger_server", "a ledger on PostgreSQL needs psycopg", remedy)
    except HotplaceError as error:
        yield Finding.error("ledger_server", str(error), error.advice, values={"ledger": config.postgresql.name})


def ledger_finding(path: Path) -> Finding:
    """Whether the ledger can be written where the configuration puts it."""
    try:
        if path.exists():
            with path.open("r+b"):
                pass
        # The folder too: SQLite makes files of its own next to the ledger (-wal, -shm).
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        return Finding.error(
            "ledger_path",
            f"the ledger {path} cannot be written: {error.strerror}",
            f"Make {path.parent} a folder that the user of hotplace may write to, or change ledger.path.",
            values={"path": str(path)},
        )
    return Finding.ok("ledger_path", f"the ledger {path} can be written")


def _server_findings(server: LedgerServer, databases: Collection[str]) -> Iterator[Finding]:
    """Version, privileges, and whether what the server has acknowledged survives its machine."""
    from agent.ledger.server.database import ServerDatabase
    from agent.ledger.server.opening import read_revision
    from agent.ledger.server.roles import may_write, missing_privileges, unsafe_settings, version_of

    with closing(ServerDatabase(server, busy_seconds=TIMEOUT_SECONDS)) as database:
        revision = read_revision(database)
        with database.read() as reading:
            version = version_of(reading)
            missing = missing_privileges(reading, server, databases, made=bool(revision))
            unsafe = unsafe_settings(reading)
            writable = may_write(reading)
    values = {"ledger": server.name, "version": version, "revision": revision}
    yield Finding.ok(
        "ledger_server", f"the ledger is {server.name}, PostgreSQL {version}, tables {revision or 'not made yet'}",
        values=values,
    )  # fmt: skip
    for privilege, statement in missing:
        remedy = Remedy(statement, f"{privilege}, on the server of the ledger")
        yield Finding.error("ledger_privilege", f"the user {server.user} lacks {privilege} for the ledger", remedy)
    if not writable:
        yield Finding.error(
            "ledger_read_only", f"the ledger {server.name} is on a standby, which cannot be written",
            "Name the primary in ledger.postgresql.host.",
        )  # fmt: skip
    for setting, value in unsafe:
        yield Finding.warning(
            "ledger_durability",
            f"the server of the ledger runs with {setting} = {value}: after a crash an intent may be missing",
            f"Set {setting} = on, unless its storage makes up for it.",
        )
