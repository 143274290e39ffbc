"""A proposal: what would be done, immutable, with a digest that an approval names.

The digest covers everything that will be executed and everything the person saw: statements, sizes, predicted gain,
expiry, database. A stored proposal is checked against its digest whenever it is read.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from agent.model.stored_dataclasses import StoredDataclass
from connectors.move_effects import Locked
from connectors.route import Route
from policies.model.moves import MoveReason, RouteCost

if TYPE_CHECKING:  # what forecasts needs arrays, what shows a proposal does not
    from policies.sizing.forecast import Forecast

BALANCE = "hsm"  # Proposal.purpose of the plans that the agent makes again and again
CONTAINER = "container"  # ProposedMove.reason of a move that takes bytes out of one container of their space
TOLERATED_RATIO = 0.20  # growth between planning and move that needs no forecast
ROLLING = "rolling"  # the same of a move by a template: a partition that is made, or one that has aged
CLOSE = "close"  # the same of one that gives the open part of a split table an end
SPLIT = "split"  # the same of one that splits a table; its rows stay where they are
UNDO = "undo"  # ProposedMove.reason of a move that takes another back
WAY_BACK = "way back"  # the same of one that takes back what a group has moved that cannot be completed
DIGEST_SHOWN = 12  # characters that lists show and that approve --digest accepts at least


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedMove:
    """One move of a proposal: the planned gain and the very statements."""

    ordinal: int  # 1, 2, ... in the order of execution
    key: str
    route: Route
    from_space: str
    to_space: str
    from_tier: str
    to_tier: str
    reason: str  # MoveReason, or one of those above
    size_bytes: int  # exact, when the proposal was made
    wait_saved_per_hour: float
    copy_seconds: float
    payback_seconds: float | None  # None: no gain of its own
    sentence: str
    undoes: int | None = None  # number of the move that this one takes back
    cost: RouteCost | None = None  # without the copy itself; None: an undo, or stored before it was estimated
    group: int | None = None  # begun together or not at all, see agent.ledger.grouping; None: by reason
    expected_bytes: int | None = None  # when it is moved, at the latest; None: no growth was forecast
    limit_bytes: int | None = None  # a larger one is not moved; None: no limit was stored, see ``largest_bytes``
    goes_back: bool = False  # by its undo statements, where its group cannot be completed: approved with it

    @property
    def largest_bytes(self) -> int:
        """How large it may be for the approval to hold."""
        return largest_bytes(self.size_bytes) if self.limit_bytes is None else self.limit_bytes

    @property
    def stall_seconds(self) -> float | None:
        """How long its lock is expected to block other sessions; None: stored before routes had that figure."""
        match self.route.locked:
            case None:
                return None
            case Locked.NOTHING:
                return 0.0
            case Locked.BRIEFLY:
                return self.route.lock_seconds
            case _:
                return self.copy_seconds

    @property
    def is_way_back(self) -> bool:
        """Whether it takes back what a group has moved that cannot be completed."""
        return self.reason == WAY_BACK

    @property
    def what(self) -> str:
        """What moves, for people: all of a space, or the bundle by its leading unit."""
        return self.route.bundle.wide or self.key


def largest_bytes(size_bytes: int, expected_bytes: int = 0) -> int:
    """How large something may be once it is moved: as expected, and by a fifth of its present size larger than that."""
    return max(size_bytes, expected_bytes) + int(size_bytes * TOLERATED_RATIO)


def grouped(moves: Iterable[ProposedMove]) -> list[list[ProposedMove]]:
    """The groups of a proposal's moves, in order of execution.

    Moves of a proposal that was stored before groups had numbers belong together by their reasons: what makes room
    comes directly before what it makes room for.
    """
    groups: list[list[ProposedMove]] = []
    for move in sorted(moves, key=lambda each: each.ordinal):
        if groups and _continues(groups[-1][-1], move):
            groups[-1].append(move)
        else:
            groups.append([move])
    return groups


def _continues(before: ProposedMove, move: ProposedMove) -> bool:
    """Whether a move belongs to the group of the one before it."""
    if before.group is None and move.group is None:
        return before.reason == MoveReason.MAKE_ROOM
    return before.group == move.group


def with_ways_back(moves: Iterable[ProposedMove]) -> tuple[ProposedMove, ...]:
    """The moves, marked where they go back if their group cannot be completed: all but the last of each group."""
    return tuple(
        replace(move, goes_back=move is not group[-1] and bool(move.route.undo_steps))
        for group in grouped(moves)
        for move in group
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkForecast:
    """What sessions are forecast to get done once all moves are placed, next to what they did before it was made.

    None where it is unknown; ``why_not`` then says why. Latency is what a session spends on one transaction, in
    seconds; each interval holds ``certainty`` of outcomes.
    """

    work: str  # what is counted, in the plural: Engine.work
    per_second_now: float | None  # as measured
    per_second: float | None
    per_second_low: float | None
    per_second_high: float | None
    latency_now: float | None  # as measured
    latency: float | None
    latency_low: float | None
    latency_high: float | None
    read_wait: float | None  # of one transaction, a part of its latency
    certainty: float
    why_not: str = ""  # "" where it is forecast
    limit: str = ""  # what keeps it from more, other than waits for disks; "": nothing that is known
    load: str = ""  # "closed": who is answered asks again; "open": work arrives by itself; "": not known
    latency_open: float | None = None  # were work to arrive by itself, as much as now
    busiest: str = ""  # the next bottleneck, and how busy it will be; "": nothing that is known
    assumed: tuple[str, ...] = ()  # what is not known and widens the interval
    unmodelled: tuple[str, ...] = ()  # what may hold sessions up and is in neither forecast nor interval

    @classmethod
    def of(cls, forecast: Forecast, work: str, certainty: float) -> Self:
        """A forecast as the policies make it, as values that JSON knows."""
        return cls(
            work=work,
            per_second_now=_finite(forecast.present_transactions),
            per_second=_finite(forecast.transactions),
            per_second_low=_finite(forecast.interval.low),
            per_second_high=_finite(forecast.interval.high),
            latency_now=_finite(forecast.present_latency),
            latency=_finite(forecast.latency),
            latency_low=_finite(forecast.latency_interval.low),
            latency_high=_finite(forecast.latency_interval.high),
            read_wait=_finite(forecast.wait_per_transaction),
            certainty=certainty,
            why_not=forecast.why_not,
            limit=forecast.limit,
            load=forecast.load,
            latency_open=_finite(forecast.open_latency),
            busiest=forecast.busiest,
            assumed=forecast.assumed,
            unmodelled=forecast.unmodelled,
        )


def _finite(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """An ordered, immutable list of moves with their expected value."""

    database: str  # its name in the configuration
    fingerprint: str  # Identity.fingerprint
    created_at: datetime
    expires_at: datetime
    wait_per_hour: float
    wait_saved_per_hour: float
    bound_per_hour: float
    gap_ratio: float
    ceiling_ratio: float | None
    moves: tuple[ProposedMove, ...]
    wait_saved_low_per_hour: float | None = None  # ends of the interval; None: stored before there was one
    wait_saved_high_per_hour: float | None = None
    saved_ratio_low: float | None = None  # the same of the share of all wait
    saved_ratio_high: float | None = None
    relief_per_hour: float | None = None  # that what stays behind may be spared in shorter queues
    purpose: str = BALANCE  # the question that it answers, see agent.model.purposes
    asked_by: str = ""  # who requested it by a command; "": the agent made it
    forecast: WorkForecast | None = None  # of all moves; None: stored before there was one, or not planned for gain

    @property
    def digest(self) -> str:
        """SHA-256 over the canonical JSON of everything above, in hexadecimal."""
        return hashlib.sha256(proposal_text(self).encode()).hexdigest()

    @property
    def is_undo(self) -> bool:
        """Whether it takes moves back and does nothing else."""
        return bool(self.moves) and all(move.undoes is not None for move in self.moves)

    @property
    def bytes_moved(self) -> int:
        """Bytes of all moves together."""
        return sum(move.size_bytes for move in self.moves)


_STORED = StoredDataclass(Proposal)


def proposal_json(proposal: Proposal) -> dict[str, Any]:
    """The proposal as plain JSON values."""
    return _STORED.plain(proposal)


def proposal_text(proposal: Proposal) -> str:
    """Canonical text: sorted keys, no spaces. Equal proposals have equal texts."""
    return json.dumps(proposal_json(proposal), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def proposal_from_text(text: str) -> Proposal:
    """Inverse of ``proposal_text``.

    Raises:
        ValueError: the text is not a proposal.
    """
    return _STORED.of_text(text)
