"""Operator requests (pause, resume, cancel) for moves, polled from the ledger and answered once."""

from __future__ import annotations

import math

from agent.ledger import AWAY, Ledger, OperatorRequestRow, RequestKind
from connectors.base import Clock

READ_EVERY_SECONDS = 0.5  # between two reads of the ledger


class OperatorRequests:
    """The requests in force of one database. Safe from any thread; an answer is at most half a second old."""

    def __init__(self, database: str, ledger: Ledger, clock: Clock) -> None:
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._read_at = -math.inf
        self._in_force: dict[int, OperatorRequestRow] = {}

    def of(self, move_id: int, *, fresh: bool = False) -> OperatorRequestRow | None:
        """The request in force for a move; None: there is none."""
        now = self._clock.monotonic()
        if fresh or now - self._read_at >= READ_EVERY_SECONDS:
            # All requests in one query and kept for half a second: the running statement asks ten times a second for
            # hours.
            self._read_at = now
            try:
                self._in_force = self._ledger.requests.in_force(self._database)
            except AWAY:
                # What was asked last stands for what runs: it ends as it was to. Nothing begins without the ledger.
                if fresh:
                    raise
        return self._in_force.get(move_id)

    def kind(self, move_id: int, *, fresh: bool = False) -> RequestKind | None:
        """The kind of the request in force; None: there is none."""
        request = self.of(move_id, fresh=fresh)
        return None if request is None else request.kind

    def answer_to(self, request: OperatorRequestRow | None, sentence: str) -> None:
        """Answer a request that has no answer yet. Call it once the state of the move agrees with the answer."""
        if request is not None and not request.answer:
            self._ledger.requests.answer(request.id, sentence)
            self._read_at = -math.inf

    def hold(self, move_id: int, reason: str, *, who: str) -> None:
        """Keep a move paused until an operator resumes it: a fault, or a person at the engine, has stopped it."""
        if self.kind(move_id, fresh=True) is not RequestKind.PAUSE:
            self._ledger.requests.submit(move_id, RequestKind.PAUSE, who=who, origin="engine", reason=reason)
            self._read_at = -math.inf


def reason_of(request: OperatorRequestRow) -> str:
    """A request in words, as the reason of a state."""
    done = {RequestKind.PAUSE: "held", RequestKind.RESUME: "let go on", RequestKind.CANCEL: "cancelled"}[request.kind]
    return f"{done} by {request.who}{': ' if request.reason else ''}{request.reason}"
