"""Outcomes as ``history``, ``outcomes``, ``report`` and ``setup`` answer them; what is not known is null."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.model.answers.kind import answer
from agent.model.outcomes import OutcomeVerdict
from agent.model.states import MoveState


@answer
class StatementCompared:
    """One statement before and after moves, per execution; null where the engine does not count."""

    id: str
    executions_before: float
    """Counted in the time that was compared."""
    executions_after: float
    seconds_before: float
    seconds_after: float
    read_wait_before: float
    """Seconds."""
    read_wait_after: float
    reads_before: float
    reads_after: float
    change: float
    """Of its time by its waits for reads, at the same load; 0.5: half as long again."""
    change_low: float
    """The interval holds 90 of 100 effects."""
    change_high: float


@answer
class StatementsCompared:
    """How the statements of a database fared with moves."""

    compared: int
    """Statements that ran often enough before and after."""
    slower_count: int
    faster_count: int
    slower: tuple[StatementCompared, ...]
    """The worst of them, by time added."""
    faster: tuple[StatementCompared, ...]
    grown_count: int
    """Statements that wait longer because they read more per execution: not laid to the moves."""
    grown: tuple[StatementCompared, ...]
    slower_seconds: float
    """That all slower ones take more, per second."""
    faster_seconds: float
    """That all faster ones take less, per second."""
    why_none: str
    """Why no statement was compared; "" where some were."""


@answer
class OutcomeShown:
    """What was measured after the moves of a proposal, next to the prediction. Times in seconds."""

    verdict: OutcomeVerdict
    measured: bool
    """False: the figures are no evidence."""
    predicted_wait_saved_per_hour: float
    predicted_saved_ratio: float
    """The same as a share of the wait before."""
    wait_per_transaction_before: float
    wait_per_transaction_after: float
    transactions_per_second_before: float
    transactions_per_second_after: float
    read_latency_before: float
    """Mean of one physical read."""
    read_latency_after: float
    window_seconds: float
    """How long "after" was measured."""
    sentence: str
    predicted_saved_ratio_low: float
    predicted_saved_ratio_high: float
    work: str
    """What is counted per second: transactions, batches."""
    latency_before: float
    """What a session spends on one transaction."""
    latency_after: float
    predicted_transactions_per_second: float
    predicted_transactions_per_second_low: float
    predicted_transactions_per_second_high: float
    predicted_latency: float
    predicted_latency_low: float
    predicted_latency_high: float
    not_forecast: str
    """Why throughput and latency were not forecast."""
    predicted_busiest: str
    """The next bottleneck as forecast, and how busy it was to be."""
    undo: bool
    """Whether it is the outcome of taking moves back."""
    change: float
    """Of the wait per operation for the same work; -0.6: 60 % less."""
    change_low: float
    """The interval holds 90 of 100 effects."""
    change_high: float
    rests_on: str
    """What the verdict rests on."""
    joint_share: float
    """Of the effect of all moves that were measured together, those of other proposals included."""
    own_share: float
    """Of this one move in that effect."""
    own_reads_per_second_before: float
    own_reads_per_second_after: float
    own_wait_per_read_before: float
    own_wait_per_read_after: float
    statements: StatementsCompared | None
    """Null: the engine does not tell statements apart, or they were not wanted."""


@answer
class StatementSent:
    """A statement of a move that was sent."""

    ordinal: int
    sql: str
    state: str
    """intended, done, paused, failed or unknown."""
    detail: str | None
    intended_at: datetime
    ended_at: datetime | None
    """Null: it has not ended, or nothing was heard of it again."""


@answer
class MoveDone:
    """A move with its state, its statements and what came of it."""

    id: int
    proposal: int
    ordinal: int
    unit: str
    from_space: str
    to_space: str
    bytes: int
    state: MoveState
    placed: bool
    """Whether the unit is where the move was to bring it."""
    reason: str
    at: datetime
    """When the state was last changed."""
    attempts: int
    approved: bool
    wait_saved_per_hour_seconds: float
    """As predicted."""
    stall_seconds: float | None
    """How long it was predicted to keep others out."""
    stalled_seconds: float | None
    """How long it did, at most."""
    statements: tuple[StatementSent, ...]
    outcome: OutcomeShown | None
    """Null: it is not measured yet."""


@answer
class LeftBehind:
    """Something that an interrupted move has left in the database."""

    move: int
    unit: str
    sql: str
    """What removes it."""
    purpose: str
    by_hand: bool
    """Whether a person has to remove it."""
    space: str
    bytes: int | None
    since: datetime
    why: str
    """Why it is still there."""


@answer
class History:
    """The newest moves of one database, and what moves have left in it."""

    database: str
    moves: tuple[MoveDone, ...]
    left_behind: tuple[LeftBehind, ...]


@answer
class OutcomeOfProposal(OutcomeShown):
    """The outcome of a proposal, and whether it lies in its predicted interval."""

    proposal: int
    measured_at: datetime
    as_predicted: bool | None
    """Null: no interval was predicted."""
    plain_saved_ratio: float
    """By the wait per operation before and after, whatever else changed."""
    throughput_as_predicted: bool | None


@answer
class OutcomeAwaited:
    """A proposal whose moves have arrived and are not measured yet."""

    proposal: int
    settled_at: datetime
    measured_at: datetime
    """At the earliest."""


@answer
class OutcomesListed:
    """The newest outcomes of one database."""

    database: str
    outcomes: tuple[OutcomeOfProposal, ...]
    awaited: tuple[OutcomeAwaited, ...]
    statement_texts: Mapping[str, str]
    """Of the statements that outcomes name, by their id."""


@answer
class PredictionChecked:
    """What a proposal was predicted to save, and what it saved, as shares of the wait before."""

    proposal: int
    measured_at: datetime
    predicted_saved_ratio: float
    predicted_low: float
    predicted_high: float
    measured_saved_ratio: float
    measured_low: float
    measured_high: float
    as_predicted: bool | None
    verdict: OutcomeVerdict


@answer
class ErrorLearnt:
    """How far predictions of one kind of move err."""

    unit_kind: str | None
    """Null: of all moves."""
    from_tier: str | None
    to_tier: str | None
    outcomes: float
    """By which it was learnt; old ones count less."""
    error_ratio: float


@answer
class Calibration:
    """How good predictions were in one database."""

    database: str
    engine: str
    points: tuple[PredictionChecked, ...]
    errors: tuple[ErrorLearnt, ...]
    intervals_known: int
    intervals_held: int
    """Outcomes that lie in their predicted interval."""


@answer
class OutcomeAnywhere:
    """The newest outcome of a proposal, in short."""

    proposal: int
    database: str
    measured_at: datetime
    verdict: OutcomeVerdict
    undo: bool
    predicted_wait_saved_per_hour_seconds: float
    measured_wait_saved_per_hour_seconds: float
    sentence: str


@answer
class OutcomesAnywhere:
    """The newest outcome of each proposal of all databases, what hurt first, then what saved most."""

    since: datetime
    outcomes: tuple[OutcomeAnywhere, ...]
    not_seen: tuple[str, ...]
    """Configured databases that this login may not see: nothing is known of them here."""
