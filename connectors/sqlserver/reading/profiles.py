"""What running queries read from disk at this moment, on demand: a remark for a person, never a figure of the heat.

``sys.dm_exec_query_profiles`` forgets a query when it ends, and before 2019 shows only those that are profiled. So it
is asked by the doctor, where the configuration wants it, once and not for long.
"""

from __future__ import annotations

from dataclasses import dataclass

from connectors.base import ConnectorError
from connectors.findings import Finding
from connectors.sqlserver.reading.keys import TABLE_INDEX, Name
from connectors.sqlserver.session.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

SINCE = 12
LONGEST_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class _Reading:
    """A row of ``sql/query_profiles.sql``, in its order."""

    object_id: int
    index_id: int
    schema: str | None  # None, as the other names: this login may not see it
    table: str | None
    index: str | None
    reads: int
    read_aheads: int
    rows: int
    estimated_rows: int
    sessions: int

    def finding(self) -> Finding:
        """Which object, and how far."""
        name = f"object_id {self.object_id}, index_id {self.index_id}"
        if self.schema is not None and self.table is not None:
            name = f"{Name(self.schema, self.table, self.index if self.index_id > TABLE_INDEX else None).key} ({name})"
        sentence = (
            f"{self.sessions} session(s) read {name} from disk right now: {self.reads} reads and {self.read_aheads} "
            f"read ahead so far, {self.rows} of an estimated {self.estimated_rows} rows"
        )
        values = {"object_id": str(self.object_id), "index_id": str(self.index_id)}
        return Finding.ok("query_profiles", sentence, values=values)


def profile_findings(major: int, settings: SqlserverSettings) -> tuple[Finding, ...]:
    """One finding for each object that is read most; none where it is not wanted or the version has no such view.

    Args:
        major: version of the server.
        settings: ``query_profiles`` says whether to ask; the look has a session with a time limit of its own.
    """
    if not settings.query_profiles or major < SINCE:
        return ()
    limited = settings.model_copy(update={"statement_timeout": min(LONGEST_SECONDS, settings.statement_timeout)})
    look = ReadSession(limited, name="hotplace query profiles")
    try:
        found = [_Reading(*row) for row in look.rows("query_profiles", doing="looking at running queries")]
    except ConnectorError as error:  # the rest of the doctor must not fail for want of a remark
        return (
            Finding.warning(
                "query_profiles_unseen",
                f"the reads of running queries are not known: {error}",
                error.advice or "Set query_profiles: false.",
            ),
        )
    finally:
        look.close()
    none = "no running query that the server profiles reads this database from disk right now"
    nothing = Finding.ok("query_profiles", none)
    return tuple(reading.finding() for reading in found) or (nothing,)
