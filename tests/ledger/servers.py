"""A private PostgreSQL that holds ledgers: one that every test finds empty, and databases of a test's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

import psycopg
from psycopg import sql

from agent.config.models import LedgerServer
from agent.demo.server import PrivateServer, private_server
from agent.ledger.server.database import ServerDatabase, bring_up_to_date
from agent.ledger.server.roles import grants_script
from agent.ledger.store.schema import metadata
from tests.labs.postgresql import installations, strategy_of_copies

TEMPLATE, SHARED = "ledger_template", "ledger_of_tests"
AGENT = "agent_of_tests"  # with the grants of an agent, for all databases: no owner, no superuser
SETTINGS = {
    "fsync": "off",  # nothing here survives the machine; what is durable is asked of synchronous_commit
    "autovacuum": "off",
    "shared_buffers": "64MB",  # with less, each copy of the template writes it all out
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_connections": "60",
}

_CREATE = sql.SQL("CREATE DATABASE {} TEMPLATE {} {}")
_RESTART = "SELECT setval(oid, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = %s::regnamespace"


@dataclass(slots=True)
class LedgerServers:
    """Databases on one server."""

    server: PrivateServer
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def place(self, dbname: str) -> LedgerServer:
        """The ledger in a database."""
        return LedgerServer(host=str(self.server.folder), dbname=dbname, user="postgres")

    def session(self, dbname: str = "postgres") -> psycopg.Connection:
        """A DBA's session, in autocommit."""
        return psycopg.connect(host=str(self.server.folder), user="postgres", dbname=dbname, autocommit=True)

    def emptied(self) -> LedgerServer:
        """The ledger that all tests share, without a row: quicker by a factor of ten than a database for each."""
        place = self.place(SHARED)
        tables = "".join(f"DELETE FROM {table.name};" for table in reversed(metadata.sorted_tables))
        with self.session(SHARED) as dba:
            dba.execute(f"SET search_path = {place.schema_name}; {tables}".encode())
            dba.execute(_RESTART, [place.schema_name])
        return place.model_copy(update={"user": AGENT})

    @contextmanager
    def database(self, template: str = TEMPLATE) -> Iterator[LedgerServer]:
        """A database with a ledger's empty tables; with ``template1`` one without any."""
        name = f"ledger_{next(self._numbers)}"
        with self.session() as dba:
            dba.execute(_CREATE.format(sql.Identifier(name), sql.Identifier(template), strategy_of_copies(dba)))
        try:
            yield self.place(name)
        finally:
            with self.session() as dba:
                dba.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def running_servers() -> Iterator[LedgerServers]:
    """The newest PostgreSQL of this machine, with the template."""
    newest = installations()[max(installations())]
    with private_server(newest, SETTINGS) as server:
        servers = LedgerServers(server)
        with servers.session() as dba:
            dba.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(TEMPLATE)))
        database = ServerDatabase(servers.place(TEMPLATE), busy_seconds=5.0)
        try:
            assert bring_up_to_date(database, create=True) == ""
        finally:
            database.close()
        with servers.session() as dba:
            dba.execute(_CREATE.format(sql.Identifier(SHARED), sql.Identifier(TEMPLATE), strategy_of_copies(dba)))
        with servers.session(SHARED) as dba:
            dba.execute(grants_script("hotplace", {}).encode())
            dba.execute(f"CREATE ROLE {AGENT} LOGIN; GRANT hotplace_agent, hotplace_all TO {AGENT}".encode())
        yield servers
