"""Room in the transaction log: what is free in it and what its files can really grow by, and what holds the rest."""

from __future__ import annotations

from dataclasses import dataclass

from connectors.base import ObjectGone, PrivilegeMissing, StatementFailed
from connectors.sqlserver.session.sessions import ReadSession

NOTHING = "NOTHING"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRoom:
    """The log of one database.

    Attributes:
        total: its bytes.
        used: of them.
        growth: bytes that its files may still grow by, and their volumes have; None: without a limit that can be seen.
        recovery_model: FULL, BULK_LOGGED or SIMPLE.
        held_by: why what is used cannot be used again, as the server names it; NOTHING: it can.
    """

    total: int
    used: int
    growth: int | None
    recovery_model: str
    held_by: str

    @property
    def room(self) -> int | None:
        """Bytes that can be written before anything of it is used again; None: not known."""
        return None if self.growth is None else self.total - self.used + self.growth


def read_log_room(session: ReadSession) -> LogRoom | None:
    """None where the server tells nothing.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    doing = "looking at the log"
    rows = session.rows("log_space", doing=doing)
    if not rows:
        return None
    total, used, growth, unlimited = rows[0]
    allowed = None if unlimited or growth is None else int(growth)
    volumes = _free_on_volumes(session)
    growing = (allowed is None or allowed > 0) and volumes is not None
    model, held_by = session.rows("log_reuse", doing=doing)[0]
    return LogRoom(
        total=int(total),
        used=int(used),
        growth=min(volumes or 0, allowed if allowed is not None else volumes or 0) if growing else allowed,
        recovery_model=str(model),
        held_by=str(held_by),
    )


def tempdb_room(session: ReadSession) -> int | None:
    """Bytes on all volumes that data files of tempdb lie on; None where this cannot be known.

    Raises:
        ConnectorError: the server did not answer.
    """
    return _free_on_volumes(session, "tempdb_room")


def _free_on_volumes(session: ReadSession, query: str = "log_volume") -> int | None:
    """Bytes on all volumes of a query's files, each volume once; None where this cannot be known."""
    try:
        rows = session.rows(query, doing="looking at volumes")
    except (ObjectGone, PrivilegeMissing, StatementFailed):
        return None
    # By volume: several files on one disk share its free bytes. Where the server names no volume, each file stands for
    # its own.
    free = {mount if mount is not None else file_id: available for file_id, mount, available in rows}
    return None if not free or None in free.values() else sum(int(each) for each in free.values())
