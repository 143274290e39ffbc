"""Open proposals that cannot both be carried out, and why: each was planned as if it were alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, ProposalRow
from agent.model.answers.decisions import ConflictWith
from agent.model.proposals import ProposedMove
from agent.model.states import OPEN_PROPOSALS, OUTSTANDING
from connectors.model.formatting import format_bytes

NAMED = 3  # units that a sentence names


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two open proposals that exclude each other: the second to run would be skipped in part or whole."""

    numbers: tuple[int, int]  # the lower one first
    why: str  # without a full stop

    @property
    def sentence(self) -> str:
        """For people, without a full stop."""
        one, other = self.numbers
        return f"proposals {one} and {other} cannot both be carried out: {self.why}; what comes second is skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rest:
    """What is left to do of one proposal."""

    number: int
    drains: str  # the space that it has yet to empty, "": none
    moves: Sequence[ProposedMove]

    @property
    def to_of(self) -> dict[str, str]:
        """Where each unit goes."""
        return {key: move.to_space for move in self.moves for key in move.route.bundle.unit_keys}

    @property
    def added(self) -> dict[str, int]:
        """Bytes that each space holds more afterwards."""
        sums: dict[str, int] = defaultdict(int)
        for move in self.moves:
            sums[move.to_space] += move.size_bytes
            sums[move.from_space] -= move.size_bytes
        return dict(sums)


def conflicts_of(ledger: Ledger, database: str) -> tuple[Conflict, ...]:
    """Every pair of open proposals of a database that stand in each other's way, by number.

    Room is that of the last plan; where none is stored, only units and drained spaces are compared.
    """
    rows = ledger.proposals.rows(database=database, states=OPEN_PROPOSALS)
    if len(rows) < 2:
        return ()
    return find_conflicts(
        [(row, ledger.moves.as_they_are(proposal_id=row.id)) for row in rows], _rooms(ledger, database)
    )


def _rooms(ledger: Ledger, database: str) -> dict[str, int]:
    """Bytes that each space could take when the last plan was made, head-room left free, where that is known."""
    # Here, since most often no two proposals are open, and what is known of room comes with numpy.
    from agent.planning.decisions import last_situation
    from policies.evidence.capacity import room_bytes

    known = last_situation(ledger, database)
    if known is None:
        return {}
    situation, settings = known
    rooms = {space.name: room_bytes(space, settings.head_room_ratio) for space in situation.spaces}
    return {name: room for name, room in rooms.items() if room is not None}


def find_conflicts(
    opened: Iterable[tuple[ProposalRow, Sequence[MoveRow]]], rooms: Mapping[str, int]
) -> tuple[Conflict, ...]:
    """The same from open proposals with their moves, and the bytes that spaces can take, by name."""
    rests = sorted((_rest(row, moves) for row, moves in opened), key=lambda rest: rest.number)
    return tuple(
        Conflict(numbers=(one.number, other.number), why=why)
        for one, other in combinations(rests, 2)
        if (why := _conflict(one, other, rooms))
    )


def _rest(row: ProposalRow, moves: Sequence[MoveRow]) -> _Rest:
    verb, _, space = row.proposal.purpose.partition(" ")
    left = [move.move for move in moves if move.state in OUTSTANDING]
    # Not by its purpose alone: a drain that is carried out stays open until it is measured, and its space may be open
    # again by then.
    empties = verb == "drain" and any(move.from_space == space for move in left)
    return _Rest(number=row.id, drains=space if empties else "", moves=left)


def _same_units(one: _Rest, other: _Rest) -> str:
    first, second = one.to_of, other.to_of
    common = [key for key in first if key in second]
    if not common:
        return ""
    names = ", ".join(
        f"{key} ({one.number} to {first[key]}, {other.number} to {second[key]})" for key in common[:NAMED]
    )
    more = f" and {len(common) - NAMED} more" if len(common) > NAMED else ""
    return f"both move {names}{more}"


def _conflict(one: _Rest, other: _Rest, rooms: Mapping[str, int]) -> str:
    """Why both cannot be carried out; "" where they can."""
    drains = _drain_conflict(one, other) or _drain_conflict(other, one)
    return _same_units(one, other) or drains or _room(one, other, rooms)


def _drain_conflict(one: _Rest, other: _Rest) -> str:
    """Where one empties the space to which the other brings something."""
    size = sum(move.size_bytes for move in other.moves if move.to_space == one.drains)
    return f"{one.number} empties {one.drains}, to which {other.number} brings {format_bytes(size)}" if size else ""


def _room(one: _Rest, other: _Rest, rooms: Mapping[str, int]) -> str:
    """Where each fits in a space alone, and both do not."""
    first, second = one.added, other.added
    for space in (space for space in first if space in second and space in rooms):
        needs, room = (first[space], second[space]), rooms[space]
        # One that does not fit alone is no conflict of two: it fails its own check of room, with or without the other.
        if min(needs) > 0 and max(needs) <= room < sum(needs):
            return (
                f"{space} has room for one of them only: {format_bytes(room)} by the last plan, {one.number} needs "
                f"{format_bytes(needs[0])} and {other.number} {format_bytes(needs[1])}"
            )
    return ""


def with_proposal(found: Iterable[Conflict], number: int) -> list[Conflict]:
    """Those that one proposal is part of."""
    return [conflict for conflict in found if number in conflict.numbers]


def conflicts_with(found: Iterable[Conflict], number: int) -> tuple[ConflictWith, ...]:
    """What stands in the way of one proposal."""
    return tuple(
        ConflictWith(with_=next(each for each in conflict.numbers if each != number), why=conflict.why)
        for conflict in with_proposal(found, number)
    )
