"""What people ask of moves, as the executor sees it: read now and then, answered once."""

from __future__ import annotations

import math

from agent.ledger import AskRow, Ledger, RequestKind
from connectors.base import Clock

READ_EVERY_SECONDS = 0.5  # how soon an ask is noticed, by the clock


class OperatorRequests:
    """The asks in force of one database. Safe from any thread: a stale answer is replaced a moment later."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._read_at = -math.inf
        self._in_force: dict[int, AskRow] = {}

    def of(self, move_id: int, *, fresh: bool = False) -> AskRow | None:
        """What is asked of a move now."""
        now = self._clock.monotonic()
        if fresh or now - self._read_at >= READ_EVERY_SECONDS:
            self._read_at, self._in_force = now, self._ledger.asks.in_force(self._database)
        return self._in_force.get(move_id)

    def kind(self, move_id: int, *, fresh: bool = False) -> RequestKind | None:
        """The kind of it alone."""
        ask = self.of(move_id, fresh=fresh)
        return None if ask is None else ask.kind

    def answer_to(self, ask: AskRow | None, sentence: str) -> None:
        """Say what became of an ask, if there was one, unless that was said; once the move's state agrees with it."""
        if ask is not None and not ask.answer:
            self._ledger.asks.answer(ask.id, sentence)
            self._read_at = -math.inf

    def hold(self, move_id: int, reason: str, *, who: str) -> None:
        """Keep a move held until a person lets it go on: somebody at the engine, or a fault, has stopped it."""
        if self.kind(move_id, fresh=True) is not RequestKind.PAUSE:
            self._ledger.asks.ask(move_id, RequestKind.PAUSE, who=who, origin="engine", reason=reason)
            self._read_at = -math.inf


def reason_of(ask: AskRow) -> str:
    """The ask in words, as the reason of a state."""
    done = {RequestKind.PAUSE: "held", RequestKind.RESUME: "let go on", RequestKind.CANCEL: "cancelled"}[ask.kind]
    return f"{done} by {ask.who}{': ' if ask.reason else ''}{ask.reason}"
