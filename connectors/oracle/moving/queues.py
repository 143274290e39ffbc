"""Redo of a move goes to the standbys of Data Guard, and into the recovery area."""

from __future__ import annotations

from math import nan

from connectors.base import Crowding, ObjectGone, PrivilegeMissing
from connectors.crowding import of_followers, of_log, worst
from connectors.oracle.session.queries import query
from connectors.oracle.session.sessions import ReadSession, Row
from connectors.oracle.settings import OracleSettings

LOCAL = "LOCAL"


def find_crowding(session: ReadSession, settings: OracleSettings) -> Crowding:
    """The standby that is furthest behind, and how full the recovery area is; nothing where this login may not look.

    Raises:
        ConnectorError: the server did not answer.
    """
    return worst(
        of_followers(
            "a standby",
            _behind(_rows(session, "destinations", "looking at standbys")),
            settings.replica_queue_mib,
            settings.replica_queue_abort_mib,
        ),
        of_log(
            "the recovery area",
            max((_full(*row) for row in _rows(session, "recovery_area", "looking at the recovery area")), default=nan),
            settings.log_used_percent,
            settings.log_used_abort_percent,
        ),
    )


def _rows(session: ReadSession, name: str, doing: str) -> list[Row]:
    try:
        return session.rows(query(name), doing=doing)
    except (ObjectGone, PrivilegeMissing):  # a view without the grant is as if it were not there
        return []


def _behind(destinations: list[Row]) -> float:
    """Bytes of archived logs that a standby has not applied. The log that is written now is in no queue yet."""
    archived = max((int(last or 0) for _, kind, last, _, _ in destinations if kind == LOCAL), default=0)
    return max(
        (
            (archived - int(applied or 0)) * float(size or 0)
            for _, kind, _, applied, size in destinations
            if kind != LOCAL
        ),
        default=0.0,
    )


def _full(limit: float, used: float, reclaimable: float) -> float:
    return (float(used) - float(reclaimable)) / float(limit) if limit else 0.0
