"""Two periods of one database, before a change and after it: compared for equal work, or not at all.

Work is counted in transactions. They are equal work if each takes as many blocks from memory or disk as before, within
``EQUAL_RATIO``: storage does not change that, other statements do. Then the wait of a transaction may be compared, and
with it the time of a read of each kind. Otherwise the reason is said, and nothing is compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan

from agent.studies.assessed import AssessmentResult
from connectors.kit.assessment import WaitKind
from connectors.model.formatting import format_ratio
from policies.evidence.prices import HOUR

EQUAL_RATIO = 1.25  # between two figures of equal work


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCompared:
    """Reads of one kind; NaN where a period has none."""

    name: str
    before_seconds: float  # of one, on average
    after_seconds: float
    before_per_transaction: float  # how many
    after_per_transaction: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What changed between two periods, or why they cannot be compared."""

    refused: str  # "": it can
    before_wait: float = float("nan")  # seconds a transaction
    after_wait: float = float("nan")
    kinds: tuple[KindCompared, ...] = ()
    saves_per_hour: float = float("nan")  # seconds an hour, for as much work as before


def compare(before: AssessmentResult, after: AssessmentResult) -> Comparison:
    """Compare two periods."""
    reason = _unequal(before, after)
    if reason:
        return Comparison(refused=reason)
    waits = [_wait_per_transaction(each) for each in (before, after)]
    kinds = [{kind.name: kind for kind in each.observation.kinds} for each in (before, after)]
    return Comparison(
        refused="",
        before_wait=waits[0],
        after_wait=waits[1],
        saves_per_hour=(waits[0] - waits[1]) * before.observation.demand.database.transactions * HOUR,
        kinds=tuple(_kind(name, kinds[0], kinds[1], before, after) for name in dict.fromkeys([*kinds[0], *kinds[1]])),
    )


def _unequal(before: AssessmentResult, after: AssessmentResult) -> str:
    """Why the two are not of equal work; "" where they are."""
    first, second = before.observation, after.observation
    if (first.engine, first.database) != (second.engine, second.database):
        return f"they are of two databases, {first.database} and {second.database}"
    if first.database_id and second.database_id and first.database_id != second.database_id:
        return f"they are of two databases {first.database}, {first.database_id} and {second.database_id}"
    if first.instance and second.instance and first.instance != second.instance:
        return f"they are of two instances, {first.instance} and {second.instance}"
    if first.marks is not None and second.marks is not None and second.marks[0] < first.marks[1]:
        earlier, later = (f"{begin} to {end}" for begin, end in (first.marks, second.marks))
        if second.marks[1] <= first.marks[0]:
            return f"the second, of snapshots {later}, is the earlier one: name the one before first"
        return f"they are of the same time in part, snapshots {earlier} and {later}"
    if before.withheld or after.withheld or isnan(before.measured_wait_per_hour + after.measured_wait_per_hour):
        return "waits were not measured in both"
    rates = [each.demand.database.transactions for each in (first, second)]
    if not all(rate > 0 for rate in rates):
        return "transactions are not counted in both, so it is not known whether the work is equal"
    blocks = [each.logical_reads / rate for each, rate in zip((first, second), rates, strict=True)]
    if not all(each > 0 for each in blocks):
        return "logical reads are not counted in both, so it is not known whether the work is equal"
    ratio = blocks[1] / blocks[0]
    if not 1 / EQUAL_RATIO <= ratio <= EQUAL_RATIO:
        return f"a transaction reads {format_ratio(ratio)} of the blocks that one read before: it is other work"
    return ""


def _wait_per_transaction(found: AssessmentResult) -> float:
    return found.measured_wait_per_hour / HOUR / found.observation.demand.database.transactions


def _kind(
    name: str, first: Mapping[str, WaitKind], second: Mapping[str, WaitKind], before: AssessmentResult,
    after: AssessmentResult,
) -> KindCompared:  # fmt: skip
    (one, many), (other, more) = _per(first.get(name), before), _per(second.get(name), after)
    return KindCompared(
        name=name, before_seconds=one, after_seconds=other, before_per_transaction=many, after_per_transaction=more
    )


def _per(kind: WaitKind | None, found: AssessmentResult) -> tuple[float, float]:
    """Seconds of a wait, and waits a transaction."""
    if kind is None or not kind.waits > 0:
        return float("nan"), 0.0
    demand = found.observation.demand
    return kind.seconds / kind.waits, kind.waits / demand.seconds / demand.database.transactions
