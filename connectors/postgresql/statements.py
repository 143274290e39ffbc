"""Counters and texts of single statements, by the extension pg_stat_statements where it is installed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np

from connectors.kit.checks import Facts, unseen_statements
from connectors.kit.contract import Clock
from connectors.kit.findings import Remedy
from connectors.kit.statements import StatementCounters, without_literals
from connectors.postgresql.rights import MONITOR_GIVES
from connectors.postgresql.sessions import ReadSession, in_extension, query

OLDEST = (1, 9)  # version of the extension
_LOAD = "Add pg_stat_statements to shared_preload_libraries and restart the server"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtensionPlace:
    """Where the extension is."""

    schema: str  # quoted
    version: tuple[int, ...]
    loaded: bool
    sees_others: bool

    @property
    def usable(self) -> bool:
        """Whether it answers, with the columns that are read."""
        return self.loaded and self.version >= OLDEST


def find_place(session: ReadSession) -> ExtensionPlace | None:
    """Where the extension is installed in this database; None: it is not.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    rows = session.rows(query("statements_place"), doing="looking for pg_stat_statements")
    if not rows:
        return None
    schema, version, loaded, may = rows[0]
    numbers = tuple(int(part) for part in version.split("."))
    return ExtensionPlace(schema=schema, version=numbers, loaded=loaded, sees_others=may)


def read_statements(session: ReadSession, clock: Clock, most: int) -> StatementCounters | None:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    taken_at, began = clock.now(), clock.monotonic()
    place = find_place(session)
    if place is None or not place.usable:
        return None
    rows = session.rows(
        in_extension(query("statements"), place.schema), {"most": most}, doing="reading statements", name="statements"
    )
    columns = np.array([row[1:5] for row in rows], dtype=np.float64).reshape(len(rows), 4).T
    return StatementCounters(
        taken_at=taken_at,
        epoch=rows[0][5] if rows else "",
        ids=tuple(row[0] for row in rows),
        executions=columns[0],
        seconds=columns[1],
        read_wait=columns[2],
        reads=columns[3],
        server_seconds=clock.monotonic() - began,
    )


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    place = find_place(session)
    if place is None or not place.usable or not ids:
        return {}
    values = {"ids": [int(each) for each in ids]}
    statement = in_extension(query("statement_texts"), place.schema)
    rows = session.rows(statement, values, doing="reading texts of statements", name="statement_texts")
    return {id_: without_literals(text) for id_, text in rows if text}


def statement_facts(place: ExtensionPlace | None) -> Facts:
    """Whether outcomes can say which statements a move made slower, for ``STATEMENTS``."""
    if place is None:
        remedy = f"{_LOAD}, then: CREATE EXTENSION pg_stat_statements;"
        return unseen_statements("pg_stat_statements is not installed in this database", remedy)
    if not place.loaded:
        return unseen_statements("the library of pg_stat_statements is not loaded", f"{_LOAD}.")
    if place.version < OLDEST:
        return unseen_statements("pg_stat_statements is older than 1.9", "ALTER EXTENSION pg_stat_statements UPDATE;")
    if not place.sees_others:
        remedy = Remedy("Grant pg_monitor to the login that watches.", MONITOR_GIVES)
        return unseen_statements("pg_stat_statements hides other users' statements from this login", remedy)
    return unseen_statements("", "")
