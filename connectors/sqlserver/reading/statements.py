"""Counters and texts of single statements, from Query Store.

It keeps means by interval; times their executions they are totals, added up since the day began, so that the cost does
not grow with what the store keeps. The day is the epoch: once a day an interval is lost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connectors.base import Clock, PrivilegeMissing
from connectors.findings import Finding
from connectors.sqlserver.session.sessions import ReadSession
from connectors.statements.counters import StatementCounters
from connectors.statements.summing import sum_by_id
from connectors.statements.texts import READING_TEXT, read_all

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


def findings_on(session: ReadSession) -> tuple[Finding, ...]:
    """Whether outcomes can say which statements a move made slower.

    Raises:
        ConnectorError: the server did not answer.
    """
    if session.major < SINCE:
        return (_unseen("Query Store came with SQL Server 2016", "Nothing can be done on this release."),)
    try:
        state = session.rows("statements_state", doing="looking at Query Store")
    except PrivilegeMissing as error:
        return (_unseen("this login may not read Query Store", error.advice),)
    if not state or state[0][0] not in KEEPS:
        was = state[0][0] if state else "OFF"
        remedy = "ALTER DATABASE CURRENT SET QUERY_STORE = ON (OPERATION_MODE = READ_WRITE);"
        return (_unseen(f"Query Store is {was} in this database", remedy),)
    return (Finding.ok("statements", "outcomes can say which statements became slower or faster"),)


def _unseen(why: str, remedy: str) -> Finding:
    said = f"{why}: outcomes cannot say which statements became slower or faster"
    return Finding.info("statements_unseen", said, remedy)


def _id(hashed: bytes) -> str:
    """As SQL Server writes it: 0x and 16 digits."""
    return f"0x{bytes(hashed).hex().upper()}"
