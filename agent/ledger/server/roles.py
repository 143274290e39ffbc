"""Roles in the database of a ledger: the script that makes them, what a login has of them, and what the server lacks.

The server then refuses what the program alone would refuse otherwise: ``grants.sql`` says what to whom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files

from sqlalchemy import Boolean, Text, bindparam, column, func, select, table

from agent.config.models import LedgerServer
from agent.ledger.chain.events import events_json
from agent.ledger.rows import EVERY
from agent.ledger.store.database import Reading, Sight
from agent.ledger.store.schema import alembic_version, audit, given, metadata
from connectors.model.formatting import comment, commented

_PLACE = re.compile(r"@([a-z_]+)@")
TEAMS = "teams"  # table of the script: which databases a team owns


class LedgerRole(StrEnum):
    """What a login may be; the role's name is this after the schema's."""

    OWNER = "owner"
    READER = "reader"
    APPROVER = "approver"
    AGENT = "agent"

    def of(self, schema: str) -> str:
        """Its name in a cluster."""
        return f"{schema}_{self}"


def grants_script(schema: str, teams: Mapping[str, Sequence[str]]) -> str:
    """What an administrator runs to divide a ledger among roles.

    Args:
        schema: of the ledger, ``[a-z0-9_]`` only.
        teams: databases by team; none: one team that owns all.
    """
    chosen = teams or {f"{schema}_all": [EVERY]}
    parts = [_fill("grants.sql", schema=schema, events=events_json())]
    parts += [_of_team(schema, team, databases) for team, databases in chosen.items()]
    return "\n".join([*parts, *_next_steps(schema, next(iter(chosen)))])


def _of_team(schema: str, team: str, databases: Sequence[str]) -> str:
    names = ", ".join(map(_text, databases))
    return _fill("team.sql", schema=schema, team=_identifier(team), team_text=_text(team), databases=names)


def _next_steps(schema: str, team: str) -> Iterator[str]:
    yield comment("Then make each login a member of one role and of its team, for example:")
    for role in (LedgerRole.AGENT, LedgerRole.APPROVER, LedgerRole.READER):
        yield from commented([f'GRANT "{role.of(schema)}", {_identifier(team)} TO "LOGIN OF {role.upper()}";'])
    yield comment("Limit how many sessions a person's login may have: ALTER ROLE ... CONNECTION LIMIT 5;") + "\n"


def _fill(name: str, **values: str) -> str:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    return _PLACE.sub(lambda found: values[found[1]], text)  # at once: what is filled in is no place itself


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _text(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


# -- what a login has ------------------------------------------------------------------------------------------------

_SCHEMAS = table("pg_namespace", column("oid"), column("nspname", Text))
_FUNCTIONS = table("pg_proc", column("proname", Text), column("pronamespace"))
_CLASSES = table(
    "pg_class", column("relname", Text), column("relnamespace"), column("relkind", Text),
    column("relrowsecurity", Boolean),
)  # fmt: skip
_SCHEMA = select(_SCHEMAS.c.nspname).where(given(_SCHEMAS.c.nspname))
_DIVIDED = (
    select(_FUNCTIONS.c.proname)
    .join_from(_FUNCTIONS, _SCHEMAS, _SCHEMAS.c.oid == _FUNCTIONS.c.pronamespace)
    .where(given(_SCHEMAS.c.nspname), _FUNCTIONS.c.proname == "own_databases")
)
_BINDING = select(func.row_security_active(audit.name))
_OWN = select(func.own_databases())
_EVENT_KINDS = select(func.event_kinds())
_IS_AGENT = select(func.pg_has_role(func.current_schema().concat(f"_{LedgerRole.AGENT}"), "USAGE"))
_MEMBER = select(func.pg_has_role(bindparam("role", type_=Text), "USAGE"))
_UNGUARDED = (
    select(_CLASSES.c.relname)
    .where(_CLASSES.c.relnamespace == func.to_regnamespace(bindparam("schema", type_=Text)))
    .where(_CLASSES.c.relkind.in_(["r", "p"]), ~_CLASSES.c.relrowsecurity)
    .where(_CLASSES.c.relname.not_in([TEAMS, alembic_version.name]))
    .order_by(_CLASSES.c.relname)
)


def is_divided(reading: Reading, schema: str) -> bool:
    """Whether the script was run on this ledger."""
    return reading.first(_DIVIDED, nspname=schema) is not None


def owned_by(reading: Reading) -> frozenset[str] | None:
    """The databases of the teams of the login that reads; None: all, or the script was not run or does not bind it."""
    if not reading.scalar(_BINDING):
        return None
    own = frozenset(map(str, reading.scalar(_OWN)))
    return None if EVERY in own else own


def sight_of(reading: Reading) -> Sight:
    """What the login that reads can see; everything where the script was not run, or does not bind it."""
    if owned_by(reading) is None:
        return Sight.ALL
    return Sight.OWN_AND_CHAIN if reading.scalar(_IS_AGENT) else Sight.OWN


def role_faults(reading: Reading, schema: str, user: str, databases: Collection[str]) -> Iterator[tuple[str, str]]:
    """What a login lacks to be the agent of some databases, each with what gives it.

    Args:
        reading: of a ledger on which the script was run.
        schema: of it.
        user: the login that reads.
        databases: those that it is to work for.
    """
    # Where no database is configured people only look and decide.
    agent = (LedgerRole.AGENT if databases else LedgerRole.READER).of(schema)
    if not reading.scalar(_MEMBER, role=agent):
        yield f"membership in {agent}", f"GRANT {_identifier(agent)} TO {_identifier(user)};"
    owned = set(reading.scalar(_OWN) or ())
    for name in sorted(set(databases) - owned) if EVERY not in owned else ():
        yield (
            f"a team that owns the database {name}",
            f"Run what this prints: hotplace ledger grants --team TEAM={name}",
        )
    if reading.scalar(_EVENT_KINDS) != json.loads(events_json()):
        yield "the grants of this hotplace, which knows other events", "Run what this prints: hotplace ledger grants"
    for row in reading.rows(_UNGUARDED, schema=schema):
        yield f"grants on the table {row.relname}, which is newer", "Run what this prints: hotplace ledger grants"


# -- what may be wrong with the server -------------------------------------------------------------------------------

NEEDED = ("SELECT", "INSERT", "UPDATE", "DELETE")
MUST_BE_ON = ("fsync", "full_page_writes")
_MAY_CREATE_SCHEMA = select(func.has_database_privilege(func.current_database(), "CREATE"))
_MAY_CREATE = select(func.has_schema_privilege(bindparam("schema", type_=Text), "CREATE"))
_MAY = select(func.has_table_privilege(bindparam("table", type_=Text), bindparam("privilege", type_=Text)))
_SETTING = select(func.current_setting(bindparam("name", type_=Text)))


def missing_privileges(
    reading: Reading, server: LedgerServer, databases: Collection[str], *, made: bool
) -> list[tuple[str, str]]:
    """What the user lacks, each with the statement that gives it.

    Args:
        reading: of the ledger.
        server: whose user it is.
        databases: that the user works for.
        made: the tables are there.
    """
    schema, user = server.schema_name, f'"{server.user}"'
    if reading.first(_SCHEMA, nspname=schema) is None:
        may = reading.scalar(_MAY_CREATE_SCHEMA)
        statement = f'CREATE SCHEMA "{schema}" AUTHORIZATION {user};'
        return [] if may else [(f"CREATE on the database {server.dbname}", statement)]
    if not made:
        may = reading.scalar(_MAY_CREATE, schema=schema)
        return (
            [] if may else [(f"CREATE on the schema {schema}", f'GRANT CREATE, USAGE ON SCHEMA "{schema}" TO {user};')]
        )
    if is_divided(reading, schema):
        return list(role_faults(reading, schema, server.user, databases))
    return list(_on_tables(reading, schema, user))


def _on_tables(reading: Reading, schema: str, user: str) -> Iterator[tuple[str, str]]:
    for name in sorted(metadata.tables):
        for privilege in NEEDED:
            if not reading.scalar(_MAY, table=f'"{schema}".{name}', privilege=privilege):
                yield f"{privilege} on {schema}.{name}", f'GRANT {privilege} ON "{schema}".{name} TO {user};'


def why_read_only(reading: Reading) -> tuple[str, str]:
    """Why the ledger cannot be written, and the remedy; two "" where it can be."""
    if reading.scalar(select(func.pg_is_in_recovery())):
        return "is on a standby, which cannot be written", "Name the primary in ledger.postgresql.host."
    if reading.scalar(_SETTING, name="default_transaction_read_only") == "on":
        return (
            "begins its transactions read-only (default_transaction_read_only)",
            "Set default_transaction_read_only = off for its user in its database: ALTER ROLE ... IN DATABASE ... SET.",
        )
    return "", ""


def version_of(reading: Reading) -> str:
    """The version of the server in its own words."""
    return str(reading.scalar(_SETTING, name="server_version"))


def unsafe_settings(reading: Reading) -> list[tuple[str, str]]:
    """Settings with which the server forgets in a crash what it has acknowledged."""
    found = [(name, str(reading.scalar(_SETTING, name=name))) for name in MUST_BE_ON]
    return [(name, value) for name, value in found if value != "on"]
