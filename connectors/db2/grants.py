"""Which views of the catalog this login may not read, each with its GRANT: a RESTRICTIVE database gives PUBLIC none."""

from __future__ import annotations

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.db2.names import identifier
from connectors.db2.queries import query
from connectors.db2.session import ReadSession
from connectors.db2.settings import Db2Settings
from connectors.model import Finding, Severity

# A query of each view that none of doctor's own queries reads, and what is not known without it.
LOST = {
    "tables": "nothing can be sampled or planned",
    "indexes": "nothing can be sampled or planned",
    "partitions": "nothing can be sampled or planned",
    "index_partitions": "partitioned indexes are not seen",
    "lob_tables": "nothing can be planned",
    "storage_groups": "table spaces cannot be moved",
    "index_columns": "tables cannot be moved: their indexes could not be compared afterwards",
    "references": "tables cannot be moved: whether foreign keys forbid it is not known",
    "dependents": "tables cannot be moved: what is made of them is not known",
    "invalid_views": "tables with views cannot be moved: which are valid is not known",
    "table_triggers": "tables cannot be moved: their triggers are not known",
    "packages": "which packages have to be bound again after a table space has moved is not known",
    "table_grants": "tables cannot be moved: their grants could not be compared afterwards",
    "table_monitors": "tables cannot be moved: whether an event monitor writes to them is not known",
    "xml_schemas": "tables cannot be moved: whether XML schemas depend on them is not known",
    "history_of": "whether a table holds the history of another is not known",
}


def unreadable(session: ReadSession, settings: Db2Settings) -> list[Finding]:
    """A finding for each, or one that all is well.

    Raises:
        ConnectorError: the server did not answer.
    """
    found = []
    for name, lost in LOST.items():
        source = query(name).source
        try:
            session.select(f"SELECT 1 FROM {source} AS T WHERE 1 = 0", doing=f"trying {source}")  # noqa: S608  # ours
        except PrivilegeMissing:
            found.append(_missing(source, lost, settings))
        except (ObjectGone, StatementFailed):
            continue  # this version has no such view
    if found:
        return found
    return [Finding(severity=Severity.OK, code="catalog_views", sentence="every view of the catalog may be read")]


def _missing(source: str, lost: str, settings: Db2Settings) -> Finding:
    return Finding(
        severity=Severity.ERROR if lost.startswith("nothing") else Severity.WARNING,
        code="select_missing",
        sentence=f"{settings.user} may not read {source}: {lost}",
        remedy=f"GRANT SELECT ON {source} TO USER {identifier(settings.user.upper())}",
        values={"view": source},
    )
