"""What this login may not read of the catalog or do in a move, each with its GRANT.

A RESTRICTIVE database gives PUBLIC no view of the catalog. Rights to move are reported only if they were granted to
the user itself or to PUBLIC: those of its groups and roles cannot be seen.
"""

from __future__ import annotations

from collections.abc import Mapping

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.db2.reading.names import identifier, readable
from connectors.db2.reading.storage import NEVER_TOUCHED
from connectors.db2.session.errors import SELECT_GIVES
from connectors.db2.session.queries import query
from connectors.db2.session.sessions import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.findings import Finding, Remedy, Severity

UNLESS = "unless a group or role grants it"
SQLADM_GIVES = "moves of every table, and all commands that monitor and tune the database"
SHOWN = 5  # GRANTs in one remedy
SCRIPT = "see db2-move.sql (hotplace deploy privileges --engine db2)"
PERMANENT = frozenset({"A", "L"})  # SYSCAT.TABLESPACES.DATATYPE

# A query of each view that none of doctor's own queries reads, and what is not known without it.
LOST = {
    "tables": "sampling and planning are impossible",
    "indexes": "sampling and planning are impossible",
    "partitions": "sampling and planning are impossible",
    "index_partitions": "partitioned indexes are not seen",
    "lob_tables": "planning is impossible",
    "storage_groups": "table spaces cannot be moved",
    "index_columns": "tables cannot be moved: their indexes could not be compared afterwards",
    "table_constraints": "tables cannot be moved: their keys and checks could not be compared afterwards",
    "table_checks": "tables cannot be moved: their checks could not be compared afterwards",
    "key_columns": "tables cannot be moved: the columns of their keys are not known",
    "references": "tables cannot be moved: whether foreign keys forbid it is not known",
    "dependents": "tables cannot be moved: what is made of them is not known",
    "invalid_views": "tables with views cannot be moved: which are valid is not known",
    "table_triggers": "tables cannot be moved: their triggers are not known",
    "packages": "which packages have to be bound again after a table space has moved is not known",
    "table_grants": "tables cannot be moved: their grants could not be compared afterwards",
    "column_grants": "tables cannot be moved: their grants on columns could not be compared afterwards",
    "table_monitors": "tables cannot be moved: whether an event monitor writes to them is not known",
    "xml_schemas": "tables cannot be moved: whether XML schemas depend on them is not known",
    "history_of": "whether a table holds the history of another is not known",
}
ESSENTIAL = frozenset({"tables", "indexes", "partitions", "lob_tables"})  # without one of these nothing is planned


def probed() -> Mapping[str, str]:
    """Views that are tried, each with the query that says what is lost: of two queries the one that reads it first."""
    first = {query(name).source: name for name in reversed(LOST)}
    return first | {source: name for name in LOST for source in query(name).sources if source not in first}


def unreadable(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """A finding for each, or one that all is well.

    Raises:
        ConnectorError: the server did not answer.
    """
    found = []
    for source, name in probed().items():
        lost = LOST[name]
        try:
            session.select(f"SELECT 1 FROM {source} AS T WHERE 1 = 0", doing=f"trying {source}")  # noqa: S608  # ours
        except PrivilegeMissing:
            found.append(_missing(source, lost, settings, essential=name in ESSENTIAL))
        except (ObjectGone, StatementFailed):
            continue  # this version has no such view
    if found:
        return found
    return [Finding.ok("catalog_views", "every view of the catalog may be read")]


def moving_rights(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """Whether this user may call ADMIN_MOVE_TABLE, and make the new table where it is to go.

    Raises:
        ConnectorError: the server did not answer.
    """
    me, user = settings.user.upper(), identifier(settings.user.upper())
    sqladm = Remedy(f"GRANT SQLADM ON DATABASE TO USER {user}; {SCRIPT}", SQLADM_GIVES)
    rows = session.optional_rows("authorities", (me,), doing="looking at authorities")
    if rows is None:
        sentence = f"SYSCAT.DBAUTH does not answer: whether {settings.user} may move anything shows when it tries"
        return [_lacks("may_move_unknown", sentence, sqladm)]
    administers, moves, creates = (any(row[at] == "Y" for row in rows) for at in range(3))
    if not administers and not moves:
        sentence = f"{settings.user} itself has neither SQLADM nor DBADM: it may watch, and moves are refused {UNLESS}"
        return [_lacks("may_not_move", sentence, sqladm)]
    may = Finding.ok("may_move_tables", f"{settings.user} may call ADMIN_MOVE_TABLE")
    found = [may]
    if not administers and not creates:
        sentence = f"{settings.user} may not make the new table that ADMIN_MOVE_TABLE fills, {UNLESS}"
        remedy = Remedy(f"GRANT CREATETAB ON DATABASE TO USER {user}", "tables of its own in this database")
        found.append(_lacks("createtab_missing", sentence, remedy))
    return found if administers else [*found, *_uses(session, settings)]


def _uses(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """Table spaces that no table of this user could be made in; DBADM may use every one."""
    me = settings.user.upper()
    allowed = session.optional_rows("space_uses", (me,), doing="looking at table spaces")
    spaces = [str(row[1]) for row in session.rows("spaces", doing="looking at table spaces") if row[3] in PERMANENT]
    known = {str(row[0]) for row in allowed or []}
    shut = [name for name in sorted(spaces) if name not in known and name not in NEVER_TOUCHED]
    if allowed is None or not shut:
        return []
    listed = ", ".join(map(readable, shut[:SHOWN])) + (", ..." if len(shut) > SHOWN else "")
    grants = (f"GRANT USE OF TABLESPACE {identifier(name)} TO USER {identifier(me)}" for name in shut[:SHOWN])
    sentence = f"{settings.user} may not move tables into {listed}, {UNLESS}"
    return [_lacks("use_missing", sentence, Remedy("; ".join(grants), "the room in these table spaces"))]


def _lacks(code: str, sentence: str, remedy: str) -> Finding:
    return Finding.warning(code, sentence, remedy, about_moving=True)


def _missing(source: str, lost: str, settings: Db2Settings, *, essential: bool) -> Finding:
    return Finding(
        severity=Severity.ERROR if essential else Severity.WARNING,
        code="select_missing",
        sentence=f"{settings.user} may not read {source}: {lost}",
        remedy=Remedy(
            f"GRANT SELECT ON {source} TO USER {identifier(settings.user.upper())}", SELECT_GIVES.format(source)
        ),
        values={"view": source},
    )
