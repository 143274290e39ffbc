"""Groups that ended halfway: what made room was moved, what it made room for was not.

A group is begun only if all of it can be done, so this takes a full disk, a lock that was never obtained, or an object
that was dropped in between. It is reported, and what made room goes back by the statements that were approved with it:
no measurement is needed to know that giving way for nothing is a loss. Where no way back was approved, it is proposed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agent.config.models import DatabaseConfig, Level
from agent.ledger.errors import NotApproved
from agent.ledger.ledger import Ledger
from agent.ledger.rows import MoveRow, first_dropped, groups_of, left_worse
from agent.ledger.state_names import LEFT_WORSE
from agent.model.logs import EventLog
from agent.model.proposals import CannotUndo
from agent.model.states import IN_PLACE, UNJUDGED, MoveState
from connectors.kit.contract import Clock, Connector
from connectors.model.formatting import format_wait

log = EventLog(__name__)


@dataclass(frozen=True, slots=True)
class Halfway:
    """A group that ended halfway."""

    name: str  # unique within the database
    rows: tuple[MoveRow, ...]  # of the group, in order of execution

    @property
    def arrived(self) -> list[MoveRow]:
        """What of it was carried out and is there."""
        return [row for row in self.rows if row.state in IN_PLACE]

    @property
    def proposal_id(self) -> int:
        """Of its moves."""
        return self.rows[0].proposal_id

    @property
    def sentence(self) -> str:
        """What stands worse, and why."""
        missing = first_dropped(self.rows)
        assert missing is not None, "a group that ended halfway lacks one of its moves"
        lost = -sum(row.move.wait_saved_per_hour for row in self.arrived)
        made = ", ".join(f"{row.move.key} to {row.move.to_space}" for row in self.arrived)
        return (
            f"a group of proposal {self.proposal_id} ended halfway: {missing.move.key} was not moved to "
            f"{missing.move.to_space} ({missing.state}: {missing.reason}), and what went before it was: {made}. "
            f"That is expected to cost {format_wait(lost)} more than before."
        )


class GroupWatch:
    """Looks for groups of one database that ended halfway; the ledger remembers which were reported."""

    def __init__(self, database: DatabaseConfig, ledger: Ledger, clock: Clock, level: Level, *, asked_by: str) -> None:
        """Wire it up.

        Args:
            database: its configuration.
            ledger: the durable record.
            clock: time.
            level: how far the agent goes; one that only observes proposes no undo, and says how to request it.
            asked_by: who gave the command that this is part of; "": the agent itself.
        """
        self._database = database
        self._ledger = ledger
        self._clock = clock
        self._level = level
        self._asked_by = asked_by

    def look(self, connector: Connector) -> int:
        """Report groups that ended halfway since the last look, and propose their undo; returns how many there are now.

        Raises:
            ConnectorError: the engine did not answer while the undo was planned; the next look retries.
        """
        name = self._database.name
        known = left_worse_of(self._ledger, name)
        found = halfway(self._ledger, name)
        # Only new ones are reported. A sentence made again would add a row to the audit chain at every sample until the
        # group is dealt with.
        now = {each.name: known.get(each.name) or self._report(each, connector) for each in found}
        if now != known:
            self._ledger.state.save_document(name, LEFT_WORSE, now)
        return len(now)

    def _report(self, group: Halfway, connector: Connector) -> str:
        sentence = f"{group.sentence} {self._propose_way_back(group, connector)}"
        subject = f"proposal {group.proposal_id}"
        self._ledger.audit.record(
            "group.left_worse", subject, sentence=sentence, moves=[row.id for row in group.arrived]
        )
        log.warning("group left worse", database=self._database.name, sentence=sentence)
        return sentence

    def _take_back(self, group: Halfway, connector: Connector) -> str:
        """Have it taken back by what was approved with the group, and say where that stands."""
        from agent.planning.undo import way_back

        numbers = " ".join(str(row.id) for row in group.arrived)
        try:
            proposal = way_back(group.arrived, self._database, connector, self._clock.now())
            number = self._ledger.proposals.approve_way_back(proposal)
        except (CannotUndo, NotApproved) as error:
            return f"It cannot be taken back: {error}. hotplace undo {numbers} tries it again."
        return f"It is taken back as was approved with it: hotplace show {number}."

    def _propose_way_back(self, group: Halfway, connector: Connector) -> str:
        """Propose it, unless it was approved with the group, and say where it stands."""
        numbers = " ".join(str(row.id) for row in group.arrived)
        if any(row.state is MoveState.UNDO_PROPOSED for row in group.arrived):
            return "The way back is proposed: hotplace proposals."
        from agent.planning.undo import propose_undo  # `status` reads this module and plans nothing

        if all(row.move.goes_back for row in group.arrived):
            return self._take_back(group, connector)
        if self._level is Level.OBSERVE:
            return f"hotplace undo {numbers} proposes the way back."

        try:
            number = propose_undo(
                group.arrived, self._database, connector, self._ledger, self._clock.now(), asked_by=self._asked_by
            )
        except CannotUndo as error:
            return f"No way back could be proposed: {error}. hotplace undo {numbers} tries it again."
        return f"Proposal {number} takes it back: hotplace show {number}."


def halfway(ledger: Ledger, database: str) -> list[Halfway]:
    """The groups that ended halfway and still have moves without a verdict, in order of execution."""
    # Begun at moves without a verdict, which are few: looking at the groups of all proposals ever would grow with the
    # ledger.
    rows = ledger.moves.rows(database=database, states=UNJUDGED)
    numbers = sorted({row.proposal_id for row in rows})
    return [each for number in numbers for each in _halfway(ledger.moves.rows(proposal_id=number))]


def left_worse_of(ledger: Ledger, database: str) -> dict[str, str]:
    """The reported sentence about each group that ended halfway."""
    stored = ledger.state.load_document(database, LEFT_WORSE)
    return {} if stored is None else dict(stored[1])


def _halfway(rows: Sequence[MoveRow]) -> Iterable[Halfway]:
    """Those of one proposal."""
    for group in groups_of(rows):
        if left_worse(group) and any(row.state in UNJUDGED for row in group):
            yield Halfway(f"{group[0].proposal_id}.{group[0].move.ordinal}", tuple(group))
