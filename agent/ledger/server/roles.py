"""Roles in the database of a ledger: the script that makes them, and what a login has of them.

The server then refuses what the program alone would refuse otherwise: ``grants.sql`` says what to whom.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.resources import files

from agent.ledger.file.reading import Reading, Sight, where
from agent.ledger.file.revisions import VERSION_TABLE

EVERY = "*"  # in place of names of databases
TEAMS = "teams"  # table of the script: which databases a team owns


class Role(StrEnum):
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
    parts = [_fill("grants.sql", schema=schema)]
    parts += [_of_team(schema, team, databases) for team, databases in chosen.items()]
    return "\n".join([*parts, *_next_steps(schema, next(iter(chosen)))])


def _of_team(schema: str, team: str, databases: Sequence[str]) -> str:
    names = ", ".join(map(_text, databases))
    return _fill("team.sql", schema=schema, team=_identifier(team), team_text=_text(team), databases=names)


def _next_steps(schema: str, team: str) -> Iterator[str]:
    yield "-- Then make each login a member of one role and of its team, for example:"
    for role in (Role.AGENT, Role.APPROVER, Role.READER):
        yield f'--   GRANT "{role.of(schema)}", {_identifier(team)} TO "LOGIN OF {role.upper()}";'
    yield "-- Limit how many sessions a person's login may have: ALTER ROLE ... CONNECTION LIMIT 5;\n"


def _fill(name: str, **values: str) -> str:
    text = files(__package__).joinpath(name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace(f"@{key}@", value)
    return text


def _identifier(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _text(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"


def is_divided(reading: Reading, schema: str) -> bool:
    """Whether the script was run on this ledger."""
    made = where("nspname = ?", schema), where("proname = 'own_databases'")
    found = reading.scalar("SELECT 1 FROM pg_proc JOIN pg_namespace ON pg_namespace.oid = pronamespace", *made)
    return found is not None


def sight_of(reading: Reading) -> Sight:
    """What the login that reads can see; everything where the script was not run, or does not bind it."""
    if not reading.scalar("SELECT row_security_active('audit')"):
        return Sight.ALL
    if EVERY in reading.scalar("SELECT own_databases()"):
        return Sight.ALL
    agent = reading.scalar(f"SELECT pg_has_role(current_schema || '_{Role.AGENT}', 'USAGE')")
    return Sight.OWN_AND_CHAIN if agent else Sight.OWN


def role_faults(reading: Reading, schema: str, user: str, databases: Collection[str]) -> Iterator[tuple[str, str]]:
    """What a login lacks to be the agent of some databases, each with what gives it.

    Args:
        reading: of a ledger on which the script was run.
        schema: of it.
        user: the login that reads.
        databases: those that it is to work for.
    """
    agent = Role.AGENT.of(schema)
    if not reading.scalar(f"SELECT pg_has_role('{agent}', 'USAGE')"):  # [a-z0-9_] only
        yield f"membership in {agent}", f"GRANT {_identifier(agent)} TO {_identifier(user)};"
    owned = set(reading.scalar("SELECT own_databases()") or ())
    for name in sorted(set(databases) - owned) if EVERY not in owned else ():
        yield (
            f"a team that owns the database {name}",
            f"Run what this prints: hotplace ledger grants --team TEAM={name}",
        )
    unguarded = where("NOT relrowsecurity"), where(f"relname NOT IN ('{TEAMS}', '{VERSION_TABLE}')")
    tables = where("relnamespace = to_regnamespace(?)", schema), where("relkind IN ('r', 'p')")
    for row in reading.rows("SELECT relname FROM pg_class", *tables, *unguarded, then="ORDER BY relname"):
        yield f"grants on the table {row.relname}, which is newer", "Run what this prints: hotplace ledger grants"
