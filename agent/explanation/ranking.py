"""The ranking of all units as the last plan saw it, in columns that the ledger can keep and every surface reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from agent.answers.units import UnitShown
from agent.ledger.measured.codec import Column, Later, Pieces
from connectors.model import F64, I8, I32, I64, Signal, UnitKind
from connectors.string_column import StringColumn
from policies.benefit.sessions import session_share
from policies.explanation.verdicts import explain
from policies.model.plan import Verdict

if TYPE_CHECKING:
    from agent.planning.planner import Planning

SUMMED = ("benefit_per_hour", "saved_if_moved", "sync_reads", "size_bytes")  # columns that metrics show
EXPLAINED = 200  # units at the top whose verdict is kept as a sentence; for the others the numbers speak


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Every unit with its numbers and verdict, the most valuable first."""

    key: StringColumn
    size_bytes: I64
    kind: I8  # connectors.model.UnitKind
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
class Standing:
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

    def arrays(self) -> dict[str, Column]:
        """The ranking for the ledger; the few texts as the bytes of a JSON list."""
        arrays: dict[str, Column] = {name: Later(partial(self._column, name), self._rows) for name in _COLUMNS}
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
            "sentence": [explain(situation, plan, int(row), settings) for row in self._rows[:EXPLAINED]],
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
