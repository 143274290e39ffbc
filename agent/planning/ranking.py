"""The ranking of all units as the last plan saw it, and what would be proposed from when on.

The ranking of all units as the last plan saw it, in columns that the ledger can keep and every surface reads.

What would be proposed as it looks now, what has to be seen before it is, and from when on: for who asks early.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from agent.ledger.measured.codec import Later, PackedColumn, Pieces
from agent.model.answers.units import UnitShown
from agent.model.proposals import Proposal
from agent.planning.planner import Planning
from connectors.model.formatting import format_seconds, format_wait
from connectors.model.moves import UnitKind
from connectors.model.observation import F64, I8, I32, I64, Signal
from connectors.model.string_column import StringColumn
from policies.evidence.guards import counted_seconds
from policies.evidence.prices import HOUR, session_share
from policies.model.plan import Plan, PlanMove, Situation, Verdict
from policies.model.settings import PolicySettings
from policies.placement.dispatch import moves_after
from policies.placement.verdicts import Figures, explain_verdict, figures_of

SUMMED = ("benefit_per_hour", "saved_if_moved", "sync_reads", "size_bytes")  # columns that metrics show
EXPLAINED = 200  # units at the top whose verdict is kept as a sentence; for the others the numbers speak


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every unit with its numbers and verdict, the most valuable first."""

    key: StringColumn
    size_bytes: I64
    kind: I8  # connectors.model.moves.UnitKind
    space: I32  # row of space_names
    tier: I32  # row of tier_names, -1: not managed
    verdict: I8  # policies.model.plan.Verdict
    logical_reads: F64  # per second
    sync_reads: F64
    prefetched_reads: F64
    writes: F64
    benefit_per_hour: F64  # wait seconds per hour that fast storage is worth to the unit
    saved_if_moved: F64  # from its present home
    observed_seconds: F64
    confidence: F64
    space_names: tuple[str, ...]
    tier_names: tuple[str, ...]
    sentence: Sequence[str]  # of the first rows; may be shorter than the columns

    def __len__(self) -> int:
        return len(self.key)

    @property
    def miss_ratio(self) -> F64:
        """Share of logical reads not found in the buffer pool, 0 to 1; 0 where nothing was read."""
        physical = self.sync_reads + self.prefetched_reads
        asked = np.maximum(self.logical_reads, physical)
        return np.divide(physical, asked, out=np.zeros_like(asked), where=asked > 0)

    def verdict_code(self, row: int) -> str:
        """The verdict of a row as one word."""
        return Verdict(int(self.verdict[row])).code

    def kind_word(self, row: int) -> str:
        """What the unit of a row is: ``table``, ``index_partition`` and so on."""
        return UnitKind(int(self.kind[row])).name.lower()

    def unit(self, row: int) -> UnitShown:
        """One unit as an answer has it."""
        tier = int(self.tier[row])
        return UnitShown(
            unit=self.key[row],
            kind=self.kind_word(row),
            bytes=int(self.size_bytes[row]),
            space=self.space_names[int(self.space[row])],
            tier=self.tier_names[tier] if tier >= 0 else None,
            verdict=self.verdict_code(row),
            why=self.sentence[row] if row < len(self.sentence) else None,
            logical_reads_per_second=float(self.logical_reads[row]),
            sync_reads_per_second=float(self.sync_reads[row]),
            prefetched_reads_per_second=float(self.prefetched_reads[row]),
            writes_per_second=float(self.writes[row]),
            miss_ratio=float(self.miss_ratio[row]),
            benefit_seconds_per_hour=float(self.benefit_per_hour[row]),
            wait_saved_per_hour_seconds=float(self.saved_if_moved[row]),
            observed_seconds=float(self.observed_seconds[row]),
            confidence=float(self.confidence[row]),
        )

    def units(self, most: int | None = None) -> tuple[UnitShown, ...]:
        """The first so many units; None: all."""
        return tuple(self.unit(row) for row in range(len(self) if most is None else min(most, len(self))))


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitStanding:
    """The top of a ranking, and what all other units come to: what the metrics ask for, without its columns."""

    top: Ranking
    others: Mapping[str, float]  # sum of each of SUMMED over the units that are not in the top
    by_verdict: Mapping[str, int]  # units of each verdict, the top's too
    units: int

    @classmethod
    def of(cls, ordered: Ordered, shown: int) -> Self:
        """So many units of an order one by one."""
        return cls(
            top=ordered.ranking(shown),
            others={name: float(ordered.column(name, shown).sum()) for name in SUMMED},
            by_verdict=ordered.by_verdict(),
            units=len(ordered),
        )

    def beyond(self, column: str, shown: int) -> float:
        """Sum of a column over all units but so many of the top."""
        return float(getattr(self.top, column)[shown:].sum()) + self.others[column]


_COLUMNS = (
    "size_bytes", "kind", "space", "tier", "verdict", "logical_reads", "sync_reads", "prefetched_reads", "writes",
    "benefit_per_hour", "saved_if_moved", "observed_seconds", "confidence",
)  # fmt: skip
_TEXTS = ("space_names", "tier_names", "sentence")


class Ordered:
    """The units of a planning, ordered by what fast storage is worth to them; ties by logical reads, then key.

    Its columns are put in order one at a time, when they are asked for: all of them at once would be as much as a
    quarter of what the whole agent knows.
    """

    def __init__(self, planning: Planning) -> None:
        self._planning = planning
        rates, plan = planning.situation.heat.rates, planning.plan
        self._rows: I64 = np.lexsort((-rates[Signal.LOGICAL_READ], -plan.benefit_per_hour))
        # On the slowest tier the units together may have more reads than sessions could wait for.
        self._benefit_share = session_share(planning.situation, plan.benefit_per_hour)

    def __len__(self) -> int:
        return len(self._rows)

    def ranking(self, shown: int | None = None) -> Ranking:
        """The first so many units with their numbers; None: all."""
        columns: dict[str, Any] = {name: self._column(name, self._rows[:shown]) for name in _COLUMNS}
        return Ranking(key=self._keys(shown), **columns, **self._texts())

    def column(self, name: str, first: int) -> NDArray[Any]:
        """The figures of all units from a place in the order on."""
        return self._column(name, self._rows[first:])

    def by_verdict(self) -> dict[str, int]:
        """How many units have each verdict, by its word."""
        values, counts = np.unique(self._planning.plan.verdict, return_counts=True)
        return {Verdict(int(value)).code: int(count) for value, count in zip(values, counts, strict=True)}

    def arrays(self) -> dict[str, PackedColumn]:
        """The ranking for the ledger; the few texts as the bytes of a JSON list."""
        arrays: dict[str, PackedColumn] = {name: Later(partial(self._column, name), self._rows) for name in _COLUMNS}
        keys, (run, ends) = StringColumn.of(self._planning.situation.units.key), StringColumn.names_of("key")
        arrays[run], arrays[ends] = Pieces(partial(keys.pieces, self._rows), keys.nbytes), Later(keys.ends, self._rows)
        for name, texts in self._texts().items():
            arrays[name] = np.frombuffer(json.dumps(list(texts), ensure_ascii=False).encode(), dtype=np.uint8)
        return arrays

    def _column(self, name: str, rows: I64) -> NDArray[Any]:
        """A column of ``Ranking`` of some rows of the unit table."""
        situation, plan = self._planning.situation, self._planning.plan
        units, heat = situation.units, situation.heat
        match name:
            case "tier":
                return situation.tier_of_space[units.space[rows]].astype(np.int32)
            case "writes":
                writes: F64 = heat.rates[Signal.ASYNC_WRITE][rows]
                writes += heat.rates[Signal.SYNC_WRITE][rows]
                return writes
            case "benefit_per_hour":
                return np.asarray(plan.benefit_per_hour[rows] * self._benefit_share, dtype=np.float64)
        columns: dict[str, NDArray[Any]] = {
            "size_bytes": units.size_bytes,
            "kind": units.kind,
            "space": units.space,
            "verdict": plan.verdict,
            "logical_reads": heat.rates[Signal.LOGICAL_READ],
            "sync_reads": heat.rates[Signal.SYNC_READ],
            "prefetched_reads": heat.rates[Signal.PREFETCHED_READ],
            "saved_if_moved": plan.wait_saved_if_moved,
            "observed_seconds": heat.observed_seconds,
            "confidence": heat.confidence,
        }
        return np.asarray(columns[name][rows])

    def _keys(self, shown: int | None = None) -> StringColumn:
        return StringColumn.of(self._planning.situation.units.key).take(self._rows[:shown])

    def _texts(self) -> dict[str, Any]:
        situation, plan, settings = self._planning.situation, self._planning.plan, self._planning.settings
        return {
            "space_names": tuple(s.name for s in situation.spaces),
            "tier_names": tuple(t.name for t in situation.tiers),
            "sentence": [explain_verdict(situation, plan, int(row), settings) for row in self._rows[:EXPLAINED]],
        }


def ranking_of(planning: Planning) -> Ranking:
    """All units of a planning in their order."""
    return Ordered(planning).ranking()


def ranking_from_arrays(arrays: Mapping[str, NDArray[Any]]) -> Ranking:
    """Inverse of ``Ordered.arrays``."""
    texts = {name: json.loads(arrays[name].tobytes().decode()) for name in _TEXTS}
    texts["space_names"], texts["tier_names"] = tuple(texts["space_names"]), tuple(texts["tier_names"])
    columns: dict[str, Any] = {name: arrays[name] for name in _COLUMNS}
    return Ranking(key=StringColumn.from_arrays(arrays, "key"), **columns, **texts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """What has to be seen of one move before it is proposed."""

    unit: str  # leading unit of the bundle
    watched_seconds: float
    watched_seconds_needed: float  # policy.minimum_history
    waited_seconds: float  # what its wait has cost since it is watched, at the rate seen
    waited_seconds_needed: float  # policy.regret times what moving it costs; 0: watched for long enough to be trusted
    saves_per_hour: float  # seconds, mean
    saves_at_least_per_hour: float  # the lower end by policy.certainty
    saves_at_least_per_hour_needed: float  # so that it is worth a move, and pays back in time

    @property
    def missing(self) -> tuple[str, ...]:
        """What is still to be seen, in words; nothing where nothing is."""
        return tuple(self._missing())

    def _missing(self) -> Iterator[str]:
        if (more := self.watched_seconds_needed - self.watched_seconds) > 0:
            yield (
                f"{format_seconds(more)} more of watching: {format_seconds(self.watched_seconds)} of "
                f"{format_seconds(self.watched_seconds_needed)} so far (policy.minimum_history)"
            )
        if self.waited_seconds < self.waited_seconds_needed:
            yield (
                f"waits that cost as much as the move: {format_seconds(self.waited_seconds)} of "
                f"{format_seconds(self.waited_seconds_needed)} so far (policy.regret)"
            )
        if self.saves_at_least_per_hour < self.saves_at_least_per_hour_needed:
            yield (
                f"a gain that is sure enough: at least {format_wait(self.saves_at_least_per_hour)} as it "
                f"is known now, {format_wait(self.saves_at_least_per_hour_needed)} needed (policy.certainty)"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A plan that is not proposed yet."""

    planning: Planning  # as it looks now
    proposal: Proposal  # the same; never stored
    conditions: tuple[Condition, ...]  # of its moves that gain, in their order
    seconds: float | None  # of watching, until it is proposed if the same goes on; None: not by that alone

    @property
    def from_when(self) -> datetime | None:
        """From when on it is proposed, if it is watched from now on and the same goes on."""
        return None if self.seconds is None else self.planning.made_at + timedelta(seconds=self.seconds)


def prospect_of(looks: Planning, proposal: Proposal, settings: PolicySettings) -> Prospect:
    """What has to be seen before a plan is proposed, and how long that takes if the same goes on.

    Args:
        looks: the plan as it looks now, made with ``as_it_looks``.
        proposal: made of it.
        settings: with which plans are made that are proposed.
    """
    situation, plan = looks.weighed
    gaining = [move for move in plan.moves if move.wait_saved_per_hour > 0]
    judged = replace(situation, by_mean=False)  # as it is for what is proposed
    return Prospect(
        planning=looks,
        proposal=proposal,
        conditions=tuple(_condition(judged, plan, move, settings) for move in gaining),
        seconds=moves_after(judged, settings),
    )


def _condition(situation: Situation, plan: Plan, move: PlanMove, settings: PolicySettings) -> Condition:
    """What has to be seen of one move; the same bounds as in ``policies.evidence.guards``."""
    figures = figures_of(situation, plan, move.rows[0], settings)
    return Condition(
        unit=move.key,
        watched_seconds=figures.observed_seconds,
        watched_seconds_needed=settings.minimum_history_seconds,
        waited_seconds=figures.saves_per_hour * counted_seconds(figures.observed_seconds, settings) / HOUR,
        waited_seconds_needed=_price(figures, settings),
        saves_per_hour=figures.saves_per_hour,
        saves_at_least_per_hour=figures.surely_saves_per_hour,
        saves_at_least_per_hour_needed=max(
            settings.minimum_wait_saved_per_hour, figures.cost_seconds * HOUR / settings.payback_limit_seconds
        ),
    )


def _price(figures: Figures, settings: PolicySettings) -> float:
    """What the waits have to have cost, in seconds."""
    young = figures.observed_seconds < settings.long_half_life_seconds and settings.minimum_history_seconds > 0
    return settings.regret_ratio * figures.cost_seconds if young else 0.0
