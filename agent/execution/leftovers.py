"""What interrupted moves have left in the database: remembered until the catalog no longer shows it.

A leftover takes room and may slow down every change of its table, and what would remove it may have to wait for a long
transaction. So it outlives the try, and often the move, that has left it.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from agent.execution.patience import Pauses
from agent.ledger import Ledger, MoveRow
from agent.ledger.state_names import LEFTOVERS
from connectors.base import Clock
from connectors.formatting import format_bytes

if TYPE_CHECKING:
    from connectors.model import Inspection

LONGEST_PAUSE_SECONDS = 300.0  # between two looks at one


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """Something that a move has left, with the statement that removes it."""

    move: int
    unit: str
    sql: str
    purpose: str
    by_hand: bool  # the statement was not part of the approval: a person has to send it
    space: str | None  # that it lies in; None: not known
    bytes: int | None
    since: datetime
    why: str  # it is still there

    @property
    def sentence(self) -> str:
        """What is left, where and why, without a full stop."""
        room = "" if self.bytes is None else f" ({format_bytes(self.bytes)} in {self.space})"
        how = f"to be removed by hand: {self.sql}" if self.by_hand else "removed as soon as it can be"
        return f"left behind{room}, {how}; {self.purpose}: {self.why}" if self.why else f"left behind{room}, {how}"


def leftovers_of(ledger: Ledger, database: str) -> tuple[Leftover, ...]:
    """What moves have left in that database, by all that is known."""
    found = ledger.state.load_document(database, LEFTOVERS)
    return () if found is None else tuple(_from_document(each) for each in found[1])


def leftover_document(leftover: Leftover) -> dict[str, Any]:
    """As JSON values."""
    return {**asdict(leftover), "since": leftover.since.isoformat()}


class Leftovers:
    """Those of one database, for the executor's thread alone; the ledger's document is written when they change."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        """Wire it up.

        Args:
            database: its name in the configuration.
            ledger: where they are remembered.
            clock: time.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._pauses = Pauses(clock, LONGEST_PAUSE_SECONDS)
        self._known: tuple[Leftover, ...] | None = None

    def rows(self) -> tuple[Leftover, ...]:
        """All of them, in the order of their moves."""
        if self._known is None:
            self._known = leftovers_of(self._ledger, self._database)
        return self._known

    def of(self, move: int) -> tuple[Leftover, ...]:
        """Those of one move."""
        return tuple(each for each in self.rows() if each.move == move)

    def sentence(self, move: int) -> str:
        """Those of one move in words; "" where there are none."""
        return "; ".join(each.sentence for each in self.of(move))

    def due(self) -> tuple[int, ...]:
        """Moves whose leftovers are worth another look now."""
        return tuple(dict.fromkeys(each.move for each in self.rows() if not self._pauses.why(each.move)))

    def note(self, row: MoveRow, inspection: Inspection, approved: Collection[str], why: str) -> bool:
        """Remember what a move has left, by what the catalog shows now; whether that is news.

        Args:
            row: the move.
            inspection: of it, just now.
            approved: statements that its approval covers.
            why: they are still there.
        """
        since = {each.sql: each.since for each in self.of(row.id)}
        left = [
            Leftover(
                move=row.id, unit=row.move.key, sql=step.sql, purpose=step.purpose, by_hand=step.sql not in approved,
                space=remnant.space if remnant else None, bytes=remnant.size_bytes if remnant else None,
                since=since.get(step.sql, self._clock.now()), why=why,
            )
            # Engines report statements and what they are about in two lists, of which the second may be shorter.
            for step, remnant in zip_longest(inspection.leftovers, inspection.remnants[: len(inspection.leftovers)])
        ]  # fmt: skip
        if left:
            # Put off at once, not after the first failure: right after a try the session that was in the way is still
            # there.
            self._pauses.put_off(row.id, why or "just left")
        else:
            self._pauses.forget(row.id)
        self._remember(row.id, left)
        return {each.sql for each in left} != set(since)

    def _remember(self, move: int, left: list[Leftover]) -> None:
        known = tuple(sorted((*(each for each in self.rows() if each.move != move), *left), key=lambda each: each.move))
        if known != self.rows():
            self._ledger.state.save_document(self._database, LEFTOVERS, [leftover_document(each) for each in known])
            self._known = known


def _from_document(document: dict[str, Any]) -> Leftover:
    return Leftover(**{**document, "since": datetime.fromisoformat(document["since"])})
