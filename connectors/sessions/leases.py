"""Taking the lease: one agent acts on a database at a time, held by a lock of a session of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from connectors.base import LeaseHeld

Connection = TypeVar("Connection")
STOP_THE_OTHER = "Stop the other agent, or let it act and only watch from here."


def take_lease(
    open_session: Callable[[], Connection],
    try_take: Callable[[Connection], bool],
    find_holder: Callable[[Connection], str],
    close: Callable[[Connection], None],
) -> Connection:
    """A session that holds the lease.

    Args:
        open_session: opens the session that is to hold it.
        try_take: whether the session got the lock, without waiting long for it.
        find_holder: who has it, as far as the server tells; "" where it does not.
        close: ends the session; called whenever the lease was not taken.

    Raises:
        LeaseHeld: another agent has it.
        ConnectorError: what ``open_session``, ``try_take`` and ``find_holder`` raise.
    """
    connection = open_session()
    try:
        if try_take(connection):
            return connection
        holder = find_holder(connection)
    except BaseException:  # an interrupt too: no session may be left behind with the lease
        close(connection)
        raise
    close(connection)
    if not holder:
        raise LeaseHeld("another agent holds the lease of this database", advice=STOP_THE_OTHER)
    raise LeaseHeld(f"another agent acts on this database: {holder}", advice=STOP_THE_OTHER)
