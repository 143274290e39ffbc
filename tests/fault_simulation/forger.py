"""Forgers: who writes approvals into the ledger that no person gave, by the file, an agent's login or an approver's.

What each login may write to a ledger on a server is said by ``agent/ledger/server/grants.sql`` and tried there by
``tests/ledger/test_hostile.py``; here the same limits are kept by hand, on a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from random import Random
from typing import TYPE_CHECKING

from agent.ledger.chain.events import EVENTS
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow
from agent.ledger.store import schema
from agent.ledger.store.database import Transaction
from agent.model.states import MoveState
from tests.ledger.forger import Forged, Target, forgeries, rows_about, write_row

if TYPE_CHECKING:
    from tests.fault_simulation.site import FaultySite

S = MoveState
WANTED = (S.APPROVED, S.APPROVED, S.PRECHECK, S.RUNNING, S.PAUSED, S.UNKNOWN)
BY_APPROVERS = frozenset({S.PROPOSED, S.APPROVED})  # states out of which an approver's login may bring a move
DATES = (0, 0, 0, 1, -1, 30, 365 * 73)  # days from now


class Login(StrEnum):
    """Whose means a forger has."""

    FILE = "the file"
    AGENT = "an agent's login"
    APPROVER = "an approver's login"


@dataclass(slots=True)
class Forger:
    """Forges proposals of the site, one after the other."""

    site: FaultySite
    proposals: set[tuple[str, int]] = field(default_factory=set)  # agent's book and number
    keys: set[str] = field(default_factory=set)  # of the units that these proposals would move
    written: dict[tuple[str, int], int] = field(default_factory=dict)  # book and audit row -> when, in microseconds

    def forge(self, first: float, second: float) -> None:
        """Write some rows about one proposal, and the tables as they would have to be."""
        agent = self.site.people.an_agent(second)
        random = Random(f"{self.site.script.seed} {first}")
        with self.site.people.at_ledger(agent) as ledger:
            rows = ledger.moves.rows(database=self.site.database)
            if not rows:
                return
            number = random.choice(rows).proposal_id
            moves = [row for row in rows if row.proposal_id == number]
            self.proposals.add((agent.book, number))
            self.keys |= {key for row in moves for key in row.move.route.bundle.unit_keys}
            self.site.report.forged += 1
            login = random.choice(list(Login))
            self.site.tell(f"a forger with {login} forges proposal {number} of {agent.name}")
            self._write(ledger, agent.book, login, moves, random)

    def _write(self, ledger: Ledger, book: str, login: Login, moves: Sequence[MoveRow], random: Random) -> None:
        now, state = self.site.clock.now(), random.choice(WANTED)
        with ledger._database.write() as transaction:
            signatures = rows_about(transaction, moves[0].proposal_id)
            target = Target(moves[0].proposal_id, moves[0].digest, moves, signatures)
            for row in forgeries(target, random):
                if may_write(login, row):
                    days = random.choice(DATES) if login is Login.FILE else 0
                    self.written[book, write_row(transaction, row, now + timedelta(days=days))] = int(
                        now.timestamp() * 1e6
                    )
            _set_tables(transaction, target, state, login)
        if login is Login.FILE and random.random() < 0.5:
            ledger.audit.anchor()


def may_write(login: Login, row: Forged) -> bool:
    """Whether the grants let a login write such a row."""
    kind = EVENTS[row.event]
    return login is not Login.APPROVER or (kind.by_people and not set(kind.agents_only) & set(row.facts))


def _set_tables(transaction: Transaction, target: Target, state: MoveState, login: Login) -> None:
    allowed = [row.id for row in target.moves if login is not Login.APPROVER or row.state in BY_APPROVERS]
    transaction.update(schema.proposals, [target.number], {"state": "approved", "approved_digest": target.digest})
    transaction.update(schema.moves, allowed, {"state": S.APPROVED if login is Login.APPROVER else state})
