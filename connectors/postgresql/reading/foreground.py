"""How long sessions wait for their reads, apart from those of moves."""

from __future__ import annotations

from connectors.base import ForegroundReads
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

KNOWS_CONTEXTS = 160000  # versions whose pg_stat_io tells large scans from other reads


def read_foreground(session: ReadSession) -> ForegroundReads | None:
    """Counters of client sessions' reads; None where the server does not time them (track_io_timing).

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    name = "foreground" if session.version >= KNOWS_CONTEXTS else "foreground_14"
    reads, seconds, timed = session.rows(query(name), doing="looking at how long reads take")[0]
    return ForegroundReads(reads, seconds) if timed else None
