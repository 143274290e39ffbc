"""Resumable index builds that the server holds: paused by a user, or by a failure or restart."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from connectors.model import Route
from connectors.sqlserver.routes.operations import resumable_index
from connectors.sqlserver.session.sessions import ReadSession

PAUSED = 1  # sys.index_resumable_operations.state
SINCE = 14  # the view
_COMMENT = re.compile(r"/\*.*?(?:\*/|(\Z))", re.DOTALL)  # the group: one without an end


@dataclass(frozen=True, slots=True)
class Operation:
    """A row of ``sql/resumable.sql``, in its order."""

    index: str
    sql: str | None
    state: int
    percent: float | None
    pages: int | None  # allocated so far, those of the mapping index included
    paused_at: datetime | None

    @property
    def paused(self) -> bool:
        """It is held; no session works on it."""
        return self.state == PAUSED


def operations(session: ReadSession, object_id: int) -> tuple[Operation, ...]:
    """Resumable builds of one object, running and paused.

    Raises:
        ConnectorError: the server did not answer.
    """
    if session.major < SINCE:
        return ()
    rows = session.rows("resumable", object_id, doing="looking for paused index builds")
    return tuple(Operation(*row) for row in rows)


def of_route(found: tuple[Operation, ...], route: Route) -> Operation | None:
    """That one of them which a statement of the route began: of its name, and of its text."""
    for step in route.steps:
        index = resumable_index(step)
        for operation in found:
            if index == operation.index and _same(operation.sql, step.sql):
                return operation
    return None


def _same(text: str | None, statement: str) -> bool:
    """Whether the server's text is our statement; the comment before it may or may not be part of it."""
    # By text and not by name alone: a DBA's own build may have the same index, and RESUME would go on with his in place
    # of ours.
    return text is not None and _plain(statement) in _plain(text)


def _plain(text: str) -> str:
    return " ".join(_COMMENT.sub(lambda found: " " if found[1] is None else found[0], text).split())
