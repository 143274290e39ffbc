"""Reads of Db2 for i by unit, as totals since the last IPL, and what an interval says of them. Rows to columns: pure.

Shares are taken of an interval only. A product of two totals (physical reads by the share of random ones since the
IPL) is no counter: a scan makes it fall, and after years of scans no look-up is seen in it.

An index that many partitions span comes with a row for each of them, equal each time: the highest of its rows counts.
Where SYSPARTITIONINDEXSTAT counts no physical reads, its random and sequential operations stand for them: a bound from
above.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from connectors.db2.reading.names import Part, physical_id
from connectors.model import F64, I64

LOGICAL, PHYSICAL, SEQUENTIAL, RANDOM = range(4)
COUNTERS = ("logical_reads", "physical_reads", "sequential_reads", "random_reads")
UNCOUNTED = "samples_uncounted"  # rises with every sample of a unit that has no counters: an absent unit counts as idle
Row = Sequence[object]
Totals = tuple[int, int, int, int]  # as COUNTERS


@dataclass(frozen=True, slots=True)
class Counted:
    """Totals of every unit that has any, by its number."""

    totals: Mapping[int, Totals]
    bounded: bool  # whether operations stood for physical reads of any index

    def without(self, units: Collection[int]) -> Counted:
        """The same but for some units."""
        if not units:
            return self
        return Counted({number: of for number, of in self.totals.items() if number not in units}, self.bounded)

    def columns(self, uncounted: Collection[int], number: int) -> tuple[I64, dict[str, I64]]:
        """Numbers, ascending, and counters of a sample.

        Args:
            uncounted: units without counters, besides those that have some.
            number: of the sample, which is their only counter.
        """
        without = sorted(set(uncounted) - self.totals.keys())
        ids = np.array([*self.totals, *without], dtype=np.int64)
        values = np.zeros((len(ids), len(COUNTERS) + 1), dtype=np.int64)
        values[: len(self.totals), : len(COUNTERS)] = np.array(
            list(self.totals.values()), dtype=np.int64
        ).reshape(-1, len(COUNTERS))  # fmt: skip
        values[len(self.totals) :, -1] = number
        order = np.argsort(ids, kind="stable")
        return ids[order], dict(zip((*COUNTERS, UNCOUNTED), values[order].T, strict=True))


def counted(tables: Iterable[Row], indexes: Iterable[Row]) -> Counted:
    """Totals of tables and indexes.

    Args:
        tables: three names, then LOGICAL_READS, PHYSICAL_READS, SEQUENTIAL_READS, RANDOM_READS; None: no such counter.
        indexes: likewise.
    """
    found: dict[int, Totals] = {}
    bounded = False
    for part, rows in ((Part.TABLE, tables), (Part.INDEX, indexes)):
        for row in rows:
            logical, physical, sequential, random = (None if value is None else int(str(value)) for value in row[3:7])
            if physical is None and part is Part.INDEX and random is not None:
                physical, bounded = random + (sequential or 0), True
            if physical is None:
                continue
            number = unit_number(part, str(row[0]), str(row[1]), str(row[2] or ""))
            totals = (logical or 0, physical, sequential or 0, random or 0)
            before = found.get(number)
            found[number] = totals if before is None else _highest(before, totals)
    return Counted(found, bounded)


def _highest(one: Totals, other: Totals) -> Totals:
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2]), max(one[3], other[3])


def unit_number(part: Part, schema: str, name: str, member: str) -> int:
    """The number of a unit in samples: of its names and its partition or member, also where there is one only."""
    return physical_id(part, schema, f"{name}\0{member}", 0, None)


def waited_for(deltas: Mapping[str, F64]) -> F64:
    """Physical reads of an interval that were random; all of them where it tells no kinds of reads.

    >>> waited_for({"physical_reads": np.array([80.0]), "random_reads": np.array([30.0]),
    ...             "sequential_reads": np.array([10.0])}).tolist()
    [60.0]
    """
    random, every = deltas["random_reads"], deltas["random_reads"] + deltas["sequential_reads"]
    share = np.divide(random, every, out=np.ones_like(random), where=every > 0)
    return deltas["physical_reads"] * share
