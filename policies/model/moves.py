"""Why a move is planned, what it relocates, and how wrong such predictions have been. Needs no arrays.

``MoveReason`` and ``RouteCost`` are stored with each move. ``Relocation`` and ``Group`` name what a plan moves, by the
rows of its bundles and spaces.

``learn_errors`` and ``taught_variance`` widen or narrow the next interval by what outcomes have shown. A prediction
errs by a factor of the wait that remains, so its residual is the logarithm of measured over predicted remaining wait.
The uncertainty of the measurement is subtracted from its square. Kinds of move with few outcomes borrow from all moves
of the database, and those from the model's interval (shrinkage towards a prior of a few outcomes).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class MoveReason(StrEnum):
    """Why a move is in a plan."""

    PROMOTE = "promote"  # its own gain pays
    MAKE_ROOM = "make_room"  # cold, goes down so that a later move fits
    PIN = "pin"  # a pin demands it
    CLEAR = "clear"  # cold, goes down so that the stated share of the fastest tier is free
    LEVEL = "level"  # evens out load or fill among spaces of its tier, or makes room by going to another of them
    DRAIN = "drain"  # its space is to be emptied
    GROWTH = "growth"  # goes down in time, so that what grows in its space does not fill it
    SPLIT = "split"  # the newest rows of a table, whose own gain pays


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteCost:
    """Estimated seconds that a route costs sessions apart from its copying, and seconds that it copies."""

    log_seconds: float  # who waits for the log waits longer, while it takes what the move writes there
    blocked_seconds: float  # sessions that its locks hold up, beyond the slow-down by the copy
    follow_up_seconds: float  # work that it leaves behind, as far as it can be estimated
    copying: tuple[float, ...] | None = None  # seconds of each of ``Route.transfers``, before what moves have taught
    around_seconds: float = 0.0  # of its statements outside those: catalog, commit, transactions that it waits for
    copy_seconds: float | None = (
        None  # of its statements, with what moves have taught; None: stored before it was recorded
    )
    copy_low_seconds: float | None = None  # 90 of 100 such copies take longer than this and
    copy_high_seconds: float | None = None  # less than that; None: stored before copies had an interval

    @property
    def seconds(self) -> float:
        """All that it costs apart from copying."""
        return self.log_seconds + self.blocked_seconds + self.follow_up_seconds

    @property
    def copied_ratio(self) -> float:
        """Share of ``copy_seconds`` in which bytes are copied. While a move waits for old transactions it slows none.

        1 where its parts are not known.
        """
        parts = sum(self.copying or ())
        return parts / (parts + self.around_seconds) if parts > 0 else 1.0


def missed_wait_ratio(wait: float, bound: float, saved: float) -> float:
    """Share of a wait that could be saved at best and is not, 0 to 1; what moves cost counts as missed.

    ``gap_ratio`` is a share of what can be saved. Once everything is in its place that is next to nothing, and what is
    not worth a move is all of it.

    >>> missed_wait_ratio(1000.0, 20.0, 0.0)
    0.02
    """
    return min(1.0, max(0.0, (bound - saved) / wait)) if wait > 0 else 0.0


@dataclass(frozen=True, slots=True)
class Relocation:
    """One bundle from space to space, by row."""

    bundle: int
    source: int
    target: int
    reason: MoveReason


@dataclass(frozen=True, slots=True)
class Group:
    """Relocations that belong together: those that make room, then the one that uses it."""

    relocations: tuple[Relocation, ...]
    saved: float  # microseconds per hour, all relocations together
    cost: float  # session microseconds
    size: int  # bytes copied
    copying: float  # microseconds that it takes


Kind = tuple[str, str, str]  # kind of the unit, tier it left, tier it came to
ALL: Kind = ("", "", "")
PRIOR_OUTCOMES = 4.0  # that a prior weighs
LEAST_REMAINING = 0.01  # of the wait: below it a ratio of what remains is noise
LARGEST_RESIDUAL = math.log(4.0)  # one outcome that was off further than that teaches no more


@dataclass(frozen=True, slots=True, kw_only=True)
class PredictionError:
    """Squares of residuals of one kind, in the order of the words of ``Kind``; all words empty: of all moves."""

    unit_kind: str
    from_tier: str
    to_tier: str
    squares: float  # sum, by the share of each outcome that this kind had
    count: float  # outcomes, by the same shares

    @property
    def kind(self) -> Kind:
        """What it is about."""
        return self.unit_kind, self.from_tier, self.to_tier


@dataclass(frozen=True, slots=True, kw_only=True)
class Residual:
    """One outcome next to its prediction."""

    predicted: float  # share of the wait that was to be saved
    measured: float
    measured_error: float  # standard error of the logarithm of what remains
    kinds: Mapping[Kind, float]  # shares of the effect, together 1

    @property
    def log_ratio(self) -> float:
        """Logarithm of what remains over what was to remain; above 0: less was saved than predicted."""
        remaining, expected = (max(LEAST_REMAINING, 1 - share) for share in (self.measured, self.predicted))
        return math.log(remaining / expected)

    @property
    def square(self) -> float:
        """Of the residual, without what the measurement itself does not know."""
        residual = min(abs(self.log_ratio), LARGEST_RESIDUAL)
        return max(0.0, residual**2 - self.measured_error**2)


def learn_errors(residuals: Iterable[Residual]) -> tuple[PredictionError, ...]:
    """The sums of every kind that occurs, and of all moves."""
    sums: dict[Kind, tuple[float, float]] = {}
    for residual in residuals:
        for kind, share in [(ALL, 1.0), *residual.kinds.items()]:
            squares, count = sums.get(kind, (0.0, 0.0))
            sums[kind] = squares + share * residual.square, count + share
    return tuple(
        PredictionError(unit_kind=kind[0], from_tier=kind[1], to_tier=kind[2], squares=squares, count=count)
        for kind, (squares, count) in sorted(sums.items())
    )


def taught_variance(variance: float, errors: Iterable[PredictionError], kinds: Mapping[Kind, float]) -> float:
    """The variance of a prediction by what outcomes have shown.

    Args:
        variance: of the logarithm of what remains, by the model.
        errors: what was learnt; none leave it as it is.
        kinds: shares of what the plan saves, together 1.
    """
    of = {error.kind: error for error in errors}
    if ALL in of:
        variance = _shrunk(variance, of[ALL].squares, of[ALL].count)
    known = [(of[kind], share) for kind, share in kinds.items() if kind in of]
    return _shrunk(
        variance,
        sum(error.squares * share for error, share in known),
        sum(error.count * share for error, share in known),
    )


def _shrunk(prior: float, squares: float, count: float) -> float:
    return (PRIOR_OUTCOMES * prior + squares) / (PRIOR_OUTCOMES + count)
