"""What the write-ahead log takes, against limits of the configuration.

PostgreSQL tells what lies in ``pg_wal``, and not how much its volume has left: what the log may take there is for a
person to say. It grows beyond ``max_wal_size`` where a checkpoint, an archive command or a slot does not keep up.
"""

from __future__ import annotations

from connectors.base import PrivilegeMissing
from connectors.formatting import format_bytes
from connectors.postgresql.rights import monitor_remedy
from connectors.postgresql.session.queries import query
from connectors.postgresql.session.sessions import ReadSession

MIB = 1024 * 1024


def find_full_log(session: ReadSession, key: str, most_mib: int | None, *, login: str) -> str:
    """Why the log takes too much, in words; "" where it does not, or there is no limit.

    Args:
        session: to ask over.
        key: of the configuration that gives the limit.
        most_mib: the limit; None: there is none, and nothing is asked.
        login: of the session.

    Raises:
        ConnectorError: a subclass that says what may be done.
    """
    if most_mib is None:
        return ""
    try:
        ((held,),) = session.rows(query("wal"), doing="looking at the write-ahead log")
    except PrivilegeMissing:
        # A limit that is not watched would be believed in.
        remedy = monitor_remedy(login)
        return f"what pg_wal holds may not be seen ({key}: {most_mib}): {remedy} (which gives away {remedy.gives})"
    return f"pg_wal holds {format_bytes(held)} ({key}: {most_mib})" if held > most_mib * MIB else ""
