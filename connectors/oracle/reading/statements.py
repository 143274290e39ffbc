"""Counters and texts of single statements, from V$SQLSTATS of every instance: needs no pack."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from connectors.base import Clock
from connectors.oracle.session.instances import Instances
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession
from connectors.statements.counters import StatementCounters
from connectors.statements.summing import sum_by_id
from connectors.statements.texts import READING_TEXT, read_all

MICROSECONDS = 1e-6


def read_statements(instances: Instances, clock: Clock, most: int) -> StatementCounters:
    """See ``ReadsStatements``. USER_IO_WAIT_TIME is what sessions waited for reads, and for little else.

    Counters have no epoch: a text that was aged out, or a restart, shows by counters that are smaller than before.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    taken_at, began = clock.now(), clock.monotonic()
    rows = instances.rows("statements", doing="reading statements")
    return sum_by_id(
        rows, most, taken_at=taken_at, epoch="", seconds_per_unit=MICROSECONDS,
        server_seconds=clock.monotonic() - began,
    )  # fmt: skip


def read_texts(session: ReadSession, ids: Collection[str]) -> Mapping[str, str]:
    """See ``ReadsStatements``.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    return read_all(ids, lambda id_: session.rows(query("statement_texts"), {"id": id_}, doing=READING_TEXT))
