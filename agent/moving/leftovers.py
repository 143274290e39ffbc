"""What interrupted moves have left in the database, and how long what cannot be done is left alone.

What interrupted moves have left in the database: remembered until the catalog no longer shows it.

A leftover takes room and may slow down every change of its table, and what would remove it may have to wait for a long
transaction. So it outlives the try, and often the move, that has left it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.ledger.state_names import LEFTOVERS
from connectors.kit.contract import Clock, ConnectorError, LockNotObtained
from connectors.model.formatting import format_bytes

if TYPE_CHECKING:
    from connectors.model.observation import Inspection


FIRST_PAUSE_SECONDS = 1.0  # doubles with every time in a row
LONGEST_PAUSE_SECONDS = 60.0  # kind to the server, and soon enough after whatever was in the way has gone
NEVER_PUT_OFF = -math.inf


class Next(StrEnum):
    """What follows a try that has failed without changing anything."""

    AGAIN = "again"  # after a moment
    LATER = "later"  # the move goes back to those that wait; its window and its approval end that
    GIVE_UP = "give up"


def next_after(
    error: ConnectorError,
    tries: int,
    most: int,
    *,
    at_source: bool,
    in_the_way: bool,
    first: bool,
    expired: bool = False,
) -> Next:
    """What follows a try that has failed without changing anything.

    Waiting for a lock is no fault of the move: it is not counted, and goes on for as long as the move may run.

    Args:
        error: what ended the try; it may be tried again.
        tries: that have failed in this row.
        most: tries in a row that are sensible.
        at_source: nothing of the bundle has arrived, so the move can wait like one that never began.
        in_the_way: something is known to be in the way: a leftover, or a session that holds a lock.
        first: the move was not put off before; later it is tried once at a time.
        expired: its approval has ended. Until then the rest of a move that is halfway waits for its lock.
    """
    if isinstance(error, LockNotObtained):
        # LATER hands the move back to those that wait, as if it had not begun. What is halfway cannot be handed back:
        # it is tried on the spot until its approval ends, because giving up would leave it split.
        if at_source and (in_the_way or tries >= most or not first):
            return Next.LATER
        return Next.GIVE_UP if expired and tries >= most else Next.AGAIN
    if tries >= most:
        return Next.GIVE_UP
    return Next.LATER if at_source and in_the_way else Next.AGAIN


@dataclass(slots=True)
class _Pause:
    seconds: float = FIRST_PAUSE_SECONDS / 2  # doubled before its first use
    until: float = NEVER_PUT_OFF  # on the monotonic clock
    why: str = ""
    faults: int = 0


class Pauses:
    """What was put off, why and until when, by number. In memory: a restart looks at once."""

    def __init__(self, clock: Clock, longest_seconds: float = LONGEST_PAUSE_SECONDS) -> None:
        self._clock = clock
        self._longest = longest_seconds
        self._pauses: dict[int, _Pause] = {}

    def put_off(self, number: int, why: str, at_least: float = 0.0) -> None:
        """Leave it alone for twice as long as the last time, and for so many seconds at least."""
        pause = self._pauses.setdefault(number, _Pause())
        pause.seconds = min(self._longest, 2 * pause.seconds)
        pause.until, pause.why = self._clock.monotonic() + max(at_least, pause.seconds), why

    def why(self, number: int) -> str:
        """Why it is left alone now; "" where it is not."""
        pause = self._pauses.get(number)
        return pause.why if pause is not None and self._clock.monotonic() < pause.until else ""

    def was_put_off(self, number: int) -> bool:
        """Whether it ever was, since it was last forgotten."""
        return number in self._pauses and self._pauses[number].until != NEVER_PUT_OFF

    def count_fault(self, number: int) -> int:
        """Note that a try has failed by more than waiting for a lock; how many have."""
        pause = self._pauses.setdefault(number, _Pause())
        pause.faults += 1
        return pause.faults

    def forget(self, number: int) -> None:
        """It has ended."""
        self._pauses.pop(number, None)


LEFTOVERS_PAUSE_SECONDS = 300.0  # between two looks at one


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
        return in_one_sentence((self,))

    @property
    def what(self) -> str:
        """The same without why."""
        room = "" if self.bytes is None else f" ({format_bytes(self.bytes)} in {self.space})"
        how = f"to be removed by hand: {self.sql}" if self.by_hand else "removed as soon as it can be"
        return f"left behind{room}, {how}"


def in_one_sentence(left: Iterable[Leftover]) -> str:
    """What is left, where and why, without a full stop; a reason that several have in common is given once."""
    by_reason: dict[str, list[Leftover]] = {}
    for each in left:
        by_reason.setdefault(each.why, []).append(each)
    parts: list[str] = []
    for why, rows in by_reason.items():
        purposes = list(dict.fromkeys(each.purpose for each in rows))
        # An error already says what was being done.
        doing = "" if any(why.startswith(f"{purpose}: ") for purpose in purposes) else f"{', '.join(purposes)}: "
        parts += [*(each.what for each in rows), *([f"{doing}{why}"] if why else [])]
    return "; ".join(parts)


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
        self._pauses = Pauses(clock, LEFTOVERS_PAUSE_SECONDS)
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
        return in_one_sentence(self.of(move))

    def obstacles(self, move: int, blockers: str) -> str:
        """Those of one move and the sessions in its way, in words.

        Args:
            move: its number.
            blockers: the sessions, in words; left out if a leftover says why it is still there: mostly for the same
                sessions, which have to go first in any case.
        """
        explained = any(each.why for each in self.of(move))
        return "; ".join(filter(None, (self.sentence(move), "" if explained else blockers)))

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
            # Engines report statements and what they are about in two lists; the second may be shorter.
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
