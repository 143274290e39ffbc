"""Spaces in which the engine had no room for a move, whatever was believed of them: nothing goes there for a while.

Free bytes may be wrong: a quota, a reserve of the file system, inodes, another database. One move has found that out
with a copy for nothing; those after it would do the same.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.state_names import FULL_SPACES
from connectors.model.formatting import format_bytes
from connectors.model.observation import Space


def note_full(
    ledger: Ledger, database: str, space: str, *, move: int, needed: int, free: int | None, now: datetime
) -> None:
    """Note that a move found no room in a space.

    Args:
        ledger: keeps it.
        database: its name.
        space: the target of the move.
        move: its number.
        needed: bytes that it wanted there.
        free: bytes that the space said to have then; None: not known.
        now: the instant.
    """
    stored = ledger.state.load_document(database, FULL_SPACES)
    known = {} if stored is None else dict(stored[1])
    known[space] = {"move": move, "needed": needed, "free": free, "at": now.isoformat()}
    ledger.state.save_document(database, FULL_SPACES, known)


def forget_full(ledger: Ledger, database: str, space: str) -> bool:
    """Take a person's word that a space has room again; False: it was not found full."""
    stored = ledger.state.load_document(database, FULL_SPACES)
    if stored is None or space not in stored[1]:
        return False
    left = {name: found for name, found in stored[1].items() if name != space}
    ledger.state.save_document(database, FULL_SPACES, left)
    return True


def _enough_bytes(needed: int, free: int | None) -> int | None:
    """Free bytes with which a move that found no room would find it; None: not known.

    Where there were fewer than it needed, as many as that. Else what was short is not seen (inodes, a quota, a reserve
    of the file system), and only so many more show that somebody has made room.
    """
    if free is None:
        return None
    return needed if free < needed else free + needed


def with_full_spaces(
    spaces: Iterable[Space], ledger: Ledger, database: DatabaseConfig, now: datetime
) -> tuple[Space, ...]:
    """The spaces, those that were found full lost until they have room, or the cool-down of moves is over."""
    stored = ledger.state.load_document(database.name, FULL_SPACES)
    known = {} if stored is None else stored[1]
    rest = timedelta(seconds=database.policy_settings().cool_down_seconds)

    def now_as(space: Space) -> Space:
        found = known.get(space.name)
        if found is None or space.lost or now >= datetime.fromisoformat(found["at"]) + rest:
            return space
        enough = _enough_bytes(found["needed"], found["free"])
        if enough is not None and space.free_bytes is not None and space.free_bytes >= enough:
            return space
        until = datetime.fromisoformat(found["at"]) + rest
        can_be = enough is not None and (space.capacity_bytes is None or enough <= space.capacity_bytes)
        once = f"once {format_bytes(enough)} are free there, " if enough is not None and can_be else ""
        why = (
            f"the engine had no room in it for move {found['move']}; it is tried again {once}after "
            f"hotplace doctor --has-room {shlex.quote(space.name)}, or at {until:%F %T %Z}"
        )
        return replace(space, lost=why)

    return tuple(map(now_as, spaces))
