"""The judge of approvals: what the rows of the chain made of a proposal and its moves, and whether a move may be sent.

Pure: it reads rows, stored bodies and signatures that were checked already. It is asked when an approval is given and
again before each statement, so neither question can be answered more leniently than the other.

``Replay`` obeys ``TRANSITIONS`` as the ledger's writers do: no row leads out of a state that has ended, a proposal is
decided once, and a signature counts only if it was over the proposal as it was when it was given. A row that no honest
writer could have written spoils its own proposal, and nothing else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from agent.ledger.chain.events import EVENTS, Event, Facts, Unreadable, numbered_subject, read_event
from agent.ledger.chain.links import APPROVED, STORED
from agent.ledger.rows import MoveRow, first_dropped, left_worse
from agent.ledger.store.database import Row
from agent.model.approvals import Conditions
from agent.model.proposals import ProposedMove
from agent.model.signatures import NameUnclear, count_people, names_of_asker
from agent.model.states import (
    EXPIRABLE,
    IN_PLACE,
    TRANSITIONS,
    UNFINISHED,
    MoveState,
    ProposalState,
)

SIGNED, REJECTED, EXPIRED_MOVES = "proposal.signed", "proposal.rejected", "moves.expired"
UNDER, COVERED_BY, LIST_ROW = "rule", "covered_by", "list_row"  # facts of an approval, or of a signature
STRUCK_INTO = "to"  # the fact of an event that drops a move
# Of one proposal or rule. Each is checked by two programs, before each statement, while the ledger is locked.
MOST_SIGNATURES = 100
TOO_MANY_SIGNED = f"it has more than {MOST_SIGNATURES} signatures"
_MOVE_STATES = {f"move.{state}": state for state in MoveState}
_PROPOSAL_STATES = {f"proposal.{state}": state for state in ProposalState}
_FROM: dict[ProposalState, frozenset[ProposalState]] = {
    ProposalState.PROPOSED: frozenset(),
    ProposalState.APPROVED: frozenset({ProposalState.PROPOSED}),
    ProposalState.REJECTED: frozenset({ProposalState.PROPOSED}),
    ProposalState.SUPERSEDED: frozenset({ProposalState.PROPOSED}),
    ProposalState.EXPIRED: frozenset({ProposalState.PROPOSED}),
    ProposalState.FINISHED: frozenset({ProposalState.APPROVED}),
}
Place: TypeAlias = tuple[int, int]  # of a move: the number of its proposal, its ordinal
NOWHERE: Place = (0, 0)


class MovePlaces(Protocol):
    """Where moves are, as their table says."""

    def of(self, move: int) -> Place:
        """The place of a move; ``NOWHERE`` if there is none by that number."""
        ...

    def moves(self, proposal: int) -> Mapping[int, int]:
        """Ordinal -> number of the moves of a proposal."""
        ...


class Impossible(Exception):  # a verdict about a row, which never leaves this module
    """A row that no honest writer could have written where it stands."""


@dataclass(frozen=True, slots=True)
class SignedRow:
    """A row that holds a signature, as it stands in the chain."""

    row: int
    facts: Facts
    current: bool  # it was over the proposal as it was then: no older printout

    @property
    def moves(self) -> tuple[int, ...]:
        """Ordinals of the moves that it names."""
        return tuple(self.facts["moves"])


@dataclass(slots=True)
class Story:
    """What the chain tells of one proposal."""

    state: ProposalState | None = None  # None: the rows that were read do not say it
    digest: str = ""  # with which it was stored
    database: str = ""
    stored_row: int = 0
    last_row: int = 0  # about it or its moves, signatures apart
    approval: Event | None = None  # the row that approved it; there is one at most
    signatures: list[SignedRow] = field(default_factory=list)
    moves: dict[int, MoveState] = field(default_factory=dict)  # ordinal -> state, where it is known
    handed_over: set[int] = field(default_factory=set)  # ordinals of moves that a person was to carry out
    fault: str = ""  # the first row that is impossible or unreadable; "": there is none

    def open_moves(self) -> tuple[int, ...]:
        """Ordinals of the moves that wait for a decision."""
        return tuple(sorted(each for each, state in self.moves.items() if state is MoveState.PROPOSED))

    def spoil(self, sentence: str) -> None:
        """Note that its rows cannot be believed; the first reason stays."""
        self.fault = self.fault or sentence


class Replay:
    """Replays rows of the chain, in their order, into the stories of the proposals that they are about.

    Attributes:
        stories: by the number of the proposal.
        unreadable: rows about nothing that has a story.
    """

    def __init__(self, places: MovePlaces, *, from_the_middle: bool = False) -> None:
        """Begin at the first row.

        Args:
            places: of moves, as their table holds them.
            from_the_middle: earlier rows are not read: what a first row says of the state before it is believed.
        """
        self.stories: dict[int, Story] = {}
        self.unreadable: list[Unreadable] = []
        self._places = places
        self._partial = from_the_middle

    def apply(self, row: Row) -> None:
        """Take in the next row."""
        event = read_event(row)
        story = self._story_of(row)
        if isinstance(event, Unreadable):
            if story is not None:
                story.spoil(event.sentence)
            elif row.event in EVENTS:  # others may be a newer version's
                self.unreadable.append(event)
            return
        if story is None:
            return
        try:
            self._tell(story, event)
        except Impossible as error:
            # The chain fits, and what it says cannot have happened: nothing of this proposal is believed from here on.
            story.spoil(f"audit row {event.row} ({event.name} about {event.subject}) cannot be: {error}")
        if event.name != SIGNED:
            story.last_row = event.row

    def state(self, move: int) -> MoveState | None:
        """The state of a move by its number; None where the rows do not say it."""
        proposal, ordinal = self._places.of(move)
        story = self.stories.get(proposal)
        return None if story is None else story.moves.get(ordinal)

    def _story_of(self, row: Row) -> Story | None:
        kind, number = numbered_subject(row.subject)
        proposal = number if kind == "proposal" else self._places.of(number)[0] if kind == "move" else 0
        return self.stories.setdefault(proposal, Story()) if proposal else None

    # -- one row -------------------------------------------------------------------------------------------------

    def _tell(self, story: Story, event: Event) -> None:
        if event.name == STORED:
            self._store(story, event)
        elif story.state is None and not self._partial:
            raise Impossible("its proposal was not stored before")
        elif event.name == SIGNED:
            current = (event.facts["sequence"], tuple(event.facts["moves"])) == (story.last_row, story.open_moves())
            story.signatures.append(SignedRow(event.row, event.facts, current))
            if len(story.signatures) > MOST_SIGNATURES:
                raise Impossible(TOO_MANY_SIGNED)
        elif event.name == EXPIRED_MOVES:
            for move in event.facts["moves"]:
                self._expire(story, event, move)
        elif event.name in _PROPOSAL_STATES:
            self._decide(story, event, _PROPOSAL_STATES[event.name])
        elif (to := _state_after(event)) is not None:
            self._bring(story, event, to)

    def _store(self, story: Story, event: Event) -> None:
        if story.last_row:
            raise Impossible("rows about it came before")
        numbers = self._places.moves(event.number)
        story.state, story.stored_row = ProposalState.PROPOSED, event.row
        story.digest, story.database = event.facts["digest"], event.facts["database"]
        story.moves = dict.fromkeys(numbers, MoveState.PROPOSED)
        if numbers and len(numbers) != event.facts["moves"]:
            raise Impossible(f"it was stored with {event.facts['moves']} moves and has {len(numbers)}")
        # Else two rows of the table could change places, and a struck move run under the number of another.
        if numbers and event.facts.get("ids", []) not in ([], [numbers[ordinal] for ordinal in sorted(numbers)]):
            raise Impossible("its moves have other numbers than when it was stored")

    def _decide(self, story: Story, event: Event, to: ProposalState) -> None:
        if story.state is not None and story.state not in _FROM[to]:
            raise Impossible(f"the proposal is {story.state}")
        if story.digest and event.facts.get("digest", story.digest) != story.digest:
            raise Impossible("it names another digest than was stored")
        if to is ProposalState.APPROVED:
            _check_windows(Conditions.from_facts(event.facts.get("conditions", {})))
            self._decide_moves(story, event, MoveState.APPROVED)
            story.approval = event
        elif to is ProposalState.REJECTED and "moves" in event.facts:
            self._decide_moves(story, event, MoveState.REJECTED)
        elif to is ProposalState.SUPERSEDED:
            story.moves |= dict.fromkeys(story.open_moves(), MoveState.SUPERSEDED)
        story.state = to

    def _decide_moves(self, story: Story, event: Event, to: MoveState) -> None:
        ordinals = tuple(event.facts["moves"])
        if story.stored_row and tuple(sorted(ordinals)) != story.open_moves():
            waiting = ", ".join(map(str, story.open_moves())) or "none"
            raise Impossible(f"it decides about the moves {', '.join(map(str, ordinals))}; those that wait: {waiting}")
        story.moves |= dict.fromkeys(ordinals, to)

    def _expire(self, story: Story, event: Event, move: int) -> None:
        proposal, ordinal = self._places.of(move)
        if proposal != event.number:
            raise Impossible(f"move {move} is none of its own")
        state = story.moves.get(ordinal)
        if state is not None and state not in EXPIRABLE:
            raise Impossible(f"move {move} is {state}")
        story.moves[ordinal] = MoveState.EXPIRED

    def _bring(self, story: Story, event: Event, to: MoveState) -> None:
        ordinal = self._places.of(event.number)[1]
        before = story.moves.get(ordinal, MoveState(event.facts["was"]) if event.facts["was"] in TRANSITIONS else None)
        if before is None or event.facts["was"] != before:
            raise Impossible(f"the move is {before} and not {event.facts['was']}")
        if to not in TRANSITIONS[before] or (before is MoveState.PROPOSED and to is MoveState.APPROVED):
            raise Impossible(f"the move is {before} and cannot become {to} by it")
        if story.digest and event.facts["digest"] != story.digest:
            raise Impossible("it names another digest than was stored")
        story.moves[ordinal] = to
        if to is MoveState.HANDED_OVER:
            story.handed_over.add(ordinal)


def _check_windows(conditions: Conditions) -> None:
    """Have windows that are none spoil their own approval: what opens is asked for all moves of a database."""
    try:
        _ = conditions.calendar
    except ValueError as error:
        raise Impossible(f"its windows are none: {error}") from error


def _state_after(event: Event) -> MoveState | None:
    """The state into which a row brings its move; None where it changes none."""
    to = event.facts.get(STRUCK_INTO)
    return _MOVE_STATES.get(event.name) if to is None else MoveState(to)


# -- judgements ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class CheckedSignature:
    """A signature of the chain that fits what it is over, by those who may sign today."""

    who: str  # principal in the file of allowed signers
    key: str
    names: frozenset[str]  # of the person, canonical
    moves: tuple[int, ...]  # that it names


def move_fault(story: Story, row: MoveRow) -> str:
    """Why the chain does not hold a move as the tables do; "" where it does.

    Args:
        story: of its proposal.
        row: as the tables hold it.
    """
    if story.fault:
        return story.fault
    proposal = f"proposal {row.proposal_id}"
    approved = story.approval.facts["digest"] if story.approval is not None else None
    for done, digest in ((STORED, story.digest), (APPROVED, approved)):
        if digest != row.digest:
            return f"the audit chain does not hold that {proposal} was {done.partition('.')[2]} with its digest"
    state = story.moves.get(row.move.ordinal)
    if state != row.state:
        return f"move {row.id} is marked {row.state}, but by the audit chain it is {state}"
    if row.move.ordinal in story.handed_over and not row.move.by_hand:
        return f"move {row.id} was handed over to a person, and is none that a person carries out"
    return hand_fault(row, row.state)


def hand_fault(row: MoveRow, state: MoveState) -> str:
    """Why a move cannot be in a state because of who carries it out; "" where it can."""
    if row.move.by_hand and state in UNFINISHED:
        return f"move {row.id} is carried out by a person: no statement of it is ever sent"
    if state is MoveState.HANDED_OVER and not row.move.by_hand:
        return f"move {row.id} is none that a person carries out"
    return ""


def missing_people(signatures: Collection[CheckedSignature], moves: Iterable[int], needed: int, asked_by: str) -> int:
    """How many people have yet to sign; 0: enough have signed for each of the moves.

    Args:
        signatures: those that count. Each covers the moves that it names, and none that has ended since: what is asked
            about has not.
        moves: ordinals of those that are to be carried out.
        needed: how many people have to sign. If more than one: none of them the person who asked for it.
        asked_by: that person; "": the agent.

    Raises:
        NameUnclear: it is unclear who asked for it.
    """
    without = names_of_asker(asked_by) if asked_by and needed > 1 else frozenset[str]()
    signed = (count_people([each for each in signatures if move in each.moves], without) for move in moves)
    return max((max(0, needed - people) for people in signed), default=0)


def signatures_fault(signatures: Collection[CheckedSignature], row: MoveRow, needed: int, asked_by: str) -> str:
    """Why people have not approved a move by their signatures; "" where they have. Arguments as ``missing_people``."""
    try:
        missing = missing_people(signatures, [row.move.ordinal], needed, asked_by)
    except NameUnclear as error:
        return str(error)
    return (
        f"proposal {row.proposal_id} has {needed - missing} of the {needed} signatures that it needs" if missing else ""
    )


def way_back_fault(move: ProposedMove, where: tuple[str, str], done: MoveRow | None, group: Sequence[MoveRow]) -> str:
    """Why the approval of the move that it takes back does not cover a move; "" where it does.

    Args:
        move: which takes another one back.
        where: database and fingerprint of its proposal.
        done: that other one, as it is now; None: there is none.
        group: all moves of its group, in the states in which they were when the way back was stored.
    """
    if done is None or not done.move.goes_back:
        return f"no approval covers a way back of {move.key}"
    # Tables of two databases may have the same name, and then the same statements.
    if where != (done.database, done.fingerprint):
        return f"move {done.id} was in the database {done.database} ({done.fingerprint}), so it does not go back here"
    if not any(row.id == done.id and row.state in IN_PLACE for row in group):
        return f"move {done.id} was not in its target, so it does not go back"
    # Else a second way back, kept until the unit was approved to move there once more, would take that back too.
    if done.state not in IN_PLACE:
        return f"move {done.id} is {done.state}, so nothing of it goes back"
    if not left_worse(group):
        return f"the group of move {done.id} had not ended halfway, so nothing of it goes back"
    shown, now = done.move.route, move.route
    # Equal statement by statement: no one looks at a way back again, so it may only be what the approval of its group
    # has shown.
    if (now.steps, now.tidy_steps, now.prologue) != (shown.undo_steps, shown.tidy_steps, shown.prologue):
        return f"the way back of move {done.id} is not the one that was approved"
    if now.patient_prologue != shown.patient_prologue:
        return f"the way back of move {done.id} has other settings than were approved"
    if (move.key, move.from_space, move.to_space) != (done.move.key, done.move.to_space, done.move.from_space):
        return f"the way back of move {done.id} leads from {done.move.to_space} to {done.move.from_space}"
    return ""


def in_states(rows: Iterable[MoveRow], story: Story) -> list[MoveRow]:
    """The rows with the states that a story gives them; those to which it gives none stay as they are."""
    return [replace(row, state=story.moves.get(row.move.ordinal, row.state)) for row in rows]


def group_fault(row: MoveRow, group: Sequence[MoveRow]) -> str:
    """Why a move may not begin because of its group; "" where it may. The group in the states of the chain."""
    dropped = first_dropped(group)
    if dropped is not None and dropped.id != row.id:
        return f"move {dropped.id} of its group is {dropped.state}, so nothing more of the group begins"
    # A later move needs the room that an earlier one makes.
    earlier = [each for each in group if each.move.ordinal < row.move.ordinal and each.state not in IN_PLACE]
    if dropped is None and earlier:
        return f"move {earlier[0].id} of its group is {earlier[0].state}, and comes before it"
    return ""
