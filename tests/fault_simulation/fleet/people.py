"""What people do with proposals of several databases at once: approve lists in waves, and stop them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from agent.model.states import ProposalState
from connectors.kit.contract import HotplaceError
from tests.fault_simulation.people import Decision

if TYPE_CHECKING:
    from tests.fault_simulation.fleet.site import Fleet

THINKS_SECONDS = 1200.0


@dataclass(slots=True)
class FleetPeople:
    """Ann and Bob, who decide with `--all`."""

    fleet: Fleet
    lists: list[str] = field(default_factory=list)  # digests of those that were approved

    def approve_list(self, first: float, second: float) -> None:
        """Look at what waits of all databases, think, and approve it in two waves."""
        try:
            with self.fleet.ledger_of_people() as ledger:
                waiting = ledger.proposals.rows(states={ProposalState.PROPOSED})
                newest = sorted({row.proposal.database: row.id for row in reversed(waiting)}.values())
                if not newest:
                    return
                canaries = {newest[int(second * len(newest))]} if len(newest) > 1 else set()
                digest = ledger.lists.document(newest, canaries)[0].digest
        except HotplaceError as error:
            self.fleet.tell(f"a person was told: {error}")
            return
        self.fleet.clock.call_later(1.0 + THINKS_SECONDS * first, lambda: self._approve(newest, canaries, digest))

    def _approve(self, numbers: list[int], canaries: set[int], digest: str) -> None:
        try:
            with self.fleet.ledger_of_people() as ledger:
                done = ledger.lists.approve(numbers, canaries, who="ann", origin="terminal 1", digest=digest)
        except HotplaceError as error:
            self.fleet.tell(f"a person was told: {error}")
            return
        now = self.fleet.clock.now()
        for row in done.rows:
            people = self.fleet.site_of(row.proposal.database).people
            people.decisions.append(Decision(self.fleet.book, row.id, row.digest, "ann", now, row.proposal.expires_at))
        self.lists.append(done.digest)
        self.fleet.tell(f"ann approved the list {numbers}, first {sorted(canaries)}")

    def stop_list(self, first: float, second: float) -> None:
        """Nothing more of a list begins."""
        del second
        if not self.lists:
            return
        try:
            with self.fleet.ledger_of_people() as ledger:
                digest = self.lists[int(first * len(self.lists))]
                stopped = ledger.lists.stop(digest, who="bob", origin="terminal 2", reason="an incident")
        except HotplaceError as error:
            self.fleet.tell(f"a person was told: {error}")
            return
        for row in stopped.cancelled:
            self.fleet.site_of(row.database).people.dropped.add((self.fleet.book, row.id))
        self.fleet.tell(f"bob stopped a list, with moves {[row.id for row in stopped.cancelled]} not begun")
