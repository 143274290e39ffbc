"""Counters and texts of single statements, from the package cache of every member."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from connectors.base import Clock, ConnectorError, PrivilegeMissing
from connectors.db2.session.errors import EXECUTE_GIVES
from connectors.db2.session.sessions import ReadSession, Row
from connectors.findings import Finding, Remedy
from connectors.statements.counters import StatementCounters
from connectors.statements.summing import sum_by_id
from connectors.statements.texts import READING_TEXT, read_all

MILLISECONDS = 1e-3
SINCE = (11, 1)  # before, only sections have numbers, which change whenever a statement comes into the cache again


def read_statements(session: ReadSession, clock: Clock, most: int) -> StatementCounters:
    """See ``ReadsStatements``; of ``SINCE``. Counters have no epoch: what was evicted shows by smaller ones.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    taken_at, began = clock.now(), clock.monotonic()
    rows = session.rows("statements", doing="reading statements")
    return sum_by_id(
        _count_of(rows), most, taken_at=taken_at, epoch="", seconds_per_unit=MILLISECONDS,
        server_seconds=clock.monotonic() - began,
    )  # fmt: skip


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return read_all(ids, lambda id_: session.rows("statement_texts", (int(id_),), doing=READING_TEXT))


def findings_on(session: ReadSession, version: tuple[int, ...]) -> tuple[Finding, ...]:
    """Whether outcomes can say which statements a move made slower."""
    if version < SINCE:
        return (_unseen("statements have numbers of their own since Db2 11.1", "Nothing can be done on this release."),)
    try:
        session.rows("statements", doing="trying the package cache")
    except PrivilegeMissing as error:
        grant = "GRANT EXECUTE ON FUNCTION SYSPROC.MON_GET_PKG_CACHE_STMT TO the login that watches."
        remedy = error.advice or Remedy(grant, EXECUTE_GIVES.format("MON_GET_PKG_CACHE_STMT"))
        return (_unseen("this login may not read the package cache", remedy),)
    except ConnectorError as error:
        return (_unseen(f"the package cache cannot be read ({error})", error.advice),)
    return (Finding.ok("statements", "outcomes can say which statements became slower or faster"),)


def _count_of(rows: list[Row]) -> Iterator[tuple[object, ...]]:
    """Rows for ``sum_by_id``; a wait that a version does not tell is none."""
    for number, executions, took, pool, direct, prefetch, data, index in rows:
        waited = sum(int(each or 0) for each in (pool, direct, prefetch))
        yield number, executions, took, waited, int(data) + int(index)


def _unseen(why: str, remedy: str) -> Finding:
    said = f"{why}: outcomes cannot say which statements became slower or faster"
    return Finding.info("statements_unseen", said, remedy)
