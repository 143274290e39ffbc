"""One relation as the catalog shows it now: what routes are made from and what inspect() believes."""

from __future__ import annotations

from dataclasses import dataclass

from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

INDEX, MATERIALIZED_VIEW = "i", "m"


ONE_STORAGE = "this is {}, where all tablespaces lie on the storage that the service chose: a move changes nothing"


@dataclass(frozen=True, slots=True)
class Relation:
    """A row of ``sql/relation.sql``, in its order."""

    oid: int
    schema: str
    name: str
    kind: str  # pg_class.relkind
    partition: bool
    persistence: str  # pg_class.relpersistence
    mapped: bool
    system: bool
    space_oid: int
    space: str
    target_oid: int | None  # None: no tablespace has the target's name
    exclusion: bool
    valid: bool
    table_oid: int
    table_key: str  # of an index the table that it belongs to, else its own
    table_space: str
    table_bytes: int  # of its main fork, which an index is built from; an estimate while it is locked
    indexes: int
    bytes: int | None  # None: dropped while we asked
    file: str | None  # relative to the data directory
    data_directory: str | None  # None: this login may not know it
    wal_level: str
    standby: bool
    system_identifier: int
    deadlock_seconds: float  # deadlock_timeout: who waits for a lock longer than that makes autovacuum give way
    service: str  # managed service that runs the server; "": none that is known


def find_relation(session: ReadSession, key: str, space: str) -> Relation | None:
    """The relation of that key, None when there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("relation"), {"key": key, "space": space}, doing=f"looking up {key}")
    return Relation(*rows[0]) if rows else None
