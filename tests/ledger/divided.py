"""A ledger on a server that is divided among roles, with two teams, and a simulated site whose agent works on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql

from agent.config.models import LedgerServer
from agent.ledger.chain.links import CREATED, GENESIS, link_hash
from agent.ledger.chain.signed import ApprovalRule
from agent.ledger.ledger import Ledger
from agent.ledger.server.roles import grants_script
from agent.ledger.store.schema import instant, microseconds
from agent.model.signatures import Signers
from tests.keys import Person
from tests.ledger.clock import StillClock
from tests.ledger.servers import LedgerServers
from tests.simulation.site import Site
from tests.unit.samples import a_move, a_proposal

TEAMS = {"sales": ["sim"], "hr": ["pay"]}
ROLES = ("reader", "approver", "agent")
SECRET = "payroll_of_directors"  # in a statement of the other team
_DUMP = "SELECT coalesce(string_agg(t::text, ''), '') FROM {} AS t"


def user_of(team: str, role: str) -> str:
    """A login of a team in a role."""
    return f"{team}_{role}"


@dataclass(slots=True)
class DividedLedger:
    """One database of it."""

    servers: LedgerServers
    dbname: str
    folder: Path
    signers: Path

    def place(self, user: str) -> LedgerServer:
        """The ledger as one of its logins reaches it."""
        return self.servers.place(self.dbname).model_copy(update={"user": user})

    @contextmanager
    def session(self, user: str = "postgres") -> Iterator[psycopg.Connection]:
        """Raw SQL with a login's password; what fails leaves the session usable."""
        host = str(self.servers.server.folder)
        with psycopg.connect(host=host, user=user, dbname=self.dbname, autocommit=True) as session:
            session.execute("SET search_path = hotplace, public")
            yield session

    @contextmanager
    def ledger(self, user: str, clock: StillClock | Any) -> Iterator[Ledger]:
        """The ledger as hotplace opens it for a login."""
        rule = ApprovalRule(Signers(self.signers))
        with Ledger.open(self.place(user), clock, anchors=self.folder / f"{user}.anchors", rule=rule) as ledger:
            yield ledger

    def config(self, user: str) -> str:
        """The part of a configuration."""
        host = self.servers.server.folder
        return f"{{postgresql: {{host: {host}, dbname: {self.dbname}, user: {user}}}, anchors: {user}.anchors}}"


@contextmanager
def divided_ledger(servers: LedgerServers, folder: Path, person: Person) -> Iterator[DividedLedger]:
    """A database of its own with the roles and logins of two teams, which are gone at the end."""
    with servers.database() as place:
        try:
            yield _make_divided(servers, place.dbname, folder, person)
        finally:
            names = ", ".join(user_of(team, role) for team in TEAMS for role in ROLES)
            with servers.session(place.dbname) as dba:
                dba.execute(f"DROP OWNED BY {names}; DROP ROLE {names}".encode())


def _make_divided(servers: LedgerServers, dbname: str, folder: Path, person: Person) -> DividedLedger:
    """Each team with an agent that proposes; hr's proposal holds the secret."""
    signers = folder / "allowed_signers"
    signers.write_text(person.line)
    made = DividedLedger(servers, dbname, folder, signers)
    with made.session() as dba:
        dba.execute(grants_script("hotplace", TEAMS).encode())
        dba.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")  # as before PostgreSQL 15
        for team, role in ((team, role) for team in TEAMS for role in ROLES):
            login, granted = sql.Identifier(user_of(team, role)), sql.Identifier(f"hotplace_{role}")
            dba.execute(sql.SQL("CREATE ROLE {} LOGIN").format(login))
            dba.execute(sql.SQL("GRANT {}, {} TO {}").format(granted, sql.Identifier(team), login))
    clock = StillClock()
    with made.ledger("hr_agent", clock) as ledger:
        ledger.audit.record(CREATED, "hotplace")
        move = a_move(key=f"public.{SECRET}")
        ledger.proposals.store(a_proposal(move, database="pay"))
        ledger.state.save_document("pay", "status", {"unit": SECRET})
    return made


def watched_site(divided: DividedLedger) -> Site:
    """A site whose agent has watched and proposed; nobody has signed yet."""
    site = Site(divided.folder, signers=divided.signers, ledger=divided.config("sales_agent"), busy_seconds=0.5)
    with site.agent() as (watch, _):
        site.observe(watch)
        planning = watch.plan()
        assert planning is not None
        assert watch.propose(planning) is not None
    return site


def tables(session: psycopg.Connection) -> list[str]:
    """The tables of the ledger; not the partitions of one, which are reached by it alone."""
    found = session.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'hotplace'::regnamespace AND relkind IN ('r', 'p') "
        "AND NOT relispartition ORDER BY 1"
    )
    return [name for (name,) in found]


def read_all(session: psycopg.Connection, table: str) -> str:
    """Everything in a table that the login may see."""
    row = session.execute(sql.SQL(_DUMP).format(sql.Identifier(table))).fetchone()
    assert row is not None
    return str(row[0])


def chain_row(session: psycopg.Connection, event: str, subject: str, facts: str, **changes: Any) -> None:
    """Append to the chain as hotplace would, but for some columns: the hash fits them unless it is one of them."""
    head = session.execute("SELECT last_id, hash, at FROM audit_head").fetchone() or (0, GENESIS, 0)
    row = {
        "id": head[0] + 1, "at": instant(head[2]), "actor": "forger", "event": event, "subject": subject,
        "facts": facts, "previous": head[1], **changes,
    }  # fmt: skip
    row = {"hash": link_hash(row), **row, "at": microseconds(row["at"])}
    columns = sql.SQL(", ").join(map(sql.Identifier, row))
    marks = sql.SQL(", ").join(sql.Placeholder() for _ in row)
    insert = sql.SQL("INSERT INTO audit ({}) VALUES ({})").format(columns, marks)
    session.execute(insert, list(row.values()))
