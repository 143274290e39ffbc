"""What a move writes goes through the log: to the standbys of HADR, and it fills the active log until it commits."""

from __future__ import annotations

from math import nan

from connectors.base import Crowding
from connectors.crowding import of_followers, of_log, worst
from connectors.db2.session.sessions import ReadSession
from connectors.db2.settings import Db2Settings

DISCONNECTED = "DISCONNECTED"  # it catches up from archived logs once it is back; nothing waits for it


def find_crowding(session: ReadSession, settings: Db2Settings) -> Crowding:
    """The standby that is furthest behind and the fullest log; nothing where this version or login cannot tell.

    Raises:
        ConnectorError: the server did not answer.
    """
    standbys = session.optional_rows("standbys", doing="looking at standbys") or []
    behind = max(((gap or 0) + (replay or 0) for _, state, gap, replay in standbys if state != DISCONNECTED), default=0)
    members = session.optional_rows("log_room", doing="looking at the active log") or []
    full = max((_used_ratio(int(free or -1), int(used or 0)) for _, free, used in members), default=nan)
    return worst(
        of_followers("a standby", behind, settings.replica_queue_mib, settings.replica_queue_abort_mib),
        of_log("the active log", full, settings.log_used_percent, settings.log_used_abort_percent),
    )


def _used_ratio(free: int, used: int) -> float:
    """Of the whole active log; 0 where it has no end."""
    return used / (free + used) if free >= 0 and free + used > 0 else 0.0
