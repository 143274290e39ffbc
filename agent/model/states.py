"""The life of a move: a drawing, the table that the ledger obeys with one sentence per arrow, and named sets of states.

::

    PROPOSED -> APPROVED -> PRECHECK -> RUNNING <-> PAUSED -> CANCELLED
        |          |           |          |  \
        |          |           |          |   -> UNKNOWN -> (PLACED | FAILED | APPROVED | PAUSED, as the catalog says)
     REJECTED   EXPIRED     SKIPPED     FAILED
     EXPIRED    CANCELLED               PLACED -> SETTLING -> KEPT
     SUPERSEDED HANDED_OVER                          |
                  |      |              UNDO_PROPOSED -> UNDONE    (from PLACED and KEPT too)
                EXPIRED PLACED

A move that was interrupted before anything changed goes back to APPROVED. A move by hand is HANDED_OVER with its
approval: no statement of it is sent, so nothing but the catalog and time lead on, and what leads there gains nothing.
"""

from __future__ import annotations

from enum import StrEnum

from connectors.kit.contract import HotplaceError


class MoveState(StrEnum):
    """Where a move is in its life; the ledger stores a reason with every change."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    HANDED_OVER = "handed_over"  # a person carries it out: hotplace sends no statement, and looks at the catalog
    PRECHECK = "precheck"
    RUNNING = "running"
    PAUSED = "paused"
    UNKNOWN = "unknown"  # the outcome of a statement is not known; only reconciliation leads out
    PLACED = "placed"  # the catalog shows it in its new home
    SETTLING = "settling"  # caches warm up before the outcome is measured
    KEPT = "kept"
    UNDO_PROPOSED = "undo_proposed"
    UNDONE = "undone"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # a precheck failed: the facts differ from what was approved
    FAILED = "failed"  # the engine refused; the bundle is where it was

    @property
    def words(self) -> str:
        """For people."""
        return self.value.replace("_", " ")


S = MoveState
ARROWS: dict[MoveState, dict[MoveState, str]] = {
    S.PROPOSED: {
        S.APPROVED: "A person approved the proposal by its digest.",
        S.REJECTED: "A person rejected the proposal, or dropped this move or one of its group.",
        S.EXPIRED: "The proposal expired before a decision.",
        S.SUPERSEDED: "A newer proposal of the same purpose replaced it.",
    },
    S.APPROVED: {
        S.PRECHECK: "Its window is open and it is next: the executor compares the approval with the facts of now.",
        S.EXPIRED: "The approval expired before the move began.",
        S.CANCELLED: "A person cancelled it before it began.",
        S.SKIPPED: "It cannot begin any more, because the facts or its group have changed.",
        S.HANDED_OVER: "A person carries it out.",
    },
    S.HANDED_OVER: {
        S.PLACED: "The catalog shows the bundle in its target.",
        S.EXPIRED: "The approval expired before the catalog showed it there.",
    },
    S.PRECHECK: {
        S.RUNNING: "Every precheck passed: the first statement may be sent.",
        S.SKIPPED: "A precheck failed.",
        S.APPROVED: "The agent ended before the first statement.",
    },
    S.RUNNING: {
        S.PAUSED: "The engine holds the running statement with what it has done so far.",
        S.PLACED: "The catalog shows the bundle in its target.",
        S.FAILED: "The engine refused, or every try failed.",
        S.UNKNOWN: "A statement ended without a result, or the agent did.",
        S.APPROVED: "Nothing has changed in the database, and the move waits for another try.",
        S.CANCELLED: "A person cancelled it, and the engine rolled it back.",
    },
    S.PAUSED: {
        S.RUNNING: "The window opened again, or a person resumed it.",
        S.CANCELLED: "A person cancelled it, and what was held is rolled back.",
        S.UNKNOWN: "The engine no longer holds it.",
    },
    S.UNKNOWN: {
        S.PLACED: "The catalog shows the bundle in its target.",
        S.FAILED: "The catalog shows it in neither place, or too many tries had no visible end.",
        S.APPROVED: "The catalog shows the bundle in its source: the move can be tried again.",
        S.PAUSED: "The engine holds the statement.",
    },
    S.PLACED: {
        S.SETTLING: "Caches start to warm up.",
        S.UNDO_PROPOSED: "A proposal that takes it back was stored.",
    },
    S.SETTLING: {
        S.KEPT: "The outcome was measured and the move stays.",
        S.UNDO_PROPOSED: "A proposal that takes it back was stored.",
    },
    S.UNDO_PROPOSED: {
        S.UNDONE: "The undo was carried out.",
        S.KEPT: "The undo was rejected, expired or failed.",
    },
    S.KEPT: {S.UNDO_PROPOSED: "A proposal that takes it back was stored."},
    S.UNDONE: {},
    S.REJECTED: {},
    S.EXPIRED: {},
    S.SUPERSEDED: {},
    S.CANCELLED: {},
    S.SKIPPED: {},
    S.FAILED: {},
}
TRANSITIONS: dict[MoveState, frozenset[MoveState]] = {state: frozenset(arrows) for state, arrows in ARROWS.items()}

# Sets of states. Every classification of moves in the tree uses one of these names.

STARTING = frozenset({S.PRECHECK, S.RUNNING})  # entered only by approved moves; each statement announces itself
AT_ENGINE = frozenset({S.RUNNING, S.PAUSED})  # the engine works on a statement of it, or holds one
UNFINISHED = frozenset({S.PRECHECK, S.RUNNING, S.PAUSED, S.UNKNOWN})  # begun, not ended: a restart reconciles it
TO_BEGIN = frozenset({S.APPROVED, S.PRECHECK})  # approved, and no statement was sent
ACTIONABLE = UNFINISHED | {S.APPROVED}  # what the executor has yet to begin or to end
IN_HAND = ACTIONABLE | {S.HANDED_OVER}  # approved, and not yet carried out by anyone
NOT_BEGUN = IN_HAND - UNFINISHED  # approved, and no one has begun it, as far as the ledger and the catalog show
OUTSTANDING = IN_HAND | {S.PROPOSED}  # may still be carried out
STATEMENTS_ALLOWED = frozenset({S.RUNNING, S.PAUSED, S.UNKNOWN, S.UNDO_PROPOSED})  # else the ledger refuses an intent

UNDOABLE = frozenset({S.PLACED, S.SETTLING, S.KEPT})  # in its target, with no undo under way
GOES_BACK = frozenset({S.UNDO_PROPOSED, S.UNDONE})  # or has gone back
IN_PLACE = UNDOABLE | {S.UNDO_PROPOSED}  # the bundle is in its target
UNJUDGED = IN_PLACE - {S.KEPT}  # in its target, and it is still open whether it stays
AWAITING_OUTCOME = frozenset({S.PLACED, S.SETTLING})  # in its target, and nothing has been measured of it yet
CARRIED_OUT = IN_PLACE | {S.UNDONE}  # copied in full, whatever became of it later: its copy time is evidence
CARRIED_OUT_OR_RUNNING = CARRIED_OUT | {S.RUNNING}  # its copies disturb what is measured meanwhile
HOME_CHANGES = frozenset({S.PLACED, S.UNDONE})  # entering one means that the bundle has a new home: cool-down begins

UNDER_WAY = IN_HAND | UNJUDGED  # approved, and its end is still open
ONLY_IN_APPROVED = UNDER_WAY - {S.UNDO_PROPOSED}  # while a move is here, its proposal is APPROVED
ENDED = frozenset(state for state, after in TRANSITIONS.items() if not after) | {S.KEPT}
NOT_CARRIED_OUT = ENDED - CARRIED_OUT  # ended without the bundle reaching its target
TAKEN_BACK = frozenset({S.UNDO_PROPOSED, S.UNDONE})  # by an undo that is done, or was asked for
NOT_REACHED = frozenset({S.FAILED, S.SKIPPED})  # approved, not withdrawn, and ended without its target
WITHDRAWN = frozenset({S.REJECTED, S.EXPIRED, S.SUPERSEDED, S.CANCELLED})  # its statements are of no use to a reader
EXPIRABLE = frozenset({S.PROPOSED, S.APPROVED, S.HANDED_OVER})  # hotplace has done nothing for it yet
READ_AS_EXPIRED = EXPIRABLE - {S.HANDED_OVER}  # once it is too late to begin, before the agent has said so
STATE_WHEN_DROPPED = {
    S.PROPOSED: S.REJECTED,
    S.APPROVED: S.CANCELLED,
}  # what a person's `drop` makes of a move not yet begun
COUNTED = (S.PLACED, S.FAILED, S.SKIPPED, S.CANCELLED, S.UNDONE)  # results that the metrics count, in this order


class ProposalState(StrEnum):
    """Where a proposal is; its moves have states of their own."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    FINISHED = "finished"  # every move has ended one way or another


OPEN_PROPOSALS = (ProposalState.PROPOSED, ProposalState.APPROVED)  # undecided, or approved and not ended
APPROVED_PROPOSALS = frozenset({ProposalState.APPROVED, ProposalState.FINISHED})  # by whom or by what rule ever
LAPSED_PROPOSALS = frozenset(ProposalState) - {ProposalState.PROPOSED} - APPROVED_PROPOSALS  # came to nothing
DECIDED_PROPOSALS = (ProposalState.REJECTED, ProposalState.FINISHED)  # ended by a decision, not a deadline


class IllegalTransition(HotplaceError):
    """A state change that the table does not hold: a programming error, never a user's."""


def check_transition(before: MoveState, after: MoveState) -> None:
    """Raise ``IllegalTransition`` unless the table allows ``before -> after``."""
    if after not in TRANSITIONS[before]:
        raise IllegalTransition(f"a move cannot go from {before} to {after}")
