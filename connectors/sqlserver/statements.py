"""Counters and texts of statements, and what running queries read at this moment.

``read_statements`` and ``read_texts`` use Query Store, which keeps means per interval. Means times executions are
totals. They are added up since the day began, so that the cost does not grow with what the store keeps. The day is the
epoch: once a day, an interval is lost.

``profile_findings`` shows what running queries read from disk at this moment: a remark for a person, never a figure of
the heat. ``sys.dm_exec_query_profiles`` forgets a query when it ends, and before 2019 shows only profiled queries. So
only the doctor asks it, if the configuration wants it, once and not for long.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass

from connectors.kit.checks import CheckCase, DoctorCheck, Facts, unseen_statements
from connectors.kit.contract import Clock, ConnectorError, PrivilegeMissing
from connectors.kit.counters import sum_by_id
from connectors.kit.findings import Severity
from connectors.kit.statements import READING_TEXT, StatementCounters, read_all
from connectors.sqlserver.keys import TABLE_INDEX, Name
from connectors.sqlserver.sessions import ReadSession
from connectors.sqlserver.settings import SqlserverSettings

SINCE, WAITS_SINCE = 13, 14  # versions
KEEPS = frozenset({"READ_WRITE"})  # READ_ONLY: what it has stays, and nothing is added
MICROSECONDS = 1e-6
_PER_MILLISECOND = 1000


def read_statements(session: ReadSession, clock: Clock, most: int) -> StatementCounters | None:
    """See ``ReadsStatements``; None where Query Store does not write.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if session.major < SINCE:
        return None
    taken_at, began = clock.now(), clock.monotonic()
    state = session.rows("statements_state", doing="looking at Query Store")
    if not state or state[0][0] not in KEEPS:
        return None
    _, keeps_waits = state[0]
    today = taken_at.strftime("%Y-%m-%d")
    waits: dict[bytes, float] | None = None
    if keeps_waits == "ON" and session.major >= WAITS_SINCE:
        found = session.rows("statement_waits", today, doing="reading waits of statements")
        waits = {bytes(hashed): float(milliseconds) * _PER_MILLISECOND for hashed, milliseconds in found}
    rows = session.rows("statements", today, doing="reading statements")
    return sum_by_id(
        (
            (_id(hashed), ran, took, None if waits is None else waits.get(bytes(hashed), 0.0), pages)
            for hashed, ran, took, pages in rows
        ),
        most, taken_at=taken_at, epoch=today, seconds_per_unit=MICROSECONDS,
        server_seconds=clock.monotonic() - began,
    )  # fmt: skip


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return read_all(
        ids if session.major >= SINCE else (),
        lambda id_: session.rows("statement_texts", bytes.fromhex(id_[2:]), doing=READING_TEXT),
        quoted_names=False,
    )


def statement_facts(session: ReadSession) -> Facts:
    """Whether outcomes can say which statements a move made slower, for ``STATEMENTS``.

    Raises:
        ConnectorError: the server did not answer.
    """
    if session.major < SINCE:
        return unseen_statements("Query Store came with SQL Server 2016", "Nothing can be done on this release.")
    try:
        state = session.rows("statements_state", doing="looking at Query Store")
    except PrivilegeMissing as error:
        return unseen_statements("this login may not read Query Store", error.advice)
    if not state or state[0][0] not in KEEPS:
        was = state[0][0] if state else "OFF"
        remedy = "ALTER DATABASE CURRENT SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE);"
        return unseen_statements(f"Query Store is {was} in this database", remedy)
    return unseen_statements("", "")


def _id(hashed: bytes) -> str:
    """As SQL Server writes it: 0x and 16 digits."""
    return f"0x{bytes(hashed).hex().upper()}"


PROFILES_SINCE = 12
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

    def facts(self) -> Facts:
        """Which object, and how far."""
        name = f"object_id {self.object_id}, index_id {self.index_id}"
        if self.schema is not None and self.table is not None:
            name = f"{Name(self.schema, self.table, self.index if self.index_id > TABLE_INDEX else None).key} ({name})"
        return {"failed": "", "name": name, **asdict(self)}


PROFILES = DoctorCheck(
    "profiles",
    (
        CheckCase(Severity.WARNING, "query_profiles_unseen", "the reads of running queries are not known: {failed}",
                  "{remedy}", when="failed"),
        CheckCase(Severity.OK, "query_profiles", "no running query that the server profiles reads this database from "
                  "disk right now", unless="name"),
        CheckCase(Severity.OK, "query_profiles",
                  "{sessions} session(s) read {name} from disk right now: {reads} reads and {read_aheads} read ahead "
                  "so far, {rows} of an estimated {estimated_rows} rows",
                  values={"object_id": "{object_id}", "index_id": "{index_id}"}),
    ),
)  # fmt: skip


def profile_facts(major: int, settings: SqlserverSettings) -> tuple[Facts, ...]:
    """Facts on each object that is read most; none where it is not wanted or the version has no such view.

    Args:
        major: version of the server.
        settings: ``query_profiles`` says whether to ask; the look has a session with a time limit of its own.
    """
    if not settings.query_profiles or major < PROFILES_SINCE:
        return ()
    limited = settings.model_copy(update={"statement_timeout": min(LONGEST_SECONDS, settings.statement_timeout)})
    look = ReadSession(limited, name="hotplace query profiles")
    try:
        found = [_Reading(*row) for row in look.rows("query_profiles", doing="looking at running queries")]
    except ConnectorError as error:  # the rest of the doctor must not fail for want of a remark
        return ({"failed": error, "remedy": error.advice or "Set query_profiles: false."},)
    finally:
        look.close()
    return tuple(reading.facts() for reading in found) or ({"failed": "", "name": ""},)
