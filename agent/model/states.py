"""The life of a move, once as a drawing and once as the table that the ledger obeys.

::

    PROPOSED -> APPROVED -> PRECHECK -> RUNNING <-> PAUSED -> CANCELLED
        |          |           |          |  \
        |          |           |          |   -> UNKNOWN -> (PLACED | FAILED | APPROVED | PAUSED, as the catalog says)
     REJECTED   EXPIRED     SKIPPED     FAILED
     EXPIRED    CANCELLED               PLACED -> SETTLING -> KEPT
     SUPERSEDED                                      |
                                                UNDO_PROPOSED -> UNDONE    (from PLACED and KEPT too)

A move that never started and is interrupted goes back to APPROVED: nothing happened to it.
"""

from __future__ import annotations

from enum import StrEnum

from connectors.base import HotplaceError


class MoveState(StrEnum):
    """Where a move is in its life; every entry carries a reason in plain words."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    PRECHECK = "precheck"
    RUNNING = "running"
    PAUSED = "paused"
    UNKNOWN = "unknown"  # a step's outcome is not known; only reconciliation leads out
    PLACED = "placed"  # the catalog shows it in its new home
    SETTLING = "settling"  # caches warm up before anything is measured
    KEPT = "kept"
    UNDO_PROPOSED = "undo_proposed"
    UNDONE = "undone"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"  # the precheck found that the world has changed
    FAILED = "failed"  # the engine refused; the bundle is where it was


S = MoveState
TRANSITIONS: dict[MoveState, frozenset[MoveState]] = {
    S.PROPOSED: frozenset({S.APPROVED, S.REJECTED, S.EXPIRED, S.SUPERSEDED}),
    S.APPROVED: frozenset({S.PRECHECK, S.EXPIRED, S.CANCELLED, S.SKIPPED}),
    S.PRECHECK: frozenset({S.RUNNING, S.SKIPPED, S.APPROVED, S.FAILED}),
    S.RUNNING: frozenset({S.PAUSED, S.PLACED, S.FAILED, S.UNKNOWN, S.APPROVED, S.CANCELLED}),
    S.PAUSED: frozenset({S.RUNNING, S.CANCELLED, S.FAILED, S.UNKNOWN}),
    S.UNKNOWN: frozenset({S.PLACED, S.FAILED, S.APPROVED, S.PAUSED}),
    S.PLACED: frozenset({S.SETTLING, S.UNDO_PROPOSED}),
    S.SETTLING: frozenset({S.KEPT, S.UNDO_PROPOSED}),
    S.UNDO_PROPOSED: frozenset({S.UNDONE, S.KEPT}),
    S.KEPT: frozenset({S.UNDO_PROPOSED}),
    S.UNDONE: frozenset(),
    S.REJECTED: frozenset(),
    S.EXPIRED: frozenset(),
    S.SUPERSEDED: frozenset(),
    S.CANCELLED: frozenset(),
    S.SKIPPED: frozenset(),
    S.FAILED: frozenset(),
}
UNFINISHED = frozenset({S.PRECHECK, S.RUNNING, S.PAUSED, S.UNKNOWN})  # what a restart must reconcile
ACTIONABLE = UNFINISHED | {S.APPROVED}  # what the executor has yet to begin or to end


class ProposalState(StrEnum):
    """Where a proposal is; its moves have states of their own."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"
    FINISHED = "finished"  # every move has ended one way or another


class IllegalTransition(HotplaceError):
    """A state change that the table does not hold: a programming error, never a user's."""


def check_transition(before: MoveState, after: MoveState) -> None:
    """Raise ``IllegalTransition`` unless the table allows ``before -> after``."""
    if after not in TRANSITIONS[before]:
        raise IllegalTransition(f"a move cannot go from {before} to {after}")
