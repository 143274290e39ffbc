"""One table as a move needs to know it, and why ADMIN_MOVE_TABLE would not move it. The reasons are pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from connectors.db2.names import Key, Part
from connectors.db2.session import ReadSession

UNIQUE_RULES = frozenset({"P", "U"})


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A row of SYSCAT.TABLES and what hangs on it."""

    schema: str
    name: str
    kind: str  # SYSCAT.TABLES.TYPE
    status: str
    access: str
    space: str  # "" of a partitioned table
    index_space: str
    lob_space: str
    column_organised: bool
    temporal: bool
    unique: bool
    lobs: bool
    indexes: tuple[int, ...]  # table space number of each
    referred_by: int  # foreign keys of other tables
    refers_to: int
    materialized: int  # query tables that depend on it
    partitions: int


@dataclass(frozen=True, slots=True)
class MoveProtocol:
    """What SYSTOOLS.ADMIN_MOVE_TABLE says of one table; empty where nothing was ever begun."""

    status: str = ""
    authid: str = ""
    target: str = ""  # name of the table that is being filled
    warnings: str = ""
    original: str = ""
    copied_rows: int = 0

    @property
    def open(self) -> bool:
        """Begun and not finished: COMPLETE has a sister COMPLETE_WITH_WARNINGS."""
        return bool(self.status) and not self.status.startswith("COMPLETE")


def find_table(session: ReadSession, schema: str, name: str) -> TableFacts | None:
    """The table, None when there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    doing = f"looking up {schema}.{name}"
    rows = session.rows("table", (schema, name), doing=doing)
    if not rows:
        return None
    _, _, kind, status, access, space, index_space, long_space, _, organisation, temporal = rows[0]
    indexes = session.rows("table_indexes", (schema, name), doing=doing)
    references = session.rows("references", (schema, name, schema, name), doing=doing)
    dependents = session.rows("dependents", (schema, name), doing=doing)
    return TableFacts(
        schema=schema,
        name=name,
        kind=kind,
        status=status,
        access=access,
        space=space or "",
        index_space=index_space or space or "",
        lob_space=long_space or space or "",
        column_organised=organisation == "C",
        temporal=temporal not in (None, "", "N"),
        unique=any(row[5] in UNIQUE_RULES for row in indexes),
        lobs=bool(session.rows("table_lobs", (schema, name), doing=doing)),
        indexes=tuple(int(row[3]) for row in indexes),
        referred_by=sum((row[2], row[3]) == (schema, name) for row in references),
        refers_to=sum((row[0], row[1]) == (schema, name) for row in references),
        materialized=sum(row[2] == "S" for row in dependents),
        partitions=len(session.rows("table_partitions", (schema, name), doing=doing)),
    )


def find_table_of(session: ReadSession, key: Key) -> TableFacts | None:
    """The table that the unit is, or belongs to; None when either is gone.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if key.part is not Part.INDEX:
        return find_table(session, key.schema, key.name)
    rows = session.rows("index", (key.schema, key.name), doing=f"looking up {key}")
    return find_table(session, rows[0][0], rows[0][1]) if rows else None


def read_protocol(session: ReadSession, schema: str, name: str) -> MoveProtocol:
    """Where a move of the table stands. The protocol table does not exist before the first move of a database.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("move_protocol", (schema, name), doing=f"looking for a move of {schema}.{name}") or []
    return protocol_of([(str(row[0]), str(row[1] or "")) for row in rows])


def protocol_of(rows: Sequence[tuple[str, str]]) -> MoveProtocol:
    """The protocol as its rows say. Pure."""
    found = dict(rows)
    count = found.get("COPY_TOTAL_ROWS", "")
    return MoveProtocol(
        status=found.get("STATUS", ""),
        authid=found.get("AUTHID", ""),
        target=found.get("TARGET", ""),
        warnings=found.get("WARNINGS", ""),
        original=found.get("ORIGINAL", ""),
        copied_rows=int(count) if count.isdigit() else 0,
    )


def refusal(table: TableFacts) -> tuple[str, str] | None:
    """Code and sentence of why ADMIN_MOVE_TABLE would not move it, None when nothing is known against it."""
    name = f"{table.schema}.{table.name}"
    reasons = (
        (table.kind == "U", "typed_table", f"{name} is a typed table, which ADMIN_MOVE_TABLE does not move"),
        (table.kind != "T", "not_a_table", f"{name} is a materialized query table; drop and create it in the target"),
        (table.temporal, "temporal_table", f"{name} is a temporal table: its history would be parted from it"),
        (table.status != "N", "not_normal", f"{name} is in status {table.status}; SET INTEGRITY first"),
        (table.access != "F", "no_full_access", f"{name} is not fully accessible (ACCESS_MODE {table.access})"),
        (
            table.referred_by > 0,
            "referenced",
            f"{table.referred_by} foreign key(s) refer to {name}; move its table space instead",
        ),
        (
            table.refers_to > 0,
            "references",
            f"{name} has {table.refers_to} foreign key(s), which a move would lose; move its table space instead",
        ),
        (
            table.materialized > 0,
            "materialized",
            f"{table.materialized} materialized query table(s) depend on {name}; move its table space instead",
        ),
        (
            table.lobs and not table.unique,
            "lobs_need_unique_index",
            f"{name} has LOBs and no unique index, without which ADMIN_MOVE_TABLE cannot replay changes",
        ),
        (
            table.partitions > 1 or not table.space,
            "partitioned",
            f"{name} is partitioned: one partition moves with its table space",
        ),
    )
    return next(((code, sentence) for applies, code, sentence in reasons if applies), None)
