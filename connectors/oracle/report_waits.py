"""Divides the waits that a report times by event among its segments and the rest of its tablespaces.

A report times reads by kind for the whole instance, counts them by tablespace (up to 12.1, seldom later) and names the
largest segments, by calls, blocks and direct blocks, each list with its total. So a unit's reads of one kind lie
between bounds, and its share of that kind's time between::

    T * low / (low + most of all others)     <=     share     <=     T * most / (most + least of all others)

Here low and most are its reads times the read time of its tablespace. Reads of one kind are taken to need the same time
within a tablespace. No share exceeds the time of its event, and those of one event add up to it.

How many of a unit's R calls for B blocks, D of them direct, M a call at most, were for one block through the cache::

    max(0, 2R - B - D)    <=    single    <=    min(R - D/M, B - D, (M R - B) / (M - 1))

Calls for several blocks through the cache move between 2 and M blocks each. What a list does not name has at most what
its last row has, if the snapshots captured it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from connectors.kit.assessment import WaitKind
from connectors.model.observation import F64, I64, Bools
from connectors.oracle.sampler import single_bounds

SINGLE, BATCH, SEVERAL, DIRECT, SHARED = (
    "reads of one block", "reads of single blocks at once", "reads of several blocks", "direct reads",
    "reads by another session",
)  # fmt: skip
TEMPORARY = "reads of temporary files"
UNTIMED = "reads, by read times of the files"  # where a report has no wait events
EVENTS: Mapping[str, tuple[str, ...]] = {
    SINGLE: ("db file sequential read", "cell single block physical read"),
    BATCH: ("db file parallel read", "cell list of blocks physical read"),
    SEVERAL: ("db file scattered read", "cell multiblock physical read"),
    DIRECT: ("direct path read", "cell smart table scan", "cell smart index scan"),
    SHARED: ("read by other session",),
    TEMPORARY: ("direct path read temp",),
}
SHORTEST_CUT_EVENT = 20  # characters of a name that a text report may have cut


@dataclass(frozen=True, slots=True)
class Ranged:
    """A figure of each unit, with the least and the most that the report leaves possible. Shapes ``(n,)``."""

    least: F64
    likely: F64
    most: F64

    def __add__(self, other: Ranged) -> Ranged:
        return Ranged(self.least + other.least, self.likely + other.likely, self.most + other.most)

    def times(self, factor: F64) -> Ranged:
        """Every figure times a factor of 0 or more, shape ``(n,)``."""
        return Ranged(self.least * factor, self.likely * factor, self.most * factor)


def ranged(least: F64, likely: F64, most: F64) -> Ranged:
    """The three in order: figures of two sections of a report may contradict each other by little."""
    low = np.maximum(least, 0.0)
    high = np.maximum(most, low)
    return Ranged(low, np.clip(likely, low, high), high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """Reads of each unit in the interval."""

    calls: Ranged
    blocks: Ranged
    direct: Ranged  # blocks


@dataclass(frozen=True, slots=True, kw_only=True)
class Divided:
    """The same by the kind of wait that they cause."""

    single: Ranged  # calls
    several: Ranged  # calls
    direct: Ranged  # blocks


def divide(reads: Reads, largest: float, space: I64, singles: F64, rounding: float, waited: float) -> Divided:
    """Reads by kind.

    Args:
        reads: of each unit.
        largest: blocks that one call may move at most.
        space: row of each unit's tablespace.
        singles: reads of one block of each tablespace, NaN where they are not printed.
        rounding: how far off these may be, since they are printed as whole numbers a second.
        waited: waits for reads of one block in the whole instance, NaN; where nothing is printed they place the
            likely number between its bounds.
    """
    calls, blocks, direct = reads.calls, reads.blocks, reads.direct
    least = np.maximum(0.0, 2.0 * calls.least - blocks.most - direct.most)
    _, most = single_bounds(blocks.least, calls.most, largest)
    most = np.minimum(most, np.minimum(calls.most - direct.least / largest, blocks.most - direct.least))
    most = np.maximum(most, least)
    count = len(singles)
    least_sum, most_sum = (np.bincount(space, weights=each, minlength=count)[:count] for each in (least, most))
    printed = np.isfinite(singles)
    ceiling, floor = np.where(printed, singles + rounding, np.inf), np.where(printed, singles - rounding, 0.0)
    # By what the other units of the tablespace leave; where the sections contradict each other the units' own bounds.
    tighter_most = np.minimum(most, ceiling[space] - (least_sum[space] - least))
    tighter_least = np.maximum(least, floor[space] - (most_sum[space] - most))
    agrees = tighter_least <= tighter_most
    least, most = np.where(agrees, tighter_least, least), np.where(agrees, tighter_most, most)
    single = ranged(least, _place_reads(least, most, space, singles, rounding, waited), most)
    cached = Ranged(
        np.maximum(0.0, blocks.least - direct.most), np.maximum(0.0, blocks.likely - direct.likely),
        np.maximum(0.0, blocks.most - direct.least),
    )  # fmt: skip
    left = np.maximum(0.0, cached.likely - single.likely)
    share = np.divide(left, left + direct.likely, out=np.zeros(len(left)), where=left + direct.likely > 0)
    several = ranged(
        np.maximum(0.0, cached.least - single.most) / largest,
        np.maximum(0.0, calls.likely - single.likely) * share,
        np.minimum(np.maximum(0.0, cached.most - single.least) / 2.0, np.maximum(0.0, calls.most - single.least)),
    )
    return Divided(single=single, several=several, direct=direct)


def _place_reads(least: F64, most: F64, space: I64, singles: F64, rounding: float, waited: float) -> F64:
    """Likely reads of one block: one share between the bounds for all units, so that as many were waited for.

    Where those of a tablespace then contradict what is printed for it, the nearest share that does not.
    """
    count, room = len(singles), most - least
    usual = 1.0
    if waited == waited and room.sum() > 0:
        usual = float(np.clip((waited - least.sum()) / room.sum(), 0.0, 1.0))
    low, wide = (np.bincount(space, weights=each, minlength=count)[:count] for each in (least, room))
    share = np.full(count, usual)
    known = np.isfinite(singles) & (wide > 0)
    for printed, clip in ((singles - rounding, np.maximum), (singles + rounding, np.minimum)):
        share = np.where(known, clip(share, np.divide(printed - low, wide, out=np.zeros(count), where=known)), share)
    placed: F64 = least + room * np.clip(share, 0.0, 1.0)[space]
    return placed


def kinds_of(events: Mapping[str, tuple[float, float]], *, may_be_cut: bool) -> list[WaitKind]:
    """Waits by kind, those that occur.

    Args:
        events: waits and seconds by the name of the event.
        may_be_cut: whether the form cuts names.
    """
    found: dict[str, list[str]] = {}
    for name in events:
        kind = _kind_of(name, may_be_cut=may_be_cut)
        if kind is not None:
            found.setdefault(kind, []).append(name)
    return [
        WaitKind(
            name=kind,
            events=tuple(found[kind]),
            waits=sum(events[name][0] for name in found[kind]),
            seconds=sum(events[name][1] for name in found[kind]),
            of_units=kind != TEMPORARY,
        )
        for kind in EVENTS
        if kind in found
    ]


def _kind_of(name: str, *, may_be_cut: bool) -> str | None:
    """The kind of an event. Since 19.7 some events of Exadata say behind a colon what answered the read."""
    word = name.partition(":")[0].strip().lower()
    exact = [kind for kind, events in EVENTS.items() if word in events]
    if exact or not may_be_cut or len(word) < SHORTEST_CUT_EVENT:
        return exact[0] if exact else None
    near = [kind for kind, events in EVENTS.items() if any(event.startswith(word) for event in events)]
    return near[0] if len(near) == 1 else None


def divided_kinds(kinds: Sequence[WaitKind], reads: Divided, read_seconds: F64, rests: Bools) -> tuple[WaitKind, ...]:
    """The kinds with what each unit has of them, at least and at most.

    Args:
        kinds: of ``kinds_of``.
        reads: of each unit.
        read_seconds: of a read in each unit's tablespace, > 0. Shape ``(n,)``.
        rests: units that stand for what no list names: a kind that no unit can have had is theirs.
    """
    single, several, direct = (each.times(read_seconds) for each in (reads.single, reads.several, reads.direct))
    weights = {SINGLE: single, BATCH: single, SEVERAL: several, DIRECT: direct, SHARED: single + several}
    weights[UNTIMED] = single + several + direct
    unlisted = np.where(rests, weights[UNTIMED].likely, 0.0)
    fallback = unlisted if unlisted.any() else np.where(rests, 1.0, 0.0) if rests.any() else np.ones(len(rests))
    return tuple(kind if not kind.of_units else _divide(kind, weights[kind.name], fallback) for kind in kinds)


def _divide(kind: WaitKind, weights: Ranged, fallback: F64) -> WaitKind:
    """The kind by weight; by the fallback, and as a mere guess, where nothing can have caused it."""
    if not weights.most.any():
        weights = Ranged(np.zeros(len(fallback)), fallback, fallback)
    likely = weights.likely if weights.likely.any() else weights.most
    low = weights.least / np.maximum(weights.least + _others(weights.most), np.finfo(np.float64).tiny)
    high = weights.most / np.maximum(weights.most + _others(weights.least), np.finfo(np.float64).tiny)
    by_unit = kind.seconds * likely / likely.sum()
    return replace(
        kind, by_unit=by_unit,
        least=np.minimum(kind.seconds * np.clip(low, 0.0, 1.0), by_unit),
        most=np.maximum(kind.seconds * np.clip(high, 0.0, 1.0), by_unit),
    )  # fmt: skip


def _others(figures: F64) -> F64:
    """For each unit the sum over all others."""
    rest: F64 = np.maximum(0.0, figures.sum() - figures)
    return rest
