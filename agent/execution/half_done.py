"""Moves that wait with something begun at the engine, which has to end with them.

A copy that waits for its last lock is kept for the next try and costs every change of its table meanwhile. Where no
next try follows, because the approval has ended or the move was cancelled, the approved statement ends it.
"""

from __future__ import annotations

from agent.execution.patience import Pauses
from agent.ledger import Ledger
from agent.ledger.state_names import HALF_DONE
from agent.model.states import ACTIONABLE
from connectors.base import Clock
from connectors.model import Inspection

LONGEST_PAUSE_SECONDS = 300.0  # between two tries to end one


def half_done_of(ledger: Ledger, database: str) -> tuple[int, ...]:
    """Numbers of those moves of that database, by all that is known."""
    found = ledger.state.load_document(database, HALF_DONE)
    return () if found is None else tuple(found[1])


class HalfDone:
    """Those of one database, for the executor's thread alone."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        """Wire it up; they are remembered in the ledger."""
        self._database = database
        self._ledger = ledger
        self._pauses = Pauses(clock, LONGEST_PAUSE_SECONDS)
        self._known: tuple[int, ...] | None = None

    def note(self, move: int, inspection: Inspection, why: str = "") -> None:
        """Remember the move, or forget it where the catalog shows nothing of it any more; ``why``: it could not end."""
        begun = bool(inspection.unfinished)
        if why:
            self._pauses.put_off(move, why)
        if begun == (move in self.rows()):
            return
        self._known = tuple(sorted({*self.rows(), move} if begun else set(self.rows()) - {move}))
        self._ledger.state.save_document(self._database, HALF_DONE, list(self._known))

    def due(self) -> tuple[int, ...]:
        """Moves that no try follows any more and that are worth a look now."""
        return tuple(
            move
            for move in self.rows()
            # Not while the move may be tried again: its next try goes on with what was begun, and ending it would copy
            # everything once more.
            if not self._pauses.why(move) and self._ledger.moves.row(move).state not in ACTIONABLE
        )

    def rows(self) -> tuple[int, ...]:
        """All of them."""
        if self._known is None:
            self._known = half_done_of(self._ledger, self._database)
        return self._known
