"""One table as a move needs to know it: what it is, what hangs on it, and where a move of it stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.base import ObjectGone
from connectors.db2.reading.attributes import Constraint, constraints_of, definition_of_trigger, words_of_index
from connectors.db2.reading.keys import ForeignKey, columns_of_key, read_keys
from connectors.db2.reading.names import Key, Part, readable
from connectors.db2.session.sessions import ReadSession, Row

MADE_BY_SERVER = {  # SYSCAT.INDEXES.INDEXTYPE of indexes that nobody names; as in indexes.sql
    "BLOK": "block index",
    "DIM": "block index",
    "CPMA": "page map index",
    "MDST": "index of the system",
    "XPTH": "index of XML paths",
    "XRGN": "index of XML regions",
    "XVIP": "physical index of XML values",
}
UNIQUE_RULES = frozenset({"P", "U"})
MATERIALIZED, STAGING = "S", "T"  # SYSCAT.TABDEP.DTYPE
VIEWS = frozenset({"V", "W"})
LARGE = frozenset({"BLOB", "CLOB", "DBCLOB", "LONG VARCHAR", "LONG VARGRAPHIC", "XML"})
RIGHTS = ("CONTROL", "ALTER", "DELETE", "INDEX", "INSERT", "REFERENCES", "SELECT", "UPDATE")  # as in table_grants.sql
COLUMN_RIGHTS = {"U": "UPDATE", "R": "REFERENCES"}  # SYSCAT.COLAUTH.PRIVTYPE
LOAD_RUNS = "IN_PROGRESS"  # ADMIN_GET_TAB_INFO.LOAD_STATUS
_GRANTEES = {"U": "USER", "G": "GROUP", "R": "ROLE"}
_ORDER = {"A": "+", "D": "-", "I": "include "}  # SYSCAT.INDEXCOLUSE.COLORDER; others as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexFacts:
    """A row of SYSCAT.INDEXES with its columns."""

    name: str  # with its schema, as a person writes it
    space: int  # number of its table space
    rule: str  # UNIQUERULE
    kind: str = "REG"  # INDEXTYPE
    compressed: bool = False
    columns: tuple[str, ...] = ()  # "+ID", "-DAY", "include NAME"
    analysed: bool = False  # statistics were collected
    on_expression: bool = False
    others: tuple[str, ...] = ()  # what else the catalog says of it, see ``attributes``

    @property
    def made_by_server(self) -> bool:
        """Whether it comes and goes with its table, under a name that the server invents."""
        return self.kind in MADE_BY_SERVER


@dataclass(frozen=True, slots=True, kw_only=True)
class TableFacts:
    """A row of SYSCAT.TABLES and what hangs on it. Other objects are named with their schema, as a person writes it."""

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
    lobs: bool
    indexes: tuple[IndexFacts, ...]
    referred_by: int  # foreign keys of other tables
    refers_to: int
    partitions: int
    foreign_keys: tuple[ForeignKey, ...] = ()  # of it and to it
    materialized: tuple[str, ...] = ()  # query tables that depend on it
    views: tuple[str, ...] = ()
    invalid_views: frozenset[str] = frozenset()
    triggers: tuple[tuple[str, str], ...] = ()  # name, SYSCAT.TRIGGERS.VALID
    trigger_definitions: tuple[tuple[str, str], ...] = ()  # name, all else that the catalog says of it
    constraints: tuple[Constraint, ...] | None = ()  # keys and checks, foreign keys aside; None: may not be read
    monitors: tuple[str, ...] = ()  # event monitors that write to it
    history_of: str = ""  # the temporal table
    xml_schemas: tuple[str, ...] = ()
    staging: bool = False  # of a materialized query table
    access_control: str = ""  # R rows, C columns, B both
    label_protection: str = ""  # likewise, by security labels
    captured: bool = False  # for replication
    checks: int = 0  # check constraints
    generated: int = 0  # columns worked out from others
    owner: str = ""
    grants: tuple[str, ...] = ()  # "SELECT to ROLE READERS", "UPDATE of DAY to ..."; twice where it may be passed on
    analysed: bool = False  # statistics were collected
    available: bool = True  # this and what follows: as ``condition`` finds it
    reorg_pending: bool = False
    load_status: str = ""

    @property
    def named_indexes(self) -> tuple[IndexFacts, ...]:
        """Those that somebody made: units of their own."""
        return tuple(index for index in self.indexes if not index.made_by_server)

    @property
    def unique(self) -> bool:
        """Whether it has a unique index."""
        return any(index.rule in UNIQUE_RULES for index in self.indexes)


@dataclass(frozen=True, slots=True)
class MoveProtocol:
    """What SYSTOOLS.ADMIN_MOVE_TABLE says of one table; empty where nothing was ever begun."""

    status: str = ""
    authid: str = ""
    target: str = ""  # name of the table that is being filled
    warnings: str = ""
    copied_rows: int = 0
    original: str = ""  # name under which KEEP has left the old table

    @property
    def open(self) -> bool:
        """Begun and not finished: COMPLETE has a sister COMPLETE_WITH_WARNINGS."""
        return bool(self.status) and not self.status.startswith("COMPLETE")


def find_table(session: ReadSession, schema: str, name: str) -> TableFacts | None:
    """The table, None when there is none.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    me, doing = (schema, name), f"looking up {schema}.{name}"
    rows = session.rows("table", me, doing=doing)
    if not rows:
        return None
    references = session.rows("references", (*me, *me), doing=doing)
    triggers = session.rows("table_triggers", me, doing=doing)
    columns = session.rows("table_columns", me, doing=doing)
    return TableFacts(
        schema=schema,
        name=name,
        lobs=any(row[1] in LARGE for row in columns),
        generated=sum(row[2] in ("A", "D") and row[3] != "Y" for row in columns),
        indexes=_indexes(session, me, doing),
        referred_by=sum((row[2], row[3]) == me for row in references),
        refers_to=sum((row[0], row[1]) == me for row in references),
        foreign_keys=read_keys(session, me, doing) if references else (),
        partitions=len(session.rows("table_partitions", me, doing=doing)),
        triggers=tuple(sorted((qualified_name(row), str(row[2])) for row in triggers)),
        trigger_definitions=tuple(sorted((qualified_name(row), definition_of_trigger(row[3:])) for row in triggers)),
        constraints=_constraints(session, me, doing),
        monitors=tuple(sorted(str(row[0]) for row in session.rows("table_monitors", me, doing=doing))),
        history_of=", ".join(_qualified_names(session.optional_rows("history_of", me, doing=doing) or [])),
        xml_schemas=_qualified_names(session.rows("xml_schemas", me, doing=doing)),
        grants=_all_grants(session, me, doing),
        **_own(rows[0]),
        **_dependents(session, me, doing),
    )


def _constraints(session: ReadSession, table: tuple[str, str], doing: str) -> tuple[Constraint, ...] | None:
    """Its keys and checks."""
    rows = session.optional_rows("table_constraints", table, doing=doing)
    checks = session.optional_rows("table_checks", table, doing=doing)
    if rows is None or checks is None:
        return None
    keys = [str(row[0]) for row in rows if row[1] in UNIQUE_RULES]
    columns = {key: columns_of_key(session, (*table, key), doing) for key in keys}
    return constraints_of(rows, checks, columns)


def _own(row: Row) -> dict[str, Any]:
    """Fields of TableFacts from its row of SYSCAT.TABLES."""
    _, _, kind, status, access, space, index_space, long_space, _, organisation, temporal = row[:11]
    control, protection, capture, checks, owner, analysed = row[11:]
    return {
        "kind": kind,
        "status": status,
        "access": access,
        "space": space or "",
        "index_space": index_space or space or "",
        "lob_space": long_space or space or "",
        "column_organised": organisation == "C",
        "temporal": temporal not in (None, "", "N"),
        "access_control": control or "",
        "label_protection": protection or "",
        "captured": capture not in (None, "", "N"),
        "checks": int(checks or 0),
        "owner": owner or "",
        "analysed": analysed is not None,
    }


def _dependents(session: ReadSession, table: tuple[str, str], doing: str) -> dict[str, Any]:
    """Fields of TableFacts that tell what is made of it."""
    rows = session.rows("dependents", (*table, *table), doing=doing)
    views = _qualified_names(row for row in rows if row[2] in VIEWS)
    invalid = _qualified_names(session.rows("invalid_views", doing=doing)) if views else ()
    return {
        "materialized": _qualified_names(row for row in rows if row[2] == MATERIALIZED),
        "views": views,
        "invalid_views": frozenset(views) & frozenset(invalid),
        "staging": (*table, STAGING) in rows,
    }


def qualified_name(row: Row) -> str:
    """Schema and name of an object, as a person writes them."""
    return f"{readable(str(row[0]))}.{readable(str(row[1]))}"


def _qualified_names(rows: Iterable[Row]) -> tuple[str, ...]:
    return tuple(sorted(map(qualified_name, rows)))


def _all_grants(session: ReadSession, table: tuple[str, str], doing: str) -> tuple[str, ...]:
    """Of the whole table, and of single columns."""
    rows = session.rows("table_grants", table, doing=doing)
    given = [(right, how, row) for row in rows for right, how in zip(RIGHTS, row[2:], strict=True)]
    for row in session.rows("column_grants", table, doing=doing):
        right = f"{COLUMN_RIGHTS.get(row[3], row[3])} of {readable(row[2])}"
        given.append((right, "G" if row[4] == "G" else "Y", row))
    return _grants(given)


def _grants(given: Iterable[tuple[str, str, Row]]) -> tuple[str, ...]:
    """Each right with how it was given (Y: it is, G: and may be passed on) and a row that begins with to whom."""
    found = set()
    for right, how, (grantee, kind, *_) in given:
        said = f"{right} to {_GRANTEES.get(kind, kind)} {readable(grantee)}"
        found |= {"Y": {said}, "G": {said, f"{said} with grant option"}}.get(how, set())
    return tuple(sorted(found))


def _indexes(session: ReadSession, table: tuple[str, str], doing: str) -> tuple[IndexFacts, ...]:
    """Its indexes, by name."""
    columns: dict[str, list[str]] = {}
    for row in session.rows("index_columns", table, doing=doing):
        columns.setdefault(qualified_name(row), []).append(f"{_ORDER.get(row[3], row[3])}{readable(row[2])}")
    found = (
        IndexFacts(
            name=qualified_name(row),
            space=int(row[3]),
            rule=row[5],
            kind=row[6],
            compressed=row[7] == "Y",
            columns=tuple(columns.get(qualified_name(row), ())),
            analysed=row[8] is not None,
            on_expression=bool(row[9]),
            others=words_of_index(row[10:]),
        )
        for row in session.rows("table_indexes", table, doing=doing)
    )
    return tuple(sorted(found, key=lambda index: index.name))


def find_table_of(session: ReadSession, key: Key) -> TableFacts | None:
    """The table that the unit is, or belongs to; None when either is gone.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if key.part is not Part.INDEX:
        return find_table(session, key.schema, key.name)
    rows = session.rows("index", (key.schema, key.name), doing=f"looking up {key}")
    return find_table(session, rows[0][0], rows[0][1]) if rows else None


def packages_of(session: ReadSession, space: str) -> tuple[str, ...]:
    """Packages of static SQL that use a table of that table space; none where that may not be read, see doctor.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.optional_rows("packages", (space,), doing=f"looking for packages that use {space}")
    return _qualified_names(rows or [])


def read_protocol(session: ReadSession, schema: str, name: str) -> MoveProtocol:
    """Where a move of the table stands. The protocol table does not exist before the first move of a database.

    Raises:
        PrivilegeMissing: it is there and may not be read: then a move may be open, and nothing may begin.
        ConnectorError: another subclass that says what may be done.
    """
    try:
        rows = session.rows("move_protocol", (schema, name), doing=f"looking for a move of {schema}.{name}")
    except ObjectGone:
        rows = []
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
