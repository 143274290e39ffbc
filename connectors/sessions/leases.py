"""Taking the lease: one agent acts on a database at a time, held by a lock of a session of its own.

Most servers let any user lock by any name. Whoever has the lock and is no session of the agent's own login is therefore
no agent: he is named, and acting goes on. What keeps two agents of that login apart meanwhile is a mark that only their
sessions can bear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from connectors.base import LeaseHeld

Connection = TypeVar("Connection")
STOP_THE_OTHER = "Stop the other agent, or let it act and only watch from here."


@dataclass(frozen=True, slots=True)
class Holder:
    """A session that has the lock, or acts without it."""

    words: str  # who it is: name, process, from where, as which user; "": this login may not know
    own: bool  # of the login that asks, so that it is an agent; True too where that cannot be known


@dataclass(frozen=True, slots=True)
class Taken(Generic[Connection]):
    """A lease."""

    connection: Connection
    stranger: str = ""  # who has the lock and is no agent; "": this session has it


def take_lease(
    open_session: Callable[[], Connection],
    try_take: Callable[[Connection], bool],
    find_holder: Callable[[Connection], str],
    close: Callable[[Connection], None],
) -> Connection:
    """A session that holds the lease, by a lock that only agents may take.

    Args:
        open_session: opens the session that is to hold it.
        try_take: whether the session got the lock, without waiting long for it.
        find_holder: who has it, as far as the server tells; "" where it does not.
        close: ends the session; called whenever the lease was not taken.

    Raises:
        LeaseHeld: another agent has it.
        ConnectorError: what ``open_session``, ``try_take`` and ``find_holder`` raise.
    """
    taken = take_public_lease(
        open_session, try_take, lambda session: [Holder(find_holder(session), own=True)], close, lambda *_: ()
    )
    return taken.connection


def take_public_lease(
    open_session: Callable[[], Connection],
    try_take: Callable[[Connection], bool],
    find_holders: Callable[[Connection], Sequence[Holder]],
    close: Callable[[Connection], None],
    act_without: Callable[[Connection, bool], Sequence[Holder]],
) -> Taken[Connection]:
    """A session that holds the lease, by a lock that every user may take.

    Args:
        open_session: as ``take_lease``.
        try_take: as ``take_lease``.
        find_holders: who has it, as far as the server tells.
        close: as ``take_lease``.
        act_without: marks the session as one that acts without the lock, if told so; returns others of its login that
            are marked.

    Raises:
        LeaseHeld: another agent has it, or acts without.
        ConnectorError: what the functions raise.
    """
    connection = open_session()
    try:
        strangers = [] if try_take(connection) else _strangers(find_holders(connection))
        # First marked and then looked for others: of two that do so at once, neither can miss the other.
        _insist_on_none(act_without(connection, bool(strangers)))
    except BaseException:  # an interrupt too: no session may be left behind with the lease
        close(connection)
        raise
    return Taken(connection, strangers[0].words if strangers else "")


def _strangers(holders: Sequence[Holder]) -> list[Holder]:
    """Who has the lock and is no agent, at least one.

    Raises:
        LeaseHeld: an agent has it, or somebody who cannot be known.
    """
    if not holders or any(holder.own for holder in holders):
        raise _held([holder for holder in holders if holder.own])
    return list(holders)


def _insist_on_none(others: Sequence[Holder]) -> None:
    if others:
        raise _held(others)


def _held(holders: Sequence[Holder]) -> LeaseHeld:
    words = next((holder.words for holder in holders if holder.words), "")
    if not words:
        return LeaseHeld("another agent holds the lease of this database", advice=STOP_THE_OTHER)
    return LeaseHeld(f"another agent acts on this database: {words}", advice=STOP_THE_OTHER)
