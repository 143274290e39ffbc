"""What earlier moves have taught of copy times and of what sessions lost to them.

Copies read from the journal: what they teach about copy times, and how much a window or a day has copied.

What earlier moves have taught, as the policies take it, and the record of what sessions lost while they ran.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from agent.config.models import DatabaseConfig
from agent.ledger.ledger import Ledger
from agent.ledger.rows import SentRow, StepState
from agent.ledger.state_names import DISTURBED_INTERVALS
from agent.model.proposals import ProposedMove
from agent.model.states import CARRIED_OUT
from connectors.model.observation import DatabaseDemand, Interval, Space
from policies.evidence.capacity import capacity_bytes, turned_over
from policies.evidence.costs import Copy, Disturbed, copy_factors, factor_of, learnt
from policies.model.calendar import Opening
from policies.model.moves import MoveReason
from policies.model.settings import CopyFactor, PolicySettings, TaughtCopy, Tier

LEARN_WITHIN = timedelta(days=90)
REMEMBERED = 50  # moves of all kinds that teach the costs of a plan, the newest
DAY = timedelta(days=1)

Kind = tuple[str, str, str]  # route, tier it left, tier it came to


@dataclass(frozen=True, slots=True)
class CopyTimes:
    """Ratio of measured to predicted time for each kind of move that has run often enough to learn it."""

    factors: tuple[CopyFactor, ...] = ()

    def seconds(self, move: ProposedMove) -> float:
        """How long its statements will take, by what was learnt until now, or else as it was planned."""
        predicted = predicted_seconds(move)
        return move.copy_seconds if predicted is None else predicted * factor_of(self.factors, kind_of(move))


def predicted_seconds(move: ProposedMove) -> float | None:
    """Predicted time of its statements before any learned factor; None: stored before proposals had that figure."""
    if move.cost is None or move.cost.copying is None:
        return None
    return sum(move.cost.copying) + move.cost.around_seconds


@dataclass(frozen=True, slots=True)
class Used:
    """What was copied within one window."""

    bytes: int = 0
    seconds: float = 0.0


def kind_of(move: ProposedMove) -> Kind:
    """Moves of the same kind teach each other."""
    return move.route.name, move.from_tier, move.to_tier


def learn(sent: Iterable[SentRow]) -> CopyTimes:
    """How long moves took against what was predicted, lock waits included.

    Args:
        sent: statements in the order they were sent.
    """
    return CopyTimes(copy_factors(copy_time_evidence(sent)))


def copy_time_evidence(sent: Iterable[SentRow]) -> list[TaughtCopy]:
    """The newest moves that arrived at once and whose time was predicted by what they read and write, oldest first."""
    taught = []
    for rows in _uninterrupted_copies(sent):
        predicted, seconds = predicted_seconds(rows[0].move), sum(_seconds(row) for row in rows)
        if predicted is not None and predicted > 0 and seconds > 0:
            taught.append(TaughtCopy(kind_of(rows[0].move), predicted, seconds))
    return taught[-REMEMBERED:]


def copies_of(sent: Iterable[SentRow]) -> list[Copy]:
    """The newest moves that arrived without being held, failing or being lost sight of, oldest first."""
    return [
        Copy(
            started_at=rows[0].intended_at,
            ended_at=_end_of_move(rows),
        )
        for rows in _uninterrupted_copies(sent)
    ][-REMEMBERED:]


def used_within(sent: Iterable[SentRow], opening: Opening, times: CopyTimes) -> Used:
    """What was copied within the window: of a move that had part of its time in it, that part.

    Of a move that did not arrive, as much as its time in the window would have copied. A statement whose end was not
    seen (the agent died, or could not write it down) is taken to have run for as long as the move was expected to:
    were it left out, the window would move the same bytes once more.
    """
    total_bytes, total_seconds = 0.0, 0.0
    for rows in _by_move(sent).values():
        move = rows[0].move
        expected = times.seconds(move)
        within = sum(_seconds(row, opening, unseen=expected) for row in rows)
        whole = sum(_seconds(row, unseen=expected) for row in rows)
        if rows[0].move_state not in CARRIED_OUT:
            # A move that was cancelled early would otherwise count as if all its bytes had been copied in that time.
            whole = max(whole, expected)
        total_seconds += within
        total_bytes += move.size_bytes * min(1.0, within / whole) if whole else 0.0
    return Used(round(total_bytes), total_seconds)


def with_bytes_written(tiers: Iterable[Tier], sent: Sequence[SentRow], now: datetime) -> tuple[Tier, ...]:
    """The tiers, each that has an endurance budget with what the copies of the last 24 hours have used of it."""
    day, times = Opening(now - DAY, now), learn(sent)

    def copied_bytes(tier: Tier) -> int:
        return used_within((row for row in sent if row.move.to_tier == tier.name), day, times).bytes

    return tuple(
        tier
        if tier.limits.written_bytes_per_day is None
        else replace(tier, limits=replace(tier.limits, copied_bytes=float(copied_bytes(tier))))
        for tier in tiers
    )


def turnover_ratio_of(
    tiers: Sequence[Tier], spaces: Iterable[Space], sent: Iterable[SentRow], now: datetime, per_week: float | None
) -> float:
    """Share of the fastest tier's bytes that gave way lately: ``capacity.turned_over``.

    0 where there is no budget for it, or the size of that tier is not known.
    """
    if not tiers or per_week is None:
        return 0.0
    own = set(tiers[0].spaces)
    capacity = sum(capacity_bytes(space) for space in spaces if space.name in own)
    gone = (
        ((now - _end_of_move(rows)).total_seconds(), rows[0].move.size_bytes / capacity)
        for rows in _copies_by_move(row for row in sent if row.ended_at is not None)
        if rows[0].move.reason == MoveReason.MAKE_ROOM and rows[0].move.from_tier == tiers[0].name
    )
    return turned_over(gone, per_week) if capacity > 0 else 0.0


def keys_that_gave_way(sent: Iterable[SentRow], reason: MoveReason = MoveReason.MAKE_ROOM) -> set[str]:
    """Units that a plan moved last to make room for others; not those that a person, a pin or an undo sent down.

    Args:
        sent: statements in the order they were sent.
        reason: ``GROWTH`` for those that left for what is expected to grow.
    """
    found: set[str] = set()
    for row in sent:
        if row.move_state in CARRIED_OUT:
            keys = row.move.route.bundle.unit_keys
            # In the order they were sent: the last move of a unit says why it is where it is.
            found = found.union(keys) if row.move.reason == reason else found.difference(keys)
    return found


def _copies_by_move(sent: Iterable[SentRow]) -> Iterable[list[SentRow]]:
    """The statements of each move that arrived and had something to copy, in the order the moves began."""
    return _by_move(row for row in sent if row.move_state in CARRIED_OUT and row.move.size_bytes > 0).values()


def _uninterrupted_copies(sent: Iterable[SentRow]) -> Iterable[list[SentRow]]:
    """Those of them that were neither held nor tried again, and whose every statement was seen to end."""
    # The time of the others holds pauses and lost copies: learnt from them, the next move of this kind would find no
    # window long enough.
    return (rows for rows in _copies_by_move(sent) if all(row.state is StepState.DONE for row in rows))


def _end_of_move(rows: Iterable[SentRow]) -> datetime:
    """When the last statement of a move that arrived was over."""
    return max(row.ended_at for row in rows if row.ended_at is not None)


def _by_move(sent: Iterable[SentRow]) -> dict[int, list[SentRow]]:
    by_move: dict[int, list[SentRow]] = defaultdict(list)
    for row in sent:
        by_move[row.move_id].append(row)
    return by_move


def _seconds(row: SentRow, within: Opening | None = None, unseen: float = 0.0) -> float:
    """How long the statement ran, within the window if one is given; ``unseen`` in all where its end was not seen."""
    ended_at = row.intended_at + timedelta(seconds=unseen) if row.ended_at is None else row.ended_at
    start = row.intended_at if within is None else max(row.intended_at, within.start)
    end = ended_at if within is None else min(ended_at, within.end)
    return max(0.0, (end - start).total_seconds())


def since_for(now: datetime) -> datetime:
    """From when on the journal is read."""
    return now - LEARN_WITHIN


def with_experience(
    database: DatabaseConfig, ledger: Ledger, sent: Sequence[SentRow], work: DatabaseDemand
) -> PolicySettings:
    """The configured settings with how long copies take and hold sessions up, as earlier moves taught.

    Args:
        database: its configuration.
        ledger: keeps the intervals in which moves ran.
        sent: its statements in the order they were sent.
        work: what it does now.
    """
    disturbed = disturbed_of(ledger, database.name)
    return learnt(database.policy_settings(), copies_of(sent), disturbed, work, copy_time_evidence(sent))


def disturbed_of(ledger: Ledger, database: str) -> list[Disturbed]:
    """The newest intervals in which moves ran, oldest first."""
    stored = ledger.state.load_document(database, DISTURBED_INTERVALS)
    return [] if stored is None else [_interval(plain) for plain in stored[1]]


def record_disturbed(ledger: Ledger, database: str, interval: Interval, *, during: float, calm: float) -> None:
    """Store an interval in which moves ran; the oldest beyond ``REMEMBERED`` is forgotten.

    Args:
        ledger: keeps it.
        database: its name.
        interval: in which moves ran.
        during: transactions per second in it.
        calm: transactions per second on average without moves.
    """
    seen = Disturbed(
        started_at=interval.started_at, ended_at=interval.ended_at, transactions=during, calm_transactions=calm
    )
    known = [*disturbed_of(ledger, database), seen][-REMEMBERED:]
    ledger.state.save_document(database, DISTURBED_INTERVALS, _document(known))


def _document(intervals: Iterable[Disturbed]) -> list[dict[str, Any]]:
    """Intervals as JSON values."""
    return [
        {name: v.isoformat() if isinstance(v, datetime) else v for name, v in asdict(interval).items()}
        for interval in intervals
    ]


def _interval(plain: dict[str, Any]) -> Disturbed:
    return Disturbed(
        started_at=datetime.fromisoformat(plain["started_at"]),
        ended_at=datetime.fromisoformat(plain["ended_at"]),
        transactions=plain["transactions"],
        calm_transactions=plain["calm_transactions"],
    )
