"""Whether people have signed what an automatic approval rests on, by the ledger's rows and by what they did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from agent.model.approvals import StandingRule
from tests.fault_simulation.disk import Rows
from tests.fault_simulation.people import RuleEvent

DAY = 86_400 * 10**6  # microseconds
LOCKS = {"none": {"nothing"}, "brief": {"nothing", "briefly"}, "any": {"nothing", "briefly", "writes", "all"}}
APPROVALS = """
SELECT id, at, subject, facts FROM audit WHERE event = 'proposal.approved' AND instr(facts, '"rule"') > 0
"""
HURT = """
SELECT max(id) FROM audit WHERE event = 'outcome.recorded' AND id < ? AND json_extract(facts, '$.verdict') LIKE 'hurt%'
   AND json_extract(facts, '$.proposal') = ?
"""
BEGAN = "SELECT min(id) FROM audit WHERE event = 'move.precheck' AND subject = ?"


@dataclass(frozen=True, slots=True)
class Automatic:
    """An approval under a standing rule, as it lies in the ledger."""

    row: int  # of the audit chain
    at: int  # microseconds
    rule: int
    earlier: tuple[tuple[int, int], ...]  # proposal and time of each approval under the rule before it

    @classmethod
    def of(cls, ledger: Rows, proposal: int, written: Mapping[int, int]) -> Self | None:
        """The approval of a proposal; None where a person approved it, or it was not approved.

        Args:
            ledger: the agent's.
            proposal: its number.
            written: when rows were really written that have another date.
        """
        found = [
            (row["id"], written.get(row["id"], row["at"]), _number(row["subject"]), json.loads(row["facts"])["rule"])
            for row in ledger.execute(APPROVALS).fetchall()
        ]
        own = next((each for each in found if each[2] == proposal), None)
        if own is None:
            return None
        earlier = tuple((each[2], each[1]) for each in found if each[0] < own[0] and each[3] == own[3])
        return cls(own[0], own[1], own[3], earlier)

    def why_not(
        self, ledger: Rows, rules: Sequence[RuleEvent], agent: str, body: dict[str, Any],
        begins: int | None,
    ) -> str:  # fmt: skip
        """Why people have not allowed it; "" where they have.

        Args:
            ledger: the agent's.
            rules: what people have opened and closed, in order.
            agent: the book of the agent.
            body: of the proposal.
            begins: number of the move of which a statement was sent; None: of another one that takes it back.
        """
        ours = [each for each in rules if (each.agent, each.rule) == (agent, self.rule)]
        last = next((each for each in reversed(ours) if each.row < self.row), None)
        if last is None or last.limits is None:
            return "people had not opened it"
        for proposal, _ in self.earlier:
            hurt = ledger.execute(HURT, (self.row, proposal)).fetchone()[0]
            if hurt is not None and hurt > last.row:
                return f"proposal {proposal} had hurt"
        return self._beyond(last.limits, body) or self._closed_before(ledger, ours, body, begins)

    def _beyond(self, limits: StandingRule, body: dict[str, Any]) -> str:
        if sum(move["size_bytes"] for move in body["moves"]) > limits.most_bytes:
            return "more bytes than allowed"
        if body["purpose"] != limits.mode or (body["wait_saved_low_per_hour"] or 0.0) < limits.least_gain_per_hour:
            return "another mode, or too little gain"
        if not {move["route"]["locked"] for move in body["moves"]} <= LOCKS[limits.locks.value]:
            return "more locks than allowed"
        if sum(at > self.at - DAY for _, at in self.earlier) >= limits.most_a_day:
            return "too many in a day"
        return "it had ended" if self.at >= limits.expires_at.timestamp() * 1e6 else ""

    def _closed_before(self, ledger: Rows, ours: Sequence[RuleEvent], body: dict[str, Any], begins: int | None) -> str:
        """Whether the rule had been closed when the first move of the group began."""
        if begins is None:
            return ""
        query = "SELECT id, ordinal FROM moves WHERE proposal_id = (SELECT proposal_id FROM moves WHERE id = ?)"
        numbers = {row["ordinal"]: row["id"] for row in ledger.execute(query, (begins,)).fetchall()}
        own = next(move for move in body["moves"] if numbers[move["ordinal"]] == begins)
        group = [move for move in body["moves"] if move["group"] == own["group"]]
        began = [ledger.execute(BEGAN, (f"move {numbers[move['ordinal']]}",)).fetchone()[0] for move in group]
        first = min((each for each in began if each is not None), default=0)
        before = [each for each in ours if each.row < first]
        return "people had closed it before it began" if before and before[-1].limits is None else ""


def _number(subject: str) -> int:
    return int(subject.split()[1])
