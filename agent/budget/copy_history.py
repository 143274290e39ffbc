"""Copies read from the journal: what they teach about copy times, and how much a window or a day has copied."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from agent.ledger import SentRow, StepState
from agent.model.proposals import ProposedMove
from agent.model.states import CARRIED_OUT
from connectors.model import Space
from policies.benefit.copy_time import Taught, copy_factors, factor_of
from policies.benefit.costs import Copy
from policies.calendar import Opening
from policies.model.plan import CopyFactor, MoveReason, Tier
from policies.storage.capacity import capacity_bytes
from policies.storage.limits import turned_over

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


def copy_time_evidence(sent: Iterable[SentRow]) -> list[Taught]:
    """The newest moves that arrived at once and whose time was predicted by what they read and write, oldest first."""
    taught = []
    for rows in _uninterrupted_copies(sent):
        predicted, seconds = predicted_seconds(rows[0].move), sum(_seconds(row) for row in rows)
        if predicted is not None and predicted > 0 and seconds > 0:
            taught.append(Taught(kind_of(rows[0].move), predicted, seconds))
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
    """Share of the fastest tier's bytes that gave way lately: ``limits.turned_over``.

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


def keys_that_gave_way(sent: Iterable[SentRow]) -> set[str]:
    """Units that a plan moved last to make room for others; not those that a person, a pin or an undo sent down.

    Args:
        sent: statements in the order they were sent.
    """
    found: set[str] = set()
    for row in sent:
        if row.move_state in CARRIED_OUT:
            keys = row.move.route.bundle.unit_keys
            # In the order they were sent: the last move of a unit says why it is where it is.
            found = found.union(keys) if row.move.reason == MoveReason.MAKE_ROOM else found.difference(keys)
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
