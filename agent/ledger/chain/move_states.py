"""The state of each move as the chain tells it, to hold the table of moves against it."""

from __future__ import annotations

import json
from typing import Any

from agent.ledger.chain.links import APPROVED, STORED, number_of
from agent.ledger.file.reading import Row
from agent.model.states import MoveState

STRUCK_INTO = "to"  # the fact of an event that drops a move
_STATES = {f"move.{state}": state for state in MoveState}


class MoveStates:
    """Replays the rows of the chain, or a part of them, into the states that moves have by them."""

    def __init__(self) -> None:
        self.digests: dict[tuple[str, int], str] = {}  # (STORED or APPROVED, proposal) -> digest
        self._of_move: dict[int, MoveState] = {}
        self._decided: dict[tuple[int, int], MoveState] = {}  # (proposal, ordinal)
        self._undecided: dict[int, MoveState] = {}  # proposal -> state of its moves that wait for a decision

    def apply(self, row: Row) -> None:
        """Take in the next row."""
        kind = row.subject.partition(" ")[0]
        if kind == "proposal":
            self._apply_to_proposal(row, number_of(row.subject), json.loads(row.facts))
        elif kind == "move" and (state := _state_after(row)) is not None:
            self._of_move[number_of(row.subject)] = state

    def _apply_to_proposal(self, row: Row, proposal: int, facts: dict[str, Any]) -> None:
        match row.event:
            case "proposal.stored":
                self.digests[STORED, proposal] = facts["digest"]
                # By proposal and not by move: the row that stores a proposal speaks of its moves together, before their
                # numbers are known to the chain.
                self._undecided[proposal] = MoveState.PROPOSED
            case "proposal.approved":
                self.digests[APPROVED, proposal] = facts["digest"]
                self._decided |= dict.fromkeys(((proposal, each) for each in facts["moves"]), MoveState.APPROVED)
            case "proposal.rejected" if "moves" in facts:
                self._decided |= dict.fromkeys(((proposal, each) for each in facts["moves"]), MoveState.REJECTED)
            case "proposal.superseded":
                self._undecided[proposal] = MoveState.SUPERSEDED
            case "moves.expired":
                self._of_move |= dict.fromkeys(facts["moves"], MoveState.EXPIRED)

    @property
    def moves(self) -> frozenset[int]:
        """Numbers of the moves that have rows of their own."""
        return frozenset(self._of_move)

    @property
    def proposals(self) -> frozenset[int]:
        """Numbers of the proposals that were stored or decided."""
        return frozenset(self._undecided) | {proposal for proposal, _ in self._decided}

    def state(self, move: int, proposal: int, ordinal: int) -> MoveState | None:
        """The state of a move; None where the rows that were taken in do not say it.

        Args:
            move: its number.
            proposal: the number of its proposal.
            ordinal: its place in that proposal.
        """
        if move in self._of_move:  # a move has rows of its own only once its proposal is decided, or it was struck
            return self._of_move[move]
        return self._decided.get((proposal, ordinal), self._undecided.get(proposal))


def _state_after(row: Row) -> MoveState | None:
    """The state into which a row brings its move; None where it changes none."""
    if row.event in _STATES:
        return _STATES[row.event]
    to = json.loads(row.facts).get(STRUCK_INTO)
    return None if to is None else MoveState(to)
