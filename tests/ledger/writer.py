"""A process that writes to a ledger until it is done or killed: ``python -m tests.ledger.writer PATH NAME ROUNDS``.

Prints the number of each round once it is on record, so that whoever kills it knows what must be there.
"""

from __future__ import annotations

import sys
from datetime import timedelta
from pathlib import Path

import numpy as np

from agent.ledger.ledger import Ledger
from agent.model.clock import SystemClock
from agent.model.states import MoveState
from tests.unit.samples import a_move, a_proposal


def main(path: Path, name: str, rounds: int) -> None:
    """Each round: history, slots, a proposal, its approval, a begun and skipped move, one more audit row."""
    clock = SystemClock()
    with Ledger.open(path, clock, actor=name) as ledger:
        for number in range(rounds):
            slots = ledger.slots.of("shop", [f"{name}.{number}", f"common.{number}"])
            ledger.history.append("shop", clock.now(), 60.0, slots, np.ones((3, 2), dtype=np.uint32))
            expires = clock.now() + timedelta(hours=1)
            proposal = a_proposal(a_move(1, key=f"{name}.{number}"), database=name, expires_at=expires)
            stored = ledger.proposals.store(proposal)
            ledger.proposals.approve(stored, who=name, origin="test", digest=proposal.digest)
            move = ledger.moves.rows(proposal_id=stored)[0]
            ledger.moves.transition(move.id, MoveState.PRECHECK, "go")
            ledger.moves.transition(move.id, MoveState.SKIPPED, "enough")
            ledger.audit.record("round", name, number=number)
            print(number, flush=True)  # noqa: T201  # the test reads it


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
