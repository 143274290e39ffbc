"""One table as a move needs to know it, with its keys and what hangs on it.

What indexes, constraints and triggers of a table say of themselves in the catalog, as texts that are compared. Pure.

A copy of a table has to have all of it: a constraint that is believed where it was not makes queries leave out rows, a
trigger with another path calls other functions.

Foreign keys: what each says, and the statements that drop it and add it again.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connectors.db2.names import Key, Part, identifier, readable
from connectors.db2.sessions import ReadSession, Row
from connectors.kit.contract import ObjectGone

OF_THE_SERVER = re.compile(r"SQL\d{15}")  # the name of a constraint to which no user has given one
_KINDS = {"P": "primary key", "U": "unique", "K": "check", "I": "functional dependency"}  # SYSCAT.TABCONST.TYPE
_DIGITS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """A row of SYSCAT.TABCONST with its columns, or its condition."""

    name: str
    definition: str

    @property
    def named(self) -> bool:
        """Whether a user has named it; the server's names are others after every copy."""
        return not OF_THE_SERVER.fullmatch(self.name)


def constraints_of(
    rows: Sequence[Row], checks: Sequence[Row], columns: Mapping[str, Sequence[str]]
) -> tuple[Constraint, ...]:
    """The constraints of a table.

    Args:
        rows: of ``sql/table_constraints.sql``.
        checks: of ``sql/table_checks.sql``.
        columns: of each key, by the name of its constraint.
    """
    conditions = {str(name): f"{kind} {_short(text)}" for name, kind, text in checks}
    found = []
    for name, kind, *others in rows:
        on = conditions.get(str(name)) or " ".join(columns.get(str(name), ()))
        words = [_KINDS.get(str(kind), str(kind)), on, *_of_constraint(others)]
        found.append(Constraint(name=str(name), definition=", ".join(filter(None, words))))
    return tuple(sorted(found, key=lambda each: (each.name, each.definition)))


def _of_constraint(row: Sequence[object]) -> Iterator[str]:
    owner, enforced, checked, optimized, trusted, period, policy, remarks = row
    yield f"owned by {owner}"
    yield {"Y": "enforced", "N": "not enforced"}.get(str(enforced), str(enforced))
    yield _of(trusted, {"Y": "trusted", "N": "not trusted"})
    yield "" if str(checked) == "I" else f"existing rows {checked}"
    yield "" if str(optimized) == "Y" else f"query optimization {optimized}"
    yield f"period {period} {policy}" if period else ""
    yield f"remarks {remarks}" if remarks else ""


def definition_of_trigger(row: Row) -> str:
    """Everything that a row of ``sql/table_triggers.sql`` says behind VALID."""
    owner, time, event, update, delete, insert, granularity, qualifier, path, schema, collation, text, remarks = row
    words = (
        f"owned by {owner}",
        f"{time}{event}{granularity}",
        "".join(str(each or "") for each in (update, delete, insert)),
        f"in {qualifier}" if qualifier else "",
        f"path {path}" if path else "",
        f"collation {schema}.{collation}" if collation else "",
        _short(text),
        f"remarks {remarks}" if remarks else "",
    )
    return ", ".join(filter(None, words))


def words_of_index(row: Sequence[object]) -> tuple[str, ...]:
    """What the last columns of ``sql/table_indexes.sql`` say, where it is not what every index has."""
    free, reverse, made_unique, entries, owner, remarks = row
    words = (
        f"pctfree {free}" if free is not None and int(str(free)) >= 0 else "",
        "" if str(reverse or "Y") == "Y" else "no reverse scans",
        "" if str(made_unique or "N") == "N" else "made unique",
        f"entries {entries}" if str(entries or "").strip() else "",
        f"owned by {owner}" if owner else "",
        f"remarks {remarks}" if remarks else "",
    )
    return tuple(filter(None, words))


def _of(value: object, words: Mapping[str, str]) -> str:
    return words.get(str(value or "").strip(), "")


def _short(text: object) -> str:
    """A text that may be long, as what tells it from another; blanks between words do not matter."""
    plain = " ".join(str(text or "").split())
    return f"text {hashlib.sha256(plain.encode()).hexdigest()[:_DIGITS]}" if plain else ""


Name = tuple[str, str]  # schema and table
ON_DELETE = {"C": " ON DELETE CASCADE", "N": " ON DELETE SET NULL", "R": " ON DELETE RESTRICT"}  # A: no action
ON_UPDATE = {"R": " ON UPDATE RESTRICT"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignKey:
    """One referential constraint as the catalog has it."""

    name: str
    child: Name
    columns: tuple[str, ...]
    parent: Name
    parent_columns: tuple[str, ...]
    on_delete: str = "A"  # SYSCAT.REFERENCES.DELETERULE
    on_update: str = "A"
    enforced: bool = True
    trusted: bool | None = (
        None  # where it is not enforced; None: no matter, or of a version that does not know the word
    )
    optimized: bool = True  # the optimizer may rely on it
    check: str = "I"  # SYSCAT.TABCONST.CHECKEXISTINGDATA of an enforced one; I: at once, as ADD CONSTRAINT does
    period: str = ""  # that it is defined by
    remarks: str = ""

    def __str__(self) -> str:
        """Its name, with that of its table, as a person writes them."""
        return f"{readable(self.name)} of {readable(self.child[0])}.{readable(self.child[1])}"

    @property
    def definition(self) -> str:
        """What follows its name in ALTER TABLE ... ADD CONSTRAINT."""
        return (
            f"FOREIGN KEY ({_list_names(self.columns)}) "
            f"REFERENCES {_qualify(self.parent)} ({_list_names(self.parent_columns)})"
            f"{ON_DELETE.get(self.on_delete, '')}{ON_UPDATE.get(self.on_update, '')}"
            f" {self._state}"
            f" {'ENABLE' if self.optimized else 'DISABLE'} QUERY OPTIMIZATION"
        )

    @property
    def _state(self) -> str:
        """Whether rows are checked, or else believed: a key that comes back TRUSTED makes queries leave out rows."""
        if self.enforced:
            return "ENFORCED"
        return "NOT ENFORCED" + {None: "", True: " TRUSTED", False: " NOT TRUSTED"}[self.trusted]

    @property
    def unwritten(self) -> str:
        """What of it would not come back with ``add``; "": all of it would."""
        lost = (
            (self.remarks, "a comment"),
            (self.period, f"the period {readable(self.period)}"),
            (self.enforced and self.check != "I", "rows that it has not checked"),
        )
        return " and ".join(what for applies, what in lost if applies)

    @property
    def drop(self) -> str:
        """The statement that drops it."""
        return f"ALTER TABLE {_qualify(self.child)} DROP CONSTRAINT {identifier(self.name)}"

    @property
    def add(self) -> str:
        """The statement that adds it again: every row of the child is checked where it is enforced."""
        return f"ALTER TABLE {_qualify(self.child)} ADD CONSTRAINT {identifier(self.name)} {self.definition}"


def read_keys(session: ReadSession, table: Name, doing: str) -> tuple[ForeignKey, ...]:
    """Foreign keys of the table and to it, by child and name.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows("foreign_keys", (*table, *table), doing=doing)
    return tuple(sorted(_keys(session, rows, doing), key=lambda key: (key.child, key.name)))


def _keys(session: ReadSession, rows: list[Row], doing: str) -> Iterator[ForeignKey]:
    for row in rows:
        schema, name, key, parent_schema, parent, parent_key, deleted, updated = row[:8]
        enforced, optimized, trusted, check, period, remarks = row[8:]
        yield ForeignKey(
            name=str(key),
            child=(str(schema), str(name)),
            columns=columns_of_key(session, (schema, name, key), doing),
            parent=(str(parent_schema), str(parent)),
            parent_columns=columns_of_key(session, (parent_schema, parent, parent_key), doing),
            on_delete=str(deleted),
            on_update=str(updated),
            enforced=enforced != "N",
            optimized=optimized != "N",
            trusted={"Y": True, "N": False}.get(str(trusted)),
            check=str(check or "I"),
            period=str(period or ""),
            remarks=str(remarks or ""),
        )


def columns_of_key(session: ReadSession, key: tuple[object, object, object], doing: str) -> tuple[str, ...]:
    """The columns of a key, by schema, table and constraint, in order.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return tuple(str(row[0]) for row in session.rows("key_columns", key, doing=doing))


def _qualify(table: Name) -> str:
    return f"{identifier(table[0])}.{identifier(table[1])}"


def _list_names(names: tuple[str, ...]) -> str:
    return ", ".join(map(identifier, names))


MADE_BY_SERVER = {  # SYSCAT.INDEXES.INDEXTYPE of indexes that no user names; as in indexes.sql
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
        """Those that a user made: units of their own."""
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
        # ADMIN_MOVE_TABLE makes its protocol with the first move: where there is none, nothing was ever moved.
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
