"""What must still hold just before a move starts: a pure comparison of what was approved with what is true now."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agent.ledger import MoveRow
from connectors.amounts import format_bytes
from connectors.model import Home, Inspection, Space
from policies.board import room_bytes

GROWTH_ALLOWED_RATIO = 0.20  # a table may have grown this much since it was approved


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """The world a moment before the first statement."""

    now: datetime
    fingerprint: str
    inspection: Inspection
    target: Space | None  # completed from configuration; None: it is gone
    head_room_ratio: float
    closed: bool = False  # the target is closed to arrivals


@dataclass(frozen=True, slots=True)
class Allowed:
    """Nothing stands in the way."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Something does; the code is for machines, the sentence for people."""

    code: str
    sentence: str


def precheck(row: MoveRow, facts: Facts) -> Allowed | Refused:
    """Whether the move may start now. The first reason against it is the answer."""
    for check in (_approved, _same_database, _still_home, _size_holds, _fits):
        refused = check(row, facts)
        if refused is not None:
            return refused
    return Allowed()


def _approved(row: MoveRow, facts: Facts) -> Refused | None:
    if not row.approved:
        return Refused("not_approved", f"move {row.id} was never approved")
    if facts.now >= row.expires_at:
        return Refused("expired", f"the approval of proposal {row.proposal_id} expired at {row.expires_at:%F %T %Z}")
    return None


def _same_database(row: MoveRow, facts: Facts) -> Refused | None:
    if row.fingerprint != facts.fingerprint:
        return Refused("other_database", "the server that answers now is not the database that was approved")
    return None


def _still_home(row: MoveRow, facts: Facts) -> Refused | None:
    match facts.inspection.home:
        case Home.SOURCE:
            return None
        case Home.GONE:
            return Refused("gone", f"{row.move.key} no longer exists")
        case Home.TARGET:
            return Refused("already_there", f"{row.move.key} is already in {row.move.to_space}")
        case _:
            return Refused("moved_by_others", f"{row.move.key} is not where it was: {facts.inspection.sentence}")


def _size_holds(row: MoveRow, facts: Facts) -> Refused | None:
    approved, now = row.move.size_bytes, facts.inspection.size_bytes
    if now > approved * (1 + GROWTH_ALLOWED_RATIO):
        return Refused("grown", f"{row.move.key} grew from {format_bytes(approved)} to {format_bytes(now)}")
    return None


def _fits(row: MoveRow, facts: Facts) -> Refused | None:
    if facts.target is None:
        return Refused("no_target", f"space {row.move.to_space} no longer exists")
    if facts.closed:
        return Refused("closed", f"space {row.move.to_space} is closed to arrivals; hotplace reopen opens it")
    need = facts.inspection.size_bytes + row.move.route.transient_bytes
    room = room_bytes(facts.target, facts.head_room_ratio)
    if room is None:
        return Refused("room_unknown", f"nobody knows how much room {row.move.to_space} has; configure its capacity")
    if need > room:
        return Refused(
            "no_room",
            f"{row.move.key} needs {format_bytes(need)} in {row.move.to_space}, "
            f"which has {format_bytes(max(room, 0))} above its head-room",
        )
    return None
